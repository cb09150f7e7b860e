# SPDX-License-Identifier: Apache-2.0
"""Brightness, contrast, saturation and hue on a device: the arithmetic of src/image/colour/colour.h and table.c on arrays.

Flavours are those of the operations: tf keeps the type, so on u8 it counts values as 0 to 1 and cuts to whole numbers;
keras works in f32 within a range; pil works on u8 with Pillow's whole numbers.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._base.errors import UnsupportedError
from .device_arrays import Arrays

Colour = Callable[[Arrays, Any, Any], Any]  # of the primitives, the pictures, and an amount (batch, 1, 1, 1)

NAMES = {f"{verb}_{part}" for verb in ("random", "adjust") for part in ("brightness", "contrast", "saturation", "hue")}
UNIT = 1.0 / 255.0


def _to_bytes(a: Arrays, x: Any) -> Any:
    return a.floor(a.clip(x, 0.0, 255.0))


def _as_bytes(inner: Colour) -> Colour:
    """tf.image's way from bytes to floats and back."""
    return lambda a, x, amount: _to_bytes(a, inner(a, x * UNIT, amount) * 255.5)


# ------------------------------------------------------------------------------------------ hue and saturation


def _extremes(a: Arrays, x: Any) -> tuple[Any, Any]:
    r, g, b = x[..., 0], x[..., 1], x[..., 2]
    return a.maximum(a.maximum(r, g), b), a.minimum(a.minimum(r, g), b)


def _divide(a: Arrays, x: Any, y: Any) -> Any:
    """0 where y is not above 0."""
    there = y > 0.0
    return a.where(there, x / a.where(there, y, y * 0.0 + 1.0), y * 0.0)


def _sixths(a: Arrays, x: Any, most: Any, least: Any) -> Any:
    """The hue of pixels from 0 to 6; gray ones have 0."""
    r, g, b = x[..., 0], x[..., 1], x[..., 2]
    span = most - least
    h = a.where(r == most, _divide(a, g - b, span),
                a.where(g == most, _divide(a, b - r, span) + 2.0, _divide(a, r - g, span) + 4.0))
    h = a.where(span > 0.0, h, h * 0.0)
    return a.where(h < 0.0, h + 6.0, h)


def _rgb(a: Arrays, h: Any, least: Any, chroma: Any) -> Any:
    shares = abs(h - 3.0) - 1.0, 2.0 - abs(h - 2.0), 2.0 - abs(h - 4.0)
    return a.stack([least + chroma * a.clip(share, 0.0, 1.0) for share in shares])


def _saturate(low: float, high: float) -> Colour:
    """By a factor; the saturation stays within low and high."""
    def step(a: Arrays, x: Any, factor: Any) -> Any:
        most, least = _extremes(a, x)
        chroma = a.clip(_divide(a, most - least, most) * factor[..., 0], low, high) * most
        return _rgb(a, _sixths(a, x, most, least), most - chroma, chroma)
    return step


def _turn(a: Arrays, x: Any, part: Any) -> Any:
    most, least = _extremes(a, x)
    h = _sixths(a, x, most, least) + 6.0 * part[..., 0]
    return _rgb(a, h - 6.0 * a.floor(h / 6.0), least, most - least)


def _turn_keras(low: float, high: float) -> Colour:
    def step(a: Arrays, x: Any, part: Any) -> Any:
        return a.clip(_turn(a, (x - low) / (high - low), part), 0.0, 1.0) * (high - low) + low
    return step


# ------------------------------------------------------------------------------------------------------ Pillow


def _pil_gray(a: Arrays, x: Any) -> Any:
    """Pillow's L: whole numbers below 2^24, which f32 holds."""
    if x.shape[-1] == 1:
        return x
    mixed = (19595.0 * x[..., 0:1] + 38470.0 * x[..., 1:2]) + (7471.0 * x[..., 2:3] + 32768.0)
    return a.floor(mixed / 65536.0)


