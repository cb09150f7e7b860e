# SPDX-License-Identifier: Apache-2.0
"""What was most likely meant, for errors that many people meet first."""
from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

# Methods and functions that datasets of other libraries have, and what to write instead.
HABITS = {
    "as_numpy_iterator": "iterate over the dataset itself, its batches are NumPy arrays",
    "cardinality": "len(ds), or ds.length and ds.endless",
    "apply": "call the function with the dataset",
    "train_test_split": "ds.split('train') and ds.split('validation')",
    "with_format": "ds.to_torch(), ds.to_tf(), ds.to_jax(), or NumPy arrays as they are",
    "set_format": "ds.to_torch(), ds.to_tf(), ds.to_jax(), or NumPy arrays as they are",
    "set_transform": "operations are methods: ds.resize(224, 224)",
    "DataLoader": "ds.batch(64).to_torch()",
    "Compose": "operations are methods, one after the other: ds.resize(224, 224).random_flip_left_right()",
}
# Arguments that functions of other libraries have which read folders and files.
STEPS = {
    "image_size": ".resize(height, width)", "target_size": ".resize(height, width)", "size": ".resize(height, width)",
    "interpolation": ".resize(height, width, method='bilinear')",
    "crop_to_aspect_ratio": ".resize(height, width, crop_to_aspect_ratio=True)",
    "pad_to_aspect_ratio": ".resize(height, width, pad_to_aspect_ratio=True)",
    "batch_size": ".batch(32)", "shuffle": ".shuffle()", "seed": ".shuffle(seed=7)",
    "validation_split": ".split('train', fractions=(0.8, 0.2)) and .split('validation', fractions=(0.8, 0.2))",
    "subset": ".split('train') and .split('validation')",
    "label_mode": ".one_hot() for categories, labels='none' for none",
    "class_mode": ".one_hot() for categories, labels='none' for none",
    "color_mode": ".decode(channels=1) for gray pictures",
    "transform": "the operations, .resize(224, 224).random_flip_left_right(), or .map(function)",
    "transforms": "the operations, .resize(224, 224).random_flip_left_right(), or .map(function)",
    "num_parallel_reads": ".interleave()",
}
PICTURES = (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff")


Made = TypeVar("Made", bound=Callable[..., Any])


def advised(function: Made) -> Made:
    """A function that makes a dataset, which tells where arguments of other libraries went."""
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for word in kwargs:
            if word in STEPS and word not in names:
                raise TypeError(f"{function.__name__}() has no argument '{word}': write {STEPS[word]} behind it")
        return function(*args, **kwargs)

    code = function.__code__
    names = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
    return cast(Made, call)


def is_file_list(values: Any) -> bool:
    """Whether these are names of pictures, and not the pictures."""
    if not isinstance(values, (list, tuple)) and not (hasattr(values, "tolist") and getattr(values, "ndim", 0) == 1):
        return False
    first = next(iter(values), None)
    if isinstance(first, os.PathLike):
        return True
    text = first.decode("utf-8", "replace") if isinstance(first, bytes) else first
    return isinstance(text, str) and text.lower().endswith(PICTURES)


def refuse_file_list(name: str, values: Any) -> None:
    if name == "image" and is_file_list(values):
        raise TypeError(f"from_arrays(): image is a list of file names ({next(iter(values))!s:.60}), and arrays hold "
                        "pictures: leat.from_files(paths, labels) reads files, leat.from_directory(folder) a folder")


def _shape(value: Any) -> tuple[int, ...]:
    """Of an array, or of nested lists by their first values."""
    if hasattr(value, "shape"):
        return tuple(value.shape)
    return (len(value), *_shape(value[0])) if isinstance(value, (list, tuple)) and value else ()


def different_rows(name: str, rows: Sequence[Any]) -> str:
    """Why these make no array, and what would."""
    shapes = [_shape(row) for row in rows]
    other = next((i for i, shape in enumerate(shapes) if shape != shapes[0]), 0)
    if 2 <= len(rows) <= 3 and all(hasattr(row, "shape") for row in rows) and len({shape[:1] for shape in shapes}) == 1:
        return (f"array {name}: a list of arrays is one array, and these have different shapes, {shapes[0]} and "
                f"{shapes[other]}: for pictures and labels give a tuple, (x, y)")
    if len(shapes[0]) >= 2:
        return (f"array {name}: picture 0 is {shapes[0]}, picture {other} is {shapes[other]}: resize them to one size, or "
                "keep them as files: leat.from_directory(folder) and leat.from_files(paths) resize and pad")
    return (f"array {name}: row 0 has {_count(rows[0])}, row {other} has {_count(rows[other])}: pad them to one length, or "
            "give leat.Ragged(values, offsets)")


def _count(row: Any) -> str:
    n = len(row) if hasattr(row, "__len__") else 1
    return f"{n} value{'' if n == 1 else 's'}"
