# SPDX-License-Identifier: Apache-2.0
"""`import leat.auto`, as the first line of a script, makes its imports of TensorFlow and Keras those of leat.

    import leat.auto
    import tensorflow as tf                                         # leat.tf
    from tensorflow.keras.preprocessing.image import ImageDataGenerator

It holds for the script, or the notebook, and for all modules under its directory; not for installed packages.
`%load_ext leat` does the same in a notebook, and `python -m leat script.py` without a change of the script.
docs/dropin.md tells more.
"""
import os as _os
import sys as _sys
from typing import Any as _Any

from ._dropin import aliases as _aliases


def _importing_folder() -> str | None:
    """Of the module that imports this one, which need not be the script: a test, or a module of settings."""
    frame: _Any = _sys._getframe()
    while frame is not None:
        file = frame.f_globals.get("__file__")
        if file is not None and file != __file__ and not frame.f_code.co_filename.startswith("<frozen importlib"):
            installed = _aliases.is_installed(file) or _os.path.realpath(file).startswith(_aliases.PACKAGE)
            return None if installed else _os.path.dirname(_os.path.realpath(file))
        frame = frame.f_back
    return None


_aliases.begin(*{folder for folder in (_aliases.main_folder(), _importing_folder()) if folder is not None})
