# SPDX-License-Identifier: Apache-2.0
"""The workloads of bench/kept.py take no more instructions than bench/instructions.json says, by more than 3 %.

One run of `bench/instructions.py --kept` counts all of them, with callgrind, on one thread. With another compiler, C library or
processor, or other data, a workload is skipped. `bench/instructions.py --accept` writes new figures."""
import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LEAT = os.environ.get("LEAT", str(ROOT / "build/release/cli/leat"))
NAMES = json.loads((ROOT / "bench/instructions.json").read_text())["workloads"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """The line of each workload, by its name."""
    done = subprocess.run([str(ROOT / "bench/instructions.py"), "--kept", "--folder", str(tmp_path_factory.mktemp("kept")), LEAT],
                          stdout=subprocess.PIPE, text=True, timeout=900)
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode in (0, 1), done.stdout
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in done.stdout.splitlines() if line.startswith("| ")]
    return {row[0]: row for row in rows[1:]}


@pytest.mark.parametrize("what", NAMES)
def test_no_more_than_the_figure(table, what):
    row = table[what]
    if row[-1].startswith("not compared"):
        pytest.skip(f"{what}: {row[-1]}")
    assert "too many" not in row, f"{what}: {row[1]} instructions were accepted, now {row[2]}. If that is meant: bench/instructions.py --accept"
