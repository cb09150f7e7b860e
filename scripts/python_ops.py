#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The operations of the Python package, made from the table that `leat ops --json` prints.

    scripts/python_ops.py           says whether the files are fresh; exit 1 if not
    scripts/python_ops.py --write   writes python/leat/_data/ops.py (the table, and methods with signatures and docstrings)
                                    and python/leat/_data/ops.pyi (what type checkers read)

Examples of docstrings are those of docs/operations.md. The command is $LEAT, or that of build/release.
"""
import json
import keyword
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python/leat/_data"
PAGE = ROOT / "docs/operations.md"
# In _data/methods.py and _data/compose.py: they take more than the text can say.
HAND_WRITTEN = {"normalize", "filter", "map", "eval", "shard", "split", "random_apply", "random_choice"}
# Positional arguments that are not those of the text: as tf.data has them.
FIRST = {"shuffle": ("buffer_size", "seed")}
LISTS = ("texts", "ints")
TYPES = {"int": "int", "number": "float", "bool": "bool", "text": "Text", "field": "str | Sequence[str]", "dtype": "DType",
         "texts": "Text", "ints": "int | Sequence[int]"}
ALIASES = """
Size: TypeAlias = int | Sequence[int]  # 224, or (height, width)
Text: TypeAlias = str | float | os.PathLike[str] | Sequence[float] | Mapping[str, object]
DType: TypeAlias = Any  # "f32", "float32", numpy.float32, torch.float32
"""
HEAD = '''# SPDX-License-Identifier: Apache-2.0
"""{title}

