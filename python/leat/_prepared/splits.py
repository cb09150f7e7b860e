# SPDX-License-Identifier: Apache-2.0
"""The words of TFDS for parts of a split: 'train', 'train[:80%]', 'train[10:20]', 'train[2shard]', 'train+test'."""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .._base.errors import ArgumentError

_NAME = re.compile(r"([\w-]+)(?:\[([\w%:.-]+)\])?")
_BOUND = re.compile(r"(?:(-?[\d_.]+)(%|shard)?)?")


class Part(NamedTuple):
    """Samples `begin` to `end` of a split."""

    split: str
    begin: int
    end: int


def _refused(text: str) -> ArgumentError:
    return ArgumentError(f"split {text!r} is not understood: write 'train', 'train[:80%]', 'train[5:9]', 'train+test'")


def _number(text: str, unit: str, whole: str) -> float:
    try:
        return float(text) if unit == "%" else int(text)
    except ValueError:
        raise _refused(whole) from None


def _place(bound: float | None, unit: str, lengths: Sequence[int], default: int) -> int:
    """A bound as a number of samples, which may be negative: counted from the end."""
    if bound is None:
        return default
    total = sum(lengths)
    if unit == "%":
        if abs(bound) > 100:
            raise ArgumentError(f"percents of a split go from -100 to 100, not {bound:g}")
        return round(bound * total / 100.0)  # TFDS's rounding, with halves to the even number
    if unit == "shard":
        return sum(lengths[:int(bound)])
    return int(bound)


def _cut(split: str, begin: float | None, end: float | None, unit: str, lengths: Sequence[int]) -> Part:
    total = sum(lengths)
    if unit == "shard" and end is not None and end <= 0:
        end += len(lengths)
    first, last = _place(begin, unit, lengths, 0), _place(end, unit, lengths, total)
    if abs(first) > total or abs(last) > total:
        raise ArgumentError(f"split '{split}' has {total} samples, and {first} to {last} are wanted")
    first, last = (place + total if place < 0 else place for place in (first, last))
    return Part(split, first, max(first, last))


def _one(text: str, splits: Mapping[str, Sequence[int]]) -> list[Part]:
    found = _NAME.fullmatch(text)
    if found is None:
        raise _refused(text)
    name, chosen = found.groups()
    if name == "all" and chosen is None and "all" not in splits:
        return [Part(split, 0, sum(lengths)) for split, lengths in splits.items()]
    if name not in splits:
        raise ArgumentError(f"there is no split {name!r}: there are {', '.join(splits)}")
    if chosen is None:
        return [_cut(name, None, None, "", splits[name])]
    bounds = [_BOUND.fullmatch(bound) for bound in chosen.split(":")]
    if not 1 <= len(bounds) <= 2 or None in bounds or not any(bound and bound[0] for bound in bounds):
        raise _refused(text)
    pairs = [(bound[1], bound[2] or "") for bound in bounds if bound is not None]
    unit = next((each for _, each in pairs if each), "")
    numbers = [None if value is None else _number(value, unit, text) for value, _ in pairs]
    if len(numbers) == 1:
        if unit != "shard" or numbers[0] is None:
            raise ArgumentError(f"split {text!r}: one number counts shards, 'train[0shard]'; samples are 'train[0:1]'")
        numbers.append(numbers[0] + 1)
    return [_cut(name, numbers[0], numbers[1], unit, splits[name])]


def parts_of(split: Any, splits: Mapping[str, Sequence[int]]) -> list[Part]:
    """The parts that a split of tfds.load means. splits: for each the numbers of samples in its shards."""
    if isinstance(split, str):
        return [part for text in re.split(r"\s*\+\s*", split) for part in _one(text, splits)]
    if hasattr(split, "left") and hasattr(split, "right"):  # the sum of two tfds.core.ReadInstructions
        return parts_of(split.left, splits) + parts_of(split.right, splits)
    name = getattr(split, "split_name", None)
    if not isinstance(name, str) or getattr(split, "rounding", "closest") != "closest":
        raise ArgumentError(f"split {split!r:.60} is not understood: give a text such as 'train[:80%]'")
    if name not in splits:
        raise ArgumentError(f"there is no split {name!r}: there are {', '.join(splits)}")
    return [_cut(name, split.from_, split.to, "" if split.unit == "abs" else split.unit, splits[name])]


def pieces(part: Part, lengths: Sequence[int]) -> list[tuple[int, int, int]]:
    """Which samples of which shards: (number of the shard, samples to skip, samples to take)."""
    found, first = [], 0
    for shard, length in enumerate(lengths):
        begin, end = max(part.begin - first, 0), min(part.end - first, length)
        if begin < end:
            found.append((shard, begin, end - begin))
        first += length
    return found
