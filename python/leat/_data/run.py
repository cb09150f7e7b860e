# SPDX-License-Identifier: Apache-2.0
"""Running: iterators over a dataset, and the open pipelines behind them.

A dataset keeps one pipeline open from one iteration to the next, so that threads, buffers and caches stay warm. An
iteration that finds it in use opens another. All are closed when the interpreter ends, while it can still wait for
threads.
"""
from __future__ import annotations

import atexit
import os
import re
import sys
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple

from .._base.arrays import converter, first_value, optional, to_value
from .._base.errors import ForkedError
from .._base.notices import tell
from .._leat import Batch as RawBatch
from .._leat import Pipeline

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from .._calls.batch_map import After
    from .dataset import Dataset

    Item = TypeVar("Item", default=Any)  # Dataset alone is Dataset[Any]
else:
    from typing import TypeVar

    Item = TypeVar("Item")

CURSOR = re.compile(r" epoch=(\d+) position=\d+ step=(\d+) seed=(\d+) batch=(\d+) ")


class Cursor(NamedTuple):
    """A place between two batches, as the engine counts: `repeat` after `batch` has several epochs in one iteration."""

    epoch: int = 0
    step: int = 0


class Delivery(NamedTuple):
    """How a framework wants its batches: it changes no sample, and states are the same."""

    options: str = ""  # an operation, such as "options layout=nchw"
    slot_memory: Callable[[int], Any] | None = None  # gives memory for a batch


class Field(NamedTuple):
    """A field of the batches of an open pipeline."""

    name: str
    dtype: str
    shape: tuple[int, ...]  # of one sample; -1 = differs
    ragged: bool
    layout: str  # of a picture: "nhwc" or "nchw", else ""
    mask: bool  # it holds classes of pixels


