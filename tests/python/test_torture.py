# SPDX-License-Identifier: Apache-2.0
"""The trials of `make torture` that run Python, for a second or two each."""
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "torture"))
import clocks
import no_memory
import signals
from trial import Place

pytestmark = pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="libraries are loaded in front of it")


@pytest.fixture
def place(tmp_path, command) -> Place:
    return Place(tmp_path / "place", leat=command)


def test_waiting_for_another_thread_when_the_clock_jumps(place):
    """It followed the wall clock, and Ctrl-C was not heard until that had come to where it was before."""
    clocks.interrupted(place)


def test_allocations_of_the_binding_fail(place):
    assert "of 10 calls" in no_memory.trial(place, 60)


def test_signals_during_a_loop(place):
    place.most = 6
    assert signals.trial(place, ("python_storm", "python_end")) == "6 runs"
