# SPDX-License-Identifier: Apache-2.0
"""TFRecords written: record by record, or all that a dataset gives."""
from __future__ import annotations

import array
import os
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from .._base.arrays import FORMATS, LEAT_NAMES, optional
from .._base.errors import ShapeError
from .._leat import Writer
from .._leat import example as pack
from .bind import near, quote

if TYPE_CHECKING:
    from .dataset import Dataset
    from .run import Field

COMPRESSION = {"": 0, "NONE": 0, "GZIP": 1, "ZLIB": 2}
RAW = ("u8", "u16")  # arrays of these are stored as bytes, as decode_raw takes them
Feature = tuple[str, str, Any, Any]


# ------------------------------------------------------------------------------------------ Examples


def _strings(name: str, values: Any) -> Feature:
    pieces = []
    for value in values:
        if not isinstance(value, (str, bytes, bytearray)):
            raise TypeError(f"example(): {name} has strings and {type(value).__name__}; a feature holds one kind")
        pieces.append(value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value))
    offsets = array.array("q", [0])
    for piece in pieces:
        offsets.append(offsets[-1] + len(piece))
    return name, "bytes", b"".join(pieces), offsets


def _numbers(name: str, dtype: str, values: Any, axes: int) -> Feature:
    """values has NumPy's methods."""
    if dtype in RAW and axes:
        return name, "bytes", values.tobytes(), None
    if dtype in ("f32", "f64", "f16", "bf16"):
        return name, "f32", values.astype("float32").tobytes(), None
    if dtype == "u64" and values.size and int(values.max()) >= 1 << 63:
        raise ValueError(f"example(): {name} has a number above 2**63 - 1, the largest that an Example holds")
    return name, "i64", values.astype("int64").tobytes(), None


def _plain_numbers(name: str, values: list[Any]) -> Feature:
    if not all(isinstance(value, (int, float)) for value in values):
        kinds = ", ".join(sorted({type(value).__name__ for value in values}))
        raise TypeError(f"example(): {name} is a list of {kinds}; a feature holds numbers or strings")
    whole = all(isinstance(value, int) for value in values)
    return name, "i64" if whole else "f32", array.array("q" if whole else "f", values), None


def _feature(name: str, value: Any) -> Feature:
    if not isinstance(name, str) or not name:
        raise TypeError(f"example(): the name of a feature is a text, not {name!r:.60}")
    if isinstance(value, (str, bytes, bytearray)):
        return name, "bytes", value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value, None
    if isinstance(value, (bool, int, float)):
        return _plain_numbers(name, [value])
    if isinstance(value, (list, tuple)):
        if not value:
            raise ValueError(f"example(): {name} is an empty list, whose type is not known; give an empty array: "
                             "numpy.zeros(0, 'int64')")
        if any(isinstance(part, (str, bytes, bytearray)) for part in value):
            return _strings(name, value)
        if all(isinstance(part, (bool, int, float)) for part in value):
            return _plain_numbers(name, list(value))
    if value is None or isinstance(value, Mapping):
        raise TypeError(f"example(): {name} is {type(value).__name__}; a feature is an array, a number, a string, or a "
                        "list of them")
    if hasattr(value, "detach"):  # torch
        value = value.detach().cpu()
    numpy = optional("numpy")
    if numpy is None:
        view = memoryview(value)
        if view.format not in FORMATS:
            raise TypeError(f"example(): {name} has the format {view.format!r}, which is not known to leat")
        if FORMATS[view.format] in RAW:
            return name, "bytes", view.tobytes(), None
        return _plain_numbers(name, memoryview(view.tobytes()).cast(view.format).tolist())  # type: ignore[call-overload]
    values = numpy.asarray(value)
    if values.dtype.kind in "USO":
        return _strings(name, values.ravel().tolist())
    dtype = LEAT_NAMES.get(values.dtype.name)
    if dtype is None:
        raise TypeError(f"example(): {name} has the type {values.dtype.name}, which an Example cannot hold; convert it, "
                        "e.g. with .astype('float32')")
    return _numbers(name, dtype, values, values.ndim)


def example(features: Mapping[str, Any] | None = None, **more: Any) -> bytes:
    """A tf.train.Example as bytes: a dict of arrays, numbers, strings and bytes, or lists of them.

        leat.example({"image": jpeg_bytes, "label": 3, "box": [0.1, 0.2, 0.5, 0.9], "name": "ant"})
        leat.example(pixels=array_of_uint8)      # stored as raw bytes: parse(pixels:bytes), then decode_raw("u8")

    features: names and values. Integers and booleans become int64, floats become float (32 bits), strings become bytes
    (text as UTF-8). Arrays of uint8 and uint16 become one string of raw bytes. Shapes are not stored.
    more: the same as keywords.
    """
    given = {**(features or {}), **more}
    if not given:
        raise ValueError("example(): there is no feature; give a dict of arrays, numbers and strings")
    return pack([_feature(name, value) for name, value in given.items()])


# -------------------------------------------------------------------------------------------- writer


