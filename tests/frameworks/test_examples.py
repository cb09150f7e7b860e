# SPDX-License-Identifier: Apache-2.0
"""The training examples as a user runs them: each reaches its accuracy on pictures that it has not seen."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


@pytest.mark.parametrize("name, wanted", [("train_torch", 95), ("train_jax", 95), ("train_keras", 95),
                                          ("augment_albumentations", 80)])
def test_training(name, wanted):
    done = subprocess.run([sys.executable, EXAMPLES / f"{name}.py"], capture_output=True, text=True, timeout=600,
                          env={**os.environ, "OMP_WAIT_POLICY": "passive"})
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.fullmatch(r"accuracy \d+\.\d%", lines[-1]) and float(lines[-1].split()[1][:-1]) >= wanted
    assert all(re.match(r"epoch +\d+: loss ", line) for line in lines[:-1]) and len(lines) > 2
