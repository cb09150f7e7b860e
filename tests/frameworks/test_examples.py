# SPDX-License-Identifier: Apache-2.0
"""The training examples as a user runs them: each reaches 95 % on pictures that it has not seen."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


@pytest.mark.parametrize("name", ["torch", "jax", "keras"])
def test_training(name):
    done = subprocess.run([sys.executable, EXAMPLES / f"train_{name}.py"], capture_output=True, text=True, timeout=600,
                          env={**os.environ, "OMP_WAIT_POLICY": "passive"})
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.fullmatch(r"accuracy \d+\.\d%", lines[-1]) and float(lines[-1].split()[1][:-1]) >= 95
    assert all(re.match(r"epoch +\d+: loss ", line) for line in lines[:-1]) and len(lines) > 2
