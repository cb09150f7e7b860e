#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compressed TFRecords against bare inflating, as lines of a Markdown table.

    bench/streams.py [--photos DIR] [--seconds 3] [--rounds 5] [--folder build/bench] [--leat build/release/cli/leat]

GZIP files of records of several sizes, half as large as what is in them, and of photos as JPEG files and as pixels, which
`leat synth` makes; --photos takes pictures of your own instead. leat reads, inflates, checks both checksums,
parses and fills batches; the bare loop reads the same files and calls zlib, in as many processes as leat has threads. Both
take turns, and the median of the ratios of neighbours is printed. Mixed: half of the files are one data set, half another,
drawn from by sample_from."""
import argparse
import gzip
import json
import os
import random
import statistics
import struct
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILES, FILE_BYTES = 8, 8 << 20  # of records, before they are compressed
BARE = """
import sys, time, zlib
begun, done = time.perf_counter(), 0
while time.perf_counter() - begun < float(sys.argv[1]):
    for path in sys.argv[2:]:
        with open(path, "rb") as file:
            inflater = zlib.decompressobj(31)
            while piece := file.read(1 << 16):
                while piece:
                    done += len(inflater.decompress(piece, 1 << 18))
                    piece = inflater.unconsumed_tail
print(done / (time.perf_counter() - begun))
"""


def row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def checksum(data: bytes) -> bytes:
    """TFRecord's masked CRC-32C."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF)


def table() -> list[int]:
    entries = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        entries.append(i)
    return entries


TABLE = table()


def varint(n: int) -> bytes:
    head = b""
    while n > 127:
        head, n = head + bytes([n & 127 | 128]), n >> 7
    return head + bytes([n])


def field(data: bytes) -> bytes:
    """A message or bytes, as field number 1."""
    return b"\n" + varint(len(data)) + data


def records(size: int, seed: int) -> bytes:
    """A file of tf.train.Examples with one feature x of so many bytes, which compress about two to one."""
    draw = random.Random(seed)
    parts, total = [], 0
    while total < FILE_BYTES:
        value = bytes(draw.choices(b"0123456789abcdef", k=size))
        feature = field(field(value))  # bytes_list { value }
        entry = field(b"x") + b"\x12" + varint(len(feature)) + feature
        data = field(field(entry))  # features { feature { key, value } }
        head = struct.pack("<Q", len(data))
        parts.append(head + checksum(head) + data + checksum(data))
        total += len(parts[-1])
    return b"".join(parts)


def make(options: argparse.Namespace, size: int) -> list[Path]:
    folder = options.folder / f"gzip{size}"
    paths = [folder / f"{i}.tfrecord.gz" for i in range(FILES)]
    if not all(path.exists() for path in paths):
        folder.mkdir(parents=True, exist_ok=True)
        for i, path in enumerate(paths):
            print(f"\rstreams: making {path}", end="", file=sys.stderr)
            path.write_bytes(gzip.compress(records(size, i), 6))
        print("\r\033[K", end="", file=sys.stderr)
    return paths


def leat_rate(options: argparse.Namespace, text: str, threads: int, record_bytes: float) -> float:
    done = subprocess.run([options.leat, "bench", text, "--json", "--quiet", "--threads", str(threads), "--seconds",
                           str(options.seconds)], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)["samples_per_s"] * record_bytes


def bare_rate(options: argparse.Namespace, paths: list[Path], threads: int) -> float:
    running = [subprocess.Popen([sys.executable, "-c", BARE, str(options.seconds), *map(str, paths[i::threads])],
                                stdout=subprocess.PIPE, text=True) for i in range(threads)]
    return sum(float(process.communicate()[0]) for process in running)


def pack_photos(options: argparse.Namespace, pixels: bool) -> list[Path]:
    folder, photos = options.folder / ("gzip-pixels" if pixels else "gzip-jpeg"), options.photos or options.folder / "photos"
    if not photos.exists():
        subprocess.run([options.leat, "synth", str(photos), "--images", "1000", "--classes", "10", "--seed", "1"], check=True)
    if not folder.exists():
        packed = folder.with_suffix(".plain")
        subprocess.run([options.leat, "pack", str(photos), str(packed), "--shards", str(FILES), "--quiet", "--force",
                        *(("--raw", "--size", "224x224") if pixels else ())], check=True)
        folder.mkdir()
        for path in sorted(packed.glob("*.tfrecord")):
            (folder / (path.name + ".gz")).write_bytes(gzip.compress(path.read_bytes(), 6))
    return sorted(folder.glob("*.gz"))


def sizes(paths: list[Path]) -> tuple[int, int, int]:
    """Inflated bytes, number of records, bytes of the largest."""
    total = number = most = 0
    for path in paths:
        data = gzip.decompress(path.read_bytes())
        at = 0
        while at < len(data):
            length = struct.unpack_from("<Q", data, at)[0]
            at, number, most = at + length + 16, number + 1, max(most, length)
        total += len(data)
    return total, number, most


def compare(options: argparse.Namespace, name: str, paths: list[Path], text: str) -> None:
    total, number, _ = sizes(paths)
    for threads in sorted({1, min(2, len(os.sched_getaffinity(0)))}):
        pairs = [(leat_rate(options, text, threads, total / number), bare_rate(options, paths, threads))
                 for _ in range(options.rounds)]
        row(name, threads, f"{statistics.median(a for a, _ in pairs) / 1e6:,.0f} MB/s",
            f"{statistics.median(b for _, b in pairs) / 1e6:,.0f} MB/s",
            f"**{statistics.median(a / b for a, b in pairs):.2f}**", "at least 1.50")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--photos", type=Path, help="a folder of pictures, one sub-folder a class")
    parser.add_argument("--seconds", type=float, default=3, help="for each turn")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=ROOT / "build/bench")
    parser.add_argument("--leat", default=str(ROOT / "build/release/cli/leat"))
    options = parser.parse_args()
    row("GZIP TFRecords, records of", "threads", "leat", "bare inflate", "ratio", "wanted")
    print("|---|---|---|---|---|---|")
    for size in (200, 3072, 100_000):
        paths = make(options, size)
        files = f"{options.folder}/gzip{size}/"
        rest = f"parse x:bytes | decode_raw x u8 | reshape x {size} | batch {max(1, min(1024, (4 << 20) // size))}"
        compare(options, f"{size:,} bytes", paths, f"tfrecord '{files}*.gz' | {rest}")
        compare(options, f"{size:,} bytes, mixed", paths,
                f"sample_from 'tfrecord {files}[0-3].*' 'tfrecord {files}[4-7].*' | {rest}")
    paths = pack_photos(options, pixels=False)
    compare(options, "photos, JPEG files", paths, f"tfrecord '{paths[0].parent}/*.gz' max_bytes={sizes(paths)[2]} | batch 32")
    paths = pack_photos(options, pixels=True)
    compare(options, "photos, pixels", paths, f"tfrecord '{paths[0].parent}/*.gz' | parse image:bytes | "
            "decode_raw image u8 | reshape image 224 224 3 | batch 32")
    return 0


if __name__ == "__main__":
    sys.exit(main())
