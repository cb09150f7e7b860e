# SPDX-License-Identifier: Apache-2.0
"""Samples of a generator, kept. A generator can be read once and in one order only, and a shuffle of everything, states
and further epochs need more than that: so it is read once, into columns that grow in memory and move to a temporary
file when they are large. The file has no name and goes with the process."""
from __future__ import annotations

import array
import math
import mmap
import os
import tempfile
import threading
from collections.abc import Callable, Iterable
from typing import Any

from .._base.arrays import from_user
from .._base.errors import ArgumentError, LimitError
from .._base.progress import Progress

MEMORY_MAX = 64 << 20  # of one column; beyond it, a file


class Column:
    """The values of one field, one sample after the other."""

    def __init__(self, name: str, dtype: str, shape: tuple[int, ...] | None) -> None:
        self.name, self.dtype, self.shape = name, dtype, shape  # shape None = strings
        self.memory = bytearray()
        self.file: Any = None
        self.offsets = array.array("q", [0])
        self.ragged = False  # the first axis differs from sample to sample

    def fits(self, dtype: str, shape: tuple[int, ...] | None) -> bool:
        """Whether a value of this type and shape belongs here; boxes (n, 4) and tokens (n) may differ in number."""
        if (dtype, shape) == (self.dtype, self.shape):
            return True
        if not shape or not self.shape or len(shape) > 2:
            return False
        if self.offsets[-1] == 0 and 0 in self.shape:  # all were empty so far, and tell neither type nor shape
            self.dtype, self.shape = dtype, shape
        elif 0 not in shape and (dtype, shape[1:]) != (self.dtype, self.shape[1:]):
            return False
        self.ragged = True
        return True

    def add(self, data: bytes | memoryview) -> None:
        self.memory += data
        self.offsets.append(self.offsets[-1] + len(data))
        if len(self.memory) > MEMORY_MAX:
            self.file = self.file or tempfile.TemporaryFile(prefix="leat")
            self.file.write(self.memory)
            self.memory.clear()

    def finish(self, n: int) -> tuple[Any, ...]:
        """As from_user gives it."""
        memory: Any = self.memory
        if self.file is not None:
            self.file.write(self.memory)
            self.file.flush()
            os.posix_fadvise(self.file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            memory = mmap.mmap(self.file.fileno(), 0)
        if self.shape is None:
            return self.name, "bytes", memory or bytearray(1), self.offsets
        view: Any = memoryview(memory)
        letter = {"u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "u64": "Q", "i64": "q",
                  "f16": "H", "bf16": "H", "f32": "f", "f64": "d", "bool": "?"}[self.dtype]
        if self.ragged:
            entry = view.cast("B").cast(letter).itemsize * math.prod(self.shape[1:])
            if len(view) == 0:
                view = memoryview(bytearray(entry))
            offsets = array.array("q", [at // entry for at in self.offsets])
            return self.name, self.dtype, view.cast("B").cast(letter, (len(view) // entry, *self.shape[1:])), offsets
        if 0 in self.shape:
            raise ArgumentError(f"from_generator(): {self.name} has the shape {self.shape}: no values")
        return self.name, self.dtype, view.cast("B").cast(letter, (n, *self.shape))


def _one(name: str, value: Any) -> tuple[str, tuple[int, ...] | None, Any]:
    """dtype, shape and bytes of one value: it becomes an array with one slice."""
    if isinstance(value, (str, bytes, bytearray)):
        return "bytes", None, value.encode() if isinstance(value, str) else bytes(value)
    if isinstance(value, (bool, int, float)):
        letter = "?" if isinstance(value, bool) else "q" if isinstance(value, int) else "f"
        packed = memoryview(array.array("b" if letter == "?" else letter, [value])).cast("B")
        return {"?": "bool", "q": "i64", "f": "f32"}[letter], (), packed
    if getattr(value, "ndim", None) == 0:
        _, dtype, memory = from_user(name, value.reshape(1))[:3]
        return dtype, (), memory.tobytes()
    entry = from_user(name, value)
    if len(entry) > 3:
        raise ArgumentError(f"from_generator(): {name} of one sample is a list of texts or of lists of different lengths; "
                            "give one text or one array")
    _, dtype, memory = entry
    view = memoryview(memory)
    return dtype, tuple(view.shape or ()), view.tobytes()


class Spool:
    """The columns of a generator, read when they are first asked for."""

    def __init__(self, generator: Callable[[], Iterable[Any]] | Iterable[Any], take: int | None,
                 max_bytes: int) -> None:
        if not callable(generator) and not hasattr(generator, "__iter__"):
            raise TypeError("from_generator() needs a function that gives a generator, or something to iterate over, "
                            f"not {type(generator).__name__}")
        self.generator, self.take, self.max_bytes = generator, take, max_bytes
        self.kept: tuple[tuple[Any, ...], ...] | None = None
        self.lock = threading.Lock()

    def arrays(self) -> tuple[tuple[Any, ...], ...]:
        with self.lock:
            if self.kept is None:
                self.kept = self._read()
                if not callable(self.generator):
                    self.generator = ()
            return self.kept

    def __getstate__(self) -> dict[str, Any]:
        """Another process runs the generator anew."""
        if not callable(self.generator):
            raise TypeError("a generator that was begun; from_generator(function) can be run anew")
        return {"generator": self.generator, "take": self.take, "max_bytes": self.max_bytes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Spool.__init__(self, **state)

    def _read(self) -> tuple[tuple[Any, ...], ...]:
        from .sources import name_fields

        columns: dict[str, Column] = {}
        n, used = 0, 0
        progress = Progress("reading the generator", self.take)
        for item in self.generator() if callable(self.generator) else self.generator:
            fields = name_fields(item, "from_generator()")
            if not columns:
                columns = {name: Column(name, *_one(name, value)[:2]) for name, value in fields.items()}
            if fields.keys() != columns.keys():
                raise ArgumentError(f"from_generator(): sample {n} has the fields {', '.join(fields)}, those before "
                                    f"had {', '.join(columns)}")
            for name, value in fields.items():
                column = columns[name]
                dtype, shape, data = _one(name, value)
                if not column.fits(dtype, shape):
                    raise ArgumentError(f"from_generator(): {name} of sample {n} is {dtype} {shape}, of those before "
                                        f"{column.dtype} {column.shape}; give all samples one type and one shape, but for the "
                                        "first of one or two axes")
                column.add(data)
                used += len(data)
            n += 1
            progress.say(n)
            if n == self.take:
                break
            if used > self.max_bytes:
                raise LimitError(f"from_generator(): {n} samples have more than max_bytes={self.max_bytes} bytes; "
                                 "give a larger max_bytes, or take=n if the generator has no end")
        progress.end()
        if n == 0:
            raise ArgumentError("from_generator(): the generator gave no sample; give a function that makes a new one, "
                                "if it was used before")
        return tuple(column.finish(n) for column in columns.values())
