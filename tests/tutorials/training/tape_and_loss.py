# SPDX-License-Identifier: Apache-2.0
"""A training loop from scratch: GradientTape, a loss of one's own, metrics, enumerate, validation."""
import numpy as np
import tensorflow as tf
from tensorflow import keras

with np.load("mnist.npz") as data:
    x_train, y_train, x_val, y_val = data["x_train"], data["y_train"], data["x_test"], data["y_test"]
x_train = np.reshape(x_train, (-1, 784)).astype("float32") / 255
x_val = np.reshape(x_val, (-1, 784)).astype("float32") / 255
train_dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(buffer_size=1024).batch(64)
val_dataset = tf.data.Dataset.from_tensor_slices((x_val, y_val)).batch(64)

inputs = keras.Input(shape=(784,))
x = keras.layers.Dense(16, activation="relu")(inputs)
model = keras.Model(inputs=inputs, outputs=keras.layers.Dense(10)(x))
optimizer = keras.optimizers.Adam(learning_rate=1e-2)
val_acc_metric = keras.metrics.SparseCategoricalAccuracy()


def focal_loss(y_true, y_pred, gamma=2.0):
    p = tf.nn.softmax(y_pred)
    p_true = tf.reduce_sum(p * tf.one_hot(tf.cast(y_true, tf.int32), 10), -1)
    return tf.reduce_mean(-tf.pow(1 - p_true, gamma) * tf.math.log(p_true + 1e-7))


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss_value = focal_loss(y, model(x, training=True))
    grads = tape.gradient(loss_value, model.trainable_weights)
    optimizer.apply_gradients(zip(grads, model.trainable_weights))
    return loss_value


losses, steps = [], []
for epoch in range(3):
    for step, (x_batch_train, y_batch_train) in enumerate(train_dataset):
        losses.append(float(train_step(x_batch_train, y_batch_train)))
    steps.append(step)
    for x_batch_val, y_batch_val in val_dataset:
        val_acc_metric.update_state(y_batch_val, model(x_batch_val, training=False))
for step, (x_batch, y_batch) in train_dataset.enumerate():
    last = int(step)

results = {
    "exact.steps": steps + [last],
    "exact.dtypes": [x_batch.dtype, y_batch.dtype],
    "exact.learns": bool(np.mean(losses[-3:]) < np.mean(losses[:3])),
    "stat.accuracy": (float(val_acc_metric.result()), 0.35),
    "exact.val_labels": [y.numpy() for x, y in val_dataset],
}
