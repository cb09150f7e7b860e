# SPDX-License-Identifier: Apache-2.0
"""Values that depend on small columns only: TensorFlow computes them once, for all rows."""
from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .._base.arrays import optional
from .._tfdata.chain import Refused
from .columns import AllRows, Unfit
from .graph import Ref, Trace

# Nodes that are called stateful but give the same answer every time.
LOOKUPS = {"LookupTableFindV2", "LookupTableSizeV2", "LookupTableExportV2", "Assert", "HashTableV2"}
FILES = {"ReadFile", "MatchingFiles"}
# Nodes that act on each row by itself, so that columns may be computed for whole batches.
ROWWISE = {"Cast", "OneHot", "Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "LogicalAnd", "LogicalOr",
           "LogicalNot", "AddV2", "Sub", "Mul", "RealDiv", "FloorDiv", "FloorMod", "Minimum", "Maximum", "Abs", "Neg", "Sqrt",
           "Square", "Pow", "Exp", "Log", "StringToNumber", "RegexReplace", "StaticRegexReplace", "StaticRegexFullMatch",
           "LookupTableFindV2", "StringLower", "StringUpper", "StringStrip"}
FEW_ROWS = 128  # are computed one by one before TensorFlow has begun a data set of them
ROW_BYTES = 512  # larger rows are pictures, not labels
TOTAL_BYTES = 1 << 28


def small(spec: Any) -> bool:
    """Whether a column is small enough for folding: a string, a number or a short vector."""
    if spec.shape.rank is None or spec.shape.rank > 1 or not spec.shape.is_fully_defined():
        return False
    return bool(spec.dtype.name == "string" or spec.shape.num_elements() * spec.dtype.size <= ROW_BYTES)


def fields_of(trace: Trace, ref: Ref, columns: Mapping[int, str], rowwise: bool,
              memo: dict[tuple[int, int], frozenset[str] | None]) -> frozenset[str] | None:
    """The columns that a tensor depends on; None if it depends on anything else, draws, or reads a file."""
    ref = _through(trace, ref)
    if ref.key in memo:
        return memo[ref.key]
    memo[ref.key] = None  # a loop in the graph ends here
    op = ref.op
    found: frozenset[str] | None
    if op.type == "Placeholder":
        name = columns.get(id(ref.tensor))
        found = frozenset([name]) if name else frozenset() if id(ref.tensor) in ref.frame.constants else None
    elif op.type == "Const":
        found = frozenset()
    elif op.type in FILES or (op.op_def.is_stateful and op.type not in LOOKUPS):
        found = None
    else:
        parts = [fields_of(trace, Ref(ref.frame, each), columns, rowwise, memo) for each in op.inputs]
        known = [part for part in parts if part is not None]
        found = frozenset().union(*known) if len(known) == len(parts) else None
        if rowwise and found and op.type not in ROWWISE:
            found = None
    memo[ref.key] = found
    return found


def _through(trace: Trace, ref: Ref) -> Ref:
    """As Trace.follow, but also through marked calls: here only the nodes count."""
    while True:
        followed = trace.follow(ref)
        if trace.mark(followed) is None or followed.op.type not in ("Identity", "PartitionedCall", "StatefulPartitionedCall"):
            return followed
        if followed.op.type != "Identity":
            frame = trace.callee(followed)
            ref = Ref(frame, frame.graph.outputs[followed.tensor.value_index])
        else:
            ref = followed.input(0)


def _copied(trace: Trace, ref: Ref, given: Mapping[int, Any], made: dict[tuple[int, int], Any]) -> Any:
    """The tensor in the graph that is being traced now, computed by copies of the nodes."""
    import tensorflow as tf  # type: ignore[import-untyped, import-not-found, unused-ignore]
    from tensorflow.python.framework import ops  # type: ignore[import-untyped, import-not-found, unused-ignore]

    ref = _through(trace, ref)
    if id(ref.tensor) in given:
        return given[id(ref.tensor)]
    if id(ref.tensor) in ref.frame.constants:
        constant = ref.frame.constants[id(ref.tensor)]
        return constant if constant.dtype == tf.resource else tf.identity(constant)
    key = (id(ref.frame), id(ref.op))
    if key not in made:
        inputs = [_copied(trace, Ref(ref.frame, each), given, made) for each in ref.op.inputs]
        graph = ops.get_default_graph()
        inputs = [graph.capture(each) for each in inputs]
        made[key] = graph._create_op_internal(ref.op.type, inputs, [each.dtype for each in ref.op.outputs],
                                              attrs=dict(ref.op.node_def.attr), op_def=ref.op.op_def)
    return made[key].outputs[ref.tensor.value_index]


def computed(trace: Trace, ref: Ref, given: Mapping[int, Any]) -> Any:
    """The NumPy array of a tensor, for these values of the inputs that it depends on."""
    import tensorflow as tf  # type: ignore[import-untyped, import-not-found, unused-ignore]

    def compute(*values: Any) -> Any:
        return _copied(trace, ref, dict(zip(given, values, strict=True)), {})
    values = list(map(tf.constant, given.values()))
    # Not called directly: TensorFlow would warn of many traces of one function.
    return tf.function(compute, autograph=False).get_concrete_function(*values)(*values).numpy()


