# SPDX-License-Identifier: Apache-2.0
"""Libraries of others that ImageDataGenerator works with. NumPy is needed; the rest when it is asked for."""
from __future__ import annotations

from importlib import import_module
from typing import Any


def need(module: str, package: str, what: str) -> Any:
    """A module, or an ImportError that says what to install for what."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{what} needs {package}: pip install {package.lower()}") from error


np: Any = need("numpy", "NumPy", "ImageDataGenerator")
