# SPDX-License-Identifier: Apache-2.0
"""What the docs say about how near leat is to the real libraries, on pictures that are as large and as smooth as photos.

Every bound is read from the page that states it: `stated` finds the words there, and the test compares with that number.
"""
import math
import re
from pathlib import Path

import leat
import numpy
import pytest
import tensorflow as tf  # before Keras
import keras
from keras.src.legacy.preprocessing.image import ImageDataGenerator
from PIL import Image

DOCS = Path(__file__).resolve().parents[2] / "docs"
NAMES = {"channel_shift": "channel_shift_intensity", "flip": "flip_horizontal"}


def stated(place: str, words: str) -> float:
    """The number in these words, which the section of an operation, or the page, must have: "within 1e-6"."""
    if place.endswith(".md"):
        text = (DOCS / place).read_text()
    else:
        text = re.search(rf"\n### {place}\n(.*?)(?=\n##|\Z)", (DOCS / "operations.md").read_text(), re.S)[1]
    assert words in " ".join(text.split()), f"{place} does not say {words!r}"
    return float(re.search(r"\d[\d.]*(e-\d+)?", words)[0].rstrip("."))


def paint(height: int, width: int, seed: int) -> numpy.ndarray:
    """Smooth areas, edges, grain, and both extreme values."""
    random = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[0:height, 0:width]
    waves = [numpy.sin(x / random.uniform(9, 40) + y / random.uniform(9, 40) + random.uniform(0, 6)) for _ in range(3)]
    values = numpy.stack(waves, -1) * 80 + 110 + random.normal(0, 5, (height, width, 3))
    for _ in range(6):
        top, left = random.integers(0, height - 40), random.integers(0, width - 40)
        values[top:top + random.integers(9, 120), left:left + random.integers(9, 120)] += random.uniform(-120, 120, 3)
    return numpy.clip(values, 0, 255).astype("uint8")


PICTURES = [paint(375, 500, 1), paint(500, 333, 2), paint(301, 449, 3), paint(224, 224, 4)]


def made(*steps) -> list[tuple[numpy.ndarray, dict]]:
    """What leat makes of each picture, and what it drew: made(("resize", (32, 32), {"antialias": True}), ...)."""
    found = []
    for number, picture in enumerate(PICTURES):
        ds = leat.from_arrays({"image": picture[None]}).options(seed=number)
        for name, words, more in steps:
            ds = getattr(ds, name)(*words, **more)
        batch = next(iter(ds.batch(1).configure(params=True).batches()))
        told = dict(word.rstrip(";").split("=") for word in batch.params[0].split() if "=" in word)
        found.append((numpy.array(batch["image"][0]), {key: float(value) for key, value in told.items()}))
    return found


def away(steps, theirs) -> numpy.ndarray:
    """How far all values are from what theirs(picture, drawn) gives."""
    found = []
    for (mine, drawn), picture in zip(made(*steps), PICTURES, strict=True):
        other = numpy.asarray(theirs(picture, drawn))
        assert mine.shape == other.shape
        found.append(numpy.abs(mine.astype("f8") - other.astype("f8")).ravel())
    return numpy.concatenate(found)


# ------------------------------------------------------------------------------------------- ImageDataGenerator

MOVES = {"rotation": 40, "width_shift": 0.2, "height_shift": 0.3, "shear": 15, "zoom": 0.4, "horizontal_flip": True}


def generated(settings: dict, words: dict) -> numpy.ndarray:
    generator = ImageDataGenerator(**settings)
    return away([("image_data_generator", (), words)], lambda picture, drawn: generator.standardize(generator.apply_transform(
        picture.astype("float32"), {NAMES.get(key, key): value for key, value in drawn.items()})))


@pytest.mark.parametrize("fill", ["nearest", "reflect", "wrap", "constant"])
def test_moves_of_image_data_generator(fill):
    linear = generated({"fill_mode": fill}, {**MOVES, "fill": fill})
    assert linear.max() <= stated("affine", "order 1 is within 1e-4 of values up to 255 (sides up to 512 pixels")
    assert linear.max() <= stated("dropin-generator.md", "`interpolation_order=1` within 1e-4".split("=1` ")[1])
    assert generated({"fill_mode": fill, "interpolation_order": 0}, {**MOVES, "fill": fill, "order": 0}).max() == 0
    if fill in ("reflect", "constant"):
        cubic = generated({"fill_mode": fill, "interpolation_order": 3}, {**MOVES, "fill": fill, "order": 3})
        assert cubic.max() <= stated("affine", "at most 1.6e-5") and (cubic > 0).mean() < 3e-6


