# SPDX-License-Identifier: Apache-2.0
"""flow(): batches of pictures that are in memory."""
from __future__ import annotations

import warnings
from typing import Any

from .._data.dataset import Dataset
from .._sources.sources import from_arrays
from .iterator import EngineIterator
from .needs import np
from .pictures import setting

READ_AS_THEY_ARE = ("uint8", "float32")


class NumpyArrayIterator(EngineIterator):
    """Augmented batches of an array of pictures; ImageDataGenerator.flow makes one.

    x: an array with four axes, or (x, misc), where misc are further inputs; y: labels, or None; image_data_generator:
    what to do; the other parameters are those of flow
    """

    def __init__(self, x: Any, y: Any, image_data_generator: Any, batch_size: int = 32, shuffle: bool = False,
                 sample_weight: Any = None, seed: int | None = None, data_format: str | None = None,
                 save_to_dir: Any = None, save_prefix: str = "", save_format: str = "png", subset: str | None = None,
                 ignore_class_split: bool = False, dtype: Any = None) -> None:
        data_format = data_format or setting("image_data_format", "channels_last")
        self.dtype = dtype or setting("floatx", "float32")
        misc: list[Any] = []
        if isinstance(x, (tuple, list)):
            misc = [np.asarray(part) for part in (x[1] if isinstance(x[1], list) else [x[1]])]
            x = x[0]
            for part in misc:
                if len(x) != len(part):
                    raise ValueError("All of the arrays in `x` should have the same length. Found a pair with: "
                                     f"len(x[0]) = {len(x)}, len(x[?]) = {len(part)}")
        for name, values in (("`y` (labels)", y), ("`sample_weight`", sample_weight)):
            if values is not None and len(x) != len(values):
                raise ValueError(f"`x` (images tensor) and {name} should have the same length. Found: x.shape = "
                                 f"{np.asarray(x).shape}, and {np.asarray(values).shape}")
        if subset is not None:
            part = self._part(subset, len(x), y, image_data_generator, ignore_class_split)
            x, misc, y = x[part], [np.asarray(each[part]) for each in misc], None if y is None else y[part]
        pictures = np.asarray(x)
        if pictures.dtype.name not in READ_AS_THEY_ARE:
            pictures = np.asarray(pictures, self.dtype)
        if pictures.ndim != 4:
            raise ValueError("Input data in `NumpyArrayIterator` should have rank 4. You passed an array with shape "
                             f"{pictures.shape}")
        axis = 3 if data_format == "channels_last" else 1
        if pictures.shape[axis] not in (1, 3, 4):
            warnings.warn(f'NumpyArrayIterator is set to use the data format convention "{data_format}" (channels on '
                          f"axis {axis}), i.e. expected either 1, 3, or 4 channels on axis {axis}. However, it was "
                          f"passed an array with shape {pictures.shape} ({pictures.shape[axis]} channels).",
                          stacklevel=3)
        self._pictures, self.x_misc = pictures, misc
        self.y = None if y is None else np.asarray(y)
        self.sample_weight = None if sample_weight is None else np.asarray(sample_weight)
        self.image_data_generator, self.data_format = image_data_generator, data_format
        self.save_to_dir, self.save_prefix, self.save_format = save_to_dir, save_prefix, save_format
        super().__init__(len(pictures), batch_size, shuffle, seed)

    @staticmethod
    def _part(subset: str, n: int, y: Any, generator: Any, ignore_class_split: bool) -> slice:
        """The samples of a subset: validation is the first share."""
        if subset not in ("training", "validation"):
            raise ValueError(f'Invalid subset name: {subset}; expected "training" or "validation".')
        at = int(n * generator._validation_split)
        if y is not None and not ignore_class_split and not np.array_equal(np.unique(y[:at]), np.unique(y[at:])):
            raise ValueError("Training and validation subsets have different number of classes after the split. If "
                             "your numpy arrays are sorted by the label, you might want to shuffle them.")
        return slice(at) if subset == "validation" else slice(at, None)

    @property
    def x(self) -> Any:
        """The pictures in the iterator's type; bytes stay bytes for the engine, which needs a quarter of the memory."""
        return np.asarray(self._pictures, self.dtype)

    def _picture_shape(self) -> tuple[int, int, int]:
        _, a, b, c = self._pictures.shape
        return (b, c, a) if self.data_format == "channels_first" else (a, b, c)

    def _source(self, rows: Any) -> Dataset[Any]:
        pictures = self._pictures if rows is None else self._pictures[rows]
        if pictures.dtype.name not in READ_AS_THEY_ARE:
            pictures = pictures.astype("float32")
        numbers = np.arange(self.n) if rows is None else np.asarray(rows, "int64")
        layout = "nchw" if self.data_format == "channels_first" else "nhwc"
        return self._shuffled(from_arrays({"image": pictures, "index": numbers}, layout=layout), rows)

    def _picture(self, number: int) -> Any:
        return self._pictures[number].astype(self.dtype)

    _most_chance = 10000

    def _arrange(self, x: Any, numbers: Any) -> Any:
        inputs = [x, *(part[numbers] for part in self.x_misc)] if self.x_misc else x
        if self.y is None:
            return inputs
        if self.sample_weight is None:
            return inputs, self.y[numbers]
        return inputs, self.y[numbers], self.sample_weight[numbers]
