# SPDX-License-Identifier: Apache-2.0
"""leat.ray.pack: a pack of which each part is a Ray task.

A part is a pure function of its arguments, and its shards appear by rename. So a task may be killed at any instant and run
again, by Ray or by the next call, also while it still runs elsewhere: nothing has to be undone and no state is kept here.
"""
from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import chdir
from itertools import islice
from typing import Any, NamedTuple

from .._base.errors import ArgumentError, Error, StoppedError
from .._base.notices import LeatWarning, tell
from .._base.progress import Progress
from .._data.packing import Packed, Path, pack_join, plain_source
from .._data.packing import pack as pack_here
from .find import find_ray

TOLD = 10  # rejects, and as many as one process tells
EXTREMES = 5
REJECTED = "left out: "  # how the notice of a reject begins


class _Made(NamedTuple):
    """What a task gives back."""

    packed: Packed | None
    notices: list[str]
    error: Error | None = None  # as a value: Ray would wrap what is raised


def _make_part(folder: str, source: Path, out: Path, part: tuple[int, int], options: dict[str, Any]) -> _Made:
    """One part, in a worker of Ray's. Relative paths mean what they mean to the caller."""
    with warnings.catch_warnings(record=True) as caught, chdir(folder):
        warnings.simplefilter("always", LeatWarning)
        packed, error = None, None
        try:
            packed = pack_here(source, out, part=part, progress=False, **options)
        except Error as failed:
            error = failed
    return _Made(packed, [str(one.message) for one in caught if issubclass(one.category, LeatWarning)], error)


def _check(tasks: int, cpus: float, options: dict[str, Any]) -> None:
    """Before any task is begun."""
    for name, instead in (("part", "tasks says how many parts there are"), ("force", "begin a new pack in a new folder"),
                          ("threads", "cpus says how many a task has")):
        if name in options:
            raise ArgumentError(f"leat.ray.pack() has no {name}: {instead}")
    if tasks < 1 or cpus <= 0:
        raise ArgumentError(f"leat.ray.pack(): tasks must be at least 1 and cpus above 0, not {tasks} and {cpus}")
    inspect.signature(pack_here).bind("", "", **options)  # raises a TypeError that names a wrong word


def _result(ray: Any, ref: Any, part: tuple[int, int]) -> _Made:
    shown = f"part {part[0]}/{part[1]}"
    try:
        made: _Made = ray.get(ref)
    except ray.exceptions.RayTaskError:
        raise  # a mistake in the program: its traceback helps
    except ray.exceptions.RayError as error:
        why = str(error).strip().partition("\n")[0].rstrip(". ")
        raise StoppedError(f"leat.ray.pack(): {shown} ended without a result: {why}; finished shards are kept, the same call "
                           "goes on") from error
    if made.error is not None:
        made.error.add_note(f"in {shown} of leat.ray.pack()")
        raise made.error
    return made


def _run(ray: Any, begin: Callable[[int], Any], tasks: int, room: Callable[[], int]) -> Iterator[_Made]:
    """What the tasks give, in the order in which they end; no more are with Ray at a time than there is room for."""
    waiting = iter(range(tasks))
    running: dict[Any, int] = {}  # the part of a task
    try:
        while True:
            for i in islice(waiting, max(0, room() - len(running))):
                running[begin(i)] = i
            if not running:
                return
            (done,), _ = ray.wait(list(running), num_returns=1)
            yield _result(ray, done, (running.pop(done), tasks))
    finally:
        for ref in running:  # after an error, or when the caller was interrupted: a part may be killed
            ray.cancel(ref, force=True)


def _largest(lines: list[str]) -> list[str]:
    """The greatest of lines that begin with a number, "12.3 ms path", as one process tells them."""
    return sorted(lines, key=lambda line: -float(line.split(" ", 1)[0]))[:EXTREMES]


def _tell(packed: Packed, notices: list[str]) -> None:
    for text in notices:
        if not text.startswith(REJECTED):
            tell(text)
    rejects = packed.rejects if packed.rejected else []
    for path, why in rejects[:TOLD]:
        tell(f"{REJECTED}{path}: {why}")
    if len(rejects) > TOLD:
        tell(f"{REJECTED}{len(rejects) - TOLD} more")


def pack(source: Any, out: Path, *, tasks: int = 64, cpus: float = 1, retries: int = 3,
         progress: Callable[[str, int, int], object] | bool = True, **options: Any) -> Packed:
    """leat.pack as tasks of Ray, on as many machines as it has. The result is that of one process, byte for byte.

        packed = leat.ray.pack("/data/photos", "/data/packed", tasks=64, size=256, shuffle=True)
        packed.samples, packed.rejects, packed.manifest["classes"]

    source, out: as leat.pack has them, on a file system that all machines see. leat must be installed on each.
    tasks: how many parts; more than there are shards are of no use.
    cpus: of a task, which are its threads; retries: how often a part is run again whose worker died.
    progress: called with (what, parts done, parts); True shows a bar where a person looks.
    options: those of leat.pack, except part, force and threads.

    The first task that fails ends the call, with the error that leat.pack raises. Whatever ended it, the same call goes on.
    """
    _check(tasks, cpus, options)
    ray = find_ray("pack")
    text, own_seed = plain_source(source)
    options = {"seed": own_seed, **options, "threads": max(1, int(cpus))}
    task = ray.remote(num_cpus=cpus, max_retries=retries)(_make_part)
    folder, made = os.getcwd(), list[_Made]()

    def begin(part: int) -> Any:
        return task.options(name=f"leat.ray.pack {part}/{tasks}").remote(folder, text, out, (part, tasks), options)

    def room() -> int:  # twice what runs at once: no machine waits for its next task, and a cluster may grow
        return max(1, int(2 * ray.cluster_resources().get("CPU", 1) / cpus))

    bar = Progress("packing parts")
    say = bar.report if progress is True else progress or (lambda what, done, total: None)
    try:
        for one in _run(ray, begin, tasks, room):
            made.append(one)
            say("packing parts", len(made), tasks)
    finally:
        bar.end()
    parts = [one.packed for one in made if one.packed]
    packed = pack_join(out, prefix=options.get("prefix"))
    _tell(packed, [text for one in made for text in one.notices])
    return packed._replace(kept_shards=sum(part.kept_shards for part in parts),
                           slowest=_largest([line for part in parts for line in part.slowest]),
                           largest=_largest([line for part in parts for line in part.largest]))
