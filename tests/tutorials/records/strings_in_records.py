# SPDX-License-Identifier: Apache-2.0
"""Serialized tensors, text features and float lists; one data set gives several targets as a dict."""

import os
import tempfile
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(8)
volumes = rng.normal(size=(12, 6, 5, 2)).astype("float32")


def to_example(i, volume):
    return tf.train.Example(
        features=tf.train.Features(
            feature={
                "volume": tf.train.Feature(
                    bytes_list=tf.train.BytesList(value=[tf.io.serialize_tensor(volume).numpy()])
                ),
                "name": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"scan %d" % i])),
                "landmarks": tf.train.Feature(float_list=tf.train.FloatList(value=np.arange(4) + i)),
                "grade": tf.train.Feature(int64_list=tf.train.Int64List(value=[i % 3])),
            }
        )
    )


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "scans.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for i, volume in enumerate(volumes):
            writer.write(to_example(i, volume).SerializeToString())

    def parse(record):
        ex = tf.io.parse_single_example(
            record,
            {
                "volume": tf.io.FixedLenFeature([], tf.string),
                "name": tf.io.FixedLenFeature([], tf.string),
                "landmarks": tf.io.FixedLenFeature([4], tf.float32),
                "grade": tf.io.FixedLenFeature([], tf.int64),
            },
        )
        volume = tf.ensure_shape(tf.io.parse_tensor(ex["volume"], tf.float32), (6, 5, 2))
        return {"volume": volume, "name": ex["name"]}, {
            "grade": tf.one_hot(ex["grade"], 3),
            "landmarks": ex["landmarks"] / 10.0,
        }

    ds = tf.data.TFRecordDataset(path).map(parse).batch(5)
    batches = list(ds.as_numpy_iterator())
    spec = str(ds.element_spec)

results = {
    "exact.spec": spec,
    "exact.volumes": [x["volume"] for x, y in batches],
    "exact.names": [x["name"] for x, y in batches],
    "exact.grades": [y["grade"] for x, y in batches],
    "close.landmarks": [y["landmarks"] for x, y in batches],
}