class Feed:
    """An open pipeline, and where it stands."""

    def __init__(self, pipeline: Pipeline, delivery: Delivery = Delivery()) -> None:
        self.pipeline = pipeline
        self.delivery = delivery
        self.at: Cursor | None = Cursor()  # None = in the middle of something
        self.pending: RawBatch | None = None  # taken, but of the next iteration
        self.form: Form | None = None  # made by the first iteration
        self.fields = [Field(*each) for each in pipeline.fields()]
        self.template = pipeline.state()
        _live.add(self)
        for message in pipeline.messages():
            tell(message)  # once: a dataset opens several pipelines

    def close(self) -> None:
        self.pending = None
        self.pipeline.close()

    def state_at(self, cursor: Cursor) -> str:
        """The text of a state at that place."""
        return self.pipeline.state(cursor.epoch, cursor.step)

    def after(self, begin: Cursor, count: int) -> Cursor:
        """The place `count` batches behind another, which may be in a later epoch. Of a stream epochs have no end."""
        epoch, step = begin.epoch, begin.step + count
        batches, first = self.pipeline.size()[0], self.pipeline.batches(epoch)
        if batches <= 0 or step < first:
            return Cursor(epoch, step)
        return Cursor(epoch + 1 + (step - first) // batches, (step - first) % batches)

    @property
    def batch_size(self) -> int:
        """Samples of a batch on all ranks together."""
        found = CURSOR.search(self.template)
        return int(found[4]) if found else 1

    def move(self, cursor: Cursor) -> None:
        if self.at == cursor:
            return
        self.pending = None
        self.pipeline.restore(self.state_at(cursor))
        self.at = cursor

    def learn_sizes(self, state: str | None) -> None:
        """From a state of an epoch in which batches had another size before."""
        if state is not None:
            self.pipeline.restore(state)
            self.at = None


_live: weakref.WeakSet[Feed] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for feed in list(_live):
        feed.close()


class Batch:
    """One batch: its arrays by name, and what is known about it. `Dataset.batches()` yields these.

        for batch in ds.batches():
            batch["image"], batch.epoch, batch.step, batch.samples, batch.n_valid
    """

    __slots__ = ("_layout", "_names", "_tensors", "copied", "epoch", "n", "n_valid", "raw", "step", "trim")

    def __init__(self, raw: RawBatch, layout: Any, trim: bool = False, after: After | None = None) -> None:
        self.raw = raw
        self.n, self.n_valid, self.epoch, self.step, self.copied = raw.n, raw.n_valid, raw.epoch, raw.step, raw.copied
        self._tensors: list[tuple[Any, Any]] = list(raw.tensors())
        if after is not None:
            self._tensors = after.fields(raw, self._tensors, trim)
        self._names = [tensor.name for tensor, _ in self._tensors]
        self._layout = layout if after is None else after.layout_of(self._names)
        self.trim = trim

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(f"the batch has no field {name!r}, it has {', '.join(self._names)}")
        return to_value(*self._tensors[self._names.index(name)])

    def keys(self) -> list[str]:
        return list(self._names)

    @property
    def tensors(self) -> dict[str, Any]:
        """The fields as they are: objects with the buffer protocol and __dlpack__; (values, offsets) if ragged."""
        return {tensor.name: tensor if offsets is None else (tensor, offsets) for tensor, offsets in self._tensors}

    @property
    def samples(self) -> list[int]:
        """The numbers of the samples in the dataset."""
        return self.raw.samples()

    @property
    def positions(self) -> list[int]:
        """Their positions in the epoch."""
        return self.raw.positions()

    @property
    def params(self) -> list[str]:
        """What was drawn for each sample, if `configure(params=True)` asked for it."""
        return self.raw.params()

    def structure(self, convert: Callable[[Any, Any], Any] | None = None) -> Any:
        """The fields as iteration gives them: a tuple, a dict or one array; convert(tensor, offsets) makes each."""
        make = convert or to_value
        values = {tensor.name: make(tensor, offsets) for tensor, offsets in self._tensors}
        return arrange(self._layout, values)

    def sample(self, convert: Callable[[Any, Any], Any] | None = None) -> Any:
        """The same of a batch of one, without the axis of the batch."""
        make = convert or to_value
        values = {tensor.name: first_value(tensor, offsets, make) for tensor, offsets in self._tensors}
        if self.trim:  # of a source whose items are batches: the item, as long as it really is
            n = int(values.pop("_n"))
            values = {name: value[:n] for name, value in values.items()}
        return arrange(self._layout, values)


def arrange(layout: Any, values: dict[str, Any]) -> Any:
    """Values by name in the form of a layout: a name, or a tuple or dict of layouts."""
    if isinstance(layout, str):
        return values[layout]
    if isinstance(layout, tuple):
        return tuple(arrange(part, values) for part in layout)
    return {key: arrange(part, values) for key, part in layout.items()}


def default_layout(names: list[str]) -> Any:
    """(image, label[, weight]) as a tuple, one field alone as it is, everything else as a dict.

    Pictures that a device goes on with are a dict with what was drawn for them.
    """
    if len(names) == 1:
        return names[0]
    if "drawn" in names and set(names) - {"weight"} == {"image", "drawn", "label"}:
        return ({"image": "image", "drawn": "drawn"}, *(name for name in ("label", "weight") if name in names))
    if set(names) in ({"image", "label"}, {"image", "label", "weight"}):
        return tuple(name for name in ("image", "label", "weight") if name in names)
    return {name: name for name in names}


class Runs:
    """The open pipelines of one dataset, and which iteration comes next."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.clear()

    def clear(self) -> None:
        self.pid = os.getpid()
        self.idle: Feed | None = None  # for the next iteration
        self.plan: Feed | None = None  # for questions: does no work by itself
        self.made: dict[str, Any] | None = None  # what functions behind batch() make, once it was found
        self.resized: str | None = None  # a restored state, if batches of its epoch had another size before
        self.next = Cursor()
        self.last: weakref.ref[Iterator] | None = None
        self.last_cursor = Cursor()
        self.latest: object = None  # a token of the last iteration, which outlives it

    def check(self) -> None:
        """After fork the parent's pipelines are of no use: begin anew."""
        if self.pid != os.getpid():
            following, resized = self.next, self.resized
            self.lock = threading.RLock()
            self.clear()
            self.next, self.resized = following, resized

    def note(self, iterator: Iterator) -> None:
        """Remembers where an iteration has come to, when it ends; while it lives it is asked."""
        with self.lock:
            place = iterator.behind()
            if place is None or self.latest is not iterator.token:
                return
            self.last_cursor = place
            if iterator.endless:  # the next iteration begins behind what this one has seen
                self.next = Cursor(iterator.epoch + 1)

    def following(self) -> Cursor:
        """Where the next iteration begins."""
        last = self.last() if self.last else None
        if last is not None:
            self.note(last)
        return self.next

    def place(self) -> Cursor:
        """Where the last iteration stands."""
        last = self.last() if self.last else None
        return (last.behind() if last is not None else None) or (self.last_cursor if self.latest else self.next)

    def seek(self, cursor: Cursor) -> None:
        """The next iteration begins there, whatever the last one has seen."""
        with self.lock:
            self.next = cursor
            self.last = self.latest = None

    def take(self, open_feed: Callable[[], Feed], delivery: Delivery) -> Feed:
        with self.lock:
            feed, self.idle = self.idle, None
        if feed is not None and feed.delivery != delivery:
            feed.close()
        if feed is None or feed.pipeline.closed:
            feed = open_feed()
            feed.learn_sizes(self.resized)
        return feed

    def give(self, feed: Feed, at: Cursor | None) -> None:
        feed.at = at
        surplus: Feed | None = feed
        with self.lock:
            if self.pid == os.getpid() and self.idle is None and not feed.pipeline.closed:
                self.idle, surplus = feed, None
        if surplus is not None:
            surplus.close()


class Form(NamedTuple):
    """How the batches of a pipeline become what iterating gives: the same for all its epochs."""

    names: list[str]
    layout: Any
    convert: list[Callable[[Any, Any], Any]]
    single: bool  # samples, or items that are batches themselves
    trim: bool
    array: Callable[[Any], Any] | None  # the usual case, which has to be quick: arrays in a tuple, in the batch's order
    after: After | None  # functions behind batch()

    @classmethod
    def of(cls, dataset: Dataset, feed: Feed) -> Form:
        names = [field.name for field in feed.fields]
        after = dataset._after_maps(feed)
        layout = dataset._layout_of(names) if after is None else None  # it depends on what the functions make
        trim = dataset._items_are_batches
        single = trim or not dataset.batched
        numpy = optional("numpy")
        usual = not single and after is None and layout == tuple(names) and all(field.dtype != "bf16" and not field.ragged
                                                                                for field in feed.fields)
        return cls(names, layout, [converter(field.dtype, field.ragged) for field in feed.fields], single, trim,
                   numpy.asarray if numpy is not None and usual else None, after)


class Iterator(Generic[Item]):
    """One iteration over a dataset: an epoch, from its first batch to its last. Any thread may take the next batch.

    epoch, step   of the batch that was handed over last
    past_error    after an error: the place of the batch behind, None if there is none, and of a stream, whose places the
                  engine alone knows

    Frameworks give convert(tensor, offsets), which makes one field theirs; see Batch.structure. With `begin` it reads
    from that place and is not counted: the next iteration of the dataset stays what it was.
    """

    def __init__(self, dataset: Dataset, raw: bool = False, convert: Callable[[Any, Any], Any] | None = None,
                 begin: Cursor | None = None, delivery: Delivery = Delivery()) -> None:
        runs = dataset._runs
        runs.check()
        self._runs = runs
        self._lock = threading.Lock()
        self._raw = raw
        self._theirs = convert
        self._feed: Feed | None = None
        self.token = object()
        self.epoch, self.step = -1, -1
        counted = begin is None
        self._begin = begin = runs.following() if begin is None else begin
        self.past_error: Cursor | None = None
        feed = runs.take(lambda: dataset._open(delivery=delivery), delivery)
        try:
            feed.move(begin)
        except BaseException:
            feed.close()
            raise
        self._feed = feed
        form = feed.form = feed.form or Form.of(dataset, feed)
        self._form = form
        turns = feed.pipeline.size()[2]
        self._enter(feed, begin.epoch)
        # The binding makes the arrays from the second batch on, and stops before the last one (_edge) or at another
        # epoch's.
        self._array = None if raw or convert is not None else form.array
        self._quick: Callable[..., Any] | None = None
        self._stop = None if turns < 0 else (begin.epoch // turns + 1) * turns
        with runs.lock:
            runs.last = weakref.ref(self)
            if not counted:
                return
            runs.next = Cursor(self._stop if self._stop is not None else begin.epoch + 1)
            runs.last_cursor = begin
            runs.latest = self.token

    def _enter(self, feed: Feed, epoch: int) -> None:
        """Another epoch, which may have another number of batches."""
        self._length = feed.pipeline.batches(epoch)
        self._edge = self._length - 1 if self._length > 0 else 1 << 63

    def __iter__(self) -> Iterator[Item]:
        return self

    def __next__(self) -> Item:
        with self._lock:
            quick = self._quick
            if quick is None:
                raw = self._pull()
            else:
                try:
                    found = quick(self._array, self.epoch, self._edge)
                except BaseException:
                    self._failed()
                    raise
                if type(found) is tuple:
                    self.step += 1
                    return found  # type: ignore[return-value]
                raw = self._accept(found)
        form = self._form
        if self._raw:
            return Batch(raw, form.layout, form.trim, form.after)  # type: ignore[return-value]
        if form.single:
            return Batch(raw, form.layout, form.trim, form.after).sample(self._theirs)  # type: ignore[no-any-return]
        if self._theirs is not None or form.after is not None:
            return Batch(raw, form.layout, after=form.after).structure(self._theirs)  # type: ignore[no-any-return]
        made: Item = arrange(form.layout, {name: convert(*tensor) for name, convert, tensor
                                           in zip(form.names, form.convert, raw.tensors())})
        return made

    def _pull(self) -> RawBatch:
        feed = self._feed
        if feed is None:
            raise StopIteration
        raw = feed.pending
        try:
            if raw is None:
                raw = feed.pipeline.next()
        except BaseException:
            self._failed()
            raise
        feed.pending = None
        return self._accept(raw)

    def _failed(self) -> None:
        """While an exception is handled that came instead of a batch."""
        if isinstance(sys.exception(), (KeyboardInterrupt, ForkedError)):
            return  # the iteration can go on
        feed = self._feed
        stopped = feed is None or feed.pipeline.closed  # by another thread, or the interpreter ends: no error of ours
        if feed is not None and not stopped and feed.pipeline.size()[0] > 0:
            place = feed.after(self.behind() or self._begin, 1)
            self.past_error = place if self._stop is None or place.epoch < self._stop else None
        self.close()
        if stopped:
            raise StopIteration from None

    def _accept(self, raw: RawBatch | None) -> RawBatch:
        """Notes which batch has come, and whether the iteration is over."""
        feed = self._feed
        if raw is None or feed is None:  # a stream without records; closed meanwhile
            self.close()
            raise StopIteration
        epoch, step, stop = raw.epoch, raw.step, self._stop
        if stop is not None and epoch >= stop:
            feed.pending = raw
            self._finish()
            raise StopIteration
        if epoch != self.epoch:
            self._enter(feed, epoch)
        self.epoch, self.step = epoch, step
        feed.at = None
        if step + 1 == self._length and stop is not None and epoch + 1 == stop:
            self._finish()  # known without waiting for the first batch of the next epoch
        elif self._array is not None:
            self._quick = feed.pipeline.next_arrays
        return raw

    def behind(self) -> Cursor | None:
        """The place behind the last batch, for states; of a stream the engine itself knows it better."""
        if self.epoch < 0:
            return None
        if 0 < self._length <= self.step + 1:
            return Cursor(self.epoch + 1)
        return Cursor(self.epoch, self.step + 1)

    def _finish(self) -> None:
        """The iteration is over, and the pipeline stands at the beginning of the next."""
        feed, self._feed, self._quick = self._feed, None, None
        if feed is not None and self._stop is not None:
            self._runs.note(self)
            self._runs.give(feed, Cursor(self._stop))

    @property
    def endless(self) -> bool:
        return self._stop is None

    @property
    def closed(self) -> bool:
        return self._feed is None

    def stats(self) -> dict[str, Any]:
        """What the pipeline has done so far."""
        feed = self._feed
        if feed is None:
            raise ValueError("the iteration is over; ask Dataset.stats()")
        return feed.pipeline.stats()

    def close(self) -> None:
        """Ends the iteration and stops its threads. Batches stay valid."""
        feed, self._feed, self._quick = self._feed, None, None
        if feed is not None:
            self._runs.note(self)
            feed.close()

    def __del__(self) -> None:
        feed = getattr(self, "_feed", None)
        if feed is not None:
            self._feed = None
            self._runs.note(self)
            self._runs.give(feed, None if self.epoch >= 0 else feed.at)
