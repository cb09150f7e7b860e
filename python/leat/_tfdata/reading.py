# SPDX-License-Identifier: Apache-2.0
"""One iteration over a chain's data set, and its elements as NumPy arrays. Nothing here needs TensorFlow."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy  # type: ignore[import-not-found, unused-ignore]

from .._arrays import to_array
from .._dataset import Dataset
from .._errors import ShapeError
from .._run import Batch, Iterator
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


class Reader:
    """One iteration over a chain's data set. What is left of it is not read any more when the reader is gone."""

    def __init__(self, chain: Chain, built: Dataset, convert: Callable[[Any, Any], Any] | None = None) -> None:
        self._batches: Iterator[Batch] | None = built.batches()
        self._convert = convert or (array_of_batch if chain.batched else array_of_sample)
        self._structure = chain.structure
        self._make: Callable[[list[Any]], Any] | None = None
        self._left = chain.limit if chain.limit is not None else -1
        self.count = 0

    def __iter__(self) -> Reader:
        return self

    def __next__(self) -> Any:
        batches = self._batches
        if batches is None or self._left == 0:
            self.close()
            raise StopIteration
        batch = next(batches)
        self._left -= 1
        self.count += 1
        if self._make is None:
            self._make = maker(self._structure, {name: i for i, name in enumerate(batch.keys())}, self._convert)
        return self._make(batch._tensors)

    def close(self) -> None:
        batches, self._batches = self._batches, None
        if batches is not None and batches._feed is not None:
            batches.close()

    def __del__(self) -> None:
        if getattr(self, "_batches", None) is not None:
            self.close()
