# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a leat dataset as an IterableDataset of whole batches. See docs/python.md.

Tensors lie on leat's memory, by DLPack, and may be written to: a batch is its reader's alone. The module is imported by
Dataset.to_torch(), so torch is loaded only then.
"""
from __future__ import annotations

import hashlib
import importlib
import sys
from typing import TYPE_CHECKING, Any

from ._arrays import Ragged
from ._dataset import Seed
from ._errors import ArgumentError, StateError, UnsupportedError
from ._run import Cursor, Iterator

if TYPE_CHECKING:
    from ._dataset import Dataset

torch: Any = importlib.import_module("torch")
data: Any = importlib.import_module("torch.utils.data")
_asked: dict[str, int] = {}  # how many datasets with a text have asked for a common seed


def _convert(tensor: Any, offsets: Any) -> Any:
    """A tensor on the same memory; a Ragged of tensors; strings as a list of bytes."""
    if offsets is None:
        return torch.from_dlpack(tensor)
    if tensor.dtype == "bytes":
        return Ragged(memoryview(tensor), memoryview(offsets), True).tolist()
    return Ragged(torch.from_dlpack(tensor), torch.from_dlpack(offsets))


def _common_seed(dataset: Dataset) -> int:
    """Without a seed of the user's each rank has drawn one; all take that of the first rank that asks.

    By the store that the process group was made with and not by a broadcast: ranks need not call at the same time, and
    a rank that asks for a length alone does not wait for others.
    """
    name = hashlib.sha1(dataset.text.encode("utf-8", "surrogateescape")).hexdigest()
    _asked[name] = _asked.get(name, 0) + 1
    try:
        store = torch.distributed.distributed_c10d._get_default_store()
        return int(store.compare_set(f"leat/seed/{name}/{_asked[name]}", "", str(dataset.seed)))
    except (AttributeError, RuntimeError, ValueError) as error:
        raise ArgumentError("several ranks need the same seed, and it could not be agreed upon "
                            f"({error}): give one, shuffle(seed=7) or options(seed=7)") from error


def _called_from(module: str) -> bool:
    if module not in sys.modules:
        return False
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_globals.get("__name__") == module:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


class TorchDataset(data.IterableDataset):  # type: ignore[misc]
    """What Dataset.to_torch() gives: each iteration is the next epoch, each item a whole batch.

        loader = torch.utils.data.DataLoader(ds.to_torch(), batch_size=None)
        for images, labels in loader: ...
    """

    def __init__(self, dataset: Dataset, distributed: bool = True) -> None:
        super().__init__()
        self._given = dataset
        self._distributed = distributed
        self._ranks = (0, 1)
        self._dataset = dataset
        self._loaded = False  # a state, which the next iteration goes on from

    @property
    def dataset(self) -> Dataset:
        """The leat dataset that is read: this rank's, if torch.distributed is initialised."""
        group = torch.distributed
        ranks = (0, 1)
        if self._distributed and group.is_available() and group.is_initialized() and not self._given._has_ranks:
            ranks = group.get_rank(), group.get_world_size()
        if ranks != self._ranks:
            part = self._given
            if ranks[1] > 1:
                if part._given_seed() is None:
                    part = part._with(seed=Seed(_common_seed(part)))
                part = part.configure(rank=ranks[0], world_size=ranks[1])
            begin = self._dataset._runs.following()
            if begin.position:
                raise StateError("the state was loaded before torch.distributed was initialised: load it after")
            part._runs.seek(begin)
            self._dataset, self._ranks = part, ranks
        return self._dataset

    def __iter__(self) -> Iterator:
        worker = data.get_worker_info()
        if worker is not None:
            raise UnsupportedError(f"DataLoader(num_workers={worker.num_workers}): leat works in threads of its own, "
                                   "and its batches do not pass through worker processes; use num_workers=0")
        dataset = self.dataset
        if self._ranks[1] > 1 and _called_from("accelerate.data_loader"):
            raise UnsupportedError("Accelerate would share out batches of which each rank has its part already: do not "
                                   "give the loader to prepare(), or take to_torch(distributed=False), of which "
                                   "Accelerate's first process reads everything")
        self._loaded = False
        return Iterator(dataset, convert=_convert)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"what to_torch() gives has no '{name}': build the dataset first, then call to_torch()",
                             name=name, obj=self)

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is that epoch, as with DistributedSampler; without it epochs count by themselves.

        It does nothing if that epoch comes anyway, nor between load_state_dict and the iteration that goes on there.
        """
        if self._loaded:
            return
        dataset = self.dataset
        turns = max(dataset._plan().pipeline.size()[2], 1)
        if dataset._runs.following().epoch // turns != epoch:
            dataset._runs.seek(Cursor(epoch * turns))

    def state_dict(self, epoch: int | None = None, step: int = 0) -> dict[str, str]:
        """The place after the batch that was handed over last; or after `step` batches of `epoch`, which is right
        where a loader takes batches ahead of the model. The same on all ranks.

            torch.save({"model": model.state_dict(), "data": dataset.state_dict(epoch, step)}, path)
        """
        return {"leat": self.dataset.state(epoch, step)}

    def load_state_dict(self, state: dict[str, str]) -> None:
        """The next iteration goes on there."""
        if not isinstance(state, dict) or "leat" not in state:
            raise StateError("this is not what state_dict() of a leat dataset has given")
        self.dataset.restore(state["leat"])
        self._loaded = True

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles carry the description; what is open stays here."""
        return {**self.__dict__, "_dataset": self._given, "_ranks": (0, 1), "_loaded": False}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        return f"<to_torch() of {self._given!r}>"
