# SPDX-License-Identifier: Apache-2.0
"""The little of TensorFlow that sources and verbs need, where it is not installed: specs of fields, types of Python values."""
from __future__ import annotations

import glob
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy  # type: ignore[import-not-found, unused-ignore]

string, int64 = "string", "int64"


class RaggedTensor:
    """Nothing is one."""


class SparseTensor:
    """Nothing is one."""


class Shape(tuple):  # type: ignore[type-arg]
    """The axes of a field of one sample."""

    @property
    def rank(self) -> int:
        return len(self)

    def is_fully_defined(self) -> bool:
        return None not in self


class _Spec(NamedTuple):
    """Shape and type of a field."""

    shape: Any
    dtype: Any

    def __repr__(self) -> str:
        return f"TensorSpec(shape={tuple(self.shape)}, dtype={self.dtype})"


def TensorSpec(shape: Any, dtype: Any = "float32") -> _Spec:
    """By the name of TensorFlow's class."""
    return _Spec(Shape(shape), "string" if str(dtype) == "string" else numpy.dtype(dtype).name)


class Tensor:
    """A value with the type that TensorFlow would give it: numbers of Python are int32 and float32."""

    def __init__(self, value: Any) -> None:
        array = numpy.asarray(value)
        if not hasattr(value, "dtype") and array.dtype.kind in "if":
            array = array.astype("int32" if array.dtype.kind == "i" else "float32")
        if array.dtype.kind in "USO":
            words = [word.encode() if isinstance(word, str) else bytes(word) for word in array.ravel().tolist()]
            flat = numpy.empty(len(words), object)
            flat[:] = words
            array = flat.reshape(array.shape)
        self.array, self.dtype = array, "string" if array.dtype.kind == "O" else array.dtype

    def numpy(self) -> Any:
        return self.array

    def __getitem__(self, key: Any) -> Any:
        return self.array[key]


convert_to_tensor = Tensor


def as_dtype(given: Any) -> Any:
    kind = numpy.dtype(given)
    return SimpleNamespace(name=kind.name, as_numpy_dtype=kind)


def _matching(patterns: Any) -> Tensor:
    many = [patterns] if isinstance(patterns, str) else patterns
    return Tensor(sorted({path for pattern in many for path in glob.glob(pattern)}))


io = SimpleNamespace(matching_files=_matching)
