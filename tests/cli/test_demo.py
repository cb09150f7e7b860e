# SPDX-License-Identifier: Apache-2.0
"""The command of the README that shows what packing brings, on a few pictures: it runs, twice, and tells both rates."""
import os
import re
import subprocess
from pathlib import Path

from packs import LEAT, environment

ROOT = Path(__file__).resolve().parents[2]


def demo(folder):
    env = {**environment(folder.parent), "LEAT": os.path.abspath(LEAT), "IMAGES": "70", "SECONDS_EACH": "1"}
    done = subprocess.run([ROOT / "scripts/demo", folder], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_demo(tmp_path):
    folder = tmp_path / "a demo"
    told = re.search(r"^From the folder (\S+) images/s, from the pack (\S+) images/s: (\S+) times as fast$", demo(folder), re.M)
    before, after, times = map(float, told.groups())
    assert before > 0 and abs(after / before - times) <= 0.06
    assert demo(folder).count("(already there") == 2
    assert re.sub(r"[\d.]+", "N", told[0]) in re.sub(r"[\d.]+", "N", (ROOT / "README.md").read_text())


def test_a_folder_of_others_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("x")
    done = subprocess.run([ROOT / "scripts/demo", tmp_path], env={**environment(tmp_path), "LEAT": os.path.abspath(LEAT)},
                          capture_output=True, text=True)
    assert done.returncode == 1 and "other things" in done.stderr and os.listdir(tmp_path) == ["mine"]
