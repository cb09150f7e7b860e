# SPDX-License-Identifier: Apache-2.0
"""Photos of mixed sizes, one by one: without batch(), and with batch(1)."""
import leat
import numpy
import pytest
from PIL import Image


def files_of(pictures):
    return sorted(pictures.rglob("*.*"), key=lambda file: (file.parent.name, file.name))


def test_iterating_gives_what_pillow_decodes(pictures):
    ds = leat.from_directory(pictures)
    spec = ds.element_spec
    assert spec[0].shape == (None, None, 3) and spec[0].dtype == "uint8" and spec[1].shape == ()
    items = list(ds)  # more than there are slots: copies of their own
    files = files_of(pictures)
    assert len(items) == len(files) == 24
    for i, ((image, label), file) in enumerate(zip(items, files)):
        with Image.open(file) as opened:
            assert numpy.array_equal(image, numpy.asarray(opened.convert("RGB")))
        assert ds.class_names[label] == file.parent.name
        assert numpy.array_equal(ds.sample(i)[0], image)
    assert len({image.shape for image, _ in items}) == 24
    for _ in range(2):  # the same pipeline, the next epochs
        assert all(numpy.array_equal(a, b) for (a, _), (b, _) in zip(items, ds))


def test_batches_of_one(pictures):
    ds = leat.from_directory(pictures).batch(1)
    assert ds.element_spec[0].shape == (1, None, None, 3) and ds.element_spec[1].shape == (1,)
    for (images, labels), (image, label) in zip(ds, leat.from_directory(pictures)):
        assert labels.shape == (1,) and labels[0] == label and numpy.array_equal(images[0], image)
    for batch in ds.batches():
        assert numpy.array_equal(numpy.from_dlpack(batch.tensors["image"]), batch["image"])


def test_operations_that_keep_sizes(pictures):
    ds = leat.from_directory(pictures).shuffle(seed=1).random_flip_left_right().normalize("imagenet", layout="nchw")
    assert ds.element_spec[0].shape == (3, None, None)
    whole = [image.tobytes() for image, _ in ds]
    plain = [image.tobytes() for image, _ in ds.options(fuse=False).configure(threads=1)]
    assert whole == plain and len(whole) == 24
    shorter = leat.from_directory(pictures).resize_shorter(16)
    assert all(min(image.shape[:2]) == 16 for image, _ in shorter)


def test_going_on(pictures):
    ds = leat.from_directory(pictures).shuffle(seed=4)
    first = iter(ds)
    for _ in range(9):
        next(first)
    state = ds.state()
    rest = [image.tobytes() for image, _ in first]
    again = leat.from_directory(pictures).shuffle(seed=4)
    again.restore(state)
    assert [image.tobytes() for image, _ in again] == rest and len(rest) == 15


def test_contact_sheet(pictures, tmp_path):
    sheet = leat.from_directory(pictures).random_flip_left_right().show(3, versions=2)
    assert sheet.rows == 3 and sheet.png.startswith(b"\x89PNG")


def test_a_batch_that_cannot_be_stacked(pictures):
    ds = leat.from_directory(pictures).batch(4)
    with pytest.raises(leat.Error) as caught:
        list(ds)
    assert caught.value.code == "SHAPE"
    words = str(caught.value)
    assert "image is 23x47x3, in ant/00.jpg it is 20x50x3" in words
    assert "resize 224 224" in words and "padded_batch 4 max=image:23x50x3" in words
    padded = leat.from_directory(pictures).padded_batch(4, max="image:64x64x3")
    assert sum(len(images) for images, _ in padded) == 24


def test_saving_pictures_whose_size_would_be_lost(pictures, tmp_path):
    ds = leat.from_directory(pictures)
    with pytest.raises(leat.ShapeError, match=r"save_tfrecord\(\): the size of image differs .* resize\(256, 256\)"):
        ds.save_tfrecord(tmp_path / "a.tfrecord")
    assert not list(tmp_path.iterdir())
    files = leat.from_directory(pictures, decode=False).save_tfrecord(tmp_path / "b.tfrecord")
    again = leat.from_text(files.text + " | decode")
    assert all(numpy.array_equal(a, b) for (a, _), (b, _) in zip(ds, again)) and files.samples == 24


class Rows:
    """Boxes and words whose numbers differ, as a dataset of torch."""

    def __len__(self):
        return 9

    def __getitem__(self, i):
        return {"box": numpy.full((i, 4), i, "float32"), "ids": numpy.arange(i * 2 + 1), "label": i}


def test_items_of_python():
    ds = leat.from_python(Rows(), workers=1)
    assert ds.element_spec["box"].shape == (None, 4) and ds.element_spec["ids"].shape == (None,)
    for i, item in enumerate(ds):
        assert item["box"].shape == (i, 4) and (item["box"] == i).all()
        assert item["ids"].tolist() == list(range(i * 2 + 1)) and item["label"] == i


def test_a_picture_beyond_the_budget(tmp_path):
    (tmp_path / "a").mkdir()
    for i, size in enumerate(((10, 10), (2000, 2000))):
        Image.new("RGB", size, (i, 2, 3)).save(tmp_path / "a" / f"{i}.png")
    ds = leat.from_directory(tmp_path).configure(memory=20_000_000)
    images = iter(ds)
    assert next(images)[0].shape == (10, 10, 3)
    with pytest.raises(leat.LimitError, match="image is 2000x2000x3, 12.0 MB: there is room for"):
        next(images)
    assert len(list(ds.resize(8, 8))) == 2
