# SPDX-License-Identifier: Apache-2.0
"""Class names beside Keras's image_dataset_from_directory, tables in model.fit, boxes as TensorFlow's ragged tensors."""
import os

os.environ["KERAS_BACKEND"] = "tensorflow"

import keras  # noqa: E402
import leat  # noqa: E402
import numpy  # noqa: E402
import pytest  # noqa: E402
import tensorflow as tf  # noqa: E402
from PIL import Image  # noqa: E402


@pytest.fixture
def photos(tmp_path):
    for i in range(9):
        folder = tmp_path / "photos" / ("ant", "bee", "cow")[i % 3]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(numpy.full((8, 8, 3), 20 * i, "uint8")).save(folder / f"{i}.png")
    return tmp_path / "photos"


@pytest.mark.parametrize("names", [["cow", "ant", "bee"], ["cow", "ant"]])
def test_class_names_are_those_of_keras(photos, names):
    theirs = keras.utils.image_dataset_from_directory(photos, class_names=names, shuffle=False, image_size=(8, 8),
                                                      batch_size=None, verbose=False)
    wanted = {(path, int(label)) for path, (_, label) in zip(theirs.file_paths, theirs)}
    ds = leat.from_directory(photos, class_names=names, with_path=True).batch(9)
    batch = next(iter(ds))
    assert {(path.decode(), int(label)) for path, label in zip(batch["path"], batch["label"])} == wanted
    assert ds.class_names == theirs.class_names
    with pytest.raises(ValueError, match="class_names"):
        keras.utils.image_dataset_from_directory(photos, class_names=["dog"], verbose=False)
    with pytest.raises(leat.NotFoundError):
        leat.from_directory(photos, class_names=["dog"]).samples


def test_a_table_trains(tmp_path):
    random = numpy.random.RandomState(0)
    x = random.randn(400, 2)
    rows = "".join(f"{a:.4f},{b:.4f},{'yes' if a + b > 0 else 'no'}\n" for a, b in x)
    (tmp_path / "t.csv").write_text("a,b,answer\n" + rows)
    ds = leat.from_csv(tmp_path / "t.csv", features="x", label="answer").shuffle(seed=1).batch(40)
    model = keras.Sequential([keras.layers.Dense(1, activation="sigmoid")])
    model.compile(keras.optimizers.Adam(0.1), "binary_crossentropy", metrics=["accuracy"])
    assert model.fit(ds, epochs=8, verbose=0).history["accuracy"][-1] > 0.95


def test_boxes_are_ragged_tensors():
    boxes = [numpy.float32(numpy.arange(4 * n).reshape(n, 4)) for n in (2, 0, 3)]
    ds = leat.from_arrays({"id": numpy.arange(3), "boxes": boxes}).batch(3).to_tf()
    assert ds.element_spec["boxes"].shape.as_list() == [3, None, 4]
    batch = next(iter(ds))
    assert isinstance(batch["boxes"], tf.RaggedTensor)
    for got, wanted in zip(batch["boxes"], boxes):
        assert numpy.array_equal(got, wanted)
