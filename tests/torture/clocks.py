# SPDX-License-Identifier: Apache-2.0
"""A wall clock that jumps by up to ten years at every look: runs, caches and packs are the same, and take no longer. Ctrl-C works."""
from __future__ import annotations

import sys
import time

import disk
from trial import Place, finish, shim

YEARS = 10 * 365 * 86400

# One thread waits in the pipeline for a function that takes long, another one for the pipeline: Ctrl-C reaches the second one.
WAITING = """
import os, signal, threading, time, numpy, leat
stop = threading.Event()
def late(x):
    if x[0] > 0:
        stop.wait(30)
    return {"x": x}
iterator = iter(leat.from_arrays({"x": numpy.arange(8.0, dtype="f4").reshape(8, 1)}).map(late).configure(threads=1).batch(1))
next(iterator)
def wait():
    try:
        next(iterator, None)
    except ValueError:
        pass  # closed meanwhile
threading.Thread(target=wait, daemon=True).start()
time.sleep(0.2)
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
began = time.monotonic()
try:
    iterator._feed.pipeline.next()
except KeyboardInterrupt:
    print("stopped", time.monotonic() - began < 5, flush=True)
stop.set()
os._exit(0)
"""


def interrupted(place: Place) -> None:
    """The wait for another thread follows a clock that does not jump."""
    library = shim(place, "clock")
    done = finish([sys.executable, "-c", WAITING], place.environment(LD_PRELOAD=library, CLOCK_JUMP=YEARS), 30)
    assert done.code == 0 and done.stdout == "stopped True\n", done


def trial(place: Place, chosen: tuple[str, ...] = ()) -> str:
    library, it = shim(place, "clock"), disk.Disk(place)
    scenes = [scene for scene in disk.scenes(place) if not chosen or scene.name in chosen]
    wanted = {scene.name: it.wanted(scene) for scene in scenes}
    runs = 0
    while not place.over():
        scene = scenes[runs % len(scenes)]
        it.begin(scene)
        for jump in (YEARS, 3, 0):  # one after the other, on what the one before has left
            if scene.out == "state" and jump != YEARS:
                continue  # it would go on from there
            began = time.monotonic()
            done = place.run(*scene.words, LD_PRELOAD=library, CLOCK_JUMP=jump)
            done.stdout = disk.plain(done.stdout)
            assert done.check(wanted[scene.name][0], (0,), f"{scene.name}, clock jumps by {jump} s")
            assert it.wrote(scene) == wanted[scene.name][1], f"{scene.name}, clock jumps by {jump} s: other files"
            assert time.monotonic() - began < 20, f"{scene.name}: it took {time.monotonic() - began:.0f} s"
        runs += 1
    return f"{runs:,} rounds of 3 runs"
