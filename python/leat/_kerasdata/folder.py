# SPDX-License-Identifier: Apache-2.0
"""image_dataset_from_directory: Keras's function, with the pictures read, decoded and resized by the engine.

Files, labels, parts, messages and errors are Keras's; so are pixels, with TensorFlow's fast inverse transform. What the engine
does not do goes to Keras's own function: remote paths, format="grain", labels that are not whole numbers, and files that
TensorFlow refuses to decode with the wanted number of channels.
"""
from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from .._base.arrays import optional
from .._sources.files import from_files
from .._tfdata.chain import Built, Chain
from .listing import FORMATS, Files, announce, extensions, is_remote, list_files

CHANNELS = {"rgb": 3, "rgba": 4, "grayscale": 1}
METHODS = ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic")
CROP_METHODS = METHODS[:6]  # of keras.ops.image.resize, which crops
# Which files TensorFlow's decoder refuses for a number of channels.
NOT_DECODED = {1: {"gif", "bmp"}, 3: set(), 4: {"jpg", "gif"}}


@dataclass(frozen=True)
class Pictures:
    """What becomes of a file: the arguments about pixels and labels."""

    channels: int
    size: tuple[int, int]
    method: str
    crop: bool
    pad: bool
    label_mode: str | None
    channels_first: bool

    def chain(self, files: Files) -> Chain:
        """Single samples, in the order of the files."""
        labels: Any = None if self.label_mode is None else files.labels
        if self.label_mode == "binary":
            labels = labels.astype("float32").reshape(-1, 1)
        classes = len(files.class_names or ())
        source = from_files(files.paths, labels, decode=False)
        source = source._with(origin=source._origin._replace(classes=tuple(files.class_names or ())))
        made = Chain(Built(source), "image" if labels is None else ("image", "label"), self._specs(classes),
                     cardinality=len(files.paths)).then("decode", channels=self.channels)
        if self.pad:
            made = made.then("resize_with_pad", *self.size, method=self.method)
        else:
            made = made.then("resize", *self.size, method=self.method, crop_to_aspect_ratio=self.crop)
        if self.label_mode == "int":
            made = made.then("cast", "label", "i32")
        if self.label_mode == "categorical":
            made = made.then("one_hot", "label", classes)
        layout = {"layout": "nchw"} if self.channels_first else {}
        return made.then("options", accuracy="fast", **layout)

    def _specs(self, classes: int) -> dict[str, Any]:
        """tf.TensorSpecs of a sample; none without TensorFlow, where nothing asks for them."""
        tf: Any = optional("tensorflow")
        if tf is None:
            return {}
        shape = (self.channels, *self.size) if self.channels_first else (*self.size, self.channels)
        found = {"image": tf.TensorSpec(shape, tf.uint8 if self.method == "nearest" else tf.float32)}
        if self.label_mode is not None:
            label = {"int": ((), tf.int32), "binary": ((1,), tf.float32)}.get(self.label_mode, ((classes,), tf.float32))
            found["label"] = tf.TensorSpec(*label)
        return found


def check(labels: Any, label_mode: Any, class_names: Any, color_mode: Any, image_size: Any, interpolation: str,
          format: Any, validation_split: Any, subset: Any, shuffle: Any, seed: Any) -> None:
    """The errors of arguments, in Keras's order."""
    if not (labels is None or isinstance(labels, (list, tuple)) or (isinstance(labels, str) and labels == "inferred")):
        raise ValueError("`labels` argument should be a list or tuple with a label for each file, \"inferred\" (the names "
                         f"of the sub-directories), or None. Received: labels={labels}")
    if isinstance(labels, (list, tuple)) and class_names:
        raise ValueError(f"You can only pass `class_names` if `labels=\"inferred\"`. Received: labels={labels}, and "
                         f"class_names={class_names}")
    if label_mode not in ("int", "categorical", "binary", None):
        raise ValueError("`label_mode` argument must be one of \"int\", \"categorical\", \"binary\", or None. Received: "
                         f"label_mode={label_mode}")
    if color_mode not in CHANNELS:
        raise ValueError("`color_mode` must be one of {\"rgb\", \"rgba\", \"grayscale\"}. Received: "
                         f"color_mode={color_mode}")
    if not isinstance(image_size, int) and not (isinstance(image_size, (list, tuple)) and len(image_size) == 2):
        raise ValueError(f"Invalid `image_size` value. Expected a tuple of 2 integers. Received: image_size={image_size}")
    if interpolation not in METHODS:
        raise ValueError(f"Argument `interpolation` should be one of {METHODS}. Received: interpolation={interpolation}")
    if format not in ("tf", "grain"):
        raise ValueError(f"`format` should be either \"tf\" or \"grain\". Received: format={format}")
    if validation_split and not 0 < validation_split < 1:
        raise ValueError(f"`validation_split` must be between 0 and 1, received: {validation_split}")
    if bool(validation_split) != bool(subset):
        raise ValueError("If `subset` is set, `validation_split` must be set, and inversely.")
    if subset not in ("training", "validation", "both", None):
        raise ValueError(f"`subset` must be either \"training\", \"validation\" or \"both\", received: {subset}")
    if validation_split and shuffle and seed is None:
        raise ValueError("If using `validation_split` and shuffling the data, you must provide a `seed` argument: without "
                         "it, the parts for training and validation would overlap.")


