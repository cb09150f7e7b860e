# SPDX-License-Identifier: Apache-2.0
"""`python -m leat doctor train.py`: a script runs as it is, its training is watched, and the answer comes when it ends.

The calls of fit and the iterators of tf.data, torch and leat are watched where they are defined (script_hooks.py); the
script's own text and imports stay as they are.
"""
from __future__ import annotations

import atexit
import json
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable
from typing import Any
from weakref import ref

from .._dropin.aliases import is_installed
from .clocks import Record, Shape, Step, now, settle, shape_of
from .devices import check
from .findings import Diagnosis, Finding, Remedy
from .remedies import kind_of
from .tfdata import Watch
from .watch import judge

HELP = """\
usage: python -m leat doctor [--steps N] [--json FILE] SCRIPT.py [ARGUMENT...]
       python -m leat doctor [--steps N] [--json FILE] -m MODULE [ARGUMENT...]
       python -m leat doctor "TEXT" [OPTION...]        a pipeline of leat: leat doctor --help

Runs a training script as it is and watches it: model.fit of Keras 3, train_on_batch, and loops over a tf.data.Dataset, a
DataLoader of torch or a dataset of leat. When the script ends, it tells on stderr why training was slow, and what helps.
The script gets its own libraries and computes the same numbers.

    python -m leat doctor train.py --epochs 1
    python -m leat doctor --steps 50 train.py

--steps N    ends the script after N steps of the first fit or loop that has so many; the first ones, in which programs are
             compiled, count as steps but not in the times. Nothing of the script runs behind that step: no further epoch, no
             validation, no model.save, no finally, no atexit. The callbacks ModelCheckpoint, BackupAndRestore and
             leat.keras.Resume are taken out of fit. Still written is all that the script writes before and in these N steps:
             TensorBoard's and CSVLogger's logs, files of tf.data's cache(), downloads, its own files; and leat's indexes.
--json FILE  writes the answer to a file too, for programs

Without --steps the whole script runs and writes all that it always writes.
"""
OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
MOST = 64  # loops that are kept apart
SMALL = 8  # samples of a batch whose fixed cost is looked at
SETTLED = 50  # steps at whose end a device is waited for; later steps run as they would


class Loop:
    """The steps of a loop over one data set. A step ends when the next batch is asked for."""

    def __init__(self, source: Any, name: str) -> None:
        self.source, self.name = source, name
        self.record, self.shape = Record(), Shape()
        self._epoch, self._got, self._wait = -1, 0.0, 0.0
        self._iterator: Callable[[], Any] = lambda: None
        self._first = False

    def asked(self, iterator: Any) -> None:
        """The program wants a batch: its last step is over."""
        if self._iterator() is not iterator:
            self._iterator, self._got, self._first = ref(iterator), 0.0, True
            self._epoch += 1
            if self._epoch == 0 and kind_of(self.source) == "tf.data":
                self.record.pipeline = Watch(iterator, self.source)
        if self._got:
            if self.steps < SETTLED:
                settle()
            self.record.add(Step(self._epoch, self._wait, now() - self._got))
        self._got = 0.0

    def got(self, batch: Any, wait: float) -> None:
        if self._first:
            self.record.starts.append(wait)
            self._first = False
        if self.record.pipeline is not None:
            self.record.pipeline.took(self._iterator())
        self.look(batch)
        self._wait, self._got = wait, now()

    def look(self, batch: Any) -> None:
        if not self.shape.samples:
            self.shape = shape_of(batch)

    @property
    def inside(self) -> bool:
        """Whether the program is in a step of this loop."""
        return self.steps > 0 and self._got > 0 and self._iterator() is not None

    @property
    def steps(self) -> int:
        return len(self.record.steps)

    @property
    def seconds(self) -> float:
        return sum(self.record.totals.values())

    def diagnosis(self) -> Diagnosis | None:
        if self.steps < 2:
            return None
        self.record.measure_load()
        found = judge(self.record, self.source, self.shape)
        framework = {"torch": "torch", "tf.data": "tensorflow"}.get(kind_of(self.source), "")
        if framework:
            check(found, framework, "")
        self._tell_batches(found)
        return found

    def _tell_batches(self, found: Diagnosis) -> None:
        """What a loop of the program's own shows of its batches, without running a step again."""
        if 0 < self.shape.samples <= SMALL:
            found.add(Finding("overhead", f"Batches have {self.shape.samples} samples: most of the work of a step may be its fixed cost.",
                              0.0, "not measured: try a larger batch"))
            found.offer(Remedy("larger batches", 0.0, "memory; the learning rate may have to follow", ".batch(64)"))
        if self.shape.picture and self.shape.floats:
            size = self.shape.bytes / 1e6
            found.offer(Remedy(f"pictures as bytes: {size / 4:.1f} MB a batch to the device, not {size:.1f} MB", 0.0, "",
                               "images = tf.cast(images, tf.float32) / 255  # in the step, on the device; the data stay uint8"))


