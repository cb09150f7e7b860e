# SPDX-License-Identifier: Apache-2.0
"""Iterators over batches of augmented pictures: Keras's protocol, and the engine behind it.

`next` and Keras's fit read a dataset of leat, epoch after epoch. `it[i]` draws anew each time it is asked, as Keras's
does: single requests make a small pipeline for their rows, and a loop over i reads one that works ahead. Where nothing
is drawn, single requests are answered by the dataset itself.
"""
from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from .._base.errors import ArgumentError, DTypeError, Error, LimitError, ShapeError, TextError, UnsupportedError
from .._base.notices import tell
from .._data.elements import batch_at
from .._data.run import Cursor
from .._data.run import Iterator as Reading
from .._sources.sources import from_arrays
from .lowering import Lowered, Unlowered, changed_methods, lower
from .needs import np
from .pictures import save_batch

if TYPE_CHECKING:
    from .._data.dataset import Dataset

    Base: Any = object
else:  # with Keras 3, iterators are its PyDatasets, as Keras's own are
    Base = getattr(getattr(sys.modules.get("keras"), "utils", None), "PyDataset", object)

SINGLE = 4  # batches of a loop over it[i] that are made one by one


class Iterator(Base):  # type: ignore[misc, unused-ignore]
    """Base of iterators over pictures: n samples in batches, in order or shuffled, without end.

    A subclass has _get_batches_of_transformed_samples(index_array).
    """

    is_leat_generator = True
    white_list_formats = ("png", "jpg", "jpeg", "bmp", "ppm", "tif", "tiff")

    def __init__(self, n: int, batch_size: int, shuffle: bool, seed: int | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.n, self.batch_size, self.seed, self.shuffle = n, batch_size, seed, shuffle
        self.batch_index = 0
        self.total_batches_seen = 0
        self.lock: Any = threading.RLock()
        self.index_array: Any = None
        self.index_generator = self._flow_index()

    def _set_index_array(self) -> None:
        self.index_array = np.random.permutation(self.n) if self.shuffle else np.arange(self.n)

    def _reseed(self) -> None:
        if self.seed is not None:
            np.random.seed(self.seed + self.total_batches_seen)

    def __len__(self) -> int:
        return (self.n + self.batch_size - 1) // self.batch_size

    def _check_index(self, idx: int) -> None:
        if idx >= len(self):
            raise ValueError(f"Asked to retrieve element {idx}, but the Sequence has length {len(self)}")

    def __getitem__(self, idx: int) -> Any:
        self._check_index(idx)
        self._reseed()
        self.total_batches_seen += 1
        if self.index_array is None:
            self._set_index_array()
        rows = self.index_array[self.batch_size * idx:self.batch_size * (idx + 1)]
        return self._get_batches_of_transformed_samples(rows)

    def on_epoch_end(self) -> None:
        """A new order for it[i]."""
        self._set_index_array()

    def reset(self) -> None:
        """The next batch is the first of a new epoch."""
        self.batch_index = 0

    def _advance(self) -> int:
        """Counts a batch; where it begins in the order."""
        begin = self.batch_index * self.batch_size % self.n if self.n else 0
        self.batch_index = self.batch_index + 1 if self.n > begin + self.batch_size else 0
        self.total_batches_seen += 1
        return begin

    def _flow_index(self) -> Generator[Any, None, None]:
        self.reset()
        while True:
            self._reseed()
            if self.batch_index == 0:
                self._set_index_array()
            begin = self._advance()
            yield self.index_array[begin:begin + self.batch_size]

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        with self.lock:
            index_array = next(self.index_generator)
        return self._get_batches_of_transformed_samples(index_array)

    def next(self) -> Any:
        """The next batch."""
        return next(self)

    def _get_batches_of_transformed_samples(self, index_array: Any) -> Any:
        raise NotImplementedError


class EngineIterator(Iterator):
    """An iterator whose batches the engine makes. Subclasses say where pictures come from and what belongs to them."""

    image_data_generator: Any
    data_format: str
    dtype: Any
    save_to_dir: Any
    save_prefix: str
    save_format: str
    _most_chance: int  # in the names of files in save_to_dir

    def __init__(self, n: int, batch_size: int, shuffle: bool, seed: int | None) -> None:
        self._given_order: Any = None
        self._epoch: int | None = None  # of the engine: whose order index_array is
        self._order: tuple[int | None, Any] = None, None
        self._orders: Dataset[Any] | None = None
        self._recipe: dict[str, Any] | None = None  # settings of the generator when its dataset was made
        self._lowered: Lowered | None = None
        self._reading: Reading[Any] | None = None  # of next()
        self._step = 0
        self._indexed: tuple[int, Reading[Any] | None, list[Any]] = -1, None, []  # of it[i]: the step that comes next
        self._mixed: tuple[Dataset[Any], Dataset[Any]] | None = None  # the dataset, and with its batches shuffled
        self._draws = 0
        self._drawn_seed: int | None = None
        super().__init__(n, batch_size, shuffle, seed)

    # ------------------------------------------------------------------------------- what subclasses have

    def _picture_shape(self) -> tuple[int, int, int]:
        """height, width, channels"""
        raise NotImplementedError

    def _source(self, rows: Any) -> Dataset[Any]:
        """Pictures and their numbers: all samples in the iterator's order, or these rows. Nothing else is drawn."""
        raise NotImplementedError

    def _shuffled(self, source: Dataset[Any], rows: Any) -> Dataset[Any]:
        """For _source, right behind where samples come from: an order depends on the place of shuffle in the text."""
        return source.shuffle(seed=self._engine_seed()) if self.shuffle and rows is None else source

    def _picture(self, number: int) -> Any:
        """One picture as an array in the iterator's format, for what must be done in Python."""
        raise NotImplementedError

    def _arrange(self, x: Any, numbers: Any) -> Any:
        """A batch in the form that is handed over: x, (x, y) or (x, y, weights)."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------- the engine

    def _engine_seed(self) -> int:
        if self._drawn_seed is None:
            self._drawn_seed = int(np.random.randint(1 << 31)) if self.seed is None else int(self.seed) & 0x7FFFFFFF
        return self._drawn_seed

    def _is_current(self) -> bool:
        """Whether the dataset is that of the generator's settings, which users change between batches."""
        if self._recipe is None:
            return False
        try:
            return bool(self.image_data_generator is None or vars(self.image_data_generator) == self._recipe)
        except ValueError:  # arrays that are not the same object
            return False

    def _generator(self) -> Any:
        from .generator import ImageDataGenerator

        return self.image_data_generator or ImageDataGenerator(data_format=self.data_format, dtype=self.dtype)

    def _lower(self, dataset: Dataset[Any], size: int) -> Lowered:
        """A source with the generator's operations, in batches of (image, index)."""
        lowered = lower(dataset, self._generator(), self._picture_shape())
        made = lowered.dataset
        if self.data_format == "channels_first":
            made = made.options(layout="nchw")
        after = list(lowered.after)
        if np.dtype(self.dtype) != np.float32:
            after.append(lambda x: x.astype(self.dtype))
        return Lowered(made.batch(size).as_tuple("image", "index"), after, lowered.draws)

    def _build(self, draws: int | None = None, reads: bool = False) -> Lowered:
        """All samples, epoch after epoch. draws: another stream of draws over the same order; reads: its batches are wanted now."""
        self._refuse_python()
        seed = self._engine_seed()
        lowered = self._lower(self._source(None), self.batch_size)
        if draws is not None:
            seed = (seed + 0x9E3779B1 * (draws + 1)) & 0x7FFFFFFF
        dataset = lowered.dataset.options(seed=seed)
        if draws is None:
            try:  # what the engine refuses comes when it is opened
                if reads:
                    dataset._runs.give(dataset._open(), Cursor())
                else:
                    dataset._quiet()
            except (ArgumentError, DTypeError, LimitError, ShapeError, TextError, UnsupportedError) as error:
                raise Unlowered(str(error)) from None
        return lowered._replace(dataset=dataset)

    def _refuse_python(self) -> None:
        from .generator import ImageDataGenerator

        own = type(self)._get_batches_of_transformed_samples is EngineIterator._get_batches_of_transformed_samples
        changed = None if own else f"{type(self).__name__}._get_batches_of_transformed_samples"
        if self.image_data_generator is not None:
            changed = changed or changed_methods(self.image_data_generator, ImageDataGenerator)
        if changed:
            raise Unlowered(f"{changed} is not leat's own")
        if np.dtype(self.dtype).kind != "f":
            raise Unlowered(f"dtype={self.dtype}: the engine makes floats")
        if self.n == 0 or self.batch_size < 1:
            raise Unlowered("there is no sample")

    def _engine(self, reads: bool = False) -> Lowered | None:
        """The dataset as the generator is now; None if pictures are made one by one. reads: see _build."""
        if not self._is_current():
            self._close()
            try:
                self._lowered = self._build(reads=reads)
                if self._epoch is not None:  # epochs go on behind those of the dataset before
                    self._lowered.dataset._runs.seek(Cursor(self._epoch + 1))
            except Unlowered as reason:
                self._lowered = None
                if self.n and self.batch_size > 0:
                    tell(f"{reason}: pictures are made one by one in Python, as Keras does", (type(self), str(reason)))
            self._recipe = {} if self.image_data_generator is None else dict(vars(self.image_data_generator))
        return self._lowered

    def _close(self) -> None:
        """Ends the pipelines; the next batch opens them anew."""
        self._reading, self._indexed, self._recipe = None, (-1, None, []), None
        if self._lowered is not None:
            self._lowered.dataset.close()
            self._lowered = None

    # -------------------------------------------------------------------------------------------- the order

    def _order_dataset(self) -> Dataset[Any]:
        """The numbers of the samples alone, in the engine's order."""
        if self._orders is None:
            n = max(self.n, 1)
            self._orders = from_arrays({"index": np.arange(n)}).shuffle(seed=self._engine_seed()).batch(n)
        return self._orders

    def _order_of(self, epoch: int) -> Any:
        if self._order[0] != epoch:
            order = np.arange(self.n)
            if self.shuffle and self.n:
                feed = self._order_dataset()._quiet()
                feed.move(Cursor(epoch))
                feed.at = None
                raw: Any = feed.pipeline.next()
                order = np.array(raw.tensors()[0][0])
            self._order = epoch, order
        return self._order[1]

    def _set_index_array(self) -> None:
        """The next epoch's order; which number it has is known to the dataset, since fit goes on counting."""
        runs = (self._lowered.dataset if self._lowered else self._order_dataset())._runs
        epoch = runs.following().epoch
        if self._epoch is not None and not self._lowered:
            epoch = max(epoch, self._epoch + 1)
        runs.seek(Cursor(epoch + 1))
        self._epoch, self._given_order = epoch, None
        self._indexed = -1, None, []

    @property
    def index_array(self) -> Any:
        """Numbers of the samples in the order of this epoch, None before the first."""
        if self._given_order is not None:
            return self._given_order
        return None if self._epoch is None else self._order_of(self._epoch)

    @index_array.setter
    def index_array(self, order: Any) -> None:
        self._given_order = order

    # ------------------------------------------------------------------------------------------- batches

    def _done(self, batch: Any, after: list[Any]) -> tuple[Any, Any]:
        x, numbers = batch
        for function in after:
            x = function(x)
        return x, numbers

    def _assemble(self, x: Any, numbers: Any) -> Any:
        if self.save_to_dir:
            save_batch(x, numbers, self.save_to_dir, self.save_prefix, self.save_format, self.data_format,
                       self._most_chance)
        return self._arrange(x, numbers)

    def _change_reader(self, error: Exception) -> None:
        """After this error another source is to be tried; here there is none. An exception of a function of the user's
        is raised as it was, as in Keras."""
        raise error.__cause__ if isinstance(error.__cause__, Exception) else error

    def __next__(self) -> Any:
        with self.lock:
            engine = self._engine(reads=True)
            if engine is None or (self._given_order is not None and self.batch_index):
                numbers = next(self.index_generator)
                return self._get_batches_of_transformed_samples(numbers)
            if self.batch_index == 0:
                self._set_index_array()
                self._reading = None
            if self._reading is None or self._step != self.batch_index:
                at = Cursor(self._epoch or 0, self.batch_index)
                self._reading = Reading(engine.dataset, begin=at)
            batch = self._pull(self._reading, self.batch_index)
            self._advance()
            self._step = self.batch_index
        return self._assemble(*self._done(batch, engine.after))

    def _pull(self, reading: Reading[Any], step: int) -> Any:
        """The next batch of a reading, which is this step of the epoch."""
        try:
            return next(reading)
        except Error as error:
            self._change_reader(error)
        engine = self._engine()
        if engine is None:
            raise RuntimeError("the other reader could not be opened")
        self._reading = Reading(engine.dataset, begin=Cursor(self._epoch or 0, step))
        return next(self._reading)

    def __getitem__(self, idx: int) -> Any:
        self._check_index(idx)
        with self.lock:
            engine = self._engine()
            if engine is None:
                return super().__getitem__(idx)
            if self.index_array is None:
                self._set_index_array()
            self.total_batches_seen += 1
            following, reading, after = self._indexed
            long = idx >= SINGLE and len(self) - idx >= SINGLE  # worth a pipeline that works ahead
            if idx == following and self._given_order is None and (reading is not None or long):
                if reading is None:
                    self._draws += 1
                    made = self._build(self._draws)
                    at, after = Cursor(self._epoch or 0, idx), made.after
                    reading = Reading(made.dataset, begin=at)
                self._indexed = idx + 1, reading, after
                batch = self._done(self._pull(reading, idx), after)
            else:
                self._indexed = idx + 1 if idx in (0, following) else -1, None, []
                if not engine.draws and self._given_order is None:
                    return self._assemble(*self._done(self._same(engine, idx), engine.after))
                return self._get_batches_of_transformed_samples(
                    self.index_array[self.batch_size * idx:self.batch_size * (idx + 1)])
        return self._assemble(*batch)

    def _same(self, engine: Lowered, idx: int) -> Any:
        """A batch of this epoch that is the same each time it is asked for: its rows need no pipeline of their own."""
        try:
            return batch_at(engine.dataset, self._epoch or 0, idx)
        except Error as error:
            self._change_reader(error)
        made = self._engine()
        if made is None:
            raise RuntimeError("the other reader could not be opened")
        return batch_at(made.dataset, self._epoch or 0, idx)

    def _get_batches_of_transformed_samples(self, index_array: Any) -> Any:
        """A batch of these samples, with draws of its own."""
        numbers = np.asarray(index_array)
        if self._engine() is None or len(numbers) == 0:
            return self._assemble(self._one_by_one(numbers), numbers)
        with self.lock:
            self._draws += 1
            seed = (self._engine_seed() + 0x85EBCA77 * self._draws) & 0x7FFFFFFF
        try:
            batch = self._batch_of(numbers, seed)
        except Error as error:
            self._change_reader(error)
            batch = self._batch_of(numbers, seed)
        return self._assemble(batch, numbers)

    def _batch_of(self, rows: Any, seed: int) -> Any:
        """The pictures of these rows, by a pipeline for them alone."""
        made = self._lower(self._source(rows), len(rows))
        dataset = made.dataset.options(seed=seed)
        try:
            return self._done(dataset[0], made.after)[0]
        finally:
            dataset.close()

    def _one_by_one(self, numbers: Any) -> Any:
        """As Keras makes a batch: in Python, from NumPy's global generator."""
        height, width, channels = self._picture_shape()
        shape = (channels, height, width) if self.data_format == "channels_first" else (height, width, channels)
        batch = np.zeros((len(numbers), *shape), self.dtype)
        generator = self.image_data_generator
        for i, number in enumerate(numbers):
            x = self._picture(number)
            if generator is not None:
                x = generator.apply_transform(x, generator.get_random_transform(x.shape))
                x = generator.standardize(x)
            batch[i] = x
        return batch

    def __getstate__(self) -> dict[str, Any]:
        """Pickles and copies carry what was given; pipelines, locks and generators stay here."""
        state = dict(self.__dict__)
        for name in ("lock", "index_generator", "_reading", "_orders", "_lowered", "_indexed", "_recipe", "_mixed"):
            state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        at = state.get("batch_index", 0)
        self.__dict__.update(state, lock=threading.RLock(), _reading=None, _orders=None, _lowered=None, _recipe=None,
                             _mixed=None, _indexed=(-1, None, []))
        self.index_generator = self._flow_index()
        self.batch_index = at
