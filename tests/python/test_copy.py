# SPDX-License-Identifier: Apache-2.0
"""copy: a field twice, each with operations of its own."""
import io

import leat
import numpy
import pytest
from PIL import Image

RANDOM = numpy.random.RandomState(8)
IMAGES = RANDOM.randint(0, 255, (30, 9, 8, 3), "uint8")
LABELS = numpy.arange(30)


def whole(ds: leat.Dataset, size: int = 7) -> dict[str, numpy.ndarray]:
    batches = list(ds.batch(size).batches())
    return {name: numpy.concatenate([numpy.array(batch[name]) for batch in batches]) for name in batches[0].keys()}


def pictures() -> leat.Dataset:
    return leat.from_arrays({"image": IMAGES, "label": LABELS}).options(seed=4)


def test_both_go_on_by_themselves():
    found = whole(pictures().copy("image", "original").random_brightness(0.3).cast("f32", scale=1 / 255))
    alone = whole(pictures().copy("label", "other").random_brightness(0.3).cast("f32", scale=1 / 255))
    assert numpy.array_equal(found["original"], IMAGES) and numpy.array_equal(found["image"], alone["image"])
    found = whole(pictures().random_brightness(0.3, seed=1).copy("image", "flipped").random_flip_left_right(p=1, field="flipped"))
    assert numpy.array_equal(found["image"][:, :, ::-1], found["flipped"]) and not numpy.array_equal(found["image"], IMAGES)


def test_channels_first():
    for ds in (pictures().copy("image", "first").normalize("imagenet", layout="nchw"),
               pictures().adjust_brightness(0).copy("image", "first").options(layout="nchw")):
        found = whole(ds)
        assert found["image"].shape == (30, 3, 9, 8)
        first = found["first"] if found["first"].shape[-1] == 3 else found["first"].transpose(0, 2, 3, 1)
        assert numpy.array_equal(first, IMAGES)
    with pytest.raises(leat.TextError, match="write copy before"):
        whole(pictures().normalize("imagenet", layout="nchw").copy("image", "b"))


def test_numbers_filters_and_caches():
    ds = pictures().copy("label", "kept").one_hot("label", 30).filter("kept >= 12").cache().copy("kept", "again")
    found = whole(ds)
    assert found["kept"].tolist() == found["again"].tolist() == list(range(12, 30))
    assert found["label"].argmax(1).tolist() == list(range(12, 30))


def test_files_decoded_once_or_twice(tmp_path):
    for i in range(6):
        file = io.BytesIO()
        Image.fromarray(IMAGES[i].repeat(8, 0).repeat(8, 1)).save(file, "JPEG")
        (tmp_path / f"{i}.jpg").write_bytes(file.getvalue())
    once = whole(leat.from_files(sorted(tmp_path.glob("*.jpg")), decode=False).decode().copy("image", "second")
                 .center_crop(40, 40).center_crop(40, 40, field="second"), 3)
    twice = whole(leat.from_files(sorted(tmp_path.glob("*.jpg")), decode=False).copy("image", "second").decode().decode("second")
                  .center_crop(40, 40).center_crop(40, 40, field="second"), 3)
    for name in ("image", "second"):
        assert numpy.array_equal(once[name], once["image"]) and numpy.array_equal(twice[name], once["image"])


def test_inside_of_a_zip_and_refusals():
    part = leat.from_arrays({"x": IMAGES}).copy("x", "y").random_flip_left_right(p=1, field="y", seed=1)
    found = whole(leat.zip(part, leat.from_arrays({"z": LABELS})))
    assert numpy.array_equal(found["x"][:, :, ::-1], found["y"]) and found["z"].tolist() == LABELS.tolist()
    with pytest.raises(leat.TextError, match="there is a field label already"):
        whole(pictures().copy("image", "label"))
    with pytest.raises(Exception, match="no .*field"):
        whole(pictures().copy("imag", "b"))
