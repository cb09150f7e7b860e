#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long each fuzz target has tried the code as it is now: tests/fuzz/runs.json, which `scripts/fuzz --due` reads and writes.

    scripts/fuzz_runs.py                          a table of all targets
    scripts/fuzz_runs.py due SECONDS [NAME...]    targets that have had fewer, and how many they lack: `NAME SECONDS` lines
    scripts/fuzz_runs.py add NAME SECONDS INPUTS  a run of a target that found nothing

The line `tries:` in the first comment of a target names the code that it tries: patterns below src/, and folders, which end with a slash. Seconds of earlier runs count as
long as none of these files has changed. leat's own decoders of pictures are tried three times as long as the others.
"""
import fcntl
import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RUNS = ROOT / "tests/fuzz/runs.json"
DECODERS = ("fuzz_jpeg", "fuzz_png", "fuzz_webp")
TRIES = re.compile(r"^ \* tries: (.+?)(?: \*/)?$", re.M)


def targets() -> list[str]:
    return sorted(path.stem for path in (ROOT / "tests/fuzz").glob("fuzz_*.c"))


def files(target: str) -> list[Path]:
    """The target and the files that it tries. ValueError: a pattern names none."""
    source = ROOT / f"tests/fuzz/{target}.c"
    found = TRIES.search(source.read_text())
    if not found:
        raise ValueError(f"{source.name} has no line `tries:` in its first comment")
    every = [source]
    for pattern in found[1].split():
        named = [path for path in sorted((ROOT / "src").glob(pattern + "*" * pattern.endswith("/"))) if path.suffix in (".c", ".h")]
        if not named:
            raise ValueError(f"{source.name}: no file of src/ is {pattern}")
        every += named
    return every


def digest(target: str) -> str:
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files(target))).hexdigest()[:16]


def known() -> dict[str, Any]:
    """Runs of the code as it is now."""
    runs = json.loads(RUNS.read_text()) if RUNS.exists() else {}
    return {name: run for name, run in runs.items() if name in targets() and run["code"] == digest(name)}


def add(name: str, seconds: int, inputs: int) -> None:
    with Path(__file__).open() as lock:  # targets may run side by side
        fcntl.flock(lock, fcntl.LOCK_EX)
        runs = json.loads(RUNS.read_text()) if RUNS.exists() else {}
        before = known().get(name, {"seconds": 0, "inputs": 0})
        runs[name] = {"code": digest(name), "seconds": before["seconds"] + seconds, "inputs": before["inputs"] + inputs}
        RUNS.write_text(json.dumps({name: runs[name] for name in sorted(runs) if name in targets()}, indent=1) + "\n")


def due(seconds: int, names: list[str]) -> list[tuple[str, int]]:
    runs = known()
    lacking = ((name, seconds * (3 if name in DECODERS else 1) - runs.get(name, {"seconds": 0})["seconds"])
               for name in names or targets())
    return [(name, left) for name, left in lacking if left > 0]


def main() -> int:
    words = sys.argv[1:]
    if not words:
        runs = known()
        for name in targets():
            run = runs.get(name)
            print(f"{name:18}" + (f"{run['seconds']:6,} s {run['inputs']:13,} inputs" if run else "     none on the code as it is now"))
    elif words[0] == "due" and len(words) > 1 and words[1].isdecimal():
        for name, left in due(int(words[1]), words[2:]):
            print(name, left)
    elif words[0] == "add" and len(words) == 4 and words[1] in targets():
        add(words[1], int(words[2]), int(words[3]))
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
