# SPDX-License-Identifier: Apache-2.0
"""eval beside TensorFlow: the same types, shapes and values for what map functions hold."""
import leat
import numpy
import pytest
import tensorflow as tf

RNG = numpy.random.default_rng(3)
N = 4
FIELDS = {
    "image": RNG.integers(0, 256, (N, 9, 8, 3)).astype("u1"),
    "x": RNG.normal(0, 2, (N, 9, 8, 3)).astype("f4"),
    "h": RNG.normal(0, 2, (N, 12)).astype("f2"),
    "i": RNG.integers(-40, 40, (N, 5)).astype("i4"),
    "label": RNG.integers(0, 6, (N,)).astype("i8"),
}
# The second number is how many units in the last place of the result may differ; TensorFlow's own functions vary.
CASES = {
    "image / 255": (lambda image, **_: image / 255, 0),
    "cast(image, f32) / 127.5 - 1": (lambda image, **_: tf.cast(image, tf.float32) / 127.5 - 1, 0),
    "(x - [0.4, 0.5, 0.6]) / [0.2, 0.3, 0.4]": (lambda x, **_: (x - [0.4, 0.5, 0.6]) / [0.2, 0.3, 0.4], 0),
    "clip(x * 1.7 + 0.1, 0, 1)": (lambda x, **_: tf.clip_by_value(x * 1.7 + 0.1, 0, 1), 0),
    "image * 3 - 7": (lambda image, **_: image * 3 - 7, 0),
    "255 - image": (lambda image, **_: 255 - image, 0),
    "i // 7": (lambda i, **_: i // 7, 0),
    "i % 7": (lambda i, **_: i % 7, 0),
    "i / 7": (lambda i, **_: i / 7, 0),
    "x % 0.7": (lambda x, **_: x % 0.7, 0),
    "h * h + 1": (lambda h, **_: h * h + 1, 0),
    "cast(h, bf16) / 3": (lambda h, **_: tf.cast(h, tf.bfloat16) / 3, 0),
    "cast(x * 100, i32)": (lambda x, **_: tf.cast(x * 100, tf.int32), 0),
    "cast(i * 9, u8)": (lambda i, **_: tf.cast(i * 9, tf.uint8), 0),
    "round(x * 4)": (lambda x, **_: tf.round(x * 4), 0),
    "floor(x)": (lambda x, **_: tf.floor(x), 0),
    "sqrt(abs(x))": (lambda x, **_: tf.sqrt(tf.abs(x)), 0),
    "exp(x)": (lambda x, **_: tf.exp(x), 2),
    "abs(x) ** 0.8": (lambda x, **_: tf.abs(x) ** 0.8, 2),
    "select(x > 0, x, x * 0.1)": (lambda x, **_: tf.where(x > 0, x, x * 0.1), 0),
    "cast(label == 3, i32)": (lambda label, **_: tf.cast(label == 3, tf.int32), 0),
    "(x > 0) & (image < 99)": (lambda x, image, **_: (x > 0) & (image < 99), 0),
    "mean(x)": (lambda x, **_: tf.reduce_mean(x), 8),
    "mean(x, 0, 1, keep=true)": (lambda x, **_: tf.reduce_mean(x, (0, 1), keepdims=True), 8),
    "sum(i)": (lambda i, **_: tf.reduce_sum(i), 0),
    "reduce_max(x, -1)": (lambda x, **_: tf.reduce_max(x, -1), 0),
    "argmax(x, 2)": (lambda x, **_: tf.argmax(x, 2), 0),
    "any(x > 4)": (lambda x, **_: tf.reduce_any(x > 4), 0),
    "x[1:-1, ::2, 0]": (lambda x, **_: x[1:-1, ::2, 0], 0),
    "image[..., ::-1]": (lambda image, **_: image[..., ::-1], 0),
    "transpose(x, 2, 0, 1)": (lambda x, **_: tf.transpose(x, (2, 0, 1)), 0),
    "reshape(x, -1, 6)": (lambda x, **_: tf.reshape(x, (-1, 6)), 0),
    "concat(-1, x, x * 2)": (lambda x, **_: tf.concat([x, x * 2], -1), 0),
    "stack(0, i, i + 1)": (lambda i, **_: tf.stack([i, i + 1]), 0),
    "one_hot(label, 4)": (lambda label, **_: tf.one_hot(label, 4), 0),
    "one_hot(i, 3, 0.9, 0.05)": (lambda i, **_: tf.one_hot(i, 3, 0.9, 0.05), 0),
    "gather(i, [4, 0])": (lambda i, **_: tf.gather(i, [4, 0]), 0),
    "expand(i, 0) * [[1], [2]]": (lambda i, **_: tf.expand_dims(i, 0) * [[1], [2]], 0),
    "label": (lambda label, **_: label, 0),
    "1.5": (lambda **_: tf.constant(1.5), 0),
    "3": (lambda **_: tf.constant(3), 0),
}


def in_tensorflow(function):
    plain = tf.autograph.experimental.do_not_convert(lambda sample: function(**sample))
    ds = tf.data.Dataset.from_tensor_slices(FIELDS).map(plain).batch(N)
    return next(iter(ds))


@pytest.mark.parametrize("expression", CASES)
def test_the_same_as_tensorflow(expression):
    function, units = CASES[expression]
    theirs = in_tensorflow(function)
    batch = next(iter(leat.from_arrays(FIELDS).eval(out=expression).select("out").batch(N).batches()))
    ours = batch["out"]
    if theirs.dtype == tf.bfloat16:  # NumPy has none: its bits
        theirs, ours = theirs.numpy().view("u2"), numpy.asarray(ours).view("u2")
    else:
        theirs = theirs.numpy()
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    if units:
        numpy.testing.assert_array_max_ulp(ours, theirs, units)
    else:
        numpy.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("expression, function", [
    ("image * 0.5", lambda image, **_: image * 0.5),
    ("x + i", lambda x, i, **_: x + i),
    ("sqrt(i)", lambda i, **_: tf.sqrt(i)),
    ("x + x[:4]", lambda x, **_: x + x[:4]),
    ("(x > 0) + (x > 1)", lambda x, **_: (x > 0) + (x > 1)),
])
def test_what_tensorflow_refuses_is_refused(expression, function):
    with pytest.raises(Exception):  # noqa: B017  TypeError, ValueError, OverflowError, InvalidArgumentError
        in_tensorflow(function)
    with pytest.raises(leat.Error, match="eval: out"):
        next(iter(leat.from_arrays(FIELDS).eval(out=expression).batch(N)))
