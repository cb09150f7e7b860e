# SPDX-License-Identifier: Apache-2.0
"""tfds.load, as the guides use it: supervised, with info, normalised, cached, shuffled, batched, into fit."""
import numpy as np
import tensorflow as tf
import tensorflow_datasets as tfds

(ds_train, ds_test), ds_info = tfds.load(
    "little_flowers",
    data_dir="tensorflow_datasets",
    split=["train", "test"],
    shuffle_files=True,
    as_supervised=True,
    with_info=True,
)
num_classes = ds_info.features["label"].num_classes


def normalize_img(image, label):
    image = tf.image.resize(image, (32, 32))
    return tf.cast(image, tf.float32) / 255.0, label


ds_train = ds_train.map(normalize_img, num_parallel_calls=tf.data.AUTOTUNE)
ds_train = ds_train.cache()
ds_train = ds_train.shuffle(ds_info.splits["train"].num_examples)
ds_train = ds_train.batch(12)
ds_train = ds_train.prefetch(tf.data.AUTOTUNE)
ds_test = ds_test.map(normalize_img, num_parallel_calls=tf.data.AUTOTUNE).batch(12).cache().prefetch(tf.data.AUTOTUNE)

model = tf.keras.models.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(num_classes)])
model.compile(optimizer="adam", loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
history = model.fit(ds_train, epochs=2, validation_data=ds_test, verbose=0)

results = {
    "exact.classes": [num_classes, ds_info.features["label"].int2str(1), ds_info.features["label"].names],
    "exact.examples": [ds_info.splits["train"].num_examples, ds_info.splits["test"].num_examples],
    "exact.spec": str(ds_train.element_spec),
    "exact.lengths": [len(ds_train), len(ds_test)],
    "exact.train": np.sort(np.concatenate([y for x, y in ds_train.as_numpy_iterator()])),
    "exact.test": np.sort(np.concatenate([y for x, y in ds_test.as_numpy_iterator()])),
    "exact.finite": bool(np.isfinite(history.history["val_loss"]).all()),
}
