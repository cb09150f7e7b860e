# SPDX-License-Identifier: Apache-2.0
"""One iteration over a chain's data set, and its elements as NumPy arrays. Nothing here needs TensorFlow."""
from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

import numpy  # type: ignore[import-not-found, unused-ignore]

from .._base.arrays import to_array
from .._base.errors import ShapeError
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


def maker(structure: Any, places: dict[str, int], convert: Callable[[Any, Any], Any]) -> Callable[[list[Any]], Any]:
    """A function that makes an element of the tensors of a batch."""
    if isinstance(structure, str):
        i = places[structure]
        return lambda tensors: convert(*tensors[i])
    if isinstance(structure, tuple):
        parts = [maker(part, places, convert) for part in structure]
        return lambda tensors: tuple([part(tensors) for part in parts])
    named = {key: maker(part, places, convert) for key, part in structure.items()}
    return lambda tensors: {key: part(tensors) for key, part in named.items()}


# How many elements are made by the thread that asks for them, before threads are started for an iteration. Programs take a
# single batch often: `next(iter(ds))`, `ds.take(1)`. Starting threads takes some ms.
PEEK_BATCHES, PEEK_SAMPLES = 2, 16


class Reader:
    """One iteration over a chain's data set. What is left of it is not read any more when the reader is gone."""

    def __init__(self, chain: Chain, built: Dataset, convert: Callable[[Any, Any], Any] | None = None) -> None:
        self._built = built
        self._batches: Iterator[Batch] | None = None
        self._peek = self._peeked(chain)
        if self._peek is None:
            self._batches = built.batches()
        self._convert = convert or (array_of_batch if chain.batched else array_of_sample)
        self._structure = chain.structure
        self._make: Callable[[list[Any]], Any] | None = None
        self._left = chain.limit if chain.limit is not None else -1

    def __iter__(self) -> Reader:
        return self

    def __next__(self) -> Any:
        if self._left == 0:
            self.close()
        if self._peek is not None:
            batch = next(self._peek, None)
            if batch is None:
                self._peek = None
                if self._batches is None:
                    raise StopIteration
                batch = next(self._batches)
        elif self._batches is not None:
            batch = next(self._batches)
        else:
            raise StopIteration
        self._left -= 1
        if self._make is None:
            self._make = maker(self._structure, {name: i for i, name in enumerate(batch.keys())}, self._convert)
        return self._make(batch._tensors)

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
                raw = feed.pipeline.next()
                step = at.step + 1
                at = Cursor(at.epoch, step) if step < length else Cursor(at.epoch + 1)
                feed.at = at
            if raw is None:
                return
            yield Batch(raw, layout)
        if at.epoch != stop:
            self._batches = Iterator(self._built, raw=True, begin=at)

    def close(self) -> None:
        batches, self._batches, self._peek = self._batches, None, None
        if batches is not None and batches._feed is not None:
            batches.close()

    def __del__(self) -> None:
        if getattr(self, "_batches", None) is not None:
            self.close()
