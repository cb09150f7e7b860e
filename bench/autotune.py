#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""AUTOTUNE against settings made by hand, and what a consumer waits for at 90 % of what leat can do.

    bench/autotune.py [--photos DIR] [--seconds 4] [--rounds 3] [--only WORD] [--folder build/bench] [--leat build/release/cli/leat]

Every pipeline runs with nothing set and with a sweep of fixed settings (`--tune`), one after the other in each round, so that all
of them meet the same machine; medians count. The best of them and AUTOTUNE are then measured once more: wanted is at least 0.95 of
it. Then a consumer takes a batch as often as 90 % of AUTOTUNE's rate allows and sleeps meanwhile: it should wait for less than 2 %
of the time. Slow storage is a source that sleeps (tests/unit/test_read_ahead.c).
"""
from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import ratios

AUTO = "auto"
RATES: dict[str, float] = {}  # with AUTOTUNE, of each pipeline


def settings(cores: int) -> list[str]:
    """What people try: fewer and more threads than cores, few and many batches in memory, readers."""
    threads = sorted({1, max(cores // 2, 1), cores, 2 * cores})
    swept = [f"threads={t} slots={s} read_ahead=0" for t in threads for s in (3, 8, 16)]
    return [*swept, f"threads={cores} slots=8 read_ahead=4"]


def measure(options: argparse.Namespace, spec: str, tune: str, *words: str) -> dict:
    text = ratios.leat(options, "bench", spec, "--json", "--quiet", "--seconds", str(options.seconds), "--cache-dir",
                       str(options.folder / "cache"), "--tune", tune, *words)
    return json.loads(text)


def sweep(run: Callable[[str], float], tunes: list[str], rounds: int) -> dict[str, float]:
    """Medians of all settings, by turns: a machine that others use is never equally fast for long."""
    rates: dict[str, list[float]] = {AUTO: [], **{tune: [] for tune in tunes}}
    for _ in range(rounds):
        for tune in rates:
            rates[tune].append(run(tune))
    return {tune: statistics.median(each) for tune, each in rates.items()}


def compare(what: str, run: Callable[[str], float], tunes: list[str], rounds: int) -> bool:
    """The best of many settings is also the luckiest: it meets AUTOTUNE once more."""
    swept = sweep(run, tunes, rounds)
    best = max(tunes, key=lambda tune: swept[tune])
    rates = sweep(run, [best], rounds)
    ratio = rates[AUTO] / rates[best]
    ratios.row(what, f"{rates[AUTO]:,.0f}/s", f"{rates[best]:,.0f}/s", best, f"**{ratio:.2f}**", "at least 0.95")
    RATES[what] = rates[AUTO]
    return ratio >= 0.95


def waiting(options: argparse.Namespace, what: str, spec: str, rate: float) -> bool:
    batch = int(spec.split("batch ")[1].split()[0])
    step_ms = 1000 * batch / (0.9 * rate)
    found = [measure(options, spec, AUTO, "--step-ms", f"{step_ms:.3f}") for _ in range(options.rounds)]
    share = statistics.median(each["wait_s"] / each["wall_s"] for each in found)
    tuned = max(each["counters"]["tuned_s"] for each in found)
    ratios.row(what, f"{step_ms:.1f} ms a batch", f"**{100 * share:.1f} %**", f"{tuned:.1f} s", "less than 2 %")
    return share < 0.02


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--photos", type=Path, help="a folder of pictures, one sub-folder a class")
    parser.add_argument("--seconds", type=float, default=4, help="for each setting in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="pipelines with this word in their name")
    parser.add_argument("--folder", type=Path, default=ratios.ROOT / "build/bench", help="where data is kept")
    parser.add_argument("--leat", default=os.environ.get("LEAT", str(ratios.ROOT / "build/release/cli/leat")))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    lines, _ = ratios.workloads(options, options.folder)
    cores, good = len(os.sched_getaffinity(0)), True
    slow = ratios.test_program(Path(options.leat).parents[1], "test_read_ahead")

    def at_storage(delay: str) -> Callable[[str], float]:
        def run(mode: str) -> float:
            text = subprocess.run([slow, "--bench", str(options.seconds), mode.removeprefix("read_ahead="), delay], check=True,
                                  stdout=subprocess.PIPE, text=True).stdout
            return float(json.loads(text)["samples_per_s"])
        return run

    ratios.row("pipeline", "AUTOTUNE", "best by hand", "which is", "ratio", "wanted")
    print("|---|---|---|---|---|---|")
    pipelines = {what: spec for what, spec, _, _ in (lines[0], lines[2], lines[-2], lines[-1]) if options.only in what}
    for what, spec in pipelines.items():
        good &= compare(what, lambda tune, spec=spec: measure(options, spec, tune)["samples_per_s"], settings(cores), options.rounds)
    for delay in ("0", "1", "5", "20"):
        tunes, what = [f"read_ahead={n}" for n in (0, 2, 4, 8, 16, 32, 64)], f"photos, storage takes {delay} ms to read one"
        if options.only in what:
            good &= compare(what, at_storage(delay), tunes, options.rounds)
    print()
    ratios.row("pipeline at 90 % of its rate", "consumer", "waits", "last change of the tuner after", "wanted")
    print("|---|---|---|---|---|")
    for what, spec in pipelines.items():
        good &= waiting(options, what, spec, RATES[what])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
