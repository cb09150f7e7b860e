# SPDX-License-Identifier: Apache-2.0
"""What tests/run.py shows on a terminal: the group, how far it is, what runs now, and the time since the start."""
from __future__ import annotations

import os
import re
import shutil
import sys
import threading
import time


class Progress:
    """One line at the bottom of a terminal; nothing on a pipe or in a file."""

    def __init__(self) -> None:
        self.shown = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self.began = time.monotonic()
        self.lock = threading.Lock()
        self.group, self.phase = "", ""
        self.done, self.total = 0, 0
        self.running: list[str] = []
        if self.shown:
            threading.Thread(target=self.tick, daemon=True).start()

    def tick(self) -> None:
        while True:
            time.sleep(1)
            with self.lock:
                self.draw()

    def draw(self) -> None:
        if not self.shown or not self.group:
            return
        minutes, seconds = divmod(int(time.monotonic() - self.began), 60)
        far = f" {self.done} of {self.total}" if self.total else ""
        text = f"{minutes}:{seconds:02} {self.group}: {self.phase}{far}  {', '.join(self.running)}"
        sys.stdout.write("\r\033[K" + text[:shutil.get_terminal_size().columns - 1])
        sys.stdout.flush()

    def begin(self, phase: str, total: int = 0, group: str = "") -> None:
        with self.lock:
            self.group = group or self.group
            self.phase, self.done, self.total, self.running = phase, 0, total, []
            self.draw()

    def update(self, done: int, total: int, name: str) -> None:
        with self.lock:
            self.done, self.total, self.running = done, total, [name]
            self.draw()

    def start(self, name: str) -> None:
        with self.lock:
            self.running.append(name)
            self.draw()

    def finish(self, name: str) -> None:
        with self.lock:
            self.running.remove(name)
            self.done += 1
            self.draw()

    def say(self, text: str) -> None:
        """A line that stays."""
        with self.lock:
            print(("\r\033[K" if self.shown else "") + text, flush=True)
            self.draw()

    def end(self) -> None:
        with self.lock:
            self.group = ""
            if self.shown:
                print("\r\033[K", end="", flush=True)


class Cases:
    """How far pytest is, from the lines of -v, with and without processes."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.done, self.total = 0, 0

    def seen(self, line: str) -> None:
        if match := re.search(r"^gw0 \[(\d+)\]|\[(\d+) items?\]|collected .*/ (\d+) selected|collected (\d+) items?", line):
            self.total = int(next(filter(None, match.groups())))
        self.done += bool(re.search(r"\b(?:PASSED|FAILED|SKIPPED|ERROR|XFAIL)\b", line)) and self.done < self.total
        if self.total and (match := re.search(r"(\w+)\.py::(\S+)", line)):
            self.progress.update(self.done, self.total, f"{match[1]} {match[2]}")
