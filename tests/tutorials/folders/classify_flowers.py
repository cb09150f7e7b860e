# SPDX-License-Identifier: Apache-2.0
"""image_dataset_from_directory with a validation split, cache, prefetch, and a small network."""

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers
from tensorflow.keras.models import Sequential

batch_size = 16
img_height = 48
img_width = 48
train_ds = tf.keras.utils.image_dataset_from_directory(
    "flowers",
    validation_split=0.25,
    subset="training",
    seed=123,
    image_size=(img_height, img_width),
    batch_size=batch_size,
)
val_ds = tf.keras.utils.image_dataset_from_directory(
    "flowers",
    validation_split=0.25,
    subset="validation",
    seed=123,
    image_size=(img_height, img_width),
    batch_size=batch_size,
)
class_names = train_ds.class_names
train_files, val_files = train_ds.file_paths, val_ds.file_paths
for image_batch, labels_batch in train_ds:
    print(image_batch.shape, labels_batch.shape)
    break

AUTOTUNE = tf.data.AUTOTUNE
train_ds = train_ds.cache().shuffle(1000).prefetch(buffer_size=AUTOTUNE)
val_ds = val_ds.cache().prefetch(buffer_size=AUTOTUNE)

model = Sequential(
    [
        layers.Rescaling(1.0 / 255, input_shape=(img_height, img_width, 3)),
        layers.Conv2D(8, 3, strides=2, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(len(class_names)),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(0.005),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
history = model.fit(train_ds, validation_data=val_ds, epochs=3, verbose=0)

results = {
    "exact.class_names": class_names,
    "exact.shapes": [image_batch.shape, image_batch.dtype, labels_batch.shape, labels_batch.dtype],
    "exact.train_files": sorted(train_files),
    "exact.val_files": sorted(val_files),
    "exact.val_labels": np.sort(np.concatenate([y for x, y in val_ds.as_numpy_iterator()])),
    "exact.lengths": [len(train_ds), len(val_ds)],
    "exact.epochs": len(history.history["val_accuracy"]),
    "exact.finite": bool(np.isfinite(history.history["val_loss"]).all()),
    "exact.learns": history.history["loss"][-1] < history.history["loss"][0],
}
