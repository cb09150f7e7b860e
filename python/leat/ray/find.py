# SPDX-License-Identifier: Apache-2.0
"""Ray itself, which is imported when it is needed."""
from __future__ import annotations

from importlib import import_module
from typing import Any


def find_ray(what: str) -> Any:
    """The module `ray`."""
    try:
        return import_module("ray")
    except ImportError as error:
        raise ImportError(f"leat.ray.{what}() needs Ray: pip install 'ray>=2.9' ({error})") from error
