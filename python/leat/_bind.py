# SPDX-License-Identifier: Apache-2.0
"""A call of a method becomes a piece of pipeline text.

Arguments are checked against the table of operations, so that a wrong name or type is told where it was written, with
the nearest name that exists; what only the data can tell is left to the engine.
"""
from __future__ import annotations

import keyword
import numbers
import operator
import os
from collections.abc import Iterable, Mapping
from typing import Any

from ._ops import OPS, Arg

LISTS = ("texts", "ints")
SPECIAL = frozenset(" \t\r\n|='\"")
KINDS = {"int": "a whole number", "ints": "a whole number", "number": "a number", "bool": "True or False",
         "field": "the name of a field", "dtype": "a type such as 'f32' or numpy.float32",
         "text": "a text, a number or a sequence of numbers", "texts": "a text"}


def near(name: str, known: Iterable[str]) -> str:
    """ "; did you mean 'resize'?", or nothing if no name is near."""
    import difflib

    found = difflib.get_close_matches(name, list(known), 1, 0.6)
    return f"; did you mean '{found[0]}'?" if found else ""


def quote(value: str) -> str:
    """A value as the text wants it. There is no escape character: a quote stands in quotes of the other kind."""
    if "\0" in value:
        raise ValueError("a text for leat cannot hold a NUL character")
    if value and not SPECIAL.intersection(value):
        return value
    if not value:
        return '""'
    pieces = []
    for number, part in enumerate(value.split('"')):
        if number:
            pieces.append("'\"'")
        if part:
            pieces.append(f'"{part}"')
    return "".join(pieces)


def split_text(text: str) -> list[str]:
    """The operations of a pipeline text: cut at each `|` that is not quoted."""
    operations, begin, inside = [], 0, ""
    for at, c in enumerate(text):
        if inside:
            inside = "" if c == inside else inside
        elif c in "'\"":
            inside = c
        elif c == "|":
            operations.append(text[begin:at].strip())
            begin = at + 1
    return [*operations, text[begin:].strip()]


def split_words(operation: str) -> list[tuple[str, str]]:
    """The words of one operation without quotes, each with its key, "" for positional ones."""
    words: list[tuple[str, str]] = []
    key, word, inside, begun = "", "", "", False
    for c in operation + " ":
        if inside:
            if c == inside:
                inside = ""
            else:
                word += c
        elif c in "'\"":
            inside, begun = c, True
        elif c.isspace():
            if begun or word:
                words.append((key, word))
            key, word, begun = "", "", False
        elif c == "=" and not key and not begun and word.isidentifier():
            key, word, begun = word, "", True
        else:
            word += c
    return words


def _python_name(arg: Arg) -> str:
    return arg.name + "_" if keyword.iskeyword(arg.name) else arg.name


def _dtype_text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    if isinstance(name, str):
        return {"float": "float64", "int": "int64", "bool_": "bool"}.get(name, name)
    return None


def _plain_text(value: object) -> str | None:
    if isinstance(value, (str, os.PathLike)):
        path = os.fspath(value)
        return os.fsdecode(path)
    if isinstance(value, bool):
        return None
    if isinstance(value, numbers.Real):
        return _number_text(value)
    if isinstance(value, Iterable):
        parts = [_plain_text(part) for part in value]
        return None if None in parts else ",".join(part for part in parts if part is not None)
    return None


def _number_text(value: numbers.Real) -> str:
    return str(int(value)) if isinstance(value, numbers.Integral) else repr(float(value))


