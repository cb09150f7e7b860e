# SPDX-License-Identifier: Apache-2.0
"""tf.train.Example messages: written, read raw, and parsed."""

import os
import tempfile
import numpy as np
import tensorflow as tf


def _bytes_feature(value):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))


def _float_feature(value):
    return tf.train.Feature(float_list=tf.train.FloatList(value=[value]))


def _int64_feature(value):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))


def serialize_example(f0, f1, f2, f3):
    feature = {
        "feature0": _int64_feature(f0),
        "feature1": _int64_feature(f1),
        "feature2": _bytes_feature(f2),
        "feature3": _float_feature(f3),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


n = 200
rng = np.random.default_rng(4)
feature0, feature1, feature3 = rng.integers(0, 2, n), rng.integers(0, 5, n), rng.normal(size=n)
feature2 = np.array([b"cat", b"dog", b"chicken", b"horse", b"goat"])[feature1]
feature_description = {
    "feature0": tf.io.FixedLenFeature([], tf.int64, default_value=0),
    "feature1": tf.io.FixedLenFeature([], tf.int64, default_value=0),
    "feature2": tf.io.FixedLenFeature([], tf.string, default_value=""),
    "feature3": tf.io.FixedLenFeature([], tf.float32, default_value=0.0),
    "absent": tf.io.FixedLenFeature([2], tf.float32, default_value=[1.5, 2.5]),
}
with tempfile.TemporaryDirectory() as folder:
    filename = os.path.join(folder, "test.tfrecord")
    with tf.io.TFRecordWriter(filename) as writer:
        for i in range(n):
            writer.write(serialize_example(feature0[i], feature1[i], feature2[i], feature3[i]))
    raw_dataset = tf.data.TFRecordDataset([filename])
    raw = [record.numpy() for record in raw_dataset.take(3)]
    parsed_dataset = raw_dataset.map(lambda proto: tf.io.parse_single_example(proto, feature_description))
    rows = list(parsed_dataset.batch(64).as_numpy_iterator())
    spec = str(parsed_dataset.element_spec)
    example = tf.train.Example()
    example.ParseFromString(raw[0])

results = {
    "exact.raw": [len(record) for record in raw],
    "exact.spec": spec,
    "exact.keys": list(rows[0]),
    "exact.rows": rows,
    "exact.parsed": example.features.feature["feature1"].int64_list.value[0],
}
