# SPDX-License-Identifier: Apache-2.0
"""A folder of photos with Keras: image_dataset_from_directory, and augmentation layers in the model.

    python photos.py FOLDER EPOCHS

With leat, one line is another one: `import leat.tf as tf`.
"""
import sys

import tensorflow as tf
from says import Says

FOLDER, EPOCHS = sys.argv[1], int(sys.argv[2])
layers = tf.keras.layers

tf.keras.utils.set_random_seed(1)
train = tf.keras.utils.image_dataset_from_directory(FOLDER, image_size=(96, 96), batch_size=32, seed=1)
train = train.prefetch(tf.data.AUTOTUNE)
model = tf.keras.Sequential([
    tf.keras.Input((96, 96, 3)),
    layers.RandomFlip("horizontal"),
    layers.RandomRotation(0.05),
    layers.RandomZoom(0.1),
    layers.Rescaling(1 / 255),
    layers.Conv2D(16, 5, strides=3, activation="relu"),
    layers.Conv2D(32, 3, strides=2, activation="relu"),
    layers.Flatten(),
    layers.Dense(10),
])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(train, epochs=EPOCHS, callbacks=[Says()], verbose=0)
