# SPDX-License-Identifier: Apache-2.0
"""fit, evaluate and predict on one pipeline; metrics agree with a loop by hand; predictions are in order."""

import numpy as np
import tensorflow as tf

ds = tf.keras.utils.image_dataset_from_directory(
    "digits", image_size=(28, 28), color_mode="grayscale", batch_size=16, shuffle=False
)
scaled = ds.map(lambda x, y: (x / 255.0, y)).cache().prefetch(tf.data.AUTOTUNE)
tf.keras.utils.set_random_seed(3)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(4, kernel_initializer=tf.keras.initializers.RandomNormal(stddev=0.1, seed=5)),
    ]
)
model.compile(
    tf.keras.optimizers.SGD(0.1), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"]
)
history = model.fit(scaled, epochs=3, verbose=0)
loss, accuracy = model.evaluate(scaled, verbose=0)
predictions = model.predict(scaled, verbose=0)
y_true = np.concatenate([y for x, y in scaled], axis=0)
by_hand = np.mean(predictions.argmax(-1) == y_true)
inputs_only = model.predict(scaled.map(lambda x, y: x), verbose=0)
confusion = tf.math.confusion_matrix(y_true, predictions.argmax(-1), 4)

results = {
    "exact.labels": y_true,
    "close.losses": history.history["loss"],
    "close.evaluated": [loss, accuracy],
    "close.predictions": predictions,
    "exact.agree": bool(np.isclose(by_hand, accuracy)),
    "close.inputs_only": inputs_only,
    "exact.confusion": confusion,
}
