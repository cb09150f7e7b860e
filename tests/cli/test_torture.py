# SPDX-License-Identifier: Apache-2.0
"""The trials of `make torture`, for a second or two each."""
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "torture"))
import clocks
import disk
import signals
from trial import Place


@pytest.fixture
def place(tmp_path, command) -> Place:
    if re.search("asan|tsan", command):
        pytest.skip("needs a command without sanitizers: libraries are loaded in front of it")
    return Place(tmp_path / "place", leat=command)


def test_every_call_of_a_run_fails_once(place):
    """A file that could not be looked at was left out of the folder, and the run trained on less."""
    it = disk.Disk(place)
    first = [scene for scene in disk.scenes(place) if scene.name == "photos, no index"]
    todo = disk.cases(it, first, ("eio",))
    assert len(todo) > 50
    for case in todo:
        it.case(*case)


def test_a_failing_disk(place):
    it = disk.Disk(place)
    names = ("side files, first run", "records, later run", "cache, writing", "pack")
    todo = disk.cases(it, [scene for scene in disk.scenes(place) if scene.name in names])
    place.random.shuffle(todo)
    for case in todo[:50]:
        it.case(*case)


def test_a_clock_that_jumps(place):
    place.most = 3
    assert clocks.trial(place, ("side files, first run", "cache, writing", "pack")).startswith("3 rounds")


def test_signals_during_runs(place):
    place.most = 24
    assert signals.trial(place, ("storm", "end_run", "end_pack")) == "24 runs"
