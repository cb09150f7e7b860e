# SPDX-License-Identifier: Apache-2.0
"""Shards found by list_files, read in turns by interleave, deterministic and not."""

import tensorflow as tf


def parse(record):
    ex = tf.io.parse_single_example(
        record,
        {
            "image": tf.io.FixedLenFeature([], tf.string),
            "class": tf.io.FixedLenFeature([], tf.int64),
            "id": tf.io.FixedLenFeature([], tf.string),
        },
    )
    image = tf.io.decode_jpeg(ex["image"], channels=3)
    return tf.image.resize(image, [32, 32]) / 255.0, ex["class"], ex["id"]


files = tf.data.Dataset.list_files("flowers-tfrec/*.tfrec", shuffle=False)
in_order = files.interleave(
    tf.data.TFRecordDataset, cycle_length=4, block_length=2, num_parallel_calls=tf.data.AUTOTUNE
).map(parse)
flat = files.flat_map(tf.data.TFRecordDataset).map(parse)
shuffled = tf.data.Dataset.list_files("flowers-tfrec/*.tfrec", seed=3).interleave(
    lambda f: tf.data.TFRecordDataset(f), cycle_length=2, num_parallel_calls=2, deterministic=False
)
shuffled = shuffled.shuffle(64).map(parse, tf.data.AUTOTUNE).batch(16).prefetch(tf.data.AUTOTUNE)
worker = files.shard(2, 1).interleave(tf.data.TFRecordDataset, cycle_length=2).map(parse)
batch = next(iter(in_order.batch(20)))

results = {
    "exact.ids": [name.numpy() for _, _, name in in_order],
    "exact.flat": [name.numpy() for _, _, name in flat],
    "exact.worker": [name.numpy() for _, _, name in worker],
    "close.pixels": batch[0],
    "exact.labels": batch[1],
    "exact.all": sorted(name for _, _, names in shuffled.as_numpy_iterator() for name in names),
    "exact.spec": str(shuffled.element_spec),
}
