# SPDX-License-Identifier: Apache-2.0
"""Iterators over the engine's elements that TensorFlow takes for its own."""
from __future__ import annotations

import threading
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import tensorflow as tf  # type: ignore[import-not-found, import-untyped, unused-ignore]

from .._base.errors import Error
from .errors import translated
from .modes import eager, pure
from .reading import Reader
from .tensors import tensor_of_batch, tensor_of_sample

_iterators: Any = import_module("tensorflow.python.data.ops.iterator_ops")


def translating(reader: Reader) -> Iterator[Any]:
    try:
        yield from reader
    except Error as error:
        raise translated(error) from error


class ArrayIterator(tf.data.NumpyIterator):  # type: ignore[misc]
    """What as_numpy_iterator() gives."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def __iter__(self) -> ArrayIterator:
        return self

    def __next__(self) -> Any:
        try:
            return next(self._reader)
        except Error as error:
            raise translated(error) from error

    next = __next__


class EngineIterator(_iterators.OwnedIterator):  # type: ignore[misc]
    """An iterator over the engine's elements. As soon as TensorFlow wants its resource (an argument of a tf.function, a
    checkpoint), it goes on as TensorFlow's own."""

    def __init__(self, dataset: Any, built: Any) -> None:
        self._data, self._built = dataset, built
        self._element_spec = dataset.element_spec
        self._get_next_call_count = 0
        self._theirs: Any = None
        self._reader: Reader | None = None
        self._lock = threading.Lock()  # several threads may share an iterator
        self._taken = 0

    def _read(self) -> Any:
        reader = self._reader or self._begun()
        try:
            found = next(reader)
        except Error as error:
            raise translated(error) from error
        with self._lock:
            self._taken += 1
        return found

    def _begun(self) -> Reader:
        with self._lock:
            if self._reader is None:
                chain = self._data._chain
                self._reader = Reader(chain, self._built, tensor_of_batch if chain.batched else tensor_of_sample)
            return self._reader

    def __next__(self) -> Any:
        if self._theirs is None and eager():
            return self._read()
        return next(self._own())

    def get_next(self) -> Any:
        if self._theirs is not None or not eager():
            return self._own().get_next()
        try:
            return self._read()
        except StopIteration:
            raise tf.errors.OutOfRangeError(None, None, "End of sequence") from None

    _next_internal = get_next

    def get_next_as_optional(self) -> Any:
        if self._theirs is not None or not eager():
            return self._own().get_next_as_optional()
        try:
            return tf.experimental.Optional.from_value(self._read())
        except StopIteration:
            return tf.experimental.Optional.empty(self._element_spec)

    def _own(self, saved: bool = False) -> Any:
        """TensorFlow's iterator, behind the elements that were taken."""
        if self._theirs is None:
            with tf.init_scope():
                if saved:
                    with pure():
                        found = self._data._realised()
                else:
                    found = self._data._realised()
                self._theirs = iter(found.skip(self._taken) if self._taken else found)
            if self._reader is not None:
                self._reader.close()
        return self._theirs

    def _maybe_initialize_trackable(self) -> None:
        self._own(saved=True)
        super()._maybe_initialize_trackable()

    @property
    def _iterator_resource(self) -> Any:
        return self._own()._iterator_resource

    @property
    def _dataset(self) -> Any:
        return self._own()._dataset

    @property
    def _flat_output_types(self) -> Any:
        return self._own()._flat_output_types

    @property
    def _flat_output_shapes(self) -> Any:
        return self._own()._flat_output_shapes