def value_text(arg: Arg, value: object) -> str | None:
    """The value as text, or None if it is of another type."""
    if arg.words:
        if isinstance(value, bool) and {"true", "false"} <= set(arg.words):
            return str(value).lower()
        return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else None
    if arg.type in ("int", "ints"):
        if isinstance(value, str) and value[:1].isdigit():  # "4k", "16MiB"
            return value
        try:
            return None if isinstance(value, bool) else str(operator.index(value))  # type: ignore[arg-type]
        except TypeError:
            return None
    if arg.type == "number":
        if isinstance(value, str):  # "1/255"
            return value
        return _number_text(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else None
    if arg.type == "bool":
        return str(bool(value)).lower() if type(value).__name__ in ("bool", "bool_") else None
    if arg.type == "dtype":
        return _dtype_text(value)
    if arg.type == "field":
        return value if isinstance(value, str) else None
    return _plain_text(value)


def check(name: str, arg: Arg, value: object) -> str:
    """The value as text, or a TypeError or ValueError that names operation and argument."""
    text = value_text(arg, value)
    if text is None:
        wanted = "one of " + ", ".join(arg.words) if arg.words else KINDS[arg.type]
        raise TypeError(f"{name}(): {_python_name(arg)} must be {wanted}, not {type(value).__name__} {value!r:.60}"
                        f" ({arg.help})")
    if arg.words and text not in arg.words:
        raise ValueError(f"{name}(): {_python_name(arg)} must be one of {', '.join(arg.words)}, not {text!r}"
                         f"{near(text, arg.words)}")
    if (arg.low or arg.high) and isinstance(value, numbers.Real) and not arg.low <= float(value) <= arg.high:
        raise ValueError(f"{name}(): {_python_name(arg)} must lie between {arg.low:.15g} and {arg.high:.15g}, "
                         f"not {value} ({arg.help})")
    return text


def _positional(name: str) -> tuple[list[Arg], Arg | None]:
    """Arguments that may be given without a name, and the list that takes the rest."""
    plain: list[Arg] = []
    for arg in OPS[name].args:
        if arg.type in LISTS:
            return plain, arg
        if not arg.named and arg.type != "field":
            plain.append(arg)
    return plain, None


def _items(value: object) -> list[object]:
    """Several values, where a list is expected; one alone is a list of one."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def bind(name: str, args: tuple[object, ...], kwargs: Mapping[str, object]) -> str:
    """bind("resize", (224,), {"method": "area"}) -> "resize height=224 method=area" """
    known = {_python_name(arg): arg for arg in OPS[name].args}
    plain, rest = _positional(name)
    given: dict[str, list[str]] = {}
    for word, value in kwargs.items():
        if word not in known:
            listed = ", ".join(known) or "none"
            raise TypeError(f"{name}() has no argument '{word}'{near(word, known) or ': it takes ' + listed}")
        if value is None:
            continue
        arg = known[word]
        given[arg.name] = [check(name, arg, item) for item in (_items(value) if arg.type in LISTS else [value])]
    for number, value in enumerate(args):
        slot = plain[number] if number < len(plain) else rest
        if slot is None:
            raise TypeError(f"{name}() takes {len(plain)} arguments without a name "
                            f"({', '.join(map(_python_name, plain)) or 'none'}), not {len(args)}")
        if slot.name in given and slot is not rest:
            raise TypeError(f"{name}(): {_python_name(slot)} is given twice")
        if value is None and slot is not rest:
            continue
        texts = [check(name, slot, item) for item in (_items(value) if slot is rest else [value])]
        given[slot.name] = given.get(slot.name, []) + texts
    words = [name]
    for arg in OPS[name].args:
        if arg.name not in given:
            if arg.default is None:
                raise TypeError(f"{name}() needs {_python_name(arg)} ({arg.help})")
            continue
        named = "" if arg.type in LISTS else arg.name + "="
        words += [named + quote(text) for text in given[arg.name]]
    return " ".join(words)


def signature(name: str) -> Any:
    """For help(): the arguments of a method, as inspect has them."""
    import inspect

    plain, rest = _positional(name)
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)]
    for arg in [*plain, *([rest] if rest else []), *(a for a in OPS[name].args if a not in plain and a is not rest)]:
        kind = (inspect.Parameter.VAR_POSITIONAL if arg is rest else inspect.Parameter.POSITIONAL_OR_KEYWORD
                if arg in plain and not rest else inspect.Parameter.KEYWORD_ONLY)
        if rest and arg in plain:
            kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        default: Any = inspect.Parameter.empty
        if arg.default is not None and arg is not rest:
            default = arg.default or None
        parameters.append(inspect.Parameter(_python_name(arg), kind, default=default))
    return inspect.Signature(parameters)
