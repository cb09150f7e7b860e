# SPDX-License-Identifier: Apache-2.0
"""A Python generator with rows of different lengths, padded when batched."""
import numpy as np
import tensorflow as tf


def gen_series():
    i = 0
    rng = np.random.default_rng(3)
    while i < 30:
        size = rng.integers(0, 10)
        yield i, rng.normal(size=(size,))
        i += 1


def count(stop):
    i = 0
    while i < stop:
        yield i
        i += 1


ds_counter = tf.data.Dataset.from_generator(count, args=[25], output_types=tf.int32, output_shapes=())
counted = [batch.numpy() for batch in ds_counter.repeat().batch(10).take(4)]

ds_series = tf.data.Dataset.from_generator(gen_series, output_types=(tf.int32, tf.float32), output_shapes=((), (None,)))
ds_series_batch = ds_series.padded_batch(10)
ids, sequence_batch = next(iter(ds_series_batch))
signed = tf.data.Dataset.from_generator(
    gen_series, output_signature=(tf.TensorSpec((), tf.int32), tf.TensorSpec((None,), tf.float32)))
lengths = [int(tf.size(x)) for _, x in signed]

results = {
    "exact.counted": counted,
    "exact.spec": str(ds_series_batch.element_spec),
    "exact.ids": ids,
    "close.padded": sequence_batch,
    "exact.lengths": lengths,
    "exact.cardinality": ds_series.cardinality().numpy(),
}
