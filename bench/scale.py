#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What grows with the size of a data set, the number of shards, of ranks and of threads.

    bench/scale.py folder [--n 1300000]     a tree of tiny pictures: listing, index, first batch, memory a file
    bench/scale.py shards [--n 10000]       TFRecord shards: opening, memory and system calls a shard
    bench/scale.py records [--n 100000000]  records in an index: opening, memory a record
    bench/scale.py ranks [--n 256]          the order and the state of every rank; their union is compared with the order of one
    bench/scale.py threads [--n 64]         the scheduler's lock on so many threads (bench/count_locks.c)

Each is run at a quarter of the size too, where the time of a file or a shard should be the same. Files are hard links to few, in a
folder below --folder that is removed at the end. --cold drops the page cache of the whole machine for a third run, which needs the right to.
"""
from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ratios

SETTLE_S = 3  # a folder that changed just now leaves no index behind
CLASSES = 1000
TINY = "parse image:bytes label:int64 | select label | batch 8"


def run(options: argparse.Namespace, *words: str, env: dict[str, str] | None = None) -> dict:
    """Runs leat: seconds, processor time and the largest resident memory in bytes, and what it said."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as said:
        begin = time.monotonic()
        process = subprocess.Popen([options.leat, "run", *words, "--quiet", "--memory", "2GiB"], stdout=out, stderr=said,
                                   env={**os.environ, "LEAT_TOP": "0", **(env or {})})
        done, largest = 0, 0
        while not done:  # the kernel's own maximum of a child begins with that of this process
            largest = max(largest, resident(process.pid))
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
            time.sleep(0.002)
        seconds = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0), said.seek(0)
        text, messages = out.read(), said.read()
    if process.returncode != 0:
        sys.exit(f"scale: leat run {words[0]} ended with {process.returncode}: {messages[-400:]}")
    return {"s": seconds, "cpu": usage.ru_utime + usage.ru_stime, "rss": largest, "out": text, "said": messages}


def resident(pid: int) -> int:
    """The largest memory of a process so far; 0 if it has ended."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


def drop_caches() -> bool:
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3\n")
        return True
    except OSError:
        return False


def base_memory(options: argparse.Namespace) -> int:
    """What the process takes for a small data set of the same kind is not the index's."""
    return run(options, "synth 64 height=8 width=8 | shuffle | batch 64", "--batches", "1", "--no-side-files")["rss"]


def openings(options: argparse.Namespace, folder: Path, n: int, spec: str, unit: str, per: int) -> None:
    """Three runs to the first batch: without an index, with one, and with one from storage."""
    cache = folder / "cache"
    cold = {}
    base = base_memory(options)
    made = run(options, spec, "--batches", "1", "--cache-dir", str(cache))
    index = sum(path.stat().st_size for path in cache.rglob("*.leatidx"))
    kept = run(options, spec, "--batches", "1", "--cache-dir", str(cache))
    if options.cold and drop_caches():
        cold = run(options, spec, "--batches", "1", "--cache-dir", str(cache))
    ratios.row(f"{n:,} {unit}", f"{made['s']:.2f} s, {made['cpu'] / per * 1e6:.2f} us", f"{kept['s']:.2f} s, {kept['cpu'] / per * 1e6:.2f} us",
               f"{cold['s']:.2f} s" if cold else "not measured", f"{index / per:.1f} B",
               f"{max(made['rss'] - base, 0) / per:.1f} B", f"{max(kept['rss'] - base, 0) / per:.1f} B")


def heading(what: str, each: str) -> None:
    ratios.row(what, f"first batch, no index; processor time {each}", f"with the index; processor time {each}", "with the index, cold",
               f"index {each}", f"largest memory {each}, no index", f"with the index")
    print("|---" * 7 + "|")


