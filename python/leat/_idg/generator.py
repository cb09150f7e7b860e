# SPDX-License-Identifier: Apache-2.0
"""ImageDataGenerator: Keras's class, with batches made by the engine."""
from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from .array_iterator import NumpyArrayIterator
from .file_iterators import DataFrameIterator, DirectoryIterator
from .lowering import Unlowered, changed_methods, lower
from .needs import np
from .pictures import setting
from .transforms import COMPAT, draw_transform, transform


class ImageDataGenerator:
    """Batches of pictures with random changes, as Keras's class of the same name makes them, by leat's engine.

        generator = ImageDataGenerator(rotation_range=20, width_shift_range=0.2, height_shift_range=0.2, zoom_range=0.2,
                                       horizontal_flip=True, rescale=1 / 255)
        model.fit(generator.flow(x_train, y_train, batch_size=32), epochs=10)

    The parameters are Keras's. compat says whose geometry it is: "keras3", what Keras 2.9 and later do, where
    height_shift_range moves to the side; "keras28", what Keras did before; "fixed", where shifts go where their names
    say and pictures that are not square turn about their middle. docs/dropin-generator.md tells more.
    """

    def __init__(self, featurewise_center: bool = False, samplewise_center: bool = False,
                 featurewise_std_normalization: bool = False, samplewise_std_normalization: bool = False,
                 zca_whitening: bool = False, zca_epsilon: float = 1e-6, rotation_range: float = 0,
                 width_shift_range: Any = 0.0, height_shift_range: Any = 0.0, brightness_range: Any = None,
                 shear_range: float = 0.0, zoom_range: Any = 0.0, channel_shift_range: float = 0.0,
                 fill_mode: str = "nearest", cval: float = 0.0, horizontal_flip: bool = False,
                 vertical_flip: bool = False, rescale: float | None = None,
                 preprocessing_function: Callable[[Any], Any] | None = None, data_format: str | None = None,
                 validation_split: float = 0.0, interpolation_order: int = 1, dtype: Any = None, *,
                 compat: str = "keras3") -> None:
        self.featurewise_center, self.samplewise_center = featurewise_center, samplewise_center
        self.featurewise_std_normalization = featurewise_std_normalization
        self.samplewise_std_normalization = samplewise_std_normalization
        self.zca_whitening, self.zca_epsilon = zca_whitening, zca_epsilon
        self.rotation_range, self.shear_range = rotation_range, shear_range
        self.channel_shift_range = channel_shift_range
        self.width_shift_range, self.height_shift_range = width_shift_range, height_shift_range
        self.fill_mode, self.cval, self.interpolation_order = fill_mode, cval, interpolation_order
        self.horizontal_flip, self.vertical_flip = horizontal_flip, vertical_flip
        self.rescale, self.preprocessing_function = rescale, preprocessing_function
        self.dtype = dtype if dtype is not None else setting("floatx", "float32")
        self.data_format = data_format if data_format is not None else setting("image_data_format", "channels_last")
        if self.data_format not in ("channels_last", "channels_first"):
            raise ValueError('`data_format` should be `"channels_last"` (channel after row and column) or '
                             f'`"channels_first"` (channel before row and column). Received: {data_format}')
        first = self.data_format == "channels_first"
        self.channel_axis, self.row_axis, self.col_axis = (1, 2, 3) if first else (3, 1, 2)
        if validation_split and not 0 < validation_split < 1:
            raise ValueError(f"`validation_split` must be strictly between 0 and 1. Received: {validation_split}")
        self._validation_split = validation_split
        if compat not in COMPAT:
            raise ValueError(f"compat is one of {', '.join(COMPAT)}, not {compat!r}")
        self.compat = compat
        self.mean: Any = None
        self.std: Any = None
        self.zca_whitening_matrix: Any = None
        if isinstance(zoom_range, (float, int)):
            self.zoom_range = [1 - zoom_range, 1 + zoom_range]
        elif len(zoom_range) == 2 and all(isinstance(value, (float, int)) for value in zoom_range):
            self.zoom_range = [zoom_range[0], zoom_range[1]]
        else:
            raise ValueError(f"`zoom_range` should be a float or a tuple or list of two floats. Received: {zoom_range}")
        self._settle()
        pair = isinstance(brightness_range, (tuple, list)) and len(brightness_range) == 2
        if brightness_range is not None and not pair:
            raise ValueError("`brightness_range` should be a tuple or list of two floats. Received: "
                             f"{brightness_range}")
        self.brightness_range = brightness_range

    def _settle(self) -> None:
        """What one setting means for another, each with Keras's warning."""
        def told(setting_: str, other: str) -> None:
            warnings.warn(f"This ImageDataGenerator specifies `{setting_}`, which overrides setting of `{other}`.",
                          stacklevel=4)

        spread, centred = self.featurewise_std_normalization, self.featurewise_center
        if self.zca_whitening:
            if not centred:
                self.featurewise_center = True
                told("zca_whitening", "featurewise_center")
            if spread:
                self.featurewise_std_normalization = False
                told("zca_whitening", "featurewise_std_normalization")
        if spread and not centred:
            self.featurewise_center = True
            told("featurewise_std_normalization", "featurewise_center")
        if self.samplewise_std_normalization and not self.samplewise_center:
            self.samplewise_center = True
            told("samplewise_std_normalization", "samplewise_center")

    # ---------------------------------------------------------------------------------------------- flows

    def flow(self, x: Any, y: Any = None, batch_size: int = 32, shuffle: bool = True, sample_weight: Any = None,
             seed: int | None = None, save_to_dir: Any = None, save_prefix: str = "", save_format: str = "png",
             ignore_class_split: bool = False, subset: str | None = None) -> NumpyArrayIterator:
        """Batches of pictures in memory, without end: x, (x, y) or (x, y, weights).

            for images, labels in generator.flow(x_train, y_train, batch_size=32): ...

        x: an array with four axes, or (x, further inputs); y: labels; batch_size, shuffle: the order; sample_weight: a
        weight for each sample; seed: two flows with one seed go in step, as pictures and their masks need it;
        save_to_dir, save_prefix, save_format: write the pictures of each batch there; subset: "training" or
        "validation", by validation_split; ignore_class_split: both may have different classes
        """
        return NumpyArrayIterator(x, y, self, batch_size=batch_size, shuffle=shuffle, sample_weight=sample_weight,
                                  seed=seed, data_format=self.data_format, save_to_dir=save_to_dir,
                                  save_prefix=save_prefix, save_format=save_format,
                                  ignore_class_split=ignore_class_split, subset=subset, dtype=self.dtype)

    def flow_from_directory(self, directory: Any, target_size: tuple[int, int] = (256, 256), color_mode: str = "rgb",
                            classes: Any = None, class_mode: str | None = "categorical", batch_size: int = 32,
                            shuffle: bool = True, seed: int | None = None, save_to_dir: Any = None,
                            save_prefix: str = "",
                            save_format: str = "png", follow_links: bool = False, subset: str | None = None,
                            interpolation: str = "nearest", keep_aspect_ratio: bool = False) -> DirectoryIterator:
        """Batches of pictures in a folder with a sub-folder for each class, without end.

            train = generator.flow_from_directory("photos/train", target_size=(150, 150), class_mode="binary")

        directory: the folder; target_size: (height, width); color_mode: "rgb", "rgba" or "grayscale"; classes: names of
        sub-folders in the order of their numbers; class_mode: "categorical", "binary", "sparse", "input" or None;
        batch_size, shuffle, seed, save_to_dir, save_prefix, save_format, subset: as of flow; follow_links: enter
        folders that are links; interpolation: Pillow's; keep_aspect_ratio: cut to the shape of the result first
        """
        return DirectoryIterator(directory, self, target_size=target_size, color_mode=color_mode, classes=classes,
                                 class_mode=class_mode, batch_size=batch_size, shuffle=shuffle, seed=seed,
                                 data_format=self.data_format, save_to_dir=save_to_dir, save_prefix=save_prefix,
                                 save_format=save_format, follow_links=follow_links, subset=subset,
                                 interpolation=interpolation, keep_aspect_ratio=keep_aspect_ratio, dtype=self.dtype)

    def flow_from_dataframe(self, dataframe: Any, directory: Any = None, x_col: str = "filename", y_col: Any = "class",
                            weight_col: str | None = None, target_size: tuple[int, int] = (256, 256),
                            color_mode: str = "rgb", classes: Any = None, class_mode: str | None = "categorical",
                            batch_size: int = 32, shuffle: bool = True, seed: int | None = None,
                            save_to_dir: Any = None,
                            save_prefix: str = "", save_format: str = "png", subset: str | None = None,
                            interpolation: str = "nearest", validate_filenames: bool = True,
                            **kwargs: Any) -> DataFrameIterator:
        """Batches of pictures that a pandas DataFrame lists, without end.

            train = generator.flow_from_dataframe(frame, "photos", x_col="id", y_col="label")

        dataframe: the table; directory: in front of the paths; x_col, y_col, weight_col: columns of paths, labels and
        weights; class_mode: as of flow_from_directory, and "raw" or "multi_output"; validate_filenames: leave out files
        that are missing; the other parameters are those of flow_from_directory
        """
        old = {"has_ext": "filenames in the dataframe have to match the exact filenames in disk.",
               "sort": "batches will be created in the same order than the filenames provided if `shuffle` is set to "
                       "`False`.",
               "drop_duplicates": "you can drop duplicates by using the pandas.DataFrame.drop_duplicates method."}
        for name, instead in old.items():
            if name in kwargs:
                warnings.warn(f"{name} is deprecated, {instead}", DeprecationWarning, stacklevel=2)
        if class_mode == "other":
            warnings.warn('`class_mode="other"` is deprecated, please use `class_mode="raw"`.', DeprecationWarning,
                          stacklevel=2)
            class_mode = "raw"
        return DataFrameIterator(dataframe, directory, self, x_col=x_col, y_col=y_col, weight_col=weight_col,
                                 target_size=target_size, color_mode=color_mode, classes=classes, class_mode=class_mode,
                                 batch_size=batch_size, shuffle=shuffle, seed=seed, data_format=self.data_format,
                                 save_to_dir=save_to_dir, save_prefix=save_prefix, save_format=save_format,
                                 subset=subset,
                                 interpolation=interpolation, dtype=self.dtype, validate_filenames=validate_filenames)

    # ---------------------------------------------------------------------------------------- single pictures

    def get_random_transform(self, img_shape: Any, seed: int | None = None) -> dict[str, Any]:
        """The numbers for one picture, drawn from NumPy's generator: theta, tx, ty, shear, zx, zy, flip_horizontal,
        flip_vertical, channel_shift_intensity, brightness.

        img_shape: of the picture; seed: seeds NumPy's generator first
        """
        if seed is not None:
            np.random.seed(seed)
        return draw_transform(self, img_shape[self.row_axis - 1], img_shape[self.col_axis - 1])

    def apply_transform(self, x: Any, transform_parameters: Mapping[str, Any]) -> Any:
        """One picture, changed by the numbers of get_random_transform.

        x: an array with three axes; transform_parameters: a dict; numbers that it has not are those of no change
        """
        return transform(self, x, transform_parameters)

    def random_transform(self, x: Any, seed: int | None = None) -> Any:
        """One picture, changed at random.

        x: an array with three axes; seed: seeds NumPy's generator first
        """
        return self.apply_transform(x, self.get_random_transform(x.shape, seed))

    def standardize(self, x: Any) -> Any:
        """A picture or a batch after preprocessing_function, rescale, samplewise and featurewise numbers and ZCA. It is
        changed in place.

        x: an array of floats
        """
        if self.preprocessing_function:
            x = self.preprocessing_function(x)
        if self.rescale:
            x *= self.rescale
        if self.samplewise_center:
            x -= np.mean(x, keepdims=True)
        if self.samplewise_std_normalization:
            x /= np.std(x, keepdims=True) + 1e-6
        for wanted, value, name in ((self.featurewise_center, self.mean, "featurewise_center"),
                                    (self.featurewise_std_normalization, self.std, "featurewise_std_normalization"),
                                    (self.zca_whitening, self.zca_whitening_matrix, "zca_whitening")):
            if not wanted:
                continue
            if value is None:
                warnings.warn(f"This ImageDataGenerator specifies `{name}`, but it hasn't been fit on any training "
                              "data. Fit it first by calling `.fit(numpy_data)`.", stacklevel=2)
            elif name == "featurewise_center":
                x -= value
            elif name == "featurewise_std_normalization":
                x /= value + 1e-6
            else:
                x = self._whiten(x)
        return x

    def _whiten(self, x: Any) -> Any:
        return np.reshape(x.reshape(-1, math.prod(x.shape[-3:])) @ self.zca_whitening_matrix, x.shape)

    # ------------------------------------------------------------------------------------------------- fit

    def fit(self, x: Any, augment: bool = False, rounds: int = 1, seed: int | None = None) -> None:
        """Finds the numbers of featurewise_center, featurewise_std_normalization and zca_whitening.

            generator.fit(x_train)

        x: an array with four axes; augment: look at changed pictures, `rounds` of each; seed: of these changes
        """
        x = np.asarray(x, self.dtype)
        if x.ndim != 4:
            raise ValueError(f"Input to `.fit()` should have rank 4. Got array with shape: {x.shape}")
        channels = x.shape[self.channel_axis]
        if channels not in (1, 3, 4):
            warnings.warn(f'Expected input to be images (as Numpy array) following the data format convention '
                          f'"{self.data_format}" (channels on axis {self.channel_axis}), i.e. expected either 1, 3 or '
                          f"4 channels on axis {self.channel_axis}. However, it was passed an array with shape "
                          f"{x.shape} ({channels} channels).", stacklevel=2)
        if seed is not None:
            np.random.seed(seed)
        x = np.copy(x)
        if self.rescale:
            x *= self.rescale
        if augment:
            x = self._augmented(x, rounds)
        axes = (0, self.row_axis, self.col_axis)
        shape = [1, 1, 1]
        shape[self.channel_axis - 1] = channels
        if self.featurewise_center:
            self.mean = np.reshape(np.mean(x, axis=axes), shape)
            x -= self.mean
        if self.featurewise_std_normalization:
            self.std = np.reshape(np.std(x, axis=axes), shape)
            x /= self.std + 1e-6
        if self.zca_whitening:
            n = len(x)
            u, s, _ = np.linalg.svd(np.reshape(x, (n, -1)).T, full_matrices=False)
            self.zca_whitening_matrix = (u * (np.sqrt(n) / (s + self.zca_epsilon))).dot(u.T)

    def _augmented(self, x: Any, rounds: int) -> Any:
        """`rounds` changed versions of each picture: by the engine, or in Python if it cannot."""
        from .._base.errors import Error
        from .._sources.sources import from_arrays

        made = np.zeros((rounds * len(x), *x.shape[1:]), self.dtype)
        try:
            if changed_methods(self, ImageDataGenerator) or x.dtype != np.float32:
                raise Unlowered
            first = self.data_format == "channels_first"
            shape = tuple(x.shape[axis] for axis in (self.row_axis, self.col_axis, self.channel_axis))
            dataset = from_arrays({"image": x}, layout="nchw" if first else "nhwc")
            dataset = lower(dataset, self, (shape[0], shape[1], shape[2]), standards=False).dataset
            dataset = dataset.options(layout="nchw") if first else dataset
            dataset = dataset.options(seed=int(np.random.randint(1 << 31))).batch(64)
            for i in range(rounds):
                at = i * len(x)
                for batch in dataset:
                    made[at:at + len(batch)] = batch
                    at += len(batch)
            dataset.close()
        except (Unlowered, Error):
            for i in range(len(made)):
                made[i] = self.random_transform(x[i % len(x)])
        return made
