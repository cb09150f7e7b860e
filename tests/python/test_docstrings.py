# SPDX-License-Identifier: Apache-2.0
"""What `help` says: every function and every method has an example, and a word on each of its parameters."""
import inspect
import re

import leat
import pytest

FUNCTIONS = {name: getattr(leat, name) for name in leat.__all__ if inspect.isfunction(getattr(leat, name))}
METHODS = {f"Dataset.{name}": method for name, method in inspect.getmembers(leat.Dataset, inspect.isfunction)
           if not name.startswith("_")}
REST = {"others", "more"}  # of split and kfold, whose docstrings have what may be given by name


@pytest.mark.parametrize("name", [*FUNCTIONS, *METHODS])
def test_help(name):
    function = {**FUNCTIONS, **METHODS}[name]
    text = inspect.getdoc(function) or ""
    first, *rest = text.splitlines()
    assert first.endswith((".", ":")) or rest, name
    called = name.split(".")[-1]
    assert re.search(rf"\b{called}\(", text) or "ds" in text, f"{name} has no example"
    missing = [parameter for parameter in inspect.signature(function).parameters
               if parameter not in {"self", *REST} and not re.search(rf"\b{re.escape(parameter)}\b", text)]
    assert missing == [], f"{name} does not say what {', '.join(missing)} is"
