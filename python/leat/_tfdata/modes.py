# SPDX-License-Identifier: Apache-2.0
"""In which way TensorFlow runs at the moment, and what a program is told about it."""
from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from .._base.notices import tell as _tell

_context: Any = import_module("tensorflow.python.eager.context")
_debug: Any = import_module("tensorflow.python.data.ops.debug_mode")
wanted = threading.local()  # .pure: only TensorFlow's own operations, for what saves iterators


@contextmanager
def pure() -> Iterator[None]:
    before, wanted.pure = getattr(wanted, "pure", False), True
    try:
        yield
    finally:
        wanted.pure = before


def eager() -> bool:
    return bool(_context.executing_eagerly()) and not _debug.DEBUG_MODE


def tell(reason: str) -> None:
    """Says once why TensorFlow runs a part of a pipeline."""
    _tell(f"leat: TensorFlow runs this data set: {reason}")
