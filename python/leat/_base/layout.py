# SPDX-License-Identifier: Apache-2.0
"""Where the channels of pictures are that come as arrays: `layout=` of from_arrays and its like."""
from __future__ import annotations

from typing import Any

from .errors import ArgumentError, ShapeError

NAMES = {"nhwc": 1, "hwc": 1, "nchw": 2, "chw": 2}
FIRST = "say layout=nchw where the data comes from, or layout=nhwc if its channels are last"
SOURCES = {"arrays": "leat.from_arrays(..., layout='nchw')", "source": "leat.from_python(..., layout='nchw')",
           "npy": "leat.from_npy(..., layout='nchw')"}


def layout_number(layout: str | None, where: str) -> int:
    """leat.h's number: 0 = it was not said."""
    if layout is None:
        return 0
    if layout not in NAMES:
        raise ArgumentError(f"{where}: layout is 'nchw' for pictures with channels first, or 'nhwc', not {layout!r}")
    return NAMES[layout]


def with_layout(arrays: tuple[tuple[Any, ...], ...], number: int) -> tuple[tuple[Any, ...], ...]:
    """Arrays for a pipeline that takes their slices of three axes as pictures of that layout, where they lie."""
    if not number:
        return arrays
    return tuple(entry if len(entry) > 3 else (*entry, None, None, number) for entry in arrays)


def explain(error: ShapeError, operations: tuple[str, ...]) -> None:
    """An error about channels that are first says what to write in Python."""
    source = operations[0].split(None, 1)[0]
    remedy = SOURCES.get(source, "reshape(..., layout='nchw'), or give that to the source of the arrays")
    error.message = error.message.replace(FIRST, f"write {remedy}, or layout='nhwc' if its channels are last")
    error.args = (error.message,)
