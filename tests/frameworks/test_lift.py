# SPDX-License-Identifier: Apache-2.0
"""leat.keras.lift: layers move from a model into the pipeline, and training sees the same pictures."""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import leat
import leat.keras
import leat.tf
import numpy
import pytest
import tensorflow as tf
from keras import layers

N, SIDE = 400, 12
random = numpy.random.RandomState(3)
PICTURES = random.randint(0, 255, (N, SIDE, SIDE, 3), "uint8")
LABELS = (numpy.arange(N) % 3).astype("int32")


def head():
    return [layers.Flatten(), layers.Dense(3)]


def sequential(*first):
    return keras.Sequential([keras.Input((SIDE, SIDE, 3)), *first, *head()])


def functional(*first):
    x = inputs = keras.Input((SIDE, SIDE, 3))
    for layer in (*first, *head()):
        x = layer(x)
    return keras.Model(inputs, x)


def data(kind):
    if kind == "leat.Dataset":
        return leat.from_arrays((PICTURES, LABELS)).batch(50)
    library = {"leat.tf": leat.tf, "tf.data": tf}[kind]
    return library.data.Dataset.from_tensor_slices((PICTURES, LABELS)).batch(50)


def pixels(ds):
    return numpy.concatenate([numpy.asarray(x) for x, _ in ds])


@pytest.mark.parametrize("kind", ["leat.tf", "tf.data", "leat.Dataset"])
@pytest.mark.parametrize("build", [sequential, functional])
def test_both_models_agree(build, kind):
    """Without training, random layers rest, and the new model on the new data is the old model on the old data."""
    model = build(layers.RandomFlip(), layers.Rescaling(1 / 127.5, -1), layers.RandomZoom(0.2))
    bare, ds = leat.keras.lift(model, data(kind), training=False)
    assert [type(layer).__name__ for layer in bare.layers if type(layer).__name__ != "InputLayer"] == ["Flatten", "Dense"]
    assert bare.layers[-1] is model.layers[-1] and type(bare) is type(model) and bare.name == model.name
    theirs = model.predict(PICTURES.astype("f4"), verbose=0)
    assert numpy.allclose(bare.predict(ds, verbose=0), theirs, atol=1e-5)


@pytest.mark.parametrize("kind", ["leat.tf", "leat.Dataset"])
def test_the_engine_does_the_work(kind):
    model = sequential(layers.RandomFlip("horizontal"), layers.RandomRotation(0.1), layers.Rescaling(1 / 255))
    _, ds = leat.keras.lift(model, data(kind))
    text = ds.text if kind == "leat.Dataset" else " | ".join(each.name for each in ds._chain.operations)
    for name in ("random_flip", "random_rotation", "batch"):
        assert name in text, text


def test_the_distribution_is_that_of_the_layers():
    """Half of the pictures are flipped, each by its own draw, and others in the next epoch; contrast as the layer draws it."""
    _, ds = leat.keras.lift(sequential(layers.RandomFlip("horizontal")), data("leat.tf"))
    for _ in range(2):
        found = pixels(ds)
        flipped = [numpy.array_equal(a, b[:, ::-1]) for a, b in zip(found, PICTURES)]
        plain = [numpy.array_equal(a, b) for a, b in zip(found, PICTURES)]
        assert all(a != b for a, b in zip(flipped, plain)) and 150 < sum(flipped) < 250
    layer = layers.RandomBrightness(0.3)
    _, ds = leat.keras.lift(sequential(layer), data("leat.tf"))
    shifts = [(images.astype("f4").mean((1, 2, 3)) - PICTURES.mean((1, 2, 3)))
              for images in (pixels(ds), numpy.asarray(layer(PICTURES.astype("f4"), training=True)))]
    assert abs(shifts[0].mean() - shifts[1].mean()) < 8 and abs(shifts[0].std() - shifts[1].std()) < 4


