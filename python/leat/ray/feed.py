# SPDX-License-Identifier: Apache-2.0
"""leat.ray.feed(): a dataset whose batches are made in actors of a Ray cluster."""
from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from .._base.errors import ArgumentError
from .._data.bind import split_words
from .._data.dataset import Dataset
from .._data.run import Delivery, Feed
from .find import find_ray
from .merge import Feeding, Merged

if TYPE_CHECKING:
    from .._calls.batch_map import After
    from .._leat import Pipeline


class Fed(Dataset[Any]):
    """What feed() gives: a dataset, whose iterations take their batches from feeders. Lengths, states, single samples and all
    that looks at the data is done here."""

    def __init__(self, *description: Any, feeding: Feeding = Feeding(), **described: Any) -> None:
        super().__init__(*description, **described)
        self._feeding = feeding

    def _with(self, **changes: Any) -> Fed:
        return super()._with(**{"feeding": self._feeding, **changes})

    @property
    def local(self) -> Dataset:
        """The dataset without feeders."""
        return Dataset(self._operations, self._origin, self._seed, self._config, self._layout, self._callbacks, self._after)

    @property
    def _here(self) -> Dataset:
        return self.local

    def _check(self) -> None:
        """Refuses what has no place that can be computed, before any actor runs."""
        shards = (split_words(operation)[1:] for operation in self._operations if operation.startswith("shard "))
        if self._config.get("world_size") == -1 or any(word == "auto" for words in shards for _, word in words):
            raise ArgumentError("leat.ray.feed(): feeders do not have the environment of their trainer, which says its rank: "
                                "give it, feed(ds.configure(rank=..., world_size=...))")
        steps = {"step_first": 0, "step_stride": max(self._feeding.feeders, 2)}
        super()._open(synchronous=True, config=steps).close()

    def _open(self, synchronous: bool = False, config: Mapping[str, Any] | None = None,
              delivery: Delivery = Delivery()) -> Feed:
        quiet = super()._open(True, config, delivery._replace(slot_memory=None))
        if synchronous:
            return quiet
        try:
            if delivery.slot_memory is not None:
                raise ArgumentError("pin_memory=True: batches of feeders lie in the object store of Ray: leave it out")
            if delivery.options and any(field.dtype == "bf16" for field in quiet.fields):
                raise ArgumentError("to_torch(): bfloat16 does not pass through NumPy: let feeders make u8 or f16, and cast on "
                                    "the device")
            ray = find_ray("feed")
            merged = Merged(ray, quiet, self._for_feeders(), self._feeding)
        except BaseException:
            quiet.close()
            raise
        return Feed(cast("Pipeline", merged), delivery)

    def _for_feeders(self) -> Dataset:
        """What a feeder opens: as many threads as it has cores, unless the dataset says otherwise."""
        dataset = self.local
        mine: dict[str, Any] = {"threads": max(1, math.ceil(self._feeding.num_cpus))} if not self._threads else {}
        return dataset._with(config={**mine, **self._config})

    def _after_maps(self, feed: Feed | None = None) -> After | None:
        """Functions behind batch() have run when a batch of feeders arrives."""
        made = super()._after_maps(feed)
        return made._replace(maps=()) if made and feed is not None and isinstance(feed.pipeline, Merged) else made

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.local, self._feeding)

    def __repr__(self) -> str:
        feeding = self._feeding
        return f"<leat.ray.feed(feeders={feeding.feeders}, num_cpus={feeding.num_cpus:g}, ahead={feeding.ahead}) of {self.local!r}>"


def _restore(dataset: Dataset, feeding: Feeding) -> Fed:
    return Fed(dataset._operations, dataset._origin, dataset._seed, dataset._config, dataset._layout, dataset._callbacks,
               dataset._after, feeding=feeding)


def feed(dataset: Dataset, feeders: int = 4, num_cpus: float = 2, ahead: int = 3, *, timeout: float = 300.0,
         **options: Any) -> Dataset:
    """The same dataset, made by actors anywhere in a Ray cluster: same batches, same order, same states.

        ds = leat.from_directory("/shared/train").shuffle(seed=7).random_resized_crop(224).batch(256)
        fed = leat.ray.feed(ds, feeders=4, num_cpus=2)
        for images, labels in fed.to_torch(): ...        # or fed itself, to_tf(), to_jax(), model.fit(fed)

    feeders: actors of this trainer; feeder f makes the batches f, f + feeders, ...
    num_cpus: cores of each, and threads of its pipeline
    ahead: requests and batches of each feeder that may be under way, which bounds memory in the object store
    timeout: seconds after which a batch that has not come is an error
    options: of Ray's actors: resources, scheduling_strategy ("SPREAD" without it), runtime_env, memory, ...

    Every node must see the data under the same names. A feeder that dies is replaced, and the same bytes come.
    """
    find_ray("feed")
    if not isinstance(dataset, Dataset):
        raise TypeError(f"leat.ray.feed() takes a leat dataset, not {type(dataset).__name__}")
    for name, value in (("feeders", feeders), ("ahead", ahead)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ArgumentError(f"leat.ray.feed(): {name} is a number from 1, not {value!r}")
    if not num_cpus >= 0 or not timeout > 0:
        raise ArgumentError("leat.ray.feed(): num_cpus is at least 0 and timeout more than 0 seconds, not "
                            f"{num_cpus!r} and {timeout!r}")
    if isinstance(dataset, Fed):
        dataset = dataset.local
    made = _restore(dataset, Feeding(feeders, num_cpus, ahead, timeout, tuple(sorted(options.items()))))
    made._check()
    return made
