# SPDX-License-Identifier: Apache-2.0
"""Functions of map() behind batch(): they are called when a batch is handed over, in the thread that takes it.

The engine knows nothing of them. Fields that they make are arrays of NumPy, in the form of the engine's tensors (Made), so
that frameworks take both in the same way.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from .._base.arrays import LEAT_NAMES, NUMPY_NAMES, Ragged, optional, to_value
from .._base.errors import DTypeError, ShapeError
from .callbacks import Alone, Declared, Info, Job

if TYPE_CHECKING:
    from .._data.dataset import Dataset
    from .._leat import Batch as RawBatch

Field = tuple[Any, Any]  # a tensor and its offsets, None if it is not ragged


class Made:
    """An array that a function has made, as a field of a batch."""

    __slots__ = ("array", "dtype", "name")

    def __init__(self, name: str, array: Any) -> None:
        self.name, self.array = name, array
        self.dtype = LEAT_NAMES[array.dtype.name]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, i: int) -> Made:
        return Made(self.name, self.array[i:i + 1].reshape(self.array.shape[1:]))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.array.astype(dtype or self.array.dtype, copy=bool(copy))

    def __dlpack__(self, **how: Any) -> Any:
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, number = self.array.__dlpack_device__()
        return int(kind), number


class BatchMap:
    """One function, and what its first call has made: later calls must make the same types and numbers of axes."""

    def __init__(self, job: Job, number: int) -> None:
        self.job, self.number = job, number
        self.alone = Alone()
        self.first: dict[str, tuple[str, int]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"job": self.job, "number": self.number}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def _array(self, name: str, dtype: str, array: Any) -> Any:
        found = self.first.setdefault(name, (dtype, array.ndim))
        if found != (dtype, array.ndim):
            raise (DTypeError if found[0] != dtype else ShapeError)(
                f"map(): {name} is {NUMPY_NAMES[dtype]} of shape {array.shape}, and was {NUMPY_NAMES[found[0]]} with "
                f"{found[1]} axes in the first call: convert it in the function")
        numpy: Any = optional("numpy")
        return numpy.require(array, requirements=["C", "W"])  # frameworks take no other

    def __call__(self, info: Info, values: dict[str, Any]) -> dict[str, Any]:
        """The arrays that it makes of a batch."""
        self.alone.enter(lambda: False)
        try:
            made = self.job.apply(info, values)
            return {name: self._array(name, dtype, array) for name, dtype, array in made}
        except Exception as error:
            error.add_note(f"in a function behind batch(), for batch {info[2]} of epoch {info[1]}")
            raise
        finally:
            self.alone.leave()


class After(NamedTuple):
    """The functions of a dataset behind batch()."""

    maps: tuple[BatchMap, ...]
    seed: int
    layout_of: Callable[[list[str]], Any]

    def fields(self, raw: RawBatch, fields: list[Field], items: bool) -> list[Field]:
        """The fields of a batch with what the functions make of them. items: the batch is an item of the source."""
        given = {tensor.name: (tensor, offsets) for tensor, offsets in fields}
        values = {name: to_value(*field) for name, field in given.items()}
        if items:  # (1, rows, ...), of which the first n are there
            n = int(values.pop("_n")[0])
            values = {name: value[0] if isinstance(value, Ragged) else value[0][:n] for name, value in values.items()}
        made: dict[str, Any] = {}
        for each in self.maps:
            made.update(each((self.seed, raw.epoch, raw.step, each.number), {**values, **made}))
        if not items:
            return [*((made_field(name, made) or field) for name, field in given.items()),
                    *((Made(name, array), None) for name, array in made.items() if name not in given)]
        # Back to one row, as long as the longest; what a function has made is cut by no one.
        numpy: Any = optional("numpy")
        rows = max([len(value) for value in {**values, **made}.values()], default=0)
        whole = [made_field(name, {key: array[None] for key, array in made.items()}) or field
                 for name, field in given.items() if name != "_n"]
        return [*whole, *((Made(name, array[None]), None) for name, array in made.items() if name not in given),
                (Made("_n", numpy.array([rows])), None)]


def made_field(name: str, made: dict[str, Any]) -> Field | None:
    return (Made(name, made[name]), None) if name in made else None


def find_specs(dataset: Dataset) -> dict[str, tuple[str, tuple[int | None, ...], int]]:
    """dtype, shape and batch size of the fields that functions make, from one call for the first batch."""
    from .._data.run import Batch

    feed = dataset._open(synchronous=True)
    try:
        raw = feed.pipeline.next()
        if raw is None:
            raise ShapeError("map(): this dataset has no batch to find the types of its fields with")
        batch = Batch(raw, None, dataset._items_are_batches, dataset._after_maps())
        rows = len(batch.samples)
        found: dict[str, tuple[str, tuple[int | None, ...], int]] = {}
        for name, field in batch.tensors.items():
            if isinstance(field, Made) and name != "_n":
                shape = field.shape[1:] if dataset._items_are_batches else field.shape
                found[name] = (field.dtype, shape, shape[0] if dataset._items_are_batches and shape else rows)
        declared: Declared = {}
        for each in dataset._after:
            declared.update(each.job.declared)
        for name, given in declared.items():
            if given is not None:
                found[name] = (given[0], (found[name][1][0], *given[1][1:]), found[name][2])
        return found
    finally:
        feed.close()
