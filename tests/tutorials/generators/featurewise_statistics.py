# SPDX-License-Identifier: Apache-2.0
"""Feature-wise and sample-wise standardisation, standardize, and single transforms."""

import numpy as np
import tensorflow as tf

with np.load("cifar.npz") as data:
    x, y = data["x_train"], data["y_train"]
datagen = tf.keras.preprocessing.image.ImageDataGenerator(featurewise_center=True, featurewise_std_normalization=True)
datagen.fit(x)
batch, labels = next(datagen.flow(x, y, batch_size=100, shuffle=False))
sample = tf.keras.preprocessing.image.ImageDataGenerator(samplewise_center=True, samplewise_std_normalization=True)
centred = next(sample.flow(x, batch_size=50, shuffle=False))

turn = tf.keras.preprocessing.image.ImageDataGenerator(
    rotation_range=30, horizontal_flip=True, fill_mode="constant", cval=7
)
params = turn.get_random_transform((32, 32, 3), seed=3)
photo = x[0].astype("float32")
moved = turn.apply_transform(photo, {"theta": 20, "tx": 2, "ty": -3, "zx": 0.9, "zy": 1.1, "flip_horizontal": True})
split = tf.keras.preprocessing.image.ImageDataGenerator(validation_split=0.25)
part = split.flow(x, y, batch_size=16, subset="validation", shuffle=False)

results = {
    "close.mean": datagen.mean,
    "close.std": datagen.std,
    "close.batch": batch,
    "exact.labels": labels,
    "close.centred": centred,
    "close.standardized": datagen.standardize(x[:3].astype("float32")),
    "exact.keys": sorted(params),
    "exact.theta": bool(-30 <= params["theta"] <= 30),
    "close.moved": moved,
    "exact.part": [part.n, next(part)[1]],
}
