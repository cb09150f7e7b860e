#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The operations of the Python package, made from the table that `leat ops --json` prints.

    scripts/python_ops.py           says whether the files are fresh; exit 1 if not
    scripts/python_ops.py --write   writes python/leat/_ops.py (the table) and python/leat/_ops.pyi (methods with types)

The command is $LEAT, or that of build/release.
"""
import json
import keyword
import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python/leat"
HAND_WRITTEN = {"normalize", "filter", "map", "shard"}  # in _dataset.py: they take more than the text can say
LISTS = ("texts", "ints")
TYPES = {"int": "int", "number": "float", "bool": "bool", "text": "Text", "field": "str", "dtype": "DType",
         "texts": "Text", "ints": "int"}
HEAD = '''# SPDX-License-Identifier: Apache-2.0
"""{title}

Written by scripts/python_ops.py; change the table of the engine, not this file.
"""
'''
# The types of these methods stand in _ops.pyi; at run time they take anything, so that a wrong name can be told with
# the nearest right one.
METHODS = '''# fmt: on


class Operations:
    """Each operation of the table as a method that gives a new dataset."""

    def _add(self, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
        raise NotImplementedError


def _method(name: str, op: Op) -> Any:
    def method(self: Operations, *args: object, **kwargs: object) -> Any:
        return self._add(name, args, kwargs)

    method.__name__, method.__qualname__ = name, f"Dataset.{{name}}"
    notes = [f"{{arg.name}}: {{arg.help}}" + (f" (default {{arg.default}})" if arg.default else "") for arg in op.args]
    method.__doc__ = "\\n".join([op.help, "", *notes])
    return method


for _name, _op in OPS.items():
    if _op.kind != "source" and _name not in {hand_written}:
        setattr(Operations, _name, _method(_name, _op))
'''


def python_name(name: str) -> str:
    return name + "_" if keyword.iskeyword(name) else name


def table(ops: list[dict]) -> str:
    lines = [HEAD.format(title="The table of operations: what methods there are, and what they take."),
             "from typing import Any, NamedTuple\n\n",
             "class Arg(NamedTuple):\n    name: str\n    type: str\n    default: str | None  # None = must be given\n"
             "    words: tuple[str, ...] = ()\n    low: float = 0\n    high: float = 0  # both 0 = any\n"
             "    named: bool = False\n    help: str = \"\"\n\n",
             "class Op(NamedTuple):\n    kind: str\n    help: str\n    like: str\n    args: tuple[Arg, ...] = ()\n\n",
             'FIELD = Arg("field", "field", "image", (), 0, 0, True, "which field")\n',
             "# fmt: off\nOPS: dict[str, Op] = {"]
    for op in ops:
        args = []
        for arg in op["args"]:
            words = tuple(arg["words"] or ())
            item = (arg["name"], arg["type"], arg["default"], words, arg["min"] or 0, arg["max"] or 0, arg["named"],
                    arg["help"])
            plain = item[:3] == ("field", "field", "image") and arg["named"]
            args.append("FIELD" if plain else "Arg(" + ", ".join(map(quoted, item)) + ")")
        lines.append(f"    {quoted(op['name'])}: Op({quoted(op['kind'])}, {quoted(op['help'])},")
        lines.append(f"        {quoted(op['like'])}, (")
        lines += wrapped(args, "            ")
        lines.append("        )),")
    return "\n".join(lines) + "\n}\n" + METHODS.format(hand_written=quoted(tuple(sorted(HAND_WRITTEN))))


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


def annotation(arg: dict) -> str:
    if arg["words"]:
        return "Literal[" + ", ".join(quoted(word) for word in arg["words"]) + "]"
    return TYPES[arg["type"]]


def parameters(op: dict) -> list[str]:
    """The signature of a method: leading fields and what is named come after `*`, lists are `*args`."""
    first, last = [], []
    rest = ""
    for arg in op["args"]:
        name = python_name(arg["name"])
        optional = f"{name}: {annotation(arg)} | None = None"
        if arg["type"] in LISTS:
            rest = f"*{name}: {annotation(arg)}"
        elif arg["named"] or arg["type"] == "field" or rest:
            last.append(optional if arg["default"] is not None else f"{name}: {annotation(arg)}")
        else:
            first.append(optional if arg["default"] is not None else f"{name}: {annotation(arg)}")
    if last and not rest:
        rest = "*"
    return first + ([rest] if rest else []) + last


def stubs(ops: list[dict]) -> str:
    lines = [HEAD.format(title="The operations as methods, with their types."),
             "import os\nfrom collections.abc import Sequence\n"
             "from typing import Any, Literal, NamedTuple, Self, TypeAlias\n",
             "Text: TypeAlias = str | float | os.PathLike[str] | Sequence[float]",
             "DType: TypeAlias = Any  # \"f32\", \"float32\", numpy.float32\n",
             "class Arg(NamedTuple):\n    name: str\n    type: str\n    default: str | None\n"
             "    words: tuple[str, ...] = ...\n    low: float = ...\n    high: float = ...\n    named: bool = ...\n"
             "    help: str = ...\n",
             "class Op(NamedTuple):\n    kind: str\n    help: str\n    like: str\n    args: tuple[Arg, ...] = ...\n",
             "FIELD: Arg\nOPS: dict[str, Op]\n",
             "class Operations:\n"
             "    def _add(self, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> Self: ...\n"]
    for op in ops:
        if op["kind"] == "source" or op["name"] in HAND_WRITTEN:
            continue
        lines.append(f"    def {op['name']}(")
        lines += [f"        {item}," for item in ["self", *parameters(op)]]
        lines.append("    ) -> Self:")
        lines += textwrap.wrap(f'"""{op["help"]}', 110, initial_indent="        ", subsequent_indent="        ")
        lines[-1] += '"""' if not op["args"] else ""
        if op["args"]:
            lines.append("")
            for arg in op["args"]:
                note = f"{python_name(arg['name'])}: {arg['help']}"
                note += f" (default {arg['default']})" if arg["default"] else ""
                lines += textwrap.wrap(note, 106, initial_indent="        ", subsequent_indent="            ")
            lines.append('        """')
        lines.append("        ...\n")
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    command = os.environ.get("LEAT", str(ROOT / "build/release/cli/leat"))
    ops = json.loads(subprocess.run([command, "ops", "--json"], capture_output=True, text=True, check=True).stdout)
    stale = 0
    for path, text in ((PACKAGE / "_ops.py", table(ops)), (PACKAGE / "_ops.pyi", stubs(ops))):
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
