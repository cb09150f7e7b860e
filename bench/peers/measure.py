# SPDX-License-Identifier: Apache-2.0
"""One run of one loader, in a process of its own: reads a job, prints one line of JSON.

    python bench/peers/measure.py JOB.json

Imports are done before the clock starts. Then: the time to the first batch, a warm-up of one epoch (one second at least, two at most), and
batches for so many seconds, which a consumer takes and drops, or keeps for a step. Processor time and memory are those of this process
and its children. Memory is looked at in the warm-up and at the end, as looking takes time from loaders that have many processes; where
memory is what is asked, all the time.
"""
from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common import Job
from subjects import PEERS

PAGE = os.sysconf("SC_PAGE_SIZE")
TICK = os.sysconf("SC_CLK_TCK")
WARM = (1.0, 2.0)  # seconds at least and at most: a small epoch ends before buffers are full
BATCHES = 4  # that are counted at least: slow loaders give few, and workers give them in bursts


def family() -> list[int]:
    """This process and all below it."""
    parents: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        try:
            stat = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split() if entry.isdigit() else None
        except OSError:  # it has ended
            continue
        if stat:
            parents.setdefault(int(stat[1]), []).append(int(entry))
    found, at = [os.getpid()], 0
    while at < len(found):
        found += parents.get(found[at], [])
        at += 1
    return found


def memory(pids: list[int]) -> int:
    """Bytes, with what processes share counted once: proportional set size, which the kernel adds up."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
    return total


def processor(pids: list[int]) -> float:
    """Seconds of processor time so far, of those that run and of children that have ended."""
    total = 0.0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15])) / TICK
    return total


class Sampler(threading.Thread):
    """The most memory seen, looked at twice a second: reading it costs a millisecond for each process."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most, self.over = 0, threading.Event()

    def end(self) -> None:
        self.over.set()
        self.join()

    def run(self) -> None:
        while not self.over.wait(0.5):
            self.most = max(self.most, memory(family()))


def count(batch: Any) -> int:
    first = batch[0] if isinstance(batch, (tuple, list)) else batch
    shape = first.shape() if callable(first.shape) else first.shape
    return int(shape[0])


def array(value: Any) -> Any:
    import numpy
    made = numpy.asarray(value.numpy() if hasattr(value, "numpy") else value)
    return made


def outputs(batches: Iterator[Any], wanted: int) -> Any:
    """The first pictures as f32 (n, height, width, channels)."""
    import numpy
    parts: list[Any] = []
    while sum(map(len, parts)) < wanted:
        made = array(next(batches)[0]).astype("f4")
        parts.append(made.transpose(0, 2, 3, 1) if made.shape[1] == 3 and made.shape[3] != 3 else made)
        parts[-1] = parts[-1].copy()
    return numpy.concatenate(parts)[:wanted]


def rate(job: Job, batches: Iterator[Any], began: float) -> dict[str, Any]:
    sampler = Sampler()
    seen = count(next(batches))
    first = time.perf_counter() - began
    sampler.start()
    least, most = (time.perf_counter() + seconds for seconds in WARM)
    while (now := time.perf_counter()) < least or (seen < job.options["samples"] and now < most):
        seen += count(next(batches))
    if job.what != "memory":
        sampler.end()
    pids = family()
    cpu, start, made, taken = processor(pids), time.perf_counter(), 0, 0
    while (now := time.perf_counter()) - start < job.seconds or taken < BATCHES:
        made += count(next(batches))
        taken += 1
    used, wall = processor(pids) - cpu, now - start
    sampler.end()
    return {"load": os.getloadavg()[0], "rate": made / wall, "cpu_ms": 1000 * used / made, "first_s": first,
            "memory": max(sampler.most, memory(family())), "samples": made}


def paced(job: Job, batches: Iterator[Any], began: float) -> dict[str, Any]:
    """A consumer that keeps each batch for a step, from the first on. Waiting is that of the second half; a loader has settled where the
    consumer waits for less than a fiftieth of the time from there to the end, which must be the second half at least."""
    waits, ends, made = [], [], 0
    count(next(batches))
    first = time.perf_counter() - began
    pids = family()
    cpu = processor(pids)
    time.sleep(job.step)
    while time.perf_counter() - began < first + 4 * job.seconds:
        now = time.perf_counter()
        made += count(next(batches))
        waits.append(time.perf_counter() - now)
        time.sleep(job.step)
        ends.append(time.perf_counter())
    used = processor(pids) - cpu
    half = len(waits) // 2
    starts = [began + first, *ends]
    settled = next((i for i in range(half + 1) if sum(waits[i:]) < (ends[-1] - starts[i]) / 50), -1)
    return {"load": os.getloadavg()[0], "rate": made / (ends[-1] - began - first), "cpu_ms": 1000 * used / made, "first_s": first,
            "memory": memory(family()), "samples": made, "waited": sum(waits[half:]) / (ends[-1] - starts[half]),
            "longest_s": max(waits[half:]), "settled_s": starts[settled] - began if settled >= 0 else -1}


def resumed(job: Job, batches: Iterator[Any], began: float) -> dict[str, Any]:
    """The first batch, and no more."""
    made = count(next(batches))
    first = time.perf_counter() - began
    pids = family()
    return {"load": os.getloadavg()[0], "rate": made / first, "cpu_ms": 1000 * processor(pids) / made, "first_s": first,
            "memory": memory(pids), "samples": made}


def main() -> None:
    job = Job.read(sys.argv[1])
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:job.threads])
    peer = PEERS[job.peer]
    for name in peer.imports:
        importlib.import_module(name)
    if job.what == "single":
        import single
        print(json.dumps(single.rates(job)), flush=True)
        return
    loader = getattr(importlib.import_module(peer.module), peer.table)[job.kind]
    began = time.perf_counter()
    batches = iter(loader(job))
    if job.what == "outputs":
        import numpy
        numpy.save(job.options["out"], outputs(batches, len(job.drawn or [])))
        made: dict[str, Any] = {}
    else:
        made = {"consumer": paced, "resume": resumed}.get(job.what, rate)(job, batches, began)
    made["rss"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    print(json.dumps(made), flush=True)
    os._exit(0)  # some loaders take seconds to stop their threads, or hang


if __name__ == "__main__":
    main()
