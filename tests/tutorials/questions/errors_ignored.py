# SPDX-License-Identifier: Apache-2.0
"""Some files are no pictures: ignore_errors leaves them out; without it the loop raises."""
import tensorflow as tf

files = tf.data.Dataset.list_files("spoilt/*.jpg", shuffle=False)


def load(path):
    return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path), channels=3), (20, 20)), path


try:
    for image, path in files.map(load):
        last = path.numpy()
    error = None
except tf.errors.InvalidArgumentError as e:
    error = type(e).__name__

good = files.map(load, num_parallel_calls=tf.data.AUTOTUNE).ignore_errors()
old = files.map(load).apply(tf.data.experimental.ignore_errors())
names = [path.numpy() for image, path in good]
batch = next(iter(good.batch(5)))

results = {
    "raises": error,
    "exact.last": last,
    "exact.names": names,
    "exact.old": [path.numpy() for image, path in old],
    "close.pixels": batch[0],
}
