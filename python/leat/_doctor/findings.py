# SPDX-License-Identifier: Apache-2.0
"""The form of a diagnosis: what takes the time (Finding), what helps (Remedy), and both together (Diagnosis).

    found = Diagnosis(steps=40, step_s=0.1, wait_s=0.08, compute_s=0.02, batch=32)
    found.add(Finding("input", "Waiting for data takes 80 % of a step.", 0.8, "next() of the loader was timed"))
    found.offer(Remedy("worker processes", 3.2, "memory for 4 processes", "DataLoader(..., num_workers=4)"))
    print(found)

Findings are sorted by their share of the time, remedies by their gain. The verdict is the sentence of the first finding.
"""
from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any, TextIO

CAUSES = {  # the words for causes, and what each is called in a line
    "device": "a device is not used",
    "input": "waiting for data",
    "one thread": "one thread makes the data",
    "storage": "waiting for storage",
    "compute": "the model computes",
    "overhead": "fixed costs of a step",
    "copies": "copies of batches",
    "retracing": "tracing and compiling",
    "last batch": "a short last batch is compiled anew",
    "validation": "validation",
    "callback": "a callback at every step",
    "augmentation": "augmentation inside the model",
    "dominant layer": "one layer dominates",
    "eager": "steps are not compiled",
    "later epochs": "later epochs are slower",
    "epoch start": "the beginning of an epoch",
    "pipeline": "a mistake in the pipeline",
    "engine": "leat's pipeline",
    "serial random map": "a random map on one thread",
    "serial python map": "a map in Python on one thread",
    "serial map": "a map on one thread",
    "python generator": "a Python generator",
    "sequential read": "files are read one after the other",
    "gzip": "compressed records",
    "random cache": "a cache behind random operations",
    "useless cache": "a cache that saves nothing",
    "small shuffle": "a shuffle buffer that is too small",
    "whole decode": "whole pictures are decoded for a crop",
    "batch of one": "batches of one sample",
    "remote storage": "data on another machine",
}


def duration(seconds: float) -> str:
    """Seconds as people say them: 350 us, 12 ms, 1.4 s, 3 min."""
    if seconds <= 0:
        return "0 ms"
    if seconds < 1e-6:
        return "<1 us"
    if seconds < 0.00095:
        return f"{seconds * 1e6:.0f} us"
    if seconds < 0.0095:
        return f"{seconds * 1e3:.1f} ms"
    if seconds < 0.95:
        return f"{seconds * 1e3:.0f} ms"
    if seconds < 9.5:
        return f"{seconds:.1f} s"
    return f"{seconds:.0f} s" if seconds < 180 else f"{seconds / 60:.0f} min" if seconds < 9000 else f"{seconds / 3600:.1f} h"


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


@dataclass
class Finding:
    """One cause.

    cause     a word of CAUSES
    sentence  what is the matter, one sentence with a number
    share     of the watched time, 0 to 1; 0 where the time could not be measured
    evidence  what was measured, and how
    first     it stands above larger ones: nothing else is worth a look before it
    """

    cause: str
    sentence: str
    share: float = 0.0
    evidence: str = ""
    first: bool = False

    def __post_init__(self) -> None:
        if self.cause not in CAUSES:
            raise ValueError(f"'{self.cause}' is no cause; these are: {', '.join(CAUSES)}")
        self.share = min(1.0, max(0.0, float(self.share)))


@dataclass
class Remedy:
    """One thing to do.

    title   what, in a few words
    gain    how many times as many steps a second are predicted; 0 where it was not measured
    cost    what it costs: bytes, quality, work
    change  the exact line, or the command
    limit   gain is the most that can be: the time that goes away altogether if the remedy is quick enough
    """

    title: str
    gain: float = 0.0
    cost: str = ""
    change: str = ""
    limit: bool = False

    @property
    def words(self) -> str:
        """The gain as it is printed."""
        return f"{'up to ' if self.limit else ''}x{self.gain:.1f}" if self.gain else "not measured"


@dataclass
class Table:
    """Rows of words below a diagnosis, such as the layers of a model."""

    title: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]


