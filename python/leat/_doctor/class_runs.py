# SPDX-License-Identifier: Apache-2.0
"""How many samples of one class follow each other in a data set, before it is shuffled."""
from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from .clocks import now

LABELS = ("label", "image/class/label", "class", "y", "target")  # features of tf.train.Example, the usual ones first
MANY = 50_000


def longest_run(dataset: Any, most: int, seconds: float = 1.5) -> int:
    """The longest run among the first samples; 0 if labels are not recognised or only one class was seen."""
    longest = run = count = 0
    last: Any = None
    classes = set()
    end = now() + seconds
    for element in dataset:
        label = _label(element)
        if label is None:
            return 0
        run = run + 1 if count and label == last else 1
        longest, last, count = max(longest, run), label, count + 1
        classes.add(label)
        if count >= (most if len(classes) > 1 else MANY) or now() > end:
            break
    return longest if len(classes) > 1 else 0


def _label(element: Any) -> Any:
    if isinstance(element, dict):
        return next((_value(element[name]) for name in LABELS if name in element), None)
    if isinstance(element, tuple):
        return _value(element[-1]) if len(element) > 1 else None
    return _of_bytes(element) if element.dtype.name == "string" and element.shape.rank == 0 else None


def _value(tensor: Any) -> Any:
    """A class: a number, a word, or one of a vector that is 1 in one place."""
    if not hasattr(tensor, "dtype"):
        return None
    if tensor.shape.rank == 0:
        return tensor.numpy() if tensor.dtype.is_integer or tensor.dtype.name == "string" else None
    if tensor.shape.rank == 1:
        values = tensor.numpy()
        return int(values.argmax()) if len(values) > 1 and sorted(values)[-2:] == [0, 1] else None
    return None


def _of_bytes(element: Any) -> Any:
    """The class of a path is its folder; that of a record is in one of its features."""
    data = element.numpy()
    if len(data) < 4096 and b"\x00" not in data and os.path.exists(data):
        return os.path.dirname(data)
    tf: Any = import_module("tensorflow")
    try:
        features = tf.train.Example.FromString(data).features.feature
    except Exception:  # no Example: protobuf has errors of several kinds for that
        return None
    for name in LABELS:
        if name in features and len(features[name].int64_list.value) == 1:
            return features[name].int64_list.value[0]
    return None
