# SPDX-License-Identifier: Apache-2.0
"""Random zoom, rotation by quarters, hue and jpeg quality behind tf.cond and Python ifs, by statistics."""
import numpy as np
import tensorflow as tf

with np.load("cifar.npz") as data:
    x = data["x_train"]
images = tf.data.Dataset.from_tensor_slices(x)


def colour(image):
    image = tf.cast(image, tf.float32) / 255.0
    image = tf.image.random_hue(image, 0.08)
    image = tf.image.random_saturation(image, 0.6, 1.6)
    image = tf.image.random_brightness(image, 0.05)
    image = tf.image.random_contrast(image, 0.7, 1.3)
    return tf.clip_by_value(image, 0.0, 1.0)


def turn(image):
    return tf.image.rot90(image, tf.random.uniform(shape=[], minval=0, maxval=4, dtype=tf.int32))


def maybe_grey(image):
    choice = tf.random.uniform(shape=[], minval=0., maxval=1., dtype=tf.float32)
    return tf.cond(choice < 0.3, lambda: tf.tile(tf.image.rgb_to_grayscale(image), [1, 1, 3]), lambda: image)


coloured = np.concatenate(list(images.map(colour, num_parallel_calls=4).batch(64).as_numpy_iterator()))
turned = np.concatenate(list(images.map(turn).batch(64).as_numpy_iterator()))
greyed = np.concatenate(list(images.map(maybe_grey).batch(64).as_numpy_iterator()))
grey = (greyed[..., 0] == greyed[..., 1]).all((1, 2)) & (greyed[..., 0] == greyed[..., 2]).all((1, 2))
quarters = np.stack([(turned == np.rot90(x, k, (1, 2))).all((1, 2, 3)) for k in range(4)])

results = {
    "exact.types": [coloured.shape, str(coloured.dtype), str(turned.dtype), str(greyed.dtype)],
    "stat.mean": (coloured.mean(), 0.03),
    "stat.std": (coloured.std(), 0.03),
    "exact.range": bool(coloured.min() >= 0 and coloured.max() <= 1),
    "exact.quarters": bool(quarters.any(0).all()),
    "stat.quarters": (quarters.mean(1), 0.12),
    "stat.grey": (grey.mean(), 0.12),
    "exact.others": bool((greyed[~grey] == x[~grey]).all()),
}
