# SPDX-License-Identifier: Apache-2.0
"""The notebook of a flower contest: shards without an order, mixup by a loop over the batch, a matrix that turns and shears,
ids for the submission."""
import math

import numpy as np
import tensorflow as tf

AUTO = tf.data.experimental.AUTOTUNE
FILES, SIZE, BATCH, CLASSES = tf.io.gfile.glob("flowers-tfrec/*.tfrec"), 64, 8, 3


def read(example, feature, kind):
    found = tf.io.parse_single_example(example, {"image": tf.io.FixedLenFeature([], tf.string),
                                                 feature: tf.io.FixedLenFeature([], kind)})
    image = tf.cast(tf.image.decode_jpeg(found["image"], channels=3), tf.float32) / 255.0
    return tf.reshape(tf.image.resize(image, [SIZE, SIZE]), [SIZE, SIZE, 3]), found[feature]


def load(feature, kind, ordered=False):
    options = tf.data.Options()
    if not ordered:
        options.experimental_deterministic = False
    records = tf.data.TFRecordDataset(FILES, num_parallel_reads=AUTO).with_options(options)
    return records.map(lambda example: read(example, feature, kind), num_parallel_calls=AUTO)


def turn(image, label):
    angle, shear = (math.pi / 180 * each * tf.random.normal([], dtype=tf.float32) for each in (15.0, 5.0))
    rotation = tf.reshape([tf.cos(angle), tf.sin(angle), -tf.sin(angle), tf.cos(angle)], [2, 2])
    matrix = rotation @ tf.reshape([1.0, tf.sin(shear), 0.0, tf.cos(shear)], [2, 2])
    rows, columns = tf.meshgrid(tf.range(SIZE) - SIZE // 2, tf.range(SIZE) - SIZE // 2, indexing="ij")
    places = matrix @ tf.cast(tf.stack([tf.reshape(rows, [-1]), tf.reshape(columns, [-1])]), tf.float32)
    places = tf.clip_by_value(tf.cast(places, tf.int32) + SIZE // 2, 0, SIZE - 1)
    return tf.reshape(tf.gather_nd(image, tf.transpose(places)), [SIZE, SIZE, 3]), label


def mixup(images, labels):
    mixed, targets = [], []
    for j in range(BATCH):
        k, share = tf.random.uniform([], 0, BATCH, tf.int32), tf.random.uniform([])
        mixed.append((1 - share) * images[j] + share * images[k])
        targets.append((1 - share) * tf.one_hot(labels[j], CLASSES) + share * tf.one_hot(labels[k], CLASSES))
    return tf.reshape(tf.stack(mixed), [BATCH, SIZE, SIZE, 3]), tf.reshape(tf.stack(targets), [BATCH, CLASSES])


train = load("class", tf.int64).map(turn, num_parallel_calls=AUTO).repeat().shuffle(256).batch(BATCH)
train = train.map(mixup, num_parallel_calls=AUTO).prefetch(AUTO)
batches = [(images.numpy(), labels.numpy()) for images, labels in train.take(27)]  # three epochs
plain = np.mean([image.numpy().mean() for image, _ in load("class", tf.int64)])
results = {"exact.spec": str(train.element_spec), "exact.shapes": [images.shape for images, _ in batches],
           "stat.mean": [np.mean([images.mean() for images, _ in batches]) - plain, 0.03],
           "stat.targets": [np.sum([labels for _, labels in batches], (0, 1)) / (27 * BATCH), 0.1],
           "close.sums": np.sum([labels for _, labels in batches], axis=2)}

test = load("id", tf.string, ordered=True).batch(BATCH)
ids = next(iter(test.map(lambda image, name: name).unbatch().batch(100))).numpy().astype("U")
results["exact.ids"] = sorted(ids.tolist())
results["exact.images"] = [image.shape[0] for image in test.map(lambda image, name: image)]
