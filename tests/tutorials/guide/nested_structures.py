# SPDX-License-Identifier: Apache-2.0
"""Tuples, dicts and zips of data sets keep their structure."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
features = rng.uniform(size=(4, 10)).astype("float32")
dataset1 = tf.data.Dataset.from_tensor_slices(features)
dataset2 = tf.data.Dataset.from_tensor_slices(
    (tf.range(4, dtype=tf.float32), tf.reshape(tf.range(400, dtype=tf.int32), (4, 100)))
)
dataset3 = tf.data.Dataset.zip((dataset1, dataset2))
named = tf.data.Dataset.from_tensor_slices(
    {"a": [1, 2, 3, 4], "b": {"c": ["w", "x", "y", "z"], "d": [True, False, True, True]}}
)

for a, (b, c) in dataset3:
    print("shapes: {a.shape}, {b.shape}, {c.shape}".format(a=a, b=b, c=c))

both = tf.data.Dataset.zip((dataset3, named)).batch(3)
batches = list(both.as_numpy_iterator())
swapped = named.map(lambda row: {"name": row["b"]["c"], "twice": row["a"] * 2})

results = {
    "exact.spec1": str(dataset1.element_spec),
    "exact.spec3": str(dataset3.element_spec),
    "exact.spec": str(both.element_spec),
    "exact.types": str(tf.nest.map_structure(lambda x: (x.dtype, x.shape), batches)),
    "exact.batches": tf.nest.flatten(batches),
    "exact.swapped": [(row["name"].numpy(), row["twice"].numpy()) for row in swapped],
    "exact.keys": list(next(iter(named)).keys()),
    "exact.concatenated": list(dataset1.concatenate(dataset1.take(1)).as_numpy_iterator()),
}
