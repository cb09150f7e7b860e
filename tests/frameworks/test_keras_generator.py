# SPDX-License-Identifier: Apache-2.0
"""model.fit(ImageDataGenerator().flow(...)) with real Keras, on the backend that KERAS_BACKEND names."""
import os
import subprocess
import sys
import warnings

import keras
import numpy
import pytest
from leat import LeatWarning
from leat import _idg as ours
from leat._idg.keras_adapter import GeneratorAdapter
from PIL import Image

random = numpy.random.RandomState(2)
X = (random.rand(22, 10, 12, 3) * 255).astype("uint8")
Y = random.randint(0, 3, 22)
SETTINGS = {"rotation_range": 20, "width_shift_range": 0.1, "horizontal_flip": True, "rescale": 1 / 255}


class Seen(keras.layers.Layer):
    """Keeps the means of the batches of training; only without compiling are there values to keep."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[float] = []

    def call(self, x, training=False):
        if training:
            self.seen.append(float(keras.ops.convert_to_numpy(x).astype("float64").mean()))
        return x


def model(outputs: int = 3, inputs=(10, 12, 3)):
    seen = Seen()
    made = keras.Sequential([keras.Input(inputs), seen, keras.layers.Flatten(), keras.layers.Dense(outputs)])
    made.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True) if outputs == 3 else "mse",
                 run_eagerly=keras.backend.backend() != "jax", jit_compile=False)
    return made, seen


def means(flow, count: int) -> list[float]:
    return [float(next(flow)[0].astype("float64").mean()) for _ in range(count)]


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="JAX compiles the step: a layer sees no values")
def test_fit_has_the_batches_of_next():
    """Three epochs, then two more in another fit: the batches that next() gives, in its order."""
    generator = ours.ImageDataGenerator(**SETTINGS)
    wanted = means(generator.flow(X, Y, batch_size=5, seed=4), 25)
    made, seen = model()
    flow = generator.flow(X, Y, batch_size=5, seed=4)
    made.fit(flow, epochs=3, verbose=0)
    made.fit(flow, epochs=2, verbose=0)
    numpy.testing.assert_allclose(seen.seen[-25:], wanted, rtol=1e-6)
    assert flow.total_batches_seen >= 25 and sorted(flow.index_array) == list(range(22))


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="JAX compiles the step: a layer sees no values")
def test_fit_shuffles_whole_batches_of_a_flow_in_order():
    """As Keras does, unless shuffle=False says otherwise."""
    generator = ours.ImageDataGenerator(rescale=1 / 255)
    wanted = means(generator.flow(X, Y, batch_size=3, shuffle=False), 8)
    made, seen = model()
    flow = generator.flow(X, Y, batch_size=3, shuffle=False)
    made.fit(flow, epochs=2, verbose=0)
    first, second = seen.seen[-16:-8], seen.seen[-8:]
    assert first != second
    for each in (first, second):
        numpy.testing.assert_allclose(sorted(each), sorted(wanted), rtol=1e-6)
    made.fit(flow, epochs=1, verbose=0)
    assert seen.seen[-8:] not in (first, second)  # the epochs of another fit are further ones
    made.fit(flow, epochs=1, verbose=0, shuffle=False)
    numpy.testing.assert_allclose(seen.seen[-8:], wanted, rtol=1e-6)


def test_the_adapter_is_leats(monkeypatch):
    made = []
    init = GeneratorAdapter.__init__
    monkeypatch.setattr(GeneratorAdapter, "__init__", lambda self, *a, **k: (made.append(1), init(self, *a, **k))[1])
    flow = ours.ImageDataGenerator(**SETTINGS).flow(X, Y, batch_size=5)
    network, _ = model()
    history = network.fit(flow, epochs=2, validation_data=ours.ImageDataGenerator(rescale=1 / 255).flow(X, Y), verbose=0)
    assert len(history.history["val_loss"]) == 2 and len(made) == 2


def test_evaluate_and_predict_in_order():
    """predict() of a flow without shuffle has the pictures in their order, also after a batch was taken."""
    network, _ = model()
    flow = ours.ImageDataGenerator(rescale=1 / 255).flow(X, batch_size=5, shuffle=False)
    next(flow)
    flow.reset()
    wanted = network.predict(X.astype("float32") / 255, verbose=0)
    numpy.testing.assert_allclose(network.predict(flow, verbose=0), wanted, atol=1e-5)
    labelled = ours.ImageDataGenerator(rescale=1 / 255).flow(X, Y, batch_size=5, shuffle=False)
    arrays = network.evaluate(X.astype("float32") / 255, Y, batch_size=5, verbose=0)
    numpy.testing.assert_allclose(network.evaluate(labelled, verbose=0), arrays, rtol=1e-4)


def test_steps_weights_and_classes():
    network, _ = model()
    generator = ours.ImageDataGenerator(**SETTINGS)
    history = network.fit(generator.flow(X, Y, batch_size=4), steps_per_epoch=9, epochs=2, verbose=0,
                          validation_data=generator.flow(X, Y), validation_steps=1, class_weight={0: 1.0, 1: 2.0, 2: 0.5})
    assert len(history.history["loss"]) == 2
    network.fit(generator.flow(X, Y, batch_size=4, sample_weight=random.rand(22)), verbose=0)
    with pytest.raises(ValueError, match="weight"):
        network.fit(generator.flow(X, Y, sample_weight=random.rand(22)), class_weight={0: 1.0, 1: 1.0, 2: 1.0}, verbose=0)
    with pytest.raises(ValueError):
        network.fit(generator.flow(X, Y), Y, verbose=0)


def test_several_inputs_and_several_outputs():
    picture, number = keras.Input((10, 12, 3)), keras.Input((2,))
    joined = keras.layers.Concatenate()([keras.layers.Flatten()(picture), number])
    network = keras.Model([picture, number], keras.layers.Dense(1)(joined))
    network.compile("sgd", "mse")
    flow = ours.ImageDataGenerator(**SETTINGS).flow((X, random.rand(22, 2)), random.rand(22), batch_size=5)
    network.fit(flow, verbose=0)
    assert network.predict(flow, verbose=0).shape == (22, 1)


def test_an_iterator_that_works_in_python():
    """A generator with a method of its own: Keras's own adapter takes it."""
    class Own(ours.ImageDataGenerator):
        def standardize(self, x):
            return x / 255

    network, _ = model()
    with pytest.warns(LeatWarning, match="Own.standardize"):
        network.fit(Own().flow(X, Y, batch_size=5), epochs=2, verbose=0)


