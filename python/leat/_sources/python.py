# SPDX-License-Identifier: Apache-2.0
"""Datasets that people already have: objects with __len__ and __getitem__, run in processes of their own.

As many threads of the engine read ahead as there are workers, each of which is a process: the thread asks for an item, waits
without the interpreter's lock, and takes the arrays from memory that both see. A process that dies is replaced, and the item
asked for again. Items that are batches are too large to be kept ahead: there the engine's own threads ask, and it has as many.
"""
from __future__ import annotations

import math
import os
import sys
import threading
import zlib
from collections.abc import Mapping
from typing import Any

from .._base.errors import ArgumentError, ReadError
from .._base.layout import layout_number
from .._calls.processes import TRIES, Pool, Process, pickled
from .._data.dataset import Dataset, Origin


def item_bytes(dtype: str) -> int:
    return {"8": 1, "16": 2, "32": 4, "64": 8}.get(dtype.lstrip("uifb"), 1)


class PythonSource(Pool):
    """The processes of one dataset, and what its items look like."""

    def __init__(self, dataset: Any, workers: int, batches: bool, layout: int, ragged: Mapping[str, int]) -> None:
        self.dataset, self.workers, self.batches, self.layout_given = dataset, workers, batches, layout
        self.ragged, self.max_bytes = dict(ragged), 0
        self.n = len(dataset)
        self.fields: list[tuple[Any, ...]] = []
        self.found_layout: Any = None
        super().__init__("the dataset")

    # ------------------------------------------------------------------------------------- for pipelines

    def _look(self) -> None:
        """What items look like, from the first, the middle and the last; axes that differ are -1."""
        reader = Reader(self)
        looked = [reader.look(i) for i in sorted({0, self.n // 2, self.n - 1})]
        self.found_layout = looked[0][1]
        for name in self.ragged:  # what is empty does not tell its type
            types = [dtype for _, _, parts in looked for part, dtype, shape in parts if part == name and 0 not in shape]
            for _, _, parts in looked:
                parts[:] = [(part, types[0] if types and part == name and 0 in shape else dtype, shape)
                            for part, dtype, shape in parts]
        rows = 0
        fields: list[tuple[Any, ...]] = []
        for k, (name, dtype, shape) in enumerate(looked[0][2]):
            for _, layout, others in looked:
                if layout != self.found_layout or len(others) != len(looked[0][2]) or others[k][:2] != (name, dtype):
                    raise ArgumentError("from_python(): items differ in their parts or types: "
                                        f"{looked[0][2]} and {others}")
            shapes = [others[k][2] for _, _, others in looked]
            if shape is None:
                fields.append((name, dtype, (-1,), True))
                continue
            if len({len(other) for other in shapes}) > 1:
                raise ArgumentError(f"from_python(): {name} has {sorted({len(other) for other in shapes})} axes")
            if name in self.ragged:
                fields.append(self._ragged_field(name, dtype, shapes))
                continue
            if self.batches:
                if not shape:
                    raise ArgumentError(f"from_python(): {name} of a batch is one number; is items='sample' meant?")
                rows = max(rows, *(other[0] for other in shapes))
                shape = (-2, *shape[1:])
            fields.append((name, dtype, tuple(
                size if self.batches or len({other[axis] for other in shapes}) == 1 else -1
                for axis, size in enumerate(shape)), False, 1 if self.layout_given and len(shape) == 3 else 0))
        unknown = self.ragged.keys() - {name for name, *_ in fields}
        if unknown:
            raise ArgumentError(f"from_python(): ragged: items have no part {', '.join(sorted(unknown))}")
        if self.batches:
            fields = [(name, dtype, (rows, *shape[1:]), *rest) for name, dtype, shape, *rest in fields]
            fields.append(("_n", "i64", (), False))
        self.fields, self.rows = fields, rows

    def _ragged_field(self, name: str, dtype: str, shapes: list[tuple[int, ...]]
                      ) -> tuple[Any, ...]:
        """Boxes (n, 4) or tokens (n), of which an item has so many at the most."""
        entries = {shape[1:] for shape in shapes if 0 not in shape} or {shapes[0][1:]}
        if len(entries) > 1 or not 1 <= len(shapes[0]) <= 2 or 0 in next(iter(entries)):
            raise ArgumentError(f"from_python(): ragged: {name} must be (n) or (n, k) with one k, not "
                                f"{', '.join(map(str, sorted(set(shapes))))}")
        entry = next(iter(entries))
        self.max_bytes = max(self.max_bytes, self.ragged[name] * item_bytes(dtype) * math.prod(entry))
        return name, dtype, (-1, *entry), True

    def open(self) -> tuple[int, list[tuple[Any, ...]], int, int, Any, int]:
        """What a pipeline takes as its source."""
        self.check_owner()
        if self.n == 0:
            raise ArgumentError("from_python(): the dataset has no items")
        if self.begin is None:
            what = pickled(self.dataset, type(self.dataset), "from_python(): the class of this dataset")
            self.begin = (sys.path, what, 1 if self.batches else 0, self.layout_given == 2)
            self._look()
            if self.batches:
                self.begin = (*self.begin[:2], self.rows, False)
                self.restart()
        kind = type(self.dataset)
        identity = zlib.crc32(f"{kind.__module__}.{kind.__qualname__}:{self.n}".encode())
        return self.n, self.fields, self.max_bytes, identity, Reader(self).read, 0 if self.batches else self.workers

    def layout(self) -> Any:
        return self.found_layout


class Item(list[tuple[int, int, tuple[int, ...]]]):
    """Where the arrays of an item lie: in the memory of a process, which works for others when the item is gone."""

    has_turn = False

    def __init__(self, source: PythonSource, turns: threading.Semaphore) -> None:
        super().__init__()
        self.source, self.turns = source, turns
        self.process: Process | None = None
        self.has_turn = turns.acquire()

    def __enter__(self) -> Item:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None:  # the exception may be kept, and frames with this item by it
            self.end()

    def ask(self, request: tuple[str, int]) -> tuple[Any, ...]:
        code = 0
        for _ in range(TRIES):
            self.process = self.source.take()
            try:
                answer = self.process.ask(request, self.source.is_closed)
            except EOFError:
                code = self.process.process.wait()
                self.source.drop(self.process)
                self.process = None
                continue
            return self.source.check(answer)
        raise ReadError(f"item {request[1]} has ended its worker process {TRIES} times, the last time with exit code "
                        f"{code}; try dataset[{request[1]}] in a process of your own")

    def end_turn(self) -> None:
        if self.has_turn:
            self.has_turn = False
            self.turns.release()

    def end(self) -> None:
        if self.has_turn or self.process is not None:
            process, self.process = self.process, None
            if process is not None:
                self.source.give(process)
            self.end_turn()

    __del__ = end


class Reader:
    """Items for one pipeline, from as many processes as there are workers. The engine copies an item whose size is known and
    drops it. One whose size is not known stays until its thread asks again, and its process with it."""

    def __init__(self, source: PythonSource) -> None:
        self.source = source
        self.turns = threading.Semaphore(source.workers)
        self.kept: dict[int, Item] = {}  # thread -> what it was given last
        self.copied = all(name in source.ragged or min(shape, default=0) >= 0 for name, _, shape, *_ in source.fields)

    def _drop_last(self, thread: int) -> None:
        """Also what threads were given that have ended: those that open a pipeline are others than those that run it."""
        if self.kept.pop(thread, None) is None:
            for other in list(self.kept):
                if not os.path.exists(f"/proc/self/task/{other}"):
                    self.kept.pop(other, None)

    def look(self, i: int) -> tuple[Any, ...]:
        with Item(self.source, self.turns) as item:
            return item.ask(("look", i))

    def read(self, i: int) -> Item:
        """Item i, for the engine: where its arrays lie."""
        thread = threading.get_native_id()
        self._drop_last(thread)
        with Item(self.source, self.turns) as item:
            places = item.ask(("item", i))[1]
            self._check_ragged(i, places)
            assert item.process is not None
            base = item.process.base(max(offset + size for offset, size, _ in places))
            item.extend((base + offset, size, shape) for offset, size, shape in places)
        if not self.copied:
            self.kept[thread] = item
            item.end_turn()
        return item

    def _check_ragged(self, i: int, places: list[tuple[int, int, tuple[int, ...]]]) -> None:
        for (_, size, shape), (name, dtype, declared, *_) in zip(places, self.source.fields if self.source.ragged else ()):
            if name not in self.source.ragged or size == 0:
                continue
            if len(shape) != len(declared) or shape[1:] != declared[1:] or size != math.prod(shape) * item_bytes(dtype):
                raise ReadError(f"item {i}: {name} has the shape {shape} with {size} bytes; it was found to be {dtype} "
                                f"with entries of the shape {declared[1:]}")
            if shape[0] > self.source.ragged[name]:
                raise ReadError(f"item {i}: {name} has {shape[0]} entries; ragged says at most {self.source.ragged[name]}")


def _is_keras(dataset: Any) -> bool:
    return any(kind.__name__ in ("PyDataset", "Sequence") and
               kind.__module__.startswith(("keras", "tf_keras", "tensorflow")) for kind in type(dataset).__mro__)


def from_python(dataset: Any, workers: int | str = "auto", items: str | None = None, *, layout: str | None = None,
                ragged: Mapping[str, int] | None = None) -> Dataset:
    """A dataset that exists already: a Keras PyDataset, a torch dataset, anything with __len__ and __getitem__.

        leat.from_python(my_torch_dataset, workers=4).shuffle(seed=1).batch(64)
        leat.from_python(my_keras_sequence)                # its items are batches already

    Its code runs in worker processes, which are started without running the script again, so no `if __name__ ==
    "__main__"` is needed; the object is pickled (by cloudpickle if that is installed). Items are an array, (x, y),
    (x, y, weight) or a dict of arrays, numbers and strings. items: "sample" (the default) or "batch" (that of Keras's
    PyDataset and Sequence). layout="nchw": arrays of three axes are pictures (channels, height, width), as torch datasets
    have them. ragged={"boxes": 100}: boxes (n, 4) or tokens (n), of which an item has 100 at the most, for batch() and
    padded_batch().
    """
    for name in ("__len__", "__getitem__"):
        if not hasattr(dataset, name):
            remedy = "leat.from_generator takes what can only be iterated over" if hasattr(dataset, "__iter__") else ""
            raise TypeError(f"from_python(): {type(dataset).__name__} has no {name}; {remedy}".rstrip("; "))
    if items is None:
        items = "batch" if _is_keras(dataset) else "sample"
    if items not in ("batch", "sample"):
        raise ValueError(f"from_python(): items must be 'batch' or 'sample', not {items!r}")
    if workers == "auto":
        workers = max(1, min(len(os.sched_getaffinity(0)), 16))
    if not isinstance(workers, int) or isinstance(workers, bool) or not 1 <= workers <= 256:
        raise ValueError(f"from_python(): workers must be 'auto' or a number from 1 to 256, not {workers!r}")
    number = layout_number(layout, "from_python()")
    if number and items == "batch":
        raise ArgumentError("from_python(items='batch'): batches are handed over as they are; leave layout out")
    ragged = ragged or {}
    if not all(isinstance(most, int) and most > 0 for most in ragged.values()) or (ragged and items == "batch"):
        raise ValueError("from_python(): ragged is a dict of names and the most entries that a sample has, such as "
                         f"{{'boxes': 100}}, for items that are samples; not {ragged!r}")
    source = PythonSource(dataset, workers, items == "batch", number, ragged)
    return Dataset(("source",), Origin(source=source.open, items_are_batches=source.batches, layout=source.layout,
                                       threads=workers if source.batches else 0))
