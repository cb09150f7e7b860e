#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""leat pack against cp, against bare loops and against reading the folder, as lines of a Markdown table.

    bench/pack.py [--photos DIR] [--rounds 5] [--only WORD] [--folder build/bench] [--leat build/release/cli/leat]

Photos that `leat synth` makes, or --photos DIR with sub-folders of your own, with a warm page cache. Both sides of a line take
turns, and the median of the ratios of neighbours is printed: above 1, leat is faster. --only runs the lines whose names have the
word.

    copy        leat pack against cp -r of the same files; leat syncs its shards, cp does not, or is followed by sync
    positions   the same with --positions
    bare loop   --size 256 --quality 90 against bench/bare_pack.c: read, decode, resize, encode with leat's own functions in as many
                threads, nothing written; of processor time too, which other programs disturb less
    Pillow      the same against a loop of Pillow in as many threads
    script      the same against a Python script with Pillow and one TFRecord file
    reading     leat bench of the pack that --store auto chose for speed against leat bench of the folder it came from, both from
                the page cache; the table of --store auto in the manifest tells what the disk gives when it is cold
    memory      the peaks of packing 20,000 and 120,000 small files, none equal to another, and the bytes an input between them;
                this line has no other side
"""
import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

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


class Took(NamedTuple):
    wall: float  # seconds
    processor: float


def run(command: list, before=None, **more) -> Took:
    if before:
        before()
        os.sync()  # what earlier runs have left to write must not count here
    begun, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    wall, now = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Took(wall, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime)


def print_line(name: str, pairs: list[tuple[float, float]]) -> None:
    ratios = sorted(a / b for a, b in pairs)
    print(f"| {name} | {statistics.median(a for a, _ in pairs):.2f} s | {statistics.median(b for _, b in pairs):.2f} s "
          f"| {statistics.median(ratios):.2f} | {ratios[0]:.2f} to {ratios[-1]:.2f} |", flush=True)


def compare(name: str, ours, theirs, rounds: int, processor: bool = False) -> None:
    pairs = [(theirs(), ours()) for _ in range(rounds + 1)][1:]
    print_line(name, [(a.wall, b.wall) for a, b in pairs])
    if processor:
        print_line(f"{name}, processor time", [(a.processor, b.processor) for a, b in pairs])


def build_bare(leat: Path, work: Path) -> Path:
    """bench/bare_pack.c with the library that the command has inside."""
    library = leat.parents[1] / "src/libleat.a"
    program = work / "bare_pack"
    subprocess.run(["gcc", "-O3", "-DNDEBUG", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64", "-std=gnu11", "-ffp-contract=off",
                    f"-I{ROOT}/src", f"-I{ROOT}/include", "-o", program, ROOT / "bench/bare_pack.c", library, "-pthread", "-lm", "-ldl",
                    *(f"-l{name}" for name in ("xxhash", "jpeg", "png", "webp", "z", "gif"))], check=True)
    return program


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


def make_inputs(jpeg: bytes, folder: Path, inputs: int) -> None:
    """Many small inputs, no two of them equal: a number stands behind the picture's end."""
    for i in range(inputs):
        path = folder / f"class_{i % 10:02d}/{i:08d}.jpg"
        if i < 10:
            path.parent.mkdir(parents=True)
        path.write_bytes(jpeg + i.to_bytes(4, "little"))


def memory(leat: Path, work: Path) -> None:
    few, many = 20_000, 120_000
    subprocess.run([leat, "synth", work / "small", "--images", "1", "--size", "8x8", "-q"], check=True)
    (picture,) = (work / "small").rglob("*.jpg")
    for inputs in (few, many):
        make_inputs(picture.read_bytes(), work / f"inputs{inputs}", inputs)
    for words in ([], ["--split", "0.8,0.2", "--stratify", "--shuffle"]):
        peaks = []
        for inputs in (few, many):
            command = [str(leat), "pack", str(work / f"inputs{inputs}"), str(work / "packed"), "-q", *words]
            shutil.rmtree(work / "packed", ignore_errors=True)
            _, status, used = os.wait4(os.posix_spawn(command[0], command, os.environ), 0)
            assert status == 0, command
            peaks.append(used.ru_maxrss * 1024)
        print(f"| memory {' '.join(words)} | {peaks[0] / 1e6:.1f} MB | {peaks[1] / 1e6:.1f} MB | {(peaks[1] - peaks[0]) / (many - few):.0f} "
              "bytes an input | |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--photos", type=Path)
    parser.add_argument("--images", type=int, default=1000, help="of the practice set")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", metavar="WORD", help="lines whose names have it")
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
    files = sorted(path for path in photos.rglob("*") if path.is_file())
    for path in files:
        path.read_bytes()
    listed = "".join(f"{path}\n" for path in files)
    bare = build_bare(leat, work)
    pack = lambda *args: run([leat, "pack", photos, out, "-q", *args], clean)
    resized = lambda: pack("--size", "256", "--quality", "90")
    cp = lambda: run(["cp", "-r", photos, copy], clean)
    cp_sync = lambda: run(["sh", "-c", f"cp -r '{photos}' '{copy}' && sync -f '{copy}'"], clean)
    lines = [
        ("copy, cp without sync", pack, cp, False),
        ("copy, cp and sync", pack, cp_sync, False),
        ("with positions, cp and sync", lambda: pack("--positions"), cp_sync, False),
        (f"bare loop, {threads} threads", resized, lambda: run([bare, threads, 256, 90], input=listed, text=True), True),
        (f"loop of Pillow, {threads} threads", resized, lambda: run([sys.executable, "-c", LOOP, photos, threads]), False),
        ("script of Pillow", resized, lambda: run([sys.executable, "-c", SCRIPT, photos, work / "script.tfrecord"]), False),
    ]
    print("| | other | leat | ratio | from, to |\n|---|---|---|---|---|")
    for name, ours, theirs, processor in lines:
        if options.only in name:
            compare(name, ours, theirs, options.rounds, processor)
    if options.only in "reading":
        reading(leat, photos, work, options.rounds)
    if options.only in "memory":
        memory(leat, work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
