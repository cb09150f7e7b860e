# SPDX-License-Identifier: Apache-2.0
"""Values whose number differs from sample to sample, on their way in: boxes (n, 4), tokens (n)."""
from __future__ import annotations

import array
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from .arrays import LEAT_NAMES


def is_ragged(values: Any) -> bool:
    """Whether these are arrays of one or two axes that differ in the first. Lists of that kind are more likely a mistake."""
    if not isinstance(values, (list, tuple)) and getattr(getattr(values, "dtype", None), "kind", "") != "O":
        return False
    if len(values) == 0 or isinstance(values[0], (str, bytes, bytearray)):
        return False
    sizes = {len(value) if hasattr(value, "__len__") else -1 for value in values}
    axes = [len(value.shape) for value in values if hasattr(value, "dtype")]
    return -1 not in sizes and len(sizes) > 1 and bool(axes) and max(axes) <= 2


def join(numpy: ModuleType, name: str, values: Sequence[Any]) -> tuple[Any, ...]:
    """(name, dtype, all entries in a row, offsets) for the engine. The first value that is not empty tells type and shape."""
    parts = [numpy.asarray(value) for value in values]
    like = next((part for part in parts if part.size), parts[0])
    if like.dtype.name not in LEAT_NAMES:
        raise TypeError(f"array {name}: type {like.dtype.name} is not known to leat; convert it, e.g. to float32 or int64")
    offsets = array.array("q", [0])
    for i, part in enumerate(parts):
        if part.size and part.shape[1:] != like.shape[1:]:
            raise ValueError(f"array {name}: value {i} has the shape {part.shape}, others have {like.shape}: only the first "
                             "axis may differ")
        offsets.append(offsets[-1] + (len(part) if part.size else 0))
    filled = [part.astype(like.dtype, copy=False) for part in parts if part.size]
    rows = numpy.ascontiguousarray(numpy.concatenate(filled) if filled else numpy.zeros((1, *like.shape[1:]), like.dtype))
    return name, LEAT_NAMES[like.dtype.name], rows, offsets
