# SPDX-License-Identifier: Apache-2.0
"""What a program is told without an exception: a line on stderr, once, with the line of the program that it is about."""
from __future__ import annotations

import sys
import warnings
from collections.abc import Hashable

_told: set[Hashable] = set()
# Code between the program and leat: a warning is about the line that called it.
_BETWEEN = ("leat", "tensorflow", "keras", "tf_keras", "contextlib", "functools")


class LeatWarning(UserWarning):
    """Something that is worth knowing, and no error.

        warnings.simplefilter("error", leat.LeatWarning)      # makes an exception of it
    """


def outside() -> int:
    """The stacklevel for warnings.warn, in the function that asks, that names the program's own line."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    return level


def tell(message: str, key: Hashable = None) -> None:
    """Warns once. key: what makes two notices the same, if it is not the text."""
    key = message if key is None else key
    if key not in _told:
        _told.add(key)
        warnings.warn(message, LeatWarning, stacklevel=outside())


def forget() -> None:
    """What was told may be told again, for tests."""
    _told.clear()
