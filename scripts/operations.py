#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Where operations are, and two pages about them that stay true: docs/operations.md and src/ops/README.md.

    scripts/operations.py                says what is out of date; exit code 1 if anything is
    scripts/operations.py --write        writes it anew (`make generate` does)
    scripts/operations.py --where        the file and line of every operation
    scripts/operations.py --where NAME   of one

docs/operations.md has a heading `### name` for every operation. Behind it, between `<!-- name: begin -->` and
`<!-- name: end -->`, stands what `leat ops --json` says: how it is written, what it does in a sentence, what it is
called elsewhere, its arguments. What stands behind the second mark is written by hand: the exact meaning, what differs
from elsewhere and why, examples. A new operation gets a heading at the end of its kind's chapter, or wherever it is
moved to.

src/ops/README.md has a table of the files and their operations, made of the files alone: the first sentence of each, and
the names in its table.
"""
import difflib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/operations.md"
FOLDER = ROOT / "src/ops"
MAP, MAP_BEGIN, MAP_END = FOLDER / "README.md", "<!-- files: begin -->\n", "<!-- files: end -->\n"
FAMILIES = (("TensorFlow", ("tf.",)), ("Keras", ("keras", "ImageDataGenerator", "image_dataset_from_directory")),
            ("PyTorch", ("torch",)), ("Albumentations", ("albumentations",)))


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
        groups.setdefault(family, []).append(re.sub(r"^(torchvision|keras|albumentations) (?=[A-Z])", "", name))
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
    words = arg["help"] + (f" (also `{'=`, `'.join(arg['also'])}=`)" if arg["also"] else "")
    return f"| `{arg['name']}{'=' if arg['named'] else ''}` | {kind} | {default} | {cell(words)} |"


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
        wrong.append(f"docs/operations.md: {gone} is no operation any more: take its section out")
    for op in ops:
        pattern = re.compile(rf"<!-- {op['name']}: begin -->.*?<!-- {op['name']}: end -->", re.S)
        found = pattern.findall(page)
        if not found:
            wrong.append(f"docs/operations.md: {op['name']} is missing")
            page = page.rstrip("\n") + f"\n\n### {op['name']}\n\n{block(op)}\n"
        elif found != [block(op)]:
            wrong.append(f"docs/operations.md: {op['name']} is out of date")
            page = pattern.sub(lambda _: block(op), page)
    return page, wrong


# ------------------------------------------------------------------------------------------ the files


def families() -> list[str]:
    """In the order of ops.c, which is that of `leat ops`."""
    return re.findall(r"FAMILY\((\w+)\)", (FOLDER / "ops.c").read_text())


def file_of(family: str) -> Path:
    """In src/ops, or in one of its folders."""
    return next(FOLDER.rglob(f"ops_{family}.c"), FOLDER / f"ops_{family}.c")


def rows(text: str) -> dict[str, int]:
    """The operations of a file: name and line of each row of its table."""
    return {found[1]: text.count("\n", 0, found.start(1)) + 1
            for found in re.finditer(r'\{\s*\.name = "(\w+)",\s*\.kind = LEAT_OP_', text)}


def places() -> dict[str, tuple[str, int]]:
    found = {}
    for family in families():
        path = file_of(family)
        for name, line in rows(path.read_text()).items():
            found[name] = (path.relative_to(ROOT).as_posix(), line)
    return found


def first_sentence(text: str) -> str:
    comment = re.search(r"/\* (?!SPDX)(.*?)\*/", text, re.S)[1]
    words = " ".join(re.sub(r"(?m)^ \*", "", comment.split("\n *\n")[0]).split())
    return re.split(r"(?<=\.) ", words)[0].removesuffix(".")


def map_of_files() -> str:
    lines = [MAP_BEGIN, "| file | what | operations |\n", "|---|---|---|\n"]
    for family in families():
        path = file_of(family)
        text = path.read_text()
        names = " ".join(f"`{name}`" for name in rows(text))
        lines.append(f"| `{path.relative_to(FOLDER).as_posix()}` | {cell(first_sentence(text))} | {names} |\n")
    return "".join([*lines, MAP_END])


def wrong_families() -> list[str]:
    """A table that ops.c does not list is not there for the program, and the linker does not mind."""
    tables = {name: path for path in sorted(FOLDER.rglob("*.c"))
              for name in re.findall(r"^const leat__op leat__ops_(\w+)\[\]", path.read_text(), re.M)}
    wrong = [f"{path.relative_to(ROOT)}: the table leat__ops_{name} is not in the list of src/ops/ops.c"
             for name, path in tables.items() if name not in families()]
    return wrong + [f"{path.relative_to(ROOT)}: a table leat__ops_{name} belongs into ops_{name}.c"
                    for name, path in tables.items() if path.name != f"ops_{name}.c"]


def renewed_map(text: str) -> str:
    head, rest = text.split(MAP_BEGIN, 1)
    return head + map_of_files() + rest.split(MAP_END, 1)[1]


def where(names: list[str]) -> int:
    known = places()
    for name in names or known:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            print(f"there is no operation {name}" + (f"; did you mean {near[0]}?" if near else ""), file=sys.stderr)
            return 1
        file, line = known[name]
        print(f"{file}:{line}" if names else f"{name:30} {file}:{line}")
    return 0


def main() -> int:
    if "--where" in sys.argv[1:]:
        return where(sys.argv[sys.argv.index("--where") + 1:])
    ops = table()
    page, wrong = renewed(PAGE.read_text(), ops)
    files = renewed_map(MAP.read_text())
    if files != MAP.read_text():
        wrong.append("src/ops/README.md: the table of files is out of date")
    lost = wrong_families() + [f"{op['name']}: no row of src/ops has it" for op in ops if op["name"] not in places()]
    for line in lost:
        print(line, file=sys.stderr)
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page)
        MAP.write_text(files)
        print(f"operations: {PAGE.name}, {MAP.relative_to(ROOT)}: {f'{len(wrong)} changed' if wrong else 'as they should be'}")
        return 1 if lost or any("no operation" in line for line in wrong) else 0
    for line in wrong:
        print(f"{line}; remedy: make generate", file=sys.stderr)
    return 1 if wrong or lost else 0


if __name__ == "__main__":
    sys.exit(main())
