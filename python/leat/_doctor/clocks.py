# SPDX-License-Identifier: Apache-2.0
"""Times of steps, of epochs and of threads. Reading a clock is all that happens to a program in every step."""
from __future__ import annotations

import os
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any

now = time.perf_counter
SLOWER = 1.3  # an epoch that takes so many times as long as the first is a cause
MANY = 100_000  # steps that are kept
FEW = 5  # of fewer steps, each may be usual


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2] if values else 0.0


# ------------------------------------------------------------------------------------------------ threads


@dataclass
class Load:
    """What threads did between two moments, in cores.

    total     all threads of this process and of the processes below it
    queued    the same threads, able to run and waiting for a core: other programs have it
    busiest   the busiest thread. Waiting for a core counts as busy, so the figure is right on a machine that is shared.
    name      of the busiest thread
    """

    total: float = 0.0
    queued: float = 0.0
    busiest: float = 0.0
    name: str = ""
    known: bool = False


def _schedule(path: str) -> tuple[float, float]:
    """Seconds of a thread on a core, and in a queue for one."""
    try:
        with open(path + "/schedstat", encoding="ascii") as file:
            ran, queued = file.read().split()[:2]
        return int(ran) / 1e9, int(queued) / 1e9
    except (OSError, ValueError):
        return 0.0, 0.0


def _below(pid: str) -> list[str]:
    """The processes that a process has started, and those that they have started."""
    found: list[str] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                found += [each for child in file.read().split() for each in (child, *_below(child))]
    except OSError:
        pass
    return found


class Threads:
    """The threads of this process and of those below, at a moment. since() compares with an earlier moment."""

    def __init__(self) -> None:
        self.at = now()
        self.times: dict[tuple[str, str], tuple[float, float]] = {}
        me = str(os.getpid())
        for pid in (me, *_below(me)):
            try:
                tasks = os.listdir(f"/proc/{pid}/task")
            except OSError:
                continue
            self.times.update({(pid, task): _schedule(f"/proc/{pid}/task/{task}") for task in tasks})

    def since(self, earlier: Threads) -> Load:
        wall = self.at - earlier.at
        if wall <= 0 or not any(ran for ran, _ in self.times.values()):
            return Load()
        ran: dict[tuple[str, str], float] = {}
        total = late = 0.0
        for key, (on, queued) in self.times.items():
            on_before, queued_before = earlier.times.get(key, (0.0, 0.0))
            total, late = total + on - on_before, late + queued - queued_before
            ran[key] = on - on_before + queued - queued_before if on > on_before else 0.0
        pid, task = max(ran, key=lambda key: ran[key])
        return Load(total / wall, late / wall, min(1.0, ran[pid, task] / wall), _name(pid, task), True)


def _name(pid: str, task: str) -> str:
    if pid != str(os.getpid()):
        return f"a worker process ({pid})"
    name = next((each.name for each in threading.enumerate() if str(each.native_id) == task), "")
    if name == "MainThread":
        return "the main thread"
    if name:
        return f"the thread {name}"
    try:
        with open(f"/proc/self/task/{task}/comm", encoding="utf-8", errors="replace") as file:
            return f"a thread of {file.read().strip()}"
    except OSError:
        return "one thread"


# ------------------------------------------------------------------------------------------------ steps


@dataclass
class Step:
    """One step: waiting for the batch, the work on it, and what lies between two steps (callbacks). Of a step that is not
    split, work is everything."""

    epoch: int
    wait: float
    work: float
    between: float = 0.0
    split: bool = True
    compiled: bool = False  # it was traced or compiled anew, and does not count

    @property
    def all(self) -> float:
        return self.wait + self.work + self.between


def stalled(steps: list[Step]) -> Step | None:
    """The one step that took longer than all others together. The machine or the program stood still in it, and what that step
    says would hide what the others say. Waits that come again and again, as those for a worker that is late, are not alone."""
    longest = max(steps, key=lambda step: step.all, default=None)
    alone = longest is not None and len(steps) >= FEW and 2 * longest.all > sum(step.all for step in steps)
    return longest if alone else None


def usual(steps: list[Step]) -> list[Step]:
    stall = stalled(steps)
    return [step for step in steps if step is not stall]


