# SPDX-License-Identifier: Apache-2.0
"""Signals at random instants of short runs: of the command, and of a loop in Python.

SIGUSR1, SIGCHLD, SIGALRM and SIGIO that a program handles without SA_RESTART change no byte. SIGINT and SIGTERM end a run soon, and the next
one goes on: what was printed before and after is what one run prints; a pack is the same pack."""
from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import samples
from trial import Ending, Place, shim

HARMLESS = (signal.SIGUSR1, signal.SIGCHLD, signal.SIGALRM, signal.SIGIO)
ENDS = (signal.SIGINT, signal.SIGTERM)
SOON = 10.0  # seconds from a signal to the end, also on a busy machine

LOOP = """
import hashlib, signal, sys, leat
if sys.argv[2] == "storm":
    for number in (signal.SIGUSR1, signal.SIGCHLD, signal.SIGALRM, signal.SIGIO):
        signal.signal(number, lambda *_: None)
        signal.siginterrupt(number, True)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0007)
digest = hashlib.sha256()
ds = leat.from_directory(sys.argv[1]).shuffle(seed=3).random_resized_crop(24).batch(5)
for _ in range(3):
    for images, labels in ds:
        digest.update(images.tobytes() + labels.tobytes())
for images, labels in leat.from_directory(sys.argv[1]).map(lambda image, label: (image[:8, :8], label)).batch(4):
    digest.update(images.tobytes())
signal.setitimer(signal.ITIMER_REAL, 0)  # at its end the interpreter forgets the handlers
print(digest.hexdigest())
"""


def ignore() -> None:
    """Until the library has set its handlers."""
    for number in HARMLESS:
        signal.signal(number, signal.SIG_IGN)


def signalled(place: Place, command: list[str], numbers: list[signal.Signals], within: float, **env: object) -> tuple[Ending, float]:
    """Runs it, sends the signals at random instants within some seconds, and gives the time from the last one to its end."""
    process = subprocess.Popen(command, env=place.environment(**env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors="replace", preexec_fn=ignore)
    instants = sorted(place.random.uniform(0, within) for _ in numbers)
    began = time.monotonic()
    for number, instant in zip(numbers, instants):
        time.sleep(max(0.0, began + instant - time.monotonic()))
        process.send_signal(number)  # which looks first whether it has ended
    sent = time.monotonic()
    what = f"{' '.join(command)}, signals {[(number.name, round(instant, 4)) for number, instant in zip(numbers, instants)]}"
    try:
        stdout, stderr = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"{what}\ndid not end") from None
    return Ending(what, process.returncode, stdout, stderr), time.monotonic() - sent


class Signals:
    def __init__(self, place: Place) -> None:
        self.place, self.library = place, shim(place, "signals")
        samples.make(place)
        self.photos = place.folder / "data/photos"
        self.text = f"folder {self.photos} | shuffle | repeat 40 | decode | random_resized_crop 24 | batch 5"
        self.ids = place.good("run", self.text, "--sink", "ids", "-q")
        self.digest = place.good("run", self.text, "--sink", "digest", "-q")
        self.packed = self.pack("whole")

    def begin_python(self) -> None:
        began = time.monotonic()
        self.loop = self.python("quiet").stdout
        self.loop_seconds = time.monotonic() - began

    def python(self, how: str) -> Ending:
        done, _ = signalled(self.place, [sys.executable, "-c", LOOP, str(self.photos), how], [], 0)
        assert done.code == 0, done
        return done

    def pack(self, name: str) -> dict[str, bytes]:
        self.place.good("pack", self.photos, self.place.folder / name, "--shards", 2, "--size", 20, "-q")
        return self.content(self.place.folder / name)

    @staticmethod
    def content(folder: Path) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if not path.name.startswith(".")}

    def storm(self) -> None:
        """What a program handles itself changes nothing."""
        numbers = [self.place.random.choice(HARMLESS) for _ in range(40)]
        us = self.place.random.choice((50, 300, 2000))
        command = self.place.command("run", self.text, "--sink", "digest", "-q", "-t", self.place.random.choice((1, 3)))
        done, _ = signalled(self.place, command, numbers, 0.1, LD_PRELOAD=self.library, STORM_US=us)
        assert done.check(self.digest, (0,), f"storm of {us} us")

    def end_run(self) -> None:
        """Stopped and gone on with: all samples, each once, in order."""
        state = self.place.folder / "state"
        state.unlink(missing_ok=True)
        command = self.place.command("run", self.text, "--sink", "ids", "-q", "--state", state)
        said = ""
        for _ in range(3):
            done, seconds = signalled(self.place, command, [self.place.random.choice(ENDS)], 0.06)
            assert done.code in (0, 130, *(-number for number in ENDS)), done
            assert seconds < SOON, f"it took {seconds:.1f} s: {done}"
            if done.code in (0, 130):
                said += done.stdout
            if done.code == 0:
                break
            if done.code < 0:  # before its handlers were there: nothing was done
                assert done.stdout == "", done
        else:
            said += self.place.good("run", self.text, "--sink", "ids", "-q", "--state", state)
        assert said == self.ids, f"other samples after signals: {done}\n{said}\ninstead of\n{self.ids}"

    def end_pack(self) -> None:
        out = self.place.folder / "packed"
        subprocess.run(["rm", "-rf", out], check=True)
        command = self.place.command("pack", self.photos, out, "--shards", 2, "--size", 20, "-q")
        done, seconds = signalled(self.place, command, [self.place.random.choice(ENDS)], 0.03)
        assert done.code in (0, 130, *(-number for number in ENDS)) and seconds < SOON, done
        assert self.pack("packed") == self.packed, f"another pack after {done}"
        left = [path.name for path in out.iterdir() if ".tmp-" in path.name]
        assert not left, f"{left} are left after {done}"

    def python_storm(self) -> None:
        assert self.python("storm").stdout == self.loop, "signals changed the batches of a loop in Python"

    def python_end(self) -> None:
        done, seconds = signalled(self.place, [sys.executable, "-c", LOOP, str(self.photos), "quiet"], [signal.SIGINT],
                                  self.loop_seconds)
        fine = done.code == 0 and done.stdout == self.loop or done.code in (-2, 1, 130) and "KeyboardInterrupt" in done.stderr
        assert fine or done.code == -2 and not done.stderr, done
        assert seconds < SOON, f"it took {seconds:.1f} s: {done}"


def trial(place: Place, names: tuple[str, ...] = ("storm", "end_run", "end_pack", "python_storm", "python_end")) -> str:
    it = Signals(place)
    if any(name.startswith("python") for name in names):
        it.begin_python()
    counts = dict.fromkeys(names, 0)
    for name in names * (1 << 20):
        if place.over():
            break
        getattr(it, name)()
        counts[name] += 1
    return f"{sum(counts.values()):,} runs"
