# SPDX-License-Identifier: Apache-2.0
"""Raw files of small data sets as arrays: MNIST's IDX files, CIFAR's binary and pickled batches, mnist.npz of Keras."""
from __future__ import annotations

import gzip
import io
import os
import pickle
import struct
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from .._base.errors import FormatError

BYTES_MAX = 1 << 30  # of one raw file; the largest of these sets is 180 MB
IDX_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
FASHION = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]
CIFAR10 = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def _bytes(path: str) -> bytes:
    """The bytes of a file, without its compression."""
    try:
        with open(path, "rb") as file:
            head = file.read(2)
            file.seek(0)
            opened: Any = gzip.GzipFile(fileobj=file) if head == b"\x1f\x8b" else file
            data: bytes = opened.read(BYTES_MAX + 1)
    except (EOFError, gzip.BadGzipFile, struct.error) as error:
        raise FormatError(f"{path} cannot be unpacked: {error}; get it again") from None
    if len(data) > BYTES_MAX:
        raise FormatError(f"{path} has more than {BYTES_MAX >> 20} MiB: it is none of these sets")
    return data


# ---------------------------------------------------------------------------------------------------- IDX


def read_idx(path: str) -> Any:
    """An array of an IDX file: two zeros, the type, the number of axes, their lengths, and the values."""
    numpy: Any = import_module("numpy")
    data = _bytes(path)
    kind = IDX_TYPES.get(data[2]) if data[:2] == b"\0\0" and len(data) >= 4 else None
    axes = data[3] if kind else 0
    if kind is None or not 1 <= axes <= 4 or len(data) < 4 + 4 * axes:
        raise FormatError(f"{path} is no IDX file, as MNIST has them: the first bytes are {data[:4].hex()}")
    shape = struct.unpack(f">{axes}I", data[4:4 + 4 * axes])
    count = 1
    for size in shape:
        count *= size
    rest = len(data) - 4 - 4 * axes
    if count * numpy.dtype(kind).itemsize != rest:
        raise FormatError(f"{path}: its header says {'x'.join(map(str, shape))} values, and {rest} bytes follow")
    return numpy.frombuffer(data, kind, offset=4 + 4 * axes).reshape(shape).astype(kind[1:], copy=False)


def _pair(images: Any, labels: Any, where: str) -> dict[str, Any]:
    """Pictures and labels that belong together, in the shapes of TFDS."""
    if images.ndim == 3:
        images = images[..., None]
    if images.ndim != 4 or images.dtype != "uint8" or labels.size != len(images):
        raise FormatError(f"{where}: pictures {images.shape} of {images.dtype} and labels {labels.shape} do not fit")
    return {"image": images, "label": labels.reshape(-1).astype("int64")}


def idx_names(prefix: str, kind: str) -> list[str]:
    """Names that one file of MNIST goes by."""
    axes = 3 if kind == "images" else 1
    return [f"{prefix}-{kind}{mark}idx{axes}-ubyte{end}" for mark in "-." for end in ("", ".gz")]


def _first(folder: str, names: list[str]) -> str | None:
    return next((os.path.join(folder, name) for name in names if os.path.isfile(os.path.join(folder, name))), None)


def read_mnist(folder: str) -> dict[str, dict[str, Any]] | None:
    """The splits of a folder of IDX files; None if they are not there."""
    found = {}
    for split, prefix in (("train", "train"), ("test", "t10k")):
        images, labels = (_first(folder, idx_names(prefix, kind)) for kind in ("images", "labels"))
        if images is not None and labels is not None:
            found[split] = _pair(read_idx(images), read_idx(labels), images)
    return found or None


def read_npz(path: str) -> dict[str, dict[str, Any]]:
    """mnist.npz of Keras."""
    import zipfile

    numpy: Any = import_module("numpy")
    try:
        with numpy.load(path, allow_pickle=False) as file:
            return {split: _pair(file[f"x_{split}"], file[f"y_{split}"], path) for split in ("train", "test")}
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise FormatError(f"{path} is not the mnist.npz of Keras: {error}; get it again") from None


# -------------------------------------------------------------------------------------------------- CIFAR


class _Dtype:
    """The type of an array in a pickle."""

    def __init__(self, text: Any, *rest: Any) -> None:
        self.text = text.decode("latin1") if isinstance(text, bytes) else str(text)

    def __setstate__(self, state: Any) -> None:
        """Byte order and the like; values of one byte have none."""


