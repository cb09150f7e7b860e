# SPDX-License-Identifier: Apache-2.0
"""Batches of the engine as elements of TensorFlow: tf.Tensors that lie in the engine's memory, or NumPy arrays.

A tensor over DLPack keeps the lease of its batch: the memory is the engine's again when the last tensor on it is gone.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy  # type: ignore[import-not-found, unused-ignore]
import tensorflow as tf  # type: ignore[import-not-found, import-untyped, unused-ignore]

from .._arrays import to_array
from .._dataset import Dataset
from .._run import Batch, Iterator
from .chain import Chain

_from_dlpack: Callable[[Any], Any] = tf.experimental.dlpack.from_dlpack


def _texts(tensor: Any, offsets: Any) -> list[bytes]:
    view, places = memoryview(tensor).cast("B"), memoryview(offsets).tolist()
    return [bytes(view[begin:end]) for begin, end in zip(places, places[1:])]


def _stacked(tensor: Any, offsets: Any) -> Any:
    """A field whose length may differ, as one array: all samples of a batch must have the same length."""
    values, places = to_array(tensor), memoryview(offsets).tolist()
    lengths = [end - begin for begin, end in zip(places, places[1:])]
    for number, n in enumerate(lengths):
        if n != lengths[0]:
            raise tf.errors.InvalidArgumentError(
                None, None, f"Cannot batch tensors with different shapes in {tensor.name}. First element had length "
                f"{lengths[0]} and element {number} had length {n}: use padded_batch()")
    return values.reshape(len(lengths), lengths[0] if lengths else 0, *values.shape[1:])


def tensor_of_batch(tensor: Any, offsets: Any) -> Any:
    if offsets is None:
        return _from_dlpack(tensor.__dlpack__())
    if tensor.dtype == "bytes":
        return tf.constant(_texts(tensor, offsets), tf.string)
    return tf.constant(_stacked(tensor, offsets))


def tensor_of_sample(tensor: Any, offsets: Any) -> Any:
    if offsets is None:
        return _from_dlpack(tensor[0].__dlpack__())
    if tensor.dtype == "bytes":
        return tf.constant(_texts(tensor, offsets)[0], tf.string)
    return tf.constant(to_array(tensor))


def array_of_batch(tensor: Any, offsets: Any) -> Any:
    if offsets is None:
        value = to_array(tensor)
    elif tensor.dtype == "bytes":
        texts = _texts(tensor, offsets)
        value = numpy.empty(len(texts), object)
        value[:] = texts
    else:
        value = _stacked(tensor, offsets)
    value.setflags(write=False)
    return value


def array_of_sample(tensor: Any, offsets: Any) -> Any:
    if offsets is None:
        value = to_array(tensor[0])
        if value.ndim == 0:
            return value[()]
    elif tensor.dtype == "bytes":
        return _texts(tensor, offsets)[0]
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

    def __init__(self, chain: Chain, built: Dataset, arrays: bool = False) -> None:
        self._batches: Iterator[Batch] | None = built.batches()
        convert = ((array_of_batch if chain.batched else array_of_sample) if arrays else
                   (tensor_of_batch if chain.batched else tensor_of_sample))
        names = [name for name, *_ in self._batches._feed.fields] if self._batches._feed else []
        self._make = maker(chain.structure, {name: i for i, name in enumerate(names)}, convert)
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
        return self._make(batch._tensors)

    def close(self) -> None:
        batches, self._batches = self._batches, None
        if batches is not None and batches._feed is not None:
            batches.close()

    def __del__(self) -> None:
        if getattr(self, "_batches", None) is not None:
            self.close()
