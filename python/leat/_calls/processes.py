# SPDX-License-Identifier: Apache-2.0
"""Worker processes: code of the user that runs outside of this process, for from_python() and map().

A process is started as `python -c`, so the user's script is not run again; what it shall run comes pickled. Questions
and answers go through a socket, arrays through memory that both processes see. A process that dies is replaced, and the
question is asked again. `worker.py` is the other side.
"""
from __future__ import annotations

import atexit
import mmap
import os
import pickle
import select
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from .._base.errors import ReadError, StoppedError
from .worker import ALIGN, receive, send

TRIES = 3
START = ("import sys; sys.path[:] = {path!r}; from leat._calls.worker import main; "
         "main({fd}, {shared}, {inputs}, {parent})")


def pickled(what: Any, of: Any, name: str) -> bytes:
    """What is defined in the user's script cannot be found by name in another process: cloudpickle takes it along.

    of: what the user gave, name: how a message calls it.
    """
    try:
        import cloudpickle  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        module = getattr(of, "__module__", None) or type(of).__module__
        if module == "__main__" or "<lambda>" in getattr(of, "__qualname__", ""):
            raise ImportError(f"{name} is defined in the script itself, and travels to worker processes with "
                              "cloudpickle: pip install cloudpickle") from None
        return pickle.dumps(what, pickle.HIGHEST_PROTOCOL)
    return bytes(cloudpickle.dumps(what))


class Process:
    """One worker, and the memory that it shares with this process."""

    def __init__(self, begin: tuple[Any, ...]) -> None:
        ours, theirs = socket.socketpair()
        self.shared = os.memfd_create("leat")  # what the worker makes; it grows there
        self.inputs = os.memfd_create("leat inputs")  # what it gets; it grows here
        code = START.format(path=sys.path, fd=theirs.fileno(), shared=self.shared, inputs=self.inputs,
                            parent=os.getpid())
        self.process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL,
                                        pass_fds=(theirs.fileno(), self.shared, self.inputs))
        theirs.close()
        self.socket = ours
        self.map: mmap.mmap | None = None
        self.input_map: mmap.mmap | None = None
        self.address = 0
        send(ours.fileno(), begin)

    def ask(self, request: tuple[Any, ...] | None, stopped: Callable[[], bool]) -> tuple[Any, ...]:
        """Its answer. EOFError if it has died; StoppedError if the pipeline was closed meanwhile."""
        fd = self.socket.fileno()
        if fd < 0:
            raise StoppedError("the worker processes were stopped")
        try:
            if request is not None:
                send(fd, request)
            while not select.select([fd], [], [], 0.1)[0]:
                if stopped():
                    raise StoppedError("the worker processes were stopped")
            answer: tuple[Any, ...] = receive(fd)
        except (BrokenPipeError, ConnectionError):
            raise EOFError from None
        return answer

    def put(self, pieces: Sequence[memoryview]) -> list[int]:
        """Copies memory to where the worker sees it; gives the places."""
        places, size = [], 0
        for piece in pieces:
            places.append(size)
            size += (piece.nbytes + ALIGN - 1) // ALIGN * ALIGN
        if self.input_map is None or size > len(self.input_map):
            size = max(size, 2 * (len(self.input_map) if self.input_map is not None else 0), 1 << 16)
            os.ftruncate(self.inputs, size)
            self.input_map = mmap.mmap(self.inputs, size)
        for place, piece in zip(places, pieces):
            self.input_map[place:place + piece.nbytes] = piece
        return places

    def memory(self, size: int) -> mmap.mmap:
        """What it has made; the memory may have grown."""
        if self.map is None or size > len(self.map):
            self.map, self.address = mmap.mmap(self.shared, 0), 0
        return self.map

    def base(self, size: int) -> int:
        """Where that memory begins here."""
        memory = self.memory(size)
        if not self.address:
            import ctypes

            self.address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        return self.address

    def stop(self) -> None:
        self.socket.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for fd in {self.shared, self.inputs} - {-1}:
            os.close(fd)
        self.shared = self.inputs = -1


class Pool:
    """The processes that run one object of the user's."""

    def __init__(self, what: str) -> None:
        self.what = what  # runs there, for messages
        self.begin: tuple[Any, ...] | None = None
        self.closed = False
        self._reset()
        _live.add(self)

    def _reset(self) -> None:
        self.owner = os.getpid()
        self.lock = threading.Lock()
        self.idle: list[Process] = []
        self.all: set[Process] = set()

    def check_owner(self) -> None:
        """After fork the processes are the parent's: this one begins anew."""
        if self.owner != os.getpid():
            self._reset()
            self.closed = False

    def close(self) -> None:
        """Ends all processes; nothing of them stays."""
        with self.lock:
            self.closed = True
            processes, self.all = self.all, set()
            self.idle = []
        if self.owner == os.getpid():
            for process in processes:
                process.stop()

    def restart(self) -> None:
        """Other processes from here on: they learn what to do when they are started."""
        with self.lock:
            processes, self.all, self.idle = self.all, set(), []
        for process in processes:
            process.stop()

    def is_closed(self) -> bool:
        return self.closed

    def __del__(self) -> None:
        if not self.closed:
            self.close()

    def _start(self) -> Process:
        if self.begin is None:
            raise RuntimeError("a process is started before it is said what it runs")
        process = Process(self.begin)
        with self.lock:
            self.all.add(process)
        try:
            self.check(process.ask(None, self.is_closed), started=True)
        except EOFError:
            code = process.process.wait()
            self.drop(process)
            raise ReadError(f"a worker process ended while it was started, with exit code {code}") from None
        return process

    def drop(self, process: Process) -> None:
        with self.lock:
            self.all.discard(process)
        process.stop()

    def check(self, answer: tuple[Any, ...], started: bool = False) -> tuple[Any, ...]:
        """The answer, or the exception that it tells of."""
        if answer[0] != "error":
            return answer
        _, name, message, trace, kept = answer
        try:
            cause = pickle.loads(kept) if kept else RuntimeError(f"{name}: {message}")
        except Exception:
            cause = RuntimeError(f"{name}: {message}")
        cause.add_note(f"in a worker process of leat:\n{trace}")
        if started:
            raise ReadError(f"{self.what} cannot be used in a worker process: {name}: {message}") from cause
        raise cause

    def take(self) -> Process:
        """An idle process, or a new one."""
        with self.lock:
            if self.closed:
                raise StoppedError("the worker processes were stopped")
            if self.idle:
                return self.idle.pop()
        return self._start()

    def give(self, process: Process) -> None:
        with self.lock:
            if process in self.all:
                self.idle.append(process)


_live: weakref.WeakSet[Pool] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for pool in list(_live):
        pool.close()
