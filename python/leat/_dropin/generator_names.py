# SPDX-License-Identifier: Apache-2.0
"""The names of leat._idg for drop-in modules. Keras is imported before, if it is there, so that iterators are instances
of keras.utils.PyDataset, as Keras's own are; without it they work all the same."""
from __future__ import annotations

from contextlib import suppress
from importlib import import_module

with suppress(ImportError):
    import_module("keras")

from .._idg import DataFrameIterator as DataFrameIterator
from .._idg import DirectoryIterator as DirectoryIterator
from .._idg import ImageDataGenerator as ImageDataGenerator
from .._idg import Iterator as Iterator
from .._idg import NumpyArrayIterator as NumpyArrayIterator
from .._idg import apply_affine_transform as apply_affine_transform
from .._idg import apply_brightness_shift as apply_brightness_shift
from .._idg import apply_channel_shift as apply_channel_shift
from .._idg import random_brightness as random_brightness
from .._idg import random_channel_shift as random_channel_shift
from .._idg import random_rotation as random_rotation
from .._idg import random_shear as random_shear
from .._idg import random_shift as random_shift
from .._idg import random_zoom as random_zoom
