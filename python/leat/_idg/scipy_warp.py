# SPDX-License-Identifier: Apache-2.0
"""One channel through an affine matrix, as scipy.ndimage.affine_transform samples it.

SciPy itself is used where it is installed. Without it, orders 0 and 1 are computed here with NumPy: the same bits for
pictures of whole numbers and float32, and within 1e-11 for float64.
"""
from __future__ import annotations

from typing import Any

from .needs import need, np

MODES = ("constant", "nearest", "reflect", "wrap")


def warp_channel(channel: Any, matrix: Any, offset: Any, order: int, mode: str, cval: float) -> Any:
    """The channel (rows, columns) with output pixel p taken from the place matrix * p + offset."""
    try:
        scipy = need("scipy.ndimage", "SciPy", f"interpolation_order={order} with fill_mode={mode!r}")
    except ImportError:
        if order not in (0, 1) or mode not in MODES:
            raise
        return sample_plane(np.asarray(channel), np.asarray(matrix, "float64"), offset, order, mode, cval)
    return scipy.affine_transform(channel, matrix, offset, order=order, mode=mode, cval=cval)


def sample_plane(plane: Any, matrix: Any, offset: Any, order: int, mode: str, cval: float) -> Any:
    """The same without SciPy, for the orders and modes that ImageDataGenerator documents."""
    rows, columns = (np.arange(n, dtype="float64") for n in plane.shape)
    outside: Any = np.zeros(plane.shape, bool)
    places: list[tuple[Any, Any]] = []  # for each axis: index and weight of the neighbours
    for axis, n in enumerate(plane.shape):
        at = (rows[:, None] * matrix[axis, 0] + columns[None, :] * matrix[axis, 1]) + offset[axis]
        if mode == "constant":
            outside |= (at < 0) | (at > n - 1)
        at = _folded(at, n, mode)
        if order == 0:
            places.append((_inside(np.floor(at + 0.5).astype("int64"), n, mode)[None], np.ones((1, *plane.shape))))
            continue
        low = np.floor(at)
        share = at - low
        index = np.stack([low, low + 1]).astype("int64")
        places.append((_inside(index, n, mode), np.stack([1 - share, share])))
    source = plane.astype("float64")
    total = np.zeros(plane.shape)
    for row, row_weight in zip(*places[0]):
        for column, column_weight in zip(*places[1]):
            total += source[row, column] * row_weight * column_weight
    total[outside] = cval
    return _stored(total, plane.dtype)


def _folded(at: Any, n: int, mode: str) -> Any:
    """A coordinate beyond the picture, brought back as the mode says."""
    if n <= 1:
        return np.zeros_like(at)
    if mode == "reflect":
        low = np.where(at < -2 * n, 2 * n * np.trunc(-at / (2 * n)) + at, at)
        below = np.where(low < -n, low + 2 * n, np.where(low > -2.220446049250313e-16, 1e-15, -low) - 1)
        high = at - 2 * n * np.trunc(at / (2 * n))
        above = np.where(high >= n, 2 * n - high - 1, high)
        return np.where(at < 0, below, np.where(at > n - 1, above, at))
    if mode == "wrap":  # the last pixel and the first are the same place
        low = at + (n - 1) * (np.trunc(-at / (n - 1)) + 1)
        high = at - (n - 1) * np.trunc(at / (n - 1))
        return np.where(at < 0, low, np.where(at > n - 1, high, at))
    return np.clip(at, 0, n - 1)


def _inside(index: Any, n: int, mode: str) -> Any:
    """A neighbour that lies beyond the edge, though the place itself does not."""
    if n <= 1:
        return np.zeros_like(index)
    if mode == "reflect":
        index = np.where(index < 0, -index - 1, index)
        return np.where(index >= n, 2 * n - index - 1, index)
    index = np.abs(index)
    return np.where(index >= n, 2 * n - 2 - index, index)


def _stored(values: Any, dtype: Any) -> Any:
    """In the type of the picture: whole numbers are rounded, away from zero, and those without a sign begin at 0."""
    if dtype.kind == "f":
        return values.astype(dtype)
    if dtype.kind == "b":
        return values.astype("int64").astype(bool)
    limits = np.iinfo(dtype)
    rounded = np.trunc(np.where(values > 0, values + 0.5, values - 0.5))
    return np.clip(rounded, limits.min, limits.max).astype(dtype)
