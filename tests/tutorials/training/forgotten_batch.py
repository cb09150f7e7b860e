# SPDX-License-Identifier: Apache-2.0
"""Single samples given to fit: the error is Keras's, and so is the remedy."""
import numpy as np
import tensorflow as tf

with np.load("mnist.npz") as data:
    x, y = data["x_train"], data["y_train"]


def prepare(image, label):
    return tf.cast(image, tf.float32)[..., tf.newaxis] / 255.0, label


dataset = tf.data.Dataset.from_tensor_slices((x, y)).map(prepare).shuffle(100)


def build():
    model = tf.keras.Sequential([
        tf.keras.Input(shape=(28, 28, 1)),
        tf.keras.layers.Conv2D(4, 3, strides=2, activation="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(10),
    ])
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


try:
    build().fit(dataset, epochs=1, verbose=0)
    error = None
except ValueError as e:
    error = [type(e).__name__, str(e).split("\n")[0]]

history = build().fit(dataset.batch(32), epochs=1, verbose=0)

results = {
    "raises": error,
    "exact.finite": bool(np.isfinite(history.history["loss"][0])),
    "exact.spec": str(dataset.element_spec),
}
