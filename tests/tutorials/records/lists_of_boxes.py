# SPDX-License-Identifier: Apache-2.0
"""Objects in records: VarLenFeature, sparse.to_dense, FixedLenSequenceFeature, padded_batch."""

import numpy as np
import tensorflow as tf

feature_map = {
    "image": tf.io.FixedLenFeature([], tf.string),
    "boxes": tf.io.VarLenFeature(tf.float32),
    "classes": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
    "difficult": tf.io.VarLenFeature(tf.int64),
}


def parse(record):
    x = tf.io.parse_single_example(record, feature_map)
    image = tf.image.decode_jpeg(x["image"], channels=3)
    image = tf.image.resize(image, (56, 56)) / 255.0
    boxes = tf.reshape(tf.sparse.to_dense(x["boxes"]), [-1, 4])
    difficult = tf.sparse.to_dense(x["difficult"], default_value=-1)
    return image, {"boxes": boxes, "classes": x["classes"], "difficult": difficult}


ds = tf.data.TFRecordDataset("boxes.tfrecord").map(parse, num_parallel_calls=tf.data.AUTOTUNE)
padded = ds.padded_batch(
    6,
    padded_shapes=([56, 56, 3], {"boxes": [None, 4], "classes": [None], "difficult": [None]}),
    padding_values=(0.0, {"boxes": -1.0, "classes": tf.constant(-1, tf.int64), "difficult": tf.constant(0, tf.int64)}),
)
first = next(iter(ds))
fixed = (
    ds.map(lambda image, y: y["boxes"])
    .map(lambda b: tf.pad(b, [[0, 4 - tf.shape(b)[0]], [0, 0]]))
    .map(lambda b: tf.ensure_shape(b, [4, 4]))
    .batch(4, drop_remainder=True)
)

results = {
    "exact.spec": str(padded.element_spec),
    "close.image": first[0],
    "exact.boxes": [y["boxes"] for x, y in ds.as_numpy_iterator()],
    "exact.padded": [y for x, y in padded.as_numpy_iterator()],
    "close.pixels": next(iter(padded))[0],
    "exact.fixed": list(fixed.as_numpy_iterator()),
}
