# SPDX-License-Identifier: Apache-2.0
"""Photos listed by a pattern; the label is the name of the folder, read with strings.split."""
import os
import pathlib
import tensorflow as tf

flowers_root = pathlib.Path("flowers")
list_ds = tf.data.Dataset.list_files(str(flowers_root / "*/*"), shuffle=False)
for f in list_ds.take(3):
    print(f.numpy())


def process_path(file_path):
    label = tf.strings.split(file_path, os.sep)[-2]
    return tf.io.read_file(file_path), label


labeled_ds = list_ds.map(process_path)
for image_raw, label_text in labeled_ds.take(1):
    header = image_raw.numpy()[:20]


def parse_image(filename):
    parts = tf.strings.split(filename, os.sep)
    label = parts[-2]
    image = tf.io.read_file(filename)
    image = tf.io.decode_jpeg(image)
    image = tf.image.convert_image_dtype(image, tf.float32)
    image = tf.image.resize(image, [64, 64])
    return image, label


images_ds = list_ds.map(parse_image)
images, labels = [], []
for image, label in images_ds.take(30):
    images.append(image.numpy())
    labels.append(label.numpy())
shuffled = tf.data.Dataset.list_files(str(flowers_root / "*/*"))

results = {
    "exact.header": header,
    "exact.count": len(list_ds),
    "exact.paths": list(list_ds.as_numpy_iterator()),
    "exact.labels": labels,
    "exact.spec": str(images_ds.element_spec),
    "close.pixels": images,
    "exact.shuffled": sorted(shuffled.as_numpy_iterator()),
    "exact.moved": list(shuffled.as_numpy_iterator()) != list(list_ds.as_numpy_iterator()),
}
