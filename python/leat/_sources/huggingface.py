# SPDX-License-Identifier: Apache-2.0
"""Datasets of the package `datasets`, on the memory of their Arrow tables.

A table has chunks, and a dataset after select() or shuffle() has a list of rows. Both become two numbers for each sample: where
its bytes begin and where they end, counted from the chunk with the lowest address. The engine reads them there.
"""
from __future__ import annotations

import ctypes
from importlib import import_module
from typing import Any

from .._base.arrays import LEAT_NAMES
from .._data.dataset import Dataset, Origin

WORDS = {1: ctypes.c_uint8, 2: ctypes.c_uint16, 4: ctypes.c_uint32, 8: ctypes.c_uint64}


def _fail(column: str, why: str) -> ValueError:
    return ValueError(f"from_huggingface(): column {column} {why}")


class Columns:
    """Columns of a dataset as arrays for the engine. It is pickled as the dataset is: memory is found anew."""

    def __init__(self, dataset: Any, fields: dict[str, str]) -> None:
        self.numpy, self.pyarrow = import_module("numpy"), import_module("pyarrow")
        self.dataset, self.fields = dataset, fields
        indices = dataset._indices
        self.rows = None if indices is None else indices.column(0).to_numpy()
        self.taken = tuple(self._column(name, column) for name, column in fields.items())

    def __reduce__(self) -> tuple[Any, ...]:
        return Columns, (self.dataset, self.fields)

    def arrays(self) -> tuple[tuple[Any, ...], ...]:
        return self.taken

    def _column(self, name: str, column: str) -> tuple[Any, ...]:
        types, data = self.pyarrow.types, self.dataset.data.column(column)
        kind = data.type
        if types.is_struct(kind) and {"bytes", "path"} <= {field.name for field in kind}:
            return self._pictures(name, column, data)
        if types.is_binary(kind) or types.is_large_binary(kind) or types.is_string(kind) or types.is_large_string(kind):
            return self._ragged(name, column, "bytes", data.chunks, 1)
        if types.is_list(kind) or types.is_large_list(kind):
            dtype = self._number(column, kind.value_type)
            return self._ragged(name, column, dtype, data.chunks, kind.value_type.bit_width // 8)
        return self._numbers(name, column, data)

    def _number(self, column: str, kind: Any) -> str:
        types = self.pyarrow.types
        dtype = LEAT_NAMES.get(str(kind.to_pandas_dtype().__name__)) if types.is_primitive(kind) else None
        if dtype is None or types.is_temporal(kind) or types.is_boolean(kind):
            raise _fail(column, f"is of {kind}, which leat cannot read in a list; convert it with dataset.map(), or use "
                        "leat.from_python(dataset)")
        return dtype

    def _numbers(self, name: str, column: str, data: Any) -> tuple[Any, ...]:
        types, kind = self.pyarrow.types, data.type
        fixed = types.is_fixed_size_list(kind)
        inner = kind.value_type if fixed else kind
        if not types.is_primitive(inner) or types.is_temporal(inner):
            raise _fail(column, f"is of {kind}, which leat cannot read; convert it with dataset.map(), or use "
                        "leat.from_python(dataset)")
        self._refuse_nulls(column, data)
        values = data.chunk(0) if data.num_chunks == 1 else data.combine_chunks()
        if fixed:
            values = values.flatten()
            self._refuse_nulls(column, values)
        found = values.to_numpy(zero_copy_only=False)
        if fixed:
            found = found.reshape(len(data), kind.list_size)
        if self.rows is not None:
            found = found[self.rows]
        return name, LEAT_NAMES[found.dtype.name], found

    def _refuse_nulls(self, column: str, data: Any) -> None:
        if data.null_count:
            raise _fail(column, f"has {data.null_count} empty values: leave them out with dataset.filter(), or fill them "
                        "with dataset.map()")

    def _pictures(self, name: str, column: str, data: Any) -> tuple[Any, ...]:
        first = 0
        for chunk in data.chunks:
            lost = import_module("pyarrow.compute").and_(chunk.field("bytes").is_null(), chunk.field("path").is_valid())
            rows = self.numpy.flatnonzero(lost.to_numpy(zero_copy_only=False))
            if len(rows):
                path = chunk.field("path")[int(rows[0])].as_py()
                raise _fail(column, f"has no bytes in row {first + int(rows[0])}, only the path {path!r}: read the files "
                            "with leat.from_files(), or load the dataset from Parquet files")
            first += len(chunk)
        return self._ragged(name, column, "bytes", [chunk.field("bytes") for chunk in data.chunks], 1)

    def _ragged(self, name: str, column: str, dtype: str, chunks: list[Any], size: int) -> tuple[Any, ...]:
        """(name, dtype, memory, begins, ends). A value that is null has no bytes."""
        numpy, types = self.numpy, self.pyarrow.types
        chunks = [chunk for chunk in chunks if len(chunk)]
        places = []
        for chunk in chunks:
            wide = types.is_large_binary(chunk.type) or types.is_large_string(chunk.type) or types.is_large_list(chunk.type)
            offsets = numpy.frombuffer(chunk.buffers()[1], "int64" if wide else "int32")
            offsets = offsets[chunk.offset:chunk.offset + len(chunk) + 1].astype("int64")
            values = chunk.values if dtype != "bytes" else None
            if values is not None:
                self._refuse_nulls(column, values)
            buffer = values.buffers()[1] if values is not None else chunk.buffers()[2]
            skip = values.offset if values is not None else 0
            places.append((0 if buffer is None else buffer.address, offsets + skip, chunk))
        base = min((address for address, _, _ in places if address), default=0)
        begins, ends = [], []
        for address, offsets, chunk in places:
            shift = (max(address, base) - base) // size
            begin, end = offsets[:-1] + shift, offsets[1:] + shift
            if chunk.null_count:
                end = numpy.where(chunk.is_valid().to_numpy(zero_copy_only=False), end, begin)
            begins.append(begin)
            ends.append(end)
        begin = numpy.concatenate(begins) if begins else numpy.zeros(0, "int64")
        end = numpy.concatenate(ends) if ends else numpy.zeros(0, "int64")
        # A view from the lowest address to the last value. Only what lies between begins and ends is ever read.
        length = int(end.max()) if len(end) else 0
        memory: Any = (WORDS[size] * max(length, 1)).from_address(base) if base else (WORDS[size] * 1)()
        memory.owner = chunks  # the memory lives as long as the view
        if self.rows is not None:
            begin, end = begin[self.rows], end[self.rows]
        return name, dtype, memory, numpy.ascontiguousarray(begin), numpy.ascontiguousarray(end)


def _only(dataset: Any, kind: str, wanted: str) -> str | None:
    """The column of that name, or the only one whose feature is of that kind."""
    if wanted in dataset.column_names:
        return wanted
    found = [name for name, feature in dataset.features.items() if type(feature).__name__ == kind]
    return found[0] if len(found) == 1 else None


def from_huggingface(dataset: Any, image: str | None, label: str | None, decode: bool, fields: dict[str, str]) -> Dataset:
    if isinstance(dataset, dict):
        raise TypeError("from_huggingface(): this is a dict of datasets: choose one, such as "
                        f"dataset[{next(iter(dataset), 'train')!r}]")
    if not hasattr(dataset, "data") or not hasattr(dataset, "_indices"):
        raise TypeError("from_huggingface() needs a datasets.Dataset, not "
                        f"{type(dataset).__name__}; of one that streams, load it whole, or use leat.from_generator()")
    chosen: dict[str, str] = {}
    for name, column, kind in (("image", image, "Image"), ("label", label, "ClassLabel")):
        found = _only(dataset, kind, column) if column == name else column
        if found is not None:
            chosen[name] = found
    chosen.update(fields)
    for name, column in chosen.items():
        if column not in dataset.column_names:
            raise ValueError(f"from_huggingface(): {name}={column!r}: there is no such column; there are "
                             f"{', '.join(dataset.column_names)}")
    if not chosen:
        raise ValueError("from_huggingface(): there is no column image or label: name some, such as x='features'; there are "
                         f"{', '.join(dataset.column_names)}")
    columns = Columns(dataset, chosen)
    pictures = "image" in chosen and columns.taken[list(chosen).index("image")][1] == "bytes"
    classes = getattr(dataset.features[chosen["label"]], "names", ()) if "label" in chosen else ()
    return Dataset(("arrays",), Origin(lazy_arrays=columns.arrays, decode=decode and pictures, classes=tuple(classes)))
