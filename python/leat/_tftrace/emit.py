# SPDX-License-Identifier: Apache-2.0
"""Fields with steps become operations of a chain, in an order that keeps what belongs together."""
from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._data.bind import bind, split_text, split_words
from .._data.ops import OPS
from .._tfdata.chain import Built, Chain, Columns, Refused, leaves
from .expressions import copied
from .expressions import spelled as eval_words
from .values import Constant, Flow, Step, Value

if TYPE_CHECKING:
    from .graph import Ref
    from .lower import Lowering


def touched(chain: Chain, parsed: bool = True) -> set[str]:
    """Fields that operations of the chain have changed, or made by parsing."""
    found: set[str] = set()
    for each in chain.operations:
        if each.name in OPS and any(arg.name == "field" for arg in OPS[each.name].args):
            given = each.kwargs.get("field", ("image", *(word for word in each.args if isinstance(word, str))))
            found |= set(given.split(",") if isinstance(given, str) else given)
        if each.name in ("random_apply", "random_choice"):
            for text in each.args[1:]:
                for operation in split_text(str(text)):
                    found |= {word for key, words in split_words(operation) if key == "field" for word in words.split(",")}
        if each.name == "eval":
            found |= set(each.args[0])
        if parsed and each.name == "parse":
            found |= {str(word).rpartition(":")[0] for word in each.args}
    return found


def spelled(step: Step, field: str) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """A step as a method of leat.Dataset takes it."""
    if step.name == "eval":
        return "eval", (eval_words(step, field),), {}
    kwargs = {**step.kwargs, "field": field}
    if step.seed is not None and any(arg.name == "seed" for arg in OPS[step.name].args):
        kwargs["seed"] = step.seed
    return step.name, step.args, kwargs


def _number(value: Any) -> Any:
    return value.item() if value.ndim == 0 else tuple(value.tolist())


def simplified(steps: tuple[Step, ...], picture: bool) -> list[Step]:
    """Steps as the engine has them: casts and the arithmetic behind them are one operation."""
    made: list[Step] = []
    for step in steps:
        if step.name == "distorted":
            raise Refused("tf.image.sample_distorted_bounding_box without tf.image.resize behind it")
        if step.name != "linear":
            made.append(step)
            continue
        scale, offset = step.args
        if scale.ndim or offset.ndim:
            if made and made[-1].name == "cast" and made[-1].args == ("f32",) and not made[-1].kwargs:
                made.pop()
            if not picture:
                raise Refused("different numbers for the values of a field that is no picture")
            mean, std = _number(-offset / scale), _number(1 / scale)
            made.append(Step("normalize", (), {"mean": mean, "std": std}))
            continue
        numbers = {"scale": scale.item(), "offset": offset.item()}
        if made and made[-1].name == "cast" and made[-1].args == ("f32",) and not made[-1].kwargs:
            made[-1] = Step("cast", ("f32",), numbers)
        else:
            made.append(Step("rescale", (numbers["scale"], numbers["offset"])) if picture else Step("cast", ("f32",), numbers))
    return made


