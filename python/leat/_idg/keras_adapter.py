# SPDX-License-Identifier: Apache-2.0
"""An iterator of ImageDataGenerator for Keras 3: fit reads the engine's dataset behind it, without Keras's threads."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from .._data.dataset import Dataset, TensorSpec
from .._data.run import Cursor
from .._frameworks.keras import Adapter, Stream, adapter_for, keras
from .iterator import EngineIterator, Iterator
from .needs import np


def _parts(structure: Any, make: Callable[[Any], Any]) -> Any:
    """A batch with something else for each array; lists become tuples, which TensorFlow needs."""
    if isinstance(structure, (tuple, list)):
        return tuple(_parts(part, make) for part in structure)
    return make(structure)


def _settled(array: Any) -> Any:
    """Floats in Keras's own type, as its adapter for PyDatasets has them."""
    return array.astype(keras.config.floatx(), copy=False) if array.dtype.kind == "f" else array


class GeneratorAdapter(Adapter):
    """The batches of an iterator, read from its dataset: the engine works ahead, and labels are added to each batch."""

    def __init__(self, generator: EngineIterator, class_weight: Mapping[int, float] | None = None,
                 steps: int | None = None, shuffle: bool = False) -> None:
        self.generator, self.shuffled = generator, shuffle and not generator.shuffle
        super().__init__(self._take(), class_weight, steps)

    def _take(self) -> Dataset:
        """The generator's dataset as it is now. fit(shuffle=True) shuffles whole batches of one in order."""
        engine = self.generator._engine()
        if engine is None:
            raise ValueError("this iterator makes its batches in Python")
        self._after = engine.after
        if not self.shuffled:
            return engine.dataset
        kept = self.generator._mixed
        if kept is None or kept[0] is not engine.dataset:  # it counts epochs, also from one fit to the next
            kept = engine.dataset, engine.dataset.shuffle(seed=self.generator._engine_seed())
            self.generator._mixed = kept
        return kept[1]

    def _find_spec(self) -> Any:
        shape = self._shape()
        example = self.generator._arrange(np.zeros((1, *shape), self.generator.dtype), np.zeros(1, "int64"))
        names = iter(("image", *(f"part{i}" for i in range(1, 100))))
        return _parts(example, lambda array: TensorSpec((None, *array.shape[1:]), _settled(array).dtype.name,
                                                        next(names)))

    def _shape(self) -> tuple[int, ...]:
        height, width, channels = self.generator._picture_shape()
        first = self.generator.data_format == "channels_first"
        return (channels, height, width) if first else (height, width, channels)

    def complete(self, batch: Any) -> Any:
        self.generator.total_batches_seen += 1
        made = self.generator._assemble(*self.generator._done(batch, self._after))
        return super().complete(_parts(made, _settled))

    def recover(self, stream: Stream, error: Exception, at: Cursor) -> Any:
        """A file that the engine cannot decode: the rest of the epoch is read by Pillow."""
        following = self.dataset._runs.following()
        self.generator._change_reader(error)
        self.dataset = self._take()
        self.dataset._runs.seek(following)
        return at

    def on_epoch_begin(self) -> None:
        super().on_epoch_begin()
        if not self.shuffled:
            self.generator._epoch, self.generator._given_order = self._begin.epoch, None


def _sequence(iterator: Iterator) -> Any:
    """An iterator that was made before Keras was imported, or that works in Python, as a PyDataset."""
    if isinstance(iterator, keras.utils.PyDataset):
        return iterator

    class Sequence(keras.utils.PyDataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return len(iterator)

        def __getitem__(self, i: int) -> Any:
            return iterator[i]

        def on_epoch_end(self) -> None:
            iterator.on_epoch_end()

    return Sequence()


def adapter_of_generator(choose: Callable[..., Any], x: Iterator, y: Any = None, **kwargs: Any) -> Any:
    """What Keras gets for an iterator: leat's adapter, or Keras's own if batches are made in Python."""
    if not isinstance(x, EngineIterator) or x._engine() is None:
        return choose(_sequence(x), y, **kwargs)
    return adapter_for(x, y, make=partial(GeneratorAdapter, shuffle=bool(kwargs.get("shuffle"))), **kwargs)
