# SPDX-License-Identifier: Apache-2.0
"""A tf.data.Dataset over an iterator of Python's: what `from_generator` does, for a fraction of its time.

`from_generator` traces four functions for each data set (10 ms), and puts a flat_map around the operation that asks Python,
which is made ready anew for each pass (8 ms). Here the functions are traced once for all data sets with the same types and
shapes: they ask the data set and the pass by number.

An iterator takes the operation without the flat_map. It cannot be written as a graph, which the flat_map can: that one is for
verbs of TensorFlow's behind the data set, such as snapshot, and for distribution.
"""
from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy  # type: ignore[import-not-found, unused-ignore]
import tensorflow as tf  # type: ignore[import-not-found, import-untyped, unused-ignore]

_data: Any = import_module("tensorflow.python.data.ops.dataset_ops")
_context: Any = import_module("tensorflow.python.eager.context")
_debug: Any = import_module("tensorflow.python.data.ops.debug_mode")
_scripts: Any = import_module("tensorflow.python.ops.script_ops")

NAME = "Dataset.from_generator()"  # in names and messages
INT64 = tf.TensorSpec((), tf.int64)


class _Source:
    """What begins passes. Iterators of TensorFlow's keep their data set, and that keeps this. What else takes a data set may
    keep only what it is called inside of TensorFlow, so `kept` holds the source as long as the default graph is the same:
    as long as the functions of from_generator are kept."""

    numbers = itertools.count()
    live: weakref.WeakValueDictionary[int, _Source] = weakref.WeakValueDictionary()

    def __init__(self, begin: Callable[[], Iterator[Any]], signature: Any) -> None:
        self.begin, self.flat = begin, _flattener(signature)
        self.number = next(self.numbers)
        self.live[self.number] = self

    def kept(self) -> _Source:
        graph: Any = tf.compat.v1.get_default_graph()
        if not hasattr(graph, "_leat_sources"):
            graph._leat_sources = []
        graph._leat_sources.append(self)
        return self


def _flattener(spec: Any) -> Callable[[Any], list[Any]]:
    """A function that gives the fields of an element, in the order of tf.nest: keys are sorted."""
    if isinstance(spec, tf.TensorSpec):
        return lambda element: [element]
    keys = sorted(spec) if isinstance(spec, dict) else range(len(spec))
    parts = [(key, _flattener(spec[key])) for key in keys]
    return lambda element: [field for key, part in parts for field in part(element[key])]


# ------------------------------------------------------------------------------- what TensorFlow calls


_passes: dict[int, tuple[Iterator[Any], Callable[[Any], list[Any]]]] = {}
_pass_numbers = itertools.count()


def _begin(number: Any) -> Any:
    source = _Source.live[int(number)]
    name = next(_pass_numbers)
    _passes[name] = iter(source.begin()), source.flat
    return numpy.int64(name)


def _end(name: Any) -> Any:
    _passes.pop(int(name), None)
    return numpy.int64(0)


def _next(specs: tuple[Any, ...]) -> Callable[[Any], list[Any]]:
    fields = [(spec.dtype, numpy.dtype(spec.dtype.as_numpy_dtype), spec.shape) for spec in specs]

    def following(name: Any) -> list[Any]:
        iterator, flat = _passes[int(name)]
        return [_checked(value, *field) for value, field in zip(flat(next(iterator)), fields, strict=True)]
    return following


def _checked(value: Any, dtype: Any, kind: Any, shape: Any) -> Any:
    """As from_generator converts and checks."""
    if type(value) is not numpy.ndarray or value.dtype != kind:
        value = _scripts.FuncRegistry._convert(value, dtype=dtype.as_numpy_dtype)
        if value.dtype != kind:
            raise TypeError(f"`generator` yielded an element of type {value.dtype} where an element of type {kind} was expected.")
    if not shape.is_compatible_with(value.shape):
        raise TypeError(f"`generator` yielded an element of shape {value.shape} where an element of shape {shape} was expected.")
    return value


# --------------------------------------------------------------------------------------- traced functions


def _traced(function: Callable[[Any], Any]) -> Any:
    structured: Any = import_module("tensorflow.python.data.ops.structured_function")
    return structured.StructuredFunctionWrapper(tf.autograph.experimental.do_not_convert(function), NAME, input_structure=INT64)


