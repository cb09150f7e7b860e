# SPDX-License-Identifier: Apache-2.0
"""tf.data.Dataset over the engine. A data set is what a program wrote (source, verbs) and, as far as that could be lowered, a
chain for the engine. TensorFlow's own data set of the same verbs is made when TensorFlow asks for the variant tensor.

A verb that cannot be lowered is TensorFlow's own method, called on this object, and gives TensorFlow's own data set.
"""
from __future__ import annotations

import contextlib
import functools
import re
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any

import tensorflow as tf  # type: ignore[import-not-found, import-untyped, unused-ignore]

from .._base.arrays import NUMPY_NAMES
from .._base.errors import Error
from . import sources, verbs
from .chain import Chain, Columns, Refused, mapped
from .iterators import ArrayIterator, EngineIterator, translating
from .modes import eager, tell, wanted
from .reading import Reader
from .seeds import chain_seed, operation_seed

_options: Any = import_module("tensorflow.python.data.ops.options")
Real: Any = tf.data.Dataset


class Kind(type(Real)):  # type: ignore[misc]
    """TensorFlow's data sets are instances of leat's classes too: leat's stand for them."""

    def __instancecheck__(cls, given: Any) -> bool:
        return cls.__subclasscheck__(type(given))

    def __subclasscheck__(cls, given: Any) -> bool:
        """Asks for the class itself: issubclass() would ask all its subclasses, leat's too. A program's own subclass of
        leat's stands for itself alone."""
        return vars(cls).get("real", cls) in given.__mro__


