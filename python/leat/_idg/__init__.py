# SPDX-License-Identifier: Apache-2.0
"""ImageDataGenerator and its iterators, with Keras's names and meaning, on leat's engine."""
from .array_iterator import NumpyArrayIterator
from .file_iterators import DataFrameIterator, DirectoryIterator
from .generator import ImageDataGenerator
from .iterator import Iterator
from .transforms import (
    apply_affine_transform,
    apply_brightness_shift,
    apply_channel_shift,
    random_brightness,
    random_channel_shift,
    random_rotation,
    random_shear,
    random_shift,
    random_zoom,
)

__all__ = [
    "DataFrameIterator", "DirectoryIterator", "ImageDataGenerator", "Iterator", "NumpyArrayIterator",
    "apply_affine_transform", "apply_brightness_shift", "apply_channel_shift", "random_brightness",
    "random_channel_shift", "random_rotation", "random_shear", "random_shift", "random_zoom",
]
