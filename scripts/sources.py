#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The lists of files in the meson.build files, compared with what is on disk.

    scripts/sources.py           says which files are missing from a list or listed but gone; exit 1 if any
    scripts/sources.py --write   writes the lists anew

Meson wants every file named. A list stands between the two `# lists:` lines of its meson.build.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN = "# lists: written by scripts/sources.py\n"
END = "# lists: end\n"
ROOMS = ("base", "format", "order", "source", "decode", "image", "cache", "sample", "plan", "ops", "stream", "run", "tools")

SRC = ROOT / "src"
# Files of AVX2 that ARM does not compile: one of NEON with the same name takes their whole place.
X86_ALONE = sorted(path.relative_to(SRC).as_posix() for path in SRC.glob("*/x86/*_avx2.c")
                   if (path.parent.parent / "arm" / path.name.replace("_avx2", "_neon")).exists())

# meson.build -> [(name of the list, patterns below its folder, "files" or "names")]
LISTS = {
    "meson.build": [("public_headers", ["include/leat/*.h"], "files"), ("examples", ["examples/*.c"], "names")],
    "src/meson.build": [(room + "_sources", [room + "/**/*.c", "!" + room + "/x86/*.c", "!" + room + "/arm/*.c"], "files") for room in ROOMS]
    + [
        ("entry_sources", ["*.c"], "files"),
        ("sse42_sources", ["*/x86/*_sse42.c"], "files"),
        ("avx2_sources", ["*/x86/*_avx2.c", *("!" + name for name in X86_ALONE)], "files"),
        ("x86_alone_sources", X86_ALONE, "files"),
        ("vpclmul_sources", ["*/x86/*_vpclmul.c"], "files"),
        ("arm_sources", ["*/arm/*_arm.c"], "files"),
        ("neon_sources", ["*/arm/*_neon.c"], "files"),
    ],
    "cli/meson.build": [("cli_sources", ["*.c"], "files")],
    "python/meson.build": [
        ("ext_sources", ["ext/*.c"], "files"),
        ("package_sources", ["leat/**/*.py", "leat/*.pyi", "leat/py.typed"], "files"),
    ],
    "tests/meson.build": [
        ("unit_tests", ["unit/test_*.c"], "names"),
        ("unit_helpers", ["unit/*.c", "!unit/test_*.c"], "files"),
        ("kernel_sources", ["kernel/*.c"], "files"),
        ("stress_tests", ["stress/*.c"], "names"),
        ("long_tests", ["long/*.c"], "names"),
        ("fuzz_targets", ["fuzz/fuzz_*.c"], "names"),
    ],
}
# Named by hand in tests/meson.build, or compiled by tests/torture/trial.py.
UNLISTED = {"tests/fuzz/standalone.c", *(f"tests/torture/shim_{name}.c" for name in ("disk", "clock", "memory", "signals"))}
FOLDERS = ("src", "cli", "python", "tests", "examples")


def matches(folder: Path, patterns: list[str]) -> list[str]:
    found: set[Path] = set()
    for pattern in patterns:
        if pattern.startswith("!"):
            found -= set(folder.glob(pattern[1:]))
        else:
            found |= set(folder.glob(pattern))
    return sorted(path.relative_to(folder).as_posix() for path in found)


def block(build: str) -> str:
    """What should stand between the two lines, these included."""
    text = BEGIN
    for name, patterns, kind in LISTS[build]:
        paths = matches((ROOT / build).parent, patterns)
        items = [Path(path).stem if kind == "names" else path for path in paths]
        opening, closing = ("files(", ")") if kind == "files" and items else ("[", "]")
        text += f"{name} = {opening}" + "".join(f"\n  '{item}'," for item in items)
        text += f"\n{closing}\n" if items else f"{closing}\n"
    return text + END


def listed(text: str) -> set[str]:
    return {
        f"{name}: {item}"
        for name, body in re.findall(r"^(\w+) = (?:files\(|\[)(.*?)[)\]]$", text, re.S | re.M)
        for item in re.findall(r"'([^']+)'", body)
    }


def compare(write: bool) -> list[str]:
    problems, covered = [], set(UNLISTED)
    for build, lists in LISTS.items():
        path = ROOT / build
        for _, patterns, _ in lists:
            covered |= {(path.parent / p).relative_to(ROOT).as_posix() for p in matches(path.parent, patterns)}
        text = path.read_text()
        try:
            head, rest = text.split(BEGIN, 1)
            old, tail = rest.split(END, 1)
        except ValueError:
            problems.append(f"{build}: the lines `{BEGIN.strip()}` and `{END.strip()}` are gone")
            continue
        new = block(build)
        if BEGIN + old + END == new:
            continue
        if write:
            path.write_text(head + new + tail)
            print(f"{build}: written")
            continue
        was, now = listed(old), listed(new)
        problems += [f"{build}: not in {entry}" for entry in sorted(now - was)]
        problems += [f"{build}: gone, but still in {entry}" for entry in sorted(was - now)]
        if was == now:
            problems.append(f"{build}: the lists are not as scripts/sources.py writes them")
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.c")):
            name = path.relative_to(ROOT).as_posix()
            if name not in covered and not name.startswith("tests/golden/"):
                problems.append(f"{name}: belongs to no list (a wrong folder or a wrong name?)")
    return problems


def main() -> int:
    problems = compare("--write" in sys.argv[1:])
    for problem in problems:
        print(problem)
    if problems and "--write" not in sys.argv[1:]:
        print("remedy: make generate")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
