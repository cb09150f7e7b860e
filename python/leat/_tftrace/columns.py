# SPDX-License-Identifier: Apache-2.0
"""What functions make of labels and names of files, computed by TensorFlow for all rows at once, without a graph.

A function of one row becomes a data set of TensorFlow's only after it is traced, optimised and opened, which takes 20 ms and more
for three rows too. The usual nodes act on each row by itself, or on parts of a path: they are called once, on whole columns. They
give the same bits: nodes whose vector kernels round otherwise than their scalar ones, such as Exp, are left out.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .graph import Ref, Trace

UNARY = {"Cast", "LogicalNot", "Abs", "Neg", "Square", "StringToNumber", "RegexReplace", "StaticRegexReplace",
         "StaticRegexFullMatch", "StringLower", "StringUpper", "StringStrip", "StringLength", "Substr", "OneHot",
         "LookupTableFindV2"}  # of their first input that has rows; the others are the same for all
BINARY = {"Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "LogicalAnd", "LogicalOr", "AddV2", "Sub", "Mul",
          "RealDiv", "FloorDiv", "FloorMod", "Minimum", "Maximum"}
# How TensorFlow writes tf.strings.split() of one string: the first row of a ragged tensor, which ends with what made its places.
RAGGED_ROW = ("StridedSlice", "StridedSlice", "StringSplitV2")
ROW_PLACES = ("Pack", "StridedSlice", "StridedSlice", "ConcatV2")


class Unfit(Exception):
    """A node is not among those that can be computed for all rows at once."""


class AllRows:
    """Tensors of a trace for all rows: those that depend on a column have one more axis in front, that of the rows."""

    def __init__(self, trace: Trace, through: Callable[[Trace, Ref], Ref], given: dict[int, Any], rows: int) -> None:
        self.trace, self.through, self.given, self.rows = trace, through, given, rows
        self.memo: dict[tuple[int, int], tuple[Any, bool]] = {}

    def array(self, ref: Ref) -> Any:
        """The NumPy array of a tensor, with a row for each row. Unfit if that cannot be."""
        value, per_row = self._value(ref)
        if not per_row:
            raise Unfit
        return value.numpy()

    def _value(self, ref: Ref) -> tuple[Any, bool]:
        """A tensor, and whether it has the axis of the rows."""
        import tensorflow as tf  # type: ignore[import-untyped, import-not-found, unused-ignore]

        ref = self.through(self.trace, ref)
        if id(ref.tensor) in self.given:
            return self.given[id(ref.tensor)], True
        if id(ref.tensor) in ref.frame.constants:
            return ref.frame.constants[id(ref.tensor)], False
        if ref.key not in self.memo:
            kind = ref.op.type
            if kind == "Const":
                made = tf.constant(tf.get_static_value(ref.tensor), ref.tensor.dtype), False
            elif kind in UNARY:
                made = self._unary(ref)
            elif kind in BINARY:
                made = self._binary(ref)
            elif kind in SPECIAL:
                made = SPECIAL[kind](self, ref)
            else:
                raise Unfit
            self.memo[ref.key] = made
        return self.memo[ref.key]

    def _inputs(self, ref: Ref) -> list[tuple[Any, bool]]:
        return [self._value(Ref(ref.frame, each)) for each in ref.op.inputs]

    def _call(self, ref: Ref, inputs: list[Any]) -> Any:
        """The node itself, on other inputs. Attributes that follow from the inputs are not given."""
        import tensorflow as tf  # type: ignore[import-untyped, import-not-found, unused-ignore]

        definition = ref.op.op_def
        follow = {name for each in definition.input_arg for name in (each.type_attr, each.number_attr, each.type_list_attr)}
        attributes = {each.name: ref.attr(each.name) for each in definition.attr if each.name not in follow}
        names = [each.name for each in definition.input_arg]
        return getattr(tf.raw_ops, ref.op.type)(**dict(zip(names, inputs, strict=True)), **attributes)

    def _unary(self, ref: Ref) -> tuple[Any, bool]:
        inputs = self._inputs(ref)
        at = [i for i, (_, per_row) in enumerate(inputs) if per_row]
        wanted = 1 if ref.op.type == "LookupTableFindV2" else 0
        if at not in ([], [wanted]) or (ref.op.type == "OneHot" and ref.attr("axis") != -1):
            raise Unfit
        return self._call(ref, [value for value, _ in inputs]), bool(at)

    def _binary(self, ref: Ref) -> tuple[Any, bool]:
        """Inputs of fewer axes get axes behind that of the rows, so that they meet the same axes as in one row."""
        import tensorflow as tf  # type: ignore[import-untyped, import-not-found, unused-ignore]

        inputs = self._inputs(ref)
        axes = max(value.shape.rank - per_row for value, per_row in inputs)
        aligned = [tf.reshape(value, [self.rows, *[1] * (axes - value.shape.rank + 1), *value.shape[1:]])
                   if per_row and value.shape.rank - 1 < axes else value for value, per_row in inputs]
        return self._call(ref, aligned), any(per_row for _, per_row in inputs)

    def _gather(self, ref: Ref) -> tuple[Any, bool]:
        (table, one), (_, many), (axis, _) = inputs = self._inputs(ref)
        if one or not many or table.shape.rank != 1 or int(axis) != 0 or ref.attr("batch_dims"):
            raise Unfit
        return self._call(ref, [value for value, _ in inputs]), True

    def _argmax(self, ref: Ref) -> tuple[Any, bool]:
        (value, per_row), (axis, _) = self._inputs(ref)
        if not per_row:
            raise Unfit
        return self._call(ref, [value, axis + 1 if int(axis) >= 0 else axis]), True

    def _expanded(self, ref: Ref) -> tuple[Any, bool]:
        """ExpandDims of a value that has no axis, and Squeeze of the one axis that it made."""
        import tensorflow as tf  # type: ignore[import-untyped, import-not-found, unused-ignore]

        value, per_row = self._value(ref.input(0))
        if not per_row or value.shape.rank != (1 if ref.op.type == "ExpandDims" else 2):
            raise Unfit
        if ref.op.type == "Squeeze" and value.shape[1] != 1:
            raise Unfit
        return tf.reshape(value, [self.rows, 1] if ref.op.type == "ExpandDims" else [self.rows]), True

    def _part(self, ref: Ref) -> tuple[Any, bool]:
        """tf.strings.split(text, sep)[k]"""
        import tensorflow as tf  # type: ignore[import-untyped, import-not-found, unused-ignore]

        (k, _), (step, _) = self._value(ref.input(1)), self._value(ref.input(3))
        masks = [ref.attr(f"{name}_mask") for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")]
        split = self._split_of(ref)
        if split is None or masks != [0, 0, 0, 0, 1] or k.shape != (1,) or int(step[0]) != 1:
            raise Unfit
        text, per_row = self._value(Ref(split.frame, split.op.inputs[0].op.inputs[0]))
        sep, _ = self._value(split.input(1))
        if not per_row or text.shape.rank != 1 or sep.shape.rank != 0:
            raise Unfit
        places, words, _ = tf.raw_ops.StringSplitV2(input=text, sep=sep, maxsplit=split.attr("maxsplit"))
        lengths = tf.math.bincount(tf.cast(places[:, 0], tf.int32), minlength=self.rows)
        at, ends = int(k[0]), tf.cumsum(lengths)
        if int(tf.reduce_min(lengths)) < (at + 1 if at >= 0 else -at):
            raise Unfit  # TensorFlow itself tells what is wrong with the row
        return tf.gather(words, ends - lengths + at if at >= 0 else ends + at), True

    def _split_of(self, ref: Ref) -> Ref | None:
        """The node that splits one string, if the words of this slice are all that it gave."""
        import tensorflow as tf  # type: ignore[import-untyped, import-not-found, unused-ignore]

        found = [ref.input(0)]
        for kind in RAGGED_ROW:
            if found[-1].op.type != kind:
                return None
            found.append(found[-1].input(0))  # of the last one this is what is split
        everything, row, split = found[:3]
        begin = row.op.inputs[1].op
        for kind in ROW_PLACES:
            if begin.type != kind:
                return None
            begin = begin.inputs[1 if kind == "ConcatV2" else 0].op
        none = tf.get_static_value(everything.op.inputs[1])
        packed = split.op.inputs[0].op
        whole = none is not None and none.size == 0 and split.tensor.value_index == 1
        return split if whole and begin.type == "Cumsum" and packed.type == "Pack" and len(packed.inputs) == 1 else None


SPECIAL: dict[str, Callable[[AllRows, Ref], tuple[Any, bool]]] = {
    "GatherV2": AllRows._gather, "ArgMax": AllRows._argmax, "ExpandDims": AllRows._expanded, "Squeeze": AllRows._expanded,
    "StridedSlice": AllRows._part}
