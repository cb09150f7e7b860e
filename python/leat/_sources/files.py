# SPDX-License-Identifier: Apache-2.0
"""Pictures in files that the program lists itself."""
from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._base.advice import advised
from .._base.arrays import from_user, optional
from .._data.bind import bind
from .._data.dataset import Dataset, Origin


def name_list(names: Sequence[str] | None, where: str) -> str | None:
    """Names as the text takes them: separated by a character that none of them has."""
    if names is None:
        return None
    words = [] if isinstance(names, str) else list(names)
    if not words or not all(isinstance(word, str) and word for word in words):
        raise TypeError(f"{where}: class_names must be a list of names, not {names!r:.60}")
    for separator in (",", ";", "\n"):
        if not any(separator in word for word in words) and (separator != "," or words[0][0] not in ";\n"):
            return ("" if separator == "," else separator) + separator.join(words)
    raise ValueError(f"{where}: the class names hold commas, semicolons and line ends; rename them")


def file_list(paths: Any, where: str) -> list[str]:
    """A list, an array or a Series of paths."""
    many = paths.tolist() if hasattr(paths, "tolist") else paths
    if isinstance(many, (str, bytes, os.PathLike)) or not isinstance(many, Iterable):
        raise TypeError(f"{where} needs a list of paths, not {paths!r:.60}; leat.from_directory takes a folder")
    files = list(many)
    wrong = next((i for i, file in enumerate(files) if not isinstance(file, (str, os.PathLike))), None)
    if wrong is not None:
        raise TypeError(f"{where}: paths[{wrong}] is {type(files[wrong]).__name__} {files[wrong]!r:.60}, not a path")
    if not files:
        raise ValueError(f"{where}: there is no path in the list")
    return [os.fspath(file) for file in files]


def label_array(name: str, given: Any) -> tuple[Any, ...]:
    """Labels for the engine: whole numbers as i64, other numbers as f32, words as bytes."""
    entry = from_user(name, given)
    numpy = optional("numpy")
    if len(entry) > 3 or numpy is None:
        return entry
    values = entry[2]
    if values.ndim > 2:
        raise ValueError(f"from_files(): {name} must have the shape (n) or (n, k), not {values.shape}")
    return from_user(name, numpy.asarray(values, "int64" if values.dtype.kind in "iu" else "float32"))


@advised
def from_files(paths: Any, labels: Any = None, *, weights: Any = None, class_names: Sequence[str] | None = None,
               with_path: bool = False, check: bool = False, decode: bool = True) -> Dataset:
    """Pictures in these files, in this order: a list, an array or a Series of paths, and a label for each.

        leat.from_files(paths, labels).shuffle().resize(224, 224).batch(64)
        leat.from_files(frame["file"], frame["breed"], with_path=True)        # words become numbers, sorted

    labels: whole numbers, other numbers, words, an array (n, k) of several labels each, or a dict of such, a field each.
    weights: a number for each sample, the field `weight`. class_names: the words in the order of their numbers, or the
    names of numbers; Dataset.class_names has them. with_path adds the path to every sample, see Dataset.with_path.
    check looks for all files when the dataset is first used; otherwise a missing file is told when it is read. Pictures
    are decoded as those of from_directory, unless decode=False.
    """
    files = file_list(paths, "from_files()")
    fields = labels if isinstance(labels, Mapping) else {} if labels is None else {"label": labels}
    if weights is not None:
        fields = {**fields, "weight": weights}
    arrays = [from_user("paths", files), *(label_array(str(name), values) for name, values in fields.items())]
    for entry in arrays[1:]:
        n = len(entry[3]) - 1 if len(entry) > 3 else len(entry[2])
        if n != len(files):
            raise ValueError(f"from_files(): there are {len(files)} paths and {n} values of {entry[0]}")
    if class_names is not None and not fields:
        raise TypeError("from_files(): class_names are those of labels, and there are no labels")
    operation = bind("list", (), {"check": check or None, "classes": name_list(class_names, "from_files()")})
    dataset = Dataset((operation,), Origin(arrays=tuple(arrays), decode=decode))
    return dataset.with_path() if with_path else dataset