@pytest.mark.parametrize("factor", [0.7, 1.5, 2.5])
def test_brightness_after_moves(factor):
    """One byte may be the next one before it is multiplied by the factor and cut."""
    assert stated("image_data_generator", "3 for 2.5") == 3
    found = generated({}, {**MOVES, "brightness": f"{factor},{factor}"})
    assert found.max() <= math.ceil(factor) and (found > 1e-4).mean() < 1e-4
    assert generated({}, {"brightness": f"{factor},{factor}"}).max() == 0


def test_standardisation_of_image_data_generator():
    both = {"samplewise_center": True, "samplewise_std_normalization": True}
    words = {"samplewise_center": True, "samplewise_std": True}
    bound = stated("samplewise", "within 1e-6")
    assert generated(both, words).max() <= bound and stated("dropin-generator.md", "within 1e-6") == bound
    assert generated({**both, "rescale": 1 / 255}, {**words, "rescale": 1 / 255}).max() <= bound
    assert generated({"samplewise_center": True}, {"samplewise_center": True}).max() <= stated("samplewise", "within 1.6e-5")


# ---------------------------------------------------------------------------------------------- layers of Keras


@pytest.mark.parametrize("pictures", [1, 8])
def test_rotation(pictures):
    """TensorFlow's cosine depends on how many pictures there are."""
    layer = keras.layers.RandomRotation(0.5)

    def turned(picture, drawn):
        none, one = tf.zeros([pictures]), tf.ones([pictures])
        angle = tf.constant([drawn["angle"]] * pictures, tf.float32)
        matrix = layer._compute_affine_matrix(0.5, 0.5, angle, none, none, one, none, none, *picture.shape[:2])
        batch = numpy.repeat(picture[None].astype("float32"), pictures, 0)
        return layer.transform_images(batch, {"rotation_matrix": matrix}, training=True)[0]

    assert away([("random_rotation", (0.5,), {})], turned).max() <= stated("random_rotation", "within 0.1 of 255")


@pytest.mark.parametrize("scale", [0.3, 1.0])
def test_perspective_has_the_bits_of_keras(scale):
    layer = keras.layers.RandomPerspective(1.0, scale)

    def moved(picture, drawn):
        height, width = picture.shape[:2]
        start = [[[0, 0], [width - 1, 0], [0, height - 1], [width - 1, height - 1]]]
        end = [[[drawn[f"x{i}"], drawn[f"y{i}"]] for i in range(1, 5)]]
        return layer.transform_images(picture[None].astype("float32"), {
            "apply_perspective": tf.constant([True]), "start_points": tf.constant(start, tf.float32),
            "end_points": tf.constant(end, tf.float32), "input_shape": (1, *picture.shape)}, training=True)[0]

    assert away([("random_perspective", ("1,1", scale), {})], moved).max() == 0


def mixed(x: int) -> int:
    for _ in range(2):
        x = ((x ^ x >> 32) * 0xD6E8FEB86659FD93) & (1 << 64) - 1
    return x ^ x >> 32


