# SPDX-License-Identifier: Apache-2.0
"""flow_from_directory with training and validation subsets of one folder."""

import numpy as np
import tensorflow as tf
from tensorflow.keras.preprocessing.image import ImageDataGenerator

train_datagen = ImageDataGenerator(
    rescale=1.0 / 255, shear_range=0.2, zoom_range=0.2, horizontal_flip=True, validation_split=0.25
)
train_generator = train_datagen.flow_from_directory(
    "flowers", target_size=(50, 50), batch_size=12, class_mode="categorical", subset="training"
)
validation_generator = train_datagen.flow_from_directory(
    "flowers", target_size=(50, 50), batch_size=12, class_mode="categorical", subset="validation"
)
print(train_generator.class_indices)

model = tf.keras.models.Sequential(
    [
        tf.keras.layers.Conv2D(8, (3, 3), strides=2, activation="relu", input_shape=(50, 50, 3)),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(3, activation="softmax"),
    ]
)
model.compile(
    loss="categorical_crossentropy", optimizer=tf.keras.optimizers.RMSprop(learning_rate=1e-3), metrics=["accuracy"]
)
history = model.fit(
    train_generator,
    steps_per_epoch=train_generator.samples // 12,
    epochs=2,
    validation_data=validation_generator,
    validation_steps=1,
    verbose=0,
)
x, y = next(train_generator)

results = {
    "exact.indices": train_generator.class_indices,
    "exact.samples": [train_generator.samples, validation_generator.samples, len(train_generator)],
    "exact.files": [train_generator.filenames, validation_generator.filenames],
    "exact.classes": validation_generator.classes,
    "exact.types": [x.shape, str(x.dtype), y.shape, str(y.dtype), train_generator.image_shape],
    "exact.one_hot": bool((y.sum(1) == 1).all()),
    "stat.mean": (np.mean([next(train_generator)[0].mean() for _ in range(8)]), 0.04),
    "exact.finite": bool(np.isfinite(history.history["loss"]).all()),
}
