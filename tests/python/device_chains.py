# SPDX-License-Identifier: Apache-2.0
"""Chains of operations for the tests of augmentation on a device, and how far from the engine's kernels they may be."""
from collections.abc import Callable
from typing import Any

import leat
import numpy

Chain = Callable[[leat.Dataset], leat.Dataset]
WARPS = 0.1  # docs/python.md states it

# chain -> (the chain, the largest difference in units of its values, the share of values that may differ more)
CHAINS: dict[str, tuple[Chain, float, float]] = {
    "flips": (lambda ds: ds.random_flip().random_flip_left_right().random_flip_up_down(), 0, 0),
    "normalize": (lambda ds: ds.random_flip("vertical").normalize("imagenet"), 1e-6, 0),
    "rescale": (lambda ds: ds.rescale(1 / 127.5, -1).cast("f32").cast("f32", scale=2), 1e-6, 0),
    "perspective": (lambda ds: ds.random_perspective(1, scale=0.8), WARPS, 0),
    "brightness pil": (lambda ds: ds.adjust_brightness(1.3, flavour="pil"), 0, 1e-4),
    "jitter": (lambda ds: ds.color_jitter(0.4, 0.4, 0.4, 0.2), 1, 2e-3),
    "jitter of two": (lambda ds: ds.color_jitter(0.4, saturation=(0.5, 2)), 1, 2e-3),
    "jitter keras": (lambda ds: ds.color_jitter(0.4, 0.4, 0.4, 0.2, flavour="keras"), 0.01, 0),
    "everything": (lambda ds: ds.random_flip().color_jitter(0.4, 0.4, 0.4).random_rotation(0.2)
                   .random_contrast(0.8, 1.2).normalize("imagenet"), 0.02, 2e-3),
}


def _warps(fill: str, interpolation: str) -> None:
    how = {"fill": fill, "interpolation": interpolation, "value": (10, 20, 30)}
    order = 1 if interpolation == "bilinear" else 0
    limit, share = (WARPS, 0.0) if order else (0.0, 1e-3)  # a pixel between two may take the other one
    movements: dict[str, Chain] = {
        "rotation": lambda ds: ds.random_rotation(0.5, **how),
        "zoom": lambda ds: ds.random_zoom(0.5, 0.3, **how),
        "translation": lambda ds: ds.random_translation(0.9, 0.9, **how),
        "shear": lambda ds: ds.random_shear(0.5, 0.9, **how),
        "affine": lambda ds: ds.affine(rotate=180, zoom=0.5, shear_x=20, shift_x=0.8, flip_x=0.5, perspective=0.4,
                                       order=order, fill=fill, value=(10, 20, 30)),
    }
    for name, chain in movements.items():
        CHAINS[f"{name} {fill} {interpolation}"] = chain, limit, share


def _colours(flavour: str) -> None:
    keras = flavour == "keras"
    parts: dict[str, Chain] = {
        "brightness": lambda ds: ds.random_brightness(0.4, flavour=flavour),
        "contrast": lambda ds: ds.random_contrast(0.5, 0.7 if keras else 1.7, flavour=flavour),
        "saturation": lambda ds: ds.random_saturation(0.2 if keras else 0.5, 0.9 if keras else 1.7, flavour=flavour),
        "hue": lambda ds: ds.random_hue(0.5, flavour=flavour),
    }
    for name, chain in parts.items():
        if name == "brightness" and flavour == "pil":
            continue  # there is no such operation
        CHAINS[f"{name} {flavour}"] = chain, 0.01 if keras else 1, 0 if keras else 2e-3
        if flavour == "tf":
            CHAINS[f"{name} of f32"] = (lambda ds, chain=chain: chain(ds.rescale(1 / 255))), 1e-5, 0


for _fill in ("constant", "nearest", "reflect", "wrap"):
    for _interpolation in ("bilinear", "nearest"):
        _warps(_fill, _interpolation)
for _flavour in ("tf", "keras", "pil"):
    _colours(_flavour)


def pictures(n: int, height: int = 40, width: int = 36) -> numpy.ndarray:
    """Waves of colour, and some that are noise, gray, or half black."""
    rng = numpy.random.default_rng(1)
    y, x = numpy.mgrid[0:height, 0:width]
    waves = [127 + 120 * numpy.sin(a * x + b * y + 10 * c) * numpy.cos(d * x)
             for a, b, c, d in rng.uniform(0.05, 0.4, (3 * n, 4))]
    images = numpy.stack(waves, -1).reshape(height, width, n, 3).transpose(2, 0, 1, 3).clip(0, 255).astype("u1")
    images[0] = rng.integers(0, 256, images[0].shape)
    images[1] = 128
    images[2, :height // 2] = 0
    return images


def difference(chain: Chain, xp: Any, convert: Callable[[Any], Any] = numpy.asarray,
               back: Callable[[Any], Any] = numpy.asarray, images: numpy.ndarray | None = None) -> numpy.ndarray:
    """How far every value of the device's pictures is from the engine's, over two epochs."""
    given = pictures(24) if images is None else images
    ds = leat.from_arrays((given, numpy.arange(len(given)))).shuffle().options(seed=3)
    plain, sent = chain(ds).batch(12), chain(ds.on_device()).batch(12)
    augment = leat.device.Augment(sent)
    found = []
    for _ in range(2):
        for (wanted, labels), (inputs, others) in zip(plain, sent, strict=True):
            assert (labels == others).all() and inputs["image"].dtype == numpy.uint8
            made = back(augment(convert(inputs["image"]), convert(inputs["drawn"]), xp))
            found.append(abs(made - wanted.astype("f4")))
    return numpy.concatenate(found)
