#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of this folder as they are, asks the doctor, applies the remedy, and measures the time per epoch again.

    python examples/slow/measure.py                             # all of them: some minutes
    python examples/slow/measure.py hours_an_epoch              # one
    python examples/slow/measure.py --write                     # and puts the figures into docs/why-is-training-slow.md

A remedy is a change of some lines of the program; it is shown as a diff. Pictures are made up. The first epoch, in which the
model is compiled, does not count; of the others the fastest does.
"""
from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/why-is-training-slow.md"
LEAT_TF = ("import tensorflow as tf\n", "import leat.tf as tf\n")
IMAGENET = 1_281_167


class Change(NamedTuple):
    title: str
    lines: tuple[tuple[str, str], ...]


class Result(NamedTuple):
    name: str
    answer: str  # of the doctor
    found: dict[str, Any]
    epochs: list[tuple[str, float]]
    count: int


PROGRAMS = {  # the changes of a program; each contains the ones before it, unless it says so itself
    "augment_in_model": (1000, (
        Change("layers lifted into the pipeline", (
            ("import tensorflow as tf\n", "import leat.keras\nimport leat.tf as tf\n"),
            ("compiled(model).fit(", "model, train = leat.keras.lift(model, train)\ncompiled(model).fit("))),)),
    "augment_by_generator": (1000, (Change("one line", (LEAT_TF,)),)),
    "sequence_on_one_core": (320, (
        Change("leat instead of __getitem__", (
            ("import numpy\n", "import leat\nimport numpy\n"),
            ("train = Photos(FOLDER, 32)\n",
             'train = leat.from_directory(FOLDER).resize(128, 128, flavour="pil").cast("f32", scale=1 / 255).batch(32)\n'))),
        Change("and a narrower model", (
            ('    layers.Flatten(), layers.Dense(1024, activation="relu"),\n',
             '    layers.Conv2D(32, 3, strides=2, activation="relu"), layers.GlobalAveragePooling2D(),\n'),)))),
    "hours_an_epoch": (320, (
        Change("calls side by side", ((".map(load).", ".map(load, num_parallel_calls=tf.data.AUTOTUNE)."),)),
        Change("and leat.tf", (LEAT_TF,)))),
    "device_waits": (320, (
        Change("leat makes the pictures", (
            ("import numpy\n", "import leat\nimport numpy\n"),
            ("train = tf.data.Dataset.from_generator(samples, output_signature=signature).batch(4)\n",
             "train = leat.from_directory(FOLDER).shuffle().resize(160, 160).cast(\"f32\", scale=1 / 255).batch(4)\n"))),
        Change("and batches of 64", ((".batch(4)", ".batch(64)"),)),
        Change("and bytes to the device", (('.cast("f32", scale=1 / 255)', '.cast("u8")'),)))),
    "records_in_order": (2000, (
        Change("tf.data as it should be", (
            ("FILES = records(COUNT)\n", 'FILES = records(COUNT, "")\n'),
            ('(FILES, compression_type="GZIP")', "(FILES, num_parallel_reads=tf.data.AUTOTUNE)"),
            (".shuffle(16).map(parse).map(augment)", ".shuffle(COUNT).map(parse).map(augment, num_parallel_calls=tf.data.AUTOTUNE)"))),
        Change("and leat.tf", (LEAT_TF,)))),
}


def texts(name: str) -> list[tuple[str, str]]:
    """The program, and what each change makes of it."""
    found = [("as it is", (HERE / f"{name}.py").read_text())]
    for change in PROGRAMS[name][1]:
        text = found[-1][1]
        for old, new in change.lines:
            assert text.count(old) == 1, f"{name}: {old!r} is there {text.count(old)} times"
            text = text.replace(old, new)
        found.append((change.title, text))
    return found


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    return {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ, "PYTHONPATH": path, "COLUMNS": "100"}


def seconds(title: str, text: str, count: int, epochs: int) -> float:
    """The fastest epoch of a program."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "program.py"
        script.write_text(text)
        done = subprocess.run([sys.executable, script, str(count), str(epochs)], text=True, capture_output=True, env=environment())
    found = [float(each) for each in re.findall(r"^epoch \d+: ([\d.]+) s$", done.stdout, re.M)]
    if done.returncode or len(found) != epochs:
        sys.exit(f"{title} failed:\n{done.stdout}{done.stderr}")
    return min(found[1:] or found)


