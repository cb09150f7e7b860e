# SPDX-License-Identifier: Apache-2.0
"""What tests of feeders share: a small Ray, digests of batches, and the processes behind a dataset of leat.ray.feed."""
import gc
import hashlib
import os
import time

import leat
import leat.ray
import numpy

os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # a cluster of this process alone
os.environ.setdefault("RAY_DEDUP_LOGS", "0")
import ray  # noqa: E402

LIMIT = 180  # seconds, against hanging
SMALL = {"include_dashboard": False, "object_store_memory": 100 << 20}


def begin(cpus: int = 16) -> None:
    """A cluster of its own: others may run beside it. Its cores are counted, not used."""
    ray.init("local", num_cpus=cpus, logging_level="warning", log_to_driver=False, **SMALL)


def facts(batch: leat.Batch) -> tuple:
    """All that tells batches apart."""
    digest = hashlib.sha1(b"".join(numpy.ascontiguousarray(batch[name]).tobytes() for name in batch.keys())).hexdigest()
    return batch.epoch, batch.step, batch.n, batch.n_valid, tuple(batch.samples), tuple(batch.positions), digest


def taken(batches, most: int = -1) -> list[tuple]:
    found = []
    while len(found) != most and (batch := next(batches, None)) is not None:
        found.append(facts(batch))
    return found


def crew_of(iterator: leat.Iterator):
    """The actors of an iteration that has begun."""
    return iterator._feed.pipeline._crew


def pids(actors) -> list[int]:
    return ray.get([actor.__ray_call__.remote(lambda feeder: os.getpid()) for actor in actors], timeout=LIMIT)


def wait_until(true, what: str) -> None:
    end = time.monotonic() + LIMIT
    while not true():
        assert time.monotonic() < end, what
        gc.collect()
        time.sleep(0.05)


def runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False
