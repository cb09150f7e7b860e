# SPDX-License-Identifier: Apache-2.0
"""Directories that TFDS has prepared: dataset_info.json, features.json and TFRecord shards.

The order of samples is that of tfds.load: 16 shards in turn, 16 samples of each, or one shard after the other if the
data set says so. Only a part of a split that lies in more than 16 shards comes shard by shard instead.
"""
from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from .._base.errors import FormatError, NotFoundError, UnsupportedError
from .._data.combine import choose_from_datasets, concatenate
from .._data.dataset import Dataset
from .._sources.sources import from_tfrecord
from .features import WHOLE, Feature, FeaturesDict, read_features
from .frameworks import keyed, names_in
from .info import DatasetInfo, SplitInfo, Splits
from .splits import Part, pieces

TEMPLATE = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"  # of the names of shards
TURNS = 16  # shards at a time, and samples of each
PARTS_MAX = 60  # data sets that one can be made of
CACHED_MAX = 250 << 20  # bytes of decoded samples that are kept


def _keys(message: Any) -> Any:
    """supervisedKeys of dataset_info.json as nested tuples and dicts of names."""
    if not message:
        return None
    if "tuple" in message:
        return tuple(_keys(item) for item in message["tuple"].get("items", []))
    if "dict" in message:
        return {name: _keys(item) for name, item in message["dict"].get("dict", {}).items()}
    if "featureKey" in message:
        return message["featureKey"]
    if "input" in message:  # as older versions wrote it
        return (message["input"], message["output"])
    raise KeyError("supervisedKeys")


