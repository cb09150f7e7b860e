# SPDX-License-Identifier: Apache-2.0
"""cat.12.jpg: the label is a part of the file name, by regex_replace, regex_full_match, split and substr."""
import tensorflow as tf

files = tf.data.Dataset.list_files("cats_and_dogs/*.jpg", shuffle=False)


def by_regex(path):
    name = tf.strings.regex_replace(path, r"^.*/", "")
    kind = tf.strings.regex_replace(name, r"\..*$", "")
    label = tf.cast(tf.equal(kind, "dog"), tf.int32)
    image = tf.io.read_file(path)
    image = tf.image.decode_jpeg(image, channels=3)
    image = tf.image.resize(image, [32, 32])
    image = tf.image.per_image_standardization(image)
    return image, label


def by_match(path):
    return tf.strings.regex_full_match(path, ".*dog.*")


def by_split(path):
    name = tf.strings.split(path, "/")[-1]
    number = tf.strings.to_number(tf.strings.split(name, ".")[1], tf.int32)
    return tf.strings.substr(name, 0, 3), number


def by_condition(path):
    label = 1 if tf.strings.split(tf.strings.split(path, "/")[-1], ".")[0] == "dog" else 0
    return label


ds = files.map(by_regex, num_parallel_calls=tf.data.AUTOTUNE)
dogs = files.filter(by_match)
train = ds.shuffle(400, seed=1).batch(8)

results = {
    "close.pixels": next(iter(ds.batch(10)))[0],
    "exact.labels": [y for x, y in ds.batch(10).as_numpy_iterator()],
    "exact.match": [bool(x) for x in files.map(by_match)],
    "exact.split": [(a.numpy(), b.numpy()) for a, b in files.map(by_split)],
    "exact.condition": [x.numpy() for x in files.map(by_condition)],
    "exact.dogs": list(dogs.as_numpy_iterator()),
    "exact.total": sum(int(tf.reduce_sum(y)) for x, y in train),
    "exact.spec": str(train.element_spec),
}
