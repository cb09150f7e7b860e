# SPDX-License-Identifier: Apache-2.0
"""leat.pack: a data set to sharded TFRecords, resumable, with a manifest."""
from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _leat
from .._base.errors import ArgumentError, UnsupportedError
from .._base.notices import tell
from .._base.progress import Progress

if TYPE_CHECKING:
    from .dataset import Dataset

ORIENT, CHECK, POSITIONS = 1, 2, 4  # LEAT_PACK_*
Path = str | os.PathLike[str]


class Packed(NamedTuple):
    """What leat.pack() has made."""

    out: str
    prefix: str
    samples: int
    rejected: int
    duplicates: int
    shards: int
    kept_shards: int
    bytes: int
    source_bytes: int
    slowest: list[str]
    largest: list[str]

    def _list(self, name: str) -> str:
        return os.path.join(self.out, name if self.prefix == "data" else f"{self.prefix}-{name}")

    @property
    def manifest(self) -> Any:
        """The content of manifest.json: recipe, counts, classes, shards with their digests. Not of a part."""
        with open(self._list("manifest.json"), encoding="utf-8") as file:
            return json.load(file)

    @property
    def rejects(self) -> list[tuple[str, str]]:
        """Path and reason of each sample that was left out."""
        with open(self._list("rejects.tsv"), encoding="utf-8", errors="surrogateescape") as file:
            rows = [line.rstrip("\n").split("\t", 1) for line in file]
        return [(row[0], row[-1]) for row in rows[1:]]

    @property
    def files(self) -> list[str]:
        """The shards in their order."""
        return [os.path.join(self.out, shard["file"]) for one in self.manifest["sets"] for shard in one["shards"]]


def _size(size: int | tuple[int, int] | None) -> tuple[int, int]:
    if size is None:
        return 0, 0
    if isinstance(size, int):
        return size, size
    height, width = size
    return int(height), int(width)


def _features(features: str | Mapping[str, str] | None) -> str | None:
    if features is None or isinstance(features, str):
        return features
    return " ".join(f"{role}={name}" for role, name in features.items())


def _store(store: str | None, target_rate: float | None, max_bytes: float | None) -> str | None:
    if store != "auto":
        if target_rate or max_bytes:
            raise ArgumentError("pack(): target_rate and max_bytes are goals of store='auto'")
        return store
    return f"auto rate={target_rate or 0:.0f} bytes={max_bytes or 0:.0f}"


def _split(split: Any, by: str | None, stratify: bool, seed: int) -> str | None:
    if split is None:
        return None
    fractions = split if isinstance(split, str) else ",".join(str(part) for part in split)
    by = by or ("random" if stratify else "hash")
    return f"{fractions} by={by}{' stratify=true' if stratify else ''} seed={seed}"


def _part(part: str | tuple[int, int] | None) -> tuple[int, int]:
    if part is None:
        return 0, 0
    if isinstance(part, str):
        left, _, right = part.partition("/")
        part = (int(left), int(right))
    return part


def plain_source(source: Any) -> tuple[Path, int]:
    """What the engine takes, and the seed that the dataset has."""
    if isinstance(source, (str, os.PathLike)):
        return source, 0
    origin = getattr(source, "_origin", None)
    if origin is None:
        raise TypeError(f"pack(): a data set is a path, the text of a pipeline or a leat.Dataset, not {type(source).__name__}")
    dataset: Dataset[Any] = source
    if origin.arrays is not None or origin.source or origin.lazy_arrays or dataset._callbacks or dataset._after:
        raise UnsupportedError("pack(): this dataset has arrays or functions of the program, which a text cannot tell: "
                               "save_tfrecord() writes what it gives")
    if dataset.batched:
        raise ArgumentError("pack(): records are single samples: leave batch() out")
    return " | ".join(dataset._listed(decode=not dataset._undecoded())), dataset._given_seed() or 0


def _told(report: dict[str, Any], out: Path, prefix: str | None) -> Packed:
    told: dict[str, Any] = {"slowest": [], "largest": []}
    for warning, text in report.pop("messages"):
        kind, _, rest = text.partition(": ")
        if kind in told:
            told[kind].append(rest)
        elif warning:
            tell(text)
    return Packed(out=os.fspath(out), prefix=prefix or "data", **report, **told)


