# SPDX-License-Identifier: Apache-2.0
"""MixUp over two shuffled data sets and cutout by tf.where, as answers show them."""
import numpy as np
import tensorflow as tf

with np.load("cifar.npz") as data:
    x, y = data["x_train"], data["y_train"][:, 0]
AUTO = tf.data.AUTOTUNE


def preprocess(image, label):
    return tf.image.convert_image_dtype(image, tf.float32), tf.one_hot(label, 10)


def sample_beta(size, c0=0.2, c1=0.2):
    g1 = tf.random.gamma(shape=[size], alpha=c1)
    g2 = tf.random.gamma(shape=[size], alpha=c0)
    return g1 / (g1 + g2)


def mix_up(ds_one, ds_two):
    images_one, labels_one = ds_one
    images_two, labels_two = ds_two
    batch_size = tf.shape(images_one)[0]
    lam = sample_beta(batch_size)
    x_l, y_l = tf.reshape(lam, (batch_size, 1, 1, 1)), tf.reshape(lam, (batch_size, 1))
    return images_one * x_l + images_two * (1 - x_l), labels_one * y_l + labels_two * (1 - y_l)


def cutout(image, label):
    r = tf.random.uniform([], 0, 24, tf.int32)
    rows = tf.range(32)
    hole = (rows >= r) & (rows < r + 8)
    mask = tf.logical_and(hole[:, None], hole[None, :])[..., None]
    return tf.where(mask, tf.zeros_like(image), image), label


base = tf.data.Dataset.from_tensor_slices((x, y))
one = base.shuffle(400).map(preprocess, AUTO).batch(40)
two = base.shuffle(400).map(preprocess, AUTO).batch(40)
mixed = tf.data.Dataset.zip((one, two)).map(mix_up, num_parallel_calls=AUTO).prefetch(AUTO)
cut = base.map(preprocess, AUTO).map(cutout, AUTO).batch(40)
labels = np.concatenate([b for a, b in mixed.as_numpy_iterator()])
images = np.concatenate([a for a, b in mixed.as_numpy_iterator()])
holes = np.concatenate([a for a, b in cut.as_numpy_iterator()])

results = {
    "exact.shapes": [images.shape, labels.shape],
    "close.sums": labels.sum(1),
    "stat.mean": (images.mean(), 0.03),
    "exact.soft": bool((labels.max(1) < 0.999).mean() > 0.2),
    "exact.cut_labels": np.concatenate([b for a, b in cut.as_numpy_iterator()]).argmax(1),
    "exact.holes": bool(((holes == 0).all(-1).sum((1, 2)) >= 64).all()),
    "stat.cut": ((holes == 0).mean(), 0.02),
}
