#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""leat pack against cp, against bare loops and against reading the folder, as lines of a Markdown table.

    bench/pack.py [--photos DIR] [--rounds 5] [--folder build/bench] [--leat build/release/cli/leat]

Photos that `leat synth` makes, or --photos DIR with sub-folders of your own, with a warm page cache. Both sides of a line take
turns, and the median of the ratios of neighbours is printed: above 1, leat is faster.

    copy        leat pack against cp -r of the same files; leat syncs its shards, cp does not, or is followed by sync
    positions   the same with --positions
    loop        --size 256 --quality 90 against a loop of Pillow (decode, resize, encode, nothing written) in as many threads
    script      the same against a Python script with Pillow and one TFRecord file
    reading     leat bench of the pack that --store auto chose for speed against leat bench of the folder it came from, both from
                the page cache; the table of --store auto in the manifest tells what the disk gives when it is cold
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOOP = """
import io, os, sys
from concurrent.futures import ThreadPoolExecutor
from PIL import Image
def one(path):
    out = io.BytesIO()
    Image.open(path).convert("RGB").resize((256, 256), Image.BILINEAR).save(out, "JPEG", quality=90)
    return len(out.getvalue())
paths = [os.path.join(folder, name) for folder, _, names in os.walk(sys.argv[1]) for name in names]
with ThreadPoolExecutor(int(sys.argv[2])) as pool:
    sum(pool.map(one, paths, chunksize=8))
"""
SCRIPT = """
import io, os, struct, sys, zlib
from PIL import Image
def example(image, label):
    def feature(key, body):
        entry = field(1, key) + field(2, body)
        return field(1, entry)
    def field(number, data):
        return bytes([number << 3 | 2]) + varint(len(data)) + data
    def varint(n):
        out = bytearray()
        while n > 127:
            out.append(n & 127 | 128)
            n >>= 7
        return bytes(out + bytes([n]))
    return field(1, feature(b"image", field(1, field(1, image))) + feature(b"label", field(3, field(1, varint(label)))))
classes = sorted(os.listdir(sys.argv[1]))
with open(sys.argv[2], "wb") as file:
    for label, name in enumerate(classes):
        for photo in sorted(os.listdir(os.path.join(sys.argv[1], name))):
            out = io.BytesIO()
            Image.open(os.path.join(sys.argv[1], name, photo)).convert("RGB").resize((256, 256), Image.BILINEAR).save(
                out, "JPEG", quality=90)
            record = example(out.getvalue(), label)
            head = struct.pack("<Q", len(record))
            file.write(head + struct.pack("<I", zlib.crc32(head)) + record + struct.pack("<I", zlib.crc32(record)))
    file.flush()
    os.fsync(file.fileno())
"""


def seconds(command: list, before=None) -> float:
    if before:
        before()
        os.sync()  # what earlier runs have left to write must not count here
    begun = time.perf_counter()
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begun


def compare(name: str, ours, theirs, rounds: int) -> None:
    pairs = [(theirs(), ours()) for _ in range(rounds + 1)][1:]
    ratios = sorted(a / b for a, b in pairs)
    print(f"| {name} | {statistics.median(a for a, _ in pairs):.2f} s | {statistics.median(b for _, b in pairs):.2f} s "
          f"| {statistics.median(ratios):.2f} | {ratios[0]:.2f} to {ratios[-1]:.2f} |", flush=True)


def rate(leat: Path, text: str) -> float:
    done = subprocess.run([leat, "bench", text, "--seconds", "3", "--json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["samples_per_s"]


def reading(leat: Path, photos: Path, work: Path, rounds: int) -> None:
    out = work / "auto"
    shutil.rmtree(out, ignore_errors=True)
    subprocess.run([leat, "pack", photos, out, "--store", "auto", "--size", "224", "--max-bytes", "1000GB", "-q"], check=True)
    recipe = json.loads((out / "manifest.json").read_text())["recipe"]
    middle = "decode_raw image u8 | reshape image 224 224 3" if recipe["store"] == "raw" else "decode | resize 224 224 flavour=pil"
    packed = f"tfrecord {out}/data-*.tfrecord | shuffle | parse image:bytes label:int64 | {middle} | batch 64"
    folder = f"folder {photos} | shuffle | decode | resize 224 224 flavour=pil | batch 64"
    pairs = [(rate(leat, folder), rate(leat, packed)) for _ in range(rounds)]
    ratios = sorted(b / a for a, b in pairs)
    print(f"| reading, {recipe['store']} | {statistics.median(a for a, _ in pairs):.0f} /s | "
          f"{statistics.median(b for _, b in pairs):.0f} /s | {statistics.median(ratios):.2f} | {ratios[0]:.2f} to {ratios[-1]:.2f} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path)
    parser.add_argument("--images", type=int, default=1000, help="of the practice set")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=ROOT / "build/bench")
    parser.add_argument("--leat", type=Path, default=ROOT / "build/release/cli/leat")
    options = parser.parse_args()
    leat, work = options.leat.resolve(), options.folder / "pack"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    photos = options.photos
    if not photos:
        photos = work / "photos"
        subprocess.run([leat, "synth", photos, "--images", str(options.images), "-q"], check=True)
    out, copy = work / "out", work / "copy"

    def clean() -> None:
        for folder in (out, copy):
            shutil.rmtree(folder, ignore_errors=True)
        (work / ".out.positions.leatseg").unlink(missing_ok=True)

    threads = len(os.sched_getaffinity(0))
    for path in photos.rglob("*"):
        if path.is_file():
            path.read_bytes()
    pack = lambda *args: seconds([leat, "pack", photos, out, "-q", *args], clean)
    cp = lambda: seconds(["sh", "-c", f"cp -r '{photos}' '{copy}' && sync -f '{copy}'"], clean)
    print("| | other | leat | ratio | from, to |\n|---|---|---|---|---|")
    plain = lambda: seconds(["cp", "-r", photos, copy], clean)
    compare("copy, cp without sync", lambda: pack(), plain, options.rounds)
    compare("copy, cp and sync", lambda: pack(), cp, options.rounds)
    compare("with positions, cp and sync", lambda: pack("--positions"), cp, options.rounds)
    resize = lambda: pack("--size", "256", "--quality", "90")
    compare(f"loop of Pillow, {threads} threads", resize, lambda: seconds([sys.executable, "-c", LOOP, photos, threads]), options.rounds)
    compare("script of Pillow", resize, lambda: seconds([sys.executable, "-c", SCRIPT, photos, work / "script.tfrecord"]), options.rounds)
    reading(leat, photos, work, options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