def ask(name: str, count: int, epochs: int) -> tuple[str, dict[str, Any]]:
    """What the doctor prints for the program as it is."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        done = subprocess.run([sys.executable, "-m", "leat", "doctor", "--json", answer, HERE / f"{name}.py", str(count), str(epochs)],
                              text=True, capture_output=True, env=environment())
        if done.returncode or not answer.exists():
            sys.exit(f"the doctor failed on {name}:\n{done.stdout}{done.stderr}")
        found = json.loads(answer.read_text())
    text = done.stderr[done.stderr.rfind("leat doctor: "):]
    return text.strip(), found[0] if found else {}


def measure(name: str, count: int, epochs: int) -> Result:
    answer, found = ask(name, count, epochs)
    return Result(name, answer, found, [(title, seconds(title, text, count, epochs)) for title, text in texts(name)], count)


def diff(name: str) -> str:
    """All changes of a program together, without the lines around them."""
    first, last = (text.splitlines() for _, text in (texts(name)[0], texts(name)[-1]))
    return "\n".join(line for line in difflib.unified_diff(first, last, lineterm="", n=0)
                     if not line.startswith(("---", "+++", "@@")))


def arithmetic(found: dict[str, Any]) -> list[str]:
    """Images divided by the rate of each stage."""
    rows = next((table["rows"] for table in found.get("tables", []) if table["head"][-1] == "samples/s"), [])
    lines = [f"| stage | pictures/s | {IMAGENET:,} pictures take |", "|---|---|---|"] if rows else []
    for row in rows:
        rate = float(row[-1].replace(",", ""))
        lines.append(f"| {row[0]} | {row[-1]} | {IMAGENET / max(rate, 1e-9) / 3600:.1f} h |")
    return lines


def block(result: Result) -> str:
    """What stands on the page for a program."""
    lines = [f"What `python -m leat doctor {result.name}.py` prints:", "", "```text", result.answer, "```", ""]
    if result.name == "hours_an_epoch":
        lines += [*arithmetic(result.found), ""]
    first = result.epochs[0][1]
    lines += ["The changes:", "", "```diff", diff(result.name), "```", "",
              f"| {result.name}.py, {result.count} pictures | an epoch | pictures/s | |", "|---|---|---|---|"]
    lines += [f"| {title} | {each:.2f} s | {result.count / each:,.0f} | {f'x{first / each:.1f}' if i else ''} |"
              for i, (title, each) in enumerate(result.epochs)]
    return "\n".join(lines)


def write(results: list[Result], page: Path) -> None:
    """Puts the blocks between their marks."""
    text = page.read_text()
    for result in results:
        begin, end = f"<!-- {result.name}: begin", f"<!-- {result.name}: end -->"
        head, _, rest = text.partition(begin)
        mark, _, rest = rest.partition("-->\n")
        _, found, tail = rest.partition(end)
        assert found, f"{page.name} has no marks for {result.name}"
        text = f"{head}{begin}{mark}-->\n\n{block(result)}\n\n{end}{tail}"
    page.write_text(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"of {', '.join(PROGRAMS)}; else all")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--count", type=int, help="pictures, instead of each program's own number")
    parser.add_argument("--write", action="store_true", help=f"put the figures into {PAGE.name}")
    given = parser.parse_args()
    if unknown := set(given.programs) - set(PROGRAMS):
        parser.error(f"no such program: {', '.join(sorted(unknown))}")
    results = []
    for name in given.programs or PROGRAMS:
        results.append(measure(name, given.count or PROGRAMS[name][0], given.epochs))
        print(f"\n{block(results[-1])}", flush=True)
    if given.write:
        write(results, PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
