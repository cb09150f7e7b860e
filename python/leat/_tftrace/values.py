# SPDX-License-Identifier: Apache-2.0
"""What a tensor of a traced function is to the engine."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .._base.arrays import LEAT_NAMES


@dataclass(frozen=True)
class Constant:
    """The same for all samples."""

    value: Any  # a NumPy array


@dataclass(frozen=True)
class Step:
    """An operation of the engine on one field. `random`: it draws; `seed`: the op seed that the program gave."""

    name: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    random: bool = False
    seed: int | None = None

    def words(self) -> tuple[Any, ...]:
        return self.name, self.args, tuple(sorted(self.kwargs.items())), self.seed


@dataclass(frozen=True)
class Flow:
    """A field of the engine, and what has been done to it since the function began.

    dtype   TensorFlow's name of the type that the engine has now
    shape   of one sample, None for sides that differ
    probed  the shape is that of the first record: the function says only that records say it
    """

    field: str
    dtype: str
    shape: tuple[int | None, ...] | None
    steps: tuple[Step, ...] = ()
    probed: bool = False

    def then(self, name: str, *args: Any, dtype: str | None = None, shape: Any = False, random: bool = False,
             seed: int | None = None, **kwargs: Any) -> Flow:
        step = Step(name, args, kwargs, random, seed)
        return replace(self, steps=(*self.steps, step), dtype=dtype or self.dtype,
                       shape=self.shape if shape is False else shape)


@dataclass(frozen=True)
class Draw:
    """One random number for each sample: uniform in [low, high), or a whole number of it."""

    low: float
    high: float
    seed: int | None
    whole: bool
    node: int


@dataclass(frozen=True)
class Chance:
    """A condition that holds with this probability, by a draw of its own."""

    p: float
    seed: int | None
    node: int


@dataclass(frozen=True)
class Noise:
    """A normally distributed number for each value of a sample; like: the shape, or the field whose shape it has."""

    mean: float
    deviation: float
    seed: int | None
    like: Any
    node: int


@dataclass(frozen=True)
class Parsed:
    """Values of a feature without their places: VarLenFeature before it is made dense."""

    flow: Flow


Value = Constant | Flow | Draw | Chance | Noise | Parsed


def leat_dtype(name: str) -> str | None:
    """The engine's name of a type of TensorFlow, None if it has none."""
    return "bytes" if name == "string" else LEAT_NAMES.get(name)
