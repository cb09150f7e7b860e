# SPDX-License-Identifier: Apache-2.0
"""Functions that are noted as a whole while leat traces.

tf.image.resize leaves a dozen nodes in a graph. While leat traces, wrappers stand in the place of such functions: each calls the
real function and notes its name, its arguments and the tensor that it returned. Outside of a trace the real functions are in
their places, and other threads never see a wrapper do more than call the real function.
"""
from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import threading
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

# What leat makes of a function of TensorFlow: `engine` or `fold` (computed once per sample by TensorFlow), or `refused`.
# Functions that are a single node need no mark; they are in nodes.py.
IMAGE = ("resize", "resize_with_pad", "resize_with_crop_or_pad", "central_crop", "crop_to_bounding_box", "pad_to_bounding_box",
         "random_flip_left_right", "random_flip_up_down", "flip_left_right", "flip_up_down", "rot90", "transpose",
         "random_brightness", "adjust_brightness", "random_contrast", "adjust_contrast", "random_saturation",
         "adjust_saturation", "random_hue", "adjust_hue", "adjust_gamma", "rgb_to_grayscale",
         "per_image_standardization", "random_jpeg_quality", "adjust_jpeg_quality", "random_crop", "convert_image_dtype")
# The functions that the marked ones are made of: stateless_random_brightness calls adjust_brightness of this module.
IMPLEMENTATION = "tensorflow.python.ops.image_ops_impl"
# Marked for the seed that they are given: with a global seed, TensorFlow gives one to every node.
RANDOM = ("uniform", "normal")
# A condition that the program checks itself must still be checked: the function is TensorFlow's.
CHECKS = ("assert_equal", "assert_greater", "assert_greater_equal", "assert_less", "assert_less_equal", "assert_near",
          "assert_positive", "assert_non_negative", "assert_none_equal", "assert_rank", "assert_shapes", "Assert",
          "check_numerics")
LAYERS = ("Rescaling", "Normalization", "Resizing", "CenterCrop", "RandomFlip", "RandomRotation", "RandomZoom",
          "RandomTranslation", "RandomContrast", "RandomBrightness", "RandomCrop")


@dataclass
class Mark:
    """One call: its function, what it was given, and what it returned."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any

    @functools.cached_property
    def given(self) -> dict[str, Any]:
        """The arguments by name, with defaults."""
        bound = inspect.signature(self.function).bind(*self.args, **self.kwargs)
        bound.apply_defaults()
        return dict(bound.arguments)


@dataclass
class Marks:
    """The calls of one trace, by the tensors that they returned."""

    by_tensor: dict[int, Mark] = field(default_factory=dict)
    checks: list[str] = field(default_factory=list)

    def of(self, tensor: Any) -> Mark | None:
        found = self.by_tensor.get(id(tensor))
        return found if found is not None and found.result is tensor else None

    def note(self, name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        given = [*args, *kwargs.values()]
        if not isinstance(result, (list, tuple, dict)) and not any(result is each for each in given):
            self.by_tensor[id(result)] = Mark(name, function, args, kwargs, result)


_lock = threading.RLock()
_active = threading.local()


def _wrapper(name: str, real: Callable[..., Any]) -> Any:
    import tensorflow as tf  # type: ignore[import-untyped, import-not-found, unused-ignore]

    @functools.wraps(real)
    def marked(*args: Any, **kwargs: Any) -> Any:
        result = real(*args, **kwargs)
        marks: Marks | None = getattr(_active, "marks", None)
        if marks is not None:
            marks.note(name, real, args, kwargs, result)
        return result

    return tf.autograph.experimental.do_not_convert(marked)


def _caller() -> str:
    """The package that calls a wrapper; TensorFlow stands between both."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("tensorflow."):
        frame = frame.f_back
    name: str = frame.f_globals.get("__name__", "")
    return name.partition(".")[0]


def _check_wrapper(name: str, real: Callable[..., Any]) -> Any:
    import tensorflow as tf  # type: ignore[import-untyped, import-not-found, unused-ignore]

    @functools.wraps(real)
    def checked(*args: Any, **kwargs: Any) -> Any:
        marks: Marks | None = getattr(_active, "marks", None)
        if marks is not None and _caller() != "keras":  # its layers check what they are given
            marks.checks.append(name)
        return real(*args, **kwargs)

    return tf.autograph.experimental.do_not_convert(checked)


@functools.cache
def _wrappers() -> tuple[tuple[Any, str, Any, Any], ...]:
    """(module, name, the real function, its wrapper) of all that is marked."""
    import tensorflow as tf  # type: ignore[import-untyped, import-not-found, unused-ignore]

    found: list[tuple[Any, str, Any, Any]] = []
    implementation = sys.modules.get(IMPLEMENTATION)
    for name in IMAGE:
        real = getattr(tf.image, name)
        wrapper = _wrapper(f"tf.image.{name}", real)
        found.append((tf.image, name, real, wrapper))
        inner = [key for key, value in vars(implementation).items() if value is real] if implementation else []
        found += [(implementation, key, real, wrapper) for key in inner]
    for name in RANDOM:
        real = getattr(tf.random, name)
        found.append((tf.random, name, real, _wrapper(f"tf.random.{name}", real)))
    for name in CHECKS:
        for module in (tf.debugging, tf):
            if hasattr(module, name):
                real = getattr(module, name)
                found.append((module, name, real, _check_wrapper(name, real)))
    return tuple(found)


