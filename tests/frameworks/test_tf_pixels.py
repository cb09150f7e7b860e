# SPDX-License-Identifier: Apache-2.0
"""JPEGs beside TensorFlow's: the pixels of tf.io.decode_jpeg, by both transforms."""
from pathlib import Path

import leat
import numpy
import pytest
import tensorflow as tf
from PIL import Image

from leat._tfdata.dataset import Dataset

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Smooth pictures with some noise, as photos are, of several qualities and samplings."""
    folder = tmp_path_factory.mktemp("photos")
    random = numpy.random.default_rng(5)
    y, x = numpy.mgrid[0:120, 0:160]
    for i, (quality, sampling) in enumerate([(75, 2), (90, 0), (95, 2), (60, 1)]):
        waves = [127 + 90 * numpy.sin(x / (7 + i + c) + c) * numpy.cos(y / (11 + i)) for c in range(3)]
        pixels = numpy.stack(waves, -1) + random.normal(0, 12, (120, 160, 3))
        Image.fromarray(pixels.clip(0, 255).astype("u1")).save(folder / f"{i}.jpg", quality=quality, subsampling=sampling)
    return folder


def differences(photos, ds, method):
    found = []
    for (images, _), path in zip(ds.batch(1).as_tuple("image", "image"), sorted(photos.glob("*.jpg")), strict=True):
        theirs = tf.io.decode_jpeg(path.read_bytes(), channels=3, dct_method=method).numpy()
        found.append(numpy.abs(images[0].astype(int) - theirs.astype(int)))
    return found


def test_the_fast_transform_gives_tensorflows_pixels(photos):
    """What docs/python.md says: TensorFlow's default is the fast transform."""
    fast = leat.from_directory(photos).options(accuracy="fast")
    for difference in differences(photos, fast, ""):
        assert difference.max() == 0
    for difference in differences(photos, leat.from_directory(photos), "INTEGER_ACCURATE"):
        assert difference.max() == 0
    found = differences(photos, leat.from_directory(photos), "")
    most, mean = max(difference.max() for difference in found), numpy.mean([difference.mean() for difference in found])
    for page in ("python.md", "operations.md"):
        words = " ".join((DOCS / page).read_text().split())
        assert "by 1.2 of 255 on average and by at most 25" in words
    assert 0.1 < mean <= 1.2 and most <= 25, (mean, most)


@pytest.fixture(scope="module")
def hard(tmp_path_factory):
    """Black and white noise, of which the fast transform overflows at low quality, at odd sizes; gray ones too."""
    folder = tmp_path_factory.mktemp("hard")
    random = numpy.random.default_rng(6)
    for i in range(40):
        pixels = random.choice(numpy.array([0, 0, 255, 255, 90], "u1"), (37 + 3 * i, 150 - 3 * i, 3))
        image = Image.fromarray(pixels if i % 4 else pixels[:, :, 0])
        image.save(folder / f"{i:02}.jpg", quality=1 + i * 99 // 39, subsampling=i % 3)
    return folder


def test_the_fast_transform_where_it_overflows(hard):
    fast = leat.from_directory(hard).options(accuracy="fast").decode(channels=3)
    part = fast.crop_to_bounding_box(5, 7, 23, 19)
    for whole, cut, path in zip(fast.batch(1).as_tuple("image"), part.batch(1).as_tuple("image"), sorted(hard.glob("*.jpg")),
                                strict=True):
        theirs = tf.io.decode_jpeg(path.read_bytes(), channels=3).numpy()
        numpy.testing.assert_array_equal(whole[0][0], theirs)
        numpy.testing.assert_array_equal(cut[0][0], theirs[5:28, 7:26])


def test_combined_photos_are_decoded_as_tensorflow_does(photos):
    """concatenate, sample_from_datasets and zip of chains that decode JPEGs run in the engine, with TensorFlow's pixels."""
    paths = sorted(str(path) for path in photos.glob("*.jpg"))

    def loaded(kind, some, method=""):
        return kind.from_tensor_slices(some).map(
            lambda path: tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path), channels=3, dct_method=method), (24, 32)))

    def numbered(kind, some):
        return kind.from_tensor_slices((some, numpy.arange(len(some)))).map(lambda path, n: (tf.io.decode_jpeg(tf.io.read_file(path)), n))
    programs = {
        "concatenate": lambda kind: loaded(kind, paths).concatenate(loaded(kind, paths[::-1])).batch(3),
        "sample": lambda kind: kind.sample_from_datasets([loaded(kind, paths), loaded(kind, paths)], [1.0, 0.0]).take(4),
        "photos and labels": lambda kind: kind.zip((loaded(kind, paths), kind.from_tensor_slices([3, 1, 2, 0]))).batch(2),
        "photos twice": lambda kind: kind.zip((loaded(kind, paths), loaded(kind, paths[::-1]))).map(lambda a, b: (b, a)),
        "paths": lambda kind: kind.zip((kind.from_tensor_slices(paths), kind.from_tensor_slices(paths[::-1]))).map(
            lambda a, b: (tf.io.decode_jpeg(tf.io.read_file(b)), a)),
        "three": lambda kind: kind.zip({"a": numbered(kind, paths), "b": loaded(kind, paths), "c": kind.range(4)}),
    }
    for name, make in programs.items():
        ours = make(Dataset)
        assert ours._engine() is not None, name
        assert ours.element_spec == make(tf.data.Dataset).element_spec, name
        for mine, theirs in zip(ours, make(tf.data.Dataset), strict=True):
            tf.nest.assert_same_structure(mine, theirs)
            for a, b in zip(tf.nest.flatten(mine), tf.nest.flatten(theirs), strict=True):
                numpy.testing.assert_array_equal(a.numpy(), b.numpy(), err_msg=name)
    refused = loaded(Dataset, paths).concatenate(loaded(Dataset, paths, "INTEGER_ACCURATE"))
    assert getattr(refused, "_chain", None) is None and len(list(refused)) == 8
