# SPDX-License-Identifier: Apache-2.0
"""The names that the table gives as those of other libraries are names that they have."""
import importlib
import json
import os
import re
import subprocess

import leat
import pytest

OPERATIONS = json.loads(subprocess.run([os.environ["LEAT"], "ops", "--json"], capture_output=True, text=True,
                                       check=True).stdout)
NAMES = [(op["name"], name) for op in OPERATIONS for name in re.split(r", (?![^(]*\))", op["like"])
         if name.startswith("albumentations ")]


@pytest.mark.parametrize("operation, name", NAMES, ids=[name for _, name in NAMES])
def test_albumentations_has_it_and_leat_answers_it(operation, name):
    module, _, last = name.removeprefix("albumentations ").rpartition(".")
    assert hasattr(importlib.import_module("albumentations" + (f".{module}" if module else "")), last)
    with pytest.raises(AttributeError, match="leat calls it|did you mean"):
        getattr(leat.synthetic(4), last)
