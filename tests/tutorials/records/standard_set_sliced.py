# SPDX-License-Identifier: Apache-2.0
"""tfds.load with slices of splits, elements that are dicts, and the first pictures looked at."""
import tensorflow as tf
import tensorflow_datasets as tfds

ds = tfds.load("little_flowers", split="train", data_dir="tensorflow_datasets")
for example in ds.take(1):
    print(list(example.keys()))
    image, label = example["image"], example["label"]
first, rest = tfds.load(
    "little_flowers", split=["train[:30%]", "train[30%:]"], data_dir="tensorflow_datasets", as_supervised=True
)


def prepare(image, label):
    image = tf.image.resize_with_pad(image, 40, 40)
    return image / 127.5 - 1.0, tf.one_hot(label, 3)


batches = rest.map(prepare, tf.data.AUTOTUNE).batch(10)
images, labels = next(iter(batches))

results = {
    "exact.spec": str(ds.element_spec),
    "exact.image": image,
    "exact.label": label,
    "exact.ids": [example["id"].numpy() for example in ds],
    "exact.lengths": [len(ds), len(first), len(rest)],
    "exact.first": [y.numpy() for x, y in first],
    "exact.labels": [y for x, y in batches.as_numpy_iterator()],
    "close.pixels": images,
}
