# SPDX-License-Identifier: Apache-2.0
"""Seeds as TensorFlow combines them: of an operation, and the one of tf.random.set_seed. Nothing of TensorFlow is changed."""
from __future__ import annotations

import hashlib
import importlib
import os
from typing import Any

_counted: list[Any] = [None, 0]  # TensorFlow's generator since the last set_seed, and how many seeds it has given here


def mixed(*numbers: int) -> int:
    """One seed of several numbers, 31 bits."""
    digest = hashlib.blake2b(" ".join(map(str, numbers)).encode(), digest_size=4).digest()
    return int.from_bytes(digest, "little") >> 1


def fresh() -> int:
    return int.from_bytes(os.urandom(4), "little") >> 1


def operation_seed(seed: Any) -> int:
    """Of a verb with this argument. It asks TensorFlow exactly as the verb of tf.data does, so that what a program draws
    afterwards is the same. Neither seed given: another one at each call."""
    framework: Any = importlib.import_module("tensorflow.python.framework.random_seed")
    first, second = framework.get_seed(None if seed is None else int(seed))
    return fresh() if first is None and second is None else mixed(int(first or 0), int(second or 0))


def chain_seed() -> int:
    """Of a data set whose operations draw: from the global seed and the number of the data set since it was set."""
    context: Any = importlib.import_module("tensorflow.python.eager.context")
    given = context.global_seed()
    if given is None:
        return fresh()
    generator = getattr(context.context(), "_rng", None)  # set_seed makes a new one
    if _counted[0] is not generator:
        _counted[:] = [generator, 0]
    _counted[1] += 1
    return mixed(int(given), _counted[1])
