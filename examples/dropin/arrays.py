# SPDX-License-Identifier: Apache-2.0
"""Pictures of 32x32 in memory with Keras: ImageDataGenerator and fit, as for CIFAR-10.

    python arrays.py FILE.npz EPOCHS

With leat, one line is another one: `import leat.tf as tf`.
"""
import sys

import numpy
import tensorflow as tf
from says import Says

FILE, EPOCHS = sys.argv[1], int(sys.argv[2])
layers = tf.keras.layers

tf.keras.utils.set_random_seed(1)
data = numpy.load(FILE)
generator = tf.keras.preprocessing.image.ImageDataGenerator(
    rotation_range=15, width_shift_range=0.1, height_shift_range=0.1, zoom_range=0.1, horizontal_flip=True, rescale=1 / 255)
train = generator.flow(data["x"], data["y"], batch_size=64)
model = tf.keras.Sequential([
    tf.keras.Input((32, 32, 3)),
    layers.Conv2D(16, 3, strides=2, activation="relu"),
    layers.Conv2D(32, 3, strides=2, activation="relu"),
    layers.Flatten(),
    layers.Dense(10),
])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(train, epochs=EPOCHS, callbacks=[Says()], verbose=0)