def folders(options: argparse.Namespace, place: Path) -> None:
    tiny = place / "tiny"
    ratios.leat(options, "synth", str(tiny), "--images", "100", "--classes", "1", "--size", "16x16", "--quiet")
    files = sorted(path for path in tiny.rglob("*.jpg"))
    heading("folder", "a file")
    for n in (options.n // 4, options.n):
        root = place / f"folder{n}"
        for label in range(CLASSES):
            (root / f"n{label:08}").mkdir(parents=True)
        for i in range(n):
            os.link(files[i % len(files)], root / f"n{i % CLASSES:08}" / f"n{i % CLASSES:08}_{i}.jpg")
        time.sleep(SETTLE_S)
        openings(options, place / f"of{n}", n, f"folder '{root}' | shuffle | decode | batch 64", "files", n)
        shutil.rmtree(root)


def a_shard(options: argparse.Namespace, place: Path, records: int) -> Path:
    """One shard of tiny raw pictures, repeated to so many records. Only labels are read."""
    tiny, packed = place / "tiny", place / "packed"
    ratios.leat(options, "synth", str(tiny), "--images", "10", "--classes", "1", "--size", "16x16", "--quiet")
    ratios.leat(options, "pack", str(tiny), str(packed), "--raw", "--size", "1x1", "--quiet")
    data = next(packed.glob("*.tfrecord")).read_bytes()
    record = data[:16 + struct.unpack_from("<Q", data)[0]]
    path = place / "shard"
    with path.open("wb") as out:
        for _ in range(0, records, 1000):
            out.write(record * min(1000, records))
    return path


def links(shard: Path, folder: Path, n: int) -> Path:
    folder.mkdir()
    for i in range(n):
        os.link(shard, folder / f"{i:05}.tfrecord")
    return folder


def calls(options: argparse.Namespace, spec: str, cache: Path) -> int:
    """System calls until the first batch."""
    with tempfile.NamedTemporaryFile("r") as table:
        subprocess.run(["strace", "-f", "-c", "-o", table.name, options.leat, "run", spec, "--batches", "1", "--quiet", "--cache-dir",
                        str(cache)], check=True)
        return int(re.search(r"([\d]+)\s+(?:\d+\s+)?total", table.read())[1])


def shards(options: argparse.Namespace, place: Path) -> None:
    shard = a_shard(options, place, 10)
    heading("shards of ten records", "a shard")
    counted = []
    for n in (options.n // 4, options.n):
        root = links(shard, place / f"shards{n}", n)
        time.sleep(SETTLE_S)
        spec = f"tfrecord '{root}/*.tfrecord' | shuffle | {TINY}"
        openings(options, place / f"of{n}", n, spec, "shards", n)
        if shutil.which("strace"):
            counted.append((n, calls(options, spec, place / f"of{n}" / "cache")))
        shutil.rmtree(root)
    for n, all_of_them in counted:
        print(f"\n{n:,} shards with their indexes: {all_of_them / n:.2f} system calls a shard")


def records(options: argparse.Namespace, place: Path) -> None:
    shard = a_shard(options, place, options.n // 100)
    heading("records in 100 shards", "a record")
    for n in (25, 100):
        root = links(shard, place / f"records{n}", n)
        time.sleep(SETTLE_S)
        openings(options, place / f"of{n}", n * (options.n // 100), f"tfrecord '{root}/*.tfrecord' | shuffle | {TINY}", "records",
                 n * (options.n // 100))
        shutil.rmtree(root)


def numbers(text: str) -> list[list[int]]:
    """Of every batch, from the sink `ids`."""
    return [[int(word) for word in line.split(":", 1)[1].split()] for line in text.splitlines()]


def ranks(options: argparse.Namespace, place: Path) -> None:
    steps, batch = 3, 8
    spec = f"synth 100000 height=8 width=8 | shuffle seed=5 | batch {batch}"
    one = run(options, spec.replace(f"batch {batch}", f"batch {batch * options.n}"), "--sink", "ids", "--batches", str(steps))
    wanted, union, states, seconds = numbers(one["out"]), [[] for _ in range(steps)], set(), []
    for rank in range(options.n):
        state = place / f"state{rank}"
        each = run(options, spec, "--sink", "ids", "--batches", str(steps), "--rank", f"{rank}/{options.n}", "--state", str(state),
                   "--synchronous")
        states.add(state.read_text())
        seconds.append(each["s"])
        for step, found in enumerate(numbers(each["out"])):
            union[step] += found
    print(f"{options.n} ranks, {steps} batches of {batch} each: the union {'is' if union == wanted else 'IS NOT'} the order of one rank; "
          f"{len(states)} state{'s' * (len(states) > 1)} of {max(map(len, states))} bytes; {sorted(seconds)[len(seconds) // 2] * 1000:.0f} ms a process")
    if union != wanted or len(states) != 1:
        sys.exit(1)


def threads(options: argparse.Namespace, place: Path) -> None:
    library = place / "count_locks.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(ratios.ROOT / "bench/count_locks.c"), "-ldl"], check=True)
    photos, raw = place / "photos", place / "raw"
    ratios.leat(options, "synth", str(photos), "--images", "100", "--classes", "4", "--quiet")
    ratios.spread(photos, place / "many", 4096)
    ratios.leat(options, "pack", str(place / "many"), str(raw), "--raw", "--size", "32x32", "--quiet")
    crop = f"folder '{photos}' | shuffle | decode | random_resized_crop 224 | random_flip_left_right | normalize imagenet | batch 64"
    small = f"tfrecord '{raw}/*.tfrecord' | shuffle | {ratios.RAW.format(32)} | batch 128"
    ratios.row("pipeline", "threads", "samples", "taken a sample", "waited", "moved a sample", "held, half below", "99 % below", "held a sample")
    print("|---" * 9 + "|")
    for what, spec, samples in (("photos, random_resized_crop", crop, 1920), ("raw 32x32", small, 128000)):
        batch = int(spec.split("batch ")[1])
        for n in (1, 2, 8, options.n):
            each = run(options, spec, "--epochs", "-1", "--batches", str(samples // batch), "--threads", str(n), "--cache-dir", str(place / "cache"),
                       env={"LD_PRELOAD": str(library)})
            lock = json.loads(re.search(r"^locks (.*)$", each["said"], re.M)[1])
            ratios.row(what, n, f"{samples:,}", f"{lock['taken'] / samples:.4f}", f"{100 * lock['waited'] / lock['taken']:.1f} %",
                       f"{lock['moved'] / samples:.4f}", f"{lock['p50_ns']} ns", f"{lock['p99_ns']} ns", f"{lock['held_ns'] / samples:.0f} ns")


WHAT = {"folder": (folders, 1_300_000), "shards": (shards, 10_000), "records": (records, 100_000_000), "ranks": (ranks, 256),
        "threads": (threads, 64)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("--n", type=int, help="how many files, shards, records, ranks or threads")
    parser.add_argument("--cold", action="store_true", help="a run from storage too: drops the page cache of the machine")
    parser.add_argument("--folder", type=Path, default=ratios.ROOT / "build/bench", help="where data is made, and removed")
    parser.add_argument("--leat", default=os.environ.get("LEAT", str(ratios.ROOT / "build/release/cli/leat")))
    options = parser.parse_args()
    measure, usual = WHAT[options.what]
    options.n = options.n or usual
    options.folder.mkdir(parents=True, exist_ok=True)
    print(ratios.machine() + "\n")
    with tempfile.TemporaryDirectory(prefix="scale-", dir=options.folder) as place:
        measure(options, Path(place))
    return 0


if __name__ == "__main__":
    sys.exit(main())
