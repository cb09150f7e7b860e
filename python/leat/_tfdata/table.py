# SPDX-License-Identifier: Apache-2.0
"""What happens to a name of tf.data. scripts/dropin.py prints this table into docs/dropin-data.md, and a test has an example for
each row.

engine      leat's engine
TensorFlow  TensorFlow's own, over the engine's batches if it stands behind batch, otherwise with the whole chain
"""
from __future__ import annotations

ENGINE, OTHERS = "engine", "TensorFlow"

_SOURCES = {
    "from_tensor_slices": (ENGINE, "arrays, lists, tensors, strings, in tuples and dicts; ragged and sparse tensors are TensorFlow's"),
    "from_tensors": (ENGINE, ""),
    "range": (ENGINE, "up to 16 million numbers"),
    "list_files": (ENGINE, ""),
    "zip": (ENGINE, "of data sets of samples with sources of their own"),
    "sample_from_datasets": (ENGINE, "of data sets with the same fields; proportions are exact in blocks of 4096"),
    "choose_from_datasets": (OTHERS, ""),
    "from_generator": (OTHERS, "Python for every element"),
    "random": (OTHERS, ""),
    "counter": (OTHERS, ""),
    "load": (OTHERS, ""),
}
_VERBS = {
    "map": (ENGINE, "as far as the function is in the other table"),
    "filter": (ENGINE, "the same"),
    "batch": (ENGINE, "a second batch is TensorFlow's"),
    "padded_batch": (ENGINE, "up to the longest of the batch along the first axis"),
    "unbatch": (ENGINE, "right behind batch"),
    "shuffle": (ENGINE, "of all samples; behind repeat, windows of the buffer's size; behind batch, of all batches, and a shorter last one stays the last"),
    "repeat": (ENGINE, ""),
    "take": (ENGINE, ""),
    "skip": (ENGINE, ""),
    "shard": (ENGINE, "behind batch it is TensorFlow's"),
    "enumerate": (ENGINE, "of arrays, before verbs that change the order"),
    "concatenate": (ENGINE, "of data sets with the same fields"),
    "cache": (ENGINE, "once in a chain, in memory; in a file for sources that are files"),
    "prefetch": (ENGINE, "the engine works ahead by itself"),
    "interleave": (ENGINE, "over file names, when the function opens a TFRecord file"),
    "flat_map": (ENGINE, "the same"),
    "apply": (ENGINE, "what the function calls"),
    "with_options": (ENGINE, "threading.private_threadpool_size is the number of threads; order is always kept"),
    "as_numpy_iterator": (ENGINE, ""),
    "cardinality": (ENGINE, ""),
    "rejection_resample": (OTHERS, ""),
    "bucket_by_sequence_length": (OTHERS, ""),
    "group_by_window": (OTHERS, ""),
    "ignore_errors": (OTHERS, ""),
    "ragged_batch": (OTHERS, ""),
    "sparse_batch": (OTHERS, ""),
    "rebatch": (OTHERS, ""),
    "reduce": (OTHERS, ""),
    "scan": (OTHERS, ""),
    "take_while": (OTHERS, ""),
    "unique": (OTHERS, ""),
    "window": (OTHERS, ""),
    "snapshot": (OTHERS, ""),
    "save": (OTHERS, ""),
    "get_single_element": (OTHERS, ""),
    "fingerprint": (OTHERS, ""),
}
_CLASSES = {
    "TFRecordDataset": (ENGINE, "a pattern is expanded if no file has that name; compressed files whose bytes go into batches are "
                        "TensorFlow's"),
    "TextLineDataset": (ENGINE, "up to 256 MiB, not compressed"),
    "FixedLengthRecordDataset": (ENGINE, "not compressed"),
    "experimental.shuffle_and_repeat": (ENGINE, ""),
    "experimental.map_and_batch": (ENGINE, ""),
    "experimental.parallel_interleave": (ENGINE, ""),
    "experimental.assert_cardinality": (ENGINE, ""),
    "experimental.sample_from_datasets": (ENGINE, ""),
    "experimental.cardinality": (ENGINE, ""),
    "experimental.enumerate_dataset": (ENGINE, ""),
    "experimental.unbatch": (ENGINE, ""),
    "experimental.ignore_errors": (OTHERS, ""),
    "experimental.prefetch_to_device": (OTHERS, ""),
    "experimental.dense_to_ragged_batch": (OTHERS, ""),
}

ROWS: dict[str, tuple[str, str]] = {
    **{f"Dataset.{name}": row for name, row in (_SOURCES | _VERBS).items()}, **_CLASSES}