class Emission:
    """Collects the results of a function and makes the chain of them."""

    def __init__(self, lowering: Lowering) -> None:
        self.lowering, self.chain = lowering, lowering.chain
        self.flows: dict[str, Flow] = {}
        self.copies: dict[str, str] = {}  # a second field, and the one that it is a copy of
        self.fields: tuple[str, ...] = ()  # that are worked on

    def output(self, value: Value, ref: Ref) -> str:
        """The name of the field that has this result."""
        if isinstance(value, Constant):
            value = self._repeated(value, ref)
        if not isinstance(value, Flow):
            raise Refused(f"a result that is a {type(value).__name__.lower()}")
        if value.probed and ref.tensor.shape.is_fully_defined():
            raise Refused("pictures whose sizes are in their records, made to one size")
        known = self.flows.setdefault(value.field, value)
        if [step.words() for step in known.steps] == [step.words() for step in value.steps]:
            return value.field
        return self._second(value)

    def _repeated(self, value: Constant, ref: Ref) -> Flow:
        from .._base.arrays import optional

        numpy: Any = optional("numpy")
        if not isinstance(self.chain.source, Columns) or self.chain.batched:
            raise Refused("a result that is the same for all samples")
        rows, name = self.lowering.rows, self.lowering.fresh("made")
        array = numpy.asarray(value.value)
        if array.dtype.kind in "OSU":
            array = numpy.asarray(array.tolist(), object)
        self.lowering.arrays[name] = lambda: numpy.broadcast_to(array, (rows, *array.shape))
        return Flow(name, ref.tensor.dtype.name, array.shape)

    def _second(self, value: Flow) -> str:
        """A field of its own for a second result of one field."""
        for name, flow in self.flows.items():
            if self.copies.get(name) == value.field and flow.steps[-len(value.steps):] == value.steps:
                return name
        source = self.chain.source
        arrays = {**(source.arrays if isinstance(source, Columns) else {}), **self.lowering.arrays}
        name = self.lowering.fresh(value.field)
        drawn = any(step.random and step.seed is None for step in value.steps)
        if value.field in arrays and value.field not in touched(self.chain) and not drawn:
            self.lowering.arrays[name] = arrays[value.field]  # a column may be given twice for nothing
            self.flows[name] = replace(value, field=name)
        else:
            self.flows[name] = self._copied(value, name)
            self.lowering.made.add(name)
        self.copies[name] = value.field
        return name

    def _copied(self, value: Flow, name: str) -> Flow:
        """The flow as another field, which is copied where both results are still the same."""
        first = self.flows[value.field].steps
        same = 0
        while same < min(len(first), len(value.steps)) and first[same] == value.steps[same]:
            same += 1
        if any(step.name == "joint" for step in value.steps[same:]):
            raise Refused("results that are drawn together and used apart")
        before = replace(value, steps=value.steps[:same])
        return Flow(name, value.dtype, value.shape, (copied(before, name), *value.steps[same:]))

    def finished(self, structure: Any, specs: dict[str, Any]) -> Chain:
        """The chain with the operations of all fields behind it."""
        chain = self.chain
        source = chain.source
        ordered = self._ordered()
        if isinstance(source, Columns):
            self._forget()
            source = replace(source, arrays={**source.arrays, **self.lowering.arrays},
                             files={**source.files, **self.lowering.files})
        chain = chain.with_(source=source)
        if self.lowering.parses:
            words = [text for text in self.lowering.parses.values()]
            chain = self._added(chain, "parse", tuple(words), {"from_": self.lowering.record})
        for name, args, kwargs in ordered:
            chain = self._added(chain, name, args, kwargs)
        chain = self._decoding(chain)
        if isinstance(source, Built) and set(self.chain.specs) | set(self.fields) != set(specs):
            chain = self._added(chain, "select", tuple(dict.fromkeys(leaves(structure))), {})
        elif set(self.fields) - set(specs):
            chain = self._added(chain, "select", tuple(dict.fromkeys(leaves(structure))), {})
        kept = {name: spec for name, spec in chain.specs.items() if name in specs}
        return chain.with_(structure=structure, specs={**kept, **specs})

    def _forget(self) -> None:
        """Leaves out columns that were needed only on the way to others."""
        low = self.lowering
        used = {*self.fields, *low.files.values(), *self.copies.values()}
        for name in [name for name in low.arrays if name not in used]:
            del low.arrays[name]
        kept = {number for name, number in low.folded.items() if name in used}
        low.fold.refs = [ref if number in kept else None for number, ref in enumerate(low.fold.refs)]

    def _decoding(self, chain: Chain) -> Chain:
        """The transform of JPEG files, which one chain has for all of them."""
        wanted = self.lowering.transforms
        had = {each.kwargs["accuracy"] for each in chain.operations if "accuracy" in each.kwargs}
        if len(wanted | had) > 1:
            raise Refused("JPEG files decoded by INTEGER_ACCURATE beside others that are not")
        return chain.then("options", accuracy=min(wanted)) if wanted - had else chain

    def _added(self, chain: Chain, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Chain:
        return chain.on_samples(name, *args, **kwargs)

    def _ordered(self) -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
        """The steps of all fields. A step of several fields is done once, when all of them have come to it."""
        waiting = self._waiting()
        made: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        while any(waiting.values()):
            before = len(made)
            for name, steps in waiting.items():
                while steps and steps[0].name != "joint":
                    made.append(spelled(steps.pop(0), name))
            for name, steps in waiting.items():
                joint = steps[0] if steps and steps[0].name == "joint" else None
                if joint and all(waiting[other] and waiting[other][0] is joint for other in joint.args[1]):
                    made.append(joint.args[0])
                    for other in joint.args[1]:
                        waiting[other].pop(0)
            if len(made) == before:
                raise Refused("results that are drawn together and used apart")
        return made

    def _waiting(self) -> dict[str, list[Step]]:
        """The steps of each field, also of those that others are made of."""
        longest: dict[str, Flow] = {}
        inserted: dict[str, list[tuple[int, Step]]] = {}

        def need(flow: Flow) -> None:
            known = longest.setdefault(flow.field, flow)
            short, long = sorted((known, flow), key=lambda each: len(each.steps))
            if long.steps[:len(short.steps)] != short.steps:
                raise Refused("two different results of one field")
            longest[flow.field] = long
            for step in flow.steps:
                for base in step.args[2] if step.name == "joint" and len(step.args) > 2 else ():
                    places = inserted.setdefault(base.field, [])
                    if not any(known is step for _, known in places):
                        places.append((len(base.steps), step))
                        need(base)
        for each in list(self.flows.values()):
            need(each)
        if any(longest[name].steps != flow.steps for name, flow in self.flows.items()):
            raise Refused("a result that is also used with more operations behind it")
        self.fields = tuple(longest)
        waiting = {}
        for name, flow in longest.items():
            steps = list(flow.steps)
            for place, step in sorted(inserted.get(name, ()), key=lambda each: -each[0]):
                steps.insert(place, step)
            waiting[name] = simplified(tuple(steps), _picture(flow))
        return waiting


def _picture(flow: Flow) -> bool:
    return flow.shape is not None and len(flow.shape) == 3


def text(steps: tuple[Step, ...], flow: Flow) -> str:
    """Steps of a field as pipeline text, for random_apply."""
    made = []
    for step in simplified(steps, _picture(flow)):
        if step.name == "joint":
            raise Refused("a condition inside of a condition")
        name, args, kwargs = spelled(step, flow.field)
        made.append(bind(name, (), dict(args[0])) if name == "eval" else bind(name, args, kwargs))
    return " | ".join(made)
