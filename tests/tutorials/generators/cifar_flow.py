# SPDX-License-Identifier: Apache-2.0
"""ImageDataGenerator over arrays: fit, flow, and a model that trains on it."""

import numpy as np
import tensorflow as tf
from tensorflow.keras.preprocessing.image import ImageDataGenerator
from tensorflow.keras.utils import to_categorical

with np.load("cifar.npz") as data:
    x_train, y_train, x_test, y_test = data["x_train"], data["y_train"], data["x_test"], data["y_test"]
x_train, x_test = x_train.astype("float32") / 255, x_test.astype("float32") / 255
y_train, y_test = to_categorical(y_train, 10), to_categorical(y_test, 10)

datagen = ImageDataGenerator(
    rotation_range=15, width_shift_range=0.1, height_shift_range=0.1, horizontal_flip=True, zoom_range=0.1
)
datagen.fit(x_train)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(8, 3, strides=2, activation="relu", input_shape=x_train.shape[1:]),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
history = model.fit(
    datagen.flow(x_train, y_train, batch_size=32),
    steps_per_epoch=len(x_train) // 32,
    epochs=2,
    validation_data=(x_test, y_test),
    verbose=0,
)

flow = datagen.flow(x_train, y_train, batch_size=64, shuffle=False)
batches = [next(flow) for _ in range(len(flow))]
images = np.concatenate([x for x, y in batches])

results = {
    "exact.length": [len(flow), flow.n, flow.batch_size],
    "exact.labels": np.concatenate([y for x, y in batches]),
    "exact.types": [images.shape, str(images.dtype), str(batches[0][1].dtype)],
    "stat.mean": (images.mean(), 0.02),
    "stat.deviation": (images.std(), 0.02),
    "exact.changed": bool((np.abs(images - x_train).mean((1, 2, 3)) > 0.01).mean() > 0.9),
    "exact.finite": bool(np.isfinite(history.history["val_loss"]).all()),
}