@pytest.mark.parametrize("build", [sequential, functional])
def test_a_sequential_of_layers_is_lifted_whole(build):
    augment = keras.Sequential([layers.RandomFlip(), keras.Sequential([layers.RandomContrast(0.1)])])
    bare, ds = leat.keras.lift(build(augment, layers.Rescaling(1 / 255)), data("leat.tf"))
    assert len([each for each in bare.layers if type(each).__name__ != "InputLayer"]) == 2
    assert pixels(ds).max() <= 1


def test_the_shape_may_change():
    bare, ds = leat.keras.lift(sequential(layers.Resizing(6, 8), layers.Rescaling(1 / 255)), data("leat.tf"), training=False)
    assert bare.input_shape == (None, 6, 8, 3) and ds.element_spec[0].shape.as_list() == [None, 6, 8, 3]
    bare.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    bare.fit(ds, verbose=0)


def test_a_model_that_is_not_built():
    model = keras.Sequential([layers.Rescaling(1 / 255), *head()])
    bare, ds = leat.keras.lift(model, data("leat.tf"))
    bare.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    bare.fit(ds, verbose=0)
    assert numpy.allclose(bare.predict(ds, verbose=0), model.predict(PICTURES.astype("f4"), verbose=0), atol=1e-5)


def test_nothing_to_lift():
    class Own(layers.Rescaling):
        """A subclass may do anything."""

    ds = data("leat.tf")
    for model in (sequential(), functional(), sequential(Own(1 / 255)), functional(Own(1 / 255)),
                  sequential(layers.Dropout(0.1), layers.Rescaling(1 / 255))):
        assert leat.keras.lift(model, ds) == (model, ds)


def test_a_picture_that_is_used_twice_stays():
    """The input goes through the layer and around it: only the layer before the fork is lifted."""
    inputs = keras.Input((SIDE, SIDE, 3))
    first = layers.Rescaling(1 / 255)(inputs)
    second = layers.RandomFlip()(first)
    x = layers.Concatenate()([first, second])
    for layer in head():
        x = layer(x)
    bare, _ = leat.keras.lift(keras.Model(inputs, x), data("leat.tf"))
    names = [type(layer).__name__ for layer in bare.layers]
    assert "RandomFlip" in names and "Rescaling" not in names


def test_weights_are_shared(capsys):
    model = sequential(layers.Rescaling(1 / 255))
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    bare, ds = leat.keras.lift(model, data("leat.tf"))
    assert not bare.compiled and "call compile()" in capsys.readouterr().err
    bare.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    before = model.get_weights()[0].copy()
    bare.fit(ds, verbose=0)
    assert not numpy.array_equal(before, model.get_weights()[0])


def test_it_says_what_was_lifted_and_xla(capsys):
    leat.keras.lift(sequential(layers.RandomFlip(name="flip"), layers.Rescaling(1 / 255, name="scale")), data("leat.tf"))
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "flip, scale" in said and "XLA" not in said
    for layer in (layers.RandomRotation(0.1), layers.RandomZoom(0.1), layers.RandomTranslation(0.1, 0.1), layers.RandomShear(0.1),
                  layers.RandomPerspective(), layers.RandomCrop(8, 8)):
        assert not layer.supports_jit
        leat.keras.lift(sequential(layer), data("leat.tf"))
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and type(layer).__name__ in said and "XLA" in said


def test_refused():
    a, b = keras.Input((SIDE, SIDE, 3)), keras.Input((SIDE, SIDE, 3))
    with pytest.raises(ValueError, match="2 inputs"):
        leat.keras.lift(keras.Model([a, b], layers.Add()([a, b])), data("leat.tf"))

    class Own(keras.Model):
        def call(self, x):
            return x

    with pytest.raises(ValueError, match="Sequential or functional, not Own"):
        leat.keras.lift(Own(), data("leat.tf"))
    with pytest.raises(ValueError, match="must end in batch"):
        leat.keras.lift(sequential(layers.Rescaling(2)), leat.from_arrays((PICTURES, LABELS)))
