# SPDX-License-Identifier: Apache-2.0
"""repeat with steps_per_epoch, and callbacks that count batches."""

import numpy as np
import tensorflow as tf

with np.load("cifar.npz") as data:
    x, y = data["x_train"], data["y_train"].flatten()
BATCH = 25


def augment(image, label):
    image = tf.image.resize_with_crop_or_pad(image, 36, 36)
    image = tf.image.random_crop(image, size=[32, 32, 3])
    image = tf.image.random_flip_left_right(image)
    return tf.cast(image, tf.float32) / 255.0, label


train = (
    tf.data.Dataset.from_tensor_slices((x, y))
    .shuffle(len(x))
    .repeat()
    .map(augment, num_parallel_calls=tf.data.AUTOTUNE)
    .batch(BATCH)
    .prefetch(tf.data.AUTOTUNE)
)
valid = (
    tf.data.Dataset.from_tensor_slices((x, y))
    .map(lambda i, l: (tf.cast(i, tf.float32) / 255.0, l))
    .batch(BATCH)
    .repeat()
)


class Count(tf.keras.callbacks.Callback):
    batches = 0

    def on_train_batch_end(self, batch, logs=None):
        Count.batches += 1


model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
history = model.fit(
    train, steps_per_epoch=7, epochs=3, validation_data=valid, validation_steps=4, callbacks=[Count()], verbose=0
)
steps = -(-len(x) // BATCH)
seen = [image for image, label in train.take(steps).as_numpy_iterator()]
pixels = np.concatenate(seen)

results = {
    "exact.batches": Count.batches,
    "exact.cardinality": [train.cardinality().numpy(), valid.cardinality().numpy()],
    "exact.shapes": [image.shape for image in seen],
    "exact.finite": bool(np.isfinite(history.history["val_loss"]).all()),
    "stat.mean": (pixels.mean(), 0.02),
    "stat.black": ((pixels == 0).mean(), 0.03),
    "exact.evaluated": len(model.evaluate(valid, steps=3, verbose=0)),
}
