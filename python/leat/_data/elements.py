# SPDX-License-Identifier: Apache-2.0
"""Elements of a dataset by number: ds[3], ds[-1], ds[2:5]. Element i is what the first iteration gives at place i."""
from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

from .._base.errors import UnsupportedError
from .run import Batch, Cursor

if TYPE_CHECKING:
    from .dataset import Dataset

FETCHER = "torch.utils.data._utils.fetch"  # the module whose objects take items for a DataLoader


def called_from(module: str) -> FrameType | None:
    """The nearest frame of a module's code on the stack, None if there is none."""
    if module not in sys.modules:
        return None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") != module:
        frame = frame.f_back
    return frame


class Elements(Sequence[Any]):
    """A part of a dataset, ds[2:5]: its elements are made when they are asked for."""

    def __init__(self, dataset: Dataset, places: range) -> None:
        self._dataset, self._places = dataset, places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, i: Any) -> Any:
        places = self._places[i]
        return Elements(self._dataset, places) if isinstance(places, range) else element(self._dataset, places)

    def __iter__(self) -> Iterator[Any]:
        return (element(self._dataset, place) for place in self._places)

    def __repr__(self) -> str:
        places = self._places
        return f"<elements {places.start}:{places.stop}:{places.step} of {self._dataset!r}>"


def get(dataset: Dataset, i: Any) -> Any:
    """ds[i], for a number or a slice."""
    if called_from(FETCHER):
        line = "ds.to_torch(loader=True)" if dataset.batched else "ds.batch(32).to_torch(loader=True)"
        raise UnsupportedError("a DataLoader over a leat dataset would get the pictures of epoch 0 in every epoch: take "
                               f"loader = {line}, or DataLoader(ds.to_torch(), batch_size=None)")
    if isinstance(i, slice):
        return Elements(dataset, range(len(dataset))[i])
    place = i.__index__()
    if place < 0:
        place += len(dataset)
    if place < 0:
        raise IndexError(f"element {i} of {len(dataset)}")
    return element(dataset, place)


def element(dataset: Dataset, place: int) -> Any:
    if not dataset.batched or dataset._items_are_batches:
        return dataset.sample(place)
    length = dataset.length
    if length is not None and place >= length:
        raise IndexError(f"element {place} of {length}: this dataset has {length} batches")
    batches, _, _ = dataset._quiet().pipeline.size()
    found = batch_at(dataset, *(divmod(place, batches) if batches > 0 else (0, place)))
    if found is None:
        raise IndexError(f"element {place}: the dataset ends before it")
    return found


def batch_at(dataset: Dataset, epoch: int, step: int) -> Any:
    """A batch by its place; None if the dataset ends before it."""
    feed = dataset._quiet()
    with dataset._runs.lock:
        feed.move(Cursor(epoch, step))
        feed.at = None
        raw = feed.pipeline.next()
        if raw is None or (raw.epoch, raw.step) != (epoch, step):
            return None
        feed.at = Cursor(epoch, step + 1)
    layout = None if dataset._after else dataset._layout_of([field.name for field in feed.fields])
    return Batch(raw, layout, after=dataset._after_maps()).structure()
