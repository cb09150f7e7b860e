# SPDX-License-Identifier: Apache-2.0
"""Raw pixels in records: parse, decode_raw, reshape, cast, brightness, flip, shuffle, batch, prefetch."""

import numpy as np
import tensorflow as tf

IMAGE_PIXELS = 32 * 32 * 3


def decode(serialized_example):
    features = tf.io.parse_single_example(
        serialized_example,
        features={
            "image_raw": tf.io.FixedLenFeature([], tf.string),
            "label": tf.io.FixedLenFeature([], tf.int64),
        },
    )
    image = tf.io.decode_raw(features["image_raw"], tf.uint8)
    image.set_shape((IMAGE_PIXELS,))
    image = tf.reshape(image, [32, 32, 3])
    label = tf.cast(features["label"], tf.int32)
    return image, label


def augment(image, label):
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(image, 0.1)
    return image, label


def normalize(image, label):
    image = tf.cast(image, tf.float32) * (1.0 / 255) - 0.5
    return image, label


dataset = tf.data.TFRecordDataset(["raw/train-0.tfrecord", "raw/train-1.tfrecord"])
plain = dataset.map(decode).map(normalize).batch(50)
train = (
    dataset.map(decode)
    .map(augment)
    .map(normalize)
    .shuffle(1000 + 3 * 50)
    .batch(50, drop_remainder=True)
    .prefetch(tf.data.AUTOTUNE)
)
labels = np.concatenate([y for x, y in train.as_numpy_iterator()])
means = np.concatenate([x.mean((1, 2, 3)) for x, y in train.as_numpy_iterator()])

results = {
    "exact.spec": [str(plain.element_spec), str(train.element_spec)],
    "exact.labels": [y for x, y in plain.as_numpy_iterator()],
    "close.pixels": next(iter(plain))[0],
    "exact.counts": np.bincount(labels),
    "stat.mean": (means.mean(), 0.02),
    "stat.spread": (means.std(), 0.02),
}
