# SPDX-License-Identifier: Apache-2.0
"""Dataset: what to read and what to do with it, as a value. Each method gives a new dataset; iterating opens it."""
from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self

from .._base.arrays import NUMPY_NAMES
from .._base.errors import ArgumentError, Error, ShapeError
from .._base.layout import explain
from .._base.progress import Progress
from .._leat import Pipeline
from .bind import bind, name_elsewhere, near, split_text, split_words
from .compose import Chances, Parts
from .methods import Methods
from .ops import OPS
from .outlets import Outlets
from .places import Places
from .run import Batch, Delivery, Feed, Item, Iterator, Runs, arrange, default_layout

if TYPE_CHECKING:
    from .._calls.batch_map import After, BatchMap
    from .combine import Combination

COMBINING = {"concatenate", "sample_from", "choose_from", "zip"}
BATCHING = {"batch": True, "padded_batch": True, "rebatch": True, "unbatch": False}
# Operations whose seed others follow; that of any other operation says nothing about others.
LEADING_SEED = {"options", "shuffle", "balance", "rejection_resample", "sample_from"}
# What may stand between a source of files and the decoding that is added for it: it does not look at pixels.
BEFORE_DECODE = {"options", "label_map", "one_hot", "enumerate", "select", "parse", "prefetch", "with_path"}


class TensorSpec(NamedTuple):
    """What a field of a batch looks like: None is an axis whose length is not known before.

        ds.element_spec    # (TensorSpec(shape=(None, 224, 224, 3), dtype='float32', ...), ...)
    """

    shape: tuple[int | None, ...]
    dtype: str
    name: str
    ragged: bool = False


class Seed:
    """The seed of a chain of datasets: drawn once from Python's `random`, when it is first needed."""

    def __init__(self, value: int | None = None) -> None:
        self._value = value

    @property
    def value(self) -> int:
        if self._value is None:
            import random

            self._value = random.randrange(1 << 31)
        return self._value


class Origin(NamedTuple):
    """Where samples come from, as far as text cannot say it."""

    arrays: tuple[tuple[Any, ...], ...] | None = None
    source: Callable[[], Any] | None = None  # gives what Pipeline takes as source, when it is opened
    lazy_arrays: Callable[[], tuple[tuple[Any, ...], ...]] | None = None
    decode: bool = False  # pictures are decoded without being asked to
    path: str = ""  # of the data on disk, for what can be learned about it without reading it
    items_are_batches: bool = False
    threads: int = 0
    layout: Callable[[], Any] | None = None  # of what the source gives, known when it is open
    combination: Combination | None = None  # the first operation combines other datasets
    classes: tuple[str, ...] = ()  # names that the engine does not know


def _covers(layout: Any, names: list[str]) -> bool:
    """Whether a layout has exactly these names."""
    parts = layout.values() if isinstance(layout, dict) else layout if isinstance(layout, tuple) else ()
    if isinstance(layout, str):
        return names == [layout]
    found: list[str] = []
    for part in parts:
        found += part.values() if isinstance(part, dict) else [part]
    return bool(found) and sorted(map(str, found)) == sorted(names)


def _has_seed(operation: str) -> bool:
    """Whether an operation, or one of a text in quotes that it combines, has a seed that others follow."""
    (_, name), *words = split_words(operation)
    if name in COMBINING:
        inner = [text for key, word in words if key != "seed" for text in split_text(word) if text]
        return "seed" in dict(words) or any(_has_seed(text) for text in inner)
    return "seed" in dict(words) and name in LEADING_SEED


