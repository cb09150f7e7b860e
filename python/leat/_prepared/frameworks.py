# SPDX-License-Identifier: Apache-2.0
"""What load() gives: with TensorFlow a tf.data.Dataset, otherwise a leat.Dataset."""
from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def installed(name: str) -> bool:
    """Whether a package can be imported; it is not imported to see that."""
    if name in sys.modules:
        return sys.modules[name] is not None
    return find_spec(name) is not None


def tensorflow() -> Any:
    """leat.tf, None without TensorFlow."""
    return import_module("leat.tf") if installed("tensorflow") else None


def tfds() -> Any:
    """The installed tensorflow_datasets, or None."""
    both = installed("tensorflow_datasets") and installed("tensorflow")
    return import_module("tensorflow_datasets") if both else None


def keyed(structure: Any, keys: Any) -> Any:
    """Of a dict, what supervised_keys name: (x, y), or nested tuples and dicts of names."""
    if isinstance(keys, tuple):
        return tuple(keyed(structure, key) for key in keys)
    if isinstance(keys, dict):
        return {name: keyed(structure, key) for name, key in keys.items()}
    return structure[keys]


def names_in(keys: Any) -> set[str]:
    """Names that supervised_keys mention."""
    parts = keys if isinstance(keys, tuple) else keys.values() if isinstance(keys, dict) else ()
    return set().union(*(names_in(part) for part in parts)) if isinstance(keys, (tuple, dict)) else {keys}
