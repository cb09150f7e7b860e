# SPDX-License-Identifier: Apache-2.0
"""Functions of tf.data.experimental that build data sets themselves: here they call the verbs of the data set they get, so
that these can be lowered. All others of tf.data.experimental are TensorFlow's own."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf  # type: ignore[import-not-found, import-untyped, unused-ignore]

from .dataset import LOWERED, Dataset
from .modes import eager

Apply = Callable[[Any], Any]

sample_from_datasets = Dataset.sample_from_datasets


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Apply:
    """`ds.apply(shuffle_and_repeat(n))` is `ds.shuffle(n).repeat()`."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def map_and_batch(map_func: Any, batch_size: Any, num_parallel_batches: Any = None, drop_remainder: Any = False,
                  num_parallel_calls: Any = None) -> Apply:
    """`ds.apply(map_and_batch(f, n))` is `ds.map(f).batch(n)`."""
    calls = tf.data.AUTOTUNE if num_parallel_calls is None else num_parallel_calls
    return lambda dataset: dataset.map(map_func, num_parallel_calls=calls).batch(batch_size, drop_remainder)


def parallel_interleave(map_func: Any, cycle_length: Any, block_length: Any = 1, sloppy: Any = False,
                        buffer_output_elements: Any = None, prefetch_input_elements: Any = None) -> Apply:
    """`ds.apply(parallel_interleave(f, n))` is `ds.interleave(f, n, num_parallel_calls=n)`."""
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length, num_parallel_calls=cycle_length,
                                              deterministic=not sloppy)


def assert_cardinality(expected_cardinality: Any) -> Apply:
    """The length of a data set that TensorFlow cannot know. Another length is an error, when the data set is opened."""
    theirs = tf.data.experimental.assert_cardinality(expected_cardinality)

    def asserted(dataset: Any) -> Any:
        if type(dataset) not in LOWERED or not eager() or isinstance(expected_cardinality, tf.Tensor):
            return theirs(dataset)
        chain = dataset._chain
        if chain.batched or chain.limit is not None or int(expected_cardinality) <= 0:
            return theirs(dataset)
        n = int(expected_cardinality)
        return Dataset._over(chain.with_(cardinality=n, asserted=((chain, n), *chain.asserted)), lambda: theirs(dataset),
                             (dataset,))
    return asserted


def cardinality(dataset: Any) -> Any:
    """Elements of a data set: -1 without end, -2 unknown."""
    return dataset.cardinality() if type(dataset) in LOWERED else tf.data.experimental.cardinality(dataset)