class Dataset(Real, metaclass=Kind):  # type: ignore[misc]
    """What `leat.tf.data.Dataset` is: a tf.data.Dataset whose elements the engine makes.

        ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000).map(augment).batch(32).prefetch(tf.data.AUTOTUNE)
    """

    real = Real
    _chain: Chain
    _make: Callable[[], Any]
    _parents: tuple[Any, ...]
    _made: dict[bool, Any]  # TensorFlow's data set, with the engine's batches and without
    _built: Any  # the leat.Dataset, once it was needed
    _failed: bool  # the engine has refused it
    _options_attr: Any

    def __new__(cls, variant_tensor: Any = None) -> Any:
        if variant_tensor is not None:  # as tf.data.Dataset(variant): TensorFlow's own
            return Real(variant_tensor)
        return object.__new__(cls)

    def __init__(self, variant_tensor: Any = None) -> None:
        """Is filled in by _over, since nothing is to be made now."""

    @classmethod
    def _over(cls, chain: Chain, make: Callable[[], Any], inputs: tuple[Any, ...] = (), options: Any = None) -> Any:
        """A data set of a chain; make() gives TensorFlow's own of the same verbs."""
        self = object.__new__(cls)
        self._chain, self._make, self._parents = chain, make, inputs
        self._made = {}
        self._lock = threading.RLock()
        self._built = None
        self._failed = False
        self._graph_attr = None
        merged = _options.Options()
        for each in (*(parent._options_attr for parent in inputs), *([options] if options is not None else [])):
            merged = merged.merge(each)
        merged._set_mutable(False)
        self._options_attr = merged
        return self

    # --------------------------------------------------------------------------------- TensorFlow's own

    def _realised(self) -> Any:
        """TensorFlow's data set. Behind batch it takes the engine's batches, where the engine does more than order."""
        pure = getattr(wanted, "pure", False)
        with self._lock, tf.init_scope():
            use = not pure and self._chain.batched and self._chain.works and self._chain.limit is None and not self._failed
            if use not in self._made:
                made = self._generated() if use else None
                self._made[use] = self._make() if made is None else made
            return self._made[use]

    def _generated(self) -> Any:
        from .._frameworks.tf import Batches
        from .._frameworks.tf_feed import fed

        built = self._engine()
        if built is None:
            return None
        chain = self._chain

        def begin() -> Any:
            return iter(()) if Batches.ending else Batches(translating(Reader(chain, built)))
        options = tf.data.Options()
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
        options.autotune.enabled = False  # see _frameworks/tf.py
        cardinality = None if chain.cardinality == verbs.UNKNOWN else chain.cardinality
        return fed(begin, chain.element_spec(), options.merge(self._options_attr), cardinality,
                   prefetch=1)  # one: the engine itself works ahead

    @property
    def _variant_tensor(self) -> Any:
        return self._realised()._variant_tensor

    @property
    def _variant_tensor_attr(self) -> Any:
        return self._realised()._variant_tensor_attr

    @property
    def _graph(self) -> Any:
        return self._realised()._graph

    def _inputs(self) -> list[Any]:
        return list(self._parents)

    def _functions(self) -> list[Any]:
        return list(self._realised()._functions())

    # ------------------------------------------------------------------------------------------- engine

    def _engine(self) -> Any:
        """The leat.Dataset, open for questions; None if the engine refuses it, and TensorFlow does everything. Verbs that leave the
        chain as it is share it with what is in front of them, and its cache and open pipeline with it: distribution puts
        with_options() behind a data set for every iteration."""
        with self._lock:
            same = self._parents[0] if len(self._parents) == 1 and getattr(self._parents[0], "_chain", None) is self._chain else None
            if self._built is None and not self._failed and same is not None:
                self._built = same._engine()
                self._failed = self._built is None
            if self._built is None and not self._failed:
                try:
                    chain = self._chain
                    if chain.seed is None:
                        chain = chain.with_(seed=chain_seed())
                    built = chain.build()
                    if 0 <= chain.cardinality <= 2 and chain.batched:
                        built = built.configure(slots=max(chain.cardinality, 1))
                    _check(chain, built)
                    self._built = built
                except (Error, Refused, tf.errors.OpError) as error:
                    self._failed = True
                    self._made.clear()
                    # The place in leat's text, and what to write there, are of no use to a program for tf.data.
                    tell(re.sub(r"^column \d+: |: write .*", "", str(error).splitlines()[0]))
            return self._built

    def __iter__(self) -> Any:
        if not eager():
            return iter(self._realised())
        built = self._engine()
        if built is None:
            return iter(self._realised())
        return EngineIterator(self, built)

    def as_numpy_iterator(self) -> Any:
        built = self._engine() if eager() else None
        if built is None:
            return self._realised().as_numpy_iterator()
        return ArrayIterator(Reader(self._chain, built))

    @property
    def element_spec(self) -> Any:
        return self._chain.element_spec()

    def cardinality(self, name: str | None = None) -> Any:
        if not eager():
            return self._realised().cardinality(name)
        return tf.constant(self._chain.cardinality, tf.int64)

    def __len__(self) -> int:
        if not eager():
            return len(self._realised())
        if self._chain.cardinality == verbs.INFINITE:
            raise TypeError("The dataset is infinite.")
        if self._chain.cardinality == verbs.UNKNOWN:
            raise TypeError("The dataset length is unknown.")
        return self._chain.cardinality

    def __repr__(self) -> str:
        return f"<leat.tf.data.Dataset element_spec={self.element_spec}>"

    __str__ = __repr__

    # ----------------------------------------------------------------------------------------- sources

    @classmethod
    def _from(cls, make: Callable[[], Any], lower: Callable[..., Chain], *args: Any, **kwargs: Any) -> Any:
        """A source, lowered if that is possible."""
        if not eager():
            return make()
        try:
            return cls._over(lower(*args, **kwargs), make)
        except (Refused, Error, OSError, ValueError, TypeError, tf.errors.OpError):
            return make()  # which also raises what is wrong

    @staticmethod
    def from_tensor_slices(tensors: Any, name: Any = None) -> Any:
        return _of_arrays("from_tensor_slices", tensors, name)

    @staticmethod
    def from_tensors(tensors: Any, name: Any = None) -> Any:
        return _of_arrays("from_tensors", tensors, name)

    @staticmethod
    def range(*args: Any, **kwargs: Any) -> Any:
        return Dataset._from(lambda: Real.range(*args, **kwargs), sources.in_range, *args, **kwargs)

    @staticmethod
    def list_files(file_pattern: Any, shuffle: Any = None, seed: Any = None, name: Any = None) -> Any:
        return Dataset._from(lambda: Real.list_files(file_pattern, shuffle, seed, name), sources.list_files, file_pattern,
                             shuffle, seed, name, seeder=operation_seed)

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: Any = None) -> Any:
        def make() -> Any:
            return Real.zip(*args, name=name) if datasets is None else Real.zip(datasets=datasets, name=name)
        given = datasets if not args else args[0] if len(args) == 1 else args
        chains: list[Chain] = []
        parents: list[Any] = []

        def number(part: Any) -> Any:
            if isinstance(part, dict) and type(part) is dict:
                return {key: number(value) for key, value in part.items()}
            if type(part) is tuple:
                return tuple(number(value) for value in part)
            chains.append(chain_of(part, "zip"))
            parents.append(part)
            return len(chains) - 1
        return _combined(make, lambda: verbs.zip_chains(number(given), chains), parents)

    @staticmethod
    def sample_from_datasets(datasets: Any, weights: Any = None, seed: Any = None, stop_on_empty_dataset: Any = False,
                             rerandomize_each_iteration: Any = None) -> Any:
        def lower() -> Chain:
            chains = [chain_of(each, "sample_from_datasets") for each in datasets]
            numbers = None
            if weights is not None:
                if isinstance(weights, Real):
                    raise Refused("weights that are a data set")
                numbers = [float(n) for n in (weights.numpy() if hasattr(weights, "numpy") else weights)]
            return verbs.sample_from_datasets(chains, numbers, operation_seed(seed), stop_on_empty_dataset,
                                              rerandomize_each_iteration)
        return _combined(lambda: Real.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset,
                                                           rerandomize_each_iteration), lower, datasets)

    # ------------------------------------------------------------------------------------------- verbs

    def _verb(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], lower: Callable[..., Chain],
              options: Any = None, make: Callable[[], Any] | None = None) -> Any:
        theirs = getattr(Real, name)
        make = make or (lambda: theirs(self, *args, **kwargs))
        if not eager() or self._failed:
            return make()
        try:
            return Dataset._over(lower(self._chain, *args, **kwargs), make, (self,), options)
        except (Refused, Error, TypeError):
            return make()

    def shuffle(self, *args: Any, **kwargs: Any) -> Any:
        return self._verb("shuffle", args, kwargs, functools.partial(verbs.shuffle, seeder=operation_seed))

    def with_options(self, options: Any, name: Any = None) -> Any:
        return self._verb("with_options", (options, name), {}, verbs.with_options, options)

    def concatenate(self, dataset: Any, name: Any = None) -> Any:
        return _combined(lambda: Real.concatenate(self, dataset, name),
                         lambda: verbs.concatenate(self._chain, chain_of(dataset, "concatenate")), (self, dataset))

    def map(self, map_func: Any, *args: Any, **kwargs: Any) -> Any:
        return self._function("map", map_func, args, kwargs)

    def filter(self, predicate: Any, *args: Any, **kwargs: Any) -> Any:
        return self._function("filter", predicate, args, kwargs)

    def _function(self, name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """map and filter: what a function does is read from TensorFlow's trace of it. TensorFlow's own verb takes that trace."""
        traces: list[Any] = []

        def make() -> Any:
            with traces[0].reused() if traces else contextlib.nullcontext():
                return getattr(Real, name)(self, function, *args, **kwargs)

        def lower(chain: Chain, *_: Any, **__: Any) -> Chain:
            from .._tftrace.lower import lower_filter, lower_map
            from .._tftrace.notices import notice

            if chain.limit is not None:
                raise Refused("a function behind take() behind repeat() behind batch()")
            try:
                if chain.channels_first:
                    raise Refused("pictures have their channels first")
                if name == "map":
                    return lower_map(chain, function, traces)
                return lower_filter(chain, function, traces).with_(cardinality=verbs.UNKNOWN)
            except Refused as refused:
                notice(function, refused.reason, refused.where)
                raise
        return self._verb(name, (function, *args), kwargs, lower, make=make)

    def interleave(self, map_func: Any, cycle_length: Any = None, block_length: Any = None, num_parallel_calls: Any = None,
                   deterministic: Any = None, name: Any = None) -> Any:
        def lower(chain: Chain, *_: Any, **__: Any) -> Chain:
            from .readers import opened

            cycle = -1 if cycle_length is None else verbs.whole(cycle_length, "cycle_length")
            block = 1 if block_length is None else verbs.whole(block_length, "block_length", 1)
            calls = None if num_parallel_calls is None else verbs.whole(num_parallel_calls, "num_parallel_calls")
            return opened(chain, map_func, sources.chosen_cycle(calls) if cycle < 0 else cycle, block)
        given = (map_func, cycle_length, block_length, num_parallel_calls, deterministic, name)
        return self._verb("interleave", given, {}, lower)

    def flat_map(self, map_func: Any, name: Any = None) -> Any:
        def lower(chain: Chain, *_: Any, **__: Any) -> Chain:
            from .readers import opened

            return opened(chain, map_func, 1, 1)
        return self._verb("flat_map", (map_func, name), {}, lower)

    def apply(self, transformation_func: Any) -> Any:
        found = transformation_func(self)
        if not isinstance(found, Real):
            raise TypeError(f"`transformation_func` must return a `tf.data.Dataset` object. Got {type(found)}.")
        return found


def _lowered(name: str, lower: Callable[..., Chain]) -> Any:
    @functools.wraps(getattr(Real, name))
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self._verb(name, args, kwargs, lower)
    return method


for _name in verbs.PLAIN_VERBS:
    setattr(Dataset, _name, _lowered(_name, getattr(verbs, _name)))


LOWERED = {Dataset}  # classes whose data sets have a chain


# ---------------------------------------------------------------------------------------------- helpers


def _of_arrays(name: str, tensors: Any, label: Any) -> Any:
    """from_tensor_slices and from_tensors. TensorFlow's own is made of the same copies of the user's arrays."""
    if not eager():
        return getattr(Real, name)(tensors, label)
    single = name == "from_tensors"
    try:
        chain = sources.from_arrays(tensors, single)
    except (Refused, TypeError, ValueError, tf.errors.OpError):
        return getattr(Real, name)(tensors, label)

    def make() -> Any:
        columns = chain.source
        assert isinstance(columns, Columns)
        return getattr(Real, name)(mapped(chain.structure, lambda field: columns.array(field)[0] if single
                                          else columns.array(field)), label)
    return Dataset._over(chain, make)


def _check(chain: Chain, built: Any) -> None:
    """What the engine will give has the types and shapes that TensorFlow expects; otherwise TensorFlow makes the elements."""
    found = {name: (NUMPY_NAMES[dtype], shape, ragged) for name, dtype, shape, ragged, *_ in built._plan().fields}
    for field in chain.fields:
        dtype, shape, ragged = found[field]
        spec = chain.specs[field]
        fits = ragged or spec.shape.is_compatible_with([None if n < 0 else n for n in shape])
        if ("string" if dtype == "bytes" else dtype) != spec.dtype.name or not fits:
            raise Refused(f"the engine gives {dtype} {shape} where TensorFlow has {spec.dtype.name} {spec.shape}")


def chain_of(dataset: Any, verb: str) -> Chain:
    if type(dataset) not in LOWERED or dataset._failed:
        raise Refused(f"{verb}() with a data set of TensorFlow's")
    chain: Chain = dataset._chain
    return chain


def _combined(make: Callable[[], Any], lower: Callable[[], Chain], parents: Any) -> Any:
    if not eager():
        return make()
    try:
        chain = lower()
    except (Refused, Error, TypeError, ValueError):
        return make()
    return Dataset._over(chain, make, tuple(parents))
