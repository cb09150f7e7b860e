# SPDX-License-Identifier: Apache-2.0
"""A traced function becomes operations of a chain, or is refused."""
from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from .._base.arrays import optional
from .._tfdata.chain import Built, Chain, Columns, Refused, leaves
from .emit import Emission, touched
from .expressions import HERE
from .fold import TOTAL_BYTES, Fold, computed, fields_of, small
from .graph import PASSED, Ref, Trace, check, trace_function, where
from .marks import Mark
from .values import Chance, Constant, Draw, Flow, Noise, Parsed, Value, leat_dtype

Handler = Callable[["Lowering", Ref], Value]
MarkHandler = Callable[["Lowering", Ref, Mark], Value]
NODES: dict[str, Handler] = {}
MARKED: dict[str, MarkHandler] = {}


def node(*types: str) -> Callable[[Handler], Handler]:
    """Says which nodes a function reads."""
    def put(handler: Handler) -> Handler:
        NODES.update(dict.fromkeys(types, handler))
        return handler
    return put


def marked(*names: str) -> Callable[[MarkHandler], MarkHandler]:
    """Says which marked functions a function reads."""
    def put(handler: MarkHandler) -> MarkHandler:
        MARKED.update(dict.fromkeys(names, handler))
        return handler
    return put


