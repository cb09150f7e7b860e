# SPDX-License-Identifier: Apache-2.0
"""In these tests leat must read every graph or refuse it by name. In a program, a graph that leat stumbles over is TensorFlow's."""
import sys

import pytest


@pytest.fixture(autouse=True)
def graphs_are_as_expected(monkeypatch):
    if "tensorflow" in sys.modules:
        from leat._tftrace import lower

        def failed(error):
            return AssertionError(f"a graph that leat stumbles over: {error!r}")
        monkeypatch.setattr(lower, "unexpected", failed)
