# SPDX-License-Identifier: Apache-2.0
"""keras.ops and keras.random in map functions, with `import keras` beside TensorFlow."""
import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

with np.load("cifar.npz") as data:
    x, y = data["x_train"], data["y_train"][:, 0]


def prepare(image, label):
    image = ops.cast(image, "float32") / 255.0
    image = ops.subtract(image, 0.5)
    return ops.flip(image, axis=1), ops.one_hot(label, 10)


noise_seed = keras.random.SeedGenerator(7)


def noisy(image, label):
    return image + keras.random.normal(ops.shape(image), stddev=0.1, seed=noise_seed), label


ds = tf.data.Dataset.from_tensor_slices((x, y)).map(prepare, num_parallel_calls=tf.data.AUTOTUNE)
batched = ds.batch(40)
resized = batched.map(lambda image, label: (ops.image.resize(image, (20, 24)), label))
noised = ds.map(noisy).batch(40)
model = keras.Sequential([layers.Input((32, 32, 3)), layers.Flatten(), layers.Dense(10, activation="softmax")])
model.compile("adam", "categorical_crossentropy")
history = model.fit(noised, epochs=1, verbose=0)
difference = np.concatenate([a - b for (a, _), (b, _) in zip(noised.as_numpy_iterator(), batched.as_numpy_iterator())])

results = {
    "exact.spec": [str(batched.element_spec), str(resized.element_spec)],
    "close.pixels": next(iter(batched))[0],
    "close.resized": next(iter(resized))[0],
    "exact.labels": [label for image, label in batched.as_numpy_iterator()],
    "stat.noise": ([difference.mean(), difference.std()], 0.01),
    "exact.finite": bool(np.isfinite(history.history["loss"][0])),
}
