# SPDX-License-Identifier: Apache-2.0
"""Functions of the user that the engine calls: what `filter` and `map` get and give."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ._arrays import FORMATS, NUMPY_NAMES, optional
from ._bind import _dtype_text, near, quote

Described = list[tuple[str, str, tuple[int, ...], bytes]]
LETTERS = {dtype: letter for letter, dtype in reversed(list(FORMATS.items()))}


def _value(dtype: str, shape: tuple[int, ...], data: bytes) -> Any:
    """What a function sees of one field: a NumPy array, a number, or bytes."""
    numpy = optional("numpy")
    if dtype == "bytes":
        return data
    if numpy is not None and dtype != "bf16":
        values = numpy.frombuffer(data, NUMPY_NAMES[dtype])
        return values[0] if not shape else values.reshape(shape)
    view: Any = memoryview(data).cast(LETTERS.get(dtype, "B"))  # type: ignore[call-overload]
    return view[0] if not shape else view


def filter_function(function: Callable[[dict[str, Any]], object]) -> Callable[[Described], bool]:
    def call(fields: Described) -> bool:
        return bool(function({name: _value(dtype, shape, data) for name, dtype, shape, data in fields}))

    return call


def _leat_dtype(name: str, dtype: object) -> str:
    text = _dtype_text(dtype) or ""
    short = {numpy: leat for leat, numpy in NUMPY_NAMES.items()}.get(text, text)
    if short not in NUMPY_NAMES or short == "bytes":
        raise TypeError(f"map(): {name} must have a type such as 'f32' or 'uint8', not {dtype!r}"
                        f"{near(text, [*NUMPY_NAMES, *NUMPY_NAMES.values()])}")
    return short


def map_function(function: Callable[[dict[str, Any]], Any],
                 fields: Mapping[str, Any]) -> tuple[list[str], Callable[[Described, Described], list[Any]]]:
    """The fields as the text has them, and a function for the engine."""
    texts, wanted = [], {}
    for name, given in fields.items():
        dtype, shape = given if isinstance(given, tuple) else (given, ())
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        short = _leat_dtype(name, dtype)
        wanted[name] = (short, sizes)
        texts.append(quote(f"{name}:{short}" + (f"[{','.join(map(str, sizes))}]" if sizes else "")))

    def call(inputs: Described, outputs: Described) -> list[Any]:
        made = function({name: _value(dtype, shape, data) for name, dtype, shape, data in inputs})
        if not isinstance(made, Mapping):
            if len(wanted) > 1:
                raise TypeError(f"map(): the function must give a dict of {', '.join(wanted)}, not "
                                f"{type(made).__name__}")
            made = {next(iter(wanted)): made}
        return [_bytes_of(name, made, *wanted[name]) for name, *_ in outputs]

    return texts, call


def _bytes_of(name: str, made: Mapping[str, Any], dtype: str, shape: tuple[int, ...]) -> Any:
    if name not in made:
        raise KeyError(f"map(): the function gave no {name}, but {', '.join(map(str, made))}")
    numpy = optional("numpy")
    if numpy is None or dtype == "bf16":
        import array

        value = made[name]
        return value if shape or dtype == "bf16" else array.array(LETTERS[dtype], [value])
    values = numpy.ascontiguousarray(made[name], dtype=NUMPY_NAMES[dtype])
    if values.shape != shape and not (shape == () and values.size == 1):
        raise ValueError(f"map(): {name} has the shape {values.shape}, {shape} was declared")
    return values
