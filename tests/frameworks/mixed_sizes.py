# SPDX-License-Identifier: Apache-2.0
"""Photos of mixed sizes, for the tests of all frameworks."""
import leat
import numpy
from PIL import Image


def mixed(folder):
    """(5, 9), (6, 8), (7, 7)."""
    (folder / "a").mkdir()
    for i in range(3):
        pixels = numpy.full((5 + i, 9 - i, 3), i * 40, "uint8")
        Image.fromarray(pixels).save(folder / "a" / f"{i}.png")
    return leat.from_directory(folder)
