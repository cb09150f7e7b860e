# SPDX-License-Identifier: Apache-2.0
"""A bad file inside of fit, evaluate and predict: every backend raises leat's own error, which names the file."""
import keras
import leat
import numpy
import pytest
from PIL import Image


@pytest.fixture
def damaged(tmp_path):
    """Sixteen pictures; the twelfth is damaged."""
    for number in range(16):
        folder = tmp_path / "ab"[number // 8]
        folder.mkdir(exist_ok=True)
        Image.fromarray(numpy.full((9, 9, 3), number, "uint8")).save(folder / f"{number:02}.png")
    path = tmp_path / "b/11.png"
    path.write_bytes(path.read_bytes()[:40])
    return leat.from_directory(tmp_path).resize(8, 8).cast("f32").batch(4)


def model(**how) -> keras.Model:
    made = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(2)])
    made.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True), **how)
    return made


@pytest.mark.parametrize("use", [
    lambda ds: model().fit(ds, epochs=2, verbose=0),
    lambda ds: model().evaluate(ds, verbose=0),
    lambda ds: model().predict(ds, verbose=0),
    lambda ds: model().fit(ds, steps_per_epoch=3, verbose=0),
    pytest.param(lambda ds: model(steps_per_execution=2).fit(ds, verbose=0), marks=pytest.mark.skipif(
        keras.backend.backend() == "torch", reason="Keras on torch takes one step at a time")),
    lambda ds: model().fit(leat.synthetic(8, 8, 8, classes=2).cast("f32").batch(4), validation_data=ds, verbose=0),
    lambda ds: model().fit(ds.to_keras(), verbose=0),
], ids=["fit", "evaluate", "predict", "steps", "several at once", "validation", "to_keras"])
def test_a_bad_file_raises_leats_own_error(damaged, use):
    with pytest.raises(leat.DecodeError, match=r"b/11\.png"):
        use(damaged)


def test_the_error_of_a_tf_data_dataset_is_leats_too(damaged):
    if keras.backend.backend() != "tensorflow":
        pytest.skip("to_tf() with this backend is a NumPy iterator of Keras")
    with pytest.raises(leat.DecodeError, match=r"b/11\.png"):
        model().fit(damaged.to_tf(), verbose=0)


def test_an_error_of_the_model_stays_what_it_is(damaged):
    with pytest.raises(Exception) as caught:
        model().fit(damaged, verbose=0)
    assert isinstance(caught.value, leat.DecodeError)
    wrong = keras.Sequential([keras.layers.Input((3, 3)), keras.layers.Flatten(), keras.layers.Dense(2)])
    wrong.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    with pytest.raises(Exception) as caught:
        wrong.fit(leat.synthetic(8, 8, 8, classes=2).cast("f32").batch(4), verbose=0)
    assert not isinstance(caught.value, leat.Error)
