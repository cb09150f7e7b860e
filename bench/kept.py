# SPDX-License-Identifier: Apache-2.0
"""The fixed workloads of `bench/instructions.py --kept`: their data, which leat makes, and what is counted of each.

Figures hold for one compiler, one C library and one set of vector kernels only, and for the same bytes of data: another libjpeg or
zlib writes other files. `facts` and `digest` say what they are, and bench/instructions.json keeps them beside the figures.
"""
from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

import ratios

FIGURES = ratios.ROOT / "bench/instructions.json"
LIMIT = 0.03  # more instructions than this above the figure is a failure
FEW, MANY = 1000, 4000  # files of the two folders that are opened


@dataclass
class Workload:
    """Two runs of so many batches; the difference of their instructions is that of n samples or files."""

    what: str
    data: list[Path]
    runs: tuple[tuple[str, int], tuple[str, int]]
    n: int
    words: tuple[str, ...] = ()


def facts(leat: str) -> dict[str, str]:
    """What the figures depend on besides the data."""
    comment = subprocess.run(["readelf", "--string-dump=.comment", leat], stdout=subprocess.PIPE, check=True, text=True).stdout
    compilers = sorted({line.split("]", 1)[1].strip() for line in comment.splitlines() if "]" in line})
    flags = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")), "").split()
    return {"compiler": ", ".join(compilers), "C library": os.confstr("CS_GNU_LIBC_VERSION") or "unknown",
            "processor": platform.machine() + (" with AVX2" if "avx2" in flags else "")}


def digest(paths: list[Path]) -> str:
    """Of the names and bytes of all pictures and records below. A manifest tells the paths of its pack, and is left out."""
    total = hashlib.sha256()
    for path in paths:
        for file in sorted(file for file in path.rglob("*") if file.suffix in (".jpg", ".png", ".webp", ".tfrecord", ".gz")):
            total.update(str(file.relative_to(path)).encode())
            total.update(file.read_bytes())
    return total.hexdigest()[:16]


def compress(source: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    for path in sorted(source.glob("*.tfrecord")):
        (folder / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), compresslevel=6, mtime=0))


def workloads(options: argparse.Namespace) -> list[Workload]:
    """Makes the data in options.folder, with options.leat."""
    def made(name: str, make) -> Path:
        return ratios.once(options.folder / name, lambda: make(options.folder / name))

    def synth(*words: str):
        return lambda folder: ratios.leat(options, "synth", str(folder), "--classes", "4", "--seed", "3", "--quiet", *words)

    def pack(source: Path, side: int):
        return lambda folder: ratios.leat(options, "pack", str(source), str(folder), "--raw", "--size", f"{side}x{side}", "--quiet")

    photos = made("photos", synth("--images", "32"))
    pngs = made("png", synth("--images", "16", "--format", "png"))
    scans = made("progressive", lambda folder: ratios.make_progressive(photos, folder))
    webps = made("webp", lambda folder: ratios.save_as(options, "webp", photos, folder))
    many = made("many", lambda folder: ratios.spread(photos, folder, 1024))
    raw256 = made("raw256", pack(photos, 256))
    raw32 = made("raw32", pack(many, 32))
    zipped = made("gzip", lambda folder: compress(raw32, folder))
    tiny = made("tiny", lambda folder: ratios.leat(options, "synth", str(folder), "--images", "10", "--size", "16x16", "--quiet"))
    few_files, many_files = (made(f"files{n}", lambda folder, n=n: ratios.spread(tiny, folder, n)) for n in (FEW, MANY))

    crop = "random_resized_crop 224 | random_flip_left_right | normalize imagenet layout=nchw | batch 8"
    small = f"tfrecord '{raw32}/*.tfrecord' | {ratios.RAW.format(32)}"

    def samples(what: str, spec: str, data: Path, warm: int, batches: int) -> Workload:
        batch = int(spec.split("batch ")[1].split()[0])
        return Workload(what, [data], ((spec, warm), (spec, warm + batches)), batch * batches)

    def opening(what: str, words: tuple[str, ...]) -> Workload:
        first, second = (f"folder '{folder}' | shuffle | decode | batch 1"
                         for folder in (few_files, many_files))
        return Workload(what, [few_files, many_files], ((first, 1), (second, 1)), MANY - FEW, words)

    return [
        samples("JPEG folder, random_resized_crop 224, flip, normalise", f"folder '{photos}' | decode | {crop} | options positions=off",
                photos, 1, 3),
        samples("JPEG folder, resize 224", f"folder '{photos}' | decode | resize 224 224 | batch 8", photos, 1, 3),
        samples("PNG folder, resize 224", f"folder '{pngs}' | decode | resize 224 224 | batch 4", pngs, 1, 3),
        samples("progressive JPEG folder, resize 224", f"folder '{scans}' | decode | resize 224 224 | batch 4", scans, 1, 3),
        samples("WebP folder, resize 224", f"folder '{webps}' | decode | resize 224 224 | batch 4", webps, 1, 3),
        samples("raw 256x256 records, brightness, flip",
                f"tfrecord '{raw256}/*.tfrecord' | {ratios.RAW.format(256)} | random_brightness 0.2 | random_flip_left_right | batch 8",
                raw256, 1, 8),
        samples("raw 32x32 records", f"{small} | batch 128", raw32, 1, 7),
        samples("GZIP stream of 32x32 records", f"tfrecord '{zipped}/*.tfrecord.gz' | {ratios.RAW.format(32)} | batch 128", zipped, 1, 6),
        samples("cached second epoch, flip", f"folder '{many}' | decode | resize 64 64 | take 16 | cache | random_flip_left_right | batch 16",
                many, 1, 64),
        samples("ImageDataGenerator, affine, 32x32",
                f"tfrecord '{raw32}/*.tfrecord' | parse image:bytes label:int64 | decode_raw image u8 | reshape image 32 32 3 | "
                "image_data_generator rotation=20 width_shift=0.1 height_shift=0.1 shear=10 zoom=0.2 horizontal_flip=true | batch 64",
                raw32, 1, 4),
        samples("expression on 32x32", f"{small} | eval image='(image * 2 - 1) * 0.5 + mean(image)' | batch 64", raw32, 1, 7),
        opening("opening a folder whose index is kept, a file", ()),
        opening("listing a folder, a file", ("--no-side-files",)),
    ]