class Lowering:
    """One traced function on one chain."""

    def __init__(self, chain: Chain, trace: Trace) -> None:
        self.chain, self.trace = chain, trace
        self.batched = chain.batched
        self.values: dict[tuple[int, int], Value] = {}
        self.branches: dict[tuple[int, int], list[Value]] = {}
        self.used: dict[int, int] = {}  # draws, and what uses them
        self.arrays: dict[str, Any] = {}  # new columns
        self.folded: dict[str, int] = {}  # those that TensorFlow computes, and their number there
        self.files: dict[str, str] = {}  # new fields of files
        self.inputs = dict(zip(map(id, trace.inputs), chain.fields, strict=True))
        source, changed = chain.source, touched(chain)
        self.rows = source.rows if isinstance(source, Columns) else 0
        self.columns = {place: name for place, name in self.inputs.items() if isinstance(source, Columns)
                        and name in source.arrays and name not in changed and small(chain.specs[name])}
        self.memo: dict[tuple[int, int], frozenset[str] | None] = {}
        self.memo_constants: dict[tuple[int, int], frozenset[str] | None] = {}
        self.transforms: set[str] = set()  # of JPEG files: `fast`, `exact`
        self.record = ""  # the field that is parsed
        self.fold = Fold(trace, self.columns, self.array, chain.batched, _kept(chain, changed))
        self.calls: dict[int, list[tuple[int, int]]] = {}  # of Keras layers
        self.made: set[str] = set()  # fields that the function makes
        self.parses: dict[str, Any] = {}

    # ------------------------------------------------------------------------------------------ values

    def array(self, name: str) -> Any:
        """A column of the source, as NumPy array."""
        if not isinstance(self.chain.source, Columns):
            raise Refused("the samples are no rows in memory")
        return self.chain.source.array(name)

    def value(self, ref: Ref) -> Value:
        """What a tensor is."""
        ref = self.trace.follow(ref)
        if ref.key not in self.values:
            try:
                value = self._conformed(ref, self._read(ref))
                # What was folded on the way here is folded further, so that no operation is left for each sample.
                further = isinstance(value, Flow) and value.field in self.folded and value.steps
                self.values[ref.key] = (self._folded(ref) if further else None) or value
            except Refused as refused:
                column = self._folded(ref) or self._expressed(ref)
                if column is None:
                    raise Refused(refused.reason, refused.where or where(ref.op)) from None
                self.values[ref.key] = column
        return self.values[ref.key]

    def _read(self, ref: Ref) -> Value:
        import tensorflow as tf  # type: ignore[import-untyped, import-not-found, unused-ignore]

        mark = self.trace.mark(ref)
        if mark is not None and mark.name in MARKED:
            return MARKED[mark.name](self, ref, mark)
        if id(ref.tensor) in self.inputs:
            name = self.inputs[id(ref.tensor)]
            spec = self.chain.specs[name]
            return Flow(name, spec.dtype.name, tuple(spec.shape) if spec.shape.rank is not None else None)
        if id(ref.tensor) in ref.frame.constants:
            external = ref.frame.constants[id(ref.tensor)]
            if external.dtype in (tf.resource, tf.variant):
                raise Refused("the function reads a variable, whose value may change")
            return Constant(external.numpy())
        known = self._constant(ref)
        if known is not None:
            return Constant(known)
        return self.unmarked(ref)

    def unmarked(self, ref: Ref) -> Value:
        """What the nodes of a marked call make."""
        if ref.op.type in PASSED:
            return self.value(ref.input(0))
        if ref.op.type not in NODES:
            raise Refused(f"the engine has no operation for {ref.op.type}")
        return NODES[ref.op.type](self, ref)

    def _constant(self, ref: Ref) -> Any:
        """The value of a tensor that depends on no input, or None."""
        from tensorflow.python.framework import tensor_util  # type: ignore[import-untyped, import-not-found, unused-ignore]

        if fields_of(self.trace, ref, {}, False, self.memo_constants) != frozenset():
            return None
        known = tensor_util.constant_value(ref.tensor)
        return computed(self.trace, ref, {}) if known is None else known

    def _conformed(self, ref: Ref, value: Value) -> Value:
        """The value in the type that TensorFlow has at this place."""
        wanted, shape = ref.tensor.dtype.name, self.sample_shape(ref.tensor)
        if not isinstance(value, Flow):
            return value
        if shape is not None and value.shape is not None and (len(shape) != len(value.shape) or any(
                one != two for one, two in zip(shape, value.shape, strict=True) if None not in (one, two))):
            raise Refused(f"a result of the shape {shape}")
        if shape is not None:
            known = value.shape or (None,) * len(shape)
            value = replace(value, shape=tuple(two if one is None else one for one, two in zip(known, shape, strict=True)))
        return cast(value, wanted) if value.dtype != wanted else value

    def _expressed(self, ref: Ref) -> Flow | None:
        """The nodes as an expression of the engine, None if they are none."""
        from . import expressions

        try:
            return expressions.read(self, ref)
        except Refused:
            return None

    def probed(self, ref: Ref) -> tuple[int | None, ...]:
        """The shape of a tensor for the first record."""
        if not isinstance(self.chain.source, Built) or self.batched or len(self.inputs) != 1 or self.chain.operations:
            raise Refused("tf.reshape to sizes that differ from sample to sample")
        first = next(iter(self.chain.source.dataset.batch(1)))
        (place,) = self.inputs
        return tuple(computed(self.trace, ref, {place: first[0]}).shape)

    def _folded(self, ref: Ref) -> Flow | None:
        """A new column with the values that TensorFlow computes, if they depend on small columns only."""
        found = fields_of(self.trace, ref, self.columns, self.batched, self.memo)
        shape = self.sample_shape(ref.tensor)
        if not found or shape is None or None in shape or leat_dtype(ref.tensor.dtype.name) is None:
            return None
        size = 1
        for side in shape:
            size *= side or 0
        if ref.tensor.dtype.name == "string" and shape:
            return None
        if ref.tensor.dtype.name != "string" and size * ref.tensor.dtype.size * self.rows > TOTAL_BYTES:
            return None
        name = self.fresh("made")
        self.arrays[name] = self.fold.add(ref)
        self.folded[name] = len(self.fold.refs) - 1
        return Flow(name, ref.tensor.dtype.name, shape)

    def fresh(self, name: str) -> str:
        """A name that no field has."""
        number, word = 1, name
        while self.chain.fresh(word) != word or word in self.arrays or word in self.files or word in self.parses or word in self.made:
            number += 1
            word = f"{name}{number}"
        return word

    # --------------------------------------------------------------------------------------- arguments

    def sample_shape(self, tensor: Any) -> tuple[int | None, ...] | None:
        """The shape of one sample of a tensor that has the axis of the batch, if the chain is batched."""
        if tensor.shape.rank is None:
            return None
        return tuple(tensor.shape)[1:] if self.batched else tuple(tensor.shape)

    def input(self, ref: Ref, index: int) -> Value:
        return self.value(ref.input(index))

    def flow(self, value: Value, what: str) -> Flow:
        if not isinstance(value, Flow):
            raise Refused(f"{what} of a value that is no field of the sample")
        return value

    def picture(self, value: Value, what: str, types: tuple[str, ...] = ("uint8", "float32")) -> Flow:
        """A field with height, width and channels."""
        flow = self.flow(value, what)
        if flow.shape is not None and len(flow.shape) != 3:
            raise Refused(f"{what} of a tensor with {len(flow.shape)} axes")
        if flow.dtype not in types:
            raise Refused(f"{what} of {flow.dtype}")
        return flow

    def known(self, value: Value, what: str) -> Any:
        """The NumPy array of a constant."""
        if not isinstance(value, Constant):
            raise Refused(f"{what} differs from sample to sample")
        return value.value

    def argument(self, ref: Ref, mark: Mark, name: str) -> Any:
        """An argument of a marked call: a value for a tensor of the graph, else what was given."""
        given = self.trace.given(ref, mark.given[name])
        return self.value(given) if isinstance(given, Ref) else given

    def plain(self, ref: Ref, mark: Mark, name: str) -> Any:
        """An argument that must be known: a number, a list of numbers, a word, None."""
        return self.plain_value(self.argument(ref, mark, name), f"{name} of {mark.name}")

    def plain_value(self, given: Any, what: str) -> Any:
        if isinstance(given, (Constant, Flow, Draw, Chance, Parsed, Noise)):
            given = self.known(given, what)
        if hasattr(given, "numpy"):
            given = given.numpy()
        if isinstance(given, (list, tuple)):
            return [self.plain_value(self.value(each) if isinstance(each, Ref) else each, what) for each in given]
        return given.tolist() if hasattr(given, "tolist") else given

    def drawn(self, value: Draw | Chance, user: Ref) -> None:
        """Each draw has one use in the engine: two uses of one draw would be two draws."""
        if self.used.setdefault(value.node, id(user.op)) != id(user.op):
            raise Refused("one drawn number is used in two places")