class Dataset(Methods, Chances, Parts, Outlets, Places, Generic[Item]):
    """Samples, and what happens to them on the way to a batch. Made by leat.from_directory and its like.

        ds = (leat.from_directory("photos/train").shuffle(seed=7).random_resized_crop(224)
              .random_flip_left_right().normalize("imagenet").batch(64))
        for images, labels in ds:
            ...
    """

    def __init__(self, operations: tuple[str, ...], origin: Origin, seed: Seed | None = None,
                 config: Mapping[str, Any] | None = None, layout: Any = None,
                 callbacks: tuple[tuple[str, bool, Callable[..., Any]], ...] = (),
                 after: tuple[BatchMap, ...] = ()) -> None:
        self._operations = operations
        self._origin = origin
        self._seed = seed or Seed()
        self._config = dict(config or {})
        self._layout = layout
        self._callbacks = callbacks
        self._after = after  # functions behind batch()
        self._runs = Runs()

    # ---------------------------------------------------------------------------------------- building

    def _with(self, **changes: Any) -> Self:
        parts: dict[str, Any] = {"operations": self._operations, "origin": self._origin, "seed": self._seed,
                                 "config": self._config, "layout": self._layout, "callbacks": self._callbacks,
                                 "after": self._after}
        return type(self)(**{**parts, **changes})

    def _add(self, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> Self:
        if self._origin.items_are_batches and (name in BATCHING or OPS[name].kind == "image"):
            raise ArgumentError(f"{name}(): the items of this dataset are batches already; "
                                "from_python(..., items='sample') works on single samples")
        if self._after and (name in BATCHING or OPS[name].kind == "batch") and name != "prefetch":
            raise ArgumentError(f"{name}(): a function of map() stands before it, behind batch(): write {name} before map, "
                                "or map before batch")
        return self._with(operations=(*self._operations, bind(name, args, kwargs)))

    if not TYPE_CHECKING:  # type checkers shall find wrong names themselves
        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            known = [word for word in dir(type(self)) if not word.startswith("_")]
            found = name_elsewhere(name) or near(name, known)
            raise AttributeError(f"a dataset has no operation '{name}'{found}", name=name, obj=self)

    # ------------------------------------------------------------------------------------------ text

    @property
    def operations(self) -> tuple[str, ...]:
        """The operations as text, with the `decode` that a source of files brings along."""
        return self._listed()

    def _decoding(self) -> tuple[int, tuple[str, ...]]:
        """Which fields are decoded without being asked to, and in front of which operation."""
        combination = self._origin.combination
        fields = combination.undecoded() if combination else ("image",) if self._origin.decode else ()
        at = len(self._operations)
        for i, operation in enumerate(self._operations[1:], 1):
            (_, name), *words = split_words(operation)
            if name == "decode":
                listed = dict(words).get("field") or next((word for key, word in words if not key), "image")
                fields = tuple(field for field in fields if field not in listed.split(","))
            if name == "select" and at > i:
                fields = tuple(field for field in fields if field in [word for _, word in words])
            if OPS[name].kind not in ("order", "source") and name not in BEFORE_DECODE:
                at = min(at, i)
        return at, fields

    def _undecoded(self) -> tuple[str, ...]:
        """Fields that no operation needs the pixels of: if this is a part, they may be decoded by the whole."""
        at, fields = self._decoding()
        return fields if at == len(self._operations) else ()

    def _listed(self, decode: bool = True, spelled: bool = True) -> tuple[str, ...]:
        """The operations; spelled: with parts as texts in quotes, not by their names."""
        at, fields = self._decoding()
        combination, operations = self._origin.combination, self._operations
        if combination:
            operations = (combination.spelled() if spelled else combination.named(), *operations[1:])
        added = ["decode" if field == "image" else f"decode field={field}" for field in fields if decode]
        return (*operations[:at], *added, *operations[at:])

    @property
    def text(self) -> str:
        """The pipeline text, as the command and C take it: `leat run "..." --seed N` gives the same bytes."""
        return " | ".join(self.operations)

    def _given_seed(self) -> int | None:
        """A seed of the user's: then operations without one have what the text says, as everywhere: 0, or options'."""
        seed = None
        for operation in self._operations:
            if operation.startswith("options"):
                words = dict(split_words(operation)[1:])
                if "seed" in words:
                    return int(words["seed"])
            if _has_seed(operation):
                seed = 0
        combination = self._origin.combination
        if combination and any(part._given_seed() is not None for part in combination.parts):
            seed = 0
        return seed

    @property
    def seed(self) -> int:
        """The seed of every random operation that has none of its own."""
        given = self._given_seed()
        return self._seed.value if given is None else given

    @property
    def batched(self) -> bool:
        """Whether iterating gives batches; otherwise it gives one sample after the other."""
        result = self._items_are_batches
        for operation in self._operations:
            result = BATCHING.get(operation.split(None, 1)[0], result)
        return result

    @property
    def batch_size(self) -> int | None:
        """Samples of a full batch of this process, None without batch()."""
        size = None
        for operation in self._operations:
            name, *_ = operation.split(None, 1)
            if name in BATCHING:
                words = split_words(operation)[1:]
                named = dict(words)
                given = named.get("size") or named.get("batch_size") or next((word for key, word in words if not key), "")
                size = int(given) if BATCHING[name] and given.isdigit() else None
                shared = named.get("global_size") or named.get("global_batch_size") or ""
                if shared.isdigit():
                    size = -(-int(shared) // max(int(self._config.get("world_size") or 1), 1))
        return size

    @property
    def _items_are_batches(self) -> bool:
        return self._origin.items_are_batches

    @property
    def _has_ranks(self) -> bool:
        """Whether it was said which part of every batch is this process's: frameworks need not say it then."""
        shards = (split_words(operation)[1:] for operation in self._operations if operation.startswith("shard "))
        return "world_size" in self._config or any(word == "auto" for words in shards for _, word in words)

    # --------------------------------------------------------------------------------------- pipelines

    def _described(self, decode: bool = True) -> tuple[str, Any, Any, Any, Any]:
        """What a pipeline is made of: text, arrays, source, functions, parts."""
        origin = self._origin
        operations = self._listed(decode, spelled=False)
        arrays = origin.lazy_arrays() if origin.lazy_arrays else origin.arrays
        source = origin.source() if origin.source else None
        if source is not None or (arrays is not None and operations[0] == "arrays"):
            operations = operations[1:]  # the engine adds it; of `list`, arrays are the table
        parts = origin.combination.described() if origin.combination else None
        return " | ".join(operations), arrays, source, self._callbacks or None, parts

    @property
    def _threads(self) -> int:
        """Threads that keep the worker processes of sources and functions busy; 0 = as many as always."""
        if not self._callbacks:
            return self._origin.threads
        from .._calls.callbacks import threads_for

        return threads_for(self._callbacks, self._origin.threads, self._has_ranks)

    def _open(self, synchronous: bool = False, config: Mapping[str, Any] | None = None,
              delivery: Delivery = Delivery()) -> Feed:
        options: dict[str, Any] = {"seed": self.seed, **self._config, **(config or {})}
        progress = Progress()
        options.setdefault("progress", progress.report)
        if synchronous:
            options.update(synchronous=True, slots=1)
        elif self._threads:
            options.setdefault("threads", self._threads)
        text, arrays, source, callbacks, parts = self._described()
        if delivery.options:
            text = f"{text} | {delivery.options}" if text else delivery.options
        if delivery.slot_memory is not None:
            options["slot_memory"] = delivery.slot_memory
        try:
            pipeline = Pipeline(text, arrays=arrays, source=source, callbacks=callbacks, parts=parts, **options)
        except ShapeError as error:
            explain(error, self._operations)
            raise
        finally:
            progress.end()
        return Feed(pipeline, delivery)

    def _quiet(self) -> Feed:
        """A pipeline that does no work by itself: for questions and single samples."""
        runs = self._runs
        runs.check()
        with runs.lock:
            if runs.plan is None or runs.plan.pipeline.closed:
                runs.plan = self._open(synchronous=True)
                runs.plan.learn_sizes(runs.resized)
            return runs.plan

    def _plan(self, plain: bool = False) -> Feed:
        """A pipeline to ask: that of the last iteration if there is one. plain: not one of a framework, whose fields have
        its own layout."""
        runs = self._runs
        runs.check()
        with runs.lock:
            last = runs.last() if runs.last else None
            for feed in (runs.idle, last._feed if last else None):
                if feed is not None and not feed.pipeline.closed and not (plain and feed.delivery.options):
                    return feed
            return self._quiet()

    def close(self) -> None:
        """Stops the threads that are kept for the next iteration. The dataset can be used again.

            ds.close()
        """
        with self._runs.lock:
            feeds, self._runs.idle, self._runs.plan = (self._runs.idle, self._runs.plan), None, None
        for feed in feeds:
            if feed is not None:
                feed.close()

    # --------------------------------------------------------------------------------------- iterating

    def _valid(self) -> str:
        """Name of the field that batch(valid=) adds, \"\" if there is none."""
        words = [dict(split_words(operation)[1:]) for operation in self._operations
                 if operation.split(None, 1)[0] in BATCHING]
        return words[-1].get("valid", "") if words else ""

    def _after_maps(self, feed: Feed | None = None) -> After | None:
        """The functions behind batch(), for a batch that is handed over; feed: what it comes from, if it was opened to iterate."""
        if not self._after:
            return None
        from .._calls.batch_map import After

        return After(self._after, self.seed, self._layout_of)

    def _made_after(self) -> dict[str, tuple[str, tuple[int | None, ...], int]]:
        """dtype, shape and batch size of what they make, found by one call."""
        if not self._after:
            return {}
        from .._calls.batch_map import find_specs

        with self._runs.lock:
            self._runs.made = self._runs.made or find_specs(self)
            return self._runs.made

    def _refuse_after(self, what: str) -> None:
        """For what looks at samples one by one: a function behind batch() has whole batches."""
        if self._after:
            raise ArgumentError(f"{what}(): a function behind batch() works on whole batches: iterate over them, or write "
                                "map before batch")

    def _layout_of(self, names: list[str]) -> Any:
        names = [name for name in names if name != "_n" or not self._items_are_batches]
        if self._layout is None:
            valid = self._valid()
            found = self._origin.layout() if self._origin.layout else None
            own = [name for name in names if name != valid]
            layout = found if _covers(found, own) else default_layout(own)
            if valid not in names:
                return layout
            return {**layout, valid: valid} if isinstance(layout, dict) else \
                (*layout, valid) if isinstance(layout, tuple) else (layout, valid)
        if self._layout == "dict":
            return {name: name for name in names}
        try:
            arrange(self._layout, {name: None for name in names})
        except KeyError as missing:
            raise ArgumentError(f"as_tuple(): there is no field {missing}, there are {', '.join(names)}"
                                f"{near(str(missing.args[0]), names)}") from None
        return self._layout

    def __iter__(self) -> Iterator[Item]:
        """The next epoch, from its first batch: the first iteration is epoch 0, and so on."""
        return Iterator(self)

    def batches(self) -> Iterator[Batch]:
        """As iterating, but each batch is a leat.Batch, which knows its epoch, step and samples.

            for batch in ds.batches():
                batch["image"], batch.epoch, batch.step, batch.samples
        """
        return Iterator(self, raw=True)

    def __bool__(self) -> bool:
        return True

    @property
    def length(self) -> int | None:
        """Batches of one iteration (samples without batch()), None if not known before or without end."""
        batches, _, turns = self._plan().pipeline.size()
        return None if batches < 0 or turns < 0 else batches * turns

    @property
    def endless(self) -> bool:
        """Whether one iteration has no end: repeat() without a number, and no take() after it."""
        batches, _, turns = self._plan().pipeline.size()
        last = [words for words in map(split_words, self._operations) if words[0][1] in ("repeat", "take")][-1:]
        without_end = any(words[0][1] == "repeat" and words[1:] in ([], [("count", "-1")]) for words in last)
        parts = self._origin.combination.parts if self._origin.combination else ()
        return turns < 0 or (batches < 0 and (without_end or any(part.endless for part in parts)))

    def __len__(self) -> int:
        length = self.length
        if length is None:
            raise TypeError("this dataset has no length that is known: it is without end, or a stream that has to be "
                            "read first; use steps_per_epoch or take(n)")
        return length

    @property
    def samples(self) -> int | None:
        """Samples of one epoch on all ranks together, None if not known before or without end."""
        n = self._plan().pipeline.size()[1]
        return None if n < 0 else n

    def __getitem__(self, i: Any) -> Any:
        """Element i of the first iteration, with the same bytes: a batch if the dataset is batched, otherwise a sample.

            ds[0], ds[-1]     # the first and the last of len(ds)
            ds[2:5]           # a sequence, whose elements are made when they are asked for

        Iterations go on where they are. Of one sample of a batch use sample(i).
        """
        from .elements import get

        return get(self, i)

    def sample(self, i: int, epoch: int = 0) -> Any:
        """One sample by its place in an epoch: the very bytes that it has in its batch.

            image, label = ds.sample(3, epoch=1)

        i: the place, from 0; negative ones count from the end.
        """
        self._refuse_after("sample")
        place = i.__index__()
        feed = self._quiet()
        n = feed.pipeline.size()[1]
        if place < 0 <= n:
            place += n
        if place < 0 or 0 <= n <= place:
            raise IndexError(f"sample {i} of {n}")
        return Batch(feed.pipeline.sample(epoch, place), self._layout_of([field.name for field in feed.fields]),
                     self._items_are_batches).sample()

    @property
    def element_spec(self) -> Any:
        """What iterating gives, as TensorSpecs in the same form: shapes, types (NumPy's names), names."""
        feed = self._plan(plain=True)
        samples = feed.pipeline.size()[1]
        size = self.batch_size
        last = self._operations[-1:] and " ".join(self._operations)
        even = size is not None and ("remainder=true" in last or (samples >= 0 and samples % feed.batch_size == 0))
        axis: tuple[int | None, ...] = (size if even else None,) if self.batched and not self._items_are_batches else ()
        specs = {}
        for name, dtype, shape, ragged, *_ in feed.fields:
            axes = tuple(None if n < 0 else n for n in shape)
            if self._items_are_batches:
                axes = (None, *axes[1:])
            specs[name] = TensorSpec((*axis, None, *axes[1:]) if ragged else (*axis, *axes), NUMPY_NAMES[dtype], name,
                                     ragged)
        for name, (dtype, sizes, rows) in self._made_after().items():
            first = axis or (None,)
            specs[name] = TensorSpec((*first, *sizes[1:]) if sizes[:1] == (rows,) else sizes, NUMPY_NAMES[dtype], name)
        return arrange(self._layout_of(list(specs)), specs)

    @property
    def class_names(self) -> list[str]:
        """Names of the classes, by label; empty if the source has none."""
        return list(self._origin.classes) or self._plan().pipeline.classes()

    def name(self, sample: int) -> str:
        """Where a sample comes from, by its number (Batch.samples).

            ds.name(3)      # "cats/1.jpg"
        """
        return self._plan().pipeline.name(sample)

    # ---------------------------------------------------------------------------------------- figures

    def stats(self) -> dict[str, Any]:
        """What the pipeline has done so far: samples, batches, copies, slots, wait_s, stages, workers, latency, ...

            ds.stats()["wait_s"]      # how long the loop has waited for batches
            ds.stats()["stages"]      # seconds of the workers by stage; call: functions of Python
            ds.stats()["tuning"]      # 'threads=2 slots=6 read_ahead=0', for options(tune=...)

        docs/performance.md has a table of all names. copies counts batches that were copied because nearly all memory for
        batches was kept by the program. latency has the time that batches were waited for: `below_s` is a list of
        [seconds, batches].
        """
        return self._plan().pipeline.stats()

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Writes what every thread of the last iteration did, and when, as JSON that https://ui.perfetto.dev opens. It has
        the newest 32,768 samples at the most, and names no files.

            ds = ds.configure(trace=True)
            for batch in ds: ...
            ds.trace("trace.json")

        path: the file
        """
        if not self._config.get("trace"):
            raise ArgumentError("trace(): nothing was kept: use ds.configure(trace=True) before the loop")
        self._plan().pipeline.trace(path)

    def bad_samples(self) -> list[tuple[int, int, str, str, str]]:
        """(sample, epoch, stage, code, message) of samples that were skipped or replaced: options(on_error=...).

            for sample, epoch, stage, code, message in ds.bad_samples():
                print(ds.name(sample), message)
        """
        return self._plan().pipeline.bad()

    # -------------------------------------------------------------------------------------- looking at it

    def __repr__(self) -> str:
        after = "".join(f" | map {each.job.parameters.title}" for each in self._after)
        return f"<leat.Dataset {self.text}{after} (seed {self.seed})>"

    def _repr_html_(self) -> str:
        """For notebooks: source, operations, what comes out, and some samples if that is quick."""
        from .html import to_html

        return to_html(self)

    def __str__(self) -> str:
        try:
            feed = self._plan(plain=True)
            lines = feed.pipeline.plan().splitlines()
            if feed is self._runs.plan:  # which has no threads and one slot: how it will run is not known yet
                lines = [line for line in lines if not line.startswith(("memory ", "work "))]
        except Error as error:
            lines = [f"cannot be opened: {error}"]
        return "\n".join([self.text, f"seed {self.seed}", *lines])

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles carry the description and the seed; what is open stays here."""
        from .._base.pickling import Portable

        functions: dict[str, Any] = {name: Portable(value) for name in ("source", "lazy_arrays", "layout")
                                     if (value := getattr(self._origin, name)) is not None}
        callbacks = Portable(self._callbacks) if self._callbacks else ()
        after = Portable(self._after) if self._after else ()
        return type(self), (self._operations, self._origin._replace(**functions), Seed(self.seed), self._config,
                            self._layout, callbacks, after)

    def __copy__(self) -> Self:
        return self._with(seed=Seed(self.seed))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()  # a value: data and functions are shared
