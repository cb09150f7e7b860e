# SPDX-License-Identifier: Apache-2.0
"""Keras on TensorFlow under MirroredStrategy, over two logical CPUs: the strategy takes a batch to build the model,
reads ahead in threads of its own, and splits batches; training is that of one device all the same."""
import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras  # noqa: E402
import leat  # noqa: E402
import numpy  # noqa: E402
import tensorflow as tf  # noqa: E402

X = numpy.random.RandomState(0).rand(26, 2).astype("float32")
Y = numpy.arange(26).astype("float32")


def data() -> leat.Dataset:
    return leat.from_arrays((X, Y)).shuffle(seed=1).batch(6)


def train(**more):
    model = keras.Sequential([keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    model.compile(keras.optimizers.SGD(0.001), "mse", jit_compile=False)
    ds = data()
    losses = model.fit(ds, epochs=3, verbose=0, validation_data=data(), **more).history
    return [losses["loss"], losses["val_loss"], *model.get_weights(), next(iter(ds))[0]]


def test_two_devices_are_as_good_as_one():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    more = {"steps_per_epoch": 4, "class_weight": {3: 2.0, 7: 0.5}}
    with strategy.scope():
        two = train(**more)
    for got, wanted in zip(two, train(**more), strict=True):
        numpy.testing.assert_allclose(got, wanted, rtol=1e-5)