def cast(flow: Flow, wanted: str) -> Flow:
    """tf.cast."""
    name = leat_dtype(wanted)
    if name is None or leat_dtype(flow.dtype) is None or "string" in (wanted, flow.dtype):
        raise Refused(f"a cast from {flow.dtype} to {wanted}")
    if _wraps(flow, wanted):
        return flow.then("eval", f"cast({HERE}, {name})", dtype=wanted)
    return flow.then("cast", name, dtype=wanted)


def _wraps(flow: Flow, wanted: str) -> bool:
    """Whether whole numbers may not fit: they wrap then, and the operation `cast` would clip them."""
    numpy: Any = optional("numpy")
    whole = all(name.startswith(("int", "uint")) for name in (flow.dtype, wanted))
    known = flow.shape is not None and None not in flow.shape and not flow.probed
    return whole and known and not numpy.can_cast(flow.dtype, wanted)


# ---------------------------------------------------------------------------------------- whole functions


def _begun(chain: Chain, function: Any, traces: list[Trace] | None) -> tuple[Lowering, Trace]:
    from . import branches, images, layers, nodes, records  # noqa: F401  they fill the tables

    trace = trace_function(function, chain.element_spec())
    if traces is not None:
        traces.append(trace)
    check(trace)
    if trace.drew:
        raise Refused("the function draws from Python's or NumPy's generator while it is traced: what it drew is a constant "
                      "for all elements; use tf.random")
    lowering = Lowering(chain, trace)
    return lowering, trace


def _specs(structure: Any) -> list[Any]:
    import tensorflow as tf  # type: ignore[import-untyped, import-not-found, unused-ignore]

    def plain(part: Any) -> None:
        if type(part) is tuple:
            for each in part:
                plain(each)
        elif type(part) is dict:
            for each in part.values():
                plain(each)
        elif not isinstance(part, tf.TensorSpec):
            raise Refused(f"a result that is a {type(part).__name__.removesuffix('Spec')}")
    plain(structure)
    return list(leaves(structure))


