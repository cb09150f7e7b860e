# SPDX-License-Identifier: Apache-2.0
"""A model with two inputs and two outputs, fed by dicts."""

import numpy as np
import pandas as pd
import tensorflow as tf
from tensorflow.keras import layers

table = pd.read_csv("leaves.csv")
names = sorted(table["label"].unique())
paths = ("leaves/" + table["image_id"]).values
labels = table["label"].map({name: i for i, name in enumerate(names)}).values
weights = table["weight"].values.astype("float32")


def load(path, label, weight):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    image = tf.image.resize(image, [32, 32])
    image = tf.cast(image, tf.float32) / 255.0
    return {"image": image, "meta": tf.stack([weight, weight * 2])}, {"kind": label, "weight": weight}


ds = tf.data.Dataset.from_tensor_slices((paths, labels, weights)).map(load, num_parallel_calls=tf.data.AUTOTUNE)
train = ds.shuffle(100).batch(9).prefetch(tf.data.AUTOTUNE)
image = tf.keras.Input(shape=(32, 32, 3), name="image")
meta = tf.keras.Input(shape=(2,), name="meta")
x = layers.GlobalAveragePooling2D()(layers.Conv2D(4, 3, strides=2, activation="relu")(image))
x = layers.Concatenate()([x, meta])
model = tf.keras.Model(
    [image, meta], {"kind": layers.Dense(len(names), name="kind")(x), "weight": layers.Dense(1, name="weight")(x)}
)
model.compile(
    "adam",
    loss={"kind": tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), "weight": "mse"},
    loss_weights={"kind": 1.0, "weight": 0.5},
    metrics={"kind": ["accuracy"]},
)
history = model.fit(train, epochs=2, verbose=0)
first = next(iter(ds.batch(6)))

results = {
    "exact.spec": str(train.element_spec),
    "close.image": first[0]["image"],
    "exact.meta": first[0]["meta"],
    "exact.targets": [first[1]["kind"].numpy(), first[1]["weight"].numpy()],
    "exact.history": sorted(history.history),
    "exact.finite": bool(np.isfinite(history.history["loss"]).all()),
    "exact.labels": np.sort(np.concatenate([y["kind"] for x, y in train.as_numpy_iterator()])),
}
