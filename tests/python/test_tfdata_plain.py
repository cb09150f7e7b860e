# SPDX-License-Identifier: Apache-2.0
"""leat.tf.data where TensorFlow is not installed: NumPy arrays come out, and what needs TensorFlow says so."""
import importlib.util

import pytest

numpy = pytest.importorskip("numpy")
if importlib.util.find_spec("tensorflow") is not None:
    pytest.skip("TensorFlow is here", allow_module_level=True)

import leat  # noqa: E402
import leat.tf as tf  # noqa: E402

X, Y = numpy.arange(60, dtype="uint8").reshape(10, 2, 3), numpy.arange(10)


def test_arrays_and_order():
    ds = tf.data.Dataset.from_tensor_slices((X, {"y": Y, "w": [f"w{i}" for i in range(10)]})).skip(1).batch(4)
    ds = ds.prefetch(tf.data.AUTOTUNE)
    found = list(ds)
    assert len(ds) == len(found) == 3 and found[0][0].shape == (4, 2, 3) and found[2][1]["y"].tolist() == [9]
    assert found[0][1]["w"].tolist() == [b"w1", b"w2", b"w3", b"w4"] and found[0][0].dtype == "uint8"
    mixed = tf.data.Dataset.range(20).shuffle(20, seed=1).repeat(2)
    assert sorted(int(n) for n in mixed) == sorted([*range(20)] * 2)
    both = tf.data.Dataset.zip((tf.data.Dataset.range(5), tf.data.Dataset.range(3)))
    assert [tuple(map(int, pair)) for pair in both] == [(0, 0), (1, 1), (2, 2)]
    assert [int(n) for n in tf.data.Dataset.range(3).concatenate(tf.data.Dataset.range(2))] == [0, 1, 2, 0, 1]
    assert [int(n) for n in tf.data.Dataset.from_tensor_slices([1, 2, 3]).enumerate().take(2)
            .map(lambda i, n: i * 10 + n)] == [1, 12]


def test_functions_run_in_python():
    ds = tf.data.Dataset.from_tensor_slices((X, Y)).map(lambda x, y: (x / numpy.float32(255), y), num_parallel_calls=-1)
    ds = ds.filter(lambda x, y: y % 2 == 0).batch(3)
    found = list(ds)
    assert [part[1].tolist() for part in found] == [[0, 2, 4], [6, 8]] and found[0][0].dtype == "float32"
    assert numpy.array_equal(found[0][0][1], X[2] / numpy.float32(255))
    summed = tf.data.Dataset.range(6).batch(2).map(lambda n: {"sum": n + 1})
    assert [part["sum"].tolist() for part in summed] == [[1, 2], [3, 4], [5, 6]]


def test_files(tmp_path):
    with leat.TFRecordWriter(str(tmp_path / "a.tfrecord")) as writer:
        writer.write(b"one")
        writer.write(b"two!")
    assert list(tf.data.TFRecordDataset(str(tmp_path / "*.tfrecord"))) == [b"one", b"two!"]
    (tmp_path / "b.txt").write_text("x\ny\n")
    assert list(tf.data.TextLineDataset(str(tmp_path / "b.txt"))) == [b"x", b"y"]
    assert list(tf.data.Dataset.list_files(str(tmp_path / "*.txt"))) == [str(tmp_path / "b.txt").encode()]


def test_what_needs_tensorflow_says_so():
    with pytest.raises(AttributeError, match="pip install tensorflow"):
        tf.data.Dataset.range(3).window(2)
    with pytest.raises(leat.Error, match="pip install tensorflow"):
        tf.data.Dataset.range(4).batch(2).shard(2, 0)
    with pytest.raises(AttributeError, match="pip install tensorflow"):
        tf.image.resize
