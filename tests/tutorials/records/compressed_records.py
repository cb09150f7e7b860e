# SPDX-License-Identifier: Apache-2.0
"""GZIP records, and a count of all records by reduce."""

import numpy as np
import tensorflow as tf

description = {
    "image_raw": tf.io.FixedLenFeature((), tf.string),
    "label": tf.io.FixedLenFeature((), tf.int64, -1),
    "height": tf.io.FixedLenFeature((), tf.int64),
    "width": tf.io.FixedLenFeature((), tf.int64),
    "depth": tf.io.FixedLenFeature((), tf.int64),
}


@tf.function
def decode(record):
    ex = tf.io.parse_single_example(record, description)
    shape = tf.stack([ex["height"], ex["width"], ex["depth"]])
    image = tf.reshape(tf.io.decode_raw(ex["image_raw"], out_type=tf.uint8), shape)
    return tf.image.convert_image_dtype(image, tf.float32), ex["label"]


ds = tf.data.TFRecordDataset("raw.tfrecord.gz", compression_type="GZIP", buffer_size=8 * 1024 * 1024)
count = ds.reduce(np.int64(0), lambda n, _: n + 1).numpy()
images = ds.map(decode, num_parallel_calls=4).batch(25)
x, y = next(iter(images))
last = list(images.skip(len(list(images)) - 1))[0]

results = {
    "exact.count": count,
    "exact.labels": [labels for _, labels in images.as_numpy_iterator()],
    "close.pixels": x,
    "exact.last": [last[0].shape, last[1].numpy()],
    "exact.dtypes": [x.dtype, y.dtype],
}
