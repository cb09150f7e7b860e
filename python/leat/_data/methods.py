# SPDX-License-Identifier: Apache-2.0
"""Methods of a dataset that build another one and are written by hand: those that take what text cannot carry, or that
are said more simply in Python than by the table of operations."""
from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, overload

from .._base.errors import ArgumentError
from .bind import near
from .ops import Operations

if TYPE_CHECKING:
    from .._base.arrays import Array
    from .._calls.batch_map import BatchMap
    from .dataset import Dataset
    from .ops import Text

CONFIG = {"threads": int, "slots": int, "synchronous": bool, "memory": int, "cache_dir": (str, os.PathLike),
          "no_side_files": bool, "trust_cache": bool, "rank": int, "world_size": int, "local_world_size": int, "params": bool,
          "trace": bool, "top": bool, "progress": object}


def declared_configure(  # type: ignore[no-untyped-def]  # what help() shows, as for the operations of _ops.py
    self, *, threads=0, slots=0, memory=0, rank=0, world_size=1, local_world_size=0, params=False, trace=False,
    synchronous=False, cache_dir=None, no_side_files=False, trust_cache=False, top=True, progress=None,
):
    """How to run, which changes no batch.

        ds.configure(threads=4, memory=2 << 30)
        ds.configure(rank=0, world_size=8)      # this process's part of every batch
        ds.configure(params=True)               # batches tell what was drawn

    threads: workers; 0 or leat.AUTOTUNE: a fair share of the cores
    slots: batches that may be ready at once; 0 or leat.AUTOTUNE: as many as help
    memory: bytes for all that the pipeline holds; 0: a quarter of what is available
    rank, world_size: which process this is, of how many that train together
    local_world_size: how many of them are on this machine
    params: batches tell what was drawn for each sample
    trace: keep what every thread did, for `ds.trace(path)`
    synchronous: no threads, everything happens in the loop itself; for debugging
    cache_dir: where indexes and positions are kept
    no_side_files: keep none
    trust_cache: use indexes, positions and caches of other users too, and those that others may write to
    top: `leat top` shows the running pipeline; LEAT_TOP=0 in the environment switches it off everywhere
    progress: a function (what, done, total) that is called while a pipeline is opened, instead of a bar
    """


