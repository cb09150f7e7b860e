# SPDX-License-Identifier: Apache-2.0
"""Work that takes longer than a second shows how far it is: a bar of tqdm if that is installed, otherwise a line.

Nothing is shown where no person looks: stderr must be a terminal, or the program a notebook.
"""
from __future__ import annotations

import sys
import time
from typing import Any

AFTER, BETWEEN = 1.0, 0.1  # seconds


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


class Progress:
    """progress.say(done) as often as one likes, progress.end() when it is over."""

    def __init__(self, what: str = "", total: int | None = None) -> None:
        self._what, self._total = what, total
        self._begun = time.monotonic()
        self._shown = 0.0
        self._bar: Any = None
        self._line = False

    def say(self, done: int) -> None:
        self.report(self._what, done, self._total)

    def report(self, what: str, done: int, total: int | None) -> None:
        """For work of several parts, each with its own name."""
        now = time.monotonic()
        if now - self._begun < AFTER or now - self._shown < BETWEEN:
            return
        self._shown = now
        if not sys.stderr.isatty() and not _in_notebook():
            return
        if self._bar is None or what != self._what:
            self.end()
            self._what, self._bar = what, self._make_bar(what, done, total)
        if self._bar is not None:
            self._bar.total = total or None
            self._bar.n = done
            self._bar.refresh()
            return
        self._line = True
        share = f"{100 * done / total:3.0f} %" if total else str(done)
        sys.stderr.write(f"\rleat: {what} {share} ")
        sys.stderr.flush()

    def _make_bar(self, what: str, done: int, total: int | None) -> Any:
        try:
            from tqdm.auto import tqdm  # type: ignore[import-untyped, import-not-found, unused-ignore]
        except ImportError:
            return None
        bar = tqdm(total=total or None, desc=f"leat: {what}", initial=done, leave=False)
        bar.start_t -= time.monotonic() - self._begun
        bar.initial = 0  # the rate counts from the beginning
        return bar

    def end(self) -> None:
        """Takes the bar or the line away."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        if self._line:
            sys.stderr.write("\r\033[K")
            self._line = False
