# SPDX-License-Identifier: Apache-2.0
"""Predictions of a whole folder in order, joined with the names of files."""

import numpy as np
import pandas as pd
import tensorflow as tf
from tensorflow.keras.preprocessing.image import ImageDataGenerator

test_datagen = ImageDataGenerator(rescale=1.0 / 255)
test_generator = test_datagen.flow_from_directory(
    "flowers",
    target_size=(32, 32),
    batch_size=10,
    class_mode=None,
    shuffle=False,
    classes=["daisy", "rose", "tulip"],
    interpolation="bilinear",
)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Flatten(input_shape=(32, 32, 3)),
        tf.keras.layers.Dense(3, activation="softmax", kernel_initializer=tf.keras.initializers.RandomNormal(seed=1)),
    ]
)
test_generator.reset()
pred = model.predict(test_generator, steps=len(test_generator), verbose=0)
predicted_class_indices = np.argmax(pred, axis=1)
labels = dict((v, k) for k, v in test_generator.class_indices.items())
table = pd.DataFrame(
    {"Filename": test_generator.filenames, "Predictions": [labels[k] for k in predicted_class_indices]}
)
print(table.head())

results = {
    "exact.files": table["Filename"].tolist(),
    "close.predictions": pred,
    "exact.classes": test_generator.classes,
    "exact.filepaths": [path.replace("\\", "/") for path in test_generator.filepaths[:4]],
    "close.pixels": test_generator[2],
    "exact.next": next(test_generator).shape,
}