@dataclass
class Record:
    """The steps of a run. The first ones of the run do not count, nor does the first of a later epoch: there programs
    are traced and compiled, buffers are filled and processes started."""

    warmup: int = 3
    steps: list[Step] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)  # for each epoch: the wait for its first batch
    totals: dict[int, float] = field(default_factory=dict)  # for each epoch: all of its seconds
    pipeline: Any = None  # a tfdata.Watch, if the batches come from an iterator of TensorFlow
    _threads: Threads | None = None
    load: Load = field(default_factory=Load)

    def add(self, step: Step) -> None:
        if len(self.steps) < MANY:
            self.steps.append(step)
        self.totals[step.epoch] = self.totals.get(step.epoch, 0.0) + step.all
        if len(self.steps) == self.warmup:
            self._threads = Threads()

    def measure_load(self) -> None:
        if self._threads is not None:
            self.load = Threads().since(self._threads)

    def _inside(self, skip: int) -> list[Step]:
        return [step for i, step in enumerate(self.steps)
                if i >= skip and not step.compiled and (i == 0 or self.steps[i - 1].epoch == step.epoch)]

    def counted(self) -> list[Step]:
        """Those that tell how steps are: without a stall."""
        return usual(self._later())

    def stall(self) -> Step | None:
        """The step that would count and was a stall."""
        return stalled(self._later())

    def _later(self) -> list[Step]:
        """Those that are split, without their first half: at first, buffers give what they got while programs were
        compiled."""
        n = sum(step.split for step in self.steps)
        steps = [step for step in self._inside(max(self.warmup, n // 2)) if step.split]
        late = [step for step in self.steps[self.warmup:] if step.split and not step.compiled]  # epochs of one step
        return steps or late or [step for step in self.steps[1:] if step.split] or self.steps

    def settled(self) -> bool:
        """Whether waits have stopped to grow: buffers that were full at the beginning are used up."""
        steps = self.counted()
        half = len(steps) // 2
        before, after = (mean([step.wait for step in part]) for part in (steps[:half], steps[half:]))
        return after - before < 0.1 * mean([step.all for step in steps])

    def epochs(self) -> dict[int, float]:
        """The time of a step in each epoch of which at least three steps count."""
        found: dict[int, list[Step]] = {}
        for step in self._inside(self.warmup):
            found.setdefault(step.epoch, []).append(step)
        return {epoch: mean([step.all for step in usual(steps)]) for epoch, steps in found.items() if len(steps) >= 3}


# ------------------------------------------------------------------------------------------------ batches


@dataclass
class Shape:
    """What a batch is: samples, bytes, and the largest array of it."""

    samples: int = 0
    bytes: int = 0
    dtype: str = ""
    shape: tuple[int, ...] = ()

    @property
    def picture(self) -> bool:
        return len(self.shape) == 4

    @property
    def floats(self) -> bool:
        return self.dtype in ("float32", "float64")


def leaves(batch: Any) -> list[Any]:
    """The arrays of a batch, whatever its form."""
    if isinstance(batch, dict):
        return [leaf for part in batch.values() for leaf in leaves(part)]
    if isinstance(batch, (tuple, list)):
        return [leaf for part in batch for leaf in leaves(part)]
    return [batch] if hasattr(batch, "shape") and hasattr(batch, "dtype") else []


def shape_of(batch: Any) -> Shape:
    arrays = leaves(batch)
    found = Shape()
    largest = -1
    for array in arrays:
        try:
            shape = tuple(int(n) for n in array.shape)
        except (TypeError, ValueError):
            continue  # sides that are not known
        dtype = str(getattr(array.dtype, "name", array.dtype)).removeprefix("torch.")
        elements = 1
        for n in shape:
            elements *= n
        width = {"8": 1, "16": 2, "32": 4, "64": 8}.get(dtype.lstrip("uintfloab"), 1)
        found.bytes += elements * width
        if not found.samples and shape:
            found.samples = shape[0]
        if elements * width > largest:
            largest, found.dtype, found.shape = elements * width, dtype, shape
    if not arrays and isinstance(batch, (tuple, list)) and batch:  # columns of Python values, or a list of samples
        first = batch[0]
        found.samples = len(first) if isinstance(first, (tuple, list)) else len(batch)
    return found


def settle(result: Any = None) -> None:
    """Waits until a device has done what it was told: without that, its work would seem to be waiting for data."""
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "cuda") and torch.cuda.is_initialized():
        torch.cuda.synchronize()
    jax = sys.modules.get("jax")
    if jax is not None and hasattr(jax, "block_until_ready"):
        jax.block_until_ready(result)
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is not None and any("GPU" in str(getattr(leaf, "device", "")) for leaf in leaves(result)):
        tensorflow.experimental.sync_devices()
