# SPDX-License-Identifier: Apache-2.0
"""Runs without end beside each other: memory, descriptors and threads stay flat, and after SIGINT they end with a report.

The first third is warm-up. What is allowed to grow is a megabyte, and half of one for every million samples."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import samples
from trial import Place

PAGE = os.sysconf("SC_PAGE_SIZE")
GROWTH, GROWTH_A_MILLION = 1 << 20, 1 << 19

LOOP = """
import json, signal, sys, numpy, leat
stop = []
signal.signal(signal.SIGINT, lambda *_: stop.append(1))
x, y = numpy.zeros((4000, 6), "f4"), numpy.arange(4000)
ds = leat.from_arrays((x, y)).configure(threads=1).shuffle(seed=1).batch(50)
n = 0
while not stop:
    for part in (ds, leat.from_arrays((x[:500], y[:500])).configure(threads=1).batch(50)):  # one that is kept, and one that is new
        for images, labels in part:
            n += len(labels)
print(json.dumps({"samples": n}))
"""


class Run:
    """A process that is watched."""

    def __init__(self, place: Place, name: str, command: list[str]) -> None:
        self.name = name
        self.process = subprocess.Popen(command, env=place.environment(MALLOC_ARENA_MAX=2), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def look(self) -> tuple[int, int, int]:
        """Bytes of memory, descriptors, threads; the least of several looks, since a batch may be under way."""
        assert self.process.poll() is None, f"{self.name} ended with {self.process.returncode}: {self.process.communicate()}"
        folder = f"/proc/{self.process.pid}"
        least = None
        for _ in range(5):
            with open(f"{folder}/statm", encoding="utf-8") as file:
                found = int(file.read().split()[1]) * PAGE, len(os.listdir(f"{folder}/fd")), len(os.listdir(f"{folder}/task"))
            least = found if least is None else tuple(map(min, least, found))
            time.sleep(0.02)
        return least

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        try:
            stdout, stderr = self.process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"{self.name} did not end after SIGINT") from None
        assert self.process.returncode in (0, 130), f"{self.name}: {self.process.returncode} {stderr}"
        return int(json.loads(stdout)["samples"])


def trial(place: Place) -> str:
    samples.make(place)
    data = place.folder / "data"
    run = ["-e", "-1", "--json", "-q", "-t", "1"]
    texts = {
        "tiny pictures": "synth n=100000 height=4 width=4 | shuffle | random_flip_left_right | batch 256",
        "photos": f"folder {data}/photos | shuffle | decode | random_resized_crop 24 | batch 8",
        "compressed records": f"tfrecord {data}/a.tfrecord.gz | shuffle 7 | parse label:int64 image:bytes | decode | resize 9 9 | batch 8",
    }
    runs = [Run(place, name, place.command("run", text, *run)) for name, text in texts.items()]
    if os.path.isdir(os.path.join(place.package, "leat")):
        runs.append(Run(place, "a loop in Python", [sys.executable, "-c", LOOP]))
    seconds = min(place.seconds, 3600.0)
    total = most = 0
    try:
        time.sleep(seconds / 3)
        before = [each.look() for each in runs]
        time.sleep(seconds * 2 / 3)
        after = [each.look() for each in runs]
        for each, (memory, files, threads), (memory_now, files_now, threads_now) in zip(runs, before, after):
            n = each.end()
            total += n
            allowed = GROWTH + GROWTH_A_MILLION * n // 1_000_000
            most = max(most, memory_now - memory)
            assert memory_now - memory <= allowed, f"{each.name}: memory grew by {memory_now - memory:,} bytes over {n:,} samples"
            assert files_now <= files + 1, f"{each.name}: {files} descriptors have become {files_now}"
            assert threads_now <= threads, f"{each.name}: {threads} threads have become {threads_now}"
    finally:
        for each in runs:
            if each.process.poll() is None:
                each.process.kill()
                each.process.wait()
    return f"{total:,} samples of {len(runs)} runs, which grew by {most >> 10:,} KiB at most"