def normal(n: int, seed: int, operation: int, draw: int) -> numpy.ndarray:
    """leat's normal numbers for position 0 of epoch 0: base/rng.h and image/warp/elastic.c."""
    key = mixed(mixed((seed + 0x9E3779B97F4A7C15) & (1 << 64) - 1) ^ 1)
    low, high, half, mask = key & 0xFFFFFFFF, key >> 32, numpy.uint64(32), numpy.uint64(0xFFFFFFFF)
    pairs = numpy.arange(draw, draw + (n + 1) // 2, dtype="u8")
    c = [numpy.zeros_like(pairs), numpy.zeros_like(pairs), numpy.full_like(pairs, operation), pairs]
    for _ in range(10):
        p, q = c[0] * numpy.uint64(0xD2511F53), c[2] * numpy.uint64(0xCD9E8D57)
        c = [q >> half ^ c[1] ^ numpy.uint64(low), q & mask, p >> half ^ c[3] ^ numpy.uint64(high), p & mask]
        low, high = low + 0x9E3779B9 & 0xFFFFFFFF, high + 0xBB67AE85 & 0xFFFFFFFF
    far = numpy.sqrt(-2 * numpy.log(((c[0] | c[1] << half).astype("f8") + 0.5) * 2.0**-64))
    turn = 2 * numpy.pi * 2.0**-64 * (c[2] | c[3] << half).astype("f8")
    return numpy.stack([far * numpy.cos(turn), far * numpy.sin(turn)], 1).ravel()[:n].astype("f4")


@pytest.mark.parametrize("scale", [0.3, 0.8])
def test_elastic_transform(scale, monkeypatch):
    """With leat's noise in place of TensorFlow's."""
    layer, seeds = keras.layers.RandomElasticTransform(1.0, scale), iter(range(len(PICTURES)))

    def pulled(picture, _):
        field = normal(picture[..., 0].size, next(seeds), 2, 3).reshape(1, *picture.shape[:2])
        monkeypatch.setattr(tf.random, "stateless_normal", lambda shape, **_: tf.constant(field))
        return layer.transform_images(picture[None].astype("f4"), {
            "apply_transform": tf.constant([True]), "distortion_factor": tf.constant(scale, tf.float32), "seed": 1}, training=True)[0]

    found = away([("random_elastic_transform", ("1,1", f"{scale},{scale}"), {})], pulled)
    assert found.max() <= stated("random_elastic_transform", "within 0.05 of 255")


# --------------------------------------------------------------------------------------------- tf.image and others


def test_standardisation():
    found = away([("per_image_standardization", (), {})], lambda x, _: tf.image.per_image_standardization(x))
    assert found.max() <= stated("per_image_standardization", "within 5e-6")
    mean, std = numpy.array([0.485, 0.456, 0.406], "f4"), numpy.array([0.229, 0.224, 0.225], "f4")
    found = away([("normalize", ("imagenet",), {})], lambda x, _: (x.astype("f4") / numpy.float32(255) - mean) / std)
    assert found.max() <= stated("normalize", "within 1e-6")


def test_contrast():
    bound = stated("random_contrast", "within 1e-4 of 255")
    assert away([("cast", ("f32",), {}), ("adjust_contrast", (1.4,), {})],
                lambda x, _: tf.image.adjust_contrast(x.astype("f4"), 1.4)).max() <= bound
    bytes_ = away([("adjust_contrast", (1.4,), {})], lambda x, _: tf.image.adjust_contrast(x, 1.4))
    assert bytes_.max() <= 1 and (bytes_ > 0).mean() < 1e-5


@pytest.mark.parametrize("method", ["bilinear", "bicubic", "lanczos3", "lanczos5"])
def test_resize_of_tensorflow(method):
    for antialias in (False, True):
        found = away([("resize", (160, 224), {"method": method, "antialias": antialias})],
                     lambda x, _: tf.image.resize(x, (160, 224), method, antialias=antialias))
        assert found.max() <= (stated("resize", "less than 0.00025") if "lanczos" in method else 0)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_antialiased_floats_of_torch(mode):
    """torchvision's resize of a tensor is this function of torch."""
    torch = pytest.importorskip("torch")

    def resized(picture, _):
        planes = torch.from_numpy(picture.astype("f4").transpose(2, 0, 1) * numpy.float32(1 / 255))[None]
        return torch.nn.functional.interpolate(planes, size=(160, 224), mode=mode, antialias=True)[0].numpy().transpose(1, 2, 0)

    found = away([("rescale", (1 / 255,), {}), ("resize", (160, 224), {"method": mode, "antialias": True})], resized)
    assert found.max() <= stated("resize", "by up to 4e-5 of values up to 1")


def test_bytes_of_pillow():
    """Equal, but for the sizes of which version 13 begins with the columns: where more than twice as many rows go."""
    version = int(Image.__version__.split(".")[0])
    for height, width in ((224, 224), (90, 330)):
        for method, most in (("BILINEAR", "by 1 for"), ("BICUBIC", "by up to 25"), ("LANCZOS", "up to 43")):
            bound = stated("resize", most)
            for (mine, _), picture in zip(made(("resize", (height, width), {"flavour": "pil", "method": method.lower()})), PICTURES):
                theirs = numpy.asarray(Image.fromarray(picture).resize((width, height), Image.Resampling[method]))
                columns = version >= 13 and picture.shape[0] - height > 2 * (picture.shape[1] - width)
                apart = numpy.abs(mine.astype(int) - theirs)
                assert apart.max() <= (bound if columns else 0), (height, width, method, apart.max())


def test_places_of_the_middle():
    """Every number of pixels that may be left over, along both sides."""
    import albumentations

    picture = PICTURES[3][:29, :34]
    for height, width in [(29 - k, 34 - k // 2) for k in range(12)]:
        ds = leat.from_arrays({"image": picture[None]})
        mine = next(iter(ds.center_crop(height, width).batch(1).batches()))["image"][0]
        numpy.testing.assert_array_equal(mine, keras.layers.CenterCrop(height, width, dtype="uint8")(picture))
        numpy.testing.assert_array_equal(mine, tf.image.resize_with_crop_or_pad(picture, height, width))
        numpy.testing.assert_array_equal(mine, albumentations.CenterCrop(height, width)(image=picture)["image"])
        torch_ = next(iter(ds.center_crop(height, width, flavour="torch").batch(1).batches()))["image"][0]
        top, left = round((29 - height) / 2), round((34 - width) / 2)  # Python rounds halves to even, and torchvision asks it
        numpy.testing.assert_array_equal(torch_, picture[top:top + height, left:left + width])
        share = height / 29
        part = next(iter(ds.central_crop(share).batch(1).batches()))["image"][0]
        numpy.testing.assert_array_equal(part, tf.image.central_crop(picture, share))
