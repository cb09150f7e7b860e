# SPDX-License-Identifier: Apache-2.0
"""Arrays in memory, scaled, shuffled, batched and given to fit."""
import numpy as np
import tensorflow as tf

with np.load("mnist.npz") as data:
    train_examples, train_labels = data["x_train"], data["y_train"]
    test_examples, test_labels = data["x_test"], data["y_test"]

train_dataset = tf.data.Dataset.from_tensor_slices((train_examples / 255.0, train_labels))
test_dataset = tf.data.Dataset.from_tensor_slices((test_examples / 255.0, test_labels))
print(train_dataset.element_spec)

BATCH_SIZE = 64
SHUFFLE_BUFFER_SIZE = 100
train_dataset = train_dataset.shuffle(SHUFFLE_BUFFER_SIZE).batch(BATCH_SIZE)
test_dataset = test_dataset.batch(BATCH_SIZE)

model = tf.keras.Sequential([
    tf.keras.layers.Flatten(input_shape=(28, 28)),
    tf.keras.layers.Dense(32, activation="relu"),
    tf.keras.layers.Dense(10),
])
model.compile(optimizer=tf.keras.optimizers.Adam(0.01),
              loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
              metrics=["sparse_categorical_accuracy"])
history = model.fit(train_dataset, epochs=6, verbose=0)
loss, accuracy = model.evaluate(test_dataset, verbose=0)

labels = np.concatenate([y for x, y in train_dataset.as_numpy_iterator()])
first = next(iter(test_dataset))
results = {
    "exact.spec": str(train_dataset.element_spec),
    "exact.length": len(train_dataset),
    "exact.labels": np.sort(labels),
    "exact.first": [first[0].shape, first[0].dtype, first[1].numpy()],
    "close.pixels": first[0],
    "exact.learns": history.history["loss"][-1] < history.history["loss"][0],
    "stat.accuracy": (accuracy, 0.3),
}
