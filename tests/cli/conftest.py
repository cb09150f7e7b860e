# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command share.

    leat(...)    runs the command that the environment's LEAT names, with a cache directory of its own, and checks the
                 exit code; gives a CompletedProcess with text
    pictures     a folder of small pictures in three classes, of several formats and sizes
    records      writes TFRecords of tf.train.Examples, in Python alone
"""
import os
import subprocess
from pathlib import Path

import numpy
import pytest
from PIL import Image

import tfrecord

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def command() -> str:
    return os.environ.get("LEAT", str(ROOT / "build/release/cli/leat"))


@pytest.fixture
def environment(tmp_path) -> dict:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("LEAT_") and key != "NO_COLOR"}
    return {**kept, "XDG_CACHE_HOME": str(tmp_path / "cache"), "LEAT_TOP": "0", "LC_ALL": "C.UTF-8"}


@pytest.fixture
def leat(command, environment, tmp_path):
    def run(*words, code: int | None = 0, env: dict | None = None, cwd=None, **more) -> subprocess.CompletedProcess:
        done = subprocess.run([command, *map(str, words)], capture_output=True, text=True, timeout=120,
                              cwd=cwd or tmp_path, env={**environment, **(env or {})}, stdin=subprocess.DEVNULL, **more)
        assert code is None or done.returncode == code, f"exit code {done.returncode}, not {code}\n{done.stdout}{done.stderr}"
        return done

    return run


def paint(height: int, width: int, seed: int) -> numpy.ndarray:
    """A smooth picture with some grain, so that every codec has something to do."""
    random = numpy.random.RandomState(seed)
    y, x = numpy.mgrid[0:height, 0:width]
    waves = [numpy.sin(x / random.uniform(3, 9) + y / random.uniform(3, 9) + random.uniform(0, 6)) for _ in range(3)]
    return numpy.clip(numpy.stack(waves, -1) * 90 + 128 + random.normal(0, 6, (height, width, 3)), 0, 255).astype("uint8")


@pytest.fixture
def pictures(tmp_path) -> Path:
    folder = tmp_path / "pictures"
    for number in range(23):
        name = ("ant", "bee", "cat")[number % 3]
        extension = (".jpg", ".png", ".webp", ".bmp", ".JPG")[number % 5]
        (folder / name).mkdir(parents=True, exist_ok=True)
        image = Image.fromarray(paint(20 + number, 50 - number, number))
        image.save(folder / name / f"{number:02}{extension}", **({"quality": 90} if number % 5 in (0, 4) else {}))
    return folder


@pytest.fixture
def records(tmp_path):
    """records("a.tfrecord", [{"image": b"...", "label": 3, "x": [1.0, 2.0]}, ...]) writes and gives the path."""

    def write(name: str, examples: list[dict], compression: str = "") -> Path:
        path = tmp_path / name
        path.write_bytes(tfrecord.compress(b"".join(tfrecord.record(tfrecord.example(e)) for e in examples), compression))
        return path

    return write
