# SPDX-License-Identifier: Apache-2.0
"""Compares what a program found under TensorFlow with what it found under leat.

The name of a result says how:

    exact.*   equal: types, shapes, order, every bit
    close.*   the same types and shapes; numbers differ by at most CLOSE of the largest value
    stat.*    (value, tolerance): of something random; both values differ by at most the tolerance
    raises    equal: an exception that the program caught
"""
from typing import Any

import numpy as np

CLOSE = 2e-5  # a few roundings of f32 in the last place; decoded pixels and bilinear sizes are equal
CLOSE_F16 = 1e-3  # the same of f16


def differences(theirs: dict[str, Any] | None, ours: dict[str, Any] | None) -> list[str]:
    """One line for each result that differs."""
    if theirs is None or ours is None:
        return ["the program did not end"]
    if list(theirs) != list(ours):
        return [f"other results: {list(theirs)}, {list(ours)}"]
    found = []
    for name, value in theirs.items():
        kind = name.partition(".")[0]
        if kind in ("exact", "raises"):
            trouble = compare(value, ours[name], 0)
        elif kind == "close":
            trouble = compare(value, ours[name], CLOSE)
        elif kind == "stat":
            trouble = statistic(value, ours[name])
        else:
            trouble = "a name that says neither exact, close, stat nor raises"
        found += [f"{name}: {trouble}"] if trouble else []
    return found


def statistic(theirs: Any, ours: Any) -> str:
    (value, tolerance), (other, _) = theirs, ours
    apart = np.abs(np.asarray(value, float) - np.asarray(other, float)).max()
    return "" if apart <= tolerance else f"{short(value)} under TensorFlow, {short(other)} under leat, {tolerance} is allowed"


def compare(theirs: Any, ours: Any, bound: float) -> str:
    """"" or what differs first."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        if list(theirs) != list(ours):
            return f"keys {list(theirs)}, {list(ours)}"
        return next((f"[{key!r}] {trouble}" for key in theirs if (trouble := compare(theirs[key], ours[key], bound))), "")
    if isinstance(theirs, list) and isinstance(ours, list):
        if len(theirs) != len(ours):
            return f"{len(theirs)} items under TensorFlow, {len(ours)} under leat"
        return next((f"[{i}] {trouble}" for i, (a, b) in enumerate(zip(theirs, ours)) if (trouble := compare(a, b, bound))), "")
    if type(theirs) is not type(ours):
        return f"{type(theirs).__name__} {short(theirs)} under TensorFlow, {type(ours).__name__} {short(ours)} under leat"
    if isinstance(theirs, np.ndarray):
        return arrays(theirs, ours, bound)
    if isinstance(theirs, float):
        return arrays(np.array(theirs), np.array(ours), bound)
    return "" if theirs == ours else f"{short(theirs)} under TensorFlow, {short(ours)} under leat"


def arrays(theirs: np.ndarray, ours: np.ndarray, bound: float) -> str:
    if theirs.dtype != ours.dtype or theirs.shape != ours.shape:
        return f"{theirs.dtype}{theirs.shape} under TensorFlow, {ours.dtype}{ours.shape} under leat"
    if theirs.dtype.kind not in "fiu" or not theirs.size:
        return "" if np.array_equal(theirs, ours) else f"{short(theirs)} under TensorFlow, {short(ours)} under leat"
    apart = np.abs(theirs.astype(float) - ours.astype(float))
    if bound and theirs.dtype == np.float16:
        bound = CLOSE_F16
    allowed = bound * max(1.0, float(np.abs(theirs).max()))
    if not np.isfinite(apart).all() and not np.array_equal(theirs, ours, equal_nan=True):
        return "values that are no numbers"
    if apart.max() <= allowed:
        return ""
    worst = np.unravel_index(apart.argmax(), apart.shape)
    return (f"{(apart > allowed).mean():.1%} of {theirs.dtype}{theirs.shape} differ, most at {tuple(map(int, worst))}: "
            f"{theirs[worst]} under TensorFlow, {ours[worst]} under leat; {allowed:.2g} is allowed")


def short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) < 120 else text[:117] + "..."
