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


def figures(page, speed, peers=None):
    """Results as the harness writes them, of every workload and loader, or of these loaders."""
    runs = []
    for key, workload in page.WORKLOADS.items():
        for name in workload.forms + workload.peers:
            for threads in workload.threads or (1, 2):
                if peers is None or name in peers:
                    rate = threads * (1000 * speed if name.startswith("leat") else 1000)
                    more = {"waited": 0.25, "longest_s": 0.01, "settled_s": -1 if name == "pillow" else 0.5} if workload.step else {}
                    runs += [{"workload": key, "peer": name, "threads": threads, "load": 1, "rate": rate * noise, "cpu_ms": 1,
                              "first_s": 0.5, "memory": 100 << 20, "samples": 1000, **more} for noise in (1, 1.1)]
    rates = {"gray": {"leat": [2.0], "albumentations": [1.0], "pillow": [0.5]}, "colour jitter *": {"leat": [3.0]}}
    return {"runs": runs, "equal": {"jpeg": {"pillow": {"mean": 0.024, "max": 1.0}}}, "failed": {"jpeg": {"grain": "no end in 120 s"}},
            "limits": {key: {"1": 0.8, "2": 0.8} for key, workload in page.WORKLOADS.items() if workload.limit},
            "single": {"rates": rates, "pixels": {"pillow": {"gray": [0.5, 2.0]}}},
            "about": {"date": "2026-01-02", "cpu": "x", "cores": 2, "kernel": "6", "python": "3", "seconds": 2, "leat": "leat 1",
                      "command": "python3 bench/peers", "versions": {"peers": {"numpy": "2"}}, "data": {"photos": "p", "count": 100}}}


def test_every_kind_of_row(page):
    files = page.made(figures(page, 3))
    text = files[Path("docs/benchmarks.md")]
    for key, workload in page.WORKLOADS.items():
        assert f"## {workload.title}\n" in text, key
        assert (Path(f"docs/images/benchmarks/{key}.svg") in files) == (key not in page.SPECIAL), key
    assert all(peer.title in text for peer in page.PEERS.values())
    assert "| DataLoader + Pillow | 1,050 (1,000 to 1,100) | 2,100 (2,000 to 2,200) | 1 ms | 0.50 s | 100 MB | 0.02, 1 |" in text
    assert "leat is 3 times as fast as the fastest of the others, tf.data, best form; with one thread 3 times." in text
    assert "leat is at 0.80 of the limit, bare libwebp, whole files. libwebp decodes for the others" in text
    assert "| limit: memcpy of the output | 3,938 | 7,875 |" in text
    assert "| DataLoader + Pillow | 25.0 % | never | 25.0 % | never | 10 ms | 1 ms |" in text
    assert "| **leat** | 25.0 % | 0.50 s | 25.0 % | 0.50 s | 10 ms | 1 ms |" in text
    assert "Eight workers on 2 cores" in text and "| **leat** | 100 MB | 0.50 s | 25,200 (24,000 to 26,400) |" in text
    assert "| next batch |\n|---|---|\n| **leat** | 0.50 s |" in text
    assert "| gray | 2 | 1 |  | 0.5 | 0.50, 2 | **2** |" in text and "| colour jitter * | 3 |  |  |  |  |  |" in text
    assert "| [Folder of PNGs: resize 224](docs/benchmarks.md#png) | 3 | tf.data, best form |" in files[Path("README.md")]
    assert "Grain + OpenCV: no end in 120 s" in text and "not measured in this run" not in text


def test_a_missed_target_names_the_limit(page):
    text = page.made(figures(page, 1.2))[Path("docs/benchmarks.md")]
    assert ("That is less than the 2 times that leat aims at. leat is at 0.80 of the limit, memcpy of the output, which itself is 1.5 times "
            "as fast as tf.data, best form.") in text
    assert "**tf.data, best form is 2 times as fast as leat**" in page.made(figures(page, 0.5))[Path("docs/benchmarks.md")]
    assert "times as fast as the fastest" not in page.made(figures(page, 1, {"tfdata"}))[Path("docs/benchmarks.md")]


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
