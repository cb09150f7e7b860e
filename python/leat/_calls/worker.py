# SPDX-License-Identifier: Apache-2.0
"""The process that runs a dataset or a function of the user's: it puts arrays into shared memory and says where.

It is started as `python -c`, so the user's script is not run again; what it runs comes pickled. Messages are bytes with
their length in front: pickles of tuples.

    ("item", i)   ->   ("item", [(offset, bytes, shape)])  |  ("error", name, message, traceback, exception or None)
    ("look", i)   ->   ("look", layout, [(name, dtype, shape or None for strings)])  |  ("error", ...)
    ("call", info, [(name, dtype, shape, offset, bytes)])   ->
                       ("made", [(name, dtype, shape, offset, bytes)])  |  ("error", ...)
"""
from __future__ import annotations

import mmap
import os
import pickle
import signal
import struct
import sys
import threading
import time
import traceback
from typing import Any

NAMES = ("image", "label", "weight")
ALIGN = 64


def flatten(item: Any, batches: bool = False) -> tuple[Any, dict[str, Any]]:
    """The arrays of an item by name, and its form: (x, y), (x, y, w), a dict, ({"a": ...}, y), or one array."""
    leaves: dict[str, Any] = {}

    def add(name: str, value: Any) -> Any:
        if hasattr(value, "keys"):
            return {str(key): add(str(key), value[key]) for key in value.keys()}
        if name in leaves:
            raise ValueError(f"two parts of an item have the name {name}: give a dict with other names")
        leaves[name] = value
        return name

    if isinstance(item, tuple) or (isinstance(item, list) and batches):
        if not 1 <= len(item) <= len(NAMES):
            raise ValueError(f"an item is an array, (x, y), (x, y, weight) or a dict, not {len(item)} things")
        layout: Any = tuple(add(name, value) for name, value in zip(NAMES, item))
        return (layout[0] if len(layout) == 1 else layout), leaves
    return add("image", item), leaves


def as_memory(value: Any) -> tuple[str, tuple[int, ...] | None, Any]:
    """dtype, shape and an array, or for strings bytes and None."""
    from .._base.arrays import LEAT_NAMES, optional

    if isinstance(value, (str, bytes, bytearray)):
        return "bytes", None, value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)
    numpy = optional("numpy")
    if numpy is None:
        raise ImportError("from_python() needs NumPy for arrays: pip install numpy")
    if hasattr(value, "detach"):  # torch
        value = value.detach().cpu()
    if hasattr(value, "numpy") and not isinstance(value, numpy.ndarray):
        value = value.numpy()
    if isinstance(value, float):
        value = numpy.float32(value)
    array = numpy.asarray(value)
    dtype = LEAT_NAMES.get(array.dtype.name)
    if dtype is None:
        raise TypeError(f"values of type {array.dtype} are not known to leat: convert them, e.g. to float32 or int64")
    return dtype, array.shape, array