def _check_aspect_ratio(pictures: Pictures) -> None:
    if pictures.pad and pictures.crop:
        raise ValueError("Only one of `pad_to_aspect_ratio`, `crop_to_aspect_ratio` can be set to `True`.")
    if pictures.crop and pictures.method not in CROP_METHODS:
        raise ValueError("Invalid value for argument `interpolation`. With `crop_to_aspect_ratio` it is one of "
                         f"{CROP_METHODS}. Received: interpolation={pictures.method}")


def _not_ours(files: Files, labels: Any, label_mode: Any, pictures: Pictures, batch_size: Any) -> str:
    """Why Keras's own function has to do it, "" if it need not."""
    if isinstance(labels, (list, tuple)):
        if not all(type(label) is int and -1 << 31 <= label < 1 << 31 for label in labels):
            return "labels that are not whole numbers of 32 bits"
        if label_mode == "categorical" and not all(0 <= label < len(files.class_names or ()) for label in labels):
            return "labels beyond the number of classes"
    refused = NOT_DECODED[pictures.channels] & extensions(files.paths)
    if refused:
        return f"{', '.join(sorted(refused))} files with {pictures.channels} channels"
    if not all(isinstance(n, int) and 0 < n < 65536 for n in pictures.size):
        return f"an image_size of {pictures.size}"
    if batch_size is not None and not (isinstance(batch_size, int) and batch_size > 0):
        return f"a batch_size of {batch_size}"
    return ""


def _data_format(data_format: str | None) -> str:
    keras = optional("keras")
    found = str(data_format).lower() if data_format is not None else ""
    if not found:
        return keras.config.image_data_format() if keras is not None else "channels_last"
    if found not in ("channels_first", "channels_last"):
        raise ValueError("The `data_format` argument must be one of {'channels_first', 'channels_last'}. Received: "
                         f"data_format={data_format}")
    return found


def _keras_function() -> Callable[..., Any]:
    try:
        found: Callable[..., Any] = import_module("keras").utils.image_dataset_from_directory
    except ImportError as error:
        raise ImportError("image_dataset_from_directory needs Keras for this: pip install keras tensorflow") from error
    return found


def _quiet(function: Callable[[], Any]) -> Any:
    with contextlib.redirect_stdout(io.StringIO()):
        return function()


