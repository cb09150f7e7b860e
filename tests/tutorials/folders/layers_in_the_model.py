# SPDX-License-Identifier: Apache-2.0
"""Augmentation layers at the top of the model: active in fit, silent in evaluate and predict."""

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

train_ds = keras.utils.image_dataset_from_directory(
    "flowers", image_size=(40, 40), batch_size=24, label_mode="categorical", seed=1
)
test_ds = keras.utils.image_dataset_from_directory(
    "flowers", image_size=(40, 40), batch_size=24, label_mode="categorical", shuffle=False
)
data_augmentation = keras.Sequential(
    [
        layers.RandomFlip("horizontal"),
        layers.RandomRotation(0.1),
        layers.RandomZoom(0.1),
    ]
)
inputs = keras.Input(shape=(40, 40, 3))
x = data_augmentation(inputs)
x = layers.Rescaling(1.0 / 255)(x)
x = layers.Conv2D(8, 3, strides=2, activation="relu")(x)
x = layers.GlobalAveragePooling2D()(x)
outputs = layers.Dense(3, activation="softmax")(x)
model = keras.Model(inputs, outputs)
model.compile(keras.optimizers.Adam(0.01), loss="categorical_crossentropy", metrics=["accuracy"])
history = model.fit(train_ds, epochs=3, validation_data=test_ds, verbose=0)
once, again = model.predict(test_ds, verbose=0), model.predict(test_ds, verbose=0)

results = {
    "exact.shape": once.shape,
    "exact.silent": bool(np.allclose(once, again)),
    "exact.finite": bool(np.isfinite(history.history["loss"]).all()),
    "exact.labels": [y for x, y in test_ds.as_numpy_iterator()],
    "exact.keys": sorted(history.history),
}
