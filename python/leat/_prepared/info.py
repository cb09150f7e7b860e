# SPDX-License-Identifier: Apache-2.0
"""What is known of a data set without reading its samples: with_info=True of leat.datasets.load."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .features import FeaturesDict
from .splits import parts_of


class SplitInfo:
    """A split, or a part of one.

        info.splits["train[:10%]"].num_examples
    """

    def __init__(self, name: str, num_examples: int, shard_lengths: Sequence[int], num_bytes: int = 0) -> None:
        self.name, self.num_examples, self.num_bytes = name, num_examples, num_bytes
        self.shard_lengths, self.num_shards = list(shard_lengths), len(shard_lengths)

    def __repr__(self) -> str:
        return f"<SplitInfo num_examples={self.num_examples}, num_shards={self.num_shards}>"


class Splits(dict[str, SplitInfo]):
    """Splits by name; a text such as 'train[:10%]' is a key too."""

    @property
    def total_num_examples(self) -> int:
        return sum(split.num_examples for split in self.values())

    def __missing__(self, text: Any) -> SplitInfo:
        parts = parts_of(text, {name: split.shard_lengths for name, split in self.items()})
        count = sum(part.end - part.begin for part in parts)
        return SplitInfo(str(text), count, [count])


class DatasetInfo:
    """Name, version, splits, features and supervised_keys of a data set.

        ds, info = leat.datasets.load("mnist", split="train", with_info=True)
        info.features["label"].num_classes, info.splits["train"].num_examples
    """

    def __init__(self, name: str, features: FeaturesDict, splits: Splits, supervised_keys: Any = None,
                 about: Mapping[str, Any] | None = None, data_dir: str = "") -> None:
        about = about or {}
        self.name, self.features, self.splits, self.supervised_keys = name, features, splits, supervised_keys
        self.version, self.config_name = str(about.get("version", "")), str(about.get("configName", ""))
        self.description, self.citation = str(about.get("description", "")), str(about.get("citation", ""))
        self.data_dir = data_dir

    @property
    def full_name(self) -> str:
        return "/".join(word for word in (self.name, self.config_name, self.version) if word)

    @property
    def dataset_size(self) -> int:
        """Bytes of the prepared files."""
        return sum(split.num_bytes for split in self.splits.values())

    def __repr__(self) -> str:
        return (f"DatasetInfo(name={self.name!r}, full_name={self.full_name!r}, data_dir={self.data_dir!r}, "
                f"features={dict(self.features)}, supervised_keys={self.supervised_keys}, splits={dict(self.splits)})")
