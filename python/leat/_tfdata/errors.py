# SPDX-License-Identifier: Apache-2.0
"""Errors of the engine as TensorFlow's: the classes that a program written for tf.data expects, with leat's message."""
from __future__ import annotations

from typing import Any

import tensorflow as tf  # type: ignore[import-not-found, import-untyped, unused-ignore]

from .._base.errors import Error

CLASSES: dict[str, Any] = {
    "ARGUMENT": tf.errors.InvalidArgumentError, "SYNTAX": tf.errors.InvalidArgumentError,
    "SHAPE": tf.errors.InvalidArgumentError, "TYPE": tf.errors.InvalidArgumentError,
    "DECODE": tf.errors.InvalidArgumentError, "FORMAT": tf.errors.InvalidArgumentError,
    "CORRUPT": tf.errors.DataLossError, "NOT_FOUND": tf.errors.NotFoundError, "IO": tf.errors.UnknownError,
    "MEMORY": tf.errors.ResourceExhaustedError, "LIMIT": tf.errors.ResourceExhaustedError,
    "UNSUPPORTED": tf.errors.UnimplementedError, "CANCELLED": tf.errors.CancelledError,
}


def translated(error: Error) -> Exception:
    """The exception of TensorFlow for an error of leat, which stays its cause."""
    kind = CLASSES.get(error.code, tf.errors.UnknownError)
    if error.code == "FORMAT" and error.stage == "read":  # a record that is cut off
        kind = tf.errors.DataLossError
    elif error.code in ("NOT_FOUND", "UNSUPPORTED") and error.stage not in ("", "read"):  # a feature, a kind of picture
        kind = tf.errors.InvalidArgumentError
    made: Exception = kind(None, None, str(error))
    made.__cause__ = error
    return made
