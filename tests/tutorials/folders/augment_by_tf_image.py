# SPDX-License-Identifier: Apache-2.0
"""tf.image in a map: stateless with a counter, and the ordinary random functions."""

import numpy as np
import tensorflow as tf

IMG_SIZE = 40
ds = tf.data.Dataset.list_files("flowers/*/*.jpg", shuffle=False).map(
    lambda path: (
        tf.image.decode_jpeg(tf.io.read_file(path), channels=3),
        tf.strings.split(path, "/")[1] == ["daisy", "rose", "tulip"],
    )
)


def resize_and_rescale(image, label):
    image = tf.cast(image, tf.float32)
    image = tf.image.resize(image, [IMG_SIZE, IMG_SIZE])
    image = image / 255.0
    return image, label


def augment(image_label, seed):
    image, label = image_label
    image, label = resize_and_rescale(image, label)
    image = tf.image.resize_with_crop_or_pad(image, IMG_SIZE + 6, IMG_SIZE + 6)
    new_seed = tf.random.split(seed, num=1)[0, :]
    image = tf.image.stateless_random_crop(image, size=[IMG_SIZE, IMG_SIZE, 3], seed=seed)
    image = tf.image.stateless_random_brightness(image, max_delta=0.5, seed=new_seed)
    image = tf.clip_by_value(image, 0, 1)
    return image, label


def augment2(image, label):
    image, label = resize_and_rescale(image, label)
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(image, max_delta=0.2)
    image = tf.image.random_contrast(image, 0.8, 1.2)
    return tf.clip_by_value(image, 0, 1), label


counter = tf.data.experimental.Counter()
train_ds = tf.data.Dataset.zip((ds, (counter, counter)))
stateless = train_ds.map(augment, num_parallel_calls=tf.data.AUTOTUNE).batch(24)
stateful = ds.shuffle(100).map(augment2, num_parallel_calls=tf.data.AUTOTUNE).batch(24).prefetch(tf.data.AUTOTUNE)
validation = ds.map(resize_and_rescale, num_parallel_calls=tf.data.AUTOTUNE).batch(24)
drawn = np.concatenate([x for x, y in stateful.as_numpy_iterator()])

results = {
    "close.stateless": next(iter(stateless))[0],
    "exact.labels": [y for x, y in validation.as_numpy_iterator()],
    "close.pixels": next(iter(validation))[0],
    "exact.drawn_labels": np.concatenate([y for x, y in stateful.as_numpy_iterator()]).sum(0),
    "exact.shape": drawn.shape,
    "stat.mean": (drawn.mean(), 0.05),
    "exact.range": bool(drawn.min() >= 0 and drawn.max() <= 1),
}
