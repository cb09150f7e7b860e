# SPDX-License-Identifier: Apache-2.0
"""PyTorch: a leat dataset as an IterableDataset of whole batches. See docs/python.md.

Tensors lie on leat's memory, by DLPack, and may be written to: a batch is its reader's alone. The engine itself stores
pictures as torch models take them, (batch, channels, height, width). The module is imported by Dataset.to_torch(), so
torch is loaded only then.
"""
from __future__ import annotations

import hashlib
import importlib
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from .._base.arrays import LEAT_NAMES, Ragged, to_array
from .._base.errors import ArgumentError, StateError, UnsupportedError
from .._data.dataset import Seed
from .._data.elements import FETCHER, called_from
from .._data.run import Cursor, Delivery, Feed, Iterator
from .torch_device import Ahead, Stream, find_device, pinned

if TYPE_CHECKING:
    from .._data.dataset import Dataset

torch: Any = importlib.import_module("torch")
data: Any = importlib.import_module("torch.utils.data")
_asked: dict[str, int] = {}  # how many datasets with a text have asked for a common seed


class Form(NamedTuple):
    """How pictures come: where their channels are, and the type of those that the text leaves as u8."""

    layout: str = "nchw"
    dtype: str | None = None

    @classmethod
    def of(cls, layout: str, dtype: Any) -> Form:
        if layout not in ("nchw", "nhwc"):
            raise ArgumentError(f"to_torch(): layout is 'nchw' or 'nhwc', not {layout!r}")
        if dtype is None:
            return cls(layout)
        word = str(dtype).removeprefix("torch.")
        name = LEAT_NAMES.get(word, word)
        if name not in ("u8", "f32", "f16", "bf16"):
            raise ArgumentError(f"to_torch(): dtype is 'u8', 'f32', 'f16' or 'bf16', not {dtype!r}; cast() makes others")
        return cls(layout, name)

    @property
    def options(self) -> str:
        return f"options layout={self.layout} unit={'off' if self.dtype == 'u8' else self.dtype or 'f32'}"

    def __str__(self) -> str:
        kept = "u8 pictures as they are" if self.dtype == "u8" else f"pictures of bytes as {self.dtype or 'f32'} from 0 to 1"
        return f"layout={self.layout!r}, {kept}"


class Convert:
    """Tensors on the memory of a batch's fields. What the engine cannot store with channels first is turned by strides."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._turn: dict[str, Callable[[Any], Any]] = {}

    def learn(self, feed: Feed) -> None:
        """What the fields of an open pipeline are."""
        form = self._form
        for name, dtype, shape, ragged, layout, mask in feed.fields:
            if not layout or ragged:
                continue
            if form.dtype and not mask and dtype != form.dtype and (name == "image" or 3 in shape or 4 in shape):
                raise ArgumentError(f"to_torch(dtype={form.dtype!r}): the text makes {name} {dtype}: leave dtype out, or "
                                    f"write cast({form.dtype!r})")
            if form.layout == "nchw":
                self._note(name, len(shape), layout, mask and 1 in (shape[0], shape[-1]))

    def _note(self, name: str, axes: int, layout: str, classes: bool) -> None:
        """classes: a mask of one channel, which torch's losses take as (batch, height, width)."""
        if axes == 3 and classes:
            self._turn[name] = lambda x: x.squeeze(-3 if layout == "nchw" else -1)
        elif axes == 3 and layout == "nhwc":
            self._turn[name] = lambda x: x.movedim(-1, -3)
        elif axes == 2 and not classes:
            self._turn[name] = lambda x: x.unsqueeze(-3)

    def __call__(self, tensor: Any, offsets: Any) -> Any:
        """A tensor on the same memory; a Ragged of tensors; strings as a list of bytes."""
        if offsets is None:
            made = torch.from_dlpack(tensor)
            turn = self._turn.get(tensor.name)
            return made if turn is None else turn(made)
        if tensor.dtype == "bytes":
            return Ragged(to_array(tensor), to_array(offsets), True).tolist()
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


