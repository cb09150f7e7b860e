# SPDX-License-Identifier: Apache-2.0
"""The processes that leat starts, for tests."""
import os
from pathlib import Path


def children() -> set[int]:
    """Processes of this one that still run. Those of an earlier test may be about to end."""
    found = set()
    for task in Path("/proc").glob("[0-9]*"):
        try:
            words = (task / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(words[1]) == os.getpid() and words[0] != "Z":
            found.add(int(task.name))
    return found
