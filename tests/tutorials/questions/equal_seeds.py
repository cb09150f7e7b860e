# SPDX-License-Identifier: Apache-2.0
"""tf.random.set_seed makes runs equal; equal seeds of operations move image and mask alike."""
import numpy as np
import tensorflow as tf

with np.load("cifar.npz") as data:
    x = data["x_train"][:100]


def run(seed):
    tf.random.set_seed(seed)
    ds = tf.data.Dataset.from_tensor_slices((x, np.arange(len(x)))).shuffle(100)
    ds = ds.map(lambda image, i: (tf.image.random_flip_left_right(image), i)).batch(20)
    return list(ds.as_numpy_iterator())


one, two, three = run(5), run(5), run(6)


def pair(image):
    return tf.image.random_flip_left_right(image, seed=3), tf.image.random_flip_left_right(image[..., :1], seed=3)


tf.random.set_seed(1)
images = tf.data.Dataset.from_tensor_slices(x)
pairs = [(a, b) for a, b in images.map(pair).batch(50).as_numpy_iterator()]
shuffled = tf.data.Dataset.range(50).shuffle(50, seed=7)
first, second = list(shuffled.as_numpy_iterator()), list(shuffled.as_numpy_iterator())
flipped = np.concatenate([(a == x[i * 50:i * 50 + 50]).all((1, 2, 3)) for i, (a, b) in enumerate(pairs)])

results = {
    "exact.order": all(np.array_equal(a[1], b[1]) for a, b in zip(one, two)),
    "exact.images": all(np.array_equal(a[0], b[0]) for a, b in zip(one, two)),
    "exact.other": any(not np.array_equal(a[1], b[1]) for a, b in zip(one, three)),
    "exact.alike": all(np.array_equal(a[..., :1], b) for a, b in pairs),
    "stat.unflipped": (flipped.mean(), 0.25),
    "exact.reshuffled": first != second,
    "exact.complete": sorted(first),
}
