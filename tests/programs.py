# SPDX-License-Identifier: Apache-2.0
"""Runs test programs, at the same time, and counts their cases. A test program speaks TAP (cmocka does with
CMOCKA_MESSAGE_OUTPUT=TAP) and every `ok` or `not ok` is a case; a program without TAP is one case: exit 0 passes, 77 skips.
A crash, a time-out or a plan that was not finished is a failure."""
from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from progress import Progress

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"


def tool(name: str) -> str:
    """The distribution's own, whatever comes first in PATH."""
    path = Path("/usr/bin") / name
    return str(path) if path.exists() else name


PYTHON = tool("python3")
ENV = {
    **os.environ,
    "NINJA": tool("ninja"),
    "CMOCKA_MESSAGE_OUTPUT": "TAP",
    "ASAN_OPTIONS": "abort_on_error=0:detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1:"
    "allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "halt_on_error=0:second_deadlock_stack=1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",  # so that progress is seen when it is made
    "LEAT_TOP": "0",  # tests leave nothing in the runtime folder; those of `leat top` have one of their own
}
ENV.pop("LEAT_CPU_MASK", None)
progress = Progress()


@dataclass
class Tally:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    reports: list[str] = field(default_factory=list)  # failures, in full
    reasons: list[str] = field(default_factory=list)  # what was skipped, and why

    def add(self, other: "Tally") -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.reports += other.reports
        self.reasons += other.reasons

    def fail(self, report: str) -> None:
        self.failed += 1
        self.reports.append(report)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed" + (f", {self.skipped} skipped" if self.skipped else "")


@dataclass
class Program:
    """One test program of one build."""

    name: str  # "unit/test_mem"
    flavour: str
    command: list[str]
    seconds: float
    marks: set[str]
    env: dict[str, str] = field(default_factory=dict)
    single: bool = False  # one case, whatever it prints


def execute(command: list[str], seconds: float, env: dict[str, str], cwd: Path,
            seen: Callable[[str], None] = lambda line: None) -> tuple[int | None, str]:
    """Exit code (None = out of time) and everything it said; `seen` is told every line as it comes."""
    process = subprocess.Popen(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    lines: list[str] = []

    def read() -> None:
        for line in process.stdout:
            lines.append(line.decode(errors="replace"))
            seen(lines[-1])

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        code: int | None = process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # it has a group of its own
        process.wait()
        code = None
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    reader.join(timeout=30)  # a child that it left behind may hold the pipe open
    return code, "".join(lines)


def ending(code: int | None, seconds: float) -> str:
    if code is None:
        return f"was stopped after {seconds:.0f} s"
    if code < 0:
        return f"died of {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


def count_tap(program: Program, code: int | None, output: str) -> Tally:
    tally = Tally()
    planned = 0
    failures = []
    for line in output.splitlines():
        if match := re.match(r"1\.\.(\d+)", line):
            planned += int(match[1])
        elif match := re.match(r"(not )?ok\b(.*)", line):
            if re.search(r"#\s*skip", match[2], re.I):
                tally.skipped += 1
                tally.reasons.append(f"{program.name}: {line}; the program says why")
            elif match[1]:
                tally.failed += 1
                failures.append(line)
            else:
                tally.passed += 1
    cases = tally.passed + tally.failed + tally.skipped
    trouble = ""
    if cases == 0 and not program.single and (match := re.search(r"^1\.\.0 # SKIP (.*)", output, re.M)) and code == 0:
        return Tally(skipped=1, reasons=[f"{program.name}: {match[1]}"])
    if cases == 0 and planned == 0 or program.single:  # a plain program
        tally = Tally(passed=int(code == 0), skipped=int(code == 77), failed=int(code not in (0, 77)))
        trouble = ending(code, program.seconds) if tally.failed else ""
    elif cases < planned:
        tally.failed += 1
        trouble = f"{cases} of {planned} cases ran, then it {ending(code, program.seconds)}"
    elif code != 0 and tally.failed == 0:
        tally.failed += 1
        trouble = f"all cases passed, then it {ending(code, program.seconds)}"
    if tally.failed:
        said = "\n".join(line for line in output.splitlines() if not re.match(r"ok\b", line))
        what = trouble or f"{len(failures)} of {cases} cases failed"
        tally.reports.append(f"--- {program.flavour} {program.name}: {what}\n    {' '.join(program.command)}\n{said}")
    return tally


def run_programs(programs: list[Program], jobs: int, verbose: bool) -> Tally:
    total = Tally()
    progress.begin("programs", len(programs))

    def run(program: Program) -> Tally:
        begin = time.monotonic()
        cwd = BUILD / program.flavour
        progress.start(program.name)
        code, output = execute(program.command, program.seconds, {**ENV, **program.env}, cwd)
        tally = count_tap(program, code, output)
        progress.finish(program.name)
        if verbose:
            progress.say(f"    {program.flavour} {program.name}: {tally}, {time.monotonic() - begin:.1f} s")
        return tally

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for tally in pool.map(run, programs):
            total.add(tally)
    return total
