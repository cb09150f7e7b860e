# SPDX-License-Identifier: Apache-2.0
"""Arithmetic that no operation of the engine has by itself: `eval`.

A step "eval" holds an expression with HERE in the place of the field as it was before. Steps that are expressions themselves are
joined with what follows, so that a line of arithmetic is one expression.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._base.arrays import optional
from .._tfdata.chain import Refused
from .graph import Ref
from .values import Constant, Draw, Flow, Noise, Step, Value, leat_dtype

if TYPE_CHECKING:
    from .lower import Lowering

HERE = "\x01"
LARGEST = 64  # values of a list in an expression
LONGEST = 1000  # characters of an expression that another one repeats
BINARY = {"AddV2": "({0} + {1})", "Sub": "({0} - {1})", "Mul": "({0} * {1})", "RealDiv": "({0} / {1})", "Minimum": "min({0}, {1})",
          "Maximum": "max({0}, {1})", "Pow": "({0} ** {1})", "FloorDiv": "({0} // {1})", "FloorMod": "({0} % {1})",
          "Less": "({0} < {1})", "LessEqual": "({0} <= {1})", "Greater": "({0} > {1})", "GreaterEqual": "({0} >= {1})",
          "Equal": "({0} == {1})", "NotEqual": "({0} != {1})", "LogicalAnd": "({0} & {1})", "LogicalOr": "({0} | {1})"}
UNARY = {"Abs": "abs({0})", "Sign": "sign({0})", "Floor": "floor({0})", "Ceil": "ceil({0})", "Round": "round({0})",
         "Rint": "round({0})", "Sqrt": "sqrt({0})", "Square": "square({0})", "Exp": "exp({0})", "Log": "log({0})",
         "Sin": "sin({0})", "Cos": "cos({0})", "Neg": "(-{0})", "LogicalNot": "(~{0})"}
REDUCED = {"Mean": "mean", "Sum": "sum", "Max": "reduce_max", "Min": "reduce_min", "Any": "any", "All": "all"}
FLIPS = {"random_flip_up_down": 0, "random_flip_left_right": 1}
FLOATS = ("float16", "bfloat16", "float32", "float64")


def _literal(value: Any, dtype: str) -> str:
    """A constant as an expression has it."""
    numpy: Any = optional("numpy")
    array = numpy.asarray(value)
    if array.dtype.kind not in "biuf" and array.dtype.name != "bfloat16":
        raise Refused(f"a constant of {dtype}")
    if array.size > LARGEST and (array == array.reshape(-1)[0]).all():
        array = array.reshape(-1)[0]  # tf.zeros_like; the shape of the result is compared with TensorFlow's
    if array.size > LARGEST or (array.dtype.kind == "f" and not numpy.isfinite(array).all()):
        raise Refused("arithmetic with a large array of constants")

    def written(part: Any) -> str:
        if isinstance(part, list):
            return "[" + ", ".join(map(written, part)) + "]"
        if isinstance(part, bool):
            return "true" if part else "false"
        return repr(part)
    text = written(array.tolist())
    return text if array.ndim == 0 else f"cast({text}, {leat_dtype(dtype)})"


def _step_text(step: Step, inner: str) -> str | None:
    """A step as an expression, None if it is none, or draws: an expression may be repeated, and a draw may not."""
    if step.random:
        return None
    if step.name == "eval":
        return str(step.args[0]).replace(HERE, inner)
    if step.name == "linear":
        scale, offset = step.args
        text = inner if not scale.ndim and scale == 1 else f"{inner} * {_literal(scale, 'float32')}"
        return f"({text})" if not offset.ndim and offset == 0 else f"({text} + {_literal(offset, 'float32')})"
    if step.name == "cast" and not step.kwargs:
        return f"cast({inner}, {step.args[0]})"
    if step.name in FLIPS and step.kwargs == {"p": 1}:
        return f"reverse({inner}, {FLIPS[step.name]})"
    return None


def _place(flow: Flow) -> int:
    """Where the steps at the end begin that are expressions."""
    at = len(flow.steps)
    while at and _step_text(flow.steps[at - 1], HERE) is not None:
        at -= 1
    return at


def _text(flow: Flow, begin: int) -> str:
    text = HERE
    for step in flow.steps[begin:]:
        text = _step_text(step, text) or ""
    return text


def _name(field: str) -> str:
    return field if field.replace("_", "a").isalnum() and field.isascii() else f'"{field}"'


def combined(low: Lowering, ref: Ref, template: Callable[..., str], values: list[Value], dtypes: list[str],
             drawn: bool = False) -> Flow:
    """A flow whose value is an expression of these values."""
    flows = [value for value in values if isinstance(value, Flow)]
    if not flows:
        raise Refused("a value that is drawn, or the same for all samples")
    if any(flow.dtype == "string" or flow.probed for flow in flows):
        raise Refused("arithmetic with strings")
    fields = list(dict.fromkeys(flow.field for flow in flows))
    dtype, shape = ref.tensor.dtype.name, low.sample_shape(ref.tensor)
    large = any(isinstance(value, Constant) and value.value.size > LARGEST for value in values)
    if large and not any(flow.shape == shape for flow in flows):
        raise Refused("arithmetic with a large array of constants")
    draws = drawn or any(isinstance(value, (Draw, Noise)) for value in values)
    if len(fields) == 1:
        begin = _begin(flows)
        parts = [_part(low, ref, value, kind, lambda flow: _text(flow, begin)) for value, kind in zip(values, dtypes, strict=True)]
        steps = (*flows[0].steps[:begin], Step("eval", (template(*parts),), {}, draws))
        return Flow(fields[0], dtype, shape, steps)
    # Each field stands where all of its values begin; what was done to it from there on is part of the expression.
    begins = {field: _begin([flow for flow in flows if flow.field == field]) for field in fields}
    bases = {flow.field: replace(flow, steps=flow.steps[:begins[flow.field]]) for flow in flows}
    name = low.fresh("made")
    parts = [_part(low, ref, value, kind, lambda flow: _text(flow, begins[flow.field]).replace(HERE, _name(flow.field)))
             for value, kind in zip(values, dtypes, strict=True)]
    low.made.add(name)
    joint = Step("joint", (("eval", ({name: template(*parts)},), {}), (name, *fields), tuple(bases.values())), {}, draws)
    return Flow(name, dtype, shape, (joint,))


def _begin(flows: list[Flow]) -> int:
    """Up to which step the flows are the same, and are expressions behind it."""
    steps = flows[0].steps
    if all(flow.steps == steps for flow in flows):
        begin = len(steps)
        while begin and steps[begin - 1].name == "eval" and not steps[begin - 1].random:
            begin -= 1
        return begin if len(_text(flows[0], begin)) < LONGEST else len(steps)
    begin = min(len(flow.steps) for flow in flows)
    while begin and any(flow.steps[:begin] != steps[:begin] for flow in flows):
        begin -= 1
    if any(_place(flow) > begin for flow in flows):
        raise Refused("arithmetic with two results of one field")
    return begin


def _part(low: Lowering, ref: Ref, value: Value, dtype: str, of: Callable[[Flow], str]) -> str:
    if isinstance(value, Flow):
        return of(value)
    if isinstance(value, Constant):
        array = value.value
        if low.batched and array.ndim and array.ndim == (ref.tensor.shape.rank or 0):
            if array.shape[0] != 1:
                raise Refused("arithmetic across samples")
            array = array[0]
        return _literal(array, dtype)
    if isinstance(value, Draw):
        low.drawn(value, ref)
        seed = "" if value.seed is None else f", seed={value.seed}"
        if value.whole:
            return f"randint({int(value.low)}, {int(value.high)}{seed})"
        return f"uniform({value.low!r}, {value.high!r}{seed})"
    raise Refused("arithmetic with values that the engine does not have")


# -------------------------------------------------------------------------------------------- nodes


def read(low: Lowering, ref: Ref) -> Flow:
    """The node as an expression; Refused if it is none."""
    kind = ref.op.type
    if kind in ("FloorDiv", "FloorMod") and ref.tensor.dtype.is_integer:
        divisor = low.input(ref, 1)
        if not isinstance(divisor, Constant) or not divisor.value.all():
            raise Refused("an integer division by a value of the sample, which fails where it is 0")
    if kind in BINARY:
        return _nodes(low, ref, lambda a, b: BINARY[kind].format(a, b), 2)
    if kind in UNARY:
        return _nodes(low, ref, lambda a: UNARY[kind].format(a), 1)
    if kind in REDUCED:
        return _reduced(low, ref)
    if kind in ("Select", "SelectV2"):
        return _nodes(low, ref, lambda c, a, b: f"select({c}, {a}, {b})", 3)
    if kind == "Cast":
        return _nodes(low, ref, lambda a: f"cast({a}, {leat_dtype(ref.tensor.dtype.name)})", 1)
    if kind in ("ConcatV2", "Pack"):
        return _joined(low, ref)
    if kind == "Tile":
        return _tiled(low, ref)
    if kind == "StridedSlice":
        return _sliced(low, ref)
    if kind == "ReverseV2":
        axes = _axes(low, ref, low.known(low.input(ref, 1), "an axis"))
        return _nodes(low, ref, lambda a: _nested("reverse", a, axes), 1)
    if kind == "Transpose":
        order = _axes(low, ref, low.known(low.input(ref, 1), "an axis")[low.batched:])
        return _nodes(low, ref, lambda a: f"transpose({a}, {', '.join(map(str, order))})", 1)
    if kind in ("ArgMax", "ArgMin") and ref.tensor.dtype.name == "int64":
        (axis,) = _axes(low, ref, low.known(low.input(ref, 1), "an axis"))
        return _nodes(low, ref, lambda a: f"{kind.lower()}({a}, {axis})", 1)
    raise Refused(f"the engine has no operation for {kind}")


def _nodes(low: Lowering, ref: Ref, template: Callable[..., str], count: int) -> Flow:
    kinds = [ref.op.inputs[i].dtype.name for i in range(count)]
    return combined(low, ref, template, [low.input(ref, i) for i in range(count)], kinds)


def _nested(function: str, text: str, axes: list[int]) -> str:
    for axis in axes:
        text = f"{function}({text}, {axis})"
    return text


def _axes(low: Lowering, ref: Ref, given: Any) -> list[int]:
    """Axes of a sample, from those of a tensor."""
    numpy: Any = optional("numpy")
    rank = ref.op.inputs[0].shape.rank
    if rank is None:
        raise Refused("an axis of a tensor whose rank is not known")
    axes = [int(axis) + (rank if axis < 0 else 0) - low.batched for axis in numpy.asarray(given).reshape(-1)]
    if any(axis < 0 for axis in axes):
        raise Refused("a result across the samples of a batch")
    return axes


def _reduced(low: Lowering, ref: Ref) -> Flow:
    kind = ref.op.type
    if kind in ("Mean", "Sum") and ref.tensor.dtype.name not in FLOATS:
        raise Refused(f"a mean or sum of {ref.tensor.dtype.name}")
    axes = _axes(low, ref, low.known(low.input(ref, 1), "an axis"))
    if not axes:
        return low.flow(low.input(ref, 0), "a reduction")
    keep = ", keep=true" if ref.attr("keep_dims") else ""
    return _nodes(low, ref, lambda a: f"{REDUCED[kind]}({a}, {', '.join(map(str, axes))}{keep})", 1)


def _joined(low: Lowering, ref: Ref) -> Flow:
    if ref.op.type == "ConcatV2":
        count, word = len(ref.op.inputs) - 1, "concat"
        (axis,) = _axes(low, ref, low.known(low.input(ref, count), "an axis"))
    else:
        count, word, axis = len(ref.op.inputs), "stack", ref.attr("axis")
        axis += (ref.tensor.shape.rank if axis < 0 else 0) - low.batched
        if axis < 0:
            raise Refused("a result across the samples of a batch")
    return _nodes(low, ref, lambda *parts: f"{word}({axis}, {', '.join(parts)})", count)


def _tiled(low: Lowering, ref: Ref) -> Flow:
    counts = low.known(low.input(ref, 1), "the multiples of tf.tile").tolist()
    if low.batched and counts.pop(0) != 1 or any(count > 8 for count in counts):
        raise Refused("tf.tile across samples, or with large multiples")

    def repeated(text: str) -> str:
        for axis, count in enumerate(counts):
            text = text if count == 1 else f"concat({axis}, {', '.join([text] * count)})"
        return text
    return _nodes(low, ref, repeated, 1)


def chosen(low: Lowering, ref: Ref, condition: Flow, one: Value, two: Value) -> Flow:
    """What tf.cond gives for a condition of the sample: the engine computes the branch that is taken."""
    return combined(low, ref, lambda c, a, b: f"select({c}, {a}, {b})", [condition, one, two],
                    ["bool", ref.tensor.dtype.name, ref.tensor.dtype.name])


def _sliced(low: Lowering, ref: Ref) -> Flow:
    begin, end, strides = (low.known(low.input(ref, i), "a slice").tolist() for i in (1, 2, 3))
    masks = {name: ref.attr(f"{name}_mask") for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")}
    words = []
    for i, (first, last, step) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << i
        if masks["ellipsis"] & bit:
            words.append("...")
        elif masks["new_axis"] & bit:
            words.append("None")
        elif masks["shrink_axis"] & bit:
            words.append(str(first))
        else:
            words.append(":".join(["" if masks["begin"] & bit else str(first), "" if masks["end"] & bit else str(last),
                                   *([] if step == 1 else [str(step)])]))
    if low.batched:
        if words[0] == ":":
            words = words[1:]
        elif words[0] != "...":
            raise Refused("a slice of a batch")
    return _nodes(low, ref, lambda a: f"{a}[{', '.join(words)}]" if words else a, 1)


def spelled(step: Step, field: str) -> dict[str, str]:
    """The argument of `eval` for a step of a field."""
    return {field: str(step.args[0]).replace(HERE, _name(field))}


def copied(flow: Flow, name: str) -> Step:
    """The step that makes a second field of one."""
    return Step("joint", (("copy", (flow.field, name), {}), (name, flow.field), (flow,)))
