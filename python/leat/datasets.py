# SPDX-License-Identifier: Apache-2.0
"""TFDS, with leat's load in it: `import leat.datasets as tfds` in place of `import tensorflow_datasets as tfds`.

    train, info = leat.datasets.load("mnist", split="train", as_supervised=True, with_info=True)

load reads what TFDS has prepared, Keras's cache, and raw files of CIFAR, MNIST and folders of classes. Other names are
those of the installed tensorflow_datasets. docs/dropin.md tells more.
"""
from typing import TYPE_CHECKING as _CHECKING

from ._dropin.loader import become as _become

if _CHECKING:  # for editors and type checkers
    from typing import Any

    from ._prepared.load import as_numpy as as_numpy
    from ._prepared.load import load as load

    def __getattr__(name: str) -> Any: ...

_become(__name__)
