# SPDX-License-Identifier: Apache-2.0
"""bench/peers: the page and its charts are what its figures say, and the harness measures leat where no other library is."""
import importlib.util
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

import leat
import pytest

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "bench/peers"


def harness(*words, code=0):
    done = subprocess.run([sys.executable, PEERS, *map(str, words)], capture_output=True, text=True,
                          env={**os.environ, "LEAT": os.environ.get("LEAT", str(ROOT / "build/release/cli/leat"))})
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture
def page(monkeypatch):
    monkeypatch.syspath_prepend(str(PEERS))
    spec = importlib.util.spec_from_file_location("page", PEERS / "page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_figures_say(page):
    results = json.loads((PEERS / "results.json").read_text())
    for path, text in page.made(results).items():
        assert (ROOT / path).read_text() == text, f"{path}: bench/peers/page.py --write"
        if path.suffix == ".svg":
            assert xml.fromstring(text).tag.endswith("svg") and "prefers-color-scheme:dark" in text


def test_leat_alone(page, tmp_path):
    file = tmp_path / "results.json"
    words = ("raw", "--peers", "leat", "--count", 16, "--rounds", 1, "--threads", 1, "--seconds", 0.05, "--results", file, "--folder",
             tmp_path / "data", "--package", Path(leat.__file__).parents[1])
    harness(*words)
    results = json.loads(file.read_text())
    (run,) = results["runs"]
    assert run["peer"] == "leat" and run["rate"] > 0 and run["memory"] > 1 << 20 and results["limits"]["raw"]["1"] > 0
    text = page.made(results)[Path("docs/benchmarks.md")]
    assert "Raw 256x256 TFRecords" in text and "no figure in this run" in text


def test_unknown_names_tell_the_nearest():
    assert harness("progresive", code=1).stderr == "peers: there is no workload 'progresive'; the nearest is 'progressive'\n"
    assert "nearest is 'opencv'" in harness("jpeg", "--peers", "opencvv", code=1).stderr
    assert "there is no folder" in harness("jpeg", "--photos", "/nowhere", code=1).stderr