@functools.lru_cache(maxsize=64)
def _functions(context: Any, specs: tuple[Any, ...]) -> tuple[Any, Any, Any, Any]:
    """Those that begin a pass, ask for an element and end a pass, and that of the flat_map. context: they belong to it."""
    # Functions of their own: TensorFlow holds what it wraps around a function at the function and at the default graph,
    # which Keras may replace.
    ask_begin, ask_next, ask_end = (lambda number: _begin(number)), _next(specs), (lambda name: _end(name))

    def begin(number: Any) -> Any:
        return _scripts.numpy_function(ask_begin, [number], tf.int64)

    def following(name: Any) -> Any:
        values = _scripts.numpy_function(ask_next, [name], [spec.dtype for spec in specs])
        for value, spec in zip(values, specs, strict=True):
            value.set_shape(spec.shape)
        return tuple(values)

    def end(name: Any) -> Any:
        return _scripts.numpy_function(ask_end, [name], tf.int64)

    with tf.init_scope(), tf.device(None):
        three = _traced(begin), _traced(following), _traced(end)
        return *three, _traced(lambda number: _Direct(number, None, three, specs))


class _Direct(_data.DatasetSource):  # type: ignore[misc]
    """The operation that asks Python."""

    def __init__(self, number: Any, source: _Source | None, functions: Any, signature: Any) -> None:
        begin, following, end = self._three = functions
        self._source, self._signature, self._name = source, signature, None
        super().__init__(tf.raw_ops.GeneratorDataset(
            init_func_other_args=[number], next_func_other_args=[], finalize_func_other_args=[], init_func=begin.function,
            next_func=following.function, finalize_func=end.function, **self._common_args))

    def _functions(self) -> list[Any]:
        return list(self._three)

    @property
    def element_spec(self) -> Any:
        return self._signature


class _Flat(_data.UnaryDataset):  # type: ignore[misc]
    """The same with a flat_map around it."""

    def __init__(self, source: _Source, function: Any, signature: Any) -> None:
        numbers = _data.DatasetV2.from_tensors(numpy.int64(source.number))
        self._source, self._function, self._signature, self._name = source, function, signature, None
        super().__init__(numbers, tf.raw_ops.FlatMapDataset(
            input_dataset=numbers._variant_tensor, other_arguments=function.function.captured_inputs, f=function.function,
            **self._common_args))

    def _functions(self) -> list[Any]:
        return [self._function]

    @property
    def element_spec(self) -> Any:
        return self._signature


# ---------------------------------------------------------------------------------------------- data set


class Fed(_data.DatasetV2):  # type: ignore[misc]
    """The data set: `direct` for iterators, `whole` for everything else. Each is made when it is wanted."""

    def __init__(self, source: _Source, signature: Any, finish: Callable[[Any], Any], options: Any) -> None:
        self._source, self._signature, self._finish = source, signature, finish
        self._options_attr, self._graph_attr = options, None

    def _of_context(self) -> tuple[Any, Any, Any, Any]:
        _context.ensure_initialized()
        return _functions(_context.context(), tuple(tf.nest.flatten(self._signature)))

    @functools.cached_property
    def direct(self) -> Any:
        with tf.init_scope():
            made = _Direct(tf.constant(self._source.number, tf.int64), self._source, self._of_context()[:3], self._signature)
            options = tf.data.Options().merge(self._options_attr)
            options.experimental_optimization = tf.data.experimental.OptimizationOptions()
            options.experimental_optimization.apply_default_optimizations = False  # there is nothing to improve
            return self._finish(made).with_options(options)

    @functools.cached_property
    def whole(self) -> Any:
        with tf.init_scope():
            return self._finish(_Flat(self._source.kept(), self._of_context()[3], self._signature)).with_options(self._options_attr)

    @property
    def _variant_tensor(self) -> Any:
        return self.whole._variant_tensor

    @property
    def _variant_tensor_attr(self) -> Any:
        return self.whole._variant_tensor_attr

    @property
    def _graph(self) -> Any:
        return self.whole._graph

    def _inputs(self) -> list[Any]:
        return [self.whole]

    def __iter__(self) -> Any:
        return iter(self.direct if tf.executing_eagerly() else self.whole)

    @property
    def element_spec(self) -> Any:
        return self._signature


def fed(begin: Callable[[], Iterator[Any]], signature: Any, options: Any, cardinality: int | None = None,
        prefetch: int = 0) -> Any:
    """A tf.data.Dataset of what the iterators of begin() give: arrays, in tuples and dicts like the signature's TensorSpecs."""
    def finish(made: Any) -> Any:
        if cardinality is not None:
            made = made.apply(tf.data.experimental.assert_cardinality(cardinality))
        return made.prefetch(prefetch) if prefetch else made

    if _debug.DEBUG_MODE or any(type(spec) is not tf.TensorSpec for spec in tf.nest.flatten(signature)):
        return finish(_data.DatasetV2.from_generator(begin, output_signature=signature)).with_options(options)
    return Fed(_Source(begin, signature), signature, finish, options)