class Shared:
    """Memory that the parent sees too. It grows, and never shrinks."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.size = 0
        self.map: mmap.mmap | None = None

    def need(self, size: int) -> mmap.mmap:
        if self.map is None or size > self.size:
            self.size = max(size, 2 * self.size, 1 << 16)
            os.ftruncate(self.fd, self.size)
            self.map = mmap.mmap(self.fd, self.size)
        return self.map


def copy_into(memory: Any, offset: int, value: Any) -> None:
    """An array into memory, in the order and byte order of C."""
    if value.nbytes:
        numpy = sys.modules["numpy"]
        room = numpy.frombuffer(memory, value.dtype.newbyteorder("="), value.size, offset)
        numpy.copyto(room.reshape(value.shape), value)


class Worker:
    """Runs a dataset."""

    def __init__(self, shared: int, dataset: Any, rows: int, planes: bool) -> None:
        self.dataset, self.rows = dataset, rows  # rows 0 = items are samples, else batches of so many
        self.planes = planes  # arrays of three axes have channels first: they are written with channels last
        self.shared = Shared(shared)

    def memory(self, value: Any) -> tuple[str, tuple[int, ...] | None, Any]:
        dtype, shape, array = as_memory(value)
        if self.planes and shape is not None and len(shape) == 3:
            array = array.transpose(1, 2, 0)
            shape = array.shape
        return dtype, shape, array

    def look(self, i: int) -> tuple[Any, ...]:
        layout, leaves = flatten(self.dataset[i], self.rows != 0)
        return "look", layout, [(name, *self.memory(value)[:2]) for name, value in leaves.items()]

    def item(self, i: int) -> tuple[Any, ...]:
        _, leaves = flatten(self.dataset[i], self.rows != 0)
        found = [self.memory(value) for value in leaves.values()]
        places, at, n = [], 0, 0
        for _, shape, value in found:
            size = len(value) if shape is None else value.nbytes
            if self.rows and shape:
                n = shape[0]
                if n > self.rows:
                    raise ValueError(f"batch {i} has {n} samples, the others have at most {self.rows}")
                size = value.nbytes // max(n, 1) * self.rows
                shape = (self.rows, *shape[1:])
            places.append((at, size, (size,) if shape is None else shape))
            at += (size + ALIGN - 1) // ALIGN * ALIGN
        memory = self.shared.need(at + 8)
        for (offset, _, _), (_, shape, value) in zip(places, found):
            if shape is None:
                memory[offset:offset + len(value)] = value
            else:
                copy_into(memory, offset, value)
        if self.rows:
            memory[at:at + 8] = struct.pack("<q", n)
            places.append((at, 8, ()))
        return "item", places

    def answer(self, request: tuple[Any, ...]) -> tuple[Any, ...]:
        return self.look(request[1]) if request[0] == "look" else self.item(request[1])


class Caller:
    """Runs the function of a map: a _callbacks.Job."""

    def __init__(self, shared: int, inputs: int, job: Any) -> None:
        self.job = job
        self.shared = Shared(shared)
        self.inputs = inputs
        self.given: mmap.mmap | None = None

    def answer(self, request: tuple[Any, ...]) -> tuple[Any, ...]:
        from .callbacks import seed_globals, value_of

        _, info, fields = request
        size = max([offset + n for *_, offset, n in fields], default=0)
        if size and (self.given is None or size > len(self.given)):
            self.given = mmap.mmap(self.inputs, 0)
        view = memoryview(self.given) if self.given is not None else memoryview(b"")
        values = {name: value_of(dtype, shape, view[offset:offset + n]) for name, dtype, shape, offset, n in fields}
        seed_globals(info)
        made = self.job.apply(info, values)
        places, at = [], 0
        for name, dtype, array in made:
            places.append((name, dtype, array.shape, at, array.nbytes))
            at += (array.nbytes + ALIGN - 1) // ALIGN * ALIGN
        memory = self.shared.need(at)
        for (_, _, array), (_, _, _, offset, _) in zip(made, places):
            copy_into(memory, offset, array)
        return "made", places


def try_answer(worker: Worker | Caller, request: tuple[Any, ...]) -> tuple[Any, ...]:
    try:
        return worker.answer(request)
    except Exception as error:
        kept: bytes | None
        try:
            kept = pickle.dumps(error)
        except Exception:
            kept = None
        return "error", type(error).__name__, str(error), traceback.format_exc(), kept


def send(fd: int, message: object) -> None:
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    data = struct.pack("<Q", len(data)) + data
    while data:
        data = data[os.write(fd, data):]


def receive(fd: int) -> Any:
    def exactly(n: int) -> bytes:
        data = b""
        while len(data) < n:
            more = os.read(fd, min(n - len(data), 1 << 20))
            if not more:
                raise EOFError
            data += more
        return data

    return pickle.loads(exactly(struct.unpack("<Q", exactly(8))[0]))


def watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


def main(fd: int, shared: int, inputs: int, parent: int) -> None:
    """Runs until the parent closes its end, or is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    threading.Thread(target=watch_parent, args=(parent,), daemon=True).start()
    try:
        path, pickled, rows, planes = receive(fd)  # rows None: a map
        sys.path[:] = path
        try:
            what = pickle.loads(pickled)
            worker = Caller(shared, inputs, what) if rows is None else Worker(shared, what, rows, planes)
        except Exception as error:
            send(fd, ("error", type(error).__name__, str(error), traceback.format_exc(), None))
            return
        send(fd, ("ready",))
        while True:
            send(fd, try_answer(worker, receive(fd)))
    except (EOFError, OSError):
        pass
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)  # no waiting for what the user's code may have started
