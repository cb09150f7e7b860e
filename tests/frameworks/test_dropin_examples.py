# SPDX-License-Identifier: Apache-2.0
"""examples/dropin: scripts for TensorFlow train alike with one line changed."""
# leat-test: timeout=900
import re
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples/dropin"
SCRIPTS = {"arrays": ["before", "one line"], "photos": ["before", "one line", "and lift"], "records": ["before", "one line"]}


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_losses_are_alike(name, tmp_path):
    done = subprocess.run([sys.executable, FOLDER / "compare.py", name, "--epochs", "3", "--count", "480", "--plot",
                           tmp_path / "losses.svg"], capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [[float(loss) for loss in re.findall(r"loss (\d+\.\d+)", line)] for line in done.stdout.splitlines()
            if line.startswith("epoch")]
    assert len(rows) == 3 and all(len(row) == len(SCRIPTS[name]) for row in rows)
    assert rows[2][0] < rows[0][0]
    for loss in rows[2][1:]:
        assert abs(loss - rows[2][0]) < 0.35, done.stdout
    drawn = xml.etree.ElementTree.parse(tmp_path / "losses.svg").getroot()
    assert len(drawn.findall("{*}polyline")) == len(SCRIPTS[name])


def test_one_line_is_changed():
    for path in FOLDER.glob("*.py"):
        text = path.read_text()
        if path.stem in ("compare", "says"):
            continue
        assert text.count("import tensorflow as tf\n") == 1 and "import leat" not in text.replace("import leat.tf as tf`", "")
        assert path.stem in (FOLDER / "compare.py").read_text()