@dataclass(repr=False)
class Diagnosis:
    """What was found. str() is the text; a notebook shows it as a page; to_json() is for programs.

    steps, step_s       how many steps were watched, and the time of one
    wait_s, compute_s   parts of step_s: waiting for data, the work on them
    parts               further parts of step_s by name: callbacks, Keras's own work
    batch               samples in a batch, 0 if it is not known
    """

    steps: int
    step_s: float
    wait_s: float
    compute_s: float
    findings: list[Finding] = field(default_factory=list)
    remedies: list[Remedy] = field(default_factory=list)
    parts: dict[str, float] = field(default_factory=dict)
    batch: int = 0
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, finding: Finding) -> None:
        self.findings.append(finding)
        self.findings.sort(key=lambda each: (not each.first, -each.share))

    def offer(self, remedy: Remedy) -> None:
        if all((each.title, each.change) != (remedy.title, remedy.change) for each in self.remedies):
            self.remedies.append(remedy)
            self.remedies.sort(key=lambda each: -each.gain)

    def find(self, cause: str) -> Finding | None:
        """The finding with this cause."""
        return next((each for each in self.findings if each.cause == cause), None)

    @property
    def rate(self) -> float:
        """Samples a second, or batches where their size is not known."""
        return (self.batch or 1) / self.step_s if self.step_s > 0 else 0.0

    @property
    def verdict(self) -> str:
        if self.findings:
            return self.findings[0].sentence
        return "Nothing was watched." if self.steps == 0 else "Nothing slow was found."

    def _times(self) -> list[tuple[str, float]]:
        rows = [("waiting", self.wait_s), ("compute", self.compute_s), *self.parts.items()]
        rest = self.step_s - sum(seconds for _, seconds in rows)
        return [*rows, ("other", rest)] if rest > 0.02 * self.step_s else rows

    def _bars(self, width: int) -> list[str]:
        if self.step_s <= 0:
            return []
        rows = self._times()
        names = max(len(name) for name, _ in rows)
        room = max(4, min(48, width - names - 21))
        lines = []
        for name, seconds in rows:
            share = seconds / self.step_s
            bar = "#" * round(share * room)
            lines.append(f"  {name:<{names}}  {duration(seconds):>7}  {percent(share):>5}  {bar}".rstrip())
        return lines

    def _remedies(self, width: int) -> list[str]:
        lines = ["Remedies, by gain"] if self.remedies else []
        for number, remedy in enumerate(self.remedies, 1):
            cost = f" (cost: {remedy.cost})" if remedy.cost else ""
            lines += wrapped(f"{number}. {remedy.title}: {remedy.words}{cost}", width, "  ", "     ")
            lines += ["       " + line for line in remedy.change.splitlines()]  # never broken: it is to be copied
        return lines

    def _tables(self, width: int) -> list[str]:
        lines = []
        for table in self.tables:
            lines.append(table.title)
            rows = [table.head, *table.rows]
            widths = [max(len(row[i]) for row in rows) for i in range(len(table.head))]
            words = [any(row[i][:1].isalpha() for row in table.rows) for i in range(len(table.head))]
            for row in rows:
                cells = [f"{cell:<{n}}" if word else f"{cell:>{n}}" for cell, n, word in zip(row, widths, words)]
                lines.append(("  " + "  ".join(cells)).rstrip()[:max(width, 40)])
        return lines

    def text(self, width: int = 0, colour: bool = False) -> str:
        """What str() gives, for a width of the terminal."""
        width = max(40, width or min(110, shutil.get_terminal_size((100, 24)).columns)) - 1
        bold, plain = ("\033[1m", "\033[0m") if colour else ("", "")
        lines = [bold + line + plain for line in wrapped(self.verdict, width)]
        if self.steps:
            of = f" of {self.batch}" if self.batch else ""
            what = "samples" if self.batch else "steps"
            lines += wrapped(f"{self.steps} steps{of} watched: {duration(self.step_s)} a step, {self.rate:,.0f} {what}/s", width)
        lines += self._bars(width)
        for number, finding in enumerate(self.findings):
            share = percent(finding.share) + "  " if finding.share else ""
            sentence = "" if number == 0 else ": " + finding.sentence
            lines += wrapped(f"- {share}{CAUSES[finding.cause]}{sentence}", width, "", "  ")
            lines += wrapped(finding.evidence, width, "  ", "  ")
        lines += self._remedies(width)
        lines += self._tables(width)
        for note in self.notes:
            lines += wrapped("Note: " + note, width, "", "  ")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__  # the prompt of Python shows what print does

    def show(self, file: TextIO | None = None) -> None:
        """Prints the text, on a terminal with colour unless NO_COLOR is set."""
        file = file or sys.stdout
        print("leat doctor: " + self.text(colour=file.isatty() and "NO_COLOR" not in os.environ), file=file, flush=True)

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{escape(name)}</td><td style='text-align:right'>{duration(seconds)}</td><td>"
                       f"<div style='background:#4a90d9;height:10px;width:{max(1, round(240 * seconds / self.step_s))}px'></div>"
                       "</td></tr>" for name, seconds in (self._times() if self.step_s > 0 else []))
        causes = "".join(f"<li>{escape(each.sentence)} <span style='color:#777'>{escape(each.evidence)}</span></li>"
                         for each in self.findings)
        remedies = "".join(f"<li>{escape(each.title)}: {each.words} "
                           f"<span style='color:#777'>{escape(each.cost)}</span><pre>{escape(each.change)}</pre></li>"
                           for each in self.remedies)
        tables = "".join(f"<div>{escape(table.title)}</div><table>" + "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}&emsp;</td>" for cell in row) + "</tr>" for row in (table.head, *table.rows))
            + "</table>" for table in self.tables)
        notes = "".join(f"<div style='color:#777'>{escape(note)}</div>" for note in self.notes)
        return (f"<div><b>{escape(self.verdict)}</b><table>{rows}</table><ul>{causes}</ul>"
                f"<ol>{remedies}</ol>{tables}{notes}</div>")

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {"verdict": self.verdict, "rate": self.rate, **asdict(self)}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1)


def wrapped(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """Lines of a text; no word is broken."""
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False,
                         break_on_hyphens=False) if text else []
