# SPDX-License-Identifier: Apache-2.0
"""Data sets that are arrays, and folders of pictures by class, as stores that load() can ask."""
from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from .._data.dataset import Dataset
from .._sources.files import from_files
from .._sources.sources import from_arrays
from .features import Feature, FeaturesDict
from .frameworks import keyed, names_in
from .info import DatasetInfo, SplitInfo, Splits
from .splits import Part

PICTURES = (".jpg", ".jpeg", ".png")
KEYS = ("image", "label")


class Store:
    """A data set whose samples are rows: of arrays, or of a list of files."""

    def __init__(self, name: str, folder: str, rows: Mapping[str, int], features: FeaturesDict) -> None:
        splits = Splits({split: SplitInfo(split, count, [count]) for split, count in rows.items()})
        self.info = DatasetInfo(name, features, splits, KEYS, data_dir=folder)

    @property
    def lengths(self) -> dict[str, list[int]]:
        return {name: split.shard_lengths for name, split in self.info.splits.items()}


class Arrays(Store):
    """Columns of each split, by name."""

    def __init__(self, name: str, folder: str, columns: Mapping[str, Mapping[str, Any]],
                 names: Mapping[str, list[str]]) -> None:
        first = next(iter(columns.values()))
        features = FeaturesDict()
        for key, array in first.items():
            if array.dtype.kind == "U":
                features[key] = Feature("text", "string")
            elif key.endswith("label"):
                known = names.get(key)
                count = len(known) if known else max(int(split[key].max()) + 1 for split in columns.values())
                features[key] = Feature("label", "int64", (), False, count, known)
            else:
                features[key] = Feature("image", array.dtype.name, array.shape[1:])
        rows = {split: len(next(iter(found.values()))) for split, found in columns.items()}
        super().__init__(name, folder, rows, features)
        self._columns = columns

    def _taken(self, parts: list[Part], keys: Any) -> dict[str, Any]:
        numpy: Any = import_module("numpy")
        wanted = names_in(keys) if keys is not None else set(self.info.features)
        found = {name: [self._columns[part.split][name][part.begin:part.end] for part in parts]
                 for name in self.info.features if name in wanted}
        return {name: each[0] if len(each) == 1 else numpy.concatenate(each) for name, each in found.items()}

    def dataset(self, parts: list[Part], keys: Any) -> Dataset:
        taken = {name: array.tolist() if array.dtype.kind == "U" else array
                 for name, array in self._taken(parts, keys).items()}
        names = {name: name for name in taken}
        return from_arrays(taken)._with(layout=names if keys is None else keyed(names, keys))

    def tensors(self, tf: Any, parts: list[Part], keys: Any, shuffle_files: bool) -> Any:
        taken = self._taken(parts, keys)
        return tf.data.Dataset.from_tensor_slices(taken if keys is None else keyed(taken, keys))


def _sorted_folders(folder: str) -> list[str]:
    return sorted(entry.name for entry in os.scandir(folder) if entry.is_dir() and not entry.name.startswith("."))


def _pictures(folder: str) -> list[str]:
    return sorted(entry.path for entry in os.scandir(folder) if entry.name.lower().endswith(PICTURES))


def _by_class(folder: str) -> list[tuple[str, str]]:
    """Files, and the folder that each lies in."""
    return [(path, label) for label in _sorted_folders(folder) for path in _pictures(os.path.join(folder, label))]


class Folders(Store):
    """Pictures in folders of classes, in a folder for each split: photos/train/cat/1.jpg."""

    def __init__(self, name: str, folder: str, files: Mapping[str, list[tuple[str, str]]]) -> None:
        classes = sorted({label for found in files.values() for _, label in found})
        super().__init__(name, folder, {split: len(found) for split, found in files.items()}, FeaturesDict({
            "image": Feature("image", "uint8", (None, None, 3)), "image/filename": Feature("text", "string"),
            "label": Feature("label", "int64", (), False, len(classes), classes)}))
        self._files = files

    @classmethod
    def find(cls, name: str, folder: str) -> Folders | None:
        """None if there are no pictures two or three levels below."""
        if not os.path.isdir(folder):
            return None
        found = {}
        for split in _sorted_folders(folder):
            place = os.path.join(folder, split)
            files = _by_class(place)
            if files:
                found[split] = files
        if not found:  # classes without splits
            files = _by_class(folder)
            found = {"train": files} if files else {}
        return cls(name, folder, found) if found else None

    def _taken(self, parts: list[Part]) -> tuple[list[str], list[int]]:
        number = {label: i for i, label in enumerate(self.info.features["label"].names)}
        chosen = [file for part in parts for file in self._files[part.split][part.begin:part.end]]
        return [path for path, _ in chosen], [number[label] for _, label in chosen]

    def dataset(self, parts: list[Part], keys: Any) -> Dataset:
        paths, labels = self._taken(parts)
        if keys is not None:
            return from_files(paths, labels)
        made = from_files(paths, labels, with_path=True)
        return made._with(layout={"image": "image", "image/filename": "path", "label": "label"})

    def tensors(self, tf: Any, parts: list[Part], keys: Any, shuffle_files: bool) -> Any:
        paths, labels = self._taken(parts)

        def read(path: Any, label: Any) -> Any:
            image = tf.io.decode_image(tf.io.read_file(path), channels=3, expand_animations=False)
            image.set_shape([None, None, 3])
            return (image, label) if keys is not None else {"image": image, "image/filename": path, "label": label}

        table = tf.data.Dataset.from_tensor_slices((tf.constant(paths), tf.constant(labels, tf.int64)))
        if shuffle_files and paths:
            table = table.shuffle(len(paths))
        return table.map(read, num_parallel_calls=tf.data.AUTOTUNE)
