#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures leat against what the machine can do at best and prints one table in Markdown.

    bench/ratios.py [--photos DIR] [--seconds 5] [--lines 3-6] [--folder build/bench] [--leat build/release/cli/leat]

Every line is one run of `leat bench --roofline`: the pipeline and a bare loop on the same bytes take turns, with the
same number of threads, and the ratio is the median over the turns. The data is made once, with `leat synth` and
`leat pack`, and kept in the folder; --photos takes pictures of your own instead. --lines
measures some pipelines alone, counted from 1; --lines 0-0 only makes the data.
"""
from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTENSIONS = {".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp"}
RAW = "parse image:bytes label:int64 | decode_raw image u8 | reshape image {0} {0} 3 | cast image f32 scale=1/255"


def leat(options: argparse.Namespace, *words: str) -> str:
    done = subprocess.run([options.leat, *words], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"ratios: `leat {words[0]}` failed with exit code {done.returncode}")
    return done.stdout


def test_program(build: Path, name: str) -> Path:
    """A program of tests/ that measures too. A folder that was configured before the tests' packages were there does not know it."""
    ninja = ["/usr/bin/ninja", "-C", str(build), "--quiet", f"tests/{name}"]
    if subprocess.run(ninja, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        for command in ([str(ROOT / "scripts/install-deps")], ["/usr/bin/meson", "setup", "--reconfigure", str(build)], ninja):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    return build / "tests" / name


def once(folder: Path, make) -> Path:
    """Makes a folder unless it is there whole."""
    mark = folder.with_name(folder.name + ".done")
    if not mark.exists():
        shutil.rmtree(folder, ignore_errors=True)
        print(f"ratios: making {folder}", file=sys.stderr, flush=True)
        make()
        mark.touch()
    return folder


def spread(source: Path, folder: Path, n: int) -> None:
    """n pictures from fewer: the same files under many names, class by class."""
    files = sorted(path for path in source.rglob("*") if path.suffix.lower() in EXTENSIONS)
    if not files:
        sys.exit(f"ratios: {source} has no pictures")
    for i in range(n):
        path = files[i % len(files)]
        inside = path.relative_to(source).parts
        place = folder / (inside[0] if len(inside) > 1 else "all") / f"{i:06}{path.suffix}"
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(path, place)
        except OSError:  # another file system
            shutil.copyfile(path, place)


def is_420(path: Path) -> bool:
    """Whether a file is a JPEG with chroma of half the width and half the height."""
    data = path.read_bytes()
    at = 2
    while data[:2] == b"\xff\xd8" and at + 9 < len(data) and data[at] == 0xFF and data[at + 1] != 0xDA:
        if 0xC0 <= data[at + 1] <= 0xC2:  # baseline, extended or progressive
            return data[at + 9] == 3 and data[at + 11] == 0x22
        at += 2 + int.from_bytes(data[at + 2:at + 4], "big")
    return False


def choose(source: Path, folder: Path, wanted) -> None:
    """Those files that are wanted, class by class."""
    for path in sorted(path for path in source.rglob("*") if path.suffix.lower() in EXTENSIONS and wanted(path)):
        place = folder / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)


def save_as(options: argparse.Namespace, kind: str, photos: Path, folder: Path) -> None:
    """300 of the pictures as files of another kind; without Pillow painted PNGs, and none of any other kind."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        from PIL import Image
    except ImportError:
        if kind == "png":
            leat(options, "synth", str(folder), "--images", "300", "--classes", "10", "--seed", "1", "--format", kind)
        return
    files = sorted(path for path in photos.rglob("*") if path.suffix.lower() in EXTENSIONS)
    for path in files[::max(1, len(files) // 300)]:
        place = (folder / path.relative_to(photos)).with_suffix("." + kind)
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.open(path).convert("RGB").save(place)


def make_progressive(source: Path, folder: Path) -> None:
    """The JPEGs of a folder as progressive files of nearly the same pixels; none without Pillow."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        from PIL import Image
    except ImportError:
        return
    choose(source, folder, lambda path: path.suffix.lower() in (".jpg", ".jpeg"))
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        with Image.open(path) as image:
            image.save(path, quality="keep", progressive=True)


