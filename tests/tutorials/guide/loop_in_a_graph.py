# SPDX-License-Identifier: Apache-2.0
"""The loop over the data set is inside of a tf.function, and inside of a Python loop with a compiled step."""
import numpy as np
import tensorflow as tf

with np.load("mnist.npz") as data:
    x, y = data["x_train"], data["y_train"]
dataset = tf.data.Dataset.from_tensor_slices((x, y)).map(
    lambda image, label: (tf.cast(image, tf.float32) / 255.0, tf.cast(label, tf.int64))).batch(50)


@tf.function
def summed(ds):
    total, count = tf.constant(0.0), tf.constant(0)
    for images, labels in ds:
        total += tf.reduce_mean(images)
        count += tf.shape(labels)[0]
    return total, count


traces = []


@tf.function
def step(images, labels):
    traces.append(1)
    return tf.reduce_max(images), tf.reduce_sum(labels)


total, count = summed(dataset)
sums = [step(images, labels)[1].numpy() for images, labels in dataset for _ in range(2)]
iterator = iter(dataset)
more = tf.function(lambda it: next(it)[1])
pulled = [more(iterator).numpy() for _ in range(3)]

results = {
    "close.total": total,
    "exact.count": count,
    "exact.sums": sums,
    "exact.traces": len(traces),
    "exact.pulled": pulled,
    "exact.single": tf.data.Dataset.range(3).batch(3).get_single_element().numpy(),
}
