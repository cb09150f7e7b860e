# SPDX-License-Identifier: Apache-2.0
"""A data set saved to disk and loaded; cache in memory and in a file."""

import os
import tempfile
import numpy as np
import tensorflow as tf

with np.load("cifar.npz") as data:
    x, y = data["x_train"][:60], data["y_train"][:60]
dataset = tf.data.Dataset.from_tensor_slices((x, y)).map(
    lambda image, label: (tf.cast(image, tf.float32) / 255.0, label)
)

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "saved")
    dataset.save(path)
    loaded = tf.data.Dataset.load(path)
    spec = str(loaded.element_spec)
    labels = [label.numpy() for image, label in loaded]
    images = next(iter(loaded.batch(8)))[0]

    cached = dataset.cache(os.path.join(folder, "cache")).batch(16)
    once = [label.numpy() for image, label in cached]
    again = [label.numpy() for image, label in cached]
    files = len(os.listdir(folder)) > 1

drawn = tf.data.Dataset.range(20).map(lambda i: tf.random.uniform([])).cache()
one, two = list(drawn.as_numpy_iterator()), list(drawn.as_numpy_iterator())

results = {
    "exact.spec": spec,
    "exact.labels": labels,
    "close.images": images,
    "exact.once": once,
    "exact.again": again,
    "exact.files": files,
    "exact.frozen": one == two,
    "exact.various": len(set(one)) > 10,
}
