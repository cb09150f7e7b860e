# SPDX-License-Identifier: Apache-2.0
"""With real tqdm: work that takes long shows a bar on a terminal, and nothing elsewhere."""
import io
import sys

import leat._base.progress
import pytest


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream, shown", [(Terminal, True), (io.StringIO, False)], ids=["terminal", "file"])
def test_a_bar(monkeypatch, stream, shown):
    monkeypatch.setattr(leat._base.progress, "AFTER", 0)
    monkeypatch.setattr(leat._base.progress, "BETWEEN", 0)
    monkeypatch.setattr(sys, "stderr", stream())
    progress = leat._base.progress.Progress("reading", 100)
    for done in (1, 50, 100):
        progress.say(done)
    progress.end()
    said = sys.stderr.getvalue()
    assert ("leat: reading:  50%" in said and "50/100" in said) if shown else said == ""
