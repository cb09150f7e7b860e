# SPDX-License-Identifier: Apache-2.0
"""A trace of a function, and how its tensors are followed through calls, captures and identities."""
from __future__ import annotations

import contextlib
import os
import random
import sys
import threading
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .._tfdata.chain import Refused
from .marks import Mark, Marks, marking

PASSED = {"Identity", "StopGradient", "PreventGradient", "Snapshot", "EnsureShape"}
CALLS = {"PartitionedCall", "StatefulPartitionedCall"}
PYTHON = {"EagerPyFunc": "tf.py_function", "PyFunc": "tf.numpy_function", "PyFuncStateless": "tf.numpy_function"}
# Nodes with an effect or a state that a program without them would not have.
EFFECTS = {"PrintV2": "tf.print", "Print": "tf.print", "WriteFile": "tf.io.write_file", "AssignVariableOp": "a variable",
           "AssignAddVariableOp": "a variable", "AssignSubVariableOp": "a variable", "While": "a loop",
           "StatelessWhile": "a loop"}
LIBRARIES = ("tensorflow", "keras", "leat", "tf_keras")


class Frame:
    """One graph on the way from the function to what it calls: where the inputs of this graph come from."""

    def __init__(self, graph: Any, parent: Frame | None = None, inputs: dict[int, Ref] | None = None,
                 constants: dict[int, Any] | None = None) -> None:
        self.graph, self.parent = graph, parent
        self.inputs = inputs or {}
        self.constants = constants or {}

    def of(self, graph: Any) -> Frame:
        """The frame of a graph that encloses this one."""
        frame: Frame | None = self
        while frame is not None and frame.graph is not graph:
            frame = frame.parent
        if frame is None:
            raise Refused("a tensor of another graph")
        return frame


@dataclass(frozen=True)
class Ref:
    """A tensor, and the frame that says what its graph's inputs are."""

    frame: Frame
    tensor: Any

    @property
    def key(self) -> tuple[int, int]:
        return id(self.frame), id(self.tensor)

    @property
    def op(self) -> Any:
        return self.tensor.op

    def input(self, index: int) -> Ref:
        return Ref(self.frame, self.op.inputs[index])

    def attr(self, name: str) -> Any:
        return self.op.get_attr(name)


@dataclass
class Trace:
    """A function as tf.data traces it."""

    function: Any
    wrapper: Any
    marks: Marks
    frame: Frame
    inputs: tuple[Any, ...]
    outputs: tuple[Ref, ...]
    drew: bool
    _calls: dict[tuple[int, int], Frame] = field(default_factory=dict)

    @property
    def structure(self) -> Any:
        return self.wrapper.output_structure

    def mark(self, ref: Ref) -> Mark | None:
        return self.marks.of(ref.tensor)

    def callee(self, ref: Ref, attribute: str = "f", skip: int = 0) -> Frame:
        """The graph of a function that a node calls, with its inputs."""
        graph = ref.op.graph._get_function(ref.attr(attribute).name).graph
        key = (id(ref.frame), id(ref.op) ^ hash(attribute))
        if key not in self._calls:
            given = [Ref(ref.frame, tensor) for tensor in list(ref.op.inputs)[skip:]]
            inputs = {id(inner): outer for inner, outer in zip(graph.inputs, given, strict=True)}
            self._calls[key] = Frame(graph, ref.frame, inputs)
        return self._calls[key]

    def follow(self, ref: Ref) -> Ref:
        """The tensor behind identities, calls and captures: a mark, a node, or an input of the function."""
        while self.mark(ref) is None:
            op = ref.op
            if op.type in PASSED:
                ref = ref.input(0)
            elif op.type in CALLS:
                frame = self.callee(ref)
                ref = Ref(frame, frame.graph.outputs[ref.tensor.value_index])
            elif op.type == "Placeholder" and id(ref.tensor) in ref.frame.inputs:
                ref = ref.frame.inputs[id(ref.tensor)]
            else:
                break
        return ref

    @contextlib.contextmanager
    def reused(self) -> Iterator[None]:
        """While this is open, a verb of TensorFlow's that wants a trace of this function in this thread gets the one that is
        there. The function is not traced a second time, and names that have another value by then do not change it."""
        before, _reused.trace = getattr(_reused, "trace", None), self
        try:
            with _Wrappers():
                yield
        finally:
            _reused.trace = before

    def given(self, ref: Ref, value: Any) -> Any:
        """An argument of a marked call: a Ref for a tensor of a graph, else the value itself."""
        import tensorflow as tf  # type: ignore[import-untyped, import-not-found, unused-ignore]

        if not isinstance(value, tf.Tensor) or not hasattr(value, "graph") or tf.is_symbolic_tensor(value) is False:
            return value
        return Ref(ref.frame.of(value.graph), value)


_reused = threading.local()  # .trace: what a verb of TensorFlow's takes in this thread


