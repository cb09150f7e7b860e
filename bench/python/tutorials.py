#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long the programs of tests/tutorials take under TensorFlow and under leat.

    PYTHONPATH=build/package bench/python/tutorials.py [--scale 8] [--rounds 3] [--bound 1.3] [PROGRAM]...

Every program runs ROUNDS times in one process of each kind, and the quickest run after the first counts: warm, whole programs,
with their training. SCALE multiplies the data of the tests. The processes run one after the other, so that each has all cores.
The time of all cores is beside that of the clock: it is steadier where other programs run. Lines of a Markdown table; the last
lines name the programs that took longer under leat. The exit code is 1 if one took more than
BOUND times as long."""
import argparse
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

TUTORIALS = Path(__file__).resolve().parents[2] / "tests/tutorials"


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
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        subprocess.run([sys.executable, TUTORIALS / "tutorial_data.py", folder / "data", str(options.scale)], check=True)
        for name, words in (("TensorFlow", []), ("leat", ["--leat"])):
            subprocess.run([sys.executable, TUTORIALS / "run_tutorials.py", "--data", folder / "data", "--out", folder / name,
                            "--rounds", str(options.rounds), *words, *options.programs], check=True)
            found[name] = pickle.loads((folder / name).read_bytes())
    print("| program | TensorFlow | leat | TensorFlow / leat | cores: TensorFlow | leat | data sets |\n|---|---|---|---|---|---|---|")
    slower = {}
    for program, theirs in found["TensorFlow"].items():
        ours = found["leat"][program]
        if theirs["error"] or ours["error"]:
            print(f"| {program} | {'error' if theirs['error'] else ''} | {'error' if ours['error'] else ''} | | | | |")
            slower[program] = float("inf")
            continue
        a, b, a_cpu, b_cpu = (min(each[key][1:] or each[key]) for key in ("seconds", "cpu") for each in (theirs, ours))
        print(f"| {program} | {1000 * a:.0f} ms | {1000 * b:.0f} ms | {a / b:.2f} | {1000 * a_cpu:.0f} ms | {1000 * b_cpu:.0f} ms "
              f"| {ours['where']} |")
        if b > a:
            slower[program] = b / a
    for program, ratio in sorted(slower.items(), key=lambda item: -item[1]):
        print(f"slower under leat: {program}, {ratio:.2f} times TensorFlow's time")
    return int(any(ratio > options.bound for ratio in slower.values()))


if __name__ == "__main__":
    sys.exit(main())
