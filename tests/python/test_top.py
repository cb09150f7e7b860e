# SPDX-License-Identifier: Apache-2.0
"""A dataset that is iterated is shown by `leat top`, unless that is switched off."""
import json
import os
import subprocess
import sys
import time

import leat
import pytest

PACKAGE = os.path.dirname(os.path.dirname(leat.__file__))


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("LEAT_TOP", str(tmp_path / "top"))
    return tmp_path / "top"


def reports(place) -> list[str]:
    return [path.name for path in place.iterdir()] if place.exists() else []


def iterate(*datasets, seconds: float, until=lambda: False) -> None:
    end = time.monotonic() + seconds
    rows = [iter(ds) for ds in datasets]
    while time.monotonic() < end and not until():
        for row in rows:
            next(row)
        time.sleep(0.01)


def test_a_running_dataset_reports(place):
    ds = leat.synthetic(64, 8, 8).repeat().batch(8).configure(threads=1)
    iterate(ds, seconds=30, until=lambda: reports(place))
    (name,) = reports(place)
    assert name.startswith(f"{os.getpid()}-") and name.endswith(".leattop")
    ds.close()
    assert not reports(place)


def test_leat_top_names_the_script(place, tmp_path, command):
    (tmp_path / "train.py").write_text(f"""
import sys, time
sys.path.insert(0, {PACKAGE!r})
import leat
for batch in leat.synthetic(64, 8, 8).repeat().batch(8).configure(threads=1):
    time.sleep(0.01)
""")
    script = subprocess.Popen([sys.executable, "-u", "-X", "utf8", tmp_path / "train.py", "other.py"])
    try:
        end = time.monotonic() + 30
        while not any((place / name).stat().st_size for name in reports(place)) and time.monotonic() < end:
            time.sleep(0.05)
        shown = json.loads(subprocess.run([command, "top", "--json"], capture_output=True, text=True, check=True).stdout)
        (row,) = shown["pipelines"]
        assert row["pid"] == script.pid and row["program"] == "train.py" and row["name"] == "synth"
    finally:
        script.kill()
        script.wait()


def test_switched_off(place, monkeypatch):
    quiet = leat.synthetic(64, 8, 8).repeat().batch(8).configure(threads=1, top=False)
    alone = leat.synthetic(64, 8, 8).repeat().batch(8).configure(synchronous=True)
    monkeypatch.setenv("LEAT_TOP", "0")
    iterate(leat.synthetic(64, 8, 8).repeat().batch(8).configure(threads=1), seconds=1.3)
    monkeypatch.setenv("LEAT_TOP", str(place))
    iterate(quiet, alone, seconds=1.3)
    assert not reports(place)
    with pytest.raises(TypeError, match="top must be bool"):
        quiet.configure(top=0)
