# SPDX-License-Identifier: Apache-2.0
"""A folder with a broken picture: a loop that notes what cannot be read and goes on, by single pictures and by batches."""
import tensorflow as tf

AUTOTUNE = tf.data.AUTOTUNE
files = sorted(tf.io.gfile.glob("spoilt/*.jpg"))


def load(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    image.set_shape([40, 48, 3])
    return tf.image.resize(image, [16, 16])


def read_all(iterator):
    good, bad = [], []
    while True:
        try:
            good.append(next(iterator))
        except StopIteration:
            break
        except tf.errors.InvalidArgumentError as error:
            bad.append(type(error).__name__)
    return [len(good), bad, [float(tf.reduce_mean(each)) for each in good]]


photos = tf.data.Dataset.from_tensor_slices(files).map(load, num_parallel_calls=AUTOTUNE)
batches = photos.batch(4).prefetch(AUTOTUNE)
results = {"close.single": read_all(iter(photos)), "close.batches": read_all(iter(batches)),
           "close.arrays": read_all(photos.batch(1).as_numpy_iterator())}

checked = []
for path in files:  # the usual advice: try every file before training
    try:
        next(iter(tf.data.Dataset.from_tensors(path).map(load)))
        checked.append(path)
    except tf.errors.InvalidArgumentError:
        print("cannot be read:", path)
results["exact.checked"] = checked
clean = tf.data.Dataset.from_tensor_slices(checked).map(load).batch(4)
results["exact.batches of good files"] = [int(each.shape[0]) for each in clean]


def wrong_size(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path))
    image.set_shape([48, 40, 3])  # width and height exchanged
    return image


try:
    next(iter(tf.data.Dataset.from_tensor_slices(checked).map(wrong_size)))
    results["raises"] = "nothing"
except tf.errors.InvalidArgumentError as error:
    results["raises"] = type(error).__name__
