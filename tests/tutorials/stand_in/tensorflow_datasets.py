# SPDX-License-Identifier: Apache-2.0
"""load() of tensorflow_datasets for the one data set that tutorial_data.py prepares, with operations of TensorFlow alone.

Programs find it when they run under TensorFlow, since tensorflow_datasets itself is not installed with the other libraries."""
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import tensorflow as tf


def load(name: str, split: Any = None, data_dir: str = "", as_supervised: bool = False, with_info: bool = False,
         shuffle_files: bool = False) -> Any:
    folder = Path(data_dir) / name / "1.0.0"
    about = json.loads((folder / "dataset_info.json").read_text())
    lengths = {each["name"]: [int(n) for n in each["shardLengths"]] for each in about["splits"]}
    names = (folder / "label.labels.txt").read_text().split()

    def parse(record: Any) -> Any:
        found = tf.io.parse_single_example(record, {key: tf.io.FixedLenFeature([], kind) for key, kind in (
            ("id", tf.string), ("image", tf.string), ("label", tf.int64))})
        image = tf.ensure_shape(tf.io.decode_image(found["image"], channels=3, expand_animations=False), (None, None, 3))
        found["image"] = image
        return (image, found["label"]) if as_supervised else found

    def one(text: str) -> Any:
        base, _, part = text.partition("[")
        counts = lengths[base]
        begin, end = ((round(int(side[:-1]) * sum(counts) / 100) if side else other) for side, other in zip(
            part[:-1].split(":"), (0, sum(counts)))) if part else (0, sum(counts))
        pieces, at = [], 0
        for i, n in enumerate(counts):
            first, last = max(begin - at, 0), min(end - at, n)
            if first < last:
                file = f"{name}-{base}.tfrecord-{i:05}-of-{len(counts):05}"
                pieces.append((str(folder / file), first, last - first))
            at += n
        shards = tf.data.Dataset.from_tensor_slices(tuple(map(list, zip(*pieces))))
        records = shards.interleave(
            lambda file, skip, take: tf.data.TFRecordDataset(file).skip(tf.cast(skip, tf.int64)).take(
                tf.cast(take, tf.int64)), cycle_length=16, block_length=16)
        made = records.map(parse).apply(tf.data.experimental.assert_cardinality(end - begin))
        return made.shuffle(end - begin) if shuffle_files else made

    label = SimpleNamespace(num_classes=len(names), names=names, int2str=lambda i: names[int(i)], str2int=names.index)
    info = SimpleNamespace(features={"label": label}, splits={
        key: SimpleNamespace(num_examples=sum(counts)) for key, counts in lengths.items()})
    split = list(lengths) if split is None else split
    made = [one(text) for text in split] if isinstance(split, (list, tuple)) else one(split)
    return (made, info) if with_info else made
