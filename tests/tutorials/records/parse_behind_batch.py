# SPDX-License-Identifier: Apache-2.0
"""Records are batched first and parsed together; then decoded by map_fn or decode_raw."""

import numpy as np
import tensorflow as tf

features = {
    "image_raw": tf.io.FixedLenFeature([], tf.string),
    "height": tf.io.FixedLenFeature([], tf.int64),
    "label": tf.io.FixedLenFeature([], tf.int64),
}


def parse_batch(protos):
    parsed = tf.io.parse_example(protos, features)
    images = tf.io.decode_raw(parsed["image_raw"], tf.uint8)
    images = tf.reshape(images, [-1, 32, 32, 3])
    return tf.cast(images, tf.float32) / 255.0, tf.one_hot(parsed["label"], 10)


ds = tf.data.TFRecordDataset(tf.data.Dataset.list_files("raw/*.tfrecord", shuffle=False))
batched = ds.batch(40).map(parse_batch, num_parallel_calls=tf.data.AUTOTUNE).prefetch(2)
images, targets = next(iter(batched))


def parse_jpegs(protos):
    parsed = tf.io.parse_example(
        protos, {"image": tf.io.FixedLenFeature([], tf.string), "class": tf.io.FixedLenFeature([], tf.int64)}
    )
    return (
        tf.map_fn(
            lambda s: tf.image.resize(tf.io.decode_jpeg(s, 3), (32, 32)),
            parsed["image"],
            fn_output_signature=tf.float32,
        ),
        parsed["class"],
    )


jpegs = tf.data.TFRecordDataset(sorted(tf.io.gfile.glob("flowers-tfrec/*.tfrec"))).batch(8).map(parse_jpegs)

results = {
    "exact.spec": str(batched.element_spec),
    "exact.targets": [y for x, y in batched.as_numpy_iterator()],
    "close.images": images,
    "exact.shape": images.shape,
    "exact.classes": [y for x, y in jpegs.as_numpy_iterator()],
    "close.jpegs": next(iter(jpegs))[0],
}
