#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long the programs of tests/tutorials take under TensorFlow and under leat.

    PYTHONPATH=build/package bench/python/tutorials.py [--scale 8] [--rounds 3] [--bound 1.3] [PROGRAM]...

Every program runs ROUNDS times, and the quickest run after the first counts: warm, whole programs, with their training. SCALE
multiplies the data of the tests. Each folder of programs has a process of each kind, one after the other, so that each has all
cores and both have the same neighbours on the machine. The time of all cores is beside that of the clock: it is steadier where
other programs run. Lines of a Markdown table, as soon as a folder is done; the last lines name the programs that took longer under
leat. The exit code is 1 if one took more than BOUND times as long."""
import argparse
import itertools
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

TUTORIALS = Path(__file__).resolve().parents[2] / "tests/tutorials"


def rooms(programs: list[str]) -> list[list[str]]:
    """The programs, or all, by their folders."""
    every = programs or sorted(str(path.relative_to(TUTORIALS).with_suffix("")) for path in TUTORIALS.glob("*/*.py")
                               if path.parent.name != "stand_in")
    return [list(some) for _, some in itertools.groupby(sorted(every), lambda name: name.split("/")[0])]


def measured(folder: Path, programs: list[str], rounds: int, words: list[str]) -> dict[str, Any]:
    subprocess.run([sys.executable, TUTORIALS / "run_tutorials.py", "--data", folder / "data", "--out", folder / "found",
                    "--rounds", str(rounds), *words, *programs], check=True)
    found: dict[str, Any] = pickle.loads((folder / "found").read_bytes())
    return found


def compared(program: str, theirs: dict[str, Any], ours: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Prints a row; the ratios of leat's times to TensorFlow's, if leat took longer."""
    if theirs["error"] or ours["error"]:
        print(f"| {program} | {'error' if theirs['error'] else ''} | {'error' if ours['error'] else ''} | | | | |", flush=True)
        return {program: (float("inf"), float("inf"))}
    a, b, a_cpu, b_cpu = (min(each[key][1:] or each[key]) for key in ("seconds", "cpu") for each in (theirs, ours))
    print(f"| {program} | {1000 * a:.0f} ms | {1000 * b:.0f} ms | {a / b:.2f} | {1000 * a_cpu:.0f} ms | {1000 * b_cpu:.0f} ms "
          f"| {ours['where']} |", flush=True)
    return {program: (b / a, b_cpu / a_cpu)} if b > a else {}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bound", type=float, default=1.3)
    parser.add_argument("programs", nargs="*")
    options = parser.parse_args()
    for program in options.programs:
        if not (TUTORIALS / f"{program}.py").exists():
            parser.error(f"no program {program} in tests/tutorials: give folder/name, as questions/lookup_table")
    print("| program | TensorFlow | leat | TensorFlow / leat | cores: TensorFlow | leat | data sets |\n|---|---|---|---|---|---|---|",
          flush=True)
    slower: dict[str, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        subprocess.run([sys.executable, TUTORIALS / "tutorial_data.py", folder / "data", str(options.scale)], check=True)
        for programs in rooms(options.programs):
            theirs, ours = (measured(folder, programs, options.rounds, words) for words in ([], ["--leat"]))
            for program in programs:
                slower.update(compared(program, theirs[program], ours[program]))
    for program, (ratio, cores) in sorted(slower.items(), key=lambda item: -item[1][0]):
        print(f"slower under leat: {program}, {ratio:.2f} times TensorFlow's time, {cores:.2f} times that of all cores")
    return int(any(ratio > options.bound for ratio, _ in slower.values()))


if __name__ == "__main__":
    sys.exit(main())
