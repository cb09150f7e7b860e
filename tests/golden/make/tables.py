# SPDX-License-Identifier: Apache-2.0
"""Prints the checksums in tests/unit/test_table.c: whole tables as the libraries make them, over many arguments.

    tables.py pillow|torchvision|tensorflow
"""
import sys

import numpy as np

BEGIN = 0xCBF29CE484222325


def add(sum, values):
    """FNV-1a."""
    for x in bytes(values):
        sum = ((sum ^ x) * 0x100000001B3) % 2**64
    return sum


def pair(low, high):
    return np.arange(low, high + 1, dtype=np.uint8)[None]


def autocontrast(apply):
    sum = BEGIN
    for low in range(0, 256, 5):
        for high in range(low, 256, 3):
            sum = add(sum, apply(pair(low, high)).tobytes())
    return sum


def histogram(k):
    """The k-th of those that the test makes."""
    state, out = k * 2654435761 % 2**32, []
    for i in range(256):
        state = (state * 1664525 + 1013904223) % 2**32
        many = state >> 24
        out.append((many if many > 60 else 0) * (k % 5) if k % 7 else (9 if i in (10, 200) else 0))
    return out


def equalize(apply):
    """Entries of values that occur."""
    sum = BEGIN
    for k in range(60):
        values = np.repeat(np.arange(256), histogram(k)).astype(np.uint8)
        if values.size:
            table = dict(zip(values.tolist(), apply(values).tolist()))
            sum = add(sum, [int(table[value]) for value in sorted(table)])
    return sum


def ramps(apply, factors):
    sum = BEGIN
    for k in factors:
        sum = add(sum, apply(np.arange(256, dtype=np.uint8), k).tobytes())
    return sum


def pillow():
    from PIL import Image, ImageEnhance, ImageOps

    def image(values):
        return Image.fromarray(values.reshape(1, -1))

    yield "autocontrast", autocontrast(lambda x: np.array(ImageOps.autocontrast(image(x))))
    yield "equalize", equalize(lambda x: np.array(ImageOps.equalize(image(x)))[0])
    for name, enhance in ("pil_brightness", ImageEnhance.Brightness), ("pil_contrast", ImageEnhance.Contrast):
        yield name, ramps(lambda x, k: np.array(enhance(image(x)).enhance(k / 10)), range(-8, 33))


def torchvision():
    from tone_torch import F, torch

    yield "torch_autocontrast", autocontrast(lambda x: F.autocontrast(torch.from_numpy(x[None])).numpy())


def tensorflow():
    import keras
    import tensorflow as tf

    layer = keras.layers.Equalization()

    def gamma(x, k):
        return tf.image.adjust_gamma(x.reshape(1, 256, 1), k / 10, 1.25 if k % 3 == 0 else 1).numpy()

    yield "tf_gamma", ramps(gamma, range(31))
    yield "tf_contrast", ramps(lambda x, k: tf.image.adjust_contrast(x.reshape(1, 256, 1), k / 10).numpy(), range(31))
    yield "keras_equalize", equalize(lambda x: np.array(layer(x.reshape(1, 1, -1, 1))).ravel())


for name, sum in {"pillow": pillow, "torchvision": torchvision, "tensorflow": tensorflow}[sys.argv[1]]():
    print(f"{name:20} {sum:#018x}")
