# SPDX-License-Identifier: Apache-2.0
"""flow_from_directory() and flow_from_dataframe(): batches of pictures in files."""
from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from .._base.errors import DecodeError, FormatError, UnsupportedError
from .._base.notices import tell
from .._data.dataset import Dataset
from .._sources.files import from_files
from .iterator import EngineIterator
from .needs import np
from .pictures import METHODS, img_to_array, load, setting

CHANNELS = {"rgb": 3, "rgba": 4, "grayscale": 1}
DECODED = (".png", ".jpg", ".jpeg", ".bmp")  # by the engine; Pillow reads the others
LOOKED_AT = 256  # files of a set that are looked at for what only Pillow reads as Keras does


def say(message: str) -> None:
    """As Keras prints it, if it is there: its settings decide where the line goes."""
    try:
        import sys

        sys.modules["keras.src.utils.io_utils"].print_msg(message)
    except (KeyError, AttributeError):
        print(message, flush=True)


def valid_files(folder: str, formats: tuple[str, ...], follow_links: bool) -> Iterator[tuple[str, str]]:
    """(folder, name) of the pictures below a folder; folders by path, names sorted."""
    for root, _, names in sorted(os.walk(folder, followlinks=follow_links), key=lambda found: found[0]):
        for name in sorted(names):
            if name.lower().endswith(".tiff"):
                warnings.warn('Using ".tiff" files with multiple bands will cause distortion. Please verify your '
                              "output.", stacklevel=2)
            if name.lower().endswith(formats):
                yield root, name


def deep_gray(path: str) -> bool:
    """A PNG of gray values of 16 bits, which Pillow keeps, or cuts when it makes colours of them."""
    try:
        file = os.open(path, os.O_RDONLY)  # a file object would take three times as long, for hundreds of files
        try:
            head = os.read(file, 26)
        finally:
            os.close(file)
    except OSError:
        return False
    return head[:4] == b"\x89PNG" and len(head) == 26 and head[24] == 16 and head[25] == 0