class TorchDataset(data.IterableDataset):  # type: ignore[misc]
    """What Dataset.to_torch() gives: each iteration is the next epoch, each item a whole batch.

        for images, labels in ds.to_torch(): ...
        loader = torch.utils.data.DataLoader(ds.to_torch(), batch_size=None)      # the same as to_torch(loader=True)
    """

    def __init__(self, dataset: Dataset, distributed: bool = True, form: Form = Form(), device: Any = None,
                 pin_memory: bool = False) -> None:
        super().__init__()
        self._given = dataset
        self._distributed = distributed
        # Batches of others, and those that a function behind batch() makes, stay as they are.
        self._form = Form("nhwc", "u8") if dataset._items_are_batches or dataset._after else form
        self._device = find_device(device, pin_memory)
        self._delivery = Delivery(self._form.options, pinned if pin_memory else None)
        self._ahead: weakref.ref[Ahead] | None = None  # the last iteration, if batches go to a device
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
            if begin.step:
                raise StateError("the state was loaded before torch.distributed was initialised: load it after")
            part._runs.seek(begin)
            self._dataset, self._ranks = part, ranks
        return self._dataset

    def __iter__(self) -> Any:
        worker = data.get_worker_info()
        fetcher = called_from(FETCHER)
        if fetcher is not None and getattr(fetcher.f_locals.get("self"), "auto_collation", False):
            line = "ds.to_torch(loader=True)" if self._given.batched else "ds.batch(32).to_torch(loader=True)"
            raise UnsupportedError("DataLoader(batch_size=...): leat makes the batches, and a loader must not put them "
                                   f"together again: take loader = {line}, or DataLoader(ds.to_torch(), batch_size=None)")
        if worker is not None:
            raise UnsupportedError(f"DataLoader(num_workers={worker.num_workers}): leat works in threads of its own, "
                                   "and its batches do not pass through worker processes; use num_workers=0")
        dataset = self.dataset
        if self._ranks[1] > 1 and called_from("accelerate.data_loader") is not None:
            raise UnsupportedError("Accelerate would share out batches of which each rank has its part already: do not "
                                   "give the loader to prepare(), or take to_torch(distributed=False), of which "
                                   "Accelerate's first process reads everything")
        self._loaded = False
        convert = Convert(self._form)
        iterator = Iterator(dataset, convert=convert, delivery=self._delivery)
        if iterator._feed is not None:
            convert.learn(iterator._feed)
        if self._device is None:
            return iterator
        ahead = Ahead(iterator, Stream(self._device), dataset.state)
        self._ahead = weakref.ref(ahead)
        return ahead

    def __len__(self) -> int:
        return len(self.dataset)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"what to_torch() gives has no '{name}': build the dataset first, then call to_torch()",
                             name=name, obj=self)

    @property
    def epoch(self) -> int:
        """The number of the iteration that comes next, from 0; behind load_state_dict that of the one which goes on."""
        return self.dataset.epoch

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is that epoch, as with DistributedSampler; without it epochs count by themselves.

        It does nothing if that epoch comes anyway, nor between load_state_dict and the iteration that goes on there.
        """
        if self._loaded:
            return
        dataset = self.dataset
        if dataset.epoch != epoch:
            dataset._runs.seek(Cursor(epoch * max(dataset._plan().pipeline.size()[2], 1)))

    def state_dict(self, epoch: int | None = None, step: int = 0) -> dict[str, str]:
        """The place after the batch that was handed over last; or after `step` batches of `epoch`, which is right
        where a loader takes batches ahead of the model. The same on all ranks.

            torch.save({"model": model.state_dict(), "data": dataset.state_dict(epoch, step)}, path)
        """
        ahead = self._ahead() if self._ahead else None
        if epoch is None and ahead is not None:
            return {"leat": ahead.state}
        return {"leat": self.dataset.state(epoch, step)}

    def load_state_dict(self, state: dict[str, str], resize_batch: bool = False) -> None:
        """The next iteration goes on there; with resize_batch also if the batch of all ranks together has another size."""
        if not isinstance(state, dict) or "leat" not in state:
            raise StateError("this is not what state_dict() of a leat dataset has given")
        self.dataset.restore(state["leat"], resize_batch)
        self._loaded, self._ahead = True, None

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles carry the description; what is open stays here."""
        return {**self.__dict__, "_dataset": self._given, "_ranks": (0, 1), "_loaded": False, "_ahead": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        where = "" if self._device is None else f", device={str(self._device)!r}"
        return f"<to_torch({self._form}{where}) of {self._given!r}>"
