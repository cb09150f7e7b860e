# SPDX-License-Identifier: Apache-2.0
"""Several threads that take batches from one iterator, and training steps on batches of a fixed size."""
import threading

import numpy as np
import tensorflow as tf

with np.load("cifar.npz") as data:
    x_train, y_train = data["x_train"], data["y_train"][:, 0].astype("int64")
BATCH = 32


def scale(image, label):
    return tf.cast(image, tf.float32) / 255.0, label


dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train)).map(scale).batch(BATCH)
iterator, lock, labels, sums = iter(dataset), threading.Lock(), [], []


def work():
    for images, classes in iterator:
        with lock:
            labels.extend(classes.numpy().tolist())
            sums.append(float(tf.reduce_sum(images)))


workers = [threading.Thread(target=work) for _ in range(3)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
results = {"exact.labels": sorted(labels), "exact.steps": len(sums), "close.sum": sum(sorted(sums))}


def to_pairs(images, classes):
    """For a siamese network: the batch beside itself, turned by one. It needs whole batches."""
    images = tf.reshape(images, [BATCH, 32, 32, 3])
    other = tf.concat([images[1:], images[:1]], axis=0)
    return (images, other), tf.equal(classes, tf.roll(classes, 1, 0))


whole = dataset.take(len(x_train) // BATCH).map(to_pairs)
results["exact.spec"] = str(whole.element_spec)
results["close.pairs"] = [float(tf.reduce_mean(a - 2 * b)) for (a, b), _ in whole]
uneven = tf.data.Dataset.from_tensor_slices((x_train[:BATCH + 5], y_train[:BATCH + 5])).map(scale).batch(BATCH).map(to_pairs)
results["exact.steps before the short batch"] = 0
try:
    for _ in uneven:
        results["exact.steps before the short batch"] += 1
    results["raises"] = "nothing"
except tf.errors.InvalidArgumentError as error:
    results["raises"] = type(error).__name__
