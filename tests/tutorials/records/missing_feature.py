# SPDX-License-Identifier: Apache-2.0
"""Bad records: a feature that is not there, and pictures that do not have one size."""
import tensorflow as tf

records = tf.data.TFRecordDataset("flowers-tfrec/" + sorted(tf.io.gfile.listdir("flowers-tfrec"))[0])
wrong = records.map(lambda r: tf.io.parse_single_example(r, {"picture": tf.io.FixedLenFeature([], tf.string)})).batch(4)
errors = []
try:
    next(iter(wrong))
except tf.errors.InvalidArgumentError as e:
    errors.append([type(e).__name__, "picture" in str(e)])

sizes = records.map(lambda r: tf.io.parse_single_example(r, {"image": tf.io.FixedLenFeature([], tf.string)})).map(
    lambda ex: tf.io.decode_jpeg(ex["image"], channels=3))
try:
    for batch in sizes.batch(8):
        print(batch.shape)
except tf.errors.InvalidArgumentError as e:
    errors.append(type(e).__name__)
try:
    next(iter(tf.data.TFRecordDataset("no-such-file.tfrecord").batch(2)))
except tf.errors.NotFoundError as e:
    errors.append(type(e).__name__)
try:
    tf.data.Dataset.list_files("nothing-here/*.jpg")
except tf.errors.InvalidArgumentError as e:
    errors.append(type(e).__name__)
try:
    tf.data.Dataset.from_tensor_slices(([1, 2, 3], [1, 2]))
except ValueError as e:
    errors.append(type(e).__name__)
try:
    records.map(lambda r: tf.io.decode_jpeg(r, channels=3)).map(lambda image: image + 1.5)
except (TypeError, ValueError) as e:
    errors.append(type(e).__name__)

results = {"raises": errors, "exact.number": len(errors)}
