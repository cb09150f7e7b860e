#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What colour costs: pipelines over raw 224x224x3 records against the plain store of the same records as f32.

    bench/colour.py [--seconds 2] [--rounds 5] [--threads 1] [--folder build/bench] [--leat build/release/cli/leat]

All pipelines take turns, and a ratio is the median over the rounds: how many times as long as the plain store. Each
reads its records and checks their sums, so a part of every figure is not colour; `kernel --bench` has the kernels by
themselves.
Where Pillow is installed, the last lines are a color_jitter of the same pictures by Pillow, one thread, from memory.
"""
from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
READ = "parse image:bytes label:int64 | decode_raw image u8 | reshape image 224 224 3"
UNIT = "cast image f32 scale=1/255 | random_brightness 0.2 | random_contrast 0.8 1.2"
HSV = "random_saturation 0.8 1.2 | random_hue 0.05"
END = "random_flip_left_right | normalize mean=0.5 std=0.25"
LINES = [
    ("u8 to f32, nothing else", "cast image f32", None),
    ("f32: brightness, contrast, flip, normalise", f"{UNIT} | {END}", 2),
    ("f32: the same with saturation and hue", f"{UNIT} | {HSV} | {END}", 4),
    ("u8 as tf.image: the same", f"random_brightness 0.2 | random_contrast 0.8 1.2 | {HSV} | {END}", None),
    ("color_jitter 0.4 0.4 0.4 0.1, flip, normalise", f"color_jitter 0.4 0.4 0.4 0.1 | {END}", None),
    ("gaussian_noise 0.1", "cast image f32 scale=1/255 | gaussian_noise 0.1", None),
    ("random_gamma 0.8 1.25 of f32", "cast image f32 scale=1/255 | random_gamma 0.8 1.25", None),
]


def leat(options: argparse.Namespace, *words: str) -> str:
    done = subprocess.run([options.leat, *words], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"colour: `leat {words[0]}` failed with exit code {done.returncode}")
    return done.stdout


def records(options: argparse.Namespace) -> Path:
    """1000 raw pictures, made once."""
    photos, raw = options.folder / "colour-photos", options.folder / "colour-raw224"
    if not (options.folder / "colour.done").exists():
        leat(options, "synth", str(photos), "--quiet", "--images", "1000", "--classes", "10", "--seed", "1")
        leat(options, "pack", str(photos), str(raw), "--quiet", "--raw", "--size", "224x224")
        (options.folder / "colour.done").touch()
    return raw


def microseconds(options: argparse.Namespace, raw: Path, text: str) -> float:
    spec = f"tfrecord '{raw}/*.tfrecord' | {READ} | {text} | batch 32"
    out = leat(options, "bench", spec, "--json", "--quiet", "--threads", str(options.threads), "--seconds",
               str(options.seconds), "--cache-dir", str(options.folder / "cache"))
    return 1e6 * options.threads / json.loads(out)["samples_per_s"]


def pillow() -> float | None:
    """A picture by Pillow, as torchvision's ColorJitter calls it, in the middle of the ranges."""
    try:
        import numpy
        from PIL import Image, ImageEnhance
    except ImportError:
        return None
    image = Image.fromarray(numpy.random.RandomState(0).randint(0, 256, (224, 224, 3), "uint8"))
    best = 1e9
    for _ in range(30):
        begin = time.perf_counter()
        made = ImageEnhance.Contrast(ImageEnhance.Brightness(image).enhance(1.2)).enhance(0.8)
        made = ImageEnhance.Color(made).enhance(1.2)
        h, s, v = made.convert("HSV").split()
        turned = numpy.array(h, dtype=numpy.uint8) + numpy.uint8(7)
        Image.merge("HSV", (Image.fromarray(turned), s, v)).convert("RGB")
        best = min(best, time.perf_counter() - begin)
    return 1e6 * best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=2, help="for each pipeline in each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=ROOT / "build/bench", help="where data is kept")
    parser.add_argument("--leat", default=os.environ.get("LEAT", str(ROOT / "build/release/cli/leat")))
    options = parser.parse_args()
    if not Path(options.leat).exists():
        sys.exit(f"colour: there is no {options.leat}: run make first")
    options.folder.mkdir(parents=True, exist_ok=True)
    raw = records(options)
    rounds = [[microseconds(options, raw, text) for _, text, _ in LINES] for _ in range(options.rounds)]
    print("| 224x224x3 | us a picture and thread | of the plain store | wanted |\n|---|---|---|---|")
    for i, (what, _, wanted) in enumerate(LINES):
        ratio = statistics.median(times[i] / times[0] for times in rounds)
        print(f"| {what} | {statistics.median(times[i] for times in rounds):.0f} | **{ratio:.2f}** | "
              f"{f'at most {wanted}' if wanted else ''} |")
    theirs = pillow()
    if theirs:
        print(f"| the jitter by Pillow, without flip and normalise | {theirs:.0f} | | |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
