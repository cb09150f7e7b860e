# SPDX-License-Identifier: Apache-2.0
"""Datasets in other processes: what a pickle of one carries of the user's functions."""
from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from .arrays import optional


class Portable:
    """Functions on their way into a pickle, where they become what they were. pickle itself takes those that have a name in a
    module; cloudpickle takes lambdas and what a script defines, if it is installed."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        try:
            return pickle.loads, (pickle.dumps(self.value),)
        except Exception as error:  # AttributeError, PicklingError or TypeError, by the kind of function
            why = error
        cloudpickle = optional("cloudpickle")
        if cloudpickle is None:
            raise pickle.PicklingError(
                f"this dataset has a function that pickle does not find by its name, such as a lambda ({why}): "
                "pip install cloudpickle, which leat uses then, or define the function at the top of a module") from None
        try:
            return pickle.loads, (cloudpickle.dumps(self.value),)
        except Exception as error:
            raise pickle.PicklingError(f"this dataset holds what cannot be pickled ({error}): make it anew in the other "
                                       "process") from None
