#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/tf_resize_golden.h: what tf.image.resize makes of formula pictures.

lanczos goes through the C library's float sine, so it is written out and compared with a bound; the digests of all
others must be met. Usage: tf_resize.py [output]
"""
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf

from resize_cases import SMALL, cases, digest, picture, row

EXACT = [
    ("nearest", False), ("bilinear", False), ("bicubic", False), ("area", False), ("bilinear", True),
    ("bicubic", True), ("gaussian", False), ("gaussian", True), ("mitchellcubic", False), ("mitchellcubic", True),
]
BOUNDED = [("lanczos3", False), ("lanczos3", True), ("lanczos5", False), ("lanczos5", True)]


def resize(array, height, width, method):
    return tf.image.resize(array, (height, width), method[0], antialias=method[1]).numpy()


def main():
    lines, values, small = [], [], []
    for seed, (h, w, to_h, to_w, c) in enumerate(cases()):
        source = picture(seed, h, w, c)
        digests = row([digest(resize(source, to_h, to_w, method)) for method in EXACT], 5)
        lines.append("    {{%s}}," % digests)
    for seed, (h, w, to_h, to_w, c) in enumerate(SMALL):
        source = picture(seed + 1000, h, w, c)
        small.append("    {%d, %d, %d, %d, %d, %d}," % (h, w, to_h, to_w, c, len(values)))
        for method in BOUNDED:
            values += ["%.9g" % x for x in resize(source, to_h, to_w, method).ravel()]
    values = [v if "." in v or "e" in v else v + ".0" for v in values]
    text = ",\n    ".join(", ".join(v + "f" for v in values[i : i + 8]) for i in range(0, len(values), 8))
    default = pathlib.Path(__file__).resolve().parent.parent / "tf_resize_golden.h"
    names = [name + (" antialiased" if wide else "") for name, wide in EXACT]
    names = ",\n * ".join(", ".join(names[i : i + 5]) for i in (0, 5))
    with open(sys.argv[1] if len(sys.argv) > 1 else default, "w") as out:
        out.write(f"""/* SPDX-License-Identifier: Apache-2.0 */
/* Written by tests/golden/make/tf_resize.py with TensorFlow {tf.__version__}. Do not edit.
 * Pictures and sizes are those of resize_golden.h; digests are FNV-1a of the results' bytes, for
 * {names}. */
/* clang-format off */
static const struct {{
    uint64_t tf[{len(EXACT)}];
}} tf_resize_golden[] = {{
""")
        out.write("\n".join(lines) + "\n};\n")
        out.write("""
/* lanczos3, lanczos3 antialiased, lanczos5, lanczos5 antialiased: all values of them from `first` on. The picture of
 * entry i is the formula's with seed 1000 + i. */
static const struct {
    int height, width, to_height, to_width, channels, first;
} tf_lanczos_golden[] = {
""")
        out.write("\n".join(small) + "\n};\nstatic const float tf_lanczos_values[] = {\n    " + text + "};\n")


if __name__ == "__main__":
    main()
