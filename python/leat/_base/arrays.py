# SPDX-License-Identifier: Apache-2.0
"""Memory on its way in and out: arrays of the user for the engine, tensors of the engine as NumPy arrays.

NumPy is used when it is installed. Without it, tensors come as they are (buffer protocol, DLPack), and what goes in
must have the buffer protocol or be a list of numbers or strings.
"""
from __future__ import annotations

import array
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from .._leat import Tensor
from .advice import different_rows

if TYPE_CHECKING:
    from types import ModuleType

    import numpy  # type: ignore[import-not-found, unused-ignore]

    # What a field is when it is handed over; without NumPy, for type checkers, Any.
    Array: TypeAlias = numpy.ndarray[Any, Any]

# leat's names of types, and NumPy's
NUMPY_NAMES = {"u8": "uint8", "i8": "int8", "u16": "uint16", "i16": "int16", "u32": "uint32", "i32": "int32",
               "u64": "uint64", "i64": "int64", "f16": "float16", "bf16": "bfloat16", "f32": "float32",
               "f64": "float64", "bool": "bool", "bytes": "bytes"}
LEAT_NAMES = {numpy: leat for leat, numpy in NUMPY_NAMES.items()}
FORMATS = {"B": "u8", "b": "i8", "H": "u16", "h": "i16", "I": "u32", "i": "i32", "Q": "u64", "q": "i64", "L": "u64",
           "l": "i64", "e": "f16", "f": "f32", "d": "f64", "?": "bool"}
_modules: dict[str, ModuleType | None] = {}


def optional(name: str) -> ModuleType | None:
    """A module that need not be there; looked for when it is first needed, because importing it takes time."""
    if name not in _modules:
        try:
            _modules[name] = __import__(name)
        except ImportError:
            _modules[name] = None
    return _modules[name]


# ------------------------------------------------------------------------------------------------ out


class Ragged:
    """Values whose number differs from sample to sample: those of sample i are values[offsets[i]:offsets[i + 1]].

        names.values, names.offsets     all values in a row, and where each sample begins
        names[2]                        those of one sample; of a field of bytes, a bytes object
        names.tolist()                  a list with one entry for each sample
    """

    __slots__ = ("offsets", "text", "values")

    def __init__(self, values: Any, offsets: Any, text: bool = False) -> None:
        self.values = values
        self.offsets = offsets
        self.text = text

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> Any:
        n = len(self)
        if not -n <= i < n:
            raise IndexError(f"sample {i} of {n}")
        i %= n
        # Arrays of NumPy and of the frameworks can be cut as they are, leat's tensors cannot.
        view = self.values if hasattr(self.values, "tolist") else memoryview(self.values)
        places = self.offsets if hasattr(self.offsets, "tolist") else memoryview(self.offsets)
        part = view[int(places[i]):int(places[i + 1])]
        return part.tobytes() if self.text else part

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def tolist(self) -> list[Any]:
        """One entry for each sample: bytes, or a list of numbers."""
        return [part if self.text else part.tolist() for part in self]

    def __repr__(self) -> str:
        return f"Ragged({len(self)} samples, {len(self.values)} {'bytes' if self.text else 'values'})"


def to_array(tensor: Tensor) -> Any:
    """A NumPy array on the tensor's memory, which it keeps alive; without NumPy the tensor itself."""
    numpy = optional("numpy")
    if numpy is None:
        return tensor
    if tensor.dtype != "bf16":
        return numpy.asarray(tensor)
    types = optional("ml_dtypes")
    return tensor if types is None else numpy.asarray(tensor).view(types.bfloat16)


def to_value(tensor: Tensor, offsets: Tensor | None) -> Any:
    if offsets is None:
        return to_array(tensor)
    return Ragged(to_array(tensor), to_array(offsets), tensor.dtype == "bytes")


def converter(dtype: str, ragged: bool) -> Callable[[Tensor, Tensor | None], Any]:
    """to_value for one field, without what is the same for all batches."""
    numpy = optional("numpy")
    if ragged or numpy is None or dtype == "bf16":
        return to_value
    as_array = numpy.asarray
    return lambda tensor, offsets: as_array(tensor)


