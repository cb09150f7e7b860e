# SPDX-License-Identifier: Apache-2.0
"""Two ways to balance classes: sampling from data sets, and rejection_resample."""
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
y = (rng.uniform(size=4000) < 0.1).astype("int32")
x = rng.normal(size=(4000, 3)).astype("float32") + y[:, None]
creditcard_ds = tf.data.Dataset.from_tensor_slices((x, y))

negative_ds = creditcard_ds.filter(lambda features, label: label == 0).repeat()
positive_ds = creditcard_ds.filter(lambda features, label: label == 1).repeat()
balanced_ds = tf.data.Dataset.sample_from_datasets([negative_ds, positive_ds], [0.5, 0.5]).batch(50)
sampled = np.concatenate([labels.numpy() for features, labels in balanced_ds.take(40)])


def class_func(features, label):
    return label


resample_ds = creditcard_ds.rejection_resample(class_func, target_dist=[0.5, 0.5], initial_dist=[0.9, 0.1])
balanced2 = resample_ds.map(lambda extra_label, features_and_label: features_and_label).batch(50)
resampled = np.concatenate([labels.numpy() for features, labels in balanced2])
features, labels = next(iter(balanced_ds))

results = {
    "exact.shapes": [features.shape, labels.shape, features.dtype, labels.dtype],
    "stat.sampled": (sampled.mean(), 0.05),
    "stat.resampled": (resampled.mean(), 0.15),
    "exact.positives": creditcard_ds.reduce(0, lambda n, row: n + row[1]).numpy(),
}
