# SPDX-License-Identifier: Apache-2.0
"""Keras's own tests of image_dataset_from_directory, from the installed package, pointed at leat by one import: every test that
passes with Keras passes with leat."""
import os
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import keras
import pytest

TESTS = Path(keras.__file__).parent / "src/utils/image_dataset_utils_test.py"
IMPORT = "from keras.src.utils import image_dataset_utils\n"


def outcomes(folder, text):
    """The tests of this text that pass, and all."""
    folder.mkdir()
    (folder / "test_copy.py").write_text(text)
    subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=found.xml", "test_copy.py"],
                   cwd=folder, capture_output=True, timeout=600, env={**os.environ, "KERAS_BACKEND": "tensorflow"})
    cases = list(xml.etree.ElementTree.parse(folder / "found.xml").iter("testcase"))
    return {case.get("name") for case in cases if not list(case)}, {case.get("name") for case in cases}


@pytest.mark.skipif(not TESTS.exists(), reason="this package of Keras has no tests in it")
def test_keras_own_tests(tmp_path):
    text = TESTS.read_text()
    assert text.count(IMPORT) == 1
    theirs, listed = outcomes(tmp_path / "keras", text)
    ours, same = outcomes(tmp_path / "leat", text.replace(IMPORT, "import leat.keras.utils as image_dataset_utils\n"))
    assert listed == same and len(theirs) >= 14, (len(theirs), listed ^ same)
    assert theirs <= ours, theirs - ours
