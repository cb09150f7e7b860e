# SPDX-License-Identifier: Apache-2.0
"""A dataset for Keras 3 on TensorFlow, JAX and torch: what `model.fit(ds)` gets instead of it.

Keras makes iterators that it never asks, reads a batch to build the model and begins again, and TensorFlow reads ahead
in threads of its own. So an adapter decides itself which pass an epoch of fit is, when the epoch begins, and counts
steps; what was read does not count. Importing this module imports Keras.
"""
from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from .._base.arrays import writable
from .._base.errors import ArgumentError, Error
from .._data.dataset import Dataset, TensorSpec
from .._data.run import Cursor, Iterator
from .tf import Batches

try:
    keras: Any = import_module("keras")
    _adapters: Any = import_module("keras.src.trainers.data_adapters")
    _utils: Any = import_module("keras.src.trainers.data_adapters.data_adapter_utils")
    DataAdapter: Any = import_module("keras.src.trainers.data_adapters.data_adapter").DataAdapter
except ImportError as error:
    raise ImportError("leat.keras needs Keras 3: pip install 'keras>=3.5'; legacy tf_keras takes ds.to_tf()") from error
if not hasattr(_adapters.get_data_adapter, "leat"):
    raise ImportError(f"leat.keras does not know Keras {keras.__version__}: use Keras 3.5 or later, or ds.to_tf()")

TORCH_TYPES = {"uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bool"}
_latest = threading.local()  # .adapter: of the EpochIterator that was reset last, that is of the fit that begins


def _nobody() -> None:
    """As a weak reference to what is gone."""


def _parts(spec: Any) -> list[TensorSpec]:
    """The fields of an element_spec, in order."""
    if isinstance(spec, TensorSpec):
        return [spec]
    return [field for part in (spec.values() if isinstance(spec, dict) else spec) for field in _parts(part)]


def _change(structure: Any, make: Callable[[Any], Any]) -> Any:
    """An element_spec or a batch, with something else for each field."""
    if isinstance(structure, dict):
        return {key: _change(part, make) for key, part in structure.items()}
    if isinstance(structure, tuple) and not isinstance(structure, TensorSpec):
        return tuple([_change(part, make) for part in structure])
    return make(structure)


class Stream:
    """The batches of one iterator of Keras: a pass, or with steps_per_epoch one pass after the other. It opens nothing
    before the first batch is wanted, because Keras makes iterators that it never asks."""

    def __init__(self, adapter: Adapter) -> None:
        self.marks: list[tuple[int, Cursor]] = []  # number of the first batch of each pass, and where it is
        self._adapter = adapter
        self._reading: Iterator | None = None
        self._count = 0

    def __iter__(self) -> Stream:
        return self

    def _read_from(self, cursor: Cursor) -> Iterator:
        self.marks.append((self._count, cursor))
        self._reading = Iterator(self._adapter.dataset, begin=cursor)
        return self._reading

    def __next__(self) -> Any:
        adapter = self._adapter
        reading = self._reading
        if reading is None:
            if self.marks:
                raise StopIteration  # given up
            reading = self._read_from(adapter.enter(self))
        empty = 0
        while True:
            try:
                batch = next(reading)
            except StopIteration:
                empty += 1
                if adapter.steps is None or empty > 1:
                    self.drop()
                    raise
                reading = self._read_from(adapter.pass_after(self.marks[-1][1]))
                continue
            except Error as error:
                first, begin = self.marks[-1]
                reading = self._read_from(adapter.recover(self, error, adapter.after(begin, self._count - first)))
                continue
            self._count += 1
            return adapter.complete(batch)

    def drop(self) -> None:
        """Gives the pipeline back; a reader that still asks sees the end."""
        self._reading = None
        self._adapter.leave(self)


