# SPDX-License-Identifier: Apache-2.0
"""tf.data's data sets over leat's engine: what `leat.tf.data` gives. See docs/dropin-data.md."""
from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

PLACES = {"Dataset": "dataset", "TFRecordDataset": "readers", "TextLineDataset": "readers",
          "FixedLengthRecordDataset": "readers"}
AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY = -1, -1, -2  # TensorFlow's numbers, also without it


def __getattr__(name: str) -> Any:
    """The classes over TensorFlow, or those that work without it."""
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place = PLACES[name] if find_spec("tensorflow") is not None else "plain"
    return getattr(import_module(f".{place}", __name__), name)