def _pil_contrast(a: Arrays, x: Any, factor: Any) -> Any:
    middle = a.floor(a.mean(_pil_gray(a, x)) + 0.5)
    return _to_bytes(a, middle + factor * (x - middle))


def _pil_saturate(a: Arrays, x: Any, factor: Any) -> Any:
    gray = _pil_gray(a, x)
    return _to_bytes(a, gray + factor * (x - gray))


def _pil_turn(a: Arrays, x: Any, steps: Any) -> Any:
    """Through Pillow's HSV of 8 bits, which is cut to whole numbers: so the hue is found in its own order."""
    most, least = _extremes(a, x)
    r, g, b = x[..., 0], x[..., 1], x[..., 2]
    rest = _divide(a, 2.0 * most + least - r - g - b, most - least)
    h = a.where(r == most, a.where(b == least, 1.0 - rest, rest - 1.0),
                a.where(g == most, a.where(b == least, 1.0 + rest, 3.0 - rest),
                        a.where(r == least, 3.0 + rest, 5.0 - rest))) / 6.0
    h = a.floor(a.where(h < 0.0, h + 1.0, h) * 255.0) + steps[..., 0]
    h = h - 256.0 * a.floor(h / 256.0)
    saturation = a.floor(_divide(a, most - least, most) * 255.0)
    sector = a.floor(6.0 * h * UNIT)
    rest = (6.0 * h - 255.0 * sector) * UNIT
    chroma = most * (saturation * UNIT)
    odd = sector - 2.0 * a.floor(sector / 2.0) > 0.5
    middle = most + 0.5 - a.where(odd, chroma * rest, chroma - chroma * rest)
    bottom = most + 0.5 - chroma
    sector = a.where(sector > 5.5, sector * 0.0, sector)

    def channel(tops: tuple[float, float], middles: tuple[float, float]) -> Any:
        made = a.where((sector == middles[0]) | (sector == middles[1]), middle, bottom)
        return a.where((sector == tops[0]) | (sector == tops[1]), most, made)

    made = a.floor(a.stack([channel((0.0, 5.0), (1.0, 4.0)), channel((1.0, 2.0), (0.0, 3.0)),
                            channel((3.0, 4.0), (2.0, 5.0))]))
    return a.where((most > least)[..., None], made, x)


# -------------------------------------------------------------------------------------------------- the choice


def _contrast(a: Arrays, x: Any, factor: Any) -> Any:
    middle = a.mean(x)
    return (x - middle) * factor + middle


def _clipped(inner: Colour, low: float, high: float) -> Colour:
    return lambda a, x, amount: a.clip(inner(a, x, amount), low, high)


def make(part: str, flavour: str, of_bytes: bool, channels: int, bounds: list[float]) -> Colour:
    """The function of brightness, contrast, saturation or hue for values of u8 or f32."""
    low, high = bounds
    if flavour == "pil":
        if channels == 1 and part in ("saturation", "hue"):
            return lambda a, x, amount: x  # gray stays gray
        if channels not in (1, 3) and part != "brightness":
            raise UnsupportedError(f"{part} of {channels} channels cannot be done on the device: "
                                   "write it before on_device()")
        return {"brightness": lambda a, x, factor: _to_bytes(a, x * factor), "contrast": _pil_contrast,
                "saturation": _pil_saturate, "hue": _pil_turn}[part]
    if flavour == "keras":
        span = high - low
        plain: dict[str, Colour] = {
            "brightness": _clipped(lambda a, x, share: x + share * span, low, high),
            "contrast": _clipped(_contrast, low, high),
            "saturation": _saturate(low, high),
            "hue": _turn_keras(low, high)}
        return plain[part]
    made: dict[str, Colour] = {"brightness": lambda a, x, delta: x + delta, "contrast": _contrast,
                               "saturation": _saturate(0.0, 1.0), "hue": _turn}
    return _as_bytes(made[part]) if of_bytes else made[part]