def writable(array: Any) -> Any:
    """The same memory without NumPy's mark that it must not be written to, which torch and DLPack refuse. For memory that only
    its reader sees: arrays in the object store of Ray have the mark."""
    if array.flags.writeable or not array.size:
        return array
    import ctypes

    numpy: Any = optional("numpy")
    memory = (ctypes.c_byte * array.nbytes).from_address(array.ctypes.data)
    memory.owner = array  # it lives as long
    return numpy.frombuffer(memory, array.dtype).reshape(array.shape)


def first_value(tensor: Tensor, offsets: Tensor | None, make: Callable[[Any, Any], Any] = to_value) -> Any:
    """The value of the only sample of a batch of one, without the axis of the batch."""
    if offsets is not None:
        return make(tensor, offsets)[0]
    value = make(tensor[0], None)
    return value[()] if getattr(value, "ndim", None) == 0 and hasattr(value, "dtype") else value


# ------------------------------------------------------------------------------------------------- in


def _strings(name: str, values: Sequence[Any]) -> tuple[Any, ...]:
    """Strings as bytes in a row with offsets; text is UTF-8."""
    pieces = []
    for i, value in enumerate(values):
        if isinstance(value, str):
            pieces.append(value.encode("utf-8", "surrogateescape"))
        elif isinstance(value, (bytes, bytearray)):
            pieces.append(bytes(value))
        else:
            raise TypeError(f"array {name}: value {i} is {type(value).__name__}, the others are strings; "
                            "an array holds numbers of one type, or strings")
    offsets = array.array("q", [0])
    for piece in pieces:
        offsets.append(offsets[-1] + len(piece))
    return name, "bytes", bytearray(b"".join(pieces)) or bytearray(1), offsets


def _with_numpy(numpy: ModuleType, name: str, given: Any) -> tuple[Any, ...]:
    if hasattr(given, "to_numpy"):  # pandas, polars
        given = given.to_numpy()
    elif hasattr(given, "detach") and hasattr(given, "numpy"):  # torch
        given = given.detach().numpy()
    try:
        values = numpy.asarray(given)
    except ValueError:
        raise ValueError(different_rows(name, given)) from None
    if values.ndim == 0:
        raise ValueError(f"array {name}: a single {type(given).__name__} has no first axis to take samples from")
    kind = values.dtype.kind
    if kind in "OUS":
        if values.ndim != 1:
            raise TypeError(f"array {name}: strings must be in a list with one axis, not {values.ndim}")
        if kind == "O" and len(values) and not isinstance(values[0], (str, bytes, bytearray)):
            raise TypeError(f"array {name}: Python objects of type {type(values[0]).__name__} are no numbers; "
                            "convert them, e.g. with numpy.asarray(x, dtype='float32')")
        return _strings(name, values.tolist())
    dtype = LEAT_NAMES.get(values.dtype.name)
    if dtype is None:
        raise TypeError(f"array {name}: type {values.dtype.name} is not known to leat; convert it, e.g. with "
                        ".astype('float32') or .astype('int64')")
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    if values.size > 1 and not any(values.strides):  # one value for all: the engine reads strides of 0 as contiguous
        values = values.copy()
    if dtype == "bf16":
        values = values.view("uint16")
    return name, dtype, values


def from_user(name: str, given: Any) -> tuple[Any, ...]:
    """(name, dtype, memory[, offsets]) for the engine; memory of arrays is used where it lies."""
    if isinstance(given, Ragged):
        return name, "bytes" if given.text else LEAT_NAMES[given.values.dtype.name], given.values, given.offsets
    if isinstance(given, (list, tuple)) and given and isinstance(given[0], (str, bytes, bytearray)):
        return _strings(name, given)
    numpy = optional("numpy")
    if numpy is not None:
        from .ragged import is_ragged, join

        return join(numpy, name, given) if is_ragged(given) else _with_numpy(numpy, name, given)
    if isinstance(given, (list, tuple)) and given and isinstance(given[0], (list, tuple)):
        raise TypeError(f"array {name}: without NumPy a list holds numbers or strings, not lists")
    if isinstance(given, (list, tuple)):
        whole = all(isinstance(value, int) for value in given)
        given = array.array("q" if whole else "f", given)
    try:
        view = memoryview(given)
    except TypeError:
        raise TypeError(f"array {name}: {type(given).__name__} has no memory that leat could read; without NumPy "
                        "give lists of numbers, or objects with the buffer protocol") from None
    if view.format not in FORMATS:
        raise TypeError(f"array {name}: format {view.format!r} is not known to leat")
    return name, FORMATS[view.format], given