def bench(options: argparse.Namespace, spec: str, threads: int) -> dict:
    print(f"ratios: {spec}, {threads} threads", file=sys.stderr, flush=True)
    return json.loads(leat(options, "bench", spec, "--roofline", "--json", "--quiet", "--threads", str(threads),
                           "--seconds", str(options.seconds), "--cache-dir", str(options.folder / "cache")))


def first_batch(options: argparse.Namespace, spec: str) -> float:
    """Seconds from opening to the first batch, by a new process each time; the first one makes the index."""
    times = [json.loads(leat(options, "bench", spec, "--json", "--quiet", "--seconds", "0", "--cache-dir",
                             str(options.folder / "cache")))["first_batch_s"] for _ in range(6)]
    return statistics.median(times[1:])


def machine() -> str:
    name = "unknown processor"
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{name}, {len(os.sched_getaffinity(0))} cores"


def row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def pair(what: str, result: dict, wanted: str, ceiling: str) -> None:
    row(what, result["threads"], f"{result['samples_per_s']:,.0f}/s", f"{result['roofline_samples_per_s']:,.0f}/s {ceiling}",
        f"**{result['ratio']:.2f}**", wanted)


def workloads(options: argparse.Namespace, folder: Path) -> tuple[list, Path]:
    """Makes the data. Gives (what, text, what is asked for, the ceiling) of each pipeline, and a folder of 10,000 pictures."""
    photos = options.photos or once(folder / "photos", lambda: leat(
        options, "synth", str(folder / "photos"), "--images", "1000", "--classes", "10", "--seed", "1"))
    some = once(folder / "some", lambda: spread(photos, folder / "some", 1000))
    many = once(folder / "many", lambda: spread(photos, folder / "many", 10000))
    halved = once(folder / "halved", lambda: choose(photos, folder / "halved", is_420))
    pngs = once(folder / "png", lambda: save_as(options, "png", photos, folder / "png"))
    webps = once(folder / "webp", lambda: save_as(options, "webp", photos, folder / "webp"))
    scans = once(folder / "progressive", lambda: make_progressive(photos, folder / "progressive"))
    raw256 = once(folder / "raw256", lambda: leat(options, "pack", str(some), str(folder / "raw256"), "--raw", "--size", "256x256"))
    raw32 = once(folder / "raw32", lambda: leat(options, "pack", str(many), str(folder / "raw32"), "--raw", "--size", "32x32"))

    crop = (f"folder '{photos}' | shuffle | decode | random_resized_crop 224 | random_flip_left_right | "
            "normalize imagenet layout=nchw | batch 64")
    crop_halved = crop.replace(f"'{photos}'", f"'{halved}'")
    with_420 = any(path.is_file() for path in halved.rglob("*"))
    with_webps = any(path.is_file() for path in webps.rglob("*"))
    with_scans = any(path.is_file() for path in scans.rglob("*"))
    for pictures in [photos] + [halved] * with_420:
        leat(options, "index", "--positions", "--quiet", "--cache-dir", str(folder / "cache"), str(pictures))
    augment = RAW.format(256) + " | random_brightness 0.2 | random_flip_left_right | batch 32"
    lines = [
        ("folder, decode, resize 224x224, batch 64", f"folder '{photos}' | decode | resize 224 224 | batch 64",
         "at least 0.80", "bare libjpeg-turbo"),
        ("folder, random_resized_crop 224, flip, normalise to f32 planes, batch 64; without positions",
         crop + " | options positions=off", "at least 2.35", "bare libjpeg-turbo"),
        ("the same, later epochs with positions", crop, "at least 2.90", "bare libjpeg-turbo"),
        ("the same with accuracy=fast, TensorFlow's pixels; without positions",
         crop + " | options accuracy=fast positions=off", "at least 2.00", "bare libjpeg-turbo, fast IDCT"),
        ("the same, later epochs with positions", crop + " | options accuracy=fast", "at least 2.40",
         "bare libjpeg-turbo, fast IDCT"),
        *[("the exact pipeline, those files alone that are 4:2:0; without positions", crop_halved + " | options positions=off",
           "at least 2.30", "bare libjpeg-turbo"),
          ("the same, later epochs with positions", crop_halved, "at least 2.50", "bare libjpeg-turbo")] * with_420,
        ("folder of PNGs, decode, resize 224x224, batch 64", f"folder '{pngs}' | decode | resize 224 224 | batch 64",
         "at least 2.00", "bare libpng"),
        *[("folder of progressive JPEGs, decode, resize 224x224, batch 64",
           f"folder '{scans}' | decode | resize 224 224 | batch 64", "at least 1.40", "bare libjpeg-turbo")] * with_scans,
        *[("folder of WebPs, decode, resize 224x224, batch 64", f"folder '{webps}' | decode | resize 224 224 | batch 64",
           "at least 0.80", "bare libwebp"),
          ("the same files, random_resized_crop 224, flip, normalise to f32 planes, batch 64", crop.replace(f"'{photos}'", f"'{webps}'"),
           "at least 1.00", "bare libwebp")] * with_webps,
        ("raw 256x256x3 records, f32/255, brightness, flip, batch 32", f"tfrecord '{raw256}/*.tfrecord' | {augment}",
         "at least 1.10", "memcpy"),
        ("raw 32x32x3 records to f32, batch 128", f"tfrecord '{raw32}/*.tfrecord' | {RAW.format(32)} | batch 128",
         "at least 0.60", "memcpy"),
    ]
    return lines, many


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--photos", type=Path, help="a folder of pictures, one sub-folder a class")
    parser.add_argument("--seconds", type=float, default=5, help="for each pipeline, and as long for its ceiling")
    parser.add_argument("--lines", help="only these pipelines, FIRST-LAST, counted from 1")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/bench", help="where data is kept")
    parser.add_argument("--leat", default=os.environ.get("LEAT", str(ROOT / "build/release/cli/leat")))
    options = parser.parse_args()
    if not Path(options.leat).exists():
        sys.exit(f"ratios: there is no {options.leat}: run make first")
    if options.photos and not options.photos.is_dir():
        sys.exit(f"ratios: there is no folder {options.photos}")
    folder = options.folder
    if options.photos:  # other pictures, other data
        folder = options.folder = folder / ("of-" + str(options.photos.resolve()).strip("/").replace("/", "-"))
    folder.mkdir(parents=True, exist_ok=True)

    lines, many = workloads(options, folder)
    chosen = range(1, len(lines) + 1)
    if options.lines:
        first, _, last = options.lines.partition("-")
        if not first.isdigit() or not (last or first).isdigit():
            sys.exit(f"ratios: --lines {options.lines}: write FIRST-LAST, as in 3-6")
        chosen = range(int(first), int(last or first) + 1)
    print(f"{machine()}; {options.photos.name if options.photos else 'leat synth'} pictures; "
          f"{options.seconds:g} s for each pipeline and each ceiling\n")
    row("pipeline", "threads", "leat", "ceiling on the same data", "ratio", "wanted")
    print("|---|---|---|---|---|---|")
    for number, (what, spec, wanted, ceiling) in enumerate(lines, 1):
        if number not in chosen:
            continue
        results = []
        for threads in (1, 2):
            results.append(bench(options, spec, threads))
            pair(what, results[-1], wanted, ceiling)
        if number == 1:
            ours = results[1]["samples_per_s"] / results[0]["samples_per_s"]
            theirs = results[1]["roofline_samples_per_s"] / results[0]["roofline_samples_per_s"]
            row("the same: two threads against one", "2 / 1", f"{ours:.2f} times", f"{theirs:.2f} times",
                f"**{results[1]['ratio'] / results[0]['ratio']:.2f}**", "at least 0.95")
    if len(lines) not in chosen:
        return 0
    seconds = first_batch(options, f"folder '{many}' | shuffle | decode | resize 224 224 | batch 64")
    row("first batch of 64 from a folder of 10,000, index cached", len(os.sched_getaffinity(0)), f"{seconds * 1000:.0f} ms", "", "",
        "at most 100 ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
