# SPDX-License-Identifier: Apache-2.0
"""A competition notebook: num_parallel_reads, no order, augment, repeat before shuffle, steps_per_epoch."""

import re
import numpy as np
import tensorflow as tf

AUTO = tf.data.experimental.AUTOTUNE
IMAGE_SIZE = [48, 48]
BATCH_SIZE = 16
TRAINING_FILENAMES = tf.io.gfile.glob("flowers-tfrec/*.tfrec")


def decode_image(image_data):
    image = tf.image.decode_jpeg(image_data, channels=3)
    image = tf.cast(image, tf.float32) / 255.0
    image = tf.image.resize(image, IMAGE_SIZE)
    image = tf.reshape(image, [*IMAGE_SIZE, 3])
    return image


def read_labeled_tfrecord(example):
    LABELED_TFREC_FORMAT = {"image": tf.io.FixedLenFeature([], tf.string), "class": tf.io.FixedLenFeature([], tf.int64)}
    example = tf.io.parse_single_example(example, LABELED_TFREC_FORMAT)
    return decode_image(example["image"]), tf.cast(example["class"], tf.int32)


def load_dataset(filenames, ordered=False):
    ignore_order = tf.data.Options()
    if not ordered:
        ignore_order.experimental_deterministic = False
    dataset = tf.data.TFRecordDataset(filenames, num_parallel_reads=AUTO)
    dataset = dataset.with_options(ignore_order)
    return dataset.map(read_labeled_tfrecord, num_parallel_calls=AUTO)


def data_augment(image, label):
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_saturation(image, 0, 2)
    return image, label


def get_training_dataset():
    dataset = load_dataset(TRAINING_FILENAMES)
    dataset = dataset.map(data_augment, num_parallel_calls=AUTO)
    dataset = dataset.repeat()
    dataset = dataset.shuffle(2048)
    dataset = dataset.batch(BATCH_SIZE)
    return dataset.prefetch(AUTO)


NUM = int(np.sum([int(re.compile(r"-([0-9]*)\.").search(name).group(1)) for name in TRAINING_FILENAMES]))
STEPS = NUM // BATCH_SIZE
train = get_training_dataset()
valid = load_dataset(sorted(TRAINING_FILENAMES), ordered=True).batch(BATCH_SIZE).cache().prefetch(AUTO)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Conv2D(4, 5, strides=3, activation="relu"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(3, activation="softmax"),
    ]
)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["sparse_categorical_accuracy"])
history = model.fit(train, steps_per_epoch=STEPS, epochs=2, validation_data=valid, verbose=0)
labels = np.concatenate([y for x, y in train.take(40).as_numpy_iterator()])
images, _ = next(iter(train.unbatch().batch(20)))

results = {
    "exact.cardinality": train.cardinality().numpy(),
    "exact.spec": str(train.element_spec),
    "exact.counts": np.bincount(np.concatenate([y for x, y in valid.as_numpy_iterator()])),
    "stat.labels": (np.bincount(labels, minlength=3) / len(labels), 0.08),
    "stat.mean": (float(tf.reduce_mean(images)), 0.06),
    "exact.shape": images.shape,
    "exact.finite": bool(np.isfinite(history.history["val_loss"]).all()),
}