class Fit:
    """One call of Keras's fit, with its doctor."""

    name = "model.fit"

    def __init__(self, doctor: Any) -> None:
        self.doctor, self.steps, self._begun, self.seconds = doctor, 0, now(), 0.0

    def ended(self) -> None:
        self.seconds = now() - self._begun

    def diagnosis(self) -> Diagnosis | None:
        if self.doctor.diagnosis is None and self.doctor._seen is not None:  # the fit has not ended, or not well
            self.doctor._answer()
        found: Diagnosis | None = self.doctor.diagnosis
        return found


class Observer:
    """What is seen of a script."""

    def __init__(self, steps: int = 0, json_file: str = "") -> None:
        self.limit, self.json_file = steps, json_file
        self.watched: list[Loop | Fit] = []
        self._loops: dict[tuple[str, int], Loop] = {}
        self.depth = 0  # of calls that are watched as a whole: what happens inside of them is theirs
        self._answered = False

    @property
    def looking(self) -> bool:
        """Whether an iterator that is asked now is the loop of the program: not the inside of a fit, nor a producer's thread."""
        return self.depth == 0 and threading.current_thread() is threading.main_thread() and not self._answered

    def loop(self, source: Any, what: str) -> Loop | None:
        """The loop of the script's line that runs now, over this source."""
        place = _line()
        key = (place, id(source))
        found = self._loops.get(key)
        if found is None and len(self._loops) < MOST:
            found = self._loops[key] = Loop(source, f"the loop over {what} at {place}")  # it keeps the source, and so its id
            self.watched.append(found)
        return found

    @property
    def in_loop(self) -> bool:
        return any(each.inside for each in self._loops.values())

    def check(self, watched: Loop | Fit) -> None:
        """Ends the script after the steps that were asked for."""
        if self.limit and watched.steps >= self.limit:
            self.answer()
            for child in multiprocessing.active_children():
                child.kill()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)

    def answer(self) -> list[Diagnosis]:
        """Prints the diagnosis of what took the most time, and a line about each other thing; once."""
        if self._answered:
            return []
        self._answered = True
        found: list[tuple[Loop | Fit, Diagnosis]] = []
        for each in sorted(self.watched, key=lambda each: -each.seconds):
            diagnosis = each.diagnosis()
            if diagnosis is not None and diagnosis.steps:
                found.append((each, diagnosis))
        print(file=sys.stderr)
        if not found:
            print("leat doctor: no training was seen: no fit of Keras 3, and no loop of two or more steps over a tf.data.Dataset, a "
                  "DataLoader or a dataset of leat", file=sys.stderr)
        else:
            found[0][1].show(sys.stderr)
        for each, diagnosis in found[1:6]:
            print(f"Also watched: {each.name}, {diagnosis.steps} steps. {diagnosis.verdict}", file=sys.stderr)
        if self.json_file:
            with open(self.json_file, "w", encoding="utf-8") as file:
                json.dump([{"watched": each.name, **diagnosis.to_dict()} for each, diagnosis in found], file, indent=1)
        return [diagnosis for _, diagnosis in found]


_installed: dict[str, bool] = {}


def _line() -> str:
    """File and line of the script that called: the first frame that belongs to no package."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        path = frame.f_code.co_filename
        if path not in _installed:
            _installed[path] = not os.path.isabs(path) or path.startswith(OWN) or is_installed(path)
        if not _installed[path]:
            return f"{os.path.basename(path)}:{frame.f_lineno}"
        frame = frame.f_back
    return "the script"


def takes(arguments: list[str]) -> bool:
    """Whether the words behind `doctor` are for a script; otherwise they are for the command leat."""
    rest = _options(arguments)[1]
    return not arguments or arguments[0] in ("-h", "--help") or bool(rest) and (
        rest[0] == "-m" or rest[0].endswith(".py") and "|" not in rest[0])


def _options(arguments: list[str]) -> tuple[dict[str, str], list[str]]:
    """The options in front of the script, and the rest."""
    found, rest = {}, list(arguments)
    while rest and rest[0].partition("=")[0] in ("--steps", "--json"):
        name, equal, value = rest.pop(0).partition("=")
        if not equal:
            value = rest.pop(0) if rest else ""
        found[name] = value
    return found, rest


def main(arguments: list[str], run_script: Any, run_module: Any) -> None:
    """run_script and run_module run a program as Python does."""
    options, rest = _options(arguments)
    if not rest or rest[0] in ("-h", "--help"):
        print(HELP, end="")
        return
    steps = options.get("--steps", "0")
    if not steps.isdecimal() or "--steps" in options and int(steps) < 4:
        sys.exit(f"python -m leat doctor: --steps needs a number from 4, not '{steps}': in the first steps programs are compiled")
    if options.get("--json") == "":
        sys.exit("python -m leat doctor: --json needs the name of a file")
    if rest[0] == "-m" and len(rest) < 2:
        sys.exit("python -m leat doctor: -m needs the name of a module")
    if rest[0] != "-m" and not os.path.isfile(rest[0]):
        sys.exit(f"python -m leat doctor: there is no file {rest[0]}")
    from .script_hooks import install

    observer = Observer(int(steps), options.get("--json", ""))
    install(observer)
    atexit.register(observer.answer)  # after the script, and after an error or sys.exit() in it
    if rest[0] == "-m":
        run_module(rest[1], rest[2:], alone=True)
    else:
        run_script(rest[0], rest[1:], alone=True)