class TFRecordWriter:
    """Writes TFRecord files, which TensorFlow and leat read.

        with leat.TFRecordWriter("train.tfrecord", shards=4) as writer:
            for path, label in photos:
                writer.write({"image": open(path, "rb").read(), "label": label})

    path: the file; with several shards, train.tfrecord is train-00000-of-00004.tfrecord and so on (writer.files).
    compression: None, "GZIP" or "ZLIB". Compressed files cannot be read at random: leat streams them.
    shards: records go in turn to so many files.
    level: of the compression, 1 (fast) to 9 (small).

    The files appear when the writer is closed, whole or not at all: an exception inside of `with` removes them.
    """

    def __init__(self, path: str | os.PathLike[str], compression: str | None = None, *, shards: int = 1,
                 level: int | None = None) -> None:
        kind = COMPRESSION.get((compression or "").upper()) if isinstance(compression, (str, type(None))) else None
        if kind is None:
            raise ValueError(f"TFRecordWriter(): compression must be None, 'GZIP' or 'ZLIB', not {compression!r:.60}"
                             f"{near(str(compression).upper(), ('GZIP', 'ZLIB'))}")
        if not isinstance(shards, int) or not 1 <= shards <= 1024:
            raise ValueError(f"TFRecordWriter(): shards must be a whole number from 1 to 1024, not {shards!r}")
        if level is not None and (not isinstance(level, int) or not 1 <= level <= 9):
            raise ValueError(f"TFRecordWriter(): level must be a whole number from 1 to 9, not {level!r}")
        self._path, self._shards = os.fspath(path), shards
        self._writer = Writer(path, kind, level or 0, shards)

    @property
    def files(self) -> list[str]:
        """The files that there will be when the writer is closed."""
        if self._shards == 1:
            return [self._path]
        folder, base = os.path.split(self._path)
        at = base.rfind(".tfrec")
        head, tail = (base, "") if at < 0 else (base[:at], base[at:])
        return [os.path.join(folder, f"{head}-{i:05d}-of-{self._shards:05d}{tail}") for i in range(self._shards)]

    def write(self, record: bytes | Mapping[str, Any]) -> None:
        """One record: bytes as they are, or a dict, which becomes a tf.train.Example (see leat.example)."""
        if isinstance(record, str):
            raise TypeError("write(): a record is bytes, or a dict of features, not a str: use text.encode()")
        self._writer.write(example(record) if isinstance(record, Mapping) else record)

    def close(self) -> None:
        """The files appear. Closing twice is fine."""
        self._writer.close()

    def abort(self) -> None:
        """Removes what was written."""
        self._writer.abort()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def __repr__(self) -> str:
        return f"<leat.TFRecordWriter {self._path}{' (closed)' if self._writer.closed else ''}>"


# ------------------------------------------------------------------------------------------- a dataset


class Saved(NamedTuple):
    """What save_tfrecord() has written: the files, the number of samples, and the text that reads them back."""

    files: list[str]
    samples: int
    text: str


def _reading(files: list[str], shards: int, fields: list[Field]) -> str:
    """The text that gives back what was written. Axes that differ from sample to sample are left flat."""
    words, after = [], []
    for name, dtype, shape, ragged, *_ in fields:
        known = [str(size) for size in shape] if all(size >= 0 for size in shape) else []
        if dtype == "bytes" or (dtype in RAW and (shape or ragged)):
            words.append(f"{name}:bytes")
            if dtype != "bytes":
                after.append(f"decode_raw {name} {dtype}")
                after += [f"reshape {name} {' '.join(known)}"] if known else []
            continue
        kind = "float" if dtype in ("f32", "f64") else "int64"
        size = f"[{','.join(known)}]" if known else "[*]" if shape or ragged else ""
        words.append(f"{name}:{kind}{size}")
    where = files[0] if shards == 1 else files[0].replace("-00000-of-", "-*-of-")
    return " | ".join([f"tfrecord {quote(where)}", "parse " + " ".join(map(quote, words)), *after])


def save(dataset: Dataset, path: str | os.PathLike[str], shards: int, compression: str | None, epochs: int) -> Saved:
    from .run import Cursor, Iterator
    from .._base.progress import Progress

    if not isinstance(epochs, int) or epochs < 1:
        raise ValueError(f"save_tfrecord(): epochs must be a whole number above 0, not {epochs!r}")
    if dataset.endless:
        raise ValueError("save_tfrecord(): this dataset has no end; leave repeat() out, or add take(n)")
    if dataset._items_are_batches:
        raise ValueError("save_tfrecord(): the items of this dataset are batches; from_python(..., items='sample') "
                         "gives single samples")
    for field in dataset._plan().fields:
        if not field.ragged and sum(size < 0 for size in field.shape) > 1:
            raise ShapeError(f"save_tfrecord(): the size of {field.name} differs from sample to sample, and a record would not "
                             "tell it: add resize(256, 256), or store the files with from_directory(path, decode=False)")
    dataset._refuse_after("save_tfrecord")
    samples, n = dataset.samples, 0
    turns = max(dataset._plan().pipeline.size()[2], 1)
    progress = Progress("writing records", None if samples is None else samples * turns * epochs)
    with TFRecordWriter(path, compression, shards=shards) as writer:
        for epoch in range(epochs):
            iterator = Iterator(dataset, raw=True, begin=Cursor(epoch * turns))
            try:
                for batch in iterator:
                    writer._writer.write_batch(batch.raw)
                    n += batch.n_valid
                    progress.say(n)
                    del batch
            finally:
                iterator.close()
        files = writer.files
    progress.end()
    return Saved(files, n, _reading(files, shards, dataset._plan().fields))
