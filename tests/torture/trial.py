# SPDX-License-Identifier: Apache-2.0
"""What the trials share: the command and where it works, libraries that are loaded in front of the C library, and how a run may end.

A trial is a function that gets a Place. It works until place.over() and gives how much it did, as a text for the table of `make torture`.
What must not happen is an AssertionError, with all that is needed to do it again."""
from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECONDS_MAX = 60.0  # longer than any run of a trial takes, also on a machine that is busy with other things


@dataclass
class Place:
    """Where a trial works, and for how long: until a time, or until it did `most` rounds."""

    folder: Path
    seconds: float = 1e9
    most: int = 1 << 60
    seed: int = 1
    leat: str = field(default_factory=lambda: os.environ.get("LEAT", str(ROOT / "build/release/cli/leat")))
    package: str = field(default_factory=lambda: os.environ.get("PYTHONPATH", str(ROOT / "build/package")))

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.random = random.Random(self.seed)
        self.began = time.monotonic()
        self.rounds = 0

    def over(self) -> bool:
        """Asked before each round."""
        if self.rounds >= self.most or time.monotonic() - self.began > self.seconds:
            return True
        self.rounds += 1
        return False

    def environment(self, **more: object) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("LEAT_")}
        return {**kept, "XDG_CACHE_HOME": str(self.folder / "cache"), "LEAT_TOP": "0", "NO_COLOR": "1", "LC_ALL": "C.UTF-8",
                "PYTHONPATH": self.package, **{key: str(value) for key, value in more.items()}}

    def command(self, *words: object) -> list[str]:
        return [self.leat, *map(str, words)]

    def run(self, *words: object, **more: object) -> "Ending":
        """The command, to its end; `more` goes into its environment."""
        return finish(self.command(*words), self.environment(**more))

    def good(self, *words: object, **more: object) -> str:
        done = self.run(*words, **more)
        assert done.code == 0, done
        return done.stdout


@dataclass
class Ending:
    what: str
    code: int
    stdout: str
    stderr: str

    def __str__(self) -> str:
        return f"{self.what}\nexit code {self.code}\n{self.stdout}{self.stderr}"

    def check(self, wanted: str | None, codes: tuple[int, ...] = (0, 1), where: object = "") -> bool:
        """True: it ran to its end with what is wanted (None: anything). False: it stopped with an exit code, and said why in a
        line. Nothing else may happen."""
        assert self.code in codes, f"{where}: {self}"
        if self.code == 0:
            assert wanted is None or self.stdout == wanted, f"{where}: other bytes than {wanted}: {self}"
            return True
        said = [line for line in self.stderr.splitlines() if line.startswith("leat")]
        assert said and len(said) <= 4, f"{where}: no error in one line: {self}"
        assert not re.search(r"Success|Undefined error|\(null\)", self.stderr), f"{where}: an error without its cause: {self}"
        return False


def finish(command: list[str], environment: dict[str, str], seconds: float = SECONDS_MAX) -> Ending:
    what = " ".join(command)
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", timeout=seconds,
                              stdin=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired as late:
        raise AssertionError(f"{what}\ndid not end within {seconds:.0f} s\n{late.stdout}{late.stderr}") from None
    return Ending(what, done.returncode, done.stdout, done.stderr)


def shim(place: Place, name: str, *flags: str) -> Path:
    """The library tests/torture/shim_NAME.c, compiled."""
    library = place.folder / f"shim_{name}.so"
    if not library.exists():
        source = Path(__file__).with_name(f"shim_{name}.c")
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl", "-lpthread", *flags], check=True)
    return library


def copy(source: Path, target: Path) -> None:
    """The folder as it was, whatever happened to the copy meanwhile."""
    shutil.rmtree(target, ignore_errors=True)
    if source.exists():
        shutil.copytree(source, target)
