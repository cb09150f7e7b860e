# SPDX-License-Identifier: Apache-2.0
"""image_dataset_from_directory without TensorFlow and Keras: a leat.Dataset with the files and labels of Keras."""
import leat
import numpy
import pytest
from leat.keras.utils import image_dataset_from_directory
from PIL import Image


@pytest.fixture
def photos(tmp_path):
    for i in range(9):
        folder = tmp_path / "ab"[i % 2]
        folder.mkdir(exist_ok=True)
        Image.fromarray(numpy.full((10 + i, 20, 3), 20 * i, "u1")).save(folder / f"{i}.png")
    return tmp_path


def test_a_dataset_of_leat(photos, capsys):
    ds = image_dataset_from_directory(photos, image_size=(8, 6), batch_size=4, shuffle=False)
    assert isinstance(ds, leat.Dataset) and capsys.readouterr().out == "Found 9 files belonging to 2 classes.\n"
    assert ds.class_names == ["a", "b"] and [path[-7:] for path in ds.file_paths[:2]] == ["a/0.png", "a/2.png"]
    found = list(ds)
    assert [images.shape for images, _ in found] == [(4, 8, 6, 3), (4, 8, 6, 3), (1, 8, 6, 3)]
    assert numpy.concatenate([labels for _, labels in found]).tolist() == [0] * 5 + [1] * 4
    assert found[0][0].dtype == "float32" and found[0][1].dtype == "int32" and found[0][0][1].max() == 40


def test_parts(photos, capsys):
    train, val = image_dataset_from_directory(photos, image_size=8, validation_split=0.4, subset="both", seed=5)
    assert capsys.readouterr().out.splitlines()[1:] == ["Using 6 files for training.", "Using 3 files for validation."]
    assert len(train.file_paths) == 6 and not set(train.file_paths) & set(val.file_paths)
    orders = [numpy.concatenate([images[:, 0, 0, 0] for images, _ in train]).tolist() for _ in range(4)]
    assert len({tuple(order) for order in orders}) > 1 and len({tuple(sorted(order)) for order in orders}) == 1


def test_label_modes_and_layout(photos):
    def first(**given):
        return next(iter(image_dataset_from_directory(photos, image_size=8, shuffle=False, verbose=False, **given)))

    assert first(label_mode="binary")[1].tolist() == [[0.0]] * 5 + [[1.0]] * 4
    assert first(label_mode="categorical", class_names=["b", "a"])[1].tolist() == [[1.0, 0.0]] * 4 + [[0.0, 1.0]] * 5
    assert first(labels=None, interpolation="nearest", data_format="channels_first").shape == (9, 3, 8, 8)
    assert first(labels=[3] * 9, batch_size=None)[1] == 3


def test_what_needs_keras_says_so(photos):
    with pytest.raises(ImportError, match="pip install keras"):
        image_dataset_from_directory(photos, format="grain")
