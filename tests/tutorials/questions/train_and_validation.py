# SPDX-License-Identifier: Apache-2.0
"""A split by take and skip behind a shuffle that does not change, and by the index of samples."""

import numpy as np
import tensorflow as tf

DATASET = sorted(tf.io.gfile.glob("flowers/*/*.jpg"))
n = len(DATASET)
full = tf.data.Dataset.from_tensor_slices(DATASET).shuffle(n, seed=42, reshuffle_each_iteration=False)
train_size = int(0.7 * n)
train_paths, rest = full.take(train_size), full.skip(train_size)
val_paths, test_paths = rest.take(int(0.15 * n)), rest.skip(int(0.15 * n))
parts = [set(ds.as_numpy_iterator()) for ds in (train_paths, val_paths, test_paths)]


def is_test(i, path):
    return i % 4 == 0


def is_train(i, path):
    return not is_test(i, path)


indexed = tf.data.Dataset.from_tensor_slices(DATASET).enumerate()
test_ds = indexed.filter(is_test).map(lambda i, path: path)
train_ds = indexed.filter(is_train).map(lambda i, path: path)


def load(path):
    return (
        tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path), channels=3), (24, 24)),
        tf.strings.split(path, "/")[1],
    )


train = train_paths.map(load, num_parallel_calls=tf.data.AUTOTUNE).shuffle(100).batch(16).prefetch(1)
labels = np.concatenate([y for x, y in train.as_numpy_iterator()])

results = {
    "exact.sizes": [len(part) for part in parts] + [len(train_paths), len(val_paths), len(test_paths)],
    "exact.disjoint": [len(parts[0] & parts[1]), len(parts[0] & parts[2]), len(parts[1] & parts[2])],
    "exact.complete": sorted(parts[0] | parts[1] | parts[2]),
    "exact.same_again": set(train_paths.as_numpy_iterator()) == parts[0],
    "exact.trained": len(labels),
    "exact.test": list(test_ds.as_numpy_iterator()),
    "exact.train": list(train_ds.as_numpy_iterator()),
}
