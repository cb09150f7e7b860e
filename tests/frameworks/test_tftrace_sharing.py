# SPDX-License-Identifier: Apache-2.0
"""Functions of maps that use one value, or one draw, in several places: what belongs together stays together.

Each program gives the results of a map and what NumPy makes of them; the draws are read off the results.
"""
import warnings

import leat
import leat.tf
import numpy
import pytest
import tensorflow as tf

X = numpy.random.default_rng(0).random((60, 4, 5, 3), "float32")
Z = X[::-1].copy()
Y = numpy.arange(60, dtype="float32")
wide = (slice(None), None, None, None)


def squared(x):
    x = x * 0 + tf.random.uniform([])
    return x, x * x


def noisy(x):
    noisy = x + tf.random.normal(tf.shape(x))
    return noisy, tf.clip_by_value(noisy, 0.0, 1.0)


def flipped(x):
    x = tf.image.random_flip_left_right(x)
    return x, x * 2, tf.reduce_mean(x)


def scaled(x, y):
    more = y + 1
    return (x - more) / (more * 2), y, x * 3, more


def chosen(x, y):
    if y > 10:
        x = tf.image.flip_left_right(x)
    else:
        x = x * 0.5
    return x, y


def added(x, y):
    y = y * 2
    if y > 10:
        x = x + y
    return x, y - 1


def blended(x, z):
    share = tf.random.uniform([])
    return x * share + z * (1 - share), share


def chained(x, z):
    x = x / 2
    total = x + z
    return x, total * x, total


def masked(x):
    mask = tf.cast(tf.random.uniform([4, 5, 1]) > 0.5, tf.float32)
    return x * mask, x * (1 - mask)


def told(x):
    if tf.random.uniform([]) > 0.5:
        x = tf.image.flip_left_right(x)
        label = 1
    else:
        label = 0
    return x, label


PROGRAMS = {
    squared: ((X,), lambda a, b: [(b, a * a)]),
    noisy: ((X,), lambda a, b: [(b, numpy.clip(a, 0, 1))]),
    flipped: ((X,), lambda a, b, c: [(b, a * 2), (c, a.mean((1, 2, 3)))]),
    scaled: ((X, Y), lambda a, b, c, d: [(d, Y + 1), (c, X * 3), (b, Y), (a, (X - d[wide]) / (d[wide] * 2))]),
    chosen: ((X, Y), lambda a, b: [(b, Y), (a, numpy.where((Y > 10)[wide], X[:, :, ::-1], X * 0.5))]),
    added: ((X, Y), lambda a, b: [(b, Y * 2 - 1), (a, X + numpy.where(Y * 2 > 10, Y * 2, 0)[wide])]),
    blended: ((X, Z), lambda a, b: [(a, X * b[wide] + Z * (1 - b[wide]))]),
    chained: ((X, Z), lambda a, b, c: [(a, X / 2), (c, X / 2 + Z), (b, c * a)]),
    masked: ((X,), lambda a, b: [(a + b, X)]),
    told: ((X,), lambda a, b: [(a, numpy.where((b == 1)[wide], X[:, :, ::-1], X))]),
    (lambda x, z: (z * 2, x * 3)): ((X, Z), lambda a, b: [(a, Z * 2), (b, X * 3)]),
    (lambda x, z: (x, x, z, x + z, x - z)): ((X, Z), lambda *found: zip(found, (X, X, Z, X + Z, X - Z))),
}


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_what_belongs_together(function):
    given, pairs = PROGRAMS[function]
    made = leat.tf.data.Dataset.from_tensor_slices(given if len(given) > 1 else given[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", leat.LeatWarning)
        found = next(iter(made.map(function).batch(60)))
    for ours, wanted in pairs(*(each.numpy() for each in found)):
        numpy.testing.assert_allclose(ours, wanted, atol=2e-5)


def test_most_of_these_are_the_engines():
    """TensorFlow runs what the engine cannot say with one draw or one value for each."""
    theirs = set()
    for function, (given, _) in PROGRAMS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", leat.LeatWarning)
            made = leat.tf.data.Dataset.from_tensor_slices(given if len(given) > 1 else given[0]).map(function).batch(60)
            next(iter(made))
        if getattr(made, "_chain", None) is None or made._engine() is None:
            theirs.add(function.__name__)
    assert theirs <= {"scaled", "added", "blended", "chained", "masked", "told"}


@pytest.mark.parametrize("source", ["int64", "int32", "uint16"])
@pytest.mark.parametrize("wanted", ["uint8", "int16", "int32"])
def test_whole_numbers_that_do_not_fit_wrap(source, wanted):
    y = numpy.array([-1, 0, 300, 70000, -2**31 - 5, 2**33 + 7]).astype(source)
    x = (numpy.arange(6 * 4 * 5 * 3).reshape(6, 4, 5, 3) - 50).astype(source)

    def narrowed(x, y):
        return tf.cast(x, wanted), tf.cast(y, wanted), y
    ours, theirs = (list(kind.from_tensor_slices((x, y)).map(narrowed).batch(4)) for kind in (leat.tf.data.Dataset, tf.data.Dataset))
    for one, other in zip(ours, theirs, strict=True):
        for a, b in zip(one, other, strict=True):
            assert a.dtype == b.dtype
            numpy.testing.assert_array_equal(a, b)
