# SPDX-License-Identifier: Apache-2.0
"""What ImageDataGenerator does to one picture with given numbers, and the random functions of Keras's module.

These functions work on single NumPy arrays and draw from NumPy's global generator, as Keras's do. Batches do not come
through here: the engine makes them (lowering.py).
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .needs import need, np
from .pictures import array_to_img, img_to_array
from .scipy_warp import warp_channel

COMPAT = ("keras3", "keras28", "fixed")


def flip_axis(x: Any, axis: int) -> Any:
    """Mirrors an array along one axis."""
    return np.flip(np.asarray(x), axis)


def _matrix(theta: float, t0: float, t1: float, shear: float, z0: float, z1: float) -> Any:
    """Rotation, shift, shear and zoom as one matrix for index 0 and index 1, None if nothing moves. What is left out
    must stay left out: a product with the identity may have other bits."""
    parts: list[Any] = []
    if theta != 0:
        turn = np.deg2rad(theta)
        parts.append([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]])
    if t0 != 0 or t1 != 0:
        parts.append([[1, 0, t0], [0, 1, t1], [0, 0, 1]])
    if shear != 0:
        slant = np.deg2rad(shear)
        parts.append([[1, -np.sin(slant), 0], [0, np.cos(slant), 0], [0, 0, 1]])
    if z0 != 1 or z1 != 1:
        parts.append([[z0, 0, 0], [0, z1, 0], [0, 0, 1]])
    made = None
    for part in parts:
        made = np.array(part) if made is None else np.dot(made, np.array(part))
    return made


def _centred(matrix: Any, c0: float, c1: float) -> Any:
    """The matrix about a middle, in place of about the first pixel."""
    there = np.array([[1, 0, c0], [0, 1, c1], [0, 0, 1]])
    back = np.array([[1, 0, -c0], [0, 1, -c1], [0, 0, 1]])
    return np.dot(np.dot(there, matrix), back)


def transform_matrix_offset_center(matrix: Any, x: float, y: float) -> Any:
    """A matrix about the middle of a picture of x by y pixels."""
    return _centred(matrix, float(x) / 2 - 0.5, float(y) / 2 - 0.5)


def _placed(matrix: Any, height: int, width: int, swap: bool, compat: str) -> Any:
    """The matrix that takes (row, column) of the result to that of the picture; src/ops has the same for the engine."""
    if compat == "keras28":
        return _centred(matrix, height / 2 + 0.5, width / 2 + 0.5)
    if compat == "fixed":
        made = _centred(matrix, width / 2 - 0.5, height / 2 - 0.5)
    else:
        made = transform_matrix_offset_center(matrix, height, width)
    if swap or compat == "fixed":
        made[:, [0, 1]] = made[:, [1, 0]]
        made[[0, 1]] = made[[1, 0]]
    return made


def _check_axes(x: Any, row_axis: int, col_axis: int, channel_axis: int) -> None:
    axes = [row_axis, col_axis, channel_axis]
    if len(set(axes)) != 3:
        raise ValueError("'row_axis', 'col_axis' and 'channel_axis' must be distinct")
    if set(axes) != {0, 1, 2}:
        raise ValueError(f"Invalid axes: {sorted(set(axes) - {0, 1, 2})}; a picture has the axes 0, 1 and 2")
    if getattr(x, "ndim", 0) != 3:
        raise ValueError(f"Input arrays must be pictures with three axes, not of shape {np.shape(x)}")
    if channel_axis not in (0, 2):
        raise ValueError("Channels must be the first or the last axis")


def apply_affine_transform(x: Any, theta: float = 0, tx: float = 0, ty: float = 0, shear: float = 0, zx: float = 1,
                           zy: float = 1, row_axis: int = 1, col_axis: int = 2, channel_axis: int = 0,
                           fill_mode: str = "nearest", cval: float = 0.0, order: int = 1,
                           compat: str = "keras3") -> Any:
    """Rotates (degrees), shifts (pixels), shears (degrees) and zooms (above 1 shrinks) a picture in one sampling.

        apply_affine_transform(x, theta=30, row_axis=0, col_axis=1, channel_axis=2)

    x: an array with three axes; theta, tx, ty, shear, zx, zy: what to do; row_axis, col_axis, channel_axis: which axis
    is which; fill_mode, cval: what lies beyond the edge; order: of the spline; compat: see ImageDataGenerator
    """
    _check_axes(x, row_axis, col_axis, channel_axis)
    if compat == "fixed":
        tx, ty = ty, tx
    matrix = _matrix(theta, tx, ty, shear, zx, zy)
    if matrix is None:
        return x
    matrix = _placed(matrix, x.shape[row_axis], x.shape[col_axis], col_axis > row_axis, compat)
    planes = [warp_channel(plane, matrix[:2, :2], matrix[:2, 2], order, fill_mode, cval)
              for plane in np.rollaxis(x, channel_axis, 0)]
    return np.rollaxis(np.stack(planes, axis=0), 0, channel_axis + 1)


def apply_channel_shift(x: Any, intensity: float, channel_axis: int = 0) -> Any:
    """Adds a number to all channels, and clips to the picture's own range.

    x: an array with three axes; intensity: the number; channel_axis: where the channels are
    """
    low, high = np.min(x), np.max(x)
    planes = [np.clip(plane + intensity, low, high) for plane in np.rollaxis(x, channel_axis, 0)]
    return np.rollaxis(np.stack(planes, axis=0), 0, channel_axis + 1)


def apply_brightness_shift(x: Any, brightness: float, scale: bool = True, data_format: str | None = None) -> Any:
    """Multiplies with a factor, by way of the bytes of a Pillow image.

    x: an array with three axes; brightness: the factor; scale: stretch the picture to 0 to 255 first; data_format:
    where the channels are, None for Keras's setting
    """
    enhance = need("PIL.ImageEnhance", "Pillow", "brightness")
    low, high = np.min(x), np.max(x)
    stretched = bool(low < 0 or high > 255)
    image = array_to_img(x, data_format, scale=stretched or scale)
    made = img_to_array(enhance.Brightness(image).enhance(brightness), data_format)
    if not scale and stretched:
        made = made / 255 * (high - low) + low
    return made


def random_rotation(x: Any, rg: float, row_axis: int = 1, col_axis: int = 2, channel_axis: int = 0,
                    fill_mode: str = "nearest", cval: float = 0.0, interpolation_order: int = 1) -> Any:
    """Turns a picture by an angle from -rg to rg degrees; the other parameters are those of apply_affine_transform."""
    theta = np.random.uniform(-rg, rg)
    return apply_affine_transform(x, theta=theta, row_axis=row_axis, col_axis=col_axis, channel_axis=channel_axis,
                                  fill_mode=fill_mode, cval=cval, order=interpolation_order)


def random_shift(x: Any, wrg: float, hrg: float, row_axis: int = 1, col_axis: int = 2, channel_axis: int = 0,
                 fill_mode: str = "nearest", cval: float = 0.0, interpolation_order: int = 1) -> Any:
    """Shifts a picture by up to the shares wrg and hrg of its sides; the other parameters are those of
    apply_affine_transform."""
    tx = np.random.uniform(-hrg, hrg) * x.shape[row_axis]
    ty = np.random.uniform(-wrg, wrg) * x.shape[col_axis]
    return apply_affine_transform(x, tx=tx, ty=ty, row_axis=row_axis, col_axis=col_axis, channel_axis=channel_axis,
                                  fill_mode=fill_mode, cval=cval, order=interpolation_order)


def random_shear(x: Any, intensity: float, row_axis: int = 1, col_axis: int = 2, channel_axis: int = 0,
                 fill_mode: str = "nearest", cval: float = 0.0, interpolation_order: int = 1) -> Any:
    """Shears a picture by up to `intensity` degrees; the other parameters are those of apply_affine_transform."""
    shear = np.random.uniform(-intensity, intensity)
    return apply_affine_transform(x, shear=shear, row_axis=row_axis, col_axis=col_axis, channel_axis=channel_axis,
                                  fill_mode=fill_mode, cval=cval, order=interpolation_order)


def random_zoom(x: Any, zoom_range: Any, row_axis: int = 1, col_axis: int = 2, channel_axis: int = 0,
                fill_mode: str = "nearest", cval: float = 0.0, interpolation_order: int = 1) -> Any:
    """Zooms the two sides by factors from zoom_range, (low, high); the other parameters are those of
    apply_affine_transform."""
    if len(zoom_range) != 2:
        raise ValueError(f"`zoom_range` should be a tuple or list of two floats. Received: {zoom_range}")
    zx, zy = (1, 1) if zoom_range[0] == zoom_range[1] == 1 else np.random.uniform(zoom_range[0], zoom_range[1], 2)
    return apply_affine_transform(x, zx=zx, zy=zy, row_axis=row_axis, col_axis=col_axis, channel_axis=channel_axis,
                                  fill_mode=fill_mode, cval=cval, order=interpolation_order)


def random_channel_shift(x: Any, intensity_range: float, channel_axis: int = 0) -> Any:
    """apply_channel_shift with a number from -intensity_range to intensity_range."""
    return apply_channel_shift(x, np.random.uniform(-intensity_range, intensity_range), channel_axis=channel_axis)


def random_brightness(x: Any, brightness_range: Any, scale: bool = True) -> Any:
    """apply_brightness_shift with a factor from brightness_range, (low, high)."""
    if len(brightness_range) != 2:
        raise ValueError(f"`brightness_range` should be a tuple or list of two floats. Received: {brightness_range}")
    return apply_brightness_shift(x, np.random.uniform(brightness_range[0], brightness_range[1]), scale)


# ------------------------------------------------------------------------------------ the generator's parts


def _draw_shift(given: Any, side: int) -> Any:
    """A shift as Keras draws it: one of a list or of 0 to k - 1 with a drawn sign, or between -x and x."""
    if not given:
        return 0
    try:
        shift = np.random.choice(given)
        shift *= np.random.choice([-1, 1])
    except ValueError:  # a float
        shift = np.random.uniform(-given, given)
    return shift * side if np.max(given) < 1 else shift


def draw_transform(generator: Any, height: int, width: int) -> dict[str, Any]:
    """The numbers for one picture, from NumPy's global generator, in Keras's order."""
    theta = np.random.uniform(-generator.rotation_range, generator.rotation_range) if generator.rotation_range else 0
    tx = _draw_shift(generator.height_shift_range, height)
    ty = _draw_shift(generator.width_shift_range, width)
    shear = np.random.uniform(-generator.shear_range, generator.shear_range) if generator.shear_range else 0
    low, high = generator.zoom_range
    zx, zy = (1, 1) if low == 1 and high == 1 else np.random.uniform(low, high, 2)
    flip_horizontal = (np.random.random() < 0.5) * generator.horizontal_flip
    flip_vertical = (np.random.random() < 0.5) * generator.vertical_flip
    shift, factor = None, None
    if generator.channel_shift_range != 0:
        shift = np.random.uniform(-generator.channel_shift_range, generator.channel_shift_range)
    if generator.brightness_range is not None:
        factor = np.random.uniform(generator.brightness_range[0], generator.brightness_range[1])
    return {"theta": theta, "tx": tx, "ty": ty, "shear": shear, "zx": zx, "zy": zy, "flip_horizontal": flip_horizontal,
            "flip_vertical": flip_vertical, "channel_shift_intensity": shift, "brightness": factor}


def transform(generator: Any, x: Any, given: Mapping[str, Any]) -> Any:
    """One picture through the numbers of get_random_transform: moves, channel shift, flips, brightness."""
    rows, columns, channels = generator.row_axis - 1, generator.col_axis - 1, generator.channel_axis - 1
    x = apply_affine_transform(x, given.get("theta", 0), given.get("tx", 0), given.get("ty", 0), given.get("shear", 0),
                               given.get("zx", 1), given.get("zy", 1), rows, columns, channels, generator.fill_mode,
                               generator.cval, generator.interpolation_order, generator.compat)
    if given.get("channel_shift_intensity") is not None:
        x = apply_channel_shift(x, given["channel_shift_intensity"], channels)
    if given.get("flip_horizontal", False):
        x = flip_axis(x, columns)
    if given.get("flip_vertical", False):
        x = flip_axis(x, rows)
    if given.get("brightness") is not None:
        x = apply_brightness_shift(x, given["brightness"], False, generator.data_format)
    return x
