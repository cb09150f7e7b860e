# SPDX-License-Identifier: Apache-2.0
"""Several sources: sample_from_datasets with weights, choose_from_datasets, concatenate, zip of two maps."""

import numpy as np
import tensorflow as tf


def folder(name, label):
    files = tf.data.Dataset.list_files(f"flowers/{name}/*.jpg", shuffle=False)
    return files.map(
        lambda path: (tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path), channels=3), (24, 24)) / 255.0, label)
    )


daisy, rose, tulip = folder("daisy", 0), folder("rose", 1), folder("tulip", 2)
mixed = tf.data.Dataset.sample_from_datasets(
    [daisy.repeat(), rose.repeat(), tulip.repeat()], weights=[0.6, 0.3, 0.1], seed=4
)
labels = np.concatenate([y for x, y in mixed.batch(50).take(30).as_numpy_iterator()])
turns = tf.data.Dataset.choose_from_datasets([daisy, rose, tulip], tf.data.Dataset.range(3).repeat(8))
joined = daisy.concatenate(rose).concatenate(tulip).batch(10)
pairs = tf.data.Dataset.zip((daisy.batch(6), rose.batch(6))).map(
    lambda a, b: (0.5 * a[0] + 0.5 * b[0], tf.stack([a[1], b[1]], -1))
)
bounded = tf.data.Dataset.sample_from_datasets([daisy, rose], stop_on_empty_dataset=False)

results = {
    "stat.labels": (np.bincount(labels, minlength=3) / len(labels), 0.05),
    "exact.turns": [label.numpy() for image, label in turns],
    "exact.joined": [y for x, y in joined.as_numpy_iterator()],
    "close.joined": list(joined.as_numpy_iterator())[-1][0],
    "close.pairs": next(iter(pairs))[0],
    "exact.pair_labels": next(iter(pairs))[1],
    "exact.bounded": len(list(bounded)),
}
