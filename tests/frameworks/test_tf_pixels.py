# SPDX-License-Identifier: Apache-2.0
"""JPEGs beside TensorFlow's: the pixels of tf.io.decode_jpeg, by both transforms."""
import leat
import numpy
import pytest
import tensorflow as tf
from PIL import Image


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
    mean = numpy.mean([difference.mean() for difference in differences(photos, leat.from_directory(photos), "")])
    assert 0.1 < mean < 2, mean
