# SPDX-License-Identifier: Apache-2.0
"""JPEG, PNG and GIF in one folder by decode_image with expand_animations=False; channels and dtypes."""

import tensorflow as tf

files = tf.data.Dataset.list_files("mixed/*", shuffle=False)


def load(path):
    image = tf.io.decode_image(tf.io.read_file(path), channels=3, expand_animations=False)
    image = tf.image.resize(image, [32, 36])
    return image


def load_float(path):
    image = tf.image.decode_image(tf.io.read_file(path), channels=3, dtype=tf.float32, expand_animations=False)
    image.set_shape([None, None, 3])
    return tf.image.central_crop(image, 0.5)


ds = files.map(load, num_parallel_calls=tf.data.AUTOTUNE).batch(4)
jpegs = tf.data.Dataset.list_files("mixed/*.jpg", shuffle=False)
grey = jpegs.map(lambda p: tf.image.rgb_to_grayscale(tf.io.decode_jpeg(tf.io.read_file(p)))).batch(2)
pngs = (
    tf.data.Dataset.list_files("mixed/*.png", shuffle=False)
    .map(lambda p: tf.io.decode_png(tf.io.read_file(p), channels=4))
    .batch(4)
)
boxes = jpegs.map(
    lambda p: tf.image.crop_to_bounding_box(tf.io.decode_jpeg(tf.io.read_file(p), channels=3), 4, 6, 20, 24)
).batch(4)
padded = jpegs.map(lambda p: tf.image.resize_with_pad(tf.io.decode_jpeg(tf.io.read_file(p), channels=3), 30, 30)).batch(
    4
)

results = {
    "exact.spec": str(ds.element_spec),
    "close.pixels": list(ds.as_numpy_iterator()),
    "close.central": [x.numpy() for x in files.map(load_float)],
    "close.grey": list(grey.as_numpy_iterator()),
    "exact.pngs": list(pngs.as_numpy_iterator()),
    "exact.boxes": list(boxes.as_numpy_iterator()),
    "close.padded": list(padded.as_numpy_iterator()),
}
