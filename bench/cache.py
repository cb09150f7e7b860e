#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a cache is worth and what it costs, as lines of a Markdown table.

    bench/cache.py [--photos FOLDER] [--seconds 5] [--folder build/bench] [--leat build/release/cli/leat]

Cached epochs of pictures of 224x224 u8, shuffled, against a bare loop that gathers samples of the same size in no order
from memory and stores them in a ring of the same size: both run in turns in one process (leat bench --roofline), so that
the ratio does not depend on how busy the machine is. Then the first epoch, which fills the cache, against the same epoch
without one, in processor time."""
import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def bench(options: argparse.Namespace, text: str, threads: int) -> dict:
    return json.loads(subprocess.run([options.leat, "bench", text, "--roofline", "--json", "--quiet", "--threads", str(threads),
                                      "--seconds", str(options.seconds)], check=True, capture_output=True, text=True).stdout)


def cached(options: argparse.Namespace, kept: Path) -> None:
    shutil.rmtree(kept, ignore_errors=True)
    row("cached epoch", "threads", "leat", "bare gather and store", "ratio", "wanted")
    print("|---|---|---|---|---|---|")
    for threads in (1, 2):
        rates = []
        for where, cache, wanted in (("in memory", "cache", "at least 0.80"), ("on disk, in the page cache", f"cache '{kept}'", "")):
            # The first run on disk fills it.
            text = f"synth 1000 224 224 | {cache} | shuffle | batch 64"
            result = [bench(options, text, threads) for _ in range(2)][-1]
            assert result["cache_bad"] == 0 and (cache == "cache" or result["cache_misses"] == 0)
            rates.append(result["ratio"])
            row(where, threads, f"{result['samples_per_s']:,.0f}/s", f"{result['roofline_samples_per_s']:,.0f}/s",
                f"**{result['ratio']:.2f}**", wanted)
        row("on disk against in memory", threads, "", "", f"**{rates[1] / rates[0]:.2f}**", "at least 0.80")
    shutil.rmtree(kept, ignore_errors=True)


def first_epoch(options: argparse.Namespace, photos: Path, kept: Path) -> None:
    text = f"folder '{photos}' labels=none | decode | resize 224 224 flavour=pil | {{}}batch 64"
    used: dict[str, list[float]] = {"": [], "cache | ": [], f"cache '{kept}' | ": []}
    for _ in range(7):
        for cache, times in used.items():
            shutil.rmtree(kept, ignore_errors=True)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([options.leat, "run", text.format(cache), "--quiet"], check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    shutil.rmtree(kept, ignore_errors=True)
    print()
    row("first epoch: folder, decode, resize 224x224", "processor time", "against none", "wanted")
    print("|---|---|---|---|")
    none, memory, disk = (statistics.median(times) for times in used.values())
    for name, seconds in (("no cache", none), ("filling a cache in memory", memory), ("filling a cache on disk", disk)):
        row(name, f"{seconds:.2f} s", f"**{seconds / none:.2f}**", "" if seconds is none else "at most 1.10")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--photos", type=Path, help="a folder of pictures")
    parser.add_argument("--seconds", type=float, default=5, help="for each pipeline, and as long for its ceiling")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/bench", help="where data is kept")
    parser.add_argument("--leat", default=os.environ.get("LEAT", str(ROOT / "build/release/cli/leat")))
    options = parser.parse_args()
    if not Path(options.leat).exists():
        sys.exit(f"cache: there is no {options.leat}: run make first")
    options.folder.mkdir(parents=True, exist_ok=True)
    photos = options.photos or options.folder / "photos"
    if not photos.exists():
        subprocess.run([options.leat, "synth", str(photos), "--images", "1000", "--classes", "10", "--seed", "1"], check=True)
    cached(options, options.folder / "kept")
    first_epoch(options, photos, options.folder / "kept")
    return 0


if __name__ == "__main__":
    sys.exit(main())
