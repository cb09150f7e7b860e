#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""ImageDataGenerator(...).flow(x) of leat against Keras's own, on one core.

    PYTHONPATH=build/package KERAS_BACKEND=jax bench/python/generator.py [--rounds 5] [--core 0]

Rotation, shifts, shear, zoom and flip, batches of 32; pictures as bytes, and as floats. Times are of the processor, with all
threads of the process. Both run in turns, and the ratio of each round is that of its two times; the table has the
median. Lines of a Markdown table."""
import argparse
import os
import statistics
import time
import warnings

import numpy

SETTINGS = {"rotation_range": 20, "width_shift_range": 0.2, "height_shift_range": 0.2, "shear_range": 0.2, "zoom_range": 0.2,
            "horizontal_flip": True}
SIZES = {32: (4096, 512, 64, 60), 224: (256, 64, 3, 40)}  # side: pictures, batches of leat and of Keras, wanted ratio


def row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def seconds(flow, batches: int) -> float:
    """Of one picture."""
    begun = time.process_time()
    pictures = sum(len(next(flow)) for _ in range(batches))
    return (time.process_time() - begun) / pictures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--core", type=int, default=0)
    options = parser.parse_args()
    os.sched_setaffinity(0, {options.core})
    warnings.simplefilter("ignore")
    from keras.src.legacy.preprocessing.image import ImageDataGenerator as Keras
    from leat._idg import ImageDataGenerator as Leat

    row("pictures", "Keras", "leat", "ratio", "wanted")
    row(*["---"] * 5)
    for side, (n, batches, of_keras, wanted) in SIZES.items():
        for dtype in ("uint8", "float32"):
            x = (numpy.random.rand(n, side, side, 3) * 255).astype(dtype)
            mine, other = (kind(**SETTINGS).flow(x, batch_size=32, seed=1) for kind in (Leat, Keras))
            seconds(mine, 8), seconds(other, 1)
            rounds = [(seconds(other, of_keras), seconds(mine, batches)) for _ in range(options.rounds)]
            theirs, ours = (statistics.median(times) * 1e6 for times in zip(*rounds))
            ratio = statistics.median(theirs / ours for theirs, ours in rounds)
            row(f"{side}x{side}x3 {dtype}", f"{theirs:.0f} us", f"{ours:.1f} us", f"{ratio:.1f}", f"at least {wanted}")


if __name__ == "__main__":
    main()
