#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/resize_golden.h: what Pillow's Image.resize makes of formula pictures.

From version 13 on Pillow takes the columns first when the height shrinks by more than twice as many pixels as the
width; before, and in leat, rows come first always. So this wants a Pillow below 13. Usage: pil_resize.py [output]
"""
import pathlib
import sys

import numpy as np
import PIL
from PIL import Image

from resize_cases import cases, digest, picture, row

MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
METHODS = [Image.NEAREST, Image.BOX, Image.BILINEAR, Image.HAMMING, Image.BICUBIC, Image.LANCZOS]


def pil(array, height, width, method):
    channels = array.shape[2]
    image = Image.fromarray(array[:, :, 0] if channels == 1 else array, MODES[channels])
    return np.asarray(image.resize((width, height), method)).reshape(height, width, channels)


def main():
    if int(PIL.__version__.split(".")[0]) >= 13:
        sys.exit("pil_resize.py: Pillow %s resizes in another order, take one below 13" % PIL.__version__)
    lines = []
    for seed, (h, w, to_h, to_w, c) in enumerate(cases()):
        source = picture(seed, h, w, c)
        digests = row([digest(pil(source, to_h, to_w, method)) for method in METHODS], 3)
        lines.append("    {%d, %d, %d, %d, %d, {%s}}," % (h, w, to_h, to_w, c, digests))
    default = pathlib.Path(__file__).resolve().parent.parent / "resize_golden.h"
    with open(sys.argv[1] if len(sys.argv) > 1 else default, "w") as out:
        out.write(f"""/* SPDX-License-Identifier: Apache-2.0 */
/* Written by tests/golden/make/pil_resize.py with Pillow {PIL.__version__}. Do not edit.
 * The picture of entry i is the formula's with seed i; digests are FNV-1a of the results' bytes, for nearest, box,
 * bilinear, hamming, bicubic and lanczos. */
/* clang-format off */
static const struct {{
    int height, width, to_height, to_width, channels;
    uint64_t pil[{len(METHODS)}];
}} resize_golden[] = {{
""")
        out.write("\n".join(lines) + "\n};\n")


if __name__ == "__main__":
    main()
