#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/dropin-data.md: which names of tf.data, and of TensorFlow and Keras inside of map, run in the engine.

    scripts/dropin.py           says whether the page is fresh; exit 1 if not
    scripts/dropin.py --write   writes it

The tables are python/leat/_tfdata/table.py and python/leat/_tftrace/table.py. Neither leat nor TensorFlow is needed.
"""
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/dropin-data.md"
PACKAGES = ("leat", "leat._tfdata", "leat._tftrace")


def tables() -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
    """Rows of verbs and of functions. Packages are put in place without running them: they would import the extension."""
    for name in PACKAGES:
        package = ModuleType(name)
        package.__path__ = [str(ROOT / "python" / name.replace(".", "/"))]
        sys.modules[name] = package
    functions: Any = import_module("leat._tftrace.table").ROWS if (ROOT / "python/leat/_tftrace/table.py").exists() else {}
    return import_module("leat._tfdata.table").ROWS, functions


def of_verbs(rows: dict[str, tuple[str, str]]) -> list[str]:
    lines = ["| `tf.data.` | where | |", "|---|---|---|"]
    return lines + [f"| `{name}` | {where} | {note} |" for name, (where, note) in rows.items()]


def of_functions(rows: dict[str, str]) -> list[str]:
    """A line for each module and place, with all names."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, where in rows.items():
        module, _, word = name.rpartition(".")
        groups.setdefault((module, where), []).append(word)
    lines = ["| module | where | names |", "|---|---|---|"]
    for (module, where), names in sorted(groups.items()):
        lines.append(f"| `{module}` | {where} | {', '.join(f'`{name}`' for name in sorted(names))} |")
    return lines


def filled(text: str, word: str, lines: list[str]) -> str:
    begin, end = f"<!-- {word}: begin -->\n", f"<!-- {word}: end -->"
    head, rest = text.split(begin, 1)
    return head + begin + "\n" + "\n".join(lines) + "\n\n" + end + rest.split(end, 1)[1]


def main() -> int:
    verbs, functions = tables()
    old = PAGE.read_text()
    new = filled(filled(old, "verbs", of_verbs(verbs)), "functions", of_functions(functions))
    if new == old:
        return 0
    if "--write" in sys.argv[1:]:
        PAGE.write_text(new)
        print(f"{PAGE.relative_to(ROOT)}: written")
        return 0
    print(f"{PAGE.relative_to(ROOT)}: the tables are not as scripts/dropin.py writes them: make generate")
    return 1


if __name__ == "__main__":
    sys.exit(main())
