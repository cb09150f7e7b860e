# SPDX-License-Identifier: Apache-2.0
"""Prepared records with TensorFlow: its own data set of them, and the engine's in front of it."""
from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from .._data.dataset import Dataset
from .features import REAL, WHOLE, Feature, FeaturesDict
from .frameworks import keyed


def over_records(tf: Any, files: list[tuple[str, int, int, bool]], turns: int, shuffled: bool, features: FeaturesDict,
                 keys: Any, engine: Dataset | None) -> Any:
    """The samples of shards in the order and structure of tfds.load.

    engine: a leat.Dataset of the same samples, with the names that features have in records; None: TensorFlow reads.
    """
    real: Any = import_module("tensorflow")
    count = sum(take for _, _, take, _ in files)

    def make() -> Any:
        columns = [real.constant([file[i] for file in files], kind)
                   for i, kind in enumerate((real.string, real.int64, real.int64))]
        shards = real.data.Dataset.from_tensor_slices(tuple(columns))
        if shuffled:
            shards = shards.shuffle(len(files))
        made = shards.interleave(lambda path, skip, take: real.data.TFRecordDataset(path).skip(skip).take(take),
                                 cycle_length=turns, block_length=turns, num_parallel_calls=real.data.AUTOTUNE)
        made = made.apply(real.data.experimental.assert_cardinality(count))
        return made.map(decoder(real, features, keys), num_parallel_calls=real.data.AUTOTUNE)

    if engine is None:
        return make()
    from .._tfdata.chain import Built, Chain
    from .._tfdata.dataset import Dataset as Over

    def names(below: FeaturesDict, prefix: str) -> dict[str, Any]:
        return {name: names(value, f"{prefix}{name}/") if isinstance(value, FeaturesDict) else prefix + name
                for name, value in below.items()}

    structure = names(features, "")
    specs = {name: real.TensorSpec(feature.shape, getattr(real, feature.dtype)) for name, feature in features.flat()}
    chain = Chain(Built(engine), structure if keys is None else keyed(structure, keys), specs, cardinality=count)
    return Over._over(chain, make)


def _stored(tf: Any, feature: Feature) -> Any:
    """How a feature lies in a record."""
    if feature.kind == "image":
        return tf.io.FixedLenFeature([], tf.string)
    kind = tf.int64 if feature.dtype in WHOLE else tf.float32 if feature.dtype in REAL else tf.string
    if feature.lists:
        return tf.io.FixedLenSequenceFeature(feature.item_shape, kind, allow_missing=True)
    return tf.io.FixedLenFeature(feature.item_shape, kind)


def _value(tf: Any, feature: Feature, stored: Any) -> Any:
    if feature.kind == "image":
        image = tf.io.decode_image(stored, channels=feature.item_shape[2], dtype=getattr(tf, feature.dtype),
                                   expand_animations=False)
        image.set_shape(feature.item_shape)
        return image
    kind = getattr(tf, feature.dtype)
    return stored if stored.dtype == kind else tf.cast(stored, kind)


def decoder(tf: Any, features: FeaturesDict, keys: Any) -> Callable[[Any], Any]:
    """From a serialised example to the structure of tfds.load."""
    stored = {name: _stored(tf, feature) for name, feature in features.flat()}

    def values(parsed: Any, below: FeaturesDict, prefix: str) -> dict[str, Any]:
        return {name: values(parsed, value, f"{prefix}{name}/") if isinstance(value, FeaturesDict)
                else _value(tf, value, parsed[prefix + name]) for name, value in below.items()}

    def decode(record: Any) -> Any:
        made = values(tf.io.parse_single_example(record, stored), features, "")
        return made if keys is None else keyed(made, keys)

    return decode