def layer_name(cls: Any) -> str:
    return f"keras.layers.{cls.__name__}"


def _settle(layer: Any) -> None:
    """Normalization with given numbers holds them as tensors of the graph in which it was built. A trace of leat's does not last:
    it is built again outside of graphs."""
    import tensorflow as tf  # type: ignore[import-untyped, import-not-found, unused-ignore]

    if getattr(layer, "input_mean", None) is not None and tf.is_symbolic_tensor(layer.mean):
        with tf.init_scope():
            layer.build(layer._build_input_shape)


def _layer_call(cls: Any, real: Callable[..., Any]) -> Any:
    @functools.wraps(real)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        marks: Marks | None = getattr(_active, "marks", None)
        if marks is not None:
            _settle(self)
        result = real(self, *args, **kwargs)
        if marks is not None and type(self) is cls:
            marks.note(layer_name(cls), real, (self, *args), kwargs, result)
        return result

    return call


@functools.cache
def _layer_calls() -> tuple[tuple[Any, Any], ...]:
    """(class, wrapper of its call) for each known layer. Keras works out `training` before it calls `call`."""
    import keras  # type: ignore[import-untyped, import-not-found, unused-ignore]

    if keras.backend.backend() != "tensorflow":
        return ()
    return tuple((cls, _layer_call(cls, cls.call)) for cls in (getattr(keras.layers, name) for name in LAYERS))


def _fresh_call(real: Callable[..., Any]) -> Any:
    """Calls of a tf.function are traced anew, because a trace that was made before has no marks."""
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        marks: Marks | None = getattr(_active, "marks", None)
        if marks is None or getattr(self, "_leat_fresh", False) or getattr(_active, "depth", 0) > 20:
            return real(self, *args, **kwargs)
        import tensorflow as tf  # type: ignore[import-untyped, import-not-found, unused-ignore]

        if self._jit_compile or tf.executing_eagerly():
            return real(self, *args, **kwargs)
        fresh = tf.function(self.python_function, input_signature=self.input_signature, autograph=self._autograph,
                            reduce_retracing=False)
        fresh._leat_fresh = True
        _active.depth = getattr(_active, "depth", 0) + 1
        try:
            return real(fresh, *args, **kwargs)
        finally:
            _active.depth -= 1

    return call


def _globals_of(function: Any, seen: set[int]) -> Iterator[dict[str, Any]]:
    """The global variables of a function and of the functions that it mentions: `from tensorflow.image import resize`."""
    function = inspect.unwrap(function) if callable(function) else function
    function = getattr(function, "python_function", function)
    function = function.func if isinstance(function, functools.partial) else function
    function = getattr(function, "__func__", function)
    if not isinstance(function, types.FunctionType) or id(function) in seen:
        return
    seen.add(id(function))
    if function.__module__ and function.__module__.partition(".")[0] in ("tensorflow", "keras", "numpy", "leat"):
        return
    yield function.__globals__
    cells = [cell.cell_contents for cell in function.__closure__ or () if cell.cell_contents is not None]
    for value in [*(function.__globals__.get(name) for name in function.__code__.co_names), *cells]:
        if callable(value):
            yield from _globals_of(value, seen)


@contextlib.contextmanager
def marking(function: Any) -> Iterator[Marks]:
    """While this is open, calls of marked functions by this thread are noted."""
    from tensorflow.python.eager.polymorphic_function import polymorphic_function  # type: ignore[import-untyped, import-not-found, unused-ignore]

    with _lock:
        wrappers, layers = _wrappers(), _layer_calls() if "keras" in sys.modules else ()
        by_id = {id(real): wrapper for _, _, real, wrapper in wrappers}
        put: list[tuple[dict[str, Any], str, Any]] = []
        owned = [(cls, "call" in vars(cls), cls.call) for cls, _ in layers]
        function_class = polymorphic_function.Function
        real_call = function_class.__call__
        marks = _active.marks = Marks()
        try:
            for module, name, _, wrapper in wrappers:
                setattr(module, name, wrapper)
            for variables in _globals_of(function, set()):
                for name, value in list(variables.items()):
                    if callable(value) and id(value) in by_id:
                        put.append((variables, name, value))
                        variables[name] = by_id[id(value)]
            for cls, call in layers:
                cls.call = call
            function_class.__call__ = _fresh_call(real_call)
            yield marks
        finally:
            _active.marks = None
            function_class.__call__ = real_call
            for cls, own, real in owned:
                if own:
                    cls.call = real
                else:
                    del cls.call
            for variables, name, value in put:
                variables[name] = value
            for module, name, real, _ in wrappers:
                setattr(module, name, real)