def pack(source: Any, out: Path, *, store: str | None = None, size: int | tuple[int, int] | None = None,
         quality: int | None = None, target_rate: float | None = None, max_bytes: float | None = None,
         features: str | Mapping[str, str] | None = None, shards: int | None = None, shard_mb: int | None = None,
         prefix: str | None = None, shuffle: bool = False, split: Any = None, split_by: str | None = None,
         stratify: bool = False, augment: str | None = None, copies: int = 0, seed: int | None = None,
         on_error: str = "raise", quarantine: Path | None = None, check: bool = False, orient: bool = False,
         positions: bool = False, part: str | tuple[int, int] | None = None, force: bool = False, threads: int = 0,
         progress: Callable[[str, int, int], object] | bool = True) -> Packed:
    """A data set to sharded TFRecords, which TensorFlow, PyTorch readers and leat read. docs/pack.md has the model.

        packed = leat.pack("photos", "packed", size=256, shuffle=True, split=(0.8, 0.1, 0.1))
        packed.samples, packed.rejects, packed.manifest["classes"]

    source: a folder of images, a .csv list, TFRecords, a .npy or CIFAR file, the text of a pipeline, or a leat.Dataset.
    out: the folder. Interrupted in whatever way, the same call goes on and gives the same bytes.
    store: "original", "jpeg", "raw", or "auto" with target_rate (images/s) or max_bytes; size: one number or (height, width);
        quality: of JPEGs, 95; orient: pictures are turned as EXIF says; positions: inside of JPEGs, are kept beside the shards.
    shards: how many, or shard_mb: how large; prefix: how their names begin; shuffle: in a shuffled order; seed: of everything.
    features: "simple", "tfds", "slim", with roles: "tfds filename=path"; or a dict of roles and names.
    split: fractions of train, validation and test; split_by "hash", "random" or "order"; stratify: by class.
    augment, copies: operations, and how many changed versions are stored beside each original.
    on_error: "raise", or "skip": what is left out is in packed.rejects; quarantine: a folder that it is copied to;
        check: files that are stored as they are, are decoded too.
    force: another pack of that prefix is removed; threads: 0 = all cores.
    part: "0/4" makes a quarter of the shards; leat.pack_join(out) ends a pack of parts.
    progress: called with (what, done, total); True shows a bar where a person looks.
    """
    if on_error not in ("raise", "skip"):
        raise ArgumentError(f"pack(): on_error must be 'raise' or 'skip', not {on_error!r}")
    given, own_seed = plain_source(source)
    height, width = _size(size)
    number, parts = _part(part)
    seed = own_seed if seed is None else seed
    bar = Progress("packing")
    say = bar.report if progress is True else progress or None
    try:
        report = _leat.pack(
            given, out, height=height, width=width, quality=quality or 0, shards=shards or 0, shard_bytes=(shard_mb or 0) << 20,
            prefix=prefix, shuffle=shuffle, seed=seed, skip=on_error == "skip", force=force, features=_features(features),
            store=_store(store, target_rate, max_bytes), split=_split(split, split_by, stratify, seed),
            **({} if quarantine is None else {"quarantine": quarantine}), augment=augment, copies=copies, part=number, parts=parts,
            how=orient * ORIENT | check * CHECK | positions * POSITIONS, threads=threads, progress=say)
    finally:
        bar.end()
    return _told(report, out, prefix)


def pack_join(out: Path, *, prefix: str | None = None) -> Packed:
    """After all parts of leat.pack(..., part="i/n"): checks that every shard is there, and writes the manifest.

        packed = leat.pack_join("packed")

    out, prefix: as leat.pack had them
    """
    return _told(_leat.pack_join(out, prefix, None), out, prefix)


def pack_verify(out: Path, *, prefix: str | None = None) -> list[str]:
    """Reads a finished pack again: digests, checksums, every picture. What is wrong, a line each; [] = nothing.

        assert leat.pack_verify("packed") == []

    out, prefix: as leat.pack had them
    """
    return [text for _, text in _leat.pack_verify(out, prefix, None)]
