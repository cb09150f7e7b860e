# SPDX-License-Identifier: Apache-2.0
"""Every allocation of the Python binding fails once, of the interpreter and of the engine inside: MemoryError or leat.Error, no crash, and the
same call works afterwards. Run as a program, with shim_memory.so in front, it is the process in which they fail."""
from __future__ import annotations

import re
import sys
from pathlib import Path

import samples
from trial import Place, finish, shim

CALLS = ("open", "arrays", "iterate", "states", "tensors", "records", "map", "write", "questions", "errors")


def trial(place: Place, most: int = 0) -> str:
    """`most` allocations of each call, spread over all of them; 0 = as many as there is time for."""
    most = most or max(20, int(min(place.seconds, 1e6) * 8))
    samples.make(place)
    library = shim(place, "memory")
    allocations = calls = 0
    for name in CALLS:
        if place.over():
            break
        done = finish([sys.executable, __file__, name, str(place.folder), str(most), str(place.seed)],
                      place.environment(LD_PRELOAD=library, PYTHONUNBUFFERED=1, PYTHONFAULTHANDLER=1), 600)
        assert done.code == 0 and done.stdout.rstrip().endswith("through"), f"{done.stdout[-300:]}\n{done.stderr[-3000:]}\n{done.code}"
        allocations += int(done.stdout.split()[-2])
        calls += 1
    return f"{allocations:,} allocations of {calls} calls"


def engine() -> tuple[int, int]:
    """Where the code of the binding lies."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        found = [line.split()[0].split("-") for line in maps if "_leat.abi3.so" in line and "r-x" in line]
    return int(found[0][0], 16), int(found[-1][1], 16)


def fail_each(name: str, folder: Path, most: int, seed: int) -> None:
    import ctypes
    import gc
    import os
    import random
    import warnings
    import zlib

    import leat
    import numpy
    from leat._leat import Pipeline

    warnings.simplefilter("ignore")
    photos, text = str(folder / "data/photos"), f"folder {folder}/data/photos | shuffle | decode | resize 8 8 | batch 5"
    x, y = numpy.arange(40 * 6, dtype="f4").reshape(40, 6), numpy.arange(40)
    written = str(folder / "written.tfrecord")
    options = {"threads": 1, "cache_dir": str(folder / "cache"), "top": False}
    ready = Pipeline(text, **options)
    batches = iter(leat.from_arrays((x, y)).configure(threads=1).batch(10).batches())
    field = next(batches).tensors

    # No arithmetic of NumPy, which does not survive that its own allocations fail.
    def sums(dataset: leat.Dataset) -> list[int]:
        return [zlib.crc32(part) for batch in dataset for part in batch]

    def open_close() -> object:
        pipeline = Pipeline(text, **options)
        found = [zlib.crc32(pipeline.next().tensors()[0][0]) for _ in range(3)]
        pipeline.close()
        return found

    def states() -> object:
        pipeline = Pipeline(text, **options)
        pipeline.next()
        state = pipeline.state()
        pipeline.restore(state)
        return state, pipeline.next().step

    def tensors() -> object:
        one = next(iter(field.values()))
        return memoryview(one).nbytes, one.__dlpack__() is not None, one.__dlpack__(copy=True, max_version=(1, 0)) is not None, one[1].shape, one.strides, [str(name) for name in field]

    def write() -> object:
        with leat.TFRecordWriter(written) as writer:
            for number in range(3):
                writer.write({"label": number, "x": [1.0, 2.0], "name": b"abc"})
        with open(written, "rb") as file:
            return file.read()

    def wrong() -> object:
        try:
            Pipeline("folder /nowhere | decode | no_such_operation", **options)
        except leat.Error:
            return "refused"
        return "accepted"

    calls = {
        "open": open_close,
        "states": states,
        "tensors": tensors,
        "write": write,
        "errors": wrong,
        "arrays": lambda: sums(leat.from_arrays((x, y)).configure(threads=1).shuffle(seed=1).batch(7)),
        "iterate": lambda: sums(leat.from_directory(photos).configure(threads=1, top=False).resize(8, 8).batch(5)),
        "records": lambda: sums(leat.from_tfrecord(str(folder / "data/a.tfrecord"), {"image": "bytes", "label": "int64"})
                                .configure(threads=1, top=False).decode().resize(8, 8).batch(5)),
        "map": lambda: sums(leat.from_arrays((x, y)).map(lambda image, label: (image[:3], label)).configure(threads=1, top=False).batch(7)),
        "questions": lambda: (ready.plan()[:60], ready.classes(), ready.fields(), ready.size(), ready.name(3), len(ready.stats())),
    }
    call = calls[name]
    hook = ctypes.CDLL(None)
    hook.memory_begin.argtypes, hook.memory_begin.restype = [ctypes.c_size_t, ctypes.c_size_t], None
    hook.memory_fail.argtypes, hook.memory_fail.restype = [ctypes.c_long], None
    hook.memory_stop.restype = ctypes.c_long
    wanted = call()
    gc.collect()
    threads = len(os.listdir("/proc/self/task"))
    hook.memory_begin(*engine())
    assert call() == wanted
    hook.memory_fail(0)
    call()
    total = hook.memory_stop()
    assert total > 10, f"{name}: {total} allocations"
    chosen = range(1, total + 1) if total <= most else sorted(random.Random(seed).sample(range(1, total + 1), most))
    met = 0
    for n in chosen:
        print(f"{name} {n} of {total}", end="\r")
        said: BaseException | None = None
        found = None
        hook.memory_fail(n)
        try:
            found = call()
        except BaseException as error:
            said = error
        hook.memory_stop()
        met += said is not None
        if said is None:  # what failed was not needed, such as memory for a warning
            assert found == wanted, f"{name}, allocation {n}: another result: {found}"
        elif not isinstance(said, (MemoryError, leat.Error)) and not memory_behind(said):
            raise AssertionError(f"{name}, allocation {n}: {said!r}") from said
        del said, found
        if n % 50 == 1:
            gc.collect()
            assert call() == wanted, f"{name}: another result after allocation {n} failed"
    assert call() == wanted and (met or most < 10)
    gc.collect()
    left = len(os.listdir("/proc/self/task"))
    # The interpreter itself loses a reference here and there when the frame of a function cannot be had.
    assert left <= threads + 5 + len(chosen) // 100, f"{name}: {left - threads} threads are left of {len(chosen)} failures"
    print(f"\n{len(chosen)} through")


def memory_behind(error: BaseException | None) -> bool:
    """Whether the cause was memory: libraries wrap it; the interpreter has other words for its locks, its threads and the frame of a
    Python function (of a C function it names the function); NumPy has for a buffer that it could not get."""
    while error is not None:
        if isinstance(error, MemoryError) or re.search("memory|allocate|start new thread|^error return without|^<function|setting an array element", str(error)):
            return True
        error = error.__cause__ or error.__context__
    return False


if __name__ == "__main__":
    fail_each(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
