# SPDX-License-Identifier: Apache-2.0
"""Augmentation layers in a map behind batch, with AUTOTUNE and prefetch."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

IMG_SIZE = 48
batch_size = 24
AUTOTUNE = tf.data.AUTOTUNE
train_ds = tf.keras.utils.image_dataset_from_directory("flowers", image_size=(60, 64), batch_size=None, shuffle=False)
resize_and_rescale = tf.keras.Sequential([layers.Resizing(IMG_SIZE, IMG_SIZE), layers.Rescaling(1.0 / 255)])
data_augmentation = tf.keras.Sequential(
    [layers.RandomFlip("horizontal"), layers.RandomRotation(0.2, fill_mode="reflect")]
)


def prepare(ds, shuffle=False, augment=False):
    ds = ds.map(lambda x, y: (resize_and_rescale(x), y), num_parallel_calls=AUTOTUNE)
    if shuffle:
        ds = ds.shuffle(1000)
    ds = ds.batch(batch_size)
    if augment:
        ds = ds.map(lambda x, y: (data_augmentation(x, training=True), y), num_parallel_calls=AUTOTUNE)
    return ds.prefetch(buffer_size=AUTOTUNE)


plain = prepare(train_ds)
augmented = prepare(train_ds, augment=True)
shuffled = prepare(train_ds, shuffle=True, augment=True)
model = tf.keras.Sequential(
    [layers.Conv2D(4, 3, strides=2, activation="relu"), layers.GlobalMaxPooling2D(), layers.Dense(3)]
)
model.compile("adam", loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
history = model.fit(shuffled, epochs=2, verbose=0)
first, changed = next(iter(plain))[0].numpy(), next(iter(augmented))[0].numpy()

results = {
    "exact.spec": str(augmented.element_spec),
    "close.pixels": first,
    "exact.labels": [y for x, y in augmented.as_numpy_iterator()],
    "exact.changed": bool((np.abs(first - changed).mean((1, 2, 3)) > 0.01).mean() > 0.5),
    "stat.mean": (changed.mean((0, 1, 2)), 0.03),
    "stat.deviation": (changed.std(), 0.03),
    "exact.finite": bool(np.isfinite(history.history["loss"]).all()),
}
