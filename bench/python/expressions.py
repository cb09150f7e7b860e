#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Expressions beside the operations that do the same: processor time for a picture of 224x224x3.

    PYTHONPATH=build/package bench/python/expressions.py [--rounds 15] [--side 224]

Both run in turns, in this thread, from arrays in memory; the smallest times are compared. `eval` should
take at most twice as long. Lines of a Markdown table; exit code 1 if it does not."""
import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import leat
import numpy

N = 64
WANTED = 2.0
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CASES: dict[str, tuple[str, Callable[[Any], Any], dict[str, str]]] = {
    "image / 255": ("u8", lambda ds: ds.cast("f32", scale=1 / 255), {"image": "image / 255"}),
    "(image / 127.5 - 1) * 0.5": ("u8", lambda ds: ds.cast("f32", scale=1 / 255, offset=-0.5),
                                  {"image": "(image / 127.5 - 1) * 0.5"}),
    "(image - mean) / std": ("f32", lambda ds: ds.normalize(mean=MEAN, std=STD, scale=1),
                             {"image": f"(image - {list(MEAN)}) / {list(STD)}"}),
    "clip(image * 2 + 1, -3, 3)": ("f32", lambda ds: ds.rescale(2, 1), {"image": "clip(image * 2 + 1, -3, 3)"}),
    "255 - image": ("u8", lambda ds: ds.invert(), {"image": "255 - image"}),
    "cast(image, f32) ** 0.8": ("u8", lambda ds: ds.cast("f32").adjust_gamma(0.8), {"image": "cast(image, f32) ** 0.8"}),
}


def seconds(ds: Any) -> Callable[[], float]:
    """Processor time of one epoch, for a picture."""
    pipeline = ds.batch(16).configure(synchronous=True)
    list(pipeline.batches())

    def measure() -> float:
        begun = time.process_time()
        for _ in pipeline.batches():
            pass
        return (time.process_time() - begun) / N

    return measure


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--side", type=int, default=224)
    options = parser.parse_args()
    rng = numpy.random.default_rng(1)
    shape = (N, options.side, options.side, 3)
    data = {"u8": rng.integers(0, 256, shape).astype("u1"), "f32": rng.normal(0, 1, shape).astype("f4")}
    print("| expression | operation, us | eval, us | ratio |\n|---|---|---|---|")
    worst = 0.0
    for name, (dtype, native, fields) in CASES.items():
        ds = leat.from_arrays({"image": data[dtype]})
        ways = [seconds(native(ds)), seconds(ds.eval(**fields))]
        best = [float("inf")] * len(ways)
        for _ in range(options.rounds):
            best = [min(old, way()) for old, way in zip(best, ways, strict=True)]
        ratio = best[1] / best[0]
        worst = max(worst, ratio)
        print(f"| `{name}` | {best[0] * 1e6:.1f} | {best[1] * 1e6:.1f} | {ratio:.2f} |", flush=True)
    return int(worst > WANTED)


if __name__ == "__main__":
    sys.exit(main())
