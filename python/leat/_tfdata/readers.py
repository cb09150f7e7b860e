# SPDX-License-Identifier: Apache-2.0
"""Data sets of records in files: classes of tf.data that a program calls, and interleave and flat_map over file names."""
from __future__ import annotations

from typing import Any

import tensorflow as tf  # type: ignore[import-not-found, import-untyped, unused-ignore]

from . import sources, verbs
from .chain import Chain, Columns, Refused
from .dataset import LOWERED, Dataset, Real, chain_of
from .modes import eager


class TFRecordDataset(Dataset, tf.data.TFRecordDataset):  # type: ignore[misc]
    """tf.data.TFRecordDataset. A pattern in place of a name is expanded if no file has that name."""

    real = tf.data.TFRecordDataset

    def __new__(cls, filenames: Any, compression_type: Any = None, buffer_size: Any = None, num_parallel_reads: Any = None,
                name: Any = None) -> Any:
        def make() -> Any:
            names = filenames
            if not isinstance(filenames, Real) and eager():
                try:
                    found = sources.expanded(sources.paths_of(filenames))
                    names = found if found != sources.paths_of(filenames) else filenames
                except Refused:
                    pass
            return cls.real(names, compression_type, buffer_size, num_parallel_reads, name)

        def lower() -> Chain:
            if isinstance(filenames, Real):
                files = _files_of(filenames)
                cycle = 1 if num_parallel_reads is None else verbs.whole(num_parallel_reads, "num_parallel_reads")
                chain = sources.tfrecord(files, compression_type, buffer_size, num_parallel_reads, name)
                order = [each for each in chain_of(filenames, "TFRecordDataset").operations]
                return chain.then("shuffle", **dict(order[0].kwargs)) if order and cycle else chain
            return sources.tfrecord(filenames, compression_type, buffer_size, num_parallel_reads, name)
        made = cls._from(make, lower)
        if type(made) is cls:
            made._given = (filenames, made._chain and sources._compression(compression_type), buffer_size, num_parallel_reads)
        return made

    def __init__(self, *_: Any, **__: Any) -> None:
        """Everything was done by __new__."""


def _files_of(dataset: Any) -> list[str]:
    """File names of a data set of such, sorted if it is shuffled."""
    chain = chain_of(dataset, "TFRecordDataset")
    if not isinstance(chain.source, Columns) or not isinstance(chain.structure, str) or any(
            each.name != "shuffle" for each in chain.operations):
        raise Refused("a data set of file names with verbs")
    files = sources.paths_of(chain.source.array(chain.structure))
    return sorted(files) if chain.operations else files


class TextLineDataset(Dataset, tf.data.TextLineDataset):  # type: ignore[misc]
    """tf.data.TextLineDataset."""

    real = tf.data.TextLineDataset

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls._from(lambda: cls.real(*args, **kwargs), sources.text_lines, *args, **kwargs)

    def __init__(self, *_: Any, **__: Any) -> None:
        """Everything was done by __new__."""


class FixedLengthRecordDataset(Dataset, tf.data.FixedLengthRecordDataset):  # type: ignore[misc]
    """tf.data.FixedLengthRecordDataset."""

    real = tf.data.FixedLengthRecordDataset

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls._from(lambda: cls.real(*args, **kwargs), sources.fixed_length, *args, **kwargs)

    def __init__(self, *_: Any, **__: Any) -> None:
        """Everything was done by __new__."""


LOWERED.update((TFRecordDataset, TextLineDataset, FixedLengthRecordDataset))


def opened(chain: Chain, function: Any, cycle: int, block: int) -> Chain:
    """interleave and flat_map over file names, when the function opens a TFRecord file: it is called with the first name."""
    source = chain.source
    field = chain.structure
    if not isinstance(source, Columns) or source.keep or not isinstance(field, str) or chain.batched:
        raise Refused("not over file names")
    shuffled = [each for each in chain.operations if each.name == "shuffle"]
    if len(shuffled) != len(chain.operations) or chain.specs[field].dtype != tf.string:
        raise Refused("verbs between the file names and the files")
    paths = source.array(field)
    first = tf.constant(paths[0], tf.string)
    try:
        found = function(first)
    except Exception as error:  # noqa: BLE001  the function is the user's, and TensorFlow will call it again
        raise Refused(f"the function fails on a file name: {error!s:.80}") from None
    if type(found) is not TFRecordDataset or found._given[0] is not first:
        raise Refused("the function does not just open a TFRecord file")
    _, compression, _, reads = found._given
    made = sources.records([path.decode("utf-8", "surrogateescape") for path in paths.tolist()], compression, cycle, block) \
        if not shuffled else sources.records(sorted(path.decode("utf-8", "surrogateescape") for path in paths.tolist()),
                                             compression, cycle, block)
    if reads is not None and reads != 1 and len(paths) > 1:
        raise Refused("num_parallel_reads in the function")
    # Files in a random order: all records are in one.
    return made.then("shuffle", **dict(shuffled[0].kwargs)) if shuffled else made
