# SPDX-License-Identifier: Apache-2.0
"""A layer of the program's own and a Lambda layer, in a map and in a model."""
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers


def random_invert_img(x, p=0.5):
    return tf.cond(tf.random.uniform([]) < p, lambda: 255 - x, lambda: x)


class RandomInvert(layers.Layer):
    def __init__(self, factor=0.5, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor

    def call(self, x):
        return random_invert_img(x, self.factor)


with np.load("cifar.npz") as data:
    x, y = data["x_train"][:200], data["y_train"][:200, 0]
ds = tf.data.Dataset.from_tensor_slices((x.astype("float32"), y))
invert = RandomInvert(0.5)
inverted = ds.map(lambda image, label: (invert(image), label)).batch(50)
swapped = ds.map(lambda image, label: (layers.Lambda(lambda t: t[..., ::-1])(image), label)).batch(50)
changed = np.concatenate([images for images, labels in inverted.as_numpy_iterator()])
same = (changed == x).all((1, 2, 3))
other = (changed == 255 - x.astype("float32")).all((1, 2, 3))

results = {
    "exact.either": bool((same | other).all()),
    "stat.inverted": (other.mean(), 0.2),
    "exact.labels": [labels for images, labels in inverted.as_numpy_iterator()],
    "exact.swapped": next(iter(swapped))[0],
}
