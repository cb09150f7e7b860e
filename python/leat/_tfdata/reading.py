# SPDX-License-Identifier: Apache-2.0
"""One iteration over a chain's data set, and its elements as NumPy arrays. Nothing here needs TensorFlow."""
from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from typing import Any

import numpy  # type: ignore[import-not-found, unused-ignore]

from .._base.arrays import to_array
from .._base.errors import Error, ShapeError
from .._data.dataset import Dataset
from .._data.run import Batch, Cursor, Feed, Iterator
from .chain import Chain


def texts(tensor: Any, offsets: Any) -> list[bytes]:
    view, places = memoryview(tensor).cast("B"), memoryview(offsets).tolist()
    return [bytes(view[begin:end]) for begin, end in zip(places, places[1:])]


def stacked(tensor: Any, offsets: Any) -> Any:
    """A field whose length may differ, as one array: all samples of a batch must have the same length."""
    values, places = to_array(tensor), memoryview(offsets).tolist()
    lengths = [end - begin for begin, end in zip(places, places[1:])]
    for number, n in enumerate(lengths):
        if n != lengths[0]:
            raise ShapeError(f"Cannot batch tensors with different shapes in {tensor.name}. First element had length "
                             f"{lengths[0]} and element {number} had length {n}: use padded_batch()")
    return values.reshape(len(lengths), lengths[0] if lengths else 0, *values.shape[1:])


def array_of_batch(tensor: Any, offsets: Any) -> Any:
    if offsets is None:
        value = to_array(tensor)
    elif tensor.dtype == "bytes":
        words = texts(tensor, offsets)
        value = numpy.empty(len(words), object)
        value[:] = words
    else:
        value = stacked(tensor, offsets)
    value.setflags(write=False)
    return value


def array_of_sample(tensor: Any, offsets: Any) -> Any:
    if offsets is None:
        value = to_array(tensor[0])
        if value.ndim == 0:
            return value[()]
    elif tensor.dtype == "bytes":
        return texts(tensor, offsets)[0]
    else:
        value = to_array(tensor)
    value.setflags(write=False)
    return value


def maker(structure: Any, places: dict[str, int], convert: Callable[[Any, Any], Any],
          stated: dict[str, list[int | None]]) -> Callable[[list[Any]], Any]:
    """A function that makes an element of the tensors of a batch, and looks at sizes that the program has stated."""
    if isinstance(structure, str):
        i = places[structure]
        if structure in stated:
            return lambda tensors: fitting(convert(*tensors[i]), structure, stated[structure])
        return lambda tensors: convert(*tensors[i])
    if isinstance(structure, tuple):
        parts = [maker(part, places, convert, stated) for part in structure]
        return lambda tensors: tuple([part(tensors) for part in parts])
    named = {key: maker(part, places, convert, stated) for key, part in structure.items()}
    return lambda tensors: {key: part(tensors) for key, part in named.items()}


def stated_sizes(chain: Chain, built: Dataset) -> dict[str, list[int | None]]:
    """Shapes that the program gives (set_shape) to fields whose sizes the engine sees in each file, by their names. Of batches
    it knows the size before."""
    found: dict[str, list[int | None]] = {}
    for field in built._plan().fields if not chain.batched else ():
        shape: Any = getattr(chain.specs.get(field.name), "shape", None)
        if not field.ragged and getattr(shape, "rank", None) == len(field.shape) and any(
                n < 0 and size is not None for n, size in zip(field.shape, list(shape))):
            found[field.name] = list(shape)
    return found


def fitting(value: Any, name: str, stated: list[int | None]) -> Any:
    if any(size is not None and size != n for n, size in zip(value.shape, stated)):
        raise ShapeError(f"Incompatible shapes: the program says {stated} of {name}, and it is {list(value.shape)}")
    return value


# How many elements are made by the thread that asks for them, before threads are started for an iteration. Programs take a
# single batch often: `next(iter(ds))`, `ds.take(1)`. Starting threads takes some ms.
PEEK_BATCHES, PEEK_SAMPLES = 2, 16


class Reader:
    """One iteration over a chain's data set. Any thread may take the next element. What is left of it is not read any more when
    the reader is gone."""

    def __init__(self, chain: Chain, built: Dataset, convert: Callable[[Any, Any], Any] | None = None) -> None:
        self._built = built
        self._lock = threading.Lock()
        self._batches: Iterator[Batch] | None = None
        self._peek = self._peeked(chain)
        if self._peek is None:
            self._batches = built.batches()
        self._convert = convert or (array_of_batch if chain.batched else array_of_sample)
        self._structure, self._stated = chain.structure, stated_sizes(chain, built)
        self._make: Callable[[list[Any]], Any] | None = None
        self._left = chain.limit if chain.limit is not None else -1

    def __iter__(self) -> Reader:
        return self

    def __next__(self) -> Any:
        with self._lock:
            batch = self._taken()
            if self._make is None:
                places = {name: i for i, name in enumerate(batch.keys())}
                self._make = maker(self._structure, places, self._convert, self._stated)
        return self._make(batch._tensors)

    def _taken(self) -> Batch:
        """The next batch, while no other thread asks for one."""
        if self._left == 0:
            self.close()
        batch = next(self._peek, None) if self._peek is not None else None
        if batch is None:
            self._peek = None
            if self._batches is None:
                raise StopIteration
            try:
                batch = next(self._batches)
            except Error:  # a program may go on with the next element, as with tf.data
                if self._batches.closed:
                    self._go_on(self._batches.past_error)
                raise
        self._left -= 1
        return batch

    def _go_on(self, place: Cursor | None) -> None:
        self._batches = None if place is None else Iterator(self._built, raw=True, begin=place)

    def _peeked(self, chain: Chain) -> Generator[Batch, None, None] | None:
        """The first elements without threads, where they are little work and the place behind them can be computed."""
        built, runs = self._built, self._built._runs
        runs.check()
        if chain.heavy or built._after or (runs.idle is not None and not runs.idle.pipeline.closed):
            return None
        feed = built._quiet()
        length, _, turns = feed.pipeline.size()
        begin = runs.following()
        if length <= 0 or begin.step > 0:
            return None
        # As when an iteration begins: the next one is another epoch.
        runs.seek(Cursor((begin.epoch // turns + 1) * turns if turns > 0 else begin.epoch + 1))
        layout = built._layout_of([field.name for field in feed.fields])
        return self._first(feed, begin, PEEK_BATCHES if chain.batched else PEEK_SAMPLES, layout, length,
                           begin.epoch // turns * turns + turns if turns > 0 else -1)

    def _first(self, feed: Feed, begin: Cursor, n: int, layout: Any, length: int, stop: int) -> Generator[Batch, None, None]:
        at = begin
        for _ in range(n):
            if at.epoch == stop:
                return
            with self._built._runs.lock:
                feed.move(at)
                feed.at = None
                step = at.step + 1
                at = Cursor(at.epoch, step) if step < length else Cursor(at.epoch + 1)
                try:
                    raw = feed.pipeline.next()
                except Error:
                    self._go_on(at if at.epoch != stop else None)
                    raise
                feed.at = at
            if raw is None:
                return
            yield Batch(raw, layout)
        self._go_on(at if at.epoch != stop else None)

    def close(self) -> None:
        batches, self._batches, self._peek = self._batches, None, None
        if batches is not None and batches._feed is not None:
            batches.close()

    def __del__(self) -> None:
        if getattr(self, "_batches", None) is not None:
            self.close()
