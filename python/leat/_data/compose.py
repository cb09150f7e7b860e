# SPDX-License-Identifier: Apache-2.0
"""Datasets out of one dataset (split, kfold), and operations that only some samples get (random_apply, random_choice)."""
from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self, TypeAlias, overload

from .._base.errors import ArgumentError
from .bind import bind, near
from .ops import OPS, Operations

PARTS = ("train", "validation", "test")


class Chances(Operations):
    """Operations that a sample gets by chance: a part of Dataset, and of what its functions get."""

    def random_apply(self, p: float, transform: Transform, *, seed: int | None = None) -> Self:
        """Applies operations on pictures to some samples, each with probability p; the others stay as they are.

            ds.random_apply(0.5, lambda d: d.gaussian_blur(3).adjust_brightness(0.2))

        p: how likely
        transform: a function that adds operations to what it is given, or their text. They keep size and type.
        seed: operations with equal seeds draw equally, and so do those of their texts (default: each has its own draws)
        """
        return self._add("random_apply", (p, _text("random_apply", transform)), {} if seed is None else {"seed": seed})

    def random_choice(self, transforms: Sequence[Transform], weights: Sequence[float] | None = None, *,
                      seed: int | None = None) -> Self:
        """Applies one of several chains of operations on pictures, drawn for each sample.

            ds.random_choice([lambda d: d.gaussian_blur(3), lambda d: d.adjust_gamma(2)], weights=(2, 1))

        transforms: functions that add operations to what they are given, or their texts. They keep size and type.
        weights: how likely each of them is (default: all alike)
        seed: operations with equal seeds draw equally, and so do those of their texts (default: each has its own draws)
        """
        if callable(transforms) or isinstance(transforms, str):
            raise TypeError("random_choice() takes a list: random_choice([lambda d: ..., lambda d: ...])")
        texts = [_text("random_choice", transform) for transform in transforms]
        named = {"weights": None if weights is None else tuple(weights), "seed": seed}
        return self._add("random_choice", tuple(texts), {name: value for name, value in named.items() if value is not None})


class Recording(Chances):
    """What the functions of random_apply and random_choice get: it has the operations on pictures, and notes them."""

    def __init__(self, around: str, operations: tuple[str, ...] = ()) -> None:
        self._around = around
        self._operations = operations

    def _add(self, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> Self:
        if OPS[name].kind != "image" and name != "cast":
            raise ArgumentError(f"{self._around}(): {name}() is not an operation on pictures, which some samples can do "
                                f"without: write it before {self._around}() or behind")
        return type(self)(self._around, (*self._operations, bind(name, args, kwargs)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        known = [op for op in OPS if OPS[op].kind == "image"]
        raise AttributeError(f"{self._around}() has no operation '{name}' on pictures{near(name, known)}", name=name,
                             obj=self)

    @property
    def text(self) -> str:
        """The operations as the pipeline text has them."""
        return " | ".join(self._operations)


Transform: TypeAlias = Callable[[Recording], Recording] | str


def _text(around: str, transform: object) -> str:
    if isinstance(transform, str):
        return transform
    if not callable(transform):
        raise TypeError(f"{around}() takes a function such as lambda d: d.gaussian_blur(3), or a text, not "
                        f"{type(transform).__name__}")
    made = transform(Recording(around))
    if not isinstance(made, Recording):
        raise TypeError(f"{around}(): the function must return what it was given with operations, as in "
                        f"lambda d: d.gaussian_blur(3); it returned {type(made).__name__}")
    if not made.text:
        raise ArgumentError(f"{around}(): the function adds no operation")
    return made.text


class Parts(Operations):
    """Parts of a dataset that have no sample in common: a part of Dataset."""

    @overload
    def split(self, part: Literal["train", "validation", "test"], /, **more: Any) -> Self: ...

    @overload
    def split(self, share: float, /, *shares: float, **more: Any) -> tuple[Self, ...]: ...

    def split(self, first: Any = None, /, *others: Any, **more: Any) -> Any:
        """Divides the samples: two or three datasets that have no sample in common.

            train, val = ds.split(0.8, stratify=True)
            train, val, test = ds.split(0.8, 0.1, 0.1, seed=3)
            train = ds.split("train", fractions=(0.8, 0.2))     # one part by its name, as the text says it

        share: of each part; one number alone leaves the rest to a second part. Or the name of a part
        stratify: keep the shares in every class (default False)
        by: "random", "hash" (stable when files are added), "order" (the first are for the first part), "keras_first",
            "keras_last" (default "random")
        group: a field whose equal values stay together; "dir": files of one folder do
        field: the classes of stratify (default "label")
        seed: of the split alone (default 0): no other seed changes which samples are in a part
        """
        first = more.pop("part", None) if first is None else first
        parts = () if first is None else (first, *others)
        if parts and isinstance(parts[0], str):
            return self._add("split", parts, more)
        _check_samples(self, "split")
        if not 1 <= len(parts) <= len(PARTS):
            raise TypeError("split() takes the shares of two or three parts: split(0.8), split(0.8, 0.1, 0.1)")
        if any(isinstance(x, bool) or not isinstance(x, numbers.Real) or not 0 <= float(x) <= 1 for x in parts):
            raise ArgumentError(f"split(): shares are numbers from 0 to 1, not {', '.join(map(str, parts))}")
        shares = (float(parts[0]), _rest(parts[0])) if len(parts) == 1 else tuple(map(float, parts))
        for word in ("fractions", "fold"):
            if word in more:
                raise TypeError(f"split(): give the shares, or {word}= and the name of a part, not both")
        return tuple(self._add("split", (name,), {"fractions": shares, **more}) for name in PARTS[:len(shares)])

    def kfold(self, k: int, **more: Any) -> list[tuple[Self, Self]]:
        """k pairs of datasets for cross-validation: every sample is in the second one of exactly one pair.

            for train, val in ds.kfold(5, stratify=True):
                ...

        k: how many folds; they differ by one sample at the most
        stratify, by, group, field, seed: as in split()
        """
        _check_samples(self, "kfold")
        if k < 2:
            raise ArgumentError(f"kfold(): there must be 2 folds or more, not {k}")
        folds = [{"fold": f"{i}/{k}", **more} for i in range(k)]
        return [(self._add("split", ("train",), fold), self._add("split", ("validation",), fold)) for fold in folds]


def _rest(share: float) -> float:
    """What is left of 1, without the digits that rounding adds: 0.2 beside 0.8."""
    return round(1 - float(share), 12)


def _check_samples(dataset: Any, name: str) -> None:
    if dataset.batched and not dataset._items_are_batches:
        raise ArgumentError(f"{name}() divides samples: write it before batch()")
