# SPDX-License-Identifier: Apache-2.0
"""tf.cond and a Python `if` on a tensor: with a drawn condition they are random_apply."""
from __future__ import annotations

from .._tfdata.chain import Refused
from .emit import text
from .expressions import chosen, combined
from .graph import Ref
from .lower import Lowering, node
from .values import Chance, Constant, Flow, Step, Value


@node("If", "StatelessIf")
def branch(low: Lowering, ref: Ref) -> Value:
    key = (id(ref.frame), id(ref.op))
    if key not in low.branches:
        low.branches[key] = _outputs(low, ref)
    index: int = ref.tensor.value_index
    return low.branches[key][index]


def _outputs(low: Lowering, ref: Ref) -> list[Value]:
    """The values of all outputs of a condition."""
    condition = low.input(ref, 0)
    then, other = (low.trace.callee(ref, name, skip=1) for name in ("then_branch", "else_branch"))
    if isinstance(condition, Constant):
        taken = then if condition.value else other
        return [low.value(Ref(taken, tensor)) for tensor in taken.graph.outputs]
    pairs = [(low.value(Ref(then, one)), low.value(Ref(other, two)))
             for one, two in zip(then.graph.outputs, other.graph.outputs, strict=True)]
    if isinstance(condition, Flow):
        return [one if one == two else chosen(low, Ref(ref.frame, tensor), condition, one, two)
                for tensor, (one, two) in zip(ref.op.outputs, pairs, strict=True)]
    if not isinstance(condition, Chance):
        raise Refused("a condition that differs from sample to sample")
    low.drawn(condition, ref)
    try:
        return applied(condition, pairs)
    except Refused:
        if len([one for one, two in pairs if one != two]) != 1:  # one draw for one expression
            raise
        return [one if one == two else selected(low, Ref(ref.frame, tensor), condition, one, two)
                for tensor, (one, two) in zip(ref.op.outputs, pairs, strict=True)]


def selected(low: Lowering, ref: Ref, condition: Chance, one: Value, two: Value) -> Value:
    """One of two results, by an expression: the engine computes the one that is taken."""
    seed = "" if condition.seed is None else f", seed={condition.seed}"
    drawn = f"(uniform(0, 1{seed}) < {condition.p!r})"
    return combined(low, ref, lambda a, b: f"select({drawn}, {a}, {b})", [one, two], [ref.tensor.dtype.name] * 2, drawn=True)


def applied(condition: Chance, pairs: list[tuple[Value, Value]]) -> list[Value]:
    """Results of which the first of each pair is taken with a probability, and the second otherwise."""
    turned = [_reversed(one, two) for one, two in pairs]
    if True in turned and False in turned:
        raise Refused("a condition with different operations in both branches")
    p = 1 - condition.p if True in turned else condition.p
    changed: list[tuple[Flow, Flow]] = []
    for one, two in pairs:
        before, after = (one, two) if True in turned else (two, one)
        if before != after and isinstance(before, Flow) and isinstance(after, Flow):
            changed.append((before, after))
    if not changed:
        return [one for one, _ in pairs]
    if any(step.name == "eval" for before, after in changed for step in after.steps[len(before.steps):]):
        raise Refused("a drawn condition with arithmetic")  # it is no operation on pictures: see `selected`
    words = [text(after.steps[len(before.steps):], after) for before, after in changed]
    fields = tuple(before.field for before, _ in changed)
    if len(set(fields)) != len(fields):
        raise Refused("a condition with two results of one field")
    seed = {} if condition.seed is None else {"seed": condition.seed}
    joint = Step("joint", (("random_apply", (p, " | ".join(words)), seed), fields), {}, True, condition.seed)
    results: list[Value] = []
    for one, two in pairs:
        before = two if True not in turned else one
        if one == two or not isinstance(before, Flow):
            results.append(one)
        else:
            results.append(Flow(before.field, before.dtype, before.shape, (*before.steps, joint)))
    return results


def _reversed(one: Value, two: Value) -> bool | None:
    """Whether the second of two results is the first with more steps; None if they are the same."""
    if one == two:
        return None
    if not isinstance(one, Flow) or not isinstance(two, Flow) or one.field != two.field:
        raise Refused("a condition whose branches give different fields")
    if one.dtype != two.dtype or (one.shape != two.shape and None not in (one.shape, two.shape)):
        raise Refused("a condition whose branches differ in type or shape")
    if two.steps == one.steps[:len(two.steps)]:
        return False
    if one.steps == two.steps[:len(one.steps)]:
        return True
    raise Refused("a condition with different operations in both branches")


@node("Select", "SelectV2")
def select(low: Lowering, ref: Ref) -> Value:
    condition = low.input(ref, 0)
    if not isinstance(condition, Chance):
        raise Refused("tf.where with a condition that differs from sample to sample")
    low.drawn(condition, ref)
    one, two = low.input(ref, 1), low.input(ref, 2)
    try:
        (result,) = applied(condition, [(one, two)])
    except Refused:
        return selected(low, ref, condition, one, two)
    return result
