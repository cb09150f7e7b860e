# SPDX-License-Identifier: Apache-2.0
"""JAX: a leat dataset as an iterable of batches of jax.Arrays. See docs/python.md.

On the CPU arrays lie on leat's memory: fields begin at multiples of 256 bytes, and XLA asks for 64. JAX never writes to
an array, and no other code writes to the memory of a batch that is held. `device_put` does it and not `from_dlpack`:
arrays of the latter are bound to the first device of the CPU, so that they cannot meet parameters that are elsewhere,
and int64 becomes int32 in two steps.
"""
from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .._base.arrays import Ragged, to_array
from .._base.errors import ArgumentError
from .._data.run import Iterator as Batches

if TYPE_CHECKING:
    from .._data.dataset import Dataset


def _putter(jax: Any, device: Any) -> Callable[[Any], Any]:
    """What makes jax.Arrays of the NumPy arrays of a batch, on a device or laid out by a sharding."""
    if isinstance(device, jax.sharding.Sharding) and not device.is_fully_addressable:
        whole = jax.make_array_from_process_local_data  # of the parts that the processes have
        return lambda batch: jax.tree.map(lambda array: whole(device, array), batch)
    put = jax.device_put
    return lambda batch: put(batch, device, may_alias=True)


class JaxDataset:
    """What Dataset.to_jax() gives: each iteration is the next epoch, each item a batch.

        for images, labels in ds.to_jax():
            parameters = update(parameters, images, labels)
    """

    def __init__(self, dataset: Dataset, device: Any = None) -> None:
        self._given = dataset
        self._device = device
        self._ranked: Dataset | None = None

    @property
    def dataset(self) -> Dataset:
        """The leat dataset that is read: this process's part, if JAX has several."""
        if self._ranked is None:
            jax: Any = importlib.import_module("jax")
            part = self._given
            if jax.process_count() > 1 and not part._has_ranks:
                if part._given_seed() is None:
                    raise ArgumentError("several processes need the same seed: shuffle(seed=7) or options(seed=7)")
                part = part.configure(rank=jax.process_index(), world_size=jax.process_count())
                part._runs.seek(self._given._runs.following())
            self._ranked = part
        return self._ranked

    def __iter__(self) -> Iterator[Any]:
        dataset = self.dataset
        put = _putter(importlib.import_module("jax"), self._device)

        def convert(tensor: Any, offsets: Any) -> Any:
            if offsets is None:
                return put(to_array(tensor))
            if tensor.dtype == "bytes":
                return Ragged(to_array(tensor), to_array(offsets), True).tolist()
            return Ragged(put(to_array(tensor)), put(to_array(offsets)))

        if any(field.ragged for field in dataset._plan().fields):
            return Batches(dataset, convert=convert)
        return map(put, Batches(dataset))  # one call for all fields: most of its time is Python's

    def __len__(self) -> int:
        return len(self.dataset)

    def __repr__(self) -> str:
        return f"<to_jax() of {self._given!r}>"
