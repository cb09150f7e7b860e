# SPDX-License-Identifier: Apache-2.0
"""What a sample is made of: features.json of TFDS, and the same for raw files."""
from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from .._base.errors import ArgumentError, FormatError, UnsupportedError

WHOLE = frozenset(("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"))
REAL = frozenset(("float16", "float32", "float64", "bfloat16"))


class Feature:
    """One feature of a sample.

        info.features["label"].names        # of a class label: names, num_classes, int2str, str2int
        info.features["image"].shape        # None is an axis that differs from sample to sample

    kind is "image", "label", "text", "tensor" or "unknown". lists is True for a list of them in each sample. reason
    says why leat does not read one that is unknown.
    """

    reason = ""

    def __init__(self, kind: str, dtype: str, shape: tuple[int | None, ...] = (), lists: bool = False,
                 num_classes: int | None = None, names: list[str] | None = None) -> None:
        self.kind, self.dtype, self.lists, self.num_classes = kind, dtype, lists, num_classes
        self.item_shape = shape
        self._names = names

    @property
    def shape(self) -> tuple[int | None, ...]:
        return (None, *self.item_shape) if self.lists else self.item_shape

    @property
    def np_dtype(self) -> Any:
        numpy: Any = import_module("numpy")
        return numpy.dtype("object" if self.dtype == "string" else self.dtype)

    @property
    def names(self) -> list[str]:
        """Of a class label."""
        return self._names or [str(number) for number in range(self.num_classes or 0)]

    def int2str(self, number: int) -> str:
        """The name of a class: int2str(3)."""
        return self.names[number]

    def str2int(self, name: str) -> int:
        """The number of a class: str2int("cat")."""
        if name not in self.names:
            raise ArgumentError(f"there is no class {name!r}: there are {', '.join(self.names):.200}")
        return self.names.index(name)

    def __repr__(self) -> str:
        if self.kind == "label":
            return f"ClassLabel(shape={self.shape}, dtype={self.dtype}, num_classes={self.num_classes})"
        return f"{self.kind.capitalize()}(shape={self.shape}, dtype={self.dtype})"


class FeaturesDict(dict[str, Any]):
    """Features by name; a value may be a FeaturesDict again."""

    def flat(self, prefix: str = "") -> Iterator[tuple[str, Feature]]:
        """All features with the names that they have in a record: "objects/bbox"."""
        for name, value in self.items():
            if isinstance(value, FeaturesDict):
                yield from value.flat(f"{prefix}{name}/")
            else:
                yield prefix + name, value


def _shape(message: Mapping[str, Any]) -> tuple[int | None, ...]:
    sizes = [int(size) for size in message.get("shape", {}).get("dimensions", [])]
    return tuple(None if size < 0 else size for size in sizes)


def _names(folder: str, path: str) -> list[str] | None:
    """Names of classes lie in a file beside, one a line."""
    try:
        with open(os.path.join(folder, f"{path}.labels.txt"), encoding="utf-8") as file:
            return [line for line in file.read().split("\n") if line]
    except FileNotFoundError:
        return None


def _tensor(path: str, dtype: str, shape: tuple[int | None, ...], encoding: str, lists: bool) -> Feature:
    if encoding not in ("", "none"):
        raise UnsupportedError(f"feature '{path}' is stored with encoding '{encoding}'")
    if dtype not in WHOLE | REAL | {"string"} or (None in shape and (lists or None in shape[1:])):
        raise UnsupportedError(f"feature '{path}' has type {dtype} and shape {shape}")
    if shape and shape[0] is None:
        shape, lists = shape[1:], True
    return Feature("text" if dtype == "string" else "tensor", dtype, shape, lists)


def _read(message: Mapping[str, Any], folder: str, path: str = "", lists: bool = False) -> Any:
    if "featuresDict" in message:
        made = FeaturesDict()
        for name, value in sorted(message["featuresDict"].get("features", {}).items()):
            below = name.replace("/", ".")
            try:
                made[name] = _read(value, folder, f"{path}-{below}" if path else below, lists)
            except UnsupportedError as error:  # the others may be all that is wanted
                made[name] = Feature("unknown", "")
                made[name].reason = str(error)
        return made
    if "sequence" in message:
        if lists:
            raise UnsupportedError(f"feature '{path}' is a list of lists")
        if int(message["sequence"].get("length", -1)) >= 0:
            raise UnsupportedError(f"feature '{path}' is a list of fixed length")
        return _read(message["sequence"]["feature"], folder, path, True)
    if "classLabel" in message:
        count = message["classLabel"].get("numClasses")
        return Feature("label", "int64", (), lists, None if count is None else int(count), _names(folder, path))
    if "image" in message:
        image = message["image"]
        shape, dtype = _shape(image) or (None, None, 3), image.get("dtype") or "uint8"
        if lists or dtype not in ("uint8", "uint16") or len(shape) != 3 or shape[2] not in (1, 3, 4):
            raise UnsupportedError(f"feature '{path}' is a list of pictures, or has type {dtype} and shape {shape}")
        return Feature("image", dtype, shape)
    if "text" in message:
        return Feature("text", "string", (), lists)
    if "boundingBox" in message:
        return Feature("tensor", "float32", (4,), lists)
    if "tensor" in message:
        tensor = message["tensor"]
        return _tensor(path, tensor.get("dtype") or "float32", _shape(tensor), tensor.get("encoding") or "", lists)
    kind = str(message.get("pythonClassName", "unknown")).rpartition(".")[2]
    raise UnsupportedError(f"feature '{path}' is of kind {kind}")


def read_features(folder: str) -> FeaturesDict:
    """Of features.json."""
    path = os.path.join(folder, "features.json")
    try:
        with open(path, encoding="utf-8") as file:
            found = _read(json.load(file), folder)
    except FileNotFoundError:
        raise UnsupportedError(f"{path} is missing: an old version of TFDS has prepared this data set") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(f"{path} is not the features.json of TFDS: {error}") from None
    if not isinstance(found, FeaturesDict):
        raise UnsupportedError(f"{path} describes no dict of features")
    return found