def _parts(compute: Callable[..., Any], arrays: list[Any], batched: bool) -> Iterator[tuple[Any, ...]]:
    """The results of many rows at a time, as NumPy arrays."""
    import tensorflow as tf  # type: ignore[import-untyped, import-not-found, unused-ignore]

    if not batched and 0 < len(arrays[0]) <= FEW_ROWS:
        with tf.device("CPU:0"):  # where tf.data runs functions
            columns = [tf.constant(array) for array in arrays]
            specs = [tf.TensorSpec(column.shape[1:], column.dtype) for column in columns]
            function = tf.function(compute, autograph=False).get_concrete_function(*specs)
            # TensorFlow rewrites arithmetic of floats in such a function, which it does not do in tf.data: x / 3 gets other bits.
            if not any(each.dtype.is_floating for op in function.graph.get_operations() for each in op.outputs):
                found = [function(*row) for row in zip(*map(tf.unstack, columns), strict=True)]
                yield tuple(tf.stack(values).numpy() for values in zip(*found, strict=True))
                return
    rows = tf.data.Dataset.from_tensor_slices(tuple(arrays))
    if batched:
        parts = rows.batch(4096).map(compute)
    else:
        parts = rows.map(compute, num_parallel_calls=tf.data.AUTOTUNE).batch(4096)
    yield from parts.as_numpy_iterator()


class Fold:
    """Several tensors of one trace, computed together when the first of them is needed. keep: see Columns of a chain; of rows that
    are left out nothing is computed, since the function may fail for them."""

    def __init__(self, trace: Trace, columns: Mapping[int, str], arrays: Callable[[str], Any], batched: bool,
                 keep: tuple[Callable[[], Any], ...] = ()) -> None:
        self.trace, self.columns, self.arrays, self.batched, self.keep = trace, columns, arrays, batched, keep
        self.refs: list[Ref | None] = []  # None: not needed any more

    def add(self, ref: Ref) -> Callable[[], Any]:
        """A function that gives the column of this tensor."""
        self.refs.append(ref)
        return lambda: self.results[ref.key]

    @functools.cached_property
    def results(self) -> dict[tuple[int, int], Any]:
        numpy: Any = optional("numpy")
        kept = numpy.logical_and.reduce([numpy.asarray(each(), bool) for each in self.keep]) if self.keep else None
        found = self._computed(lambda name: self.arrays(name) if kept is None else self.arrays(name)[kept])
        if kept is None:
            return found

        def spread(values: Any) -> Any:
            rows = numpy.full((len(kept), *values.shape[1:]), b"" if values.dtype.kind == "O" else 0, values.dtype)
            rows[kept] = values
            return rows
        return {key: spread(values) for key, values in found.items()}

    def _computed(self, array: Callable[[str], Any]) -> dict[tuple[int, int], Any]:
        """The results for all rows of these columns."""
        import tensorflow as tf  # type: ignore[import-untyped, import-not-found, unused-ignore]

        numpy: Any = optional("numpy")
        refs = [ref for ref in self.refs if ref is not None]
        memo: dict[tuple[int, int], frozenset[str] | None] = {}
        needed: set[str] = set()
        for ref in refs:
            needed |= fields_of(self.trace, ref, self.columns, self.batched, memo) or set()
        places = [(place, name) for place, name in self.columns.items() if name in needed]

        @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator, unused-ignore]
        def compute(*values: Any) -> tuple[Any, ...]:
            given = {place: value for (place, _), value in zip(places, values, strict=True)}
            made: dict[tuple[int, int], Any] = {}
            return tuple(tf.identity(_copied(self.trace, ref, given, made)) for ref in refs)

        arrays = [array(name) for _, name in places]
        known: dict[tuple[int, int], Any] = {}
        if not self.batched:
            known = self._whole(refs, {place: array for (place, _), array in zip(places, arrays, strict=True)})
            refs = [ref for ref in refs if ref.key not in known]
            if not refs:
                return known
        found: list[list[Any]] = [[] for _ in refs]
        try:
            for part in _parts(compute, arrays, self.batched):
                for values, each in zip(found, part, strict=True):
                    values.append(each)
        except tf.errors.OpError as error:
            # The row may be one that a verb leaves out, or never reaches.
            raise Refused(f"TensorFlow fails for a row: {error.message.splitlines()[0]:.100}") from error
        return known | {ref.key: numpy.concatenate(values) if values else numpy.zeros((0,), ref.tensor.dtype.as_numpy_dtype)
                        for values, ref in zip(found, refs, strict=True)}

    def _whole(self, refs: list[Ref], arrays: Mapping[int, Any]) -> dict[tuple[int, int], Any]:
        """The columns that can be computed for all rows at once. What fails is computed again row by row: the row may be one that
        the program never reaches."""
        import tensorflow as tf  # type: ignore[import-untyped, import-not-found, unused-ignore]

        found: dict[tuple[int, int], Any] = {}
        rows = len(next(iter(arrays.values()), ()))
        if rows == 0:
            return found
        with tf.init_scope(), tf.device("CPU:0"):  # where tf.data runs functions
            columns = AllRows(self.trace, _through, {place: tf.constant(array) for place, array in arrays.items()}, rows)
            for ref in refs:
                with contextlib.suppress(Unfit, tf.errors.OpError):
                    found[ref.key] = columns.array(ref)
        return found
