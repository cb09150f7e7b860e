# SPDX-License-Identifier: Apache-2.0
"""A CSV file as columns of a pandas table, and as make_csv_dataset and CsvDataset read it."""
import pandas as pd
import tensorflow as tf

df = pd.read_csv("titanic.csv")
titanic_slices = tf.data.Dataset.from_tensor_slices(dict(df))
for feature_batch in titanic_slices.take(1):
    for key, value in feature_batch.items():
        print("  {!r:20s}: {}".format(key, value))

titanic_batches = tf.data.experimental.make_csv_dataset("titanic.csv", batch_size=4, label_name="survived",
                                                        select_columns=["class", "fare", "survived"], shuffle=False)
features, labels = next(iter(titanic_batches))

titanic_types = [tf.int32, tf.string, tf.float32, tf.int32, tf.float32, tf.string, tf.string]
records = tf.data.experimental.CsvDataset("titanic.csv", titanic_types, header=True)

target = df.pop("survived")
numeric = df[["age", "fare"]].astype("float32")
dataset = tf.data.Dataset.from_tensor_slices((numeric.values, target.values)).batch(32)
normalizer = tf.keras.layers.Normalization()
normalizer.adapt(dataset.map(lambda x, y: x))
model = tf.keras.Sequential([normalizer, tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(1)])
model.compile("adam", tf.keras.losses.BinaryCrossentropy(from_logits=True))
history = model.fit(dataset, epochs=2, verbose=0)

results = {
    "exact.spec": str(titanic_slices.element_spec),
    "exact.first": {key: value.numpy() for key, value in next(iter(titanic_slices)).items()},
    "exact.csv": [features["class"].numpy(), features["fare"].numpy(), labels.numpy()],
    "exact.records": [[field.numpy() for field in line] for line in records.take(5)],
    "close.mean": normalizer.mean,
    "exact.finite": bool(tf.math.is_finite(history.history["loss"][-1])),
    "exact.labels": [y for x, y in dataset.as_numpy_iterator()],
}