def lower_map(chain: Chain, function: Any, traces: list[Trace] | None = None) -> Chain:
    """The chain behind map(function). Refused, with the reason and the line, if the engine cannot do it.

    Exceptions of the function itself are TensorFlow's. traces: gets the trace, also if it is refused.
    """
    lowering, trace = _begun(chain, function, traces)
    specs = _specs(trace.structure)
    if chain.batched and not chain.drop_remainder and any(spec.shape.rank and spec.shape[0] is not None for spec in specs):
        # TensorFlow raises at a shorter batch. The engine does not look at it.
        raise Refused(f"its results are of whole batches: write batch({chain.batch_size}, drop_remainder=True)")
    with _reading():
        emission = Emission(lowering)
        names = [emission.output(lowering.value(ref), ref) for ref in trace.outputs]
        structure = _named(trace.structure, iter(names))
        return emission.finished(structure, {name: _sample(spec, chain.batched) for name, spec in zip(names, specs, strict=True)})


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    """A graph of another version of TensorFlow than those that leat was written for is refused: the script runs all the same."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise unexpected(error) from error


def unexpected(error: Exception) -> Exception:
    """What is raised where a graph is not as leat knows it. The tests put the error itself here: it may be a defect of leat's."""
    return Refused(f"its graph is not as expected: {type(error).__name__} {error!s:.80}")


def _named(structure: Any, names: Iterator[str]) -> Any:
    """The structure with names, which come in the order of tf.nest: keys are sorted. Dicts keep their own order."""
    if isinstance(structure, tuple):
        return tuple(_named(part, names) for part in structure)
    if not isinstance(structure, dict):
        return next(names)
    found = {key: _named(structure[key], names) for key in sorted(structure)}
    return {key: found[key] for key in structure}


def _sample(spec: Any, batched: bool) -> Any:
    if not batched or spec.shape.rank is None:
        return spec
    return type(spec)(spec.shape[1:], spec.dtype)


COMPARED = {"Equal": "==", "NotEqual": "!=", "Less": "<", "LessEqual": "<=", "Greater": ">", "GreaterEqual": ">="}
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def _kept(chain: Chain, changed: set[str]) -> tuple[Callable[[], Any], ...]:
    """Masks of the rows that filters have left: those of the source, and columns that an operation asks for."""
    numpy: Any = optional("numpy")
    source = chain.source
    if not isinstance(source, Columns):
        return ()
    asked = [re.fullmatch(r"(\w+) == 1", each.args[0]) for each in chain.operations if each.name == "filter"]
    names = [each[1] for each in asked if each and each[1] in source.arrays and each[1] not in changed]
    return *source.keep, *(lambda name=name: numpy.asarray(source.array(name)) == 1 for name in names)


def lower_filter(chain: Chain, predicate: Any, traces: list[Trace] | None = None) -> Chain:
    """The chain behind filter(predicate), or Refused."""
    if chain.batched:
        raise Refused("filter() behind batch()")
    lowering, trace = _begun(chain, predicate, traces)
    with _reading():
        (ref,) = trace.outputs
        if lowering._folded(ref) is not None:
            (name, column), = lowering.arrays.items()
            numpy: Any = optional("numpy")
            assert isinstance(chain.source, Columns)
            if not chain.operations:
                return chain.with_(source=replace(chain.source, keep=(*chain.source.keep, column)))
            arrays = {**chain.source.arrays, name: lambda: numpy.asarray(column(), "int64")}
            return chain.with_(source=replace(chain.source, arrays=arrays)).then("filter", f"{name} == 1")
        return chain.then("filter", _condition(lowering, ref))


def _condition(lowering: Lowering, ref: Ref) -> str:
    """A condition on fields that are numbers, as the text has it."""
    ref = lowering.trace.follow(ref)
    kind = ref.op.type
    if kind in ("LogicalAnd", "LogicalOr"):
        sides = [_condition(lowering, ref.input(i)) for i in (0, 1)]
        return f"({sides[0]}) {'and' if kind == 'LogicalAnd' else 'or'} ({sides[1]})"
    if kind == "LogicalNot":
        return f"not ({_condition(lowering, ref.input(0))})"
    if kind not in COMPARED:
        raise Refused(f"a condition that is made by {kind}", where(ref.op))
    left, right = lowering.input(ref, 0), lowering.input(ref, 1)
    sign = COMPARED[kind]
    if isinstance(left, Constant):
        left, right, sign = right, left, MIRRORED[sign]
    if not isinstance(right, Constant) or not isinstance(left, Flow) or left.shape != () or left.dtype == "string":
        raise Refused("a condition that compares no number of the sample with a constant", where(ref.op))
    if any(step.name != "cast" or not step.args[0].startswith(("i", "u")) for step in left.steps):
        raise Refused("a condition on a value that the function computes", where(ref.op))
    if left.field in touched(lowering.chain, parsed=False):
        raise Refused("a condition on a value that an earlier function computes", where(ref.op))
    return f"{left.field} {sign} {right.value.item()!r}"