class _Array:
    """An array in a pickle: bytes and their shape."""

    value: Any = None

    def __setstate__(self, state: Any) -> None:
        numpy: Any = import_module("numpy")
        _, shape, kind, fortran, data = state
        if not isinstance(kind, _Dtype) or kind.text not in ("u1", "|u1") or fortran or not isinstance(data, bytes):
            raise pickle.UnpicklingError("an array that is not of bytes")
        self.value = numpy.frombuffer(data, "u1").reshape([int(size) for size in shape])


def _reconstruct(*_: Any) -> _Array:
    return _Array()


def _encode(text: str, *_: Any) -> bytes:
    return text.encode("latin1")


class Unpickler(pickle.Unpickler):
    """Knows dicts, lists, bytes, texts, numbers and arrays of bytes. A pickle that names anything else is refused, so
    that no code of its can run."""

    known: Mapping[tuple[str, str], Callable[..., Any]] = {
        ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
        ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
        ("numpy", "ndarray"): _Array, ("numpy", "dtype"): _Dtype, ("_codecs", "encode"): _encode}

    def find_class(self, module: str, name: str) -> Any:
        found = self.known.get((module, name))
        if found is None:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is no dict, list, text, number or array")
        return found


def read_pickle(path: str) -> dict[str, Any]:
    """A batch of CIFAR: a dict with texts as keys."""
    try:
        found = Unpickler(io.BytesIO(_bytes(path)), encoding="bytes").load()
        if not isinstance(found, dict):
            raise pickle.UnpicklingError("it is no dict")
        names = [key.decode("latin1") if isinstance(key, bytes) else str(key) for key in found]
        return dict(zip(names, [value.value if isinstance(value, _Array) else value for value in found.values()]))
    except (pickle.UnpicklingError, ValueError, TypeError, EOFError, AttributeError, IndexError, KeyError,
            OverflowError, MemoryError) as error:
        raise FormatError(f"{path} is not a batch of CIFAR that can be read safely: {error}") from None


def _cifar(path: str, labels: tuple[str, ...], binary: bool) -> dict[str, Any]:
    """One file: pictures, and an array for each kind of label."""
    numpy: Any = import_module("numpy")
    if binary:
        rows: Any = numpy.frombuffer(_bytes(path), "u1")
        size = len(labels) + 3072
        if rows.size == 0 or rows.size % size:
            raise FormatError(f"{path} is no binary file of CIFAR: its {rows.size} bytes are not records of {size}")
        rows = rows.reshape(-1, size)
        data, columns = rows[:, len(labels):], {name: rows[:, number] for number, name in enumerate(labels)}
    else:
        found = read_pickle(path)
        try:
            data = found["data"].reshape(-1, 3072)
            columns = {name: numpy.asarray(found[name], "int64") for name in labels}
        except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
            raise FormatError(f"{path} is not a batch of CIFAR: {error!r}") from None
    if any(column.shape != (len(data),) for column in columns.values()):
        raise FormatError(f"{path}: as many labels as pictures are wanted")
    return {"image": data.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), **columns}


def read_cifar(folder: str, fine: bool, binary: bool) -> dict[str, dict[str, Any]] | None:
    """The splits of CIFAR-10, or with fine of CIFAR-100; None if the files are not there."""
    numpy: Any = import_module("numpy")
    end = ".bin" if binary else ""
    files = {"train": ["train" + end], "test": ["test" + end]} if fine else {
        "train": [f"data_batch_{number}{end}" for number in range(1, 6)], "test": ["test_batch" + end]}
    labels = ("coarse_labels", "fine_labels") if fine else ("labels",)
    splits = {}
    for split, names in files.items():
        paths = [os.path.join(folder, name) for name in names if os.path.isfile(os.path.join(folder, name))]
        if len(paths) == len(names):
            parts = [_cifar(path, labels, binary) for path in paths]
            joined = {key: numpy.concatenate([part[key] for part in parts]) for key in parts[0]}
            made = {"id": numpy.array([f"{split}_{number:05}" for number in range(len(joined["image"]))]),
                    "image": joined["image"], "label": joined[labels[-1]].astype("int64")}
            if fine:
                made["coarse_label"] = joined["coarse_labels"].astype("int64")
            splits[split] = made
    return splits or None
