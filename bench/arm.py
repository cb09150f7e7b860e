#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions that a photo takes on 64-bit ARM, under qemu, with plain C and with NEON; and on this machine, by
callgrind, with plain C and with its own vector kernels.

    make test-arm                                     builds build/arm
    bench/arm.py [--photos DIR] [--samples 64] [--functions]

What a program does before its second batch is taken off. Instructions are not time: NEON has half as many values in a register
as AVX2, and processors differ in how many instructions they do at once. --functions prints where they are executed.
"""
from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

import instructions
import ratios

ROOT = ratios.ROOT
BATCH = 16
PIPELINES = {
    "random_resized_crop 224, flip, normalize": "shuffle | decode | random_resized_crop 224 | random_flip_left_right"
                                                " | normalize imagenet layout=nchw",
    "resize 224x224": "decode | resize 224 224",
}


def plugin(folder: Path) -> Path:
    library = folder / "count_insns.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", library, ROOT / "bench/count_insns.c"], check=True)
    return library


def count_arm(options: argparse.Namespace, spec: str, batches: int) -> tuple[int, str]:
    """Instructions of a run of so many batches, on one thread; and by function, as text."""
    done = subprocess.run(
        ["qemu-aarch64", "-plugin", options.plugin, "-L", ROOT / "build/arm-sysroot", ROOT / "build/arm/cli/leat", "run", spec,
         "--synchronous", "--quiet", "--epochs", "-1", "--memory", "1GiB", "--cache-dir", options.folder / "arm-cache",
         "--batches", str(batches)], capture_output=True, text=True)
    found = re.search(r"^instructions (\d+)$", done.stderr, re.M)
    if done.returncode != 0 or not found:
        sys.exit(f"arm: {done.stderr[-400:]}")
    return int(found[1]), "\n".join(re.findall(r"^in \d+ \S+$", done.stderr, re.M))


def count_here(options: argparse.Namespace, spec: str, batches: int) -> tuple[int, str]:
    return instructions.count(str(ROOT / "build/release/cli/leat"), spec, options.folder / "arm-cache", batches)[0], ""


def of_a_photo(count, options: argparse.Namespace, spec: str, mask: str | None) -> tuple[float, str]:
    os.environ.pop("LEAT_CPU_MASK", None)
    if mask:
        os.environ["LEAT_CPU_MASK"] = mask
    batches = max(options.samples // BATCH, 1)
    (first, _), (all_of_them, functions) = count(options, spec, 1), count(options, spec, 1 + batches)
    return (all_of_them - first) / (batches * BATCH), functions


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--photos", type=Path, help="a folder of pictures, one sub-folder a class")
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--folder", type=Path, default=ROOT / "build/bench", help="where data is kept")
    parser.add_argument("--functions", action="store_true", help="where NEON's instructions are executed")
    options = parser.parse_args()
    options.leat = str(ROOT / "build/release/cli/leat")
    options.folder.mkdir(parents=True, exist_ok=True)
    photos = options.photos or ratios.once(options.folder / "photos", lambda: ratios.leat(
        options, "synth", str(options.folder / "photos"), "--images", "1000", "--classes", "10", "--seed", "1"))
    options.plugin = plugin(options.folder)
    ratios.row("instructions a photo", "ARM, plain C", "ARM, NEON", "NEON / C", "x86, plain C", "x86, vectors", "vectors / C")
    print("|---" * 7 + "|")
    for name, text in PIPELINES.items():
        spec = f"folder '{photos}' | {text} | batch {BATCH}"
        cells, functions = [name], ""
        for count in (count_arm, count_here):
            plain, _ = of_a_photo(count, options, spec, "0")
            vectors, listed = of_a_photo(count, options, spec, None)
            functions += listed
            cells += [f"{plain:,.0f}", f"{vectors:,.0f}", f"**{vectors / plain:.2f}**"]
        ratios.row(*cells)
        if options.functions:
            print(functions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