class Adapter(DataAdapter):  # type: ignore[misc]
    """A dataset as Keras's trainers want it. `model.fit(ds)` makes one, `ds.to_keras()` makes one to hold.

        model.fit(ds.to_keras(), epochs=3)
    """

    is_leat_adapter = True

    def __init__(self, dataset: Dataset, class_weight: Mapping[int, float] | None = None,
                 steps: int | None = None) -> None:
        self.dataset, self.class_weight, self.steps = dataset, class_weight, steps
        if not dataset.batched:
            raise ArgumentError("Keras wants batches, and this dataset gives single samples: end it with .batch(32)")
        self._spec = self._find_spec()
        self._check()
        self._batches, _, self._turns = dataset._plan().pipeline.size()
        self._length = dataset.length
        if self._length == 0:
            raise ArgumentError("this dataset has no batch: fewer samples than a batch, and the remainder is dropped?")
        self._begin = Cursor()  # of this epoch; with steps, of the stream
        self._taken = 0  # steps of the stream in the epochs before, if there are steps
        self._done = 0  # steps of the next epoch that an earlier process has done
        self._inside = False
        # The reader owns the stream; its pipeline is given back when the reader is gone.
        self._stream: Callable[[], Stream | None] = _nobody
        self._marks: list[tuple[int, Cursor]] = []  # its passes
        self._reader: Callable[[], Any] = _nobody  # the EpochIterator
        self.epoch_steps: int | None = None  # steps of this epoch, if known

    def _find_spec(self) -> Any:
        """What a batch looks like, before class_weight."""
        return self.dataset.element_spec

    def _check(self) -> None:
        for field in _parts(self._spec):
            if field.ragged:
                what = "strings" if field.dtype == "bytes" else "another number of values in each sample"
                raise ArgumentError(f"field '{field.name}' has {what}, which Keras does not take: use padded_batch(), "
                                    "or choose the fields with as_tuple('image', 'label')")
        count = len(self._spec) if isinstance(self._spec, tuple) and not isinstance(self._spec, TensorSpec) else 1
        if count > 3:
            raise ArgumentError(f"Keras takes x, (x, y) or (x, y, weights), and this dataset gives {count} parts: "
                                "as_tuple(['a', 'b'], 'label') makes a dict of several inputs")
        if self.class_weight is None:
            return
        if count == 3:
            raise ArgumentError("class_weight and weights of samples in the dataset: only one of them; "
                                "as_tuple('image', 'label') leaves the weights out")
        if count < 2 or not isinstance(self._spec[1], TensorSpec):
            raise ArgumentError("class_weight needs one field of labels: as_tuple('image', 'label')")

    # ------------------------------------------------------------------------------------------ places

    def after(self, begin: Cursor, count: int) -> Cursor:
        """The place `count` batches behind another."""
        return self.dataset._plan().after(begin, count)

    def pass_after(self, place: Cursor) -> Cursor:
        """Where the pass begins that follows the one with this place."""
        turns = max(self._turns, 1)
        return Cursor((place.epoch // turns + 1) * turns)

    def _left(self, begin: Cursor) -> int | None:
        """Batches of a pass from there on."""
        if self._length is None:
            return None
        here = self.dataset._plan().pipeline.batches(begin.epoch)
        return here - begin.step + (self._turns - 1 - begin.epoch % self._turns) * self._batches

    def state(self, count: int | None = None) -> str:
        """The state of the data after `count` steps of this epoch; None: after the epoch."""
        if self.steps is None:
            place = self.pass_after(self._begin) if count is None else self.after(self._begin, count)
            return self.dataset._plan().state_at(place)
        if count is None:
            count = self.epoch_steps if self._inside and self.epoch_steps else 0
        count += self._taken
        first, cursor = max(mark for mark in [(0, self._begin), *self._marks] if mark[0] <= count)
        return self.dataset._plan().state_at(self.after(cursor, count - first))

    def go_on(self, state: str, done: int, resize_batch: bool) -> None:
        """The next epoch begins at a state, `done` steps after its own beginning."""
        self.dataset.restore(state, resize_batch)
        self._stream, self._done = _nobody, done

    # ------------------------------------------------------------------------------------- what Streams ask

    def enter(self, stream: Stream) -> Cursor:
        self._stream, self._marks = weakref.ref(stream), stream.marks
        return self._begin

    def leave(self, stream: Stream) -> None:
        if self._stream() is stream:
            self._stream = _nobody

    def recover(self, stream: Stream, error: Exception, at: Cursor) -> Cursor:
        """Where to go on after an error that came instead of the batch at a place; here it is raised."""
        raise error

    def complete(self, batch: Any) -> Any:
        if self.class_weight is None:
            return batch
        x, y = batch
        return x, y, _utils.class_weight_to_sample_weights(y, self.class_weight)

    # ------------------------------------------------------------------------------------- what Keras asks

    def rewind(self, reader: Any) -> None:
        """Keras forgets what it has read since the last epoch: it was to build the model only."""
        self._reader = weakref.ref(reader)
        if self.steps is None and self._length is None:  # of a stream, the end of the data is the end of an epoch
            reader._interrupted_warning = _nobody
        if self._inside:
            self.dataset._runs.seek(self._begin)
        self._inside = False
        stream = self._stream()
        if stream is not None:
            stream.drop()

    def on_epoch_begin(self) -> None:
        runs = self.dataset._runs
        runs.check()
        if self.steps is None or self._stream() is None:  # a new iterator of Keras's, a new pass
            self._begin, self._taken, self._marks = runs.following(), 0, []
        self._inside = True
        self.epoch_steps = self._left(self._begin) if self.steps is None else self.steps - self._done
        self._done = 0
        reader = self._reader()
        if reader is not None:  # an epoch that was begun before is shorter than others
            if self.steps is None:
                reader._num_batches = self.epoch_steps
            else:
                reader.steps_per_epoch = self.epoch_steps
        # As everywhere in leat, an iteration is followed by the next pass, also if it is broken off.
        end = self._begin
        if self.steps is not None and self._batches > 0:
            end = self.after(self._begin, self._taken + (self.epoch_steps or 1) - 1)
        runs.seek(self.pass_after(end))

    def on_epoch_end(self) -> None:
        if self._inside and self.steps is not None:
            self._taken += self.epoch_steps or 0
        self._inside = False

    @property
    def num_batches(self) -> int | None:
        return None if self.steps is not None else self._left(self.dataset._runs.following())

    @property
    def batch_size(self) -> int | None:
        return self.dataset.batch_size

    @property
    def partial_batch_size(self) -> int | None:
        plan, size = self.dataset._plan(), self.dataset.batch_size
        if self._batches <= 0 or size is None or plan.batch_size != size:  # not known, or of several ranks
            return None
        rest = plan.pipeline.size()[1] - (self._batches - 1) * size
        return rest if 0 < rest < size else None

    @property
    def has_partial_batch(self) -> bool:
        return self.partial_batch_size is not None

    def get_numpy_iterator(self) -> Stream:
        return Stream(self)

    def get_jax_iterator(self) -> Stream:
        return Stream(self)  # NumPy arrays: aligned memory is taken by JAX without a copy

    def get_torch_dataloader(self) -> Any:
        torch: Any = import_module("torch")
        adapter = self

        def share(array: Any) -> Any:
            """Keras copies arrays, but not tensors that are where they should be."""
            return keras.ops.convert_to_tensor(torch.from_numpy(writable(array)) if array.dtype.name in TORCH_TYPES
                                                else array)

        class Batches(torch.utils.data.IterableDataset):  # type: ignore[misc]
            def __iter__(self) -> Any:
                return (_change(batch, share) for batch in Stream(adapter))

        # A generator of its own: otherwise each epoch takes a number from torch's, and a model draws other ones.
        return torch.utils.data.DataLoader(Batches(), batch_size=None, generator=torch.Generator())

    def symbolic(self) -> Any:
        """A batch of symbols, to build a model with."""
        spec = _change(self._spec, lambda field: keras.KerasTensor(field.shape, field.dtype))
        if self.class_weight is not None:
            spec = (*spec, keras.KerasTensor(spec[1].shape[:1], keras.config.floatx()))
        return spec

    def get_tf_dataset(self) -> Any:
        from .tf_feed import fed

        tf: Any = import_module("tensorflow")
        signature = _change(self._spec, lambda field: tf.TensorSpec(field.shape, field.dtype))
        if self.class_weight is not None:
            signature = (*signature, tf.TensorSpec(signature[1].shape[:1], keras.config.floatx()))
        options = tf.data.Options()
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
        options.autotune.enabled = False  # see _frameworks/tf.py
        return fed(lambda: Batches(Stream(self)), signature, options, prefetch=1)  # one: leat itself works ahead


def _endless(dataset: Dataset) -> bool:
    batches, _, turns = dataset._plan().pipeline.size()
    return turns < 0 or (batches < 0 and any(operation == "repeat" for operation in dataset.operations))


def adapter_for(x: Any, y: Any = None, sample_weight: Any = None, batch_size: int | None = None,
                steps_per_epoch: int | None = None, shuffle: bool = False,
                class_weight: Mapping[int, float] | None = None, make: Callable[..., Adapter] | None = None) -> Adapter:
    """What Keras gets for a leat dataset or adapter; batch_size and shuffle are the dataset's own affair. make: an adapter of
    another class, for what has a dataset behind it."""
    for name, value in (("y", y), ("sample_weight", sample_weight)):
        if value is not None:
            raise ArgumentError(f"{name} was given beside a leat dataset: it has to be a field of the dataset, "
                                "see as_tuple('image', 'label', 'weight')")
    spread = keras.distribution.distribution()
    if getattr(spread, "_is_multi_process", False) and getattr(spread, "auto_shard_dataset", False):
        raise ArgumentError("a distribution over several processes: give each its part with ds.configure(rank=..., "
                            "world_size=...), and set distribution.auto_shard_dataset = False")
    if make is not None:
        return make(x, class_weight, steps_per_epoch)
    dataset: Dataset = x.dataset if isinstance(x, Adapter) else x
    if steps_per_epoch is None and _endless(dataset):
        raise ArgumentError("this dataset has no end (repeat): give steps_per_epoch to fit, steps to evaluate and "
                            "predict, validation_steps for validation_data; or leave repeat() out")
    return Adapter(dataset, class_weight, steps_per_epoch)


def before_reset(reader: Any) -> None:
    """An EpochIterator of Keras is about to be reset: at the beginning of fit and evaluate, after building."""
    adapter = reader.data_adapter
    _latest.adapter = weakref.ref(adapter) if isinstance(adapter, Adapter) else None
    if isinstance(adapter, Adapter):
        adapter.rewind(reader)


def current_adapter() -> Adapter | None:
    """Of the fit that has just begun in this thread, None if it is fed by something else."""
    found = getattr(_latest, "adapter", None)
    adapter: Adapter | None = found() if found is not None else None
    return adapter