def image_dataset_from_directory(
        directory: Any, labels: Any = "inferred", label_mode: str | None = "int", class_names: Sequence[str] | None = None,
        color_mode: str = "rgb", batch_size: int | None = 32, image_size: Any = (256, 256), shuffle: bool = True,
        seed: int | None = None, validation_split: float | None = None, subset: str | None = None,
        interpolation: str = "bilinear", follow_links: bool = False, crop_to_aspect_ratio: bool = False,
        pad_to_aspect_ratio: bool = False, data_format: str | None = None, format: str = "tf", verbose: bool = True) -> Any:
    """keras.utils.image_dataset_from_directory, with the engine's speed: pictures of a folder, labelled by sub-directory.

        train, val = image_dataset_from_directory("photos", validation_split=0.2, subset="both", seed=1)
        model.fit(train, validation_data=val, epochs=10)

    Arguments, files, labels, parts, printed lines and errors are those of Keras, and pixels are those of TensorFlow. The
    result is a tf.data.Dataset with the attributes class_names and file_paths; without TensorFlow it is a leat.Dataset. An
    epoch is shuffled as a whole, not in a buffer of 8 batches. format="grain" and remote paths are Keras's own.

    directory: of the pictures. labels: "inferred", None or a list. label_mode: "int", "binary", "categorical" or None.
    class_names: sub-directories in the order of their labels. color_mode: "rgb", "rgba" or "grayscale". batch_size: None for
    single samples. image_size: (height, width). shuffle, seed: of the files. validation_split, subset: a fraction, and
    "training", "validation" or "both". interpolation: of tf.image.resize. follow_links: enter linked directories.
    crop_to_aspect_ratio, pad_to_aspect_ratio: instead of stretching. data_format: "channels_last" or "channels_first".
    format: "tf" or "grain". verbose: print how many files there are.
    """
    method = interpolation.lower()
    check(labels, label_mode, class_names, color_mode, image_size, method, format, validation_split, subset, shuffle, seed)
    given: dict[str, Any] = dict(
        directory=directory, labels=labels, label_mode=label_mode, class_names=class_names, color_mode=color_mode,
        batch_size=batch_size, image_size=image_size, shuffle=shuffle, seed=seed, validation_split=validation_split,
        subset=subset, interpolation=interpolation, follow_links=follow_links, crop_to_aspect_ratio=crop_to_aspect_ratio,
        pad_to_aspect_ratio=pad_to_aspect_ratio, data_format=data_format, format=format, verbose=verbose)
    if format == "grain" or is_remote(directory):
        return _keras_function()(**given)
    if labels is None or label_mode is None:
        labels = label_mode = None
    size = (image_size, image_size) if isinstance(image_size, int) else tuple(image_size)
    if seed is None:
        numpy: Any = optional("numpy")
        given["seed"] = seed = int(numpy.random.randint(1e6))
    files = list_files(directory, labels, class_names, follow_links)
    if label_mode == "binary" and len(files.class_names or ()) != 2:
        raise ValueError("When passing `label_mode=\"binary\"`, there must be exactly 2 class_names. Received: "
                         f"class_names={files.class_names}")
    pictures = Pictures(CHANNELS[color_mode], size, method, crop_to_aspect_ratio, pad_to_aspect_ratio, label_mode,
                        _data_format(data_format) == "channels_first")
    if _not_ours(files, labels, label_mode, pictures, batch_size):
        return _keras_function()(**given)
    if verbose:
        announce(files)
    if shuffle:
        files = files.shuffled(seed)
    parts = [files.part(validation_split, each) for each in (("training", "validation") if subset == "both" else (subset,))
             ] if validation_split and subset else [files]
    for part, word in zip(parts, ("training images", "validation images") if subset == "both" else ("images",)):
        if not part.paths:
            raise ValueError(f"No {word} found in directory {directory}. Allowed formats: {FORMATS}")
    _check_aspect_ratio(pictures)
    made = []
    for i, part in enumerate(parts):
        keras_own = partial(_part_of_keras, given, i if subset == "both" else None)
        made.append(_dataset(part, pictures, batch_size, seed if shuffle and i == 0 else None, keras_own))
    return made if subset == "both" else made[0]


def _part_of_keras(given: dict[str, Any], number: int | None) -> Any:
    """The data set of Keras's own function, for what TensorFlow does with it. It has the same files."""
    made = _quiet(lambda: _keras_function()(**{**given, "verbose": False}))
    return made if number is None else made[number]


def _dataset(files: Files, pictures: Pictures, batch_size: int | None, seed: int | None,
             keras_own: Callable[[], Any]) -> Any:
    """A tf.data.Dataset where TensorFlow is installed, else a leat.Dataset."""
    chain = pictures.chain(files)
    if seed is not None:
        chain = chain.then("shuffle", seed=seed)
    if batch_size is not None:
        chain = chain.then("batch", batch_size).with_(batched=True, batch_size=batch_size,
                                                      cardinality=-(-len(files.paths) // batch_size))
    if optional("tensorflow") is None:
        made: Any = chain.build()
    else:
        made = import_module("leat._tfdata.dataset").Dataset._over(chain, keras_own)
        made.class_names = files.class_names
    made.file_paths = files.paths
    return made
