# SPDX-License-Identifier: Apache-2.0
"""One line about a function that TensorFlow runs: which, where, and why."""
from __future__ import annotations

import inspect
import os
from typing import Any

from .._base.notices import tell


def described(function: Any) -> str:
    """The name of a function and where it begins: "load (train.py:12)"."""
    function = getattr(function, "python_function", function)
    name = getattr(function, "__name__", type(function).__name__)
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    return f"{name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})" if code else name


def notice(function: Any, reason: str, where: str = "") -> None:
    """Tells once that this function is TensorFlow's own map, and why."""
    name = described(function)
    tell(f"leat: TensorFlow runs {name}: {reason}{f' at {where}' if where else ''}", (name, reason))