class Prepared:
    """One version of a data set in a directory."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        path = os.path.join(folder, "dataset_info.json")
        try:
            with open(path, encoding="utf-8") as file:
                about = json.load(file)
            self._templates = {split["name"]: split.get("filepathTemplate") or TEMPLATE for split in about["splits"]}
            splits = Splits()
            for split in about["splits"]:
                lengths = [int(length) for length in split.get("shardLengths", [])]
                if any(length < 0 for length in lengths):
                    raise ValueError("a shard with fewer than 0 samples")
                splits[split["name"]] = SplitInfo(split["name"], sum(lengths), lengths, int(split.get("numBytes", 0)))
            self.turns = 1 if about.get("disableShuffling") else TURNS
            self.format = about.get("fileFormat") or "tfrecord"
            keys = _keys(about.get("supervisedKeys"))
            name = about["name"]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise FormatError(f"{path} is not the dataset_info.json of TFDS: {error!r}") from None
        if self.format != "tfrecord":
            raise UnsupportedError(f"{folder} has files of the format {self.format}")
        self.info = DatasetInfo(name, read_features(folder), splits, keys, about, folder)

    @property
    def lengths(self) -> dict[str, list[int]]:
        return {name: split.shard_lengths for name, split in self.info.splits.items()}

    def _files(self, parts: list[Part]) -> list[tuple[str, int, int, bool]]:
        """Of each shard that is needed: its file, samples to skip and to take, and whether that is all of it."""
        found = []
        for part in parts:
            lengths = self.info.splits[part.split].shard_lengths
            for shard, skip, take in pieces(part, lengths):
                words = {"DATASET": self.info.name, "SPLIT": part.split, "FILEFORMAT": self.format,
                         "SHARD_INDEX": f"{shard:05}", "NUM_SHARDS": f"{len(lengths):05}",
                         "SHARD_X_OF_Y": f"{shard:05}-of-{len(lengths):05}"}
                name = self._templates[part.split]
                for word, value in words.items():
                    name = name.replace("{" + word + "}", value)
                path = os.path.join(self.folder, name)
                if not os.path.isfile(path):
                    raise NotFoundError(f"{path} is missing: dataset_info.json beside it lists this shard; prepare the "
                                        "data set anew")
                found.append((path, skip, take, take == lengths[shard]))
        return found

    def _records(self, files: list[tuple[str, int, int, bool]]) -> Dataset:
        """The records in the engine."""
        paths = [path for path, *_ in files]
        in_order = paths == sorted(set(paths), key=os.fsencode)
        if all(whole for *_, whole in files) and in_order:
            made = from_tfrecord(paths)
            return made.interleave(TURNS, TURNS) if self.turns > 1 and len(paths) > 1 else made
        if len(files) > (TURNS if self.turns > 1 else PARTS_MAX):
            if not in_order:
                raise UnsupportedError(f"parts of splits in {len(files)} shards")
            return from_tfrecord(paths).skip(files[0][1]).take(sum(take for _, _, take, _ in files))
        parts = [from_tfrecord(path) if whole else from_tfrecord(path).skip(skip).take(take)
                 for path, skip, take, whole in files]
        if len(parts) == 1:
            return parts[0]
        if self.turns == 1:
            return concatenate(*parts)
        turns = [number for number in range(len(parts)) for _ in range(TURNS)]
        return choose_from_datasets(parts, pattern=turns, stop_on_empty_dataset=False)

    def _wanted(self, keys: Any) -> FeaturesDict:
        names = names_in(keys) if keys is not None else set(self.info.features)
        wanted = FeaturesDict({name: value for name, value in self.info.features.items() if name in names})
        for _, feature in wanted.flat():
            if feature.kind == "unknown":
                raise UnsupportedError(feature.reason)
        return wanted

    def _samples(self, files: list[tuple[str, int, int, bool]], features: FeaturesDict) -> Any:
        """Parsed and decoded in the engine; features in features have the names of records: "objects/bbox"."""
        flat = dict(features.flat())
        made: Any = self._records(files).parse(*[f"{name}:{_kind(name, feature)}" for name, feature in flat.items()])
        for name, feature in flat.items():
            if feature.kind == "image":
                made = made.decode(name, channels=feature.item_shape[2], depth=16 if feature.dtype == "uint16" else 8)
                if None not in feature.item_shape:
                    made = made.reshape(*feature.item_shape, field=name)
            elif feature.dtype not in ("string", "int64", "float32"):
                made = made.cast(feature.dtype, field=name)
        return made

    def dataset(self, parts: list[Part], keys: Any) -> Dataset:
        """Without TensorFlow: a leat.Dataset."""
        features = self._wanted(keys)
        names = {name: name for name, _ in features.flat()}
        layout = names if keys is None else keyed(names, keys)
        made: Dataset = self._samples(self._files(parts), features)._with(layout=layout)
        return made

    def tensors(self, tf: Any, parts: list[Part], keys: Any, shuffle_files: bool) -> Any:
        """With TensorFlow: a tf.data.Dataset, whose samples the engine makes where it can."""
        from .shard_tensors import over_records

        files, features = self._files(parts), self._wanted(keys)
        shuffled = shuffle_files and len(files) > 1
        try:
            # TensorFlow's pixels of JPEGs are those of the fast transform.
            made: Any = self._samples(files, features).options(accuracy="fast") if files else None
        except UnsupportedError:
            made = None
        if made is not None and any(feature.lists for _, feature in features.flat()):
            made = None
        if made is not None and shuffled:
            made = made.shuffle()  # of all records, which costs the engine no more than one of shards
        result = over_records(tf, files, self.turns, shuffled, features, keys, made)
        count, size = sum(take for _, _, take, _ in files), _bytes(features)
        # As tfds.load: small data sets are kept as they were decoded.
        if files and not shuffled and size is not None and max(size * count, self.info.dataset_size) <= CACHED_MAX:
            result = result.cache()
        return result


def _kind(name: str, feature: Feature) -> str:
    """A type of parse."""
    if feature.kind == "image":
        return "bytes"
    if feature.dtype == "string":
        if feature.shape:
            raise UnsupportedError(f"feature '{name}' is a list of texts, which needs TensorFlow: pip install "
                                   "tensorflow; as_supervised=True leaves it out")
        return "bytes"
    kind = "int64" if feature.dtype in WHOLE else "float"
    if not feature.lists:
        return kind + (str(list(feature.item_shape)).replace(" ", "") if feature.item_shape else "")
    if feature.item_shape:
        raise UnsupportedError(f"feature '{name}' is a list of {feature.item_shape}, which needs TensorFlow: pip "
                               "install tensorflow; as_supervised=True leaves it out")
    return kind + "[*]"


def _bytes(features: Mapping[str, Any]) -> int | None:
    """Of one sample, if all have the same shape."""
    total = 0
    for _, feature in FeaturesDict(features).flat():
        count = 1
        for size in feature.shape:
            if size is None:
                return None
            count *= size
        total += count * (64 if feature.dtype == "string" else feature.np_dtype.itemsize)
    return total
