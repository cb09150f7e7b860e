# SPDX-License-Identifier: Apache-2.0
"""What a chain of tf.data verbs has become for the engine, as far as it could be lowered.

A chain is a value. Verbs and functions make new chains of it, or refuse. Nothing is opened or read before build().
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .._base.arrays import Ragged, optional
from .._data.combine import Combination, _made
from .._data.dataset import Dataset
from .._sources.files import from_files
from .._sources.sources import from_arrays


class Refused(Exception):
    """The engine does not do this; TensorFlow does. reason is one line; where is `file:line` of the user's, or ""."""

    def __init__(self, reason: str, where: str = "") -> None:
        super().__init__(reason)
        self.reason, self.where = reason, where


@dataclass(frozen=True)
class Columns:
    """A source whose samples are rows of arrays in memory.

    arrays    by the name of the field. A value is a NumPy array with `rows` rows (strings: an array of objects, bytes), or
              a function without arguments that gives one, called when the chain is built
    rows      of every array, before `keep`
    files     fields that hold the bytes of files: the name of the field, and the column with the paths
    keep      functions without arguments that give an array of `rows` booleans: rows that a filter has left
    """

    arrays: Mapping[str, Any]
    rows: int
    files: Mapping[str, str] = field(default_factory=dict)
    keep: tuple[Callable[[], Any], ...] = ()

    def array(self, name: str) -> Any:
        """The NumPy array of a column."""
        found = self.arrays[name]
        return found() if callable(found) else found

    def sliced(self, begin: int | None, end: int | None, step: int = 1) -> Columns:
        """Some of the rows, as a slice of Python has them."""
        part = slice(begin, end, step)

        def cut(array: Any) -> Any:
            return (lambda: array()[part]) if callable(array) else array[part]
        return replace(self, arrays={name: cut(array) for name, array in self.arrays.items()},
                       rows=len(range(self.rows)[part]))

    def renamed(self, names: Mapping[str, str]) -> Columns:
        """The same columns, some with other names."""
        def new(name: str) -> str:
            return names.get(name, name)
        return replace(self, arrays={new(name): array for name, array in self.arrays.items()},
                       files={new(name): new(column) for name, column in self.files.items()})

    def build(self, wanted: set[str]) -> Dataset:
        """A leat.Dataset of the wanted fields."""
        numpy: Any = optional("numpy")
        kept: Any = slice(None)
        for each in self.keep:
            mask = numpy.asarray(each(), bool)
            kept = mask if isinstance(kept, slice) else kept & mask
        if not wanted & (set(self.arrays) | set(self.files)):
            wanted = {next(iter(self.arrays))}  # there are as many samples, whatever they are
        plain = {name: _packed(self.array(name)[kept]) for name in self.arrays if name in wanted}
        parts: list[tuple[str, Dataset]] = [("", from_arrays(plain, layout="nhwc"))] if plain else []
        for name, column in self.files.items():
            if name in wanted:
                paths = [path.decode("utf-8", "surrogateescape") if isinstance(path, bytes) else str(path)
                         for path in self.array(column)[kept].tolist()]
                parts.append((name, from_files(paths, decode=False)))
        if len(parts) == 1 and parts[0][0] in ("", "image"):
            return parts[0][1]
        return _made("zip", Combination("zip", [part for _, part in parts], [name for name, _ in parts]))


def _packed(array: Any) -> Any:
    """Strings as one piece of memory, which from_arrays would otherwise make anew for every data set."""
    return array if isinstance(array, Ragged) or array.dtype.kind != "O" else array.tolist()


@dataclass(frozen=True)
class Built:
    """A source that is a leat.Dataset already, with the fields that the chain's specs name: TFRecords, zip, ..."""

    dataset: Dataset


@dataclass(frozen=True)
class Operation:
    """A method of leat.Dataset and its arguments."""

    name: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


# Operations that may stand between batch and a per-sample operation that is written in front of batch instead of behind it:
# none of them keeps, or chooses by position, what that operation makes.
TRANSPARENT = {"prefetch", "repeat", "options", "configure"}

# Operations that leave samples as they are.
PLAIN = TRANSPARENT | {"batch", "padded_batch", "unbatch", "shuffle", "take", "skip", "shard", "cache", "select", "interleave"}


