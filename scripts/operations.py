#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps docs/operations.md true: what is between its marks comes from the table of operations.

    scripts/operations.py           says what is out of date; exit code 1 if anything is
    scripts/operations.py --write   writes it anew

The page has a heading `### name` for every operation. Behind it, between `<!-- name: begin -->` and `<!-- name: end -->`,
stands what `leat ops --json` says: how it is written, what it does in a sentence, what it is called elsewhere, its
arguments. What stands behind the second mark is written by hand: the exact meaning, what differs from elsewhere and
why, examples. A new operation gets a heading at the end of its kind's chapter, or wherever it is moved to.
"""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/operations.md"
FAMILIES = (("TensorFlow", ("tf.",)), ("Keras", ("keras", "ImageDataGenerator", "image_dataset_from_directory")),
            ("PyTorch", ("torch",)))


def table() -> list[dict]:
    leat = os.environ.get("LEAT", str(ROOT / "build/release/cli/leat"))
    return json.loads(subprocess.run([leat, "ops", "--json"], capture_output=True, text=True, check=True).stdout)


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def usage(op: dict) -> str:
    words = [op["name"]]
    for arg in op["args"]:
        many = "..." if arg["type"] in ("texts", "ints") else ""
        if arg["default"] is None:
            words.append(f"{arg['name']}=" if arg["named"] else arg["name"].upper() + many)
        else:
            words.append(f"[{arg['name']}={arg['default'] or '...'}]")
    return " ".join(words)


def elsewhere(like: str) -> str:
    """Names by the library they are from: `tf.` is TensorFlow's, what no one claims stands last."""
    groups: dict[str, list[str]] = {}
    for name in filter(None, re.split(r", (?![^(]*\))", like)):
        family = next((family for family, heads in FAMILIES if name.startswith(heads)), "Other")
        groups.setdefault(family, []).append(re.sub(r"^(torchvision|keras) (?=[A-Z])", "", name))
    order = [family for family, _ in FAMILIES] + ["Other"]
    return " · ".join(f"{family}: {', '.join(f'`{n}`' for n in groups[family])}" for family in order if family in groups)


def limit(x: float) -> str:
    whole = int(x)
    return f"{whole >> 20} MiB" if whole >= 1 << 20 and whole % (1 << 20) == 0 else str(whole) if whole == x else f"{x:g}"


def argument(arg: dict) -> str:
    kind = " ".join(f"`{word}`" for word in arg["words"]) if arg["words"] else arg["type"]
    for word, bound in (("from", arg["min"]), ("to", arg["max"])):
        kind += f" {word} {limit(bound)}" if bound is not None and abs(bound) < 1e12 else ""
    default = "needed" if arg["default"] is None else f"`{cell(arg['default'])}`" if arg["default"] != "" else ""
    return f"| `{arg['name']}{'=' if arg['named'] else ''}` | {kind} | {default} | {cell(arg['help'])} |"


def block(op: dict) -> str:
    lines = [f"<!-- {op['name']}: begin -->", "", f"    {usage(op)}", "", op["help"]]
    if op["like"]:
        lines += ["", elsewhere(op["like"])]
    if op["args"]:
        lines += ["", "| argument | kind | default | |", "|---|---|---|---|", *map(argument, op["args"])]
    return "\n".join([*lines, "", f"<!-- {op['name']}: end -->"])


def renewed(page: str, ops: list[dict]) -> tuple[str, list[str]]:
    """The page with every block as it should be, and what was wrong with it."""
    wrong = []
    names = {op["name"] for op in ops}
    for gone in set(re.findall(r"<!-- (\w+): begin -->", page)) - names:
        wrong.append(f"{gone} is no operation any more: take its section out")
    for op in ops:
        pattern = re.compile(rf"<!-- {op['name']}: begin -->.*?<!-- {op['name']}: end -->", re.S)
        found = pattern.findall(page)
        if not found:
            wrong.append(f"{op['name']} is missing")
            page = page.rstrip("\n") + f"\n\n### {op['name']}\n\n{block(op)}\n"
        elif found != [block(op)]:
            wrong.append(f"{op['name']} is out of date")
            page = pattern.sub(lambda _: block(op), page)
    return page, wrong


def main() -> int:
    page, wrong = renewed(PAGE.read_text(), table())
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page)
        print(f"operations: {PAGE.name}: {len(wrong)} changed" if wrong else f"operations: {PAGE.name} is as it should be")
        return 1 if any("no operation" in line for line in wrong) else 0
    for line in wrong:
        print(f"docs/operations.md: {line}; scripts/operations.py --write", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
