# SPDX-License-Identifier: Apache-2.0
"""Mixed precision: layers in the map compute in float16, the model too."""
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers, mixed_precision

mixed_precision.set_global_policy("mixed_float16")
try:
    train_ds = keras.utils.image_dataset_from_directory("flowers", image_size=(40, 40), batch_size=24, shuffle=False)
    rescale = layers.Rescaling(1. / 255)
    augmentation = keras.Sequential([layers.RandomFlip("horizontal"), layers.RandomContrast(0.1)])
    scaled = train_ds.map(lambda x, y: (rescale(x), y))
    augmented = train_ds.map(lambda x, y: (augmentation(x, training=True), y), num_parallel_calls=tf.data.AUTOTUNE)
    halved = train_ds.map(lambda x, y: (tf.cast(x, tf.float16) / 255, y))
    inputs = keras.Input(shape=(40, 40, 3))
    x = layers.Conv2D(4, 3, strides=2, activation="relu")(inputs)
    x = layers.GlobalAveragePooling2D()(x)
    outputs = layers.Dense(3, activation="softmax", dtype="float32")(x)
    model = keras.Model(inputs, outputs)
    model.compile("adam", "sparse_categorical_crossentropy")
    history = model.fit(scaled.prefetch(2), epochs=2, verbose=0)
    images = next(iter(augmented))[0]
finally:
    mixed_precision.set_global_policy("float32")

results = {
    "exact.specs": [str(ds.element_spec) for ds in (scaled, augmented, halved)],
    "close.scaled": next(iter(scaled))[0],
    "close.halved": next(iter(halved))[0],
    "exact.dtype": [images.dtype, images.shape],
    "stat.mean": (images.numpy().astype("float32").mean(), 12.0),
    "exact.finite": bool(np.isfinite(history.history["loss"]).all()),
}
