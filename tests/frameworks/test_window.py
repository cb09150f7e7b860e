# SPDX-License-Identifier: Apache-2.0
"""Windows over time series against keras.utils.timeseries_dataset_from_array and tf.data's window."""
import keras
import leat
import numpy
import pytest
import tensorflow as tf

DATA = numpy.random.RandomState(2).standard_normal((211, 4)).astype("float32")
TARGETS = numpy.arange(211, dtype="int64")


def arrays(ds: leat.Dataset) -> tuple[numpy.ndarray, numpy.ndarray]:
    batches = list(ds.batch(16))
    return numpy.concatenate([x for x, _ in batches]), numpy.concatenate([y for _, y in batches])


@pytest.mark.parametrize("length, stride, rate", [(10, 1, 1), (24, 3, 1), (7, 1, 6), (5, 2, 3), (1, 1, 1), (211, 1, 1)])
def test_timeseries_dataset_from_array(length, stride, rate):
    """Its targets belong to the first sample of a window."""
    keras_ds = keras.utils.timeseries_dataset_from_array(
        DATA, TARGETS, length, sequence_stride=stride, sampling_rate=rate, batch_size=16)
    batches = list(keras_ds)
    ds = (leat.from_arrays({"x": DATA, "y": TARGETS})
          .window(length, shift=stride, stride=rate, targets="y", at="first").as_tuple("x", "y"))
    x, y = arrays(ds)
    assert numpy.array_equal(x, numpy.concatenate([x for x, _ in batches]))
    assert numpy.array_equal(y, numpy.concatenate([y for _, y in batches]))


def test_a_forecast():
    """The next value, as the guides of Keras have it: targets are data that was moved."""
    length, delay = 12, 3
    moved = TARGETS[length - 1 + delay:]
    keras_ds = keras.utils.timeseries_dataset_from_array(DATA[:len(moved) + length - 1], moved, length, batch_size=16)
    batches = list(keras_ds)
    x, y = arrays(leat.from_arrays({"x": DATA, "y": TARGETS}).window(length, shift=1, targets="y", at=delay)
                  .as_tuple("x", "y"))
    assert numpy.array_equal(x, numpy.concatenate([x for x, _ in batches]))
    assert numpy.array_equal(y, numpy.concatenate([y for _, y in batches]))


@pytest.mark.parametrize("size, shift, stride", [(10, 1, 1), (10, None, 1), (4, 5, 3), (4, 2, 7)])
def test_window_of_tf_data(size, shift, stride):
    theirs = [w.numpy() for w in tf.data.Dataset.from_tensor_slices(DATA)
              .window(size, shift=shift, stride=stride, drop_remainder=True)
              .flat_map(lambda w: w.batch(size, drop_remainder=True))]
    ours = leat.from_arrays({"x": DATA}).window(size, shift=shift, stride=stride)
    assert numpy.array_equal(numpy.concatenate(list(ours.batch(16))), numpy.stack(theirs))


def test_a_model_trains():
    """A line through the last values: the loss falls to nearly nothing."""
    series = numpy.sin(numpy.arange(600) / 7).astype("float32")[:, None]
    ds = (leat.from_arrays({"x": series, "y": series[:, 0].copy()}).window(8, shift=1, targets="y", at=1)
          .shuffle(seed=1).batch(32).as_tuple("x", "y"))
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.layers.Input((8, 1)), keras.layers.Flatten(), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.02), "mse")
    history = model.fit(ds, epochs=8, verbose=0).history["loss"]
    assert history[-1] < 0.01 < history[0]
