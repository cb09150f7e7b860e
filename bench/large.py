#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Large photos with `decode scale=auto`: how much faster than exact decoding, the limit, and how much pixels differ.

    bench/large.py --photos DIR [--rounds 5] [--epochs 5] [--folder build/bench] [--leat build/release/cli/leat]    needs Pillow

The pictures are mosaics of 12 megapixels, made of photos as they are (not enlarged) and kept in the folder. A JPEG of an enlarged
photo has few bits a pixel, and entropy decoding would cost too little. Exact decoding and scale=auto take turns, and a ratio is the
median over the turns. Rates are by processor time, which other programs disturb less: pictures for each second of one core.

Entropy decoding must be done at any scale, so it is the limit. Without positions that of the pipeline itself is measured: the same
crops, but their luma alone, at 1/8 and resized to one pixel. The files are read and the blocks above, beside and inside of the crops
skipped bit by bit, and little else is done. The program `kernel` measures it without a pipeline and without files, for parts that end
higher up than those of random_resized_crop.
"""
from __future__ import annotations

import argparse
import re
import resource
import statistics
import subprocess
import sys
from pathlib import Path

from PIL import Image
from ratios import EXTENSIONS, leat, machine, once, row

WIDTH, HEIGHT, N, TILE = 4000, 3000, 8, 300
ENTROPY = "decode scale=auto channels=1 | random_resized_crop 1"  # next to nothing but entropy decoding, up to the end of each crop
CHAINS = ["random_resized_crop 224", "resize_shorter 256 | center_crop 224", "resize 224 224 antialias=true", "resize 224 224"]


def make_mosaics(photos: Path, folder: Path) -> None:
    """Every picture has photos side by side, in rows of one height; what is larger is cut off."""
    files = sorted(path for path in photos.rglob("*") if path.suffix.lower() in EXTENSIONS)
    images = []
    for path in files:
        with Image.open(path) as image:
            if image.width >= TILE and image.height >= TILE:
                images.append(image.convert("RGB").crop((0, 0, image.width, TILE)))
    if not images:
        sys.exit(f"large: {photos} has no photos of {TILE}x{TILE} pixels or more")
    (folder / "all").mkdir(parents=True)
    at = 0
    for number in range(N):
        mosaic = Image.new("RGB", (WIDTH, HEIGHT))
        for y in range(0, HEIGHT, TILE):
            x = 0
            while x < WIDTH:
                mosaic.paste(images[at % len(images)], (x, y))
                x += images[at % len(images)].width
                at += 1
        mosaic.save(folder / "all" / f"{number}.jpg", quality=92, subsampling="4:2:0")


def decoded(chain: str, auto: bool) -> str:
    return f"decode{' scale=auto' * auto} | {chain}"


def text(folder: Path, decoding: str, more: str = "") -> str:
    return f"folder '{folder}' | {decoding} | batch 8{more}"


def compare_speed(options: argparse.Namespace, folder: Path, what: str, chain: str, more: str, threads: int, *limit: str) -> None:
    def rate(decoding: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        leat(options, "run", text(folder, decoding, more), "--quiet", "--sink", "null", "--threads", str(threads), "--epochs",
             str(options.epochs), "--cache-dir", str(options.folder / "cache"))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return options.epochs * N / (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    ways = (decoded(chain, False), decoded(chain, True), *limit)
    rate(ways[0])  # the first run notes positions
    turns = [[rate(way) for way in ways] for _ in range(options.rounds)]
    exact, *others = zip(*turns)
    rates = [f"{statistics.median(column):.1f}/s" for column in (exact, *others)]
    ratios = [f"{statistics.median(b / a for a, b in zip(exact, column)):.2f}" for column in others]
    row(what, threads, rates[0], rates[1], f"**{ratios[0]}**", f"{rates[2]}, {ratios[1]}" if limit else "", "at least 1.60")


def print_limit(options: argparse.Namespace, folder: Path) -> None:
    kernel = Path(options.leat).resolve().parent.parent / "tests" / "kernel"
    said = subprocess.run([kernel, "--photos", folder, str(options.rounds)], stdout=subprocess.PIPE, text=True, check=True).stdout
    said = said.partition("JPEGs made progressive:")[0]  # the same names follow
    rates = {name.strip(): float(rate) for name, rate in re.findall(r"^JPEG, (.*?)\s+[\d.]+/s\s+([\d.]+)/s", said, re.M)}
    limit = rates["cropped, entropy decoding alone"]
    print(f"\nDecoding alone, one thread, processor time, parts of the same pictures: {rates['cropped']:.1f}/s exact, "
          f"{rates['scaled, cropped']:.1f}/s with scale=auto ({rates['scaled, cropped'] / rates['cropped']:.2f} times). Entropy "
          f"decoding alone, which is the limit: {limit:.1f}/s ({limit / rates['cropped']:.2f} times).")


def print_difference(options: argparse.Namespace, folder: Path, what: str, chain: str) -> None:
    done = subprocess.run([options.leat, "compare", "-q", "-f", "image", *(text(folder, decoded(chain, auto)) for auto in (False, True))],
                          stdout=subprocess.PIPE, text=True)
    mean, largest = re.search(r"mean ([\d.e+-]+), largest ([\d.]+)", done.stdout).groups()
    row(what, f"`{chain.replace('|', chr(92) + '|')}`", mean, largest)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--photos", type=Path, required=True, help="a folder of photos of 300x300 pixels or more")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=5, help="of the mosaics, in every turn")
    parser.add_argument("--folder", type=Path, default=Path("build/bench"))
    parser.add_argument("--leat", default="build/release/cli/leat")
    options = parser.parse_args()
    if not options.photos.is_dir():
        sys.exit(f"large: there is no folder {options.photos}")
    options.folder.mkdir(parents=True, exist_ok=True)
    mosaics = once(options.folder / "mosaics", lambda: make_mosaics(options.photos, options.folder / "mosaics"))
    sizes = [path.stat().st_size for path in (mosaics / "all").iterdir()]
    print(f"{machine()}; {len(sizes)} mosaics of {WIDTH}x{HEIGHT}, {8 * sum(sizes) / len(sizes) / WIDTH / HEIGHT:.1f} bits a pixel; "
          f"{options.rounds} turns, processor time\n")
    row("pipeline", "threads", "exact", "scale=auto", "ratio", "entropy decoding alone, the limit", "wanted")
    row(*["---"] * 7)
    for threads in (1, 2):
        compare_speed(options, mosaics, "random_resized_crop 224, later epochs", CHAINS[0], "", threads)
        compare_speed(options, mosaics, "the same without positions", CHAINS[0], " | options positions=off", threads, ENTROPY)
        compare_speed(options, mosaics, CHAINS[1].replace(" |", ","), CHAINS[1], "", threads)
    print_limit(options, mosaics)
    print("\nDifference to exact decoding, in levels of 0 to 255, after the resize:\n")
    row("pictures", "behind decode", "mean", "largest")
    row(*["---"] * 4)
    for chain in CHAINS:
        print_difference(options, mosaics, "mosaics", chain)
    for chain in ("random_resized_crop 64", "resize_shorter 72 | center_crop 64"):
        print_difference(options, options.photos, "photos", chain)
    return 0


if __name__ == "__main__":
    sys.exit(main())
