# SPDX-License-Identifier: Apache-2.0
"""A function of SciPy in a map: py_function, and set_shape behind it."""
import numpy as np
import scipy.ndimage as ndimage
import tensorflow as tf


def parse_image(filename):
    parts = tf.strings.split(filename, "/")
    image = tf.io.decode_jpeg(tf.io.read_file(filename))
    image = tf.image.convert_image_dtype(image, tf.float32)
    image = tf.image.resize(image, [48, 48])
    return image, parts[-2]


def random_rotate_image(image):
    image = ndimage.rotate(image, np.random.uniform(-30, 30), reshape=False)
    return image


def tf_random_rotate_image(image, label):
    im_shape = image.shape
    [image, ] = tf.py_function(random_rotate_image, [image], [tf.float32])
    image.set_shape(im_shape)
    return image, label


def half(image):
    return image[::2, ::2]


list_ds = tf.data.Dataset.list_files("flowers/*/*.jpg", shuffle=False).take(24)
images_ds = list_ds.map(parse_image)
rot_ds = images_ds.map(tf_random_rotate_image)
small = images_ds.map(lambda image, label: tf.numpy_function(half, [image], tf.float32))
labels = [label.numpy() for image, label in rot_ds]
batch = next(iter(rot_ds.batch(24)))[0]
straight = next(iter(images_ds.batch(24)))[0]

results = {
    "exact.spec": str(rot_ds.element_spec),
    "exact.labels": labels,
    "exact.turned": bool(tf.reduce_any(batch != straight)),
    "stat.mean": (float(tf.reduce_mean(batch)), 0.06),
    "close.small": [image.numpy() for image in small.take(5)],
    "close.straight": straight,
}
