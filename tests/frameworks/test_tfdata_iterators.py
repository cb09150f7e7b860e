# SPDX-License-Identifier: Apache-2.0
"""Iterators of leat.tf.data that a program drives by itself: behind errors, and from several threads."""
import threading

import leat.tf
import numpy
import pytest
import tensorflow as tf


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory):
    """Nine PNG files, of which two are none."""
    folder = tmp_path_factory.mktemp("spoilt")
    for i in range(9):
        (folder / f"{i}.png").write_bytes(b"no picture" if i in (3, 7) else
                                          tf.io.encode_png(numpy.full((4, 5, 3), i, "uint8")).numpy())
    return [str(path) for path in sorted(folder.glob("*.png"))]


def is_lowered(dataset):
    return getattr(dataset, "_chain", None) is not None and dataset._engine() is not None


def firsts_or_errors(iterator):
    """The first pixel of each element, or the name of the error in its place."""
    found = []
    while True:
        try:
            found.append(int(numpy.ravel(next(iterator))[0]))
        except StopIteration:
            return found
        except tf.errors.OpError as error:
            found.append(type(error).__name__)


@pytest.mark.parametrize("begin", [iter, lambda dataset: dataset.as_numpy_iterator()])
@pytest.mark.parametrize("batch", [0, 1, 3])
def test_an_iterator_goes_on_behind_an_error(spoilt, batch, begin):
    def make(kind):
        photos = kind.data.Dataset.from_tensor_slices(spoilt).map(lambda path: tf.ensure_shape(
            tf.io.decode_png(tf.io.read_file(path)), (4, 5, 3)), num_parallel_calls=tf.data.AUTOTUNE)
        return photos.batch(batch).repeat(2) if batch else photos.repeat(2)
    ours = make(leat.tf)
    wanted = firsts_or_errors(begin(make(tf)))
    assert is_lowered(ours) and len(wanted) > 5 and firsts_or_errors(begin(ours)) == wanted
    assert firsts_or_errors(begin(ours)) == wanted, "the next iteration too"


def test_the_first_elements_may_fail(tmp_path):
    """Those are made without threads; a record of another length in the first batch, and in the last."""
    path = str(tmp_path / "a.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for i in range(8):
            writer.write(bytes([i] * (3 if i in (1, 7) else 4)))

    def make(kind):
        return kind.data.TFRecordDataset(path).map(lambda record: tf.reshape(tf.io.decode_raw(record, tf.uint8), [4])).batch(2)
    ours = make(leat.tf)
    assert is_lowered(ours) and firsts_or_errors(iter(ours)) == ["InvalidArgumentError", 2, 4, "InvalidArgumentError"]


@pytest.mark.parametrize("begin", [iter, lambda dataset: dataset.as_numpy_iterator()])
@pytest.mark.parametrize("batch", [0, 2])
def test_threads_share_an_iterator(begin, batch):
    ds = leat.tf.data.Dataset.range(1200)
    iterator, found, failed = begin(ds.batch(batch) if batch else ds), [], []

    def take():
        try:
            for element in iterator:
                found.extend(numpy.ravel(element).tolist())
        except BaseException as error:  # noqa: BLE001  whatever it is
            failed.append(error)
    threads = [threading.Thread(target=take) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failed and sorted(found) == list(range(1200))
