# SPDX-License-Identifier: Apache-2.0
"""Brightness, contrast, translation and crop layers in maps; each is looked at by its statistics."""
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

with np.load("cifar.npz") as data:
    x, y = data["x_train"], data["y_train"]
images = tf.data.Dataset.from_tensor_slices(x).map(lambda image: tf.cast(image, "float32")).batch(32)


def through(layer):
    ds = images.map(lambda batch: layer(batch, training=True), num_parallel_calls=tf.data.AUTOTUNE)
    return np.concatenate(list(ds.as_numpy_iterator()))


bright = through(layers.RandomBrightness(0.2))
contrast = through(layers.RandomContrast(0.3))
moved = through(layers.RandomTranslation(0.1, 0.1, fill_mode="nearest"))
zoomed = through(layers.RandomZoom((-0.2, 0.2)))
cropped = through(layers.RandomCrop(24, 24))
centre = through(layers.CenterCrop(24, 24))
resized = through(layers.Resizing(16, 20))
flipped = through(layers.RandomFlip("vertical"))
pixels = x.astype("float32")
turned = (flipped == pixels[:, ::-1]).all((1, 2, 3))

results = {
    "stat.bright": ((bright - pixels).mean(), 6.0),
    "stat.bright_spread": ((bright - pixels).mean((1, 2, 3)).std(), 6.0),
    "stat.contrast": (contrast.std() / pixels.std(), 0.08),
    "stat.moved": (moved.mean() - pixels.mean(), 4.0),
    "stat.zoomed": (zoomed.mean() - pixels.mean(), 4.0),
    "exact.shapes": [cropped.shape, centre.shape, resized.shape],
    "exact.centre": centre,
    "close.resized": resized,
    "stat.flipped": (turned.mean(), 0.15),
    "exact.flips": bool((turned | (flipped == pixels).all((1, 2, 3))).all()),
}
