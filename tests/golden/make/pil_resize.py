#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/resize_golden.h: what other implementations make of formula pictures.

Pillow's Image.resize(BILINEAR) is the real library. tf.image.resize is spelled out here in NumPy float32,
from its definition, independently of the C code. Usage: pil_resize.py [output]
"""
import pathlib
import random
import sys

import numpy as np
import PIL
from PIL import Image

MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
SIZES = [  # height, width, to height, to width
    (1, 1, 1, 1), (1, 1, 7, 5), (5, 7, 1, 1), (375, 500, 224, 224), (37, 53, 224, 224),
    (224, 224, 224, 224),
    (100, 3, 10, 300), (2000, 3, 3, 1), (3, 2000, 5, 7), (1, 3000, 1, 2), (64, 50, 64, 25),
    (64, 50, 32, 50),
    (13, 1, 1, 13), (2, 2, 3, 3), (480, 640, 32, 32), (33, 31, 34, 32), (256, 256, 128, 128),
    (90, 120, 89, 119),
]


def picture(seed, height, width, channels):
    """The same formula stands in the C test."""
    i = np.arange(height * width * channels, dtype=np.uint64)
    x = (i * 2654435761 + seed * 40503 + 12345) & 0xFFFFFFFF
    x ^= x >> 15
    x = (x * 2246822519) & 0xFFFFFFFF
    x ^= x >> 13
    bytes_ = (x & 255).astype(np.uint8)
    if seed % 3 == 0:  # black and white only
        bytes_ = np.where(bytes_ & 1, 255, 0).astype(np.uint8)
    return bytes_.reshape(height, width, channels)


def digest(array):
    """FNV-1a over the bytes, 64 bits."""
    h = 0xCBF29CE484222325
    for b in array.tobytes():
        h = (h ^ b) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def pil(array, height, width):
    channels = array.shape[2]
    image = Image.fromarray(array[:, :, 0] if channels == 1 else array, MODES[channels])
    return np.asarray(image.resize((width, height), Image.BILINEAR)).reshape(height, width, channels)


def positions(n_in, n_out, half):
    scale = np.float32(n_in) / np.float32(n_out)
    i = np.arange(n_out).astype(np.float32)
    pos = (i + np.float32(0.5)) * scale
    return pos - np.float32(0.5) if half else pos


def tf_bilinear(array, height, width):
    array = array.astype(np.float32)
    if array.shape[:2] == (height, width):
        return array

    def axis(n_in, n_out):
        pos = positions(n_in, n_out, True)
        floor = np.floor(pos)
        lower = np.maximum(floor.astype(np.int64), 0)
        upper = np.minimum(np.ceil(pos).astype(np.int64), n_in - 1)
        return lower, upper, (pos - floor).astype(np.float32)

    y0, y1, ty = axis(array.shape[0], height)
    x0, x1, tx = axis(array.shape[1], width)
    tx, ty = tx[None, :, None], ty[:, None, None]

    def row(y):
        left, right = array[y][:, x0], array[y][:, x1]
        return left + (right - left) * tx

    top, bottom = row(y0), row(y1)
    out = top + (bottom - top) * ty
    assert out.dtype == np.float32
    return out


def tf_nearest(array, height, width):
    def axis(n_in, n_out):
        return np.minimum(np.floor(positions(n_in, n_out, False)).astype(np.int64), n_in - 1)

    return array[axis(array.shape[0], height)][:, axis(array.shape[1], width)]


def main():
    rng = random.Random(7)
    cases = [(*size, channels) for size in SIZES for channels in (1, 3, 4)]
    cases += [(20, 30, 11, 13, 2), (7, 5, 20, 5, 2)]
    for _ in range(60):
        side = lambda: rng.randint(1, rng.choice((8, 40, 130)))
        cases.append((side(), side(), side(), side(), rng.choice((1, 3, 3, 4))))
    lines = []
    for seed, (h, w, to_h, to_w, c) in enumerate(cases):
        source = picture(seed, h, w, c)
        results = [digest(f(source, to_h, to_w)) for f in (pil, tf_bilinear, tf_nearest)]
        digests = ", ".join("0x%016x" % d for d in results)
        lines.append("    {%d, %d, %d, %d, %d, %s}," % (h, w, to_h, to_w, c, digests))
    default = pathlib.Path(__file__).resolve().parent.parent / "resize_golden.h"
    versions = f"Pillow {PIL.__version__}, NumPy {np.__version__}"
    with open(sys.argv[1] if len(sys.argv) > 1 else default, "w") as out:
        out.write(f"""/* SPDX-License-Identifier: Apache-2.0 */
/* Written by tests/golden/make/pil_resize.py with {versions}. Do not edit.
 * The picture of entry i is the formula's with seed i; digests are FNV-1a of the results' bytes. */
static const struct {{
    int height, width, to_height, to_width, channels;
    uint64_t pil, tf_bilinear, tf_nearest;
}} resize_golden[] = {{
""")
        out.write("\n".join(lines) + "\n};\n")


if __name__ == "__main__":
    main()
