# SPDX-License-Identifier: Apache-2.0
"""Combined datasets beside tf.data: the same samples in the same order."""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import leat
import numpy
import tensorflow as tf

X = numpy.random.RandomState(3).rand(9, 2, 3, 1).astype("f4")
Y = numpy.arange(9)
PARTS = [(X, Y), (X[:4] * 2, Y[:4] + 100), (X[::-1], Y + 200)]


def ours(i):
    return leat.from_arrays(PARTS[i])


def theirs(i):
    return tf.data.Dataset.from_tensor_slices(PARTS[i])


def same(mine, other):
    mine, other = list(mine), [tuple(part.numpy() for part in item) for item in other]
    assert len(mine) == len(other)
    for a, b in zip(mine, other):
        assert len(a) == len(b)
        for left, right in zip(a, b):
            numpy.testing.assert_array_equal(left, right)


def test_concatenate():
    same(ours(0).concatenate(ours(1)).concatenate(ours(2).take(3)),
         theirs(0).concatenate(theirs(1)).concatenate(theirs(2).take(3)))
    same(leat.concatenate(ours(0).skip(5).repeat(2), ours(1)).batch(4),
         theirs(0).skip(5).repeat(2).concatenate(theirs(1)).batch(4))


def test_zip():
    arrays = [X, Y, Y * 2.5]
    slices = [tf.data.Dataset.from_tensor_slices(array) for array in arrays]
    datasets = [leat.from_arrays(array) for array in arrays]
    same(leat.zip(*datasets), tf.data.Dataset.zip(*slices))
    same(leat.zip((datasets[0], datasets[1].take(4)), stop="shortest"),
         tf.data.Dataset.zip((slices[0], slices[1].take(4))))
    mine = list(leat.zip({"a": datasets[0], "b": datasets[1]}).batch(3))
    other = list(tf.data.Dataset.zip({"a": slices[0], "b": slices[1]}).batch(3))
    assert len(mine) == len(other) == 3
    for a, b in zip(mine, other):
        assert a.keys() == b.keys()
        for name in a:
            numpy.testing.assert_array_equal(a[name], b[name].numpy())


def test_choose_from_datasets():
    for pattern in ([0, 1, 2], [2, 2, 0, 1, 0]):
        for stop in (True, False):
            choice = tf.data.Dataset.from_tensor_slices(numpy.array(pattern, "int64")).repeat(30)
            same(leat.choose_from_datasets([ours(i) for i in range(3)], pattern, stop_on_empty_dataset=stop),
                 tf.data.Dataset.choose_from_datasets([theirs(i) for i in range(3)], choice, stop_on_empty_dataset=stop))
    choices = numpy.array([1, 0, 0, 2, 1])
    same(leat.choose_from_datasets([ours(i) for i in range(3)], choices=choices),
         tf.data.Dataset.choose_from_datasets([theirs(i) for i in range(3)],
                                              tf.data.Dataset.from_tensor_slices(choices)))


def test_sample_from_datasets():
    mine = [int(label) for _, label in leat.sample_from_datasets([ours(0), ours(1)], weights=[0.5, 0.5], seed=1)]
    other = [int(label) for _, label in tf.data.Dataset.sample_from_datasets([theirs(0), theirs(1)], [0.5, 0.5], seed=1)]
    assert sorted(mine) == sorted(other)  # the draws differ, the samples and their order in each part do not
    for low in (0, 100):
        assert [n for n in mine if low <= n < low + 50] == [n for n in other if low <= n < low + 50]
    only = leat.sample_from_datasets([ours(0), ours(1)], weights=[1.0, 0.0], stop_on_empty_dataset=True)
    assert [int(label) for _, label in only] == list(Y)


def test_fit_takes_it():
    import keras

    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    ds = leat.zip(leat.from_arrays(X), leat.from_arrays(Y.astype("f4"))).concatenate(
        leat.zip(leat.from_arrays(X), leat.from_arrays(Y.astype("f4")))).shuffle().batch(6)
    history = model.fit(ds, epochs=2, verbose=0)
    assert len(history.history["loss"]) == 2 and len(ds) == 3
