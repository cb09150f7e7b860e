# SPDX-License-Identifier: Apache-2.0
"""Programs as people write them give the same under TensorFlow and under leat, and their data sets stay in the engine."""
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from run_tutorials import HERE, programs
from same_results import differences
from tutorial_data import make

EXPECTED = dict(line.split(maxsplit=1) for line in (HERE / "where.txt").read_text().splitlines() if not line.startswith("#"))


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """Of TensorFlow and of leat: two processes at the same time, each with all programs."""
    data = tmp_path_factory.mktemp("data")
    make(data)
    running = {}
    for name, words in (("tensorflow", []), ("leat", ["--leat"])):
        out = tmp_path_factory.mktemp(name)
        with open(out / "log", "w", encoding="utf-8") as log:
            running[name] = out, subprocess.Popen(
                [sys.executable, HERE / "run_tutorials.py", "--data", data, "--out", out / "found", *words],
                stdout=log, stderr=subprocess.STDOUT)
    results = {}
    for name, (out, process) in running.items():
        code = process.wait(timeout=900)
        assert code == 0, f"{name}: exit code {code}\n{(out / 'log').read_text()[-3000:]}"
        results[name] = pickle.loads((out / "found").read_bytes())
    return results


@pytest.mark.parametrize("program", programs())
def test_the_same_results(found: dict[str, dict], program: str) -> None:
    theirs, ours = found["tensorflow"][program], found["leat"][program]
    assert not theirs["error"], theirs["error"]
    assert not ours["error"], ours["error"]
    assert differences(theirs["results"], ours["results"]) == []
    assert not [notice for notice in ours["notices"] if "not as expected" in notice]


@pytest.mark.parametrize("program", programs())
def test_where_data_sets_are_read(found: dict[str, dict], program: str) -> None:
    """At least as many in the engine, at most as many in TensorFlow, as where.txt says."""
    engine, theirs = counted(found["leat"][program]["where"])
    least, most = counted(EXPECTED[program])
    notices = "\n".join(found["leat"][program]["notices"])
    assert engine >= least and theirs <= most, f"{EXPECTED[program]} became {found['leat'][program]['where']}\n{notices}"


def counted(words: str) -> tuple[int, int]:
    """Of `engine 2, TensorFlow 1`: 2, 1."""
    numbers = dict(part.split() for part in words.split(", "))
    return int(numbers.get("engine", 0)), int(numbers.get("TensorFlow", 0))


def test_every_program_is_expected_somewhere() -> None:
    assert list(EXPECTED) == programs()
    assert len(programs()) >= 40


def test_programs_know_nothing_of_leat() -> None:
    for program in programs():
        text = (HERE / f"{program}.py").read_text()
        assert "leat" not in text and ("import tensorflow" in text or "from tensorflow" in text), program
        assert 15 <= len(text.splitlines()) <= 80, program


@pytest.mark.parametrize("name, theirs, ours, alike", [
    ("exact.a", [1, "x"], [1, "x"], True),
    ("exact.a", [1, "x"], [1, "y"], False),
    ("exact.a", [1], [1, 2], False),
    ("exact.a", 1, 1.0, False),
    ("exact.a", {"a": 1, "b": 2}, {"b": 2, "a": 1}, False),
    ("exact.a", np.float32([1, 2]), np.float32([1, 2.0001]), False),
    ("close.a", np.float32([1, 200]), np.float32([1, 200.001]), True),
    ("close.a", np.float32([1, 200]), np.float32([1, 200.1]), False),
    ("close.a", np.float32([1, 2]), np.float64([1, 2]), False),
    ("close.a", np.float16([1, 2]), np.float16([1, 2.002]), True),
    ("close.a", np.float16([1, 2]), np.float16([1, 2.01]), False),
    ("exact.a", np.float16([1, 2]), np.float16([1, 2.002]), False),
    ("close.a", np.float32([1, 2]), np.float32([[1, 2]]), False),
    ("close.a", np.float32([1, 2]), np.float32([1, np.nan]), False),
    ("stat.a", [0.5, 0.1], [0.59, 0.1], True),
    ("stat.a", [0.5, 0.1], [0.7, 0.1], False),
    ("stat.a", [0.5, 0.1], [np.nan, 0.1], False),
    ("raises", "ValueError", "TypeError", False),
    ("other", 1, 1, False),
])
def test_the_comparison_finds_differences(name: str, theirs: object, ours: object, alike: bool) -> None:
    assert (differences({name: theirs}, {name: ours}) == []) == alike
    assert differences({name: theirs}, {}) != []
    assert differences({name: theirs}, None) != []
