# SPDX-License-Identifier: Apache-2.0
"""A feeder: an actor that makes every so many-th batch of a dataset, anywhere in the cluster.

It is asked for one batch after the other by epoch and step. What it makes next is known to the engine (step_first,
step_stride), so its threads work ahead; a request for another place moves it there.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .._base.arrays import optional
from .._data.run import Batch, Delivery, Feed

if TYPE_CHECKING:
    from .._data.dataset import Dataset


class Order(NamedTuple):
    """A request for one batch."""

    turn: int  # grows when the trainer moves: what was made ahead counts no more
    epoch: int
    step: int
    before: tuple[int, int] | None  # epoch and step of the request before it in this turn
    state: str  # the place of the batch


class Answer(NamedTuple):
    """A batch on its way: fields as (name, dtype, array, offsets), and what is known about it."""

    n: int
    n_valid: int
    samples: list[int]
    positions: list[int]
    params: list[str]
    fields: list[tuple[str, str, Any, Any]]
    bad: list[tuple[int, int, str, str, str]]  # samples that were skipped or replaced since the answer before


class Failure(NamedTuple):
    """An exception that came instead of a batch."""

    error: Exception


class Feeder:
    """The actor's class. Its answer is None where all samples of a batch were skipped."""

    def __init__(self, dataset: Dataset, options: str, first: int, stride: int) -> None:
        self._dataset = dataset
        self._delivery = Delivery(options)
        self._steps = {"step_first": first, "step_stride": stride}
        self._feed: Feed | None = None
        self._after = dataset._after_maps()
        self._turn = -1
        self._last: tuple[int, int] | None = None  # epoch and step of the last request
        self._early: Any = None  # a batch that comes behind the one that was asked for
        self._told = 0  # bad samples that the trainer knows of

    def make(self, order: Order) -> Answer | Failure | None:
        try:
            return self._answer(order)
        except Exception as error:
            return Failure(error)

    def _answer(self, order: Order) -> Answer | None:
        if self._feed is None:
            self._feed = self._dataset._open(config=self._steps, delivery=self._delivery)
        pipeline = self._feed.pipeline
        if order.turn != self._turn or order.before != self._last:
            self._early = None
            pipeline.restore(order.state)
            self._turn = order.turn
        self._last = (order.epoch, order.step)
        raw = self._early or pipeline.next()
        self._early = None
        if raw is None:
            return None
        if (raw.epoch, raw.step) != self._last:
            self._early = raw
            return None
        return self._packed(raw)

    def _packed(self, raw: Any) -> Answer:
        numpy: Any = optional("numpy")
        batch = Batch(raw, None, self._dataset._items_are_batches, self._after)
        fields = [(tensor.name, tensor.dtype, numpy.asarray(tensor), None if offsets is None else numpy.asarray(offsets))
                  for tensor, offsets in batch._tensors]
        assert self._feed is not None
        bad = self._feed.pipeline.bad()
        news, self._told = bad[self._told:], len(bad)
        return Answer(raw.n, raw.n_valid, raw.samples(), raw.positions(),
                      raw.params() if self._dataset._config.get("params") else [], fields, news)
