# SPDX-License-Identifier: Apache-2.0
"""Class weights and sample weights with data sets."""

import numpy as np
import tensorflow as tf

files = tf.data.Dataset.list_files("digits/*/*.png", shuffle=False)


def load(path):
    label = tf.strings.to_number(tf.strings.split(path, "/")[-2], out_type=tf.int32)
    image = tf.io.decode_png(tf.io.read_file(path), channels=1)
    image = tf.image.convert_image_dtype(image, tf.float32)
    image = tf.ensure_shape(image, (28, 28, 1))
    return image, label


ds = files.map(load, num_parallel_calls=tf.data.AUTOTUNE)
kept = ds.filter(lambda image, label: label < 3)
counts = np.bincount([label for image, label in kept.as_numpy_iterator()])
class_weight = {i: float(counts.sum() / (len(counts) * n)) for i, n in enumerate(counts)}
weighted = kept.map(lambda image, label: (image, label, tf.gather(tf.constant([1.0, 2.0, 0.5]), label)))


def build():
    model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(3, kernel_initializer="zeros")])
    model.compile(
        tf.keras.optimizers.SGD(0.01),
        tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


one = build().fit(kept.batch(10), epochs=2, class_weight=class_weight, verbose=0)
two = build().fit(weighted.batch(10), epochs=2, verbose=0)

results = {
    "exact.counts": counts,
    "exact.cardinality": kept.cardinality().numpy(),
    "close.pixels": next(iter(kept.batch(12)))[0],
    "exact.labels": [y for x, y in kept.batch(10).as_numpy_iterator()],
    "exact.weights": [w for x, y, w in weighted.batch(10).as_numpy_iterator()],
    "close.one": one.history["loss"],
    "close.two": two.history["loss"],
    "exact.spec": str(weighted.element_spec),
}
