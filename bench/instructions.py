#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions that a sample takes in the pipelines of bench/ratios.py, with callgrind.

    bench/instructions.py [--photos DIR] [--samples 256] [--folder build/bench] LEAT [LEAT ...]
    bench/instructions.py --counters LEAT
    bench/instructions.py --kept [LEAT]      a fixed subset (bench/kept.py) against bench/instructions.json
    bench/instructions.py --accept [LEAT]    the same, and writes the new figures into that file

Counts do not depend on what else the machine does, so they show a change of one per cent that times would hide. With two
programs, such as those of two commits, the last column is the second over the first. What a program does before its first
batch is measured by itself and taken off. --kept fails if a workload takes 3 % more than its figure; `make test-long` runs it.
--counters prints which part of the instructions the counters take, and how often the clock is read for a sample: callgrind counts
ten instructions for that, and a processor takes about 20 ns.
"""
from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import kept
import ratios

# What counters are made of: a test at each change of stage (inline, in run.h), and these functions with what they call.
COUNTERS = re.compile(r"([\d,]+) \([ .\d]+%\)  \S*(?:sample/run\.h:\w+|:leat__(?:timing|counters)_\w+ \[|:leat__pipeline_tune \[)")
CLOCK = re.compile(r"([\d,]+) \([ .\d]+%\)  \S*:clock_gettime\b")
CLOCK_INSTRUCTIONS = 10


def run_counted(leat: str, spec: str, cache: Path, batches: int, out: str, words: tuple[str, ...] = ()) -> int:
    """Instructions of a run of so many batches, on one thread; callgrind's file is `out`."""
    done = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", leat, "run", spec, "--synchronous", "--quiet", "--epochs",
         "-1", "--memory", "1GiB", "--cache-dir", str(cache), "--batches", str(batches), *words], capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"instructions: {leat}: {done.stderr[-400:]}")
    return int(found[1])


def count(leat: str, spec: str, cache: Path, batches: int) -> tuple[int, int, int]:
    """Instructions of a run of so many batches: all, those of counters, and how often the clock was read."""
    with tempfile.TemporaryDirectory() as folder:
        collected = run_counted(leat, spec, cache, batches, f"{folder}/out")
        lines = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", "--auto=no", f"{folder}/out"],
                               capture_output=True, text=True).stdout
    counters, clock = (sum(int(each.replace(",", "")) for each in form.findall(lines)) for form in (COUNTERS, CLOCK))
    return collected, counters, clock // CLOCK_INSTRUCTIONS


def count_kept(leat: str, workload: kept.Workload, cache: Path) -> float:
    """Instructions of a sample or a file."""
    for spec, batches in workload.runs:  # leaves the same indexes behind for every counted run
        subprocess.run([leat, "run", spec, "--quiet", "--epochs", "-1", "--batches", str(batches), "--cache-dir", str(cache)], check=True)
    first, second = (run_counted(leat, spec, cache, batches, "/dev/null", workload.words) for spec, batches in workload.runs)
    return (second - first) / workload.n


def compare_kept(options: argparse.Namespace) -> int:
    """Prints the kept workloads beside their figures. The exit code: 1 if one of them takes too many, 77 if none can be compared."""
    facts = kept.facts(options.leat)
    figures = json.loads(kept.FIGURES.read_text()) if kept.FIGURES.exists() else {}
    if not options.accept and figures.get("facts") != facts:
        print(f"instructions: the figures are those of {figures.get('facts')}, this is {facts}")
        return 77
    workloads = kept.workloads(options)
    ratios.row("instructions", "figure", "now", "now / figure", "")
    print("|---|---|---|---|---|")
    found, worse = {}, 0
    for workload in workloads:
        old, data = figures.get("workloads", {}).get(workload.what, {}), kept.digest(workload.data)
        now = round(count_kept(options.leat, workload, options.folder / "cache"))
        found[workload.what] = {"data": data, "instructions": now}
        if old.get("data") != data:
            ratios.row(workload.what, "", f"{now:,}", "", "not compared: other data")
            continue
        ratio = now / old["instructions"]
        word = "too many" if ratio > 1 + kept.LIMIT else "fewer: accept it" if ratio < 1 - kept.LIMIT else ""
        worse += ratio > 1 + kept.LIMIT
        ratios.row(workload.what, f"{old['instructions']:,}", f"{now:,}", f"{ratio:.3f}", word)
    if options.accept:
        kept.FIGURES.write_text(json.dumps({"facts": facts, "workloads": found}, indent=2) + "\n")
        return 0
    return 1 if worse else 0


def print_counters(leat: str, lines: list, samples: int, folder: Path) -> None:
    ratios.row("counters", "instructions a sample", "of counters", "part", "the clock is read")
    print("|---|---|---|---|---|")
    for what, spec, _, _ in lines:
        batch = int(spec.split("batch ")[1].split()[0])
        batches = max(samples // batch, 2)
        all_of_it, counters, clock = count(leat, spec, folder / "instructions-0", batches)
        n = batches * batch
        ratios.row(what, f"{all_of_it / n:,.0f}", f"{counters / n:,.0f}", f"{100 * counters / all_of_it:.2f} %",
                   f"{clock / n:.2f} times a sample")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--photos", type=Path, help="a folder of pictures, one sub-folder a class")
    parser.add_argument("--samples", type=int, default=256)
    parser.add_argument("--folder", type=Path, default=ratios.ROOT / "build/bench", help="where data is kept")
    parser.add_argument("--counters", action="store_true", help="what counters take, of one program")
    parser.add_argument("--kept", action="store_true", help="the fixed subset against the committed figures")
    parser.add_argument("--accept", action="store_true", help="the same, and writes the new figures")
    parser.add_argument("leats", metavar="LEAT", nargs="*", default=[str(ratios.ROOT / "build/release/cli/leat")])
    options = parser.parse_args()
    options.leat = options.leats[0]
    if options.kept or options.accept:
        options.folder = options.folder / "kept"
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.kept or options.accept:
        return compare_kept(options)
    lines, _ = ratios.workloads(options, options.folder)
    if options.counters:
        print_counters(options.leat, lines, options.samples, options.folder)
        return 0
    ratios.row("instructions a sample", *options.leats, "last / first")
    print("|---" * (len(options.leats) + 2) + "|")
    for what, spec, _, _ in lines:
        batch = int(spec.split("batch ")[1].split()[0])
        batches = max(options.samples // batch, 2)
        each = []
        for number, leat in enumerate(options.leats):
            cache = options.folder / f"instructions-{number}"
            # An epoch leaves indexes and positions behind, so that all counted runs find the same ones.
            subprocess.run([leat, "run", spec, "--quiet", "--cache-dir", str(cache)], check=True)
            counts = [count(leat, spec, cache, n)[0] for n in (batches, 2 * batches)]
            each.append((counts[1] - counts[0]) / (batches * batch))
        ratios.row(what, *(f"{n:,.0f}" for n in each), f"{each[-1] / each[0]:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
