# SPDX-License-Identifier: Apache-2.0
"""TensorFlow: a leat dataset as a tf.data.Dataset of whole batches. See docs/python.md.

How memory gets there. As in `from_generator` (see tf_feed.py), NumPy arrays go through the operation behind
`tf.numpy_function`, which lays a tensor over an array's memory if it begins at a multiple of 64 bytes; the fields of a batch
begin at multiples of 256. So nothing is copied. `py_function` with DLPack copies nothing either, but is not quicker, passes through the eager
runtime once more, and loses the shapes. TensorFlow lets go of arrays when it next calls Python, not at once.

How a program ends. A thread of TensorFlow that asks for a batch when the interpreter has begun to end never returns from
Python: CPython stops it there. Then TensorFlow waits for it for ever, or frees what it was using. That happens with any
generator, when a program ends while batches are prefetched. So a program that ends has no more batches, and waits until
TensorFlow's threads have noticed.
"""
from __future__ import annotations

import atexit
import collections
import importlib
import os
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

from .._base.arrays import optional, to_array
from .._base.errors import StateError
from .._data.dataset import TensorSpec
from .._data.run import Iterator

if TYPE_CHECKING:
    from .._data.dataset import Dataset


def _convert(tensor: Any, offsets: Any) -> Any:
    """Arrays; (values, row splits) of what is ragged; strings as NumPy objects, which TensorFlow copies."""
    if offsets is None:
        return to_array(tensor)
    if tensor.dtype != "bytes":
        return to_array(tensor), to_array(offsets)
    view, places = memoryview(to_array(tensor)).cast("B"), to_array(offsets).tolist()
    numpy: Any = optional("numpy")
    texts = numpy.empty(len(places) - 1, object)
    texts[:] = [bytes(view[begin:end]) for begin, end in zip(places, places[1:])]
    return texts


class _Specs:
    """element_spec in TensorFlow's words, and the same with ragged fields in two parts, as the generator gives them."""

    def __init__(self, tf: Any, dataset: Dataset) -> None:
        self._tf = tf
        self._batched = dataset.batched and not dataset._items_are_batches
        self.ours = dataset.element_spec
        self.split = False  # whether there are fields that do not come as one array
        self.any_ragged = False
        self.parts = self._each(self.ours, self._parts)

    def _each(self, spec: Any, make: Any, *values: Any) -> Any:
        if isinstance(spec, TensorSpec):
            return make(spec, *values)
        if isinstance(spec, dict):
            return {key: self._each(part, make, *(value[key] for value in values)) for key, part in spec.items()}
        return tuple(self._each(part, make, *(value[i] for value in values)) for i, part in enumerate(spec))

    def _is_ragged(self, spec: TensorSpec) -> bool:
        return self._batched and spec.ragged and spec.dtype != "bytes"

    def _parts(self, spec: TensorSpec) -> Any:
        tf = self._tf
        self.split = self.split or spec.ragged
        if spec.dtype == "bytes":
            return tf.TensorSpec(spec.shape[:-1], tf.string)
        if not self._is_ragged(spec):
            return tf.TensorSpec(spec.shape, spec.dtype)
        self.any_ragged = True
        n = spec.shape[0]
        return (tf.TensorSpec((None, *spec.shape[2:]), spec.dtype),
                tf.TensorSpec((None if n is None else n + 1,), "int64"))

    def join(self, *element: Any) -> Any:
        """The element with its ragged fields put together; tf.data gives the parts of a tuple one by one."""
        def make(spec: TensorSpec, value: Any) -> Any:
            if not self._is_ragged(spec):
                return value
            return self._tf.RaggedTensor.from_row_splits(*value, validate=False)

        is_tuple = isinstance(self.ours, tuple) and not isinstance(self.ours, TensorSpec)
        whole = element if is_tuple or (isinstance(self.ours, TensorSpec) and self.any_ragged) else element[0]
        return self._each(self.ours, make, whole)


class Batches:
    """The iterator that TensorFlow asks for batches. It has no more of them when the program ends.

    TensorFlow makes errors of its own out of exceptions, with their text inside. The exceptions are kept for a moment, so
    that Keras can raise them: see own_error.
    """

    ending = False
    errors: collections.deque[Exception] = collections.deque(maxlen=4)
    live: weakref.WeakSet[Batches] = weakref.WeakSet()

    def __init__(self, iterator: Any) -> None:
        self._iterator = iterator
        Batches.live.add(self)

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Any:
        if Batches.ending:
            raise StopIteration
        try:
            return next(self._iterator)
        except StopIteration:
            raise
        except Exception as error:
            Batches.errors.append(error)
            raise


def own_error(error: BaseException) -> Exception | None:
    """The exception that TensorFlow made this error of, if it came from here."""
    text = str(error)
    return next((ours for ours in Batches.errors if ours is not error and str(ours) and str(ours) in text), None)


def _others_run() -> bool:
    """Whether another thread of this process runs or could; False where the system does not tell."""
    own = str(threading.get_native_id())
    try:
        threads = os.listdir("/proc/self/task")
    except OSError:
        return False
    for thread in threads:
        try:
            with open(f"/proc/self/task/{thread}/stat", "rb") as file:
                state = file.read().rpartition(b") ")[2][:1]
        except OSError:
            continue  # it has ended
        if thread != own and state == b"R":
            return True
    return False


@atexit.register
def _end() -> None:
    """No thread of TensorFlow may be on its way into Python when the interpreter goes."""
    Batches.ending = True
    quiet, limit = 0, time.monotonic() + 2
    while Batches.live and quiet < 5 and time.monotonic() < limit:
        time.sleep(0.005)  # others have the interpreter meanwhile
        quiet = 0 if _others_run() else quiet + 1


def to_tf(dataset: Dataset) -> Any:
    """The tf.data.Dataset of Dataset.to_tf()."""
    from .tf_feed import fed

    tf: Any = importlib.import_module("tensorflow")
    specs = _Specs(tf, dataset)
    length, endless = dataset.length, dataset.endless
    if dataset._runs.following().step > 0:
        length = None  # the next iteration is shorter than the others

    def begin() -> Any:
        if Batches.ending:
            return iter(())  # TensorFlow repeats what has ended
        if length is not None and dataset._runs.following().step > 0:
            raise StateError("restore() came after to_tf(), whose length was the whole epoch's: call to_tf() again")
        return Batches(Iterator(dataset, convert=_convert if specs.split else None))

    options = tf.data.Options()
    # Ranks have their part from leat; TensorFlow's own sharding would take a part of the part.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    # leat tunes itself. TensorFlow's tuner would have nothing to do, and when an iterator ends before its data does, as
    # after Ctrl-C, TensorFlow may wait for the tuner's thread for minutes.
    options.autotune.enabled = False
    cardinality = (tf.data.INFINITE_CARDINALITY if endless else None) if length is None else length
    made = fed(begin, specs.parts, options, None if specs.any_ragged else cardinality)
    if not specs.any_ragged:
        return made
    made = made.map(specs.join)
    return made if cardinality is None else made.apply(tf.data.experimental.assert_cardinality(cardinality))
