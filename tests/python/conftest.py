# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package share. They need NumPy and Pillow, and no framework.

    pictures    a folder of small pictures in three classes
    command     the command `leat`
    run         runs Python code in a process of its own and gives what it printed
"""
import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = os.environ.get("PYTHONPATH", str(ROOT / "build/package"))
sys.path.insert(0, PACKAGE)
LIMIT = 60  # seconds that a process may take on a machine that is busy with other things


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory):
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def pictures(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "pictures"
    random = numpy.random.RandomState(1)
    for number in range(24):
        name = ("ant", "bee", "big cat")[number % 3]
        (folder / name).mkdir(parents=True, exist_ok=True)
        pixels = random.randint(0, 255, (20 + number, 50 - number, 3), "uint8")
        Image.fromarray(pixels).save(folder / name / f"{number:02}.{('jpg', 'png')[number % 2]}")
    return folder


@pytest.fixture
def command() -> str:
    return os.environ.get("LEAT", str(ROOT / "build/release/cli/leat"))


@pytest.fixture
def run():
    def call(code: str, *, returncode: int = 0, options: tuple[str, ...] = ()) -> str:
        done = subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, timeout=LIMIT,
                              env={**os.environ, "PYTHONPATH": PACKAGE}, stdin=subprocess.DEVNULL)
        assert done.returncode == returncode, f"exit code {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    return call
