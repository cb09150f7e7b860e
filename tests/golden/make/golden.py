# SPDX-License-Identifier: Apache-2.0
"""Collects what a real library makes of small pictures, for tests/cli/test_golden.py.

    g = Golden("colour")
    g.add("saturation_u8", "adjust_saturation 1.5", picture, expected, library="TensorFlow 2.21.0")
    g.write()

Each case is the text of an operation, the picture it is given, what the library makes of it, and how far leat may be
from that: `max` for any value and `mean` over all, both 0 where the results are equal bit for bit. `picture` paints one
with smooth parts, edges, grain, and the extreme values.
"""
import json
import pathlib

import numpy as np


def picture(height=23, width=17, channels=3, seed=0, dtype=np.uint8):
    random = np.random.RandomState(seed)
    y, x = np.mgrid[0:height, 0:width]
    waves = [np.sin(x / random.uniform(2, 7) + y / random.uniform(2, 7) + random.uniform(0, 6)) for _ in range(channels)]
    values = np.clip(np.stack(waves, -1) * 100 + 128 + random.normal(0, 12, (height, width, channels)), 0, 255)
    values[height // 3, :, :] = 0
    values[:, width // 2, :] = 255
    return values.astype(np.uint8) if dtype == np.uint8 else (values / 255).astype(dtype)


class Golden:
    def __init__(self, family):
        self.path = pathlib.Path(__file__).resolve().parent.parent / f"{family}.npz"
        self.cases, self.arrays = [], {}

    def add(self, name, text, given, expected, max=0, mean=0, library=""):
        assert name not in self.arrays and given.ndim == 3, name
        self.cases.append({"name": name, "text": text, "max": max, "mean": mean, "library": library})
        self.arrays[f"{name}.in"], self.arrays[f"{name}.out"] = given, np.asarray(expected)

    def write(self):
        np.savez_compressed(self.path, cases=np.array(json.dumps(self.cases)), **self.arrays)
        print(f"{self.path.name}: {len(self.cases)} cases, {self.path.stat().st_size} bytes")
