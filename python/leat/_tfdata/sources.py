# SPDX-License-Identifier: Apache-2.0
"""Sources of tf.data in the engine's words: each function gives a chain, or refuses."""
from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import Any

from .._base.arrays import LEAT_NAMES
from .._data.bind import bind
from .._data.combine import concatenate
from .._sources.sources import from_text, from_tfrecord
from .chain import Built, Chain, Columns, Refused, mapped
from .verbs import REMOTE, UNKNOWN, flag, tensorflow_or_less, whole

_numbers = itertools.count()
ROWS_MAX = 1 << 24  # of range()
TEXT_MAX = 256 << 20  # bytes of text files that are read at once


def new_name() -> str:
    """A name for a field."""
    return f"x{next(_numbers)}"


def chosen_cycle(parallel_calls: int | None) -> int:
    """How many files tf.data's interleave reads in turn when it is not told, by its num_parallel_calls (-1 = AUTOTUNE)."""
    cores = len(os.sched_getaffinity(0))
    if parallel_calls is None:
        return cores
    return min(parallel_calls, cores) if parallel_calls > 0 else -(-cores // 3)


def taken(leaf: Any) -> Any:
    """A leaf of the user's as a NumPy array of its own, with the type that TensorFlow gives it."""
    numpy: Any = __import__("numpy")
    tf = tensorflow_or_less()
    if type(leaf) is numpy.ndarray and leaf.dtype.kind in "biuf" and leaf.dtype.name in LEAT_NAMES:
        return numpy.array(leaf, dtype=leaf.dtype.newbyteorder("="), order="C")  # as TensorFlow: later changes do not count
    if isinstance(leaf, (tf.RaggedTensor, tf.SparseTensor)):
        raise Refused("ragged or sparse tensors")
    tensor = tf.convert_to_tensor(leaf)
    if not hasattr(tensor, "numpy"):
        raise Refused("a symbolic tensor")
    array = tensor.numpy()
    if tensor.dtype == tf.string:
        if array.ndim != 1:
            raise Refused("strings with more than one axis")
        return array
    if array.dtype.name not in LEAT_NAMES:
        raise Refused(f"the type {array.dtype.name}")
    return numpy.asarray(array)


def _checked(structure: Any) -> Any:
    """Tuples and dicts as they are; other containers TensorFlow knows better."""
    if isinstance(structure, tuple):
        if type(structure) is not tuple:
            raise Refused(f"elements of type {type(structure).__name__}")
        return tuple(_checked(part) for part in structure)
    if isinstance(structure, dict):
        if type(structure) is not dict:
            raise Refused(f"elements of type {type(structure).__name__}")
        return {key: _checked(part) for key, part in structure.items()}
    if hasattr(structure, "columns") or structure is None:
        raise Refused(f"elements of type {type(structure).__name__}")
    return structure


def from_arrays(arrays: Any, add_axis: bool = False) -> Chain:
    """from_tensor_slices, and with add_axis from_tensors."""
    tf = tensorflow_or_less()
    columns: dict[str, Any] = {}
    specs: dict[str, Any] = {}

    def add(leaf: Any) -> str:
        if add_axis:
            leaf = leaf[None] if type(leaf).__name__ == "ndarray" else tf.convert_to_tensor(leaf)[None]
        array, name = taken(leaf), new_name()
        if array.ndim == 0 or array.size == 0:
            raise Refused("an empty array")
        columns[name] = array
        specs[name] = tf.TensorSpec(array.shape[1:], tf.string if array.dtype.kind == "O" else array.dtype)
        return name

    structure = mapped(_checked(arrays), add)
    if len({len(array) for array in columns.values()}) != 1:
        raise Refused("arrays of different lengths")
    rows = len(next(iter(columns.values())))
    return Chain(Columns(columns, rows), structure, specs, cardinality=rows)


def in_range(*args: Any, output_type: Any = None, name: Any = None) -> Chain:
    numpy, tf = __import__("numpy"), tensorflow_or_less()
    if not 1 <= len(args) <= 3:
        raise Refused("range() with these arguments")
    numbers = range(*[whole(arg, "range", -(1 << 62)) for arg in args])
    kind = tf.as_dtype(output_type or "int64")
    if not 0 < len(numbers) <= ROWS_MAX or kind.name not in LEAT_NAMES:
        raise Refused("a range that is empty, or very long")
    field = new_name()
    column = numpy.arange(numbers.start, numbers.stop, numbers.step, dtype="int64").astype(kind.as_numpy_dtype)
    return Chain(Columns({field: column}, len(column)), field, {field: tf.TensorSpec([], kind.name)}, cardinality=len(column))


def paths_of(given: Any) -> list[str]:
    """File names of a string, a path, a list or a tensor of these."""
    if hasattr(given, "numpy"):
        given = given.numpy()
    if hasattr(given, "tolist"):
        given = given.tolist()
    many = list(given) if isinstance(given, (list, tuple)) else [given]
    files = []
    for each in many:
        if hasattr(each, "numpy"):
            each = each.numpy()
        if not isinstance(each, (str, bytes, os.PathLike)):
            raise Refused(f"file names of type {type(each).__name__}")
        files.append(os.fsdecode(each))
    if not files or any(word in file for file in files for word in REMOTE):
        raise Refused("no file, or a remote one")
    return files


def expanded(files: list[str]) -> list[str]:
    """Files that exist; what does not exist and is a pattern, as the files that it matches."""
    tf, found = tensorflow_or_less(), []
    for file in files:
        if not os.path.exists(file) and any(mark in file for mark in "*?["):
            found += [os.fsdecode(path) for path in tf.io.matching_files(file).numpy().tolist()]
        else:
            found.append(file)
    return found


def list_files(file_pattern: Any, shuffle: Any = None, seed: Any = None, name: Any = None, *,
               seeder: Callable[[Any], int]) -> Chain:
    tf = tensorflow_or_less()
    paths = tf.io.matching_files(paths_of(file_pattern)).numpy()
    if len(paths) == 0:
        raise Refused("no file matches")
    field = new_name()
    chain = Chain(Columns({field: paths}, len(paths)), field, {field: tf.TensorSpec([], tf.string)},
                  cardinality=len(paths))
    return chain if shuffle is not None and not flag(shuffle, "shuffle") else chain.then("shuffle", seed=seeder(seed))


def tfrecord(filenames: Any, compression_type: Any = None, buffer_size: Any = None, num_parallel_reads: Any = None,
             name: Any = None) -> Chain:
    tf = tensorflow_or_less()
    files = expanded(paths_of(filenames))
    _readable(files)
    kind = _compression(compression_type)
    if any(_compressed(file) != kind for file in files):
        raise Refused(f"compression_type={compression_type!r}, and the files are not so")
    cycle = 1
    if num_parallel_reads is not None:
        cycle = whole(num_parallel_reads, "num_parallel_reads")
        cycle = chosen_cycle(-1) if cycle < 0 else cycle
    chain = records(files, kind, cycle, 1)
    return chain.with_(specs={"record": tf.TensorSpec([], tf.string)})


def records(files: list[str], kind: str, cycle: int, block: int) -> Chain:
    """TFRecords of files in this order, `cycle` files in turn."""
    tf = tensorflow_or_less()
    if len(set(files)) != len(files):
        raise Refused("a file twice")
    in_order = [*files] == sorted(files, key=os.fsencode)
    if in_order or len(files) == 1:
        made = from_tfrecord(files)
        if cycle > 1 and len(files) > 1:
            made = made.interleave(cycle, block)
    elif cycle == 1 and len(files) <= (15 if kind else 60):
        made = concatenate(*[from_tfrecord(file) for file in files])
    else:
        raise Refused("many files that are not in the order of their names")
    return Chain(Built(made), "record", {"record": tf.TensorSpec([], tf.string)}, cardinality=UNKNOWN)


def _readable(files: list[str]) -> None:
    for file in files:
        if not os.path.isfile(file) or os.path.getsize(file) == 0:
            raise Refused(f"{file} is not there, or empty")


def _compression(given: Any) -> str:
    if hasattr(given, "numpy"):
        given = given.numpy()
    word = os.fsdecode(given or "")
    if word not in ("", "GZIP", "ZLIB"):
        raise Refused(f"compression_type={given!r}")
    return word


def _compressed(file: str) -> str:
    with open(file, "rb") as opened:
        head = opened.read(12)
    if head[:2] == b"\x1f\x8b":
        return "GZIP"
    # A TFRecord file begins with a length, whose upper four bytes are zero.
    return "ZLIB" if head[:1] == b"\x78" and head[4:8] != b"\0\0\0\0" else ""


def fixed_length(filenames: Any, record_bytes: Any, header_bytes: Any = None, footer_bytes: Any = None,
                 buffer_size: Any = None, compression_type: Any = None, num_parallel_reads: Any = None,
                 name: Any = None) -> Chain:
    tf = tensorflow_or_less()
    files = paths_of(filenames)
    _readable(files)
    if _compression(compression_type) or num_parallel_reads is not None:
        raise Refused("FixedLengthRecordDataset with compression_type or num_parallel_reads")
    if files != sorted(set(files), key=os.fsencode):
        raise Refused("files that are not in the order of their names")
    words = {"bytes": whole(record_bytes, "record_bytes", 1), "header": whole(header_bytes or 0, "header_bytes", 0),
             "footer": whole(footer_bytes or 0, "footer_bytes", 0)}
    for file in files:
        rest = os.path.getsize(file) - words["header"] - words["footer"]
        if rest <= 0 or rest % words["bytes"]:
            raise Refused(f"{file} is not a whole number of records")
    return Chain(Built(from_text(bind("fixed", tuple(files), words))), "record", {"record": tf.TensorSpec([], tf.string)},
                 cardinality=UNKNOWN)


def text_lines(filenames: Any, compression_type: Any = None, buffer_size: Any = None, num_parallel_reads: Any = None,
               name: Any = None) -> Chain:
    """Lines of text files as a column of strings. Reading them at once takes less time than one element of tf.data."""
    numpy, tf = __import__("numpy"), tensorflow_or_less()
    files = paths_of(filenames)
    _readable(files)
    if _compression(compression_type) or num_parallel_reads is not None or sum(map(os.path.getsize, files)) > TEXT_MAX:
        raise Refused("TextLineDataset with compression_type or num_parallel_reads, or very long")
    lines: list[bytes] = []
    for file in files:
        with open(file, "rb") as opened:
            found = opened.read().split(b"\n")
        if found[-1] == b"":
            found.pop()
        lines += [line[:-1] if line.endswith(b"\r") else line for line in found]
    column = numpy.empty(len(lines), object)
    column[:] = lines
    field = new_name()
    return Chain(Columns({field: column}, len(lines)), field, {field: tf.TensorSpec([], tf.string)}, cardinality=UNKNOWN)
