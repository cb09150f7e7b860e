# SPDX-License-Identifier: Apache-2.0
"""TensorFlow, with leat's data sets in it: `import leat.tf as tf` in place of `import tensorflow as tf`.

    import leat.tf as tf
    from leat.tf.keras.layers import Dense                          # Keras's own

Names that leat has come from leat, all others are the very same objects as in the installed TensorFlow. Importing this
module does not import TensorFlow; the first name of TensorFlow's does. docs/dropin.md lists leat's names.
"""
from typing import TYPE_CHECKING as _CHECKING

from ._dropin.loader import become as _become

if _CHECKING:  # for editors and type checkers
    from typing import Any

    from tensorflow import *  # type: ignore[import-untyped] # noqa: F403
    from tensorflow import keras as keras

    def __getattr__(name: str) -> Any: ...

_become(__name__)
