# SPDX-License-Identifier: Apache-2.0
"""The tests of keras-preprocessing, with leat's modules in the place of its own: leat passes what Keras passes.

They come from the package index when this runs, or from the folder that LEAT_KERAS_PREPROCESSING names (a copy of the
repository), and are never part of leat. Those of version 1.1.2 know the geometry of Keras 2.8 alone, so Keras and leat
fail some of them alike.
"""
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
PACKAGE = "keras-preprocessing==1.1.2"


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    given = os.environ.get("LEAT_KERAS_PREPROCESSING")
    if given:
        return Path(given)
    folder = tmp_path_factory.mktemp("fetched")
    done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-build-isolation", "--no-binary",
                           ":all:", "--timeout", "10", "--retries", "1", "-d", str(folder), PACKAGE], capture_output=True,
                          text=True)
    found = list(folder.glob("*.tar.gz"))
    if not found:
        pytest.skip(f"{PACKAGE} cannot be fetched: {done.stderr.strip().splitlines()[-1:]}")
    with tarfile.open(found[0]) as archive:
        members = [member for member in archive.getmembers() if member.isfile() and ".." not in member.name]
        archive.extractall(folder, members)
    return next(path for path in folder.iterdir() if path.is_dir())


def results(copy: Path, library: str) -> dict[str, str]:
    """Which tests pass and fail; utils_test is about functions that leat takes from Keras."""
    places = [os.path.abspath(place) for place in os.environ.get("PYTHONPATH", "").split(":") if place]
    env = {**os.environ, "LEAT_NAMES_OF": library, "PYTHONPATH": ":".join([*places, str(HERE)])}
    done = subprocess.run([sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", ".", "-rA", "-q", "-p", "no:cacheprovider", "-p", "keras_preprocessing_names",
                           "--ignore", "utils_test.py", "."], cwd=copy / "tests/image", env=env, capture_output=True, text=True)
    return {name: word for word, name in re.findall(r"^(PASSED|FAILED|ERROR) (\S+)", done.stdout, re.M)}


def test_leat_passes_what_keras_passes(copy):
    keras, leat = (results(copy, library) for library in ("keras", "leat"))
    assert len(keras) == len(leat) > 30
    passed = [name for name, word in keras.items() if word == "PASSED"]
    assert len(passed) > 20
    assert [name for name in passed if leat[name] != "PASSED"] == []


def test_keras28_is_the_old_package(copy, monkeypatch):
    """compat="keras28" against keras-preprocessing 1.1.2 itself."""
    if os.environ.get("LEAT_KERAS_PREPROCESSING"):
        pytest.skip("a copy of the repository is newer than 1.1.2")
    import numpy
    from leat._idg import ImageDataGenerator

    monkeypatch.syspath_prepend(str(copy))
    from keras_preprocessing.image import ImageDataGenerator as Old

    random = numpy.random.RandomState(1)
    for mode in ("constant", "nearest", "reflect", "wrap"):
        settings = {"fill_mode": mode, "data_format": "channels_last"}
        old, new = Old(**settings), ImageDataGenerator(**settings, compat="keras28")
        for _ in range(20):
            x = random.rand(*random.randint(4, 20, 2), 3).astype("float32")
            given = {"theta": random.uniform(-90, 90), "tx": random.uniform(-4, 4), "ty": random.uniform(-4, 4),
                     "shear": random.uniform(-30, 30), "zx": random.uniform(0.5, 1.5), "zy": random.uniform(0.5, 1.5)}
            numpy.testing.assert_array_equal(new.apply_transform(x, given), old.apply_transform(x, given))