@dataclass(frozen=True)
class Chain:
    """A source, and operations of leat.Dataset behind it.

    structure  of an element: nested tuples and dicts whose leaves are names of fields; a name may stand in it twice
    specs      tf.TensorSpec of each field of one sample, without the axis of the batch
    batched    elements are batches; batch_size and drop_remainder are those of the batch
    seed       that the chain gives the engine, None: TensorFlow's global seed, or one that is drawn
    cardinality  elements of an iteration, as tf.data counts: -1 without end, -2 unknown
    asserted   beginnings of this chain, and how many elements the program says they have
    limit      elements after which an iteration ends, None: where the engine's data ends
    """

    source: Columns | Built
    structure: Any
    specs: Mapping[str, Any]
    operations: tuple[Operation, ...] = ()
    batched: bool = False
    batch_size: int | None = None
    drop_remainder: bool = False
    seed: int | None = None
    cardinality: int = -2
    limit: int | None = None
    asserted: tuple[tuple[Chain, int], ...] = ()

    # -------------------------------------------------------------------------------------- changing

    def then(self, name: str, *args: Any, **kwargs: Any) -> Chain:
        """The chain with one more operation behind it."""
        return replace(self, operations=(*self.operations, Operation(name, args, kwargs)))

    def on_samples(self, name: str, *args: Any, **kwargs: Any) -> Chain:
        """The same for an operation on single samples: behind `batch`, it goes in front of it."""
        if not self.batched:
            return self.then(name, *args, **kwargs)
        at = max(i for i, each in enumerate(self.operations) if each.name in ("batch", "padded_batch"))
        for each in self.operations[at + 1:]:
            if each.name not in TRANSPARENT:
                raise Refused(f"a function behind {each.name}() behind batch() is TensorFlow's")
        added = Operation(name, args, kwargs)
        return replace(self, operations=(*self.operations[:at], added, *self.operations[at:]))

    @property
    def works(self) -> bool:
        """Whether samples are changed on their way, in every epoch, and not only ordered and put together. What stands in front of a
        cache of arrays in memory is done once: after that TensorFlow puts batches together sooner than it takes ready ones."""
        names = [each.name for each in self.operations]
        if isinstance(self.source, Columns) and not self.source.files and "cache" in names:
            names = names[names.index("cache"):]
        return any(name not in PLAIN for name in names)

    @property
    def channels_first(self) -> bool:
        """Whether pictures leave with channels first. Operations and specs then see them in different orders."""
        return any(each.name == "options" and each.kwargs.get("layout") == "nchw" for each in self.operations)

    @property
    def heavy(self) -> bool:
        """Whether a sample is so much work that several threads should share it from the first batch on."""
        return any("decode" in each.name and each.name != "decode_raw" for each in self.operations) or (
            isinstance(self.source, Columns) and bool(self.source.files))

    def with_(self, **changes: Any) -> Chain:
        return replace(self, **changes)

    def fresh(self, name: str = "x") -> str:
        """A name that no field has."""
        taken = set(self.specs)
        if isinstance(self.source, Columns):
            taken |= set(self.source.arrays) | set(self.source.files)
        return next(word for word in numbered_names(name) if word not in taken)

    # --------------------------------------------------------------------------------------- looking

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the structure, from left to right."""
        return tuple(leaves(self.structure))

    def element_spec(self) -> Any:
        """The structure with the tf.TensorSpec of each leaf, with the axis of the batch."""
        def spec(name: str) -> Any:
            one = self.specs[name]
            if not self.batched:
                return one
            size = self.batch_size if self.drop_remainder else None
            return type(one)(type(one.shape)([size, *one.shape]), one.dtype) if one.shape.rank is not None else one
        return mapped(self.structure, spec)

    def build(self) -> Dataset:
        """The leat.Dataset that gives the elements in this structure."""
        for beginning, n in self.asserted:
            found = beginning.build().samples
            if found != n:
                raise Refused(f"the data set has {found} elements, and the program says {n}")
        names = set(self.fields) | {word for each in self.operations for word in _mentioned(each, self)}
        made: Any = self.source.build(names) if isinstance(self.source, Columns) else self.source.dataset
        if self.seed is not None:
            made = made.options(seed=self.seed)
        for each in self.operations:
            made = getattr(made, each.name)(*each.args, **each.kwargs)
        built: Dataset = made._with(layout=self.structure)
        return built


def _mentioned(operation: Operation, chain: Chain) -> Iterator[str]:
    """Columns that an operation takes without being in the structure."""
    if not isinstance(chain.source, Columns):
        return
    known = set(chain.source.arrays) | set(chain.source.files)
    for value in (*operation.args, *operation.kwargs.values()):
        if callable(value):  # a function of Python may ask for any
            yield from known
        if isinstance(value, dict):  # expressions of eval
            words: Any = re.findall(r"\w+", " ".join(value.values()))
        elif isinstance(value, str):
            words = re.sub(r".*?field=(\S+)[^|]*", r"\1 ", value).replace(",", " ").split()
        else:
            words = value if isinstance(value, (list, tuple)) else ()
        yield from (word for word in words if isinstance(word, str) and word in known)


def numbered_names(name: str) -> Iterator[str]:
    """name, name2, name3, ..."""
    yield name
    number = 2
    while True:
        yield f"{name}{number}"
        number += 1


def leaves(structure: Any) -> Iterator[Any]:
    """The leaves of nested tuples and dicts, in the order of tf.nest.flatten: keys are sorted."""
    if isinstance(structure, tuple):
        for part in structure:
            yield from leaves(part)
    elif isinstance(structure, dict):
        for key in sorted(structure):
            yield from leaves(structure[key])
    else:
        yield structure


def mapped(structure: Any, function: Callable[[Any], Any]) -> Any:
    """The structure with every leaf replaced."""
    if isinstance(structure, tuple):
        return tuple(mapped(part, function) for part in structure)
    if isinstance(structure, dict):
        return {key: mapped(part, function) for key, part in structure.items()}
    return function(structure)
