# SPDX-License-Identifier: Apache-2.0
"""Labels that are computed for all rows at once have the bits of tf.data, and what does not fit is computed as before."""
import leat.tf
import numpy
import pytest
import tensorflow as tf
from leat._tftrace import fold

NAMES = ["b", "a", "cc"]
PATHS = [f"data/{NAMES[i % 3]}/{i:03}.{'cat' if i % 2 else 'dog'}.jpg" for i in range(40)]
TABLE = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(NAMES, tf.range(3, dtype=tf.int64)), default_value=-1)
WEIGHTS = tf.constant([0.5, 2.0, 1 / 3])

AT_ONCE = {
    "part": lambda path: tf.strings.split(path, "/")[-2],
    "first part": lambda path: tf.strings.split(path, "/")[0],
    "number": lambda path: tf.strings.to_number(tf.strings.split(tf.strings.split(path, "/")[-1], ".")[0], tf.int32),
    "table": lambda path: TABLE.lookup(tf.strings.split(path, "/")[1]),
    "argmax": lambda path: tf.argmax(tf.strings.split(path, "/")[-2] == NAMES),
    "one_hot": lambda path: tf.one_hot(tf.argmax(tf.strings.split(path, "/")[-2] == NAMES), 3),
    "regex": lambda path: tf.cast(tf.strings.regex_full_match(path, ".*dog.*"), tf.float32) / 3,
    "replaced": lambda path: tf.strings.substr(tf.strings.regex_replace(path, "^.*/", ""), 0, 3),
    "gathered": lambda path: tf.gather(WEIGHTS, tf.argmax(tf.strings.split(path, "/")[-2] == NAMES)) * 3,
}
ROW_BY_ROW = {
    "all parts": lambda path: tf.strings.length(tf.strings.split(path, "/")),
    "slice of parts": lambda path: tf.strings.split(path, "/")[1:3][0],
    "exponent": lambda path: tf.exp(tf.cast(tf.strings.length(path), tf.float32)),
}


def elements(function, real):
    data = (tf if real else leat.tf).data.Dataset
    return [numpy.asarray(each) for each in data.from_tensor_slices(PATHS).map(function).as_numpy_iterator()]


def same(function):
    theirs, ours = elements(function, True), elements(function, False)
    assert len(ours) == len(theirs) == len(PATHS)
    for one, two in zip(theirs, ours, strict=True):
        assert one.dtype == two.dtype and one.shape == two.shape and one.tolist() == two.tolist()


@pytest.fixture
def rows(monkeypatch):
    """How often columns were computed row by row."""
    seen = []
    parts = fold._parts

    def noted(*args):
        seen.append(args)
        return parts(*args)
    monkeypatch.setattr(fold, "_parts", noted)
    return seen


@pytest.mark.parametrize("name", AT_ONCE)
def test_at_once(name, rows):
    same(AT_ONCE[name])
    assert rows == []


@pytest.mark.parametrize("name", ROW_BY_ROW)
def test_row_by_row(name):
    same(ROW_BY_ROW[name])


def test_a_part_that_is_missing_is_tensorflows_error():
    with pytest.raises(tf.errors.InvalidArgumentError):
        elements(lambda path: tf.strings.split(path, "/")[5], False)


@pytest.mark.parametrize("works", [False, True])
def test_rows_that_a_filter_leaves_out_are_not_computed(works, rows):
    def found(data):
        ds = data.Dataset.from_tensor_slices((numpy.arange(12.0, dtype="float32"), numpy.arange(12) % 4))
        if works:
            ds = ds.map(lambda x, y: (x * 2, y))
        ds = ds.filter(lambda x, y: y < 3).map(lambda x, y: (x, tf.gather(WEIGHTS, y)))
        return [(float(x), float(w)) for x, w in ds.as_numpy_iterator()]

    assert found(leat.tf.data) == found(tf.data)
    assert rows == []


def test_options_behind_a_data_set_share_its_engine():
    ds = leat.tf.data.Dataset.range(20).map(lambda x: x * 2).cache().map(lambda x: x + 1).batch(5)
    more = ds.prefetch(1).with_options(tf.data.Options())
    assert [each.tolist() for each in more.as_numpy_iterator()] == [each.tolist() for each in ds.as_numpy_iterator()]
    assert more._engine() is ds._engine()


def test_a_cache_of_arrays_is_read_by_tensorflow_in_its_graphs():
    x = numpy.zeros((8, 4, 4, 3), "uint8")
    ds = leat.tf.data.Dataset.from_tensor_slices(x).map(lambda image: tf.cast(image, tf.float32) / 255)
    assert ds.batch(4)._chain.works and not ds.cache().shuffle(8).batch(4)._chain.works
    assert ds.cache().map(tf.image.random_flip_left_right).batch(4)._chain.works