def test_files_in_fit(tmp_path):
    """A folder, one of whose files only Pillow can read."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for i in range(7):
            Image.fromarray((random.rand(9, 14, 3) * 255).astype("uint8")).save(
                tmp_path / name / f"{i}.png", format="TIFF" if (name, i) == ("b", 4) else None)
    network, seen = model(2)
    flow = ours.ImageDataGenerator(rescale=1 / 255).flow_from_directory(str(tmp_path), (10, 12), batch_size=4, shuffle=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeatWarning)
        network.fit(flow, epochs=2, verbose=0, shuffle=False)
        wanted = ours.ImageDataGenerator(rescale=1 / 255).flow_from_directory(str(tmp_path), (10, 12), batch_size=4, shuffle=False)
        if keras.backend.backend() != "jax":
            numpy.testing.assert_allclose(seen.seen[-8:], means(wanted, 8), rtol=1e-6)


def test_an_iterator_from_before_keras_was_imported():
    """It is no PyDataset then, and fit takes it all the same."""
    script = """
import numpy
from leat import _idg
flow = _idg.ImageDataGenerator(rotation_range=9).flow(numpy.zeros((8, 6, 6, 3), "uint8"), numpy.zeros(8), batch_size=4)
import keras
assert not isinstance(flow, keras.utils.PyDataset)
network = keras.Sequential([keras.Input((6, 6, 3)), keras.layers.Flatten(), keras.layers.Dense(1)])
network.compile("sgd", "mse")
network.fit(flow, epochs=2, verbose=0)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert isinstance(ours.ImageDataGenerator().flow(X), keras.utils.PyDataset)
