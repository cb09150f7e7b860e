# SPDX-License-Identifier: Apache-2.0
"""The pictures and sizes that the golden files of resizing are made of."""
import random

import numpy as np

SIZES = [  # height, width, to height, to width
    (1, 1, 1, 1), (1, 1, 7, 5), (5, 7, 1, 1), (375, 500, 224, 224), (37, 53, 224, 224),
    (224, 224, 224, 224),
    (100, 3, 10, 300), (2000, 3, 3, 1), (3, 2000, 5, 7), (1, 3000, 1, 2), (64, 50, 64, 25),
    (64, 50, 32, 50),
    (13, 1, 1, 13), (2, 2, 3, 3), (480, 640, 32, 32), (33, 31, 34, 32), (256, 256, 128, 128),
    (90, 120, 89, 119),
]
SMALL = [  # for results that are written out in full
    (7, 9, 5, 4, 3), (5, 4, 9, 11, 1), (12, 10, 5, 6, 3), (6, 6, 6, 6, 1), (40, 30, 4, 5, 3), (3, 2, 7, 5, 4),
]


def cases():
    """Height, width, to height, to width, channels."""
    rng = random.Random(7)
    out = [(*size, channels) for size in SIZES for channels in (1, 3, 4)]
    out += [(20, 30, 11, 13, 2), (7, 5, 20, 5, 2)]
    for _ in range(60):
        side = lambda: rng.randint(1, rng.choice((8, 40, 130)))
        out.append((side(), side(), side(), side(), rng.choice((1, 3, 3, 4))))
    return out


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


def row(digests, n):
    """Digests as C text, n in a line."""
    words = ["0x%016x" % d for d in digests]
    return ",\n      ".join(", ".join(words[i : i + n]) for i in range(0, len(words), n))