Written by scripts/python_ops.py; change the table of the engine, not this file.
"""
'''
CLASSES = '''

class Arg(NamedTuple):
    name: str
    type: str
    default: str | None  # None = must be given
    words: tuple[str, ...] = ()
    low: float = 0
    high: float = 0  # both 0 = any
    named: bool = False
    also: tuple[str, ...] = ()  # other names that are taken
    help: str = ""


class Op(NamedTuple):
    kind: str
    help: str
    args: tuple[Arg, ...] = ()
    first: tuple[str, ...] = ()  # arguments that may be given without a name; a list takes the rest
    lead: str = ""  # a field that may stand in front of them
'''
# At run time the methods take anything, so that a wrong name can be told with the nearest right one. What help() and
# inspect.signature show is the function that is wrapped.
METHODS = '''# fmt: on


def _operation(declared: Any) -> Any:
    name = declared.__name__

    def method(self: "Operations", *args: object, **kwargs: object) -> Any:
        return self._add(name, args, kwargs)

    method.__name__, method.__qualname__, method.__doc__ = name, f"Dataset.{name}", declared.__doc__
    method.__wrapped__ = declared  # type: ignore[attr-defined]
    return method


class Operations:
    """Each operation of the table as a method that gives a new dataset."""

    def _add(self, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
        raise NotImplementedError
'''


def python_name(name: str) -> str:
    return name + "_" if keyword.iskeyword(name) else name


def quoted(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple):
        return "(" + ", ".join(map(quoted, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return repr(value)


def wrapped(items: list[str], indent: str) -> list[str]:
    """Items with commas, as many on a line as fit."""
    lines: list[str] = []
    for item in items:
        if lines and len(lines[-1]) + len(item) + 2 <= 120:
            lines[-1] += f" {item},"
        else:
            lines.append(f"{indent}{item},")
    return lines


# ---------------------------------------------------------------------------------------------- arguments


def positional(op: dict) -> tuple[list[dict], dict | None, dict | None]:
    """Arguments that may be given without a name, the list that takes the rest, the field that may stand in front."""
    args = {arg["name"]: arg for arg in op["args"]}
    if op["name"] in FIRST:
        return [args[name] for name in FIRST[op["name"]]], None, None
    first: list[dict] = []
    rest = None
    for arg in op["args"]:
        if arg["named"]:
            break
        if arg["type"] in LISTS:
            rest = arg
            break
        first.append(arg)
    lead = None
    if first and first[0]["type"] == "field" and first[0]["default"] is not None and (rest or len(first) > 1):
        lead = first.pop(0)
    return first, rest, lead


def is_pair(op: dict, arg: dict) -> bool:
    """Whether (height, width) may be given for it."""
    return arg["name"] == "height" and any(other["name"] == "width" for other in op["args"])


def annotation(op: dict, arg: dict) -> str:
    if arg["words"]:
        return "Literal[" + ", ".join(quoted(word) for word in arg["words"]) + "]"
    return "Size" if is_pair(op, arg) else TYPES[arg["type"]]


def literal(arg: dict) -> str:
    """The default as Python writes it; what is left out is None."""
    text = arg["default"]
    return "None" if text == "" else value(arg, text)


def value(arg: dict, text: str) -> str:
    """A value of the text as Python writes it."""
    number = r"-?[\d.]+(?:e-?\d+)?(?:/[\d.]+)?"
    if arg["words"] or arg["type"] in ("field", "dtype"):
        return quoted(text)
    if arg["type"] == "bool":
        return "True" if text in ("true", "on", "1") else "False"
    if re.fullmatch(number, text):
        return text.replace("/", " / ")
    if re.fullmatch(rf"{number}(,{number})+", text):
        return "(" + text.replace(",", ", ").replace("/", " / ") + ")"
    return quoted(text)


def parameter(op: dict, arg: dict, defaults: bool, name: str = "") -> str:
    """One parameter of a signature: with its default, as help() shows it, or with its type, where None is a default."""
    name = name or python_name(arg["name"])
    if defaults:
        return name if arg["default"] is None else f"{name}={literal(arg)}"
    kind = annotation(op, arg)
    return f"{name}: {kind}" if arg["default"] is None else f"{name}: {kind} | None = None"


def parameters(op: dict, defaults: bool, lead: bool = False, instead: tuple[str, str] = ("", "")) -> list[str]:
    """The parameters of a method. lead: the field stands in front; instead: a name and another that it is given by."""
    first, rest, front = positional(op)
    by_name = [arg for arg in op["args"] if arg not in first and arg is not rest and not (lead and arg is front)]
    made = [parameter(op, arg, defaults) for arg in first if arg["name"] != instead[0]]
    if lead and front:
        made.insert(0, f"{front['name']}: str")
    if instead[0]:
        made, by_name = [], [*(arg for arg in first if arg["name"] != instead[0]), *by_name]
    if rest and rest["name"] != instead[0]:
        made.append(f"*{python_name(rest['name'])}" + ("" if defaults else f": {annotation(op, rest)}"))
    elif by_name or instead[0]:
        made.append("*")
    made += [parameter(op, arg, defaults, instead[1]) for arg in op["args"] if arg["name"] == instead[0]]
    made += [parameter(op, arg, defaults) for arg in by_name]
    if not defaults:
        for arg in op["args"]:
            made += [parameter(op, arg, defaults, name) for name in arg["also"] or [] if arg["default"] is not None
                     and arg is not rest]
    return made


def signatures(op: dict) -> list[list[str]]:
    """What type checkers accept: overloads, if a field may stand in front or an argument that is needed has more names."""
    _, rest, lead = positional(op)
    made = [parameters(op, False)]
    if lead:
        made.append(parameters(op, False, True))
    for arg in op["args"]:
        names = list(arg["also"] or []) + (["size"] if is_pair(op, arg) else [])
        made += [parameters(op, False, False, (arg["name"], name)) for name in names if arg["default"] is None]
    return made


# ---------------------------------------------------------------------------------------------- examples


def split(text: str, at: str) -> list[str]:
    """Cut where `at` stands outside of quotes."""
    pieces = re.findall(rf"(?:'[^']*'|\"[^\"]*\"|[^{at}'\"])+", text)
    return [piece.strip() for piece in pieces if piece.strip()]


def calls(page: str) -> dict[str, list[str]]:
    """The examples of each operation in docs/operations.md, as text; those of its own section first."""
    found: dict[str, list[str]] = {}
    sections = re.split(r"^### ", page, flags=re.M)
    for own in (True, False):
        for section in sections:
            title = section.split("\n", 1)[0].strip()
            for line in re.findall(r"^ {4}([^\n]*\|[^\n]*)$", section, re.M):
                for operation in split(line, "|"):
                    name = operation.split()[0]
                    if own == (name == title) and "..." not in operation:
                        found.setdefault(name, []).append(operation)
    return found


def example(op: dict, found: dict[str, list[str]]) -> str:
    """A call of the method."""
    first, rest, lead = positional(op)
    args = {arg["name"]: arg for arg in op["args"]}
    needed = [arg["name"] for arg in op["args"] if arg["default"] is None]
    texts = found.get(op["name"], [op["name"]] if not needed else [])
    if op["name"] in FIRST:  # the places of the text are others
        texts = [text for text in texts if text.count("=") == len(text.split()) - 1 > 0]
    if not texts:
        raise SystemExit(f"docs/operations.md has no example with {op['name']}")
    made, open_args = [], list(first)
    words = split(texts[0], " ")[1:]
    for word in words:
        key, equals, text = word.partition("=")
        if equals and key in args:
            made.append(f"{python_name(key)}=" + value(args[key], text.strip("'\"")))
            continue
        word = word.strip("'\"")
        if lead and not made and not re.match(r"[\d-]", word) and len(words) > 1:
            made.append(quoted(word))
            continue
        arg = open_args.pop(0) if open_args else rest
        if arg is None:
            raise SystemExit(f"docs/operations.md: the example of {op['name']} has too many arguments")
        made.append(value(arg, word))
    return f"ds.{op['name']}({', '.join(made)})"


def docstring(op: dict, found: dict[str, list[str]]) -> list[str]:
    lines = textwrap.wrap(f'"""{op["help"]}', 110, initial_indent="        ", subsequent_indent="        ")
    lines += ["", f"            {example(op, found)}"]
    if op["args"]:
        lines.append("")
    for arg in op["args"]:
        note = f"{python_name(arg['name'])}: {arg['help']}"
        note += f" ({', '.join(arg['words'])})" if arg["words"] else ""
        note += f" (also called {', '.join(arg['also'])})" if arg["also"] else ""
        lines += textwrap.wrap(note, 110, initial_indent="        ", subsequent_indent="            ")
    return [*lines, '        """']


