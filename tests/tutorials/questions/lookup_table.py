# SPDX-License-Identifier: Apache-2.0
"""Names of classes become numbers by a StaticHashTable, by argmax over a comparison, and by StringLookup."""
import os
import tensorflow as tf

class_names = sorted(name for name in os.listdir("flowers") if name != "LICENSE.txt")
table = tf.lookup.StaticHashTable(
    tf.lookup.KeyValueTensorInitializer(class_names, tf.range(len(class_names), dtype=tf.int64)), default_value=-1)
lookup = tf.keras.layers.StringLookup(vocabulary=class_names, num_oov_indices=0)
files = tf.data.Dataset.list_files("flowers/*/*.jpg", shuffle=False)


def get_label(file_path):
    parts = tf.strings.split(file_path, os.path.sep)
    one_hot = parts[-2] == class_names
    return tf.argmax(one_hot)


def decode_img(img):
    img = tf.io.decode_jpeg(img, channels=3)
    return tf.image.resize(img, [36, 36])


def process_path(file_path):
    label = table.lookup(tf.strings.split(file_path, os.path.sep)[-2])
    img = decode_img(tf.io.read_file(file_path))
    return img, label


ds = files.map(process_path, num_parallel_calls=tf.data.AUTOTUNE)
batched = ds.batch(24).prefetch(tf.data.AUTOTUNE)
by_argmax = files.map(get_label)
by_layer = files.map(lambda path: lookup(tf.strings.split(path, "/")[-2]))

results = {
    "exact.labels": [y for x, y in batched.as_numpy_iterator()],
    "close.pixels": next(iter(batched))[0],
    "exact.argmax": [x.numpy() for x in by_argmax],
    "exact.layer": [x.numpy() for x in by_layer],
    "exact.spec": [str(batched.element_spec), str(by_argmax.element_spec)],
}
