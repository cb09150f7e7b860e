# SPDX-License-Identifier: Apache-2.0
"""WebDataset tars, which the engine reads by an index."""
from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Sequence

from .._data.bind import quote
from .._data.dataset import Dataset, Origin
from .sources import Path, _paths


def _expand(pattern: str) -> list[str]:
    """Ranges as shells write them: "train-{000..146}.tar". The engine expands other patterns."""
    parts = re.split(r"\{(\d+)\.\.(\d+)\}", pattern)
    choices: list[Sequence[str]] = []
    for i in range(0, len(parts), 3):
        choices.append([parts[i]])
        if i + 2 < len(parts):
            first, last = parts[i + 1], parts[i + 2]
            choices.append([f"{number:0{len(first)}}" for number in range(int(first), int(last) + 1)])
    return ["".join(words) for words in itertools.product(*choices)]


def _field(name: str, given: object) -> str:
    words = re.split("[,;]", given) if isinstance(given, str) else list(given) if isinstance(given, (list, tuple)) else []
    if not words or not all(isinstance(word, str) and word for word in words):
        raise TypeError(f"from_webdataset(): {name} needs an extension or a list of them, such as 'jpg' or "
                        f"['jpg', 'png'], not {given!r:.60}")
    return f"{name}={quote(','.join(word.strip().lstrip('.') for word in words))}"


def from_webdataset(files: Path | Iterable[Path], *, image: str | Sequence[str] | None = None,
                    label: str | Sequence[str] | None = None, decode: bool = True, **fields: str | Sequence[str]) -> Dataset:
    """Samples of WebDataset tars (names, patterns, lists of them): each field is the member with one of its extensions.

        leat.from_webdataset("train-*.tar").shuffle().resize(224, 224).batch(64)
        leat.from_webdataset("train-{000..146}.tar", image=["jpg", "png"], label="cls", caption="txt")

    Without a choice there are `image` (jpg, jpeg, png, webp, gif or bmp) and `label` (cls, if the first sample has one).
    cls, cls2, class, count, index, inx and id are integers, all others are bytes; key="__key__" gives the key.
    fields: further fields by name. Pictures are
    decoded (RGB, 8 bits) in front of the first operation that needs pixels; decode=False leaves the bytes of the files.
    """
    given = {"image": image, "label": label, **fields}
    chosen = {name: value for name, value in given.items() if value is not None}
    paths = [path for file in _paths(files, "from_webdataset()") for path in _expand(file)]
    if not paths:
        raise ValueError(f"from_webdataset(): the range in {files!r:.60} has no number")
    # A name such as "a=b.tar" would be taken for a field.
    words = [quote(path if os.path.isabs(path) or "=" not in path else os.path.join(".", path)) for path in paths]
    operation = " ".join(["webdataset", *words, *(_field(name, value) for name, value in chosen.items())])
    has_picture = not chosen or "image" in chosen
    return Dataset((operation,), Origin(decode=decode and has_picture, path=paths[0] if len(paths) == 1 else ""))