class Methods(Operations):
    """A part of Dataset, which has what stands here without code."""

    _operations: tuple[str, ...]
    _callbacks: tuple[tuple[str, bool, Callable[..., Any]], ...]
    _config: dict[str, Any]
    _after: tuple[BatchMap, ...]

    if TYPE_CHECKING:

        @property
        def batched(self) -> bool: ...

        def _with(self, **changes: Any) -> Self: ...

        def statistics(self, field: str = "image", max_samples: int | None = None) -> Any: ...

    def shard(self, part: str | int | None = None, count: int | None = None, *, num_shards: int | None = None,
              index: int | None = None) -> Self:
        """Every count-th sample, beginning with number `part`: shard(0, 4), shard("0/4"), or shard("auto").

            mine = ds.shard(rank, world)

        part: number of the first sample; "0/4" has both numbers; "auto" is the part of this rank
        count: how many parts there are
        num_shards, index: the same by the names of tf.data, whose places are the other way round
        """
        if part is None:
            part, count = index, num_shards
        elif num_shards is not None or index is not None:
            raise TypeError("shard(): part and count, or index and num_shards")
        if part is None or (not isinstance(part, str) and count is None):
            raise TypeError("shard() needs both numbers: shard(0, 4) is part 0 of 4")
        if isinstance(part, int) and isinstance(count, int) and part > count >= 0:
            raise ValueError(f"shard({part}, {count}): the part comes first, shard({count}, {part}); tf.data has it the "
                             "other way round")
        return self._add("shard", (part if count is None else f"{part}/{count}",), {})

    def normalize(self, name: str | float | Sequence[float] | None = None, std: Text | None = None, *,
                  mean: Text | None = None, scale: float | str | None = None,
                  dtype: Literal["f32", "f16", "bf16"] | None = None, layout: Literal["nhwc", "nchw"] | None = None,
                  field: str | None = None) -> Self:
        """(x * scale - mean) / std for each channel, by numbers, by the name of a set, or fitted to this very data.

            ds.normalize("imagenet")
            ds.normalize(mean=(0.5, 0.5, 0.5), std=0.25, scale=1 / 255)
            ds.normalize((0.5, 0.5, 0.5), (0.25, 0.25, 0.25))    # mean and std
            ds.resize(224, 224).normalize("fit")    # mean and std of the pictures so far: one pass over the data

        name: "imagenet", "fit", or the mean
        mean, std: one number, or one a channel, in the units of x * scale
        scale: factor of the values before; 1 / 255 makes 0 to 1 of u8
        dtype: of the result: f32, f16 or bf16
        layout: nhwc or nchw: channels last or channels first
        field: which field
        """
        if name is not None and not isinstance(name, str):
            if mean is not None:
                raise TypeError("normalize(): mean is given twice")
            name, mean = None, name
        more = {"scale": scale, "dtype": dtype, "layout": layout, "field": field}
        if name != "fit":
            return self._add("normalize", (name,), {**more, "mean": mean, "std": std})
        given = {"mean": mean, "std": std, "scale": scale}
        wrong = [word for word, value in given.items() if value is not None]
        if wrong:
            raise TypeError(f"normalize('fit') finds {', '.join(wrong)} itself")
        found = self.statistics(field=field or "image")
        deviations = [value or 1.0 for value in found.std]  # a channel that is constant stays
        return self._add("normalize", (), {**more, "mean": found.mean, "std": deviations})

    def filter(self, *where: str | Callable[..., object], callback: str | None = None) -> Self:
        """Keeps the samples for which a condition or a function holds.

            ds.filter("label in 1,2,5")
            ds.filter(lambda width, height: width > 200)       # parameters are fields, as they are before decoding
            ds.filter(lambda sample: sample["image/width"] > 200)    # `sample` is a dict of all fields

        where: a condition on fields, see the text's filter, or a function. A function is called for every sample while the
        pipeline is opened, from threads of the engine. callback is refused: give the function itself.
        """
        if len(where) == 1 and callable(where[0]):
            from .._calls.callbacks import FilterFunction

            name = f"python{len(self._callbacks)}"
            return self._with(operations=(*self._operations, f"filter callback={name}"),
                              callbacks=(*self._callbacks, (name, False, FilterFunction(where[0]))))
        if callback is not None:
            raise TypeError("filter(): give the function itself, not a name: filter(function)")
        return self._add("filter", where, {})

    def eval(self, *expressions: str | Mapping[str, str], **fields: str) -> Self:
        """Arithmetic on fields, done by the engine: FIELD="EXPRESSION".

            ds.eval(image="(image / 127.5 - 1) * 0.5")
            ds.eval(label="cast(label == 3, i32)", bright="mean(image)")    # all see the fields as they were before
            ds.eval({"image/centre": "image[8:24, 8:24]"})                  # names that are no words of Python

        expressions: a dict of fields and expressions, or texts such as "label=label + 1"
        fields: an expression for each field; one that is not there yet is made
        """
        given: dict[str, object] = {}
        for item in expressions:
            pairs = item.items() if isinstance(item, Mapping) else [tuple(item.split("=", 1))]
            for pair in pairs:
                if len(pair) != 2:
                    raise TypeError(f"eval(): {pair[0]!r:.60} must be a field and an expression: "
                                    "eval(image=\"image / 255\")")
                given[pair[0].strip()] = pair[1]
        twice = given.keys() & fields.keys()
        if twice:
            raise TypeError(f"eval(): {min(twice)} is given twice")
        if not given and not fields:
            raise TypeError("eval() needs a field and an expression: eval(image=\"image / 255\")")
        return self._add("eval", (), {**given, **fields})

    def map(self, function: Callable[..., Any], *, workers: int | str | None = None, **fields: Any) -> Self:
        """Calls a function of Python for each sample, or behind batch() for each batch.

            ds.map(lambda image: image[:, ::-1])                          # a parameter gets the field of its name
            ds.map(lambda image, mask: augment(image=image, mask=mask))   # a dict names the fields that it makes
            ds.map(noise, workers=4)                                      # def noise(image, rng): ..., in 4 processes
            ds.map(f, image=("f32", (224, 224, 3)), score="f32")          # types and sizes are declared

        A parameter called `rng` gets a numpy.random.Generator, seeded by (seed, epoch, position), behind batch() by
        (seed, epoch, step); one called `sample` gets a dict of all fields. One result replaces the field of the first
        parameter; a tuple replaces those of the parameters in order. Types are found by one call, and sizes may differ,
        unless they are declared.
        """
        from .._calls.callbacks import Job, MapFunction, Parameters, declarations, declared_text, map_workers

        declared, parameters, n_workers = declarations(fields), Parameters(function, "map"), map_workers(workers)
        if self.batched:
            from .._calls.batch_map import BatchMap

            if n_workers:
                raise ArgumentError("map(): a function behind batch() runs in the thread that takes the batch: leave workers "
                                    "out, or write map before batch")
            declared = {name: given and (given[0], (None, *given[1])) for name, given in declared.items()}
            return self._with(after=(*self._after, BatchMap(Job(function, parameters, declared), len(self._after))))
        name = f"python{len(self._callbacks)}"
        operation = " ".join(["map", *declared_text(declared), f"callback={name}"])
        called = MapFunction(Job(function, parameters, declared), n_workers)
        return self._with(operations=(*self._operations, operation), callbacks=(*self._callbacks, (name, True, called)))

    def concatenate(self, *others: Any) -> Self:
        """This dataset, then others with the same fields.

            train.concatenate(more).shuffle().batch(64)
        """
        from .combine import concatenate

        made: Self = concatenate(self, *others)  # type: ignore[arg-type, assignment]
        return made

    if TYPE_CHECKING:

        def configure(self, *, threads: int = ..., slots: int = ..., memory: int = ..., rank: int = ...,
                      world_size: int = ..., local_world_size: int = ..., params: bool = ..., trace: bool = ...,
                      synchronous: bool = ...,
                      cache_dir: str | os.PathLike[str] = ..., no_side_files: bool = ...,
                      trust_cache: bool = ..., top: bool = ..., progress: Callable[[str, int, int], object] = ...) -> Self: ...

    else:

        def configure(self, **config: Any) -> Self:
            return self._configure(config)

        configure.__wrapped__ = declared_configure
        configure.__doc__ = declared_configure.__doc__

    def _configure(self, config: Mapping[str, Any]) -> Self:
        for name, value in config.items():
            if name not in CONFIG:
                raise TypeError(f"configure() has no argument '{name}'{near(name, CONFIG)}")
            wanted = CONFIG[name]
            if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):  # type: ignore[arg-type]
                raise TypeError(f"configure(): {name} must be {getattr(wanted, '__name__', 'a path')}, "
                                f"not {type(value).__name__} {value!r:.60}")
        automatic = {name: 0 for name in ("threads", "slots") if config.get(name) == -1}
        return self._with(config={**self._config, **config, **automatic})

    def as_dict(self) -> Dataset[dict[str, Array]]:
        """Batches as a dict of all fields, whatever they are.

            for batch in ds.as_dict():
                batch["image"], batch["label"]
        """
        return self._with(layout="dict")  # type: ignore[return-value]

    @overload
    def as_tuple(self, first: str, /) -> Dataset[tuple[Array]]: ...

    @overload
    def as_tuple(self, first: str, second: str, /) -> Dataset[tuple[Array, Array]]: ...

    @overload
    def as_tuple(self, first: str, second: str, third: str, /) -> Dataset[tuple[Array, Array, Array]]: ...

    @overload
    def as_tuple(self, *parts: str | Sequence[str] | Mapping[str, str]) -> Dataset[tuple[Any, ...]]: ...

    def as_tuple(self, *parts: str | Sequence[str] | Mapping[str, str]) -> Any:
        """Batches as a tuple of these fields; a part that is a list of names or a dict becomes a dict.

            ds.as_tuple("image", "label")
            ds.as_tuple(["pixels", "age"], "label")       # ({"pixels": ..., "age": ...}, ...)

        parts: names of fields.
        """
        if not parts:
            raise TypeError("as_tuple() needs the names of fields: as_tuple('image', 'label')")
        layout = tuple(part if isinstance(part, str) else dict(part) if isinstance(part, Mapping)
                       else {name: name for name in part} for part in parts)
        return self._with(layout=layout)
