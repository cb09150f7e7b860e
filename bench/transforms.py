#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Transforms of one thread against the libraries that people call: an antialiased resize, and ImageDataGenerator's
full set (rotation 20, shifts 0.2, shear 0.2, zoom 0.2, flip, nearest fill, order 1).

    bench/transforms.py [--rounds 7] [--seconds 1] [--leat build/release/cli/leat]    needs numpy, scipy, cv2, Pillow

leat runs the whole pipeline: raw records are read, their checksums compared, parameters drawn, batches filled. The
others get pictures that lie in memory and matrices that are made already, so the part of the time that leat's transform
stage takes is compared with them too. All take turns in one run, and what counts is processor time a picture, so that
other programs on the machine change little.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np
import PIL
import scipy.ndimage
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests/cli"), str(ROOT / "tests/golden/make")]
import tfrecord  # noqa: E402
from golden import picture  # noqa: E402

SET = "image_data_generator rotation=20 width_shift=0.2 height_shift=0.2 shear=0.2 zoom=0.2 horizontal_flip=true"


def draw(random, n):
    """A matrix from (x, y) of the output to the input, and whether to flip."""
    turn, slant = np.deg2rad(random.uniform(-20, 20)), np.deg2rad(random.uniform(-0.2, 0.2))
    tx, ty = random.uniform(-0.2, 0.2, 2) * n
    zx, zy = random.uniform(0.8, 1.2, 2)
    c, s, middle = np.cos(turn), np.sin(turn), n / 2 - 0.5
    m = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ np.array([[1, 0, tx], [0, 1, ty], [0, 0, 1]])
    m = m @ np.array([[1, -np.sin(slant), 0], [0, np.cos(slant), 0], [0, 0, 1]]) @ np.diag([zx, zy, 1])
    there, back = np.eye(3), np.eye(3)
    there[:2, 2], back[:2, 2] = middle, -middle
    return there @ m @ back, random.rand() < 0.5


def warp_scipy(image, drawn):
    m, flip = drawn
    channels = np.rollaxis(image.astype(np.float32), 2, 0)
    swapped = m[[1, 0]][:, [1, 0, 2]]
    made = [scipy.ndimage.affine_transform(c, swapped[:, :2], swapped[:, 2], order=1, mode="nearest") for c in channels]
    made = np.rollaxis(np.stack(made, 0), 0, 3)
    return made[:, ::-1] if flip else made


def warp_opencv(image, drawn):
    m, flip = drawn
    made = cv2.warpAffine(image, m[:2], image.shape[1::-1], flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
                          borderMode=cv2.BORDER_REPLICATE)
    return (cv2.flip(made, 1) if flip else made).astype(np.float32)


def resize_pillow(image, drawn):
    return Image.fromarray(image).resize((224, 224), Image.BILINEAR)


def resize_opencv(image, drawn):
    return cv2.resize(image, (224, 224), interpolation=cv2.INTER_AREA)


# What, height, width, leat's operation, batch, records in the file; then others and how many times as fast is wanted.
CASES = [
    ("resize to 224x224, antialiased", 375, 500, "resize 224 224 flavour=pil", 32, 128,
     [("Pillow", resize_pillow, 4.5), ("OpenCV INTER_AREA", resize_opencv, 4.5)]),
    ("ImageDataGenerator's set", 224, 224, SET, 32, 128,
     [("SciPy as in Keras", warp_scipy, 25), ("OpenCV warpAffine", warp_opencv, 1.7)]),
    ("ImageDataGenerator's set", 32, 32, SET, 256, 4096,
     [("SciPy as in Keras", warp_scipy, 60), ("OpenCV warpAffine", warp_opencv, 10)]),
]


def loop(function, images, draws, seconds):
    """Processor seconds a picture."""
    wall, cpu, n = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - wall < seconds:
        for image, drawn in zip(images, draws):
            function(image, drawn)
        n += len(images)
    return (time.process_time() - cpu) / n


def by_leat(options, text, cache):
    done = subprocess.run([options.leat, "bench", text, "--threads", "1", "--seconds", str(options.seconds), "--json", "-q",
                           "--cache-dir", str(cache)], capture_output=True, text=True, check=True)
    made = json.loads(done.stdout)
    whole = made["cpu_s"] / made["samples"]
    return whole, whole * made["stages"]["transform"] / sum(made["stages"].values())


def compare(options, case, folder):
    title, height, width, operation, batch, n, others = case
    random = np.random.RandomState(0)
    images = [picture(height, width, seed=k) for k in range(16 if width > 100 else 256)]
    draws = [draw(random, width) for _ in images]
    path = Path(folder) / f"raw{width}.tfrecord"
    records = [tfrecord.record(tfrecord.example({"image": image.tobytes()})) for image in images]
    path.write_bytes(b"".join(records) * (n // len(images)))
    text = (f"tfrecord {path} | parse image:bytes | decode_raw image u8 | reshape image {height} {width} 3 | {operation} | "
            f"batch {batch}")
    ours, theirs = [], {name: [] for name, _, _ in others}
    for _ in range(options.rounds):
        ours.append(by_leat(options, text, folder))
        for name, function, _ in others:
            theirs[name].append(loop(function, images[:16], draws, options.seconds))
    for name, _, wanted in others:
        cells = []
        for part in (0, 1):
            ratios = sorted(their / our[part] for our, their in zip(ours, theirs[name]))
            cells.append(f"**{statistics.median(ratios):.1f}** ({ratios[0]:.1f} to {ratios[-1]:.1f})")
        mine, other = statistics.median(t[0] for t in ours), statistics.median(theirs[name])
        print(f"| {title} | {height}x{width}x3 | {1 / mine:,.0f}/s | {name} {1 / other:,.0f}/s | {cells[0]} | {cells[1]} | "
              f"{wanted} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1, help="of each in each round")
    parser.add_argument("--leat", default=os.environ.get("LEAT", str(ROOT / "build/release/cli/leat")))
    options = parser.parse_args()
    cv2.setNumThreads(1)
    print(f"Pillow {PIL.__version__}, SciPy {scipy.__version__}, OpenCV {cv2.__version__}; pictures per second of "
          "processor time\n")
    print("| what | picture | leat | other | ratio, whole pipeline | transform alone | wanted |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            compare(options, case, folder)


if __name__ == "__main__":
    main()