class _Wrappers:
    """While one is open, StructuredFunctionWrapper of TensorFlow's gives the trace that is to be reused, if there is one. The lock
    is held for a moment only: data sets have locks of their own."""

    lock = threading.Lock()
    n_open = 0
    real: Any = None

    def __enter__(self) -> None:
        from tensorflow.python.data.ops import structured_function  # type: ignore[import-untyped, import-not-found, unused-ignore]

        cls = _Wrappers
        with cls.lock:
            cls.n_open += 1
            if cls.n_open == 1:
                cls.real = structured_function.StructuredFunctionWrapper
                structured_function.StructuredFunctionWrapper = _wrapper

    def __exit__(self, *_: object) -> None:
        from tensorflow.python.data.ops import structured_function  # type: ignore[import-untyped, import-not-found, unused-ignore]

        cls = _Wrappers
        with cls.lock:
            cls.n_open -= 1
            if cls.n_open == 0:
                structured_function.StructuredFunctionWrapper = cls.real


def _wrapper(func: Any, name: str, dataset: Any = None, **options: Any) -> Any:
    trace = getattr(_reused, "trace", None)
    if trace is not None and func is trace.function and dataset is not None and not any(options.values()):
        wrapper = trace.wrapper
        if dataset.element_spec == wrapper._input_structure:
            return wrapper
    return _Wrappers.real(func, name, dataset, **options)


def where(op: Any) -> str:
    """The line of the user's program that made a node: "train.py:12"."""
    loaded = [sys.modules[name].__file__ for name in LIBRARIES if name in sys.modules]
    folders = tuple(os.path.dirname(file) + os.sep for file in loaded if file)
    for frame in reversed(list(op.traceback or ())):
        name = frame.filename
        if "__autograph_generated" in name or name.startswith("<"):
            continue
        if not name.startswith(folders):
            return f"{os.path.basename(name)}:{frame.lineno}"
    return ""


def nodes(graph: Any) -> Iterator[Any]:
    """All nodes of a graph and of the functions that it calls."""
    seen: set[str] = set()
    graphs = [graph]
    while graphs:
        each = graphs.pop()
        for op in each.get_operations():
            yield op
            for key in ("f", "then_branch", "else_branch", "body"):
                try:
                    name = op.get_attr(key).name if key in op.node_def.attr else ""
                except (ValueError, AttributeError):
                    continue
                if name and name not in seen:
                    seen.add(name)
                    graphs.append(each._get_function(name).graph)


def _of_seeds(op: Any) -> bool:
    """Whether a node counts the draws of a Keras layer."""
    return any(frame.filename.endswith("seed_generator.py") for frame in op.traceback or ())


def check(trace: Trace) -> None:
    """Refuses what cannot be left out of a function, wherever it stands in it."""
    if trace.marks.checks:
        raise Refused(f"tf.debugging.{trace.marks.checks[0]} checks values while the program runs")
    for op in nodes(trace.frame.graph):
        if op.type in PYTHON:
            raise Refused(f"{PYTHON[op.type]} runs Python for every element", where(op))
        if op.type in EFFECTS and not _of_seeds(op):
            raise Refused(f"the function has {EFFECTS[op.type]}", where(op))


def _generators(function: Any) -> bool:
    """Whether a function mentions a generator of random numbers that is Python's or NumPy's."""
    numpy = sys.modules.get("numpy")
    kinds = (random.Random, *((numpy.random.Generator, numpy.random.RandomState) if numpy else ()))
    if not isinstance(function, types.FunctionType):
        return False
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    named = [function.__globals__.get(name) for name in function.__code__.co_names]
    return any(isinstance(value, kinds) for value in [*cells, *named])


def _states() -> tuple[Any, ...]:
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return (random.getstate(),)
    state = numpy.random.get_state()
    return random.getstate(), state[1].tobytes(), state[2]


def _once(function: Any, spec: Any) -> Trace:
    from tensorflow.python.data.ops import structured_function  # type: ignore[import-untyped, import-not-found, unused-ignore]

    before = _states()
    with marking(function) as marks:
        wrapper = structured_function.StructuredFunctionWrapper(function, "Dataset.map()", input_structure=spec)
    concrete = wrapper.function
    graph = concrete.graph
    captured = list(concrete.captured_inputs)
    constants = {id(inner): outer for inner, outer in zip(graph.inputs[len(graph.inputs) - len(captured):], captured, strict=True)}
    frame = Frame(graph, constants=constants)
    inputs = tuple(graph.inputs[:len(graph.inputs) - len(captured)])
    outputs = tuple(Ref(frame, tensor) for tensor in graph.outputs)
    return Trace(function, wrapper, marks, frame, inputs, outputs, _states() != before)


def _constants(trace: Trace) -> list[bytes]:
    return [op.node_def.attr["value"].SerializeToString(deterministic=True)
            for op in nodes(trace.frame.graph) if op.type == "Const"]


def trace_function(function: Any, spec: Any) -> Trace:
    """The function as tf.data would trace it, for elements of this spec. What it raises is TensorFlow's own exception."""
    traced = _once(function, spec)
    if not traced.drew and _generators(function):
        traced.drew = _constants(traced) != _constants(_once(function, spec))
    return traced
