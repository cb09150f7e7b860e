# SPDX-License-Identifier: Apache-2.0
"""Keras, with leat's data sets in it: `import leat.keras as keras` in place of `import keras`.

    from leat.keras.layers import Dense                             # Keras's own
    model.fit(ds, epochs=10, callbacks=[leat.keras.Resume("run.resume", every=500)])

Names that leat has come from leat, all others are the very same objects as in the installed Keras, on any backend.
Resume is a callback that goes on in the middle of an epoch, Doctor one that tells why training is slow. docs/dropin.md lists leat's names.
"""
from typing import TYPE_CHECKING as _CHECKING

from ._dropin.loader import become as _become

if _CHECKING:  # for editors and type checkers
    from typing import Any

    from keras import *  # type: ignore[import-not-found] # noqa: F403

    from ._doctor.keras_doctor import Doctor as Doctor
    from ._frameworks.keras import Adapter as Adapter
    from ._frameworks.resume import Resume as Resume

    def __getattr__(name: str) -> Any: ...

_become(__name__)
