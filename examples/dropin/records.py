# SPDX-License-Identifier: Apache-2.0
"""Raw pictures in a TFRecord file with tf.data: parse, decode_raw, augmentation by tf.image.

    python records.py FILE EPOCHS

With leat, one line is another one: `import leat.tf as tf`.
"""
import sys

import tensorflow as tf
from says import Says

FILE, EPOCHS = sys.argv[1], int(sys.argv[2])
layers = tf.keras.layers


def read(record):
    features = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}
    example = tf.io.parse_single_example(record, features)
    image = tf.reshape(tf.io.decode_raw(example["image"], tf.uint8), (64, 64, 3))
    image = tf.cast(image, tf.float32) / 255
    image = tf.image.random_brightness(image, 0.2)
    image = tf.image.random_flip_left_right(image)
    return image, example["label"]


tf.keras.utils.set_random_seed(1)
train = (tf.data.TFRecordDataset(FILE).map(read, num_parallel_calls=tf.data.AUTOTUNE).shuffle(1000).batch(64)
         .prefetch(tf.data.AUTOTUNE))
model = tf.keras.Sequential([
    tf.keras.Input((64, 64, 3)),
    layers.Conv2D(16, 5, strides=4, activation="relu"),
    layers.Conv2D(32, 3, strides=2, activation="relu"),
    layers.Flatten(),
    layers.Dense(10),
])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(train, epochs=EPOCHS, callbacks=[Says()], verbose=0)
