# SPDX-License-Identifier: Apache-2.0
"""An ImageDataGenerator as operations of the engine: geometry, a function of Python, standardisation.

What the engine has no operation for is done with NumPy on whole batches behind it. What neither can do is Unlowered:
then pictures are made one by one in Python, as Keras does.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from .._base.notices import outside, tell
from .._data.dataset import Dataset
from .needs import np

MODES = {"constant", "nearest", "reflect", "wrap"}
METHODS = ("get_random_transform", "apply_transform", "random_transform", "standardize")
SEED = 1  # of the operation: flows with one seed draw equally, however many operations stand before it


class Unlowered(Exception):
    """Why pictures must be made one by one."""


class Lowered(NamedTuple):
    """A dataset of (image, index), and what is done to a batch of images behind it."""

    dataset: Dataset[Any]
    after: list[Callable[[Any], Any]]
    draws: bool = True  # whether the engine draws anything for a picture


class Affine(NamedTuple):
    """A function of pixels that the engine knows: channels in this order or reversed, times mul, plus add."""

    reverse: bool
    mul: Any
    add: Any


# --------------------------------------------------------------------------------------------- numbers as text


def _number(value: Any) -> str:
    return repr(float(value))


def _range(low: float, high: float) -> str:
    return f"{_number(min(low, high))},{_number(max(low, high))}"


def _shift(given: Any, name: str) -> str | None:
    """A whole number is text without a point, by which the engine tells it from a share or a number of pixels."""
    if np.ndim(given) == 1:
        values = [float(value) for value in given]
        if not 1 <= len(values) <= 16:
            raise Unlowered(f"{name} has {len(values)} values, the engine takes 16")
        return ",".join(map(_number, values * 2 if len(values) == 1 else values))
    if not given:
        return None
    if isinstance(given, (int, np.integer)):
        if given < 0:
            raise Unlowered(f"{name} is a negative number of pixels")
        return str(int(given))
    if given <= -1:
        raise Unlowered(f"{name} is below -1")
    return _number(abs(given))


def _geometry(generator: Any) -> dict[str, Any]:
    if generator.fill_mode not in MODES:
        raise Unlowered(f"fill_mode={generator.fill_mode!r} is SciPy's own")
    if generator.interpolation_order not in (0, 1, 3):
        raise Unlowered(f"interpolation_order={generator.interpolation_order}: the engine has 0, 1 and 3")
    made: dict[str, Any] = {"seed": SEED, "flavour": generator.compat, "fill": generator.fill_mode,
                            "cval": _number(generator.cval), "order": str(generator.interpolation_order)}
    if generator.rotation_range:
        made["rotation"] = _range(-generator.rotation_range, generator.rotation_range)
    if generator.shear_range:
        made["shear"] = _range(-generator.shear_range, generator.shear_range)
    made["height_shift"] = _shift(generator.height_shift_range, "height_shift_range")
    made["width_shift"] = _shift(generator.width_shift_range, "width_shift_range")
    made["zoom"] = _range(*generator.zoom_range)
    if generator.channel_shift_range:
        made["channel_shift"] = _range(-generator.channel_shift_range, generator.channel_shift_range)
    if generator.brightness_range is not None:
        if min(generator.brightness_range) < 0:
            raise Unlowered("brightness_range goes below 0")
        made["brightness"] = _range(*generator.brightness_range)
    made["horizontal_flip"], made["vertical_flip"] = bool(generator.horizontal_flip), bool(generator.vertical_flip)
    return {name: value for name, value in made.items() if value is not None}


def _draws(generator: Any) -> bool:
    ranges = (generator.rotation_range, generator.shear_range, generator.height_shift_range, generator.width_shift_range,
              generator.channel_shift_range, generator.horizontal_flip, generator.vertical_flip)
    return (any(np.size(each) != 1 or bool(each) for each in ranges) or tuple(generator.zoom_range) != (1, 1)
            or generator.brightness_range is not None)


# ------------------------------------------------------------------------------------------- standardisation


def _per_channel(value: Any, channels: int, generator: Any) -> str | None:
    """Numbers for the engine, None if a mean or a deviation is not one number for each channel."""
    shape = np.shape(value)
    axes = (channels, 1, 1) if generator.data_format == "channels_first" else (channels,)
    wanted = (1,) * (3 - len(axes)) + axes
    if np.size(value) == 1 or (len(shape) <= 3 and (1,) * (3 - len(shape)) + shape == wanted):
        return ",".join(_number(x) for x in np.ravel(value))
    return None


def _not_fitted(what: str) -> None:
    warnings.warn(f"This ImageDataGenerator specifies `{what}`, but it hasn't been fit on any training data. Fit it "
                  "first by calling `.fit(numpy_data)`.", UserWarning, stacklevel=outside())


def _standards(generator: Any, channels: int, reverse: bool) -> tuple[dict[str, Any], list[Callable[[Any], Any]]]:
    """Arguments for the engine, and functions of a batch for what it cannot do."""
    made: dict[str, Any] = {}
    after: list[Callable[[Any], Any]] = []
    if generator.rescale:
        made["rescale"] = float(generator.rescale)
    if generator.samplewise_center:
        made["samplewise_center"] = True
    if generator.samplewise_std_normalization:
        made["samplewise_std"] = True
    mean, std = generator.mean, generator.std
    if generator.featurewise_center and mean is None:
        _not_fitted("featurewise_center")
    if generator.featurewise_std_normalization and std is None:
        _not_fitted("featurewise_std_normalization")
    mean = mean if generator.featurewise_center else None
    std = std if generator.featurewise_std_normalization else None
    texts = [None if value is None else _per_channel(value, channels, generator) for value in (mean, std)]
    whole = all((value is None) == (text is None) for value, text in zip((mean, std), texts))
    if reverse:
        after.append(lambda x: np.ascontiguousarray(x[..., ::-1]))
    if whole and not reverse and channels <= 4:
        made.update({name: text for name, text in zip(("mean", "std"), texts) if text is not None})
    else:
        if mean is not None:
            after.append(lambda x: np.subtract(x, mean, dtype="float32"))
        if std is not None:
            after.append(lambda x: np.divide(x, std + 1e-6, dtype="float32"))
    if generator.zca_whitening:
        if generator.zca_whitening_matrix is None:
            _not_fitted("zca_whitening")
        else:
            after.append(generator._whiten)
    return made, after


def known_function(function: Any) -> Affine | None:
    """preprocess_input of keras.applications, as the engine can do it: it is asked what it makes of some pixels."""
    module = getattr(function, "__module__", None) or ""
    if getattr(function, "__name__", "") != "preprocess_input" or ".applications." not in f"{module}.":
        return None
    picture = np.random.default_rng(0).uniform(0, 255, (8, 8, 3)).astype("float32")
    try:
        zero, one, red, made = (np.asarray(function(x), "float64")[0, 0] if x.size == 3 else np.asarray(function(x))
                                for x in (np.zeros((1, 1, 3), "float32"), np.full((1, 1, 3), 255, "float32"),
                                          np.array([[[255, 0, 0]]], "float32"), picture.copy()))
    except Exception:
        return None
    mul, reverse = (one - zero) / 255, bool(red[2] != zero[2])
    pixels = picture[..., ::-1] if reverse else picture
    if made.shape != picture.shape or not np.allclose(pixels * mul + zero, made, rtol=1e-5, atol=1e-5):
        return None
    return Affine(reverse, mul, zero)


def _with_function(dataset: Dataset[Any], generator: Any, shape: tuple[int, int, int]) -> Dataset[Any]:
    """A function of the user's on each picture, with the interpreter's lock."""
    function, first = generator.preprocessing_function, generator.data_format == "channels_first"
    name = getattr(function, "__qualname__", type(function).__name__)
    tell(f"preprocessing_function {name}: Python runs it on one picture at a time, while the engine makes the rest; an operation of "
         "leat, or a layer of the model, would be faster", function)

    def call(image: Any) -> Any:
        x = image.transpose(2, 0, 1) if first else image
        made = np.asarray(function(x), "float32")
        made = np.broadcast_to(made, x.shape)
        return np.ascontiguousarray(made.transpose(1, 2, 0) if first else made)

    return dataset.map(call, image=("f32", shape))


def changed_methods(generator: Any, base: type) -> str | None:
    """The method of a generator that is not leat's own."""
    if not isinstance(generator, base):
        return f"{type(generator).__module__}.{type(generator).__name__}"
    for name in METHODS:
        if getattr(type(generator), name) is not getattr(base, name) or name in vars(generator):
            return f"{type(generator).__name__}.{name}"
    return None


def lower(dataset: Dataset[Any], generator: Any, shape: tuple[int, int, int], standards: bool = True) -> Lowered:
    """What a generator does to pictures (height, width, channels) of a dataset; without standards, the moves alone."""
    geometry = _geometry(generator)
    if not standards:
        return Lowered(dataset.image_data_generator(**geometry), [])
    function = generator.preprocessing_function
    usual = shape[2] == 3 and generator.data_format == "channels_last"
    known = known_function(function) if function and usual else None
    numbers, after = _standards(generator, shape[2], known.reverse if known else False)
    if not function:
        return Lowered(dataset.image_data_generator(**geometry, **numbers), after, _draws(generator))
    dataset = dataset.image_data_generator(**geometry)
    if known is None:
        dataset = _with_function(dataset, generator, shape)
    elif not (np.all(known.mul == 1) and not np.any(known.add)):
        mul, add = (values[::-1] if known.reverse else values for values in (known.mul, known.add))
        dataset = dataset.normalize(mean=tuple(float(x) for x in -add / mul), std=tuple(float(x) for x in 1 / mul))
    return Lowered(dataset.image_data_generator(**numbers) if numbers else dataset, after, _draws(generator))