class FileIterator(EngineIterator):
    """What the iterators over files share: sizes, colours, and batches of pictures with their labels."""

    filenames: list[str]
    class_mode: str | None
    classes: Any
    class_indices: dict[str, int]
    _filepaths: list[str]
    _by_pillow: bool | None = None  # decided when the first batch is wanted

    def set_processing_attrs(self, image_data_generator: Any, target_size: Iterable[int], color_mode: str,
                             data_format: str, save_to_dir: Any, save_prefix: str, save_format: str,
                             subset: str | None, interpolation: str, keep_aspect_ratio: bool) -> None:
        """Sets what is needed to make a batch of files; the parameters are those of flow_from_directory."""
        self.image_data_generator = image_data_generator
        self.target_size = tuple(target_size)
        self.keep_aspect_ratio = keep_aspect_ratio
        if color_mode not in CHANNELS:
            raise ValueError(f'Invalid color mode: {color_mode}; expected "rgb", "rgba", or "grayscale".')
        self.color_mode, self.data_format = color_mode, data_format
        channels = (CHANNELS[color_mode],)
        last = data_format == "channels_last"
        self.image_shape = self.target_size + channels if last else channels + self.target_size
        self.save_to_dir, self.save_prefix, self.save_format = save_to_dir, save_prefix, save_format
        self.interpolation = interpolation
        self.split: tuple[float, float] | None = None
        if subset is not None:
            if subset not in ("training", "validation"):
                raise ValueError(f'Invalid subset name: {subset}; expected "training" or "validation"')
            share = image_data_generator._validation_split
            self.split = (0, share) if subset == "validation" else (share, 1)
        self.subset = subset

    @property
    def filepaths(self) -> list[str]:
        """Paths of all files."""
        return self._filepaths

    @property
    def labels(self) -> Any:
        """What belongs to each file: class numbers, or the values of the columns."""
        return self.classes

    @property
    def sample_weight(self) -> Any:
        """A weight for each file, or None."""
        return None

    # ------------------------------------------------------------------------------------- for the engine

    def _picture_shape(self) -> tuple[int, int, int]:
        height, width = self.target_size
        return height, width, CHANNELS[self.color_mode]

    def _needs_pillow(self) -> bool:
        paths = self.filepaths
        other = next((path for path in paths if not path.lower().endswith(DECODED)), None)
        step = max(1, len(paths) // LOOKED_AT)
        some = (path for path in paths[::step] if path.lower().endswith(".png"))
        other = other or next((path for path in some if deep_gray(path)), None)
        reason = f"{other}: Pillow reads this kind of file" if other else ""
        if self.keep_aspect_ratio:
            reason = "keep_aspect_ratio=True: Pillow reads the files"
        if self.color_mode == "rgba" and self.interpolation != "nearest":
            reason = f"color_mode='rgba' with interpolation={self.interpolation!r}: Pillow reads the files"
        if reason:
            tell(f"{reason}, one at a time in Python; the engine reads PNG with 8 bits, JPEG and BMP")
        return bool(reason) or self.interpolation not in METHODS

    def _source(self, rows: Any) -> Dataset[Any]:
        if self._by_pillow is None:
            self._by_pillow = self._needs_pillow()
        paths = self.filepaths if rows is None else [self.filepaths[i] for i in rows]
        numbers = np.arange(self.n) if rows is None else np.asarray(rows, "int64")
        files = self._shuffled(from_files(paths, {"index": numbers}, decode=False), rows)
        height, width, channels = self._picture_shape()
        if self._by_pillow:
            settings = self.color_mode, (height, width), self.interpolation, self.keep_aspect_ratio

            def read(image: bytes) -> Any:
                return np.ascontiguousarray(img_to_array(load(image, *settings), "channels_last", "float32"))

            return files.map(read, image=("f32", (height, width, channels)))
        method: Any = self.interpolation
        made = files.decode(channels=4 if channels == 4 else 3)
        if channels == 1:
            made = made.rgb_to_grayscale(flavour="pil")
        return made.resize(height, width, method=method, flavour="pil")

    def _change_reader(self, error: Exception) -> None:
        """A file that the engine cannot decode is given to Pillow, and with it all others from there on: it reads
        more, and otherwise it says in Keras's words what is wrong."""
        if self._by_pillow or not isinstance(error, (DecodeError, FormatError, UnsupportedError)):
            super()._change_reader(error)
        tell(f"{error}: Pillow reads the files from here on")
        self._by_pillow = True
        epoch = self._epoch
        self._close()
        self._epoch = epoch

    def _picture(self, number: int) -> Any:
        height, width = self.target_size
        image = load(self.filepaths[number], self.color_mode, (height, width), self.interpolation,
                     self.keep_aspect_ratio)
        return np.array(img_to_array(image, self.data_format))

    # ----------------------------------------------------------------------------------------- batches

    _most_chance = 10000000

    def _arrange(self, x: Any, numbers: Any) -> Any:
        if self.class_mode is None:
            return x
        y = x.copy() if self.class_mode == "input" else self._targets_of(numbers)
        return (x, y) if self.sample_weight is None else (x, y, self.sample_weight[numbers])

    def _targets_of(self, numbers: Any) -> Any:
        if self.class_mode == "multi_output":
            return [output[numbers] for output in self.labels]
        if self.class_mode == "raw":
            return self.labels[numbers]
        classes = [self.classes[number] for number in numbers]
        if self.class_mode in ("binary", "sparse"):
            return np.array(classes, self.dtype)
        made = np.zeros((len(numbers), len(self.class_indices)), self.dtype)
        for row, found in zip(made, classes):
            row[found] = 1
        return made


class DirectoryIterator(FileIterator):
    """Augmented batches of pictures in a folder with a sub-folder for each class; flow_from_directory makes one.

    directory: the folder; image_data_generator: what to do, or None; the other parameters are those of
    flow_from_directory
    """

    allowed_class_modes = {"categorical", "binary", "sparse", "input", None}

    def __init__(self, directory: Any, image_data_generator: Any, target_size: tuple[int, int] = (256, 256),
                 color_mode: str = "rgb", classes: Any = None, class_mode: str | None = "categorical",
                 batch_size: int = 32, shuffle: bool = True, seed: int | None = None, data_format: str | None = None,
                 save_to_dir: Any = None,
                 save_prefix: str = "", save_format: str = "png", follow_links: bool = False, subset: str | None = None,
                 interpolation: str = "nearest", keep_aspect_ratio: bool = False, dtype: Any = None) -> None:
        self.set_processing_attrs(image_data_generator, target_size, color_mode,
                                  data_format or setting("image_data_format", "channels_last"), save_to_dir,
                                  save_prefix, save_format, subset, interpolation, keep_aspect_ratio)
        self.directory = directory
        if class_mode not in self.allowed_class_modes:
            raise ValueError(f"Invalid class_mode: {class_mode}; expected one of: {self.allowed_class_modes}")
        self.class_mode, self.dtype = class_mode, dtype or setting("floatx", "float32")
        names = list(classes) if classes else [name for name in sorted(os.listdir(directory))
                                               if os.path.isdir(os.path.join(directory, name))]
        self.num_classes = len(names)
        self.class_indices = {name: i for i, name in enumerate(names)}
        self.filenames, numbers = [], []
        for name in names:
            found = self._files_of(os.path.join(directory, name), follow_links)
            self.filenames += found
            numbers += [self.class_indices[name]] * len(found)
        self.samples = len(self.filenames)
        self.classes = np.array(numbers, "int32")
        say(f"Found {self.samples} images belonging to {self.num_classes} classes.")
        self._filepaths = [os.path.join(directory, name) for name in self.filenames]
        super().__init__(self.samples, batch_size, shuffle, seed)

    def _files_of(self, folder: str, follow_links: bool) -> list[str]:
        """Of one class, as paths that begin with the folder's own name; of a subset, this share of them."""
        found = list(valid_files(folder, self.white_list_formats, follow_links))
        if self.split:
            found = found[int(self.split[0] * len(found)):int(self.split[1] * len(found))]
        name = os.path.basename(folder)
        below = {root: os.path.relpath(root, folder) for root in {root for root, _ in found}}
        return [os.path.join(name, file) if below[root] == "." else os.path.join(name, below[root], file) for root, file in found]


class DataFrameIterator(FileIterator):
    """Augmented batches of pictures that a pandas DataFrame lists; flow_from_dataframe makes one.

    dataframe: the table; directory: in front of its paths, or None; image_data_generator: what to do, or None; the
    other parameters are those of flow_from_dataframe
    """

    allowed_class_modes = {"binary", "categorical", "input", "multi_output", "raw", "sparse", None}

    def __init__(self, dataframe: Any, directory: Any = None, image_data_generator: Any = None, x_col: str = "filename",
                 y_col: Any = "class", weight_col: str | None = None, target_size: tuple[int, int] = (256, 256),
                 color_mode: str = "rgb", classes: Any = None, class_mode: str | None = "categorical",
                 batch_size: int = 32, shuffle: bool = True, seed: int | None = None,
                 data_format: str = "channels_last", save_to_dir: Any = None, save_prefix: str = "",
                 save_format: str = "png", subset: str | None = None, interpolation: str = "nearest",
                 keep_aspect_ratio: bool = False, dtype: Any = "float32", validate_filenames: bool = True) -> None:
        self.set_processing_attrs(image_data_generator, target_size, color_mode, data_format, save_to_dir, save_prefix,
                                  save_format, subset, interpolation, keep_aspect_ratio)
        frame = dataframe.copy()
        self.directory = directory or ""
        self.class_mode, self.dtype = class_mode, dtype
        self._check_params(frame, x_col, y_col, weight_col, classes)
        if validate_filenames:
            frame = self._filter_valid_filepaths(frame, x_col)
        by_class = class_mode in ("binary", "categorical", "sparse")
        if by_class:
            frame, classes = self._filter_classes(frame, y_col, classes)
            self.class_indices = {name: i for i, name in enumerate(classes)}
        if self.split:
            n = len(frame)
            frame = frame.iloc[int(self.split[0] * n):int(self.split[1] * n), :]
        if by_class:
            self.classes = self.get_classes(frame, y_col)
        self.filenames = frame[x_col].tolist()
        self._sample_weight = frame[weight_col].values if weight_col else None
        if class_mode == "multi_output":
            self._targets: Any = [np.array(frame[column].tolist()) for column in y_col]
        if class_mode == "raw":
            self._targets = frame[y_col].values
        self.samples = len(self.filenames)
        checked = "validated" if validate_filenames else "non-validated"
        ending = f" belonging to {len(classes)} classes." if by_class else "."
        say(f"Found {self.samples} {checked} image filenames{ending}")
        self._filepaths = [os.path.join(self.directory, name) for name in self.filenames]
        super().__init__(self.samples, batch_size, shuffle, seed)

    def _check_params(self, df: Any, x_col: str, y_col: Any, weight_col: str | None, classes: Any) -> None:
        mode = self.class_mode
        if mode not in self.allowed_class_modes:
            raise ValueError(f"Invalid class_mode: {mode}; expected one of: {self.allowed_class_modes}")
        if mode == "multi_output" and not isinstance(y_col, list):
            raise TypeError(f'If class_mode="{mode}", y_col must be a list. Received {type(y_col).__name__}.')
        if not all(isinstance(value, str) for value in df[x_col]):
            raise TypeError(f"All values in column x_col={x_col} must be strings.")
        if mode in ("binary", "sparse") and not all(isinstance(value, str) for value in df[y_col]):
            raise TypeError(f'If class_mode="{mode}", y_col="{y_col}" column values must be strings.')
        if mode == "binary":
            n = len(set(classes)) if classes else df[y_col].nunique()
            if n != 2:
                raise ValueError(f'If class_mode="binary" there must be 2 classes. Found {n}.')
        if mode == "categorical" and not all(isinstance(value, (str, list, tuple)) for value in df[y_col]):
            raise TypeError(f'If class_mode="{mode}", y_col="{y_col}" column values must be type string, list or '
                            "tuple.")
        if classes and mode in ("input", "multi_output", "raw", None):
            warnings.warn(f'`classes` will be ignored given the class_mode="{mode}"', stacklevel=4)
        if weight_col and not issubclass(df[weight_col].dtype.type, np.number):
            raise TypeError(f"Column weight_col={weight_col} must be numeric.")

    def get_classes(self, df: Any, y_col: str) -> list[Any]:
        """The class number of each row, or a list of them."""
        found = self.class_indices
        return [[found[name] for name in label] if isinstance(label, (list, tuple)) else found[label]
                for label in df[y_col]]

    @staticmethod
    def _filter_classes(df: Any, y_col: str, classes: Any) -> tuple[Any, list[str]]:
        """Rows with one of the classes, and the classes in the order of their numbers."""
        df = df.copy()
        if not classes:
            found: set[str] = set()
            for value in df[y_col]:
                found.update(value if isinstance(value, (list, tuple)) else [value])
            return df.dropna(subset=[y_col]), sorted(found)
        names = list(dict.fromkeys(classes))

        def keep(labels: Any) -> Any:
            if isinstance(labels, (list, tuple)):
                return [name for name in labels if name in names] or None
            if isinstance(labels, str):
                return labels if labels in names else None
            raise TypeError(f"Expect string, list or tuple but found {type(labels)} in {y_col} column")

        df[y_col] = df[y_col].apply(keep)
        return df.dropna(subset=[y_col]), names

    def _filter_valid_filepaths(self, df: Any, x_col: str) -> Any:
        """Rows whose file is there and has the name of a picture."""
        good = [name.lower().endswith(self.white_list_formats) and os.path.isfile(os.path.join(self.directory, name))
                for name in df[x_col]]
        missing = len(good) - sum(good)
        if missing:
            warnings.warn(f'Found {missing} invalid image filename(s) in x_col="{x_col}". These filename(s) will be '
                          "ignored.", stacklevel=4)
        return df[np.array(good, bool)]

    @property
    def labels(self) -> Any:
        """What belongs to each file: class numbers, or the values of the columns."""
        return self._targets if self.class_mode in ("multi_output", "raw") else self.classes

    @property
    def sample_weight(self) -> Any:
        """A weight for each file, or None."""
        return self._sample_weight


