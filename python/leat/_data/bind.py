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

from .._base.advice import HABITS
from .._base.arrays import LEAT_NAMES, NUMPY_NAMES
from .._leat import op_elsewhere
from .ops import OPS, Arg, Op

LISTS = ("texts", "ints")
# Arguments that are sizes: (10, 4) is written 10x4, None is the largest of the batch.
SHAPES = {("padded_batch", "max"), ("padded_batch", "shapes")}
# Arguments that are pairs of names and values: eval(image="image / 255").
PAIRS = {"eval": "expressions"}
# What tf.data and torch want to know and leat finds out.
UNNEEDED = {"num_parallel_calls": "leat uses all cores that the process may use: configure(threads=...)",
            "deterministic": "the order is always the same for the same seed",
            "num_workers": "leat has threads of its own: configure(threads=...)",
            "pin_memory": "it is an argument of to_torch()"}
# The functions that make a dataset of these sources.
SOURCES = {"folder": "leat.from_directory", "tfrecord": "leat.from_tfrecord", "arrays": "leat.from_arrays",
           "npy": "leat.from_npy", "list": "leat.from_csv", "synth": "leat.synthetic", "source": "leat.from_python",
           "stream": "leat.from_generator", "zip": "leat.zip", "concatenate": "leat.concatenate",
           "sample_from": "leat.sample_from_datasets", "choose_from": "leat.choose_from_datasets"}
SPECIAL = frozenset(" \t\r\n|='\"")
KINDS = {"int": "a whole number", "ints": "a whole number", "number": "a number", "bool": "True or False",
         "field": "the name of a field", "dtype": "a type such as 'f32' or numpy.float32",
         "text": "a text, a number or a sequence of numbers", "texts": "a text"}
DTYPES = {*NUMPY_NAMES, *LEAT_NAMES, "half", "float", "double", "string"}


def near(name: str, known: Iterable[str]) -> str:
    """ "; did you mean 'resize'?", or nothing if no name is near."""
    import difflib

    found = difflib.get_close_matches(name, list(known), 1, 0.6)
    return f"; did you mean '{found[0]}'?" if found else ""


def name_elsewhere(name: str) -> str:
    """": leat calls it 'random_flip_left_right'", if another library calls an operation or an argument so, else ""."""
    if name in HABITS:
        return f": {HABITS[name]}"
    op, argument = op_elsewhere(name)
    call = SOURCES.get(op or "", op)
    if op is None or call == f"leat.{name}":
        return ""
    return f": leat has it as an argument, '{call}({argument}=...)'" if argument else f": leat calls it '{call}'"


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
        return value.removeprefix("torch.").removeprefix("tf.")
    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    if isinstance(name, str):
        return {"float": "float64", "int": "int64", "bool_": "bool"}.get(name, name)
    text = str(value)  # torch.float32 has no name
    return text.removeprefix("torch.") if text.startswith("torch.") else None


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


def _shape_text(value: object) -> str | None:
    """(10, None, 4) -> "10x*x4"; a text and a single number stay."""
    if isinstance(value, (str, int)) or not isinstance(value, Iterable):
        return _plain_text(value)
    sides = ["*" if side is None or side == -1 else _plain_text(side) for side in value]
    return None if None in sides else "x".join(side for side in sides if side is not None)


def _mapping_text(name: str, arg: Arg, value: Mapping[object, object]) -> str | None:
    """{"boxes": (10, 4), "ids": 7} -> "boxes:10x4,ids:7"; of label_map "ant=0,bee=1"."""
    if arg.name == "weights":  # by rising label, as class_weights() gives them
        return _plain_text([value[key] for key in sorted(value)])  # type: ignore[type-var]
    between = "=" if name == "label_map" else ":"
    make = _shape_text if (name, arg.name) in SHAPES else _plain_text
    parts = [(_plain_text(key), make(part)) for key, part in value.items()]
    if any(key is None or text is None for key, text in parts):
        return None
    return ",".join(f"{key}{between}{text}" for key, text in parts)


def value_text(name: str, arg: Arg, value: object) -> str | None:
    """The value as text, or None if it is of another type."""
    if arg.words:
        if isinstance(value, bool) and {"true", "false"} <= set(arg.words):
            return str(value).lower()
        return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else None
    if arg.type in ("int", "ints"):
        if isinstance(value, str):  # "4k", "16MiB"
            return value if value.rstrip("kMKiGB").removeprefix("-").isdigit() else None
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
        if isinstance(value, (list, tuple)) and value and all(isinstance(name, str) for name in value):
            return ",".join(value)
        return value if isinstance(value, str) else None
    if isinstance(value, Mapping):
        return _mapping_text(name, arg, value)
    return _shape_text(value) if (name, arg.name) in SHAPES else _plain_text(value)


def check(name: str, arg: Arg, value: object) -> str:
    """The value as text, or a TypeError or ValueError that names operation and argument."""
    text = value_text(name, arg, value)
    if text is None:
        wanted = "one of " + ", ".join(arg.words) if arg.words else KINDS[arg.type]
        raise TypeError(f"{name}(): {_python_name(arg)} must be {wanted}, not {type(value).__name__} {value!r:.60}"
                        f" ({arg.help})")
    if arg.words and text not in arg.words:
        raise ValueError(f"{name}(): {_python_name(arg)} must be one of {', '.join(arg.words)}, not {text!r}"
                         f"{near(text, arg.words)}")
    if arg.type == "dtype" and text not in DTYPES:
        raise ValueError(f"{name}(): {_python_name(arg)} must be {KINDS['dtype']}, not {text!r}{near(text, sorted(DTYPES))}")
    if (arg.low or arg.high) and isinstance(value, numbers.Real) and not arg.low <= float(value) <= arg.high:
        raise ValueError(f"{name}(): {_python_name(arg)} must lie between {arg.low:.15g} and {arg.high:.15g}, "
                         f"not {value} ({arg.help})")
    return text


