# SPDX-License-Identifier: Apache-2.0
"""How programs write their map functions, and that nothing of leat is left in TensorFlow outside of a trace."""
import functools
import threading

import keras
import leat
import numpy
import pytest
import tensorflow as tf
from leat._tfdata.chain import Chain, Columns, Refused
from leat._tftrace import lower_map
from leat._tftrace.marks import IMAGE, LAYERS, RANDOM, marking
from leat._base.notices import forget
from leat._tftrace.notices import notice
from tensorflow.image import random_flip_left_right, resize

PIXELS = numpy.random.default_rng(1).integers(0, 256, (6, 12, 16, 3)).astype("uint8")
SPEC = tf.TensorSpec((12, 16, 3), tf.uint8)
RNG = numpy.random.default_rng(2)


def chain(batch=None):
    made = Chain(Columns({"x": PIXELS}, len(PIXELS)), "x", {"x": SPEC})
    return made if batch is None else made.then("batch", batch).with_(batched=True, batch_size=batch)


def names(function, batch=None):
    return [each.name for each in lower_map(chain(batch), function).operations]


@tf.function
def small(x):
    return tf.image.resize(x, [6, 8])


@tf.function
def smaller(x):
    return tf.image.flip_left_right(small(x))


class Loader:
    def __init__(self, size):
        self.size = size

    def __call__(self, x):
        return self.load(x)

    def load(self, x):
        return tf.image.resize(x, self.size)

    @tf.function
    def traced(self, x):
        return tf.image.resize(x, self.size)


def sized(x, size):
    return tf.image.resize(x, size)


def imported(x):
    return random_flip_left_right(resize(x, [6, 8]))


def helped(x):
    return helper(x) * 2.0


def helper(x):
    return resize(x, [6, 8])


def test_ways_to_write_a_function():
    small(tf.zeros((12, 16, 3), tf.uint8))  # traced before: that trace has no marks
    loader = Loader([6, 8])
    for function in (small, loader, loader.load, loader.traced, functools.partial(sized, size=(6, 8)),
                     lambda x: sized(x, tf.constant([6, 8])), lambda x: sized(x, (numpy.int64(6), 8))):
        assert names(function) == ["resize"]
    assert names(smaller) == ["resize", "random_flip_left_right"]
    assert names(imported) == ["resize", "random_flip_left_right"]
    assert names(helped) == ["resize", "rescale"]
    assert random_flip_left_right is tf.image.random_flip_left_right and resize is tf.image.resize


def test_behind_batch():
    """Steps on each sample by itself go in front of batch; what draws once for a batch, or mixes samples, is refused."""
    assert names(lambda x: tf.cast(x, tf.float32) / 255, 4) == ["cast", "batch"]
    assert names(lambda x: tf.image.resize(x, [6, 8]), 4) == ["resize", "batch"]
    assert names(lambda x: tf.image.random_flip_left_right(x), 4) == ["random_flip_left_right", "batch"]
    assert names(lambda x: tf.reshape(x, [-1, 12 * 16 * 3]), 4) == ["reshape", "batch"]
    for function in (lambda x: tf.image.random_brightness(x, 0.1), lambda x: tf.random.shuffle(x), lambda x: x[::-1],
                     lambda x: tf.cast(x, tf.float32) - tf.reduce_mean(tf.cast(x, tf.float32)),
                     lambda x: tf.reshape(x, [-1, 24, 16, 3]), lambda x: x[0]):
        with pytest.raises(Refused):
            names(function, 4)


def drawn_by_numpy(x):
    return tf.cast(x, tf.float32) * numpy.random.uniform()


def drawn_by_a_generator(x):
    return tf.cast(x, tf.float32) * RNG.uniform()


LOOKUP = keras.layers.StringLookup(vocabulary=["cat", "dog"], num_oov_indices=0)


def test_checks_of_layers_are_not_the_programs():
    words = numpy.array([b"dog", b"cat"], object)
    strings = Chain(Columns({"x": words}, 2), "x", {"x": tf.TensorSpec((), tf.string)})
    lowered = lower_map(strings, lambda x: LOOKUP(x))
    assert next(iter(lowered.then("batch", 2).build())).tolist() == [1, 0]


def test_columns_that_operations_have_changed_are_not_folded():
    labels = numpy.arange(6)
    made = Chain(Columns({"x": PIXELS, "y": labels}, 6), ("x", "y"), {"x": SPEC, "y": tf.TensorSpec((), tf.int32)})
    for changed in (made.then("cast", "y", "i32"), made.then("cast", "i32", field="y")):
        lowered = lower_map(changed, lambda x, y: y * 2 + 1)
        assert next(iter(lowered.then("batch", 6).build())).tolist() == (labels * 2 + 1).tolist()
        assert "made" not in lowered.source.arrays


def test_numbers_that_python_draws_are_told():
    for function in (drawn_by_numpy, drawn_by_a_generator):
        with pytest.raises(Refused, match="use tf.random"):
            names(function)


def test_a_refusal_names_the_line():
    def lined(x):
        x = tf.image.resize(x, [6, 8])
        return tf.image.rgb_to_hsv(x)
    with pytest.raises(Refused) as refused:
        names(lined)
    line = lined.__code__.co_firstlineno + 2
    assert refused.value.where == f"test_tftrace_programs.py:{line}"
    forget()
    with pytest.warns(leat.LeatWarning, match=rf"lined \(test_tftrace_programs.py:\d+\): .* at test_tftrace_programs.py:{line}"):
        notice(lined, refused.value.reason, refused.value.where)


def test_exceptions_of_the_function_are_its_own():
    with pytest.raises(ValueError, match="no_such_method"):
        names(lambda x: tf.image.resize(x, [6, 8], method="no_such_method"))
    with pytest.raises(Exception, match="ZeroDivisionError"):
        names(lambda x: 1 / 0)


def test_nothing_is_left_outside_of_a_trace():
    before = [getattr(tf.image, name) for name in IMAGE] + [getattr(tf.random, name) for name in RANDOM]
    calls = [getattr(keras.layers, name).call for name in LAYERS]
    with pytest.raises(Exception, match="ZeroDivisionError"):
        lower_map(chain(), lambda x: 1 / 0)
    assert before == [getattr(tf.image, name) for name in IMAGE] + [getattr(tf.random, name) for name in RANDOM]
    assert calls == [getattr(keras.layers, name).call for name in LAYERS]
    traces = []

    @tf.function
    def noise():
        traces.append(1)
        return tf.random.normal((4,))
    one = noise()
    lower_map(chain(), imported)
    assert not numpy.allclose(one, noise()) and len(traces) == 1


def test_other_threads_are_not_noted():
    noted = []
    with marking(None) as marks:
        thread = threading.Thread(target=lambda: noted.append(tf.image.resize(PIXELS, [6, 8])))
        thread.start()
        thread.join()
        assert not marks.by_tensor and noted[0].shape == (6, 6, 8, 3)


def test_a_stored_graph_runs_as_before():
    """A data set that TensorFlow made while leat traced has real functions in it."""
    real = tf.data.Dataset.from_tensor_slices(PIXELS).map(imported)
    lowered = lower_map(chain(), imported)
    assert lowered.element_spec() == real.element_spec
    assert next(iter(real)).shape == (6, 8, 3)
