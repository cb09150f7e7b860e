# SPDX-License-Identifier: Apache-2.0
"""scripts/fuzz_runs.py: how long fuzz targets have tried the code as it is now."""
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load():
    spec = importlib.util.spec_from_file_location("fuzz_runs", ROOT / "scripts/fuzz_runs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def small(tmp_path):
    """A tree of one target, which tries a file and a folder."""
    for path, text in {"tests/fuzz/fuzz_a.c": "/* a\n * tries: room/a.* room/deep/ */\n", "src/room/a.c": "1", "src/room/b.c": "2",
                       "src/room/deep/c.h": "3"}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    runs = load()
    runs.ROOT, runs.RUNS = tmp_path, tmp_path / "tests/fuzz/runs.json"
    return runs


def test_every_target_names_code_that_there_is():
    runs = load()
    assert len(runs.targets()) > 20
    for target in runs.targets():
        assert len(runs.files(target)) > 1, target


def test_seconds_add_up_until_the_code_changes(small):
    assert small.due(1200, []) == [("fuzz_a", 1200)]
    small.add("fuzz_a", 300, 5)
    small.add("fuzz_a", 400, 6)
    assert small.due(1200, ["fuzz_a"]) == [("fuzz_a", 500)] and small.known()["fuzz_a"]["inputs"] == 11
    (small.ROOT / "src/room/b.c").write_text("another")  # which it does not try
    assert small.due(700, []) == []
    (small.ROOT / "src/room/deep/c.h").write_text("another")
    assert small.due(1200, []) == [("fuzz_a", 1200)]
    small.add("fuzz_a", 100, 1)
    assert small.known()["fuzz_a"]["seconds"] == 100


@pytest.mark.parametrize("text", ["/* tries nothing */\n", "/* a\n * tries: room/gone.* */\n"])
def test_a_target_without_code(small, text):
    (small.ROOT / "tests/fuzz/fuzz_a.c").write_text(text)
    with pytest.raises(ValueError, match="fuzz_a.c"):
        small.files("fuzz_a")