# ------------------------------------------------------------------------------------------------- files


def table(ops: list[dict]) -> str:
    lines = [HEAD.format(title="The table of operations, and a method for each."),
             "from typing import Any, NamedTuple" + CLASSES,
             '\nFIELD = Arg("field", "field", "image", (), 0, 0, True, (), "which field")\n',
             "# fmt: off\nOPS: dict[str, Op] = {"]
    for op in ops:
        args = []
        for arg in op["args"]:
            item = (arg["name"], arg["type"], arg["default"], tuple(arg["words"] or ()), arg["min"] or 0,
                    arg["max"] or 0, arg["named"], tuple(arg["also"] or ()), arg["help"])
            plain = item[:3] == ("field", "field", "image") and arg["named"] and arg["help"] == "which field"
            args.append("FIELD" if plain else "Arg(" + ", ".join(map(quoted, item)) + ")")
        first, rest, lead = positional(op)
        names = tuple(arg["name"] for arg in [*first, *([rest] if rest else [])])
        lines.append(f"    {quoted(op['name'])}: Op({quoted(op['kind'])}, {quoted(op['help'])}, (")
        lines += wrapped(args, "        ")
        lines.append(f"    ), {quoted(names)}{', ' + quoted(lead['name']) if lead else ''}),")
    text = "\n".join(lines) + "\n}\n" + METHODS
    found = calls(PAGE.read_text())
    for op in methods(ops):
        text += f"\n    @_operation\n    def {op['name']}(\n"
        text += "\n".join(wrapped(["self", *parameters(op, True)], "        ")) + "\n    ):\n"
        text += "\n".join(docstring(op, found)) + "\n"
    return text


def methods(ops: list[dict]) -> list[dict]:
    return [op for op in ops if op["kind"] != "source" and op["name"] not in HAND_WRITTEN]


def stubs(ops: list[dict]) -> str:
    text = HEAD.format(title="The operations as methods, with their types.")
    text += ("\nimport os\nfrom collections.abc import Mapping, Sequence\n"
             "from typing import Any, Literal, NamedTuple, Self, TypeAlias, overload\n" + ALIASES + CLASSES)
    text += ("\nFIELD: Arg\nOPS: dict[str, Op]\n\nclass Operations:\n"
             "    def _add(self, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> Self: ...\n")
    for op in methods(ops):
        made = signatures(op)
        for items in made:
            text += "    @overload\n" if len(made) > 1 else ""
            text += f"    def {op['name']}(\n" + "\n".join(wrapped(["self", *items], "        ")) + "\n    ) -> Self: ...\n"
    return text


def main() -> int:
    command = os.environ.get("LEAT", str(ROOT / "build/release/cli/leat"))
    ops = json.loads(subprocess.run([command, "ops", "--json"], capture_output=True, text=True, check=True).stdout)
    stale = 0
    for path, text in ((PACKAGE / "ops.py", table(ops)), (PACKAGE / "ops.pyi", stubs(ops))):
        if path.exists() and path.read_text() == text:
            continue
        stale = 1
        if "--write" in sys.argv[1:]:
            path.write_text(text)
            print(f"{path.relative_to(ROOT)}: written")
        else:
            print(f"{path.relative_to(ROOT)}: not as `leat ops --json` has it; remedy: make generate")
    return stale if "--write" not in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
