# SPDX-License-Identifier: Apache-2.0
"""The soak of `make torture`, for some seconds: memory, descriptors and threads stay flat."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "torture"))
import soak
from trial import Place


def test_nothing_grows(tmp_path):
    assert "samples of" in soak.trial(Place(tmp_path / "place", seconds=12))
