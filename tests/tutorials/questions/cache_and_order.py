# SPDX-License-Identifier: Apache-2.0
"""Where to put cache, shuffle, repeat, take and prefetch; each order keeps its meaning."""

import numpy as np
import tensorflow as tf

with np.load("cifar.npz") as data:
    x, y = data["x_train"][:120], data["y_train"][:120, 0]
ds = tf.data.Dataset.from_tensor_slices((x, y)).map(lambda image, label: (tf.cast(image, tf.float32) / 255.0, label))
cached = ds.cache().shuffle(120).batch(30).prefetch(tf.data.AUTOTUNE)
behind_batch = ds.batch(30).cache().shuffle(4).prefetch(2)
taken = ds.shuffle(120, seed=1).batch(30).take(2)
unbatched = ds.batch(30).unbatch().batch(50)
flipped = ds.map(lambda image, label: (tf.image.random_flip_left_right(image), label)).batch(120).cache()
((once, _),) = list(flipped)
again, _ = next(iter(flipped))
groups = sorted(tuple(labels) for images, labels in behind_batch.as_numpy_iterator())

results = {
    "exact.cached": [np.sort(np.concatenate([b for a, b in cached.as_numpy_iterator()])) for _ in range(2)],
    "exact.reshuffled": [list(b) for a, b in cached.as_numpy_iterator()]
    != [list(b) for a, b in cached.as_numpy_iterator()],
    "exact.groups": groups,
    "exact.taken": [images.shape for images, labels in taken],
    "exact.unbatched": [labels for images, labels in unbatched.as_numpy_iterator()],
    "exact.frozen": bool(tf.reduce_all(once == again)),
    "exact.lengths": (
        [len(cached), len(behind_batch), len(taken), len(unbatched)] if unbatched.cardinality() >= 0 else "unknown"
    ),
}
