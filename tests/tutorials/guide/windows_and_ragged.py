# SPDX-License-Identifier: Apache-2.0
"""Time series by batch, window and flat_map; rows of different lengths as ragged tensors."""

import tensorflow as tf

range_ds = tf.data.Dataset.range(1000)


def dense_1_step(batch):
    return batch[:-1], batch[1:]


batches = range_ds.batch(10, drop_remainder=True)
predicted = [(f.numpy(), l.numpy()) for f, l in batches.map(dense_1_step).take(3)]


def make_window_dataset(ds, window_size=5, shift=1, stride=1):
    windows = ds.window(window_size, shift=shift, stride=stride)

    def sub_to_batch(sub):
        return sub.batch(window_size, drop_remainder=True)

    return windows.flat_map(sub_to_batch)


ds = make_window_dataset(range_ds, window_size=10, shift=5, stride=3)
dense_labels_ds = ds.map(dense_1_step)

ragged = tf.data.Dataset.range(6).map(lambda x: tf.range(x)).ragged_batch(3)
padded = (
    tf.data.Dataset.range(100).map(lambda x: tf.fill([tf.cast(x, tf.int32)], x)).padded_batch(4, padded_shapes=(None,))
)
fixed = (
    tf.data.Dataset.range(1, 5)
    .map(lambda x: tf.fill([x], x))
    .padded_batch(2, padded_shapes=(6,), padding_values=tf.constant(-1, tf.int64))
)

results = {
    "exact.predicted": predicted,
    "exact.windows": [x.numpy() for x in ds.take(10)],
    "exact.steps": [(x.numpy(), y.numpy()) for x, y in dense_labels_ds.take(3)],
    "exact.ragged": [x.to_list() for x in ragged],
    "exact.padded": [x.numpy() for x in padded.take(3)],
    "exact.fixed": [x.numpy() for x in fixed],
    "exact.rebatched": [x.numpy() for x in batches.take(2).rebatch(7)],
}