def _items(name: str, arg: Arg, value: object) -> list[object]:
    """Several values, where a list is expected; one alone is a list of one. A dict of shapes is a list of pairs."""
    if isinstance(value, Mapping) and (name, arg.name) in SHAPES:
        return [f"{key}={_shape_text(part)}" for key, part in value.items()]
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _sides(name: str, value: object) -> tuple[object, object] | None:
    """(height, width), if it is not one number: a list, a tuple, torch.Size, a small array."""
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        return None
    sides = tuple(value)
    if len(sides) == 1:
        return sides[0], sides[0]
    if len(sides) != 2:
        raise TypeError(f"{name}(): a size is (height, width), not {value!r:.60}")
    return sides[0], sides[1]


def _leads(op: Op, args: tuple[object, ...], given: Mapping[str, object]) -> bool:
    """Whether the first argument is the field that may stand in front: cast("pixels", "f32"), one_hot("label", 10)."""
    if not op.lead or not args or not isinstance(args[0], str) or op.lead in given:
        return False
    following = next(arg for arg in op.args if arg.name == op.first[0])
    if following.type == "dtype":
        return len(args) > 1 or following.name in given
    return value_text("", following, args[0]) is None


def _unknown(name: str, word: str, known: Iterable[str]) -> TypeError:
    if word in UNNEEDED:
        return TypeError(f"{name}() has no argument '{word}': {UNNEEDED[word]}")
    op, argument = op_elsewhere(word)
    if op is not None and argument is None:  # ImageDataGenerator(zca_whitening=...)
        return TypeError(f"{name}() has no argument '{word}': it is an operation of its own, '{SOURCES.get(op, op)}'")
    listed = ", ".join(known) or "none"
    return TypeError(f"{name}() has no argument '{word}'{near(word, known) or ': it takes ' + listed}")


def _by_name(name: str, kwargs: Mapping[str, object]) -> dict[str, object]:
    """The arguments with a name, by leat's names."""
    args = OPS[name].args
    known = {_python_name(arg): arg.name for arg in args}
    names = {**{other: arg.name for arg in args for other in arg.also}, **known}
    given: dict[str, object] = {}
    pairs: dict[str, object] = {}
    for word, value in kwargs.items():
        if word == "size" and word not in names and {"height", "width"} <= set(known):
            word = "height"
        if word not in names and name in PAIRS:
            pairs[word] = value
            continue
        if word not in names:
            raise _unknown(name, word, known)
        if value is None:
            continue
        if names[word] in given:
            raise TypeError(f"{name}(): {names[word]} is given twice")
        given[names[word]] = value
    if pairs:
        given[PAIRS[name]] = pairs
    return given


def _by_place(name: str, args: tuple[object, ...], given: dict[str, object]) -> dict[str, object]:
    """The arguments without a name, by leat's names."""
    op = OPS[name]
    kinds = {arg.name: arg for arg in op.args}
    found: dict[str, object] = {}
    if _leads(op, args, given):
        found[op.lead], args = args[0], args[1:]
    sides = _sides(name, args[0]) if args and op.first[:2] == ("height", "width") else None
    if sides:
        args = (*sides, *args[1:])
    rest = op.first[-1] if op.first and kinds[op.first[-1]].type in LISTS else None
    plain = op.first[:-1] if rest else op.first
    if len(args) > len(plain) and rest is None:
        raise TypeError(f"{name}() takes {len(plain)} arguments without a name "
                        f"({', '.join(_python_name(kinds[word]) for word in plain) or 'none'}), not {len(args)}")
    for word, value in zip(plain, args):
        if value is None:
            continue
        if word in given:
            raise TypeError(f"{name}(): {_python_name(kinds[word])} is given twice")
        found[word] = value
    if rest and len(args) > len(plain):
        if rest in given:
            raise TypeError(f"{name}(): {_python_name(kinds[rest])} is given twice")
        found[rest] = [item for value in args[len(plain):] for item in _items(name, kinds[rest], value)]
    return found


def _pair(name: str, arg: Arg, key: str, value: object) -> str:
    """image="image / 255"; a name that is no word stands inside of the quotes."""
    text = check(name, arg, value)
    return f"{key}={quote(text)}" if key.isascii() and key.isidentifier() else quote(f"{key}={text}")


def bind(name: str, args: tuple[object, ...], kwargs: Mapping[str, object]) -> str:
    """bind("resize", (224,), {"method": "area"}) -> "resize height=224 method=area" """
    given = _by_name(name, kwargs)
    given.update(_by_place(name, args, given))
    sides = _sides(name, given.get("height")) if "width" in OPS[name].first else None
    if sides:
        if "width" in given:
            raise TypeError(f"{name}(): width is given twice")
        given["height"], given["width"] = sides
    words = [name]
    for arg in OPS[name].args:
        if arg.name not in given:
            if arg.default is None:
                raise TypeError(f"{name}() needs {_python_name(arg)} ({arg.help})")
            continue
        value = given[arg.name]
        if isinstance(value, Mapping) and PAIRS.get(name) == arg.name:
            words += [_pair(name, arg, str(key), part) for key, part in value.items()]
        elif arg.type in LISTS:
            words += [quote(check(name, arg, item)) for item in _items(name, arg, value)]
        else:
            words.append(f"{arg.name}={quote(check(name, arg, value))}")
    return " ".join(words)
