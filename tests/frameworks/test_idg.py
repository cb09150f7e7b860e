# SPDX-License-Identifier: Apache-2.0
"""ImageDataGenerator against Keras's own: given transforms, draws, whole batches with the numbers that the engine drew."""
import itertools
import os
import subprocess
import sys
import warnings

import numpy
import pytest
from keras.src.legacy.preprocessing import image as theirs
from leat import _idg as ours
from leat._idg import scipy_warp, transforms

random = numpy.random.RandomState(3)
MODES = ("constant", "nearest", "reflect", "wrap")
EVERYTHING = {"rotation_range": 25, "width_shift_range": 0.2, "height_shift_range": 0.15, "shear_range": 12,
              "zoom_range": 0.3, "channel_shift_range": 20, "horizontal_flip": True, "vertical_flip": True}


def pictures(n: int, *shape: int, dtype: str = "uint8") -> numpy.ndarray:
    return (random.rand(n, *shape) * 255).astype(dtype)


def both(**settings):
    """Keras's generator and leat's, with the same settings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return theirs.ImageDataGenerator(**settings), ours.ImageDataGenerator(**settings)


# ------------------------------------------------------------------------------------- one picture, given numbers


@pytest.mark.parametrize("shape", [(9, 9, 3), (7, 12, 1), (16, 5, 4), (1, 6, 3), (8, 8, 2)])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_apply_transform_has_the_bits_of_keras(shape, mode, order):
    keras_, leat_ = both(fill_mode=mode, interpolation_order=order, cval=7.5)
    for dtype in ("float32", "float64", "uint8"):
        x = (random.rand(*shape) * 255).astype(dtype)
        for number in range(4):
            given = {"theta": random.uniform(-90, 90), "tx": random.uniform(-4, 4), "ty": number, "shear": 10 * number,
                     "zx": random.uniform(0.5, 1.5), "zy": random.uniform(0.5, 1.5), "flip_horizontal": number % 2,
                     "flip_vertical": number > 1, "channel_shift_intensity": random.uniform(-30, 30)}
            numpy.testing.assert_array_equal(leat_.apply_transform(x, given), keras_.apply_transform(x, given))
        for part in ({}, {"theta": 90}, {"tx": 1}, {"zx": 0.5}, {"shear": 30}, {"flip_vertical": True}):
            numpy.testing.assert_array_equal(leat_.apply_transform(x, part), keras_.apply_transform(x, part))


@pytest.mark.parametrize("shape", [(9, 12, 3), (6, 6, 1), (5, 8, 4)])
def test_brightness_has_the_bits_of_keras(shape):
    keras_, leat_ = both()
    for low, high, factor in itertools.product((0, -30), (255, 300, 1), (0.3, 1, 1.7)):
        x = (random.rand(*shape) * (high - low) + low).astype("float32")
        given = {"brightness": factor}
        numpy.testing.assert_array_equal(leat_.apply_transform(x, given), keras_.apply_transform(x, given))


def test_channels_first():
    keras_, leat_ = both(data_format="channels_first")
    x = random.rand(3, 8, 11).astype("float32")
    given = {"theta": 33, "tx": 1.5, "ty": -2, "zx": 0.9, "flip_horizontal": True, "channel_shift_intensity": 0.1}
    numpy.testing.assert_array_equal(leat_.apply_transform(x, given), keras_.apply_transform(x, given))


def test_without_scipy(monkeypatch):
    """NumPy gives SciPy's bits for float32 and whole numbers; what it cannot do names SciPy."""
    keras_, leat_ = both(fill_mode="reflect")
    monkeypatch.setattr(scipy_warp, "need", lambda *_: (_ for _ in ()).throw(ImportError("needs SciPy")))
    for mode, order, dtype in itertools.product(MODES, (0, 1), ("float32", "uint8", "int32")):
        keras_.fill_mode = leat_.fill_mode = mode
        keras_.interpolation_order = leat_.interpolation_order = order
        for _ in range(20):
            x = (random.rand(*random.randint(1, 14, 2), 3) * 255).astype(dtype)
            given = {"theta": random.uniform(-200, 200), "tx": random.uniform(-30, 30), "zx": random.uniform(0.2, 3)}
            numpy.testing.assert_array_equal(leat_.apply_transform(x, given), keras_.apply_transform(x, given))
    leat_.interpolation_order = 3
    with pytest.raises(ImportError, match="SciPy"):
        leat_.apply_transform(x, {"theta": 10})


FUNCTIONS = [("random_rotation", (40,)), ("random_shift", (0.2, 0.3)), ("random_shear", (30,)),
             ("random_zoom", ((0.7, 1.4),)), ("random_channel_shift", (50,)), ("random_brightness", ((0.5, 1.5),))]


@pytest.mark.parametrize("name, arguments", FUNCTIONS)
def test_functions_of_the_module(name, arguments):
    x = pictures(1, 10, 14, 3, dtype="float32")[0]
    axes = {} if "bright" in name else {"channel_axis": 2} if "channel" in name else \
        {"row_axis": 0, "col_axis": 1, "channel_axis": 2}
    numpy.random.seed(5)
    wanted = getattr(theirs, name)(x, *arguments, **axes)
    numpy.random.seed(5)
    numpy.testing.assert_array_equal(getattr(ours, name)(x, *arguments, **axes), wanted)


@pytest.mark.parametrize("arguments", [{"row_axis": 0, "col_axis": 0}, {"row_axis": 0, "col_axis": 1, "channel_axis": 5},
                                       {"row_axis": 0, "col_axis": 2, "channel_axis": 1}, {}])
def test_wrong_axes_are_refused(arguments):
    x = numpy.zeros((4, 4, 3)) if arguments else numpy.zeros((4, 4))
    for library in (theirs, ours):
        with pytest.raises(ValueError):
            library.apply_affine_transform(x, theta=3, **arguments)


# ---------------------------------------------------------------------------------------------------------- draws

RANGES = [EVERYTHING, {"width_shift_range": 3, "height_shift_range": [-3, 0, 2]}, {"brightness_range": (0.2, 1.2)},
          {"width_shift_range": [0.1, 0.2], "height_shift_range": 2.5}, {"zoom_range": (0.5, 0.8)}, {}]


@pytest.mark.parametrize("settings", RANGES)
def test_get_random_transform_draws_what_keras_draws(settings):
    keras_, leat_ = both(**settings)
    for seed in range(20):
        assert keras_.get_random_transform((20, 30, 3), seed) == leat_.get_random_transform((20, 30, 3), seed)
    x = pictures(1, 20, 30, 3, dtype="float32")[0]
    numpy.testing.assert_array_equal(keras_.random_transform(x, seed=4), leat_.random_transform(x, seed=4))


def drawn(generator, x, epochs: int = 1) -> list[tuple[dict, int, numpy.ndarray]]:
    """What the engine drew for each sample of a flow, its number, and the picture that it made."""
    iterator = generator.flow(x, batch_size=16, seed=11)
    dataset = iterator._engine().dataset.configure(params=True)
    found = []
    for _ in range(epochs):
        for batch in dataset.batches():
            for text, number, image in zip(batch.params, batch.samples, batch["image"]):
                numbers = dict(word.split("=") for word in text.split() if "=" in word)
                found.append(({key: float(value) for key, value in numbers.items()}, number, numpy.array(image)))
    return found


@pytest.mark.parametrize("settings", RANGES)
def test_the_engine_draws_from_the_same_distribution(settings):
    keras_, _ = both(**settings)
    _, leat_ = both(**settings)
    x = pictures(64, 20, 30, 3)
    found = [numbers for numbers, _, _ in drawn(leat_, x, epochs=30)]
    wanted = [keras_.get_random_transform((20, 30, 3)) for _ in range(len(found))]
    names = {"channel_shift_intensity": "channel_shift"}
    for name in wanted[0]:
        mine = [numbers[names.get(name, name)] for numbers in found if names.get(name, name) in numbers]
        other = numpy.array([numbers[name] for numbers in wanted if numbers[name] is not None], float)
        if not mine:  # nothing of it is drawn
            assert numpy.ptp(other) == 0 if len(other) else True
            continue
        low, high = other.min(), other.max()
        width = max(high - low, 1e-9)
        assert abs(numpy.mean(mine) - other.mean()) < 0.06 * width
        assert abs(numpy.std(mine) - other.std()) < 0.06 * width
        assert min(mine) > low - 0.05 * width - 1e-9 and max(mine) < high + 0.05 * width + 1e-9
        if len(set(other)) < 10:
            assert set(numpy.round(mine, 6)) == set(numpy.round(other, 6))


# ------------------------------------------------------------------------------------ whole batches of the engine

NAMES = {"channel_shift": "channel_shift_intensity", "flip": "flip_horizontal"}
CASES = [
    ({**EVERYTHING, "fill_mode": mode, "interpolation_order": order, "cval": 30.0}, shape)
    for mode, order, shape in zip(MODES * 3, (1,) * 4 + (0,) * 4 + (3,) * 4, itertools.cycle([(20, 20, 3), (13, 22, 1)]))
] + [({"brightness_range": (0.3, 1.8), "horizontal_flip": True}, (12, 10, 3)),
     ({"rescale": 1 / 255}, (8, 8, 4)),
     ({"samplewise_center": True, "samplewise_std_normalization": True, "rotation_range": 30}, (16, 16, 3)),
     ({"zoom_range": (0.6, 0.6), "rescale": 2.0, "samplewise_center": True}, (16, 11, 3)),
     ({"width_shift_range": 4, "height_shift_range": [2, 3]}, (16, 11, 3)), ({}, (6, 7, 3))]


@pytest.mark.parametrize("settings, shape", CASES)
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_batches_are_what_keras_makes_of_the_same_draws(settings, shape, dtype):
    """Order 0, flips, shifts of values and brightness have Keras's bits; order 1 is within 1e-4 of 255, and of order 3 a value
    may be the next float. test_stated_bounds.py has larger pictures."""
    keras_, leat_ = both(**settings)
    x = pictures(20, *shape, dtype=dtype)
    for numbers, number, image in drawn(leat_, x):
        given = {NAMES.get(name, name): value for name, value in numbers.items()}
        wanted = keras_.standardize(keras_.apply_transform(x[number].astype("float32"), given))
        apart = numpy.abs(image - wanted)
        if settings.get("interpolation_order") == 0 or settings.get("brightness_range"):
            assert apart.max() == 0, numbers
        else:
            assert apart.max() <= (1.6e-5 if settings.get("interpolation_order") == 3 else 1e-4), numbers


def test_the_distribution_of_pixels():
    """The mean picture over many epochs is that of Keras, and not that of another geometry."""
    x = numpy.zeros((32, 24, 24, 1), "float32")
    x[:, 4:12, 8:20] = 255
    settings = {"width_shift_range": 0.3, "height_shift_range": 0.1, "rotation_range": 20, "fill_mode": "constant"}
    keras_, leat_ = both(**settings)
    means = []
    for generator in (keras_, leat_, ours.ImageDataGenerator(**settings, compat="keras28")):
        flow = generator.flow(x, seed=2)
        means.append(numpy.mean([next(flow).mean(axis=0) for _ in range(40)], axis=0))
    assert numpy.abs(means[0] - means[1]).mean() < 2.5
    assert numpy.abs(means[0] - means[2]).mean() > 6


def test_keras28_and_fixed():
    """keras28: shifts along their own axes, about a middle one pixel further; fixed: the shape's own middle."""
    x = pictures(1, 9, 14, 3, dtype="float32")[0]
    old, fixed = (ours.ImageDataGenerator(compat=name, fill_mode="constant") for name in ("keras28", "fixed"))
    numpy.testing.assert_array_equal(old.apply_transform(x, {"tx": 2})[:-2], x[2:])  # the height moves rows
    numpy.testing.assert_array_equal(fixed.apply_transform(x, {"tx": 2})[:-2], x[2:])
    fixed.fill_mode = "nearest"
    numpy.testing.assert_allclose(fixed.apply_transform(x, {"theta": 180}), x[::-1, ::-1], atol=1e-3)
    keras3 = ours.ImageDataGenerator(fill_mode="constant")
    numpy.testing.assert_array_equal(keras3.apply_transform(x, {"tx": 2})[:, :-2], x[:, 2:])
    old.fill_mode = "nearest"
    numpy.testing.assert_allclose(old.apply_transform(x, {"theta": 180})[2:, 2:], x[:1:-1, :1:-1], atol=1e-3)
    with pytest.raises(ValueError, match="keras3"):
        ours.ImageDataGenerator(compat="keras2")


@pytest.mark.parametrize("compat", ["keras3", "keras28", "fixed"])
def test_the_engine_and_apply_transform_agree_in_every_flavour(compat):
    generator = ours.ImageDataGenerator(**EVERYTHING, compat=compat)
    x = pictures(12, 14, 21, 3)
    for numbers, number, image in drawn(generator, x):
        given = {NAMES.get(name, name): value for name, value in numbers.items()}
        assert numpy.abs(image - generator.apply_transform(x[number].astype("float32"), given)).max() <= 1e-4


# ------------------------------------------------------------------------------------------------- standardisation


SETTINGS = [{"featurewise_center": True}, {"featurewise_center": True, "featurewise_std_normalization": True},
            {"zca_whitening": True}, {"samplewise_center": True, "samplewise_std_normalization": True, "rescale": 1 / 255},
            {"featurewise_std_normalization": True, "rescale": 0.5, "data_format": "channels_first"}]


@pytest.mark.parametrize("settings", SETTINGS)
def test_fit_standardize_and_flow(settings):
    keras_, leat_ = both(**settings)
    shape = (3, 6, 7) if settings.get("data_format") else (6, 7, 3)
    x = pictures(40, *shape)
    keras_.fit(x)
    leat_.fit(x)
    for name in ("mean", "std", "zca_whitening_matrix"):
        numpy.testing.assert_array_equal(getattr(leat_, name), getattr(keras_, name))
    one = x[0].astype("float32")
    numpy.testing.assert_array_equal(leat_.standardize(one.copy()), keras_.standardize(one.copy()))
    batch = next(leat_.flow(x, shuffle=False, batch_size=8))
    wanted = next(keras_.flow(x, shuffle=False, batch_size=8))
    numpy.testing.assert_allclose(batch, wanted, atol=2e-3 if settings.get("zca_whitening") else 3e-5, rtol=1e-5)


def test_fit_on_augmented_pictures():
    keras_, leat_ = both(featurewise_center=True, featurewise_std_normalization=True, **EVERYTHING)
    x = pictures(60, 12, 12, 3)
    keras_.fit(x, augment=True, rounds=3, seed=1)
    leat_.fit(x, augment=True, rounds=3, seed=1)
    numpy.testing.assert_allclose(leat_.mean, keras_.mean, rtol=0.02)
    numpy.testing.assert_allclose(leat_.std, keras_.std, rtol=0.02)
    again = leat_.mean
    leat_.fit(x, augment=True, rounds=3, seed=1)
    numpy.testing.assert_array_equal(leat_.mean, again)


def test_a_mean_that_was_set_by_hand():
    """mean may be what fit gives, three numbers, or a whole picture."""
    x = pictures(8, 5, 6, 3)
    for mean in ([123.68, 116.779, 103.939], 7.0, random.rand(5, 6, 3) * 100, [[[1.0, 2.0, 3.0]]]):
        keras_, leat_ = both(featurewise_center=True)
        keras_.mean = leat_.mean = numpy.array(mean, "float32")
        numpy.testing.assert_allclose(next(leat_.flow(x, shuffle=False)), next(keras_.flow(x, shuffle=False)), atol=2e-5)


MODELS = ["vgg16", "mobilenet_v2", "densenet", "efficientnet", "resnet_v2"]


@pytest.mark.parametrize("name", MODELS)
def test_preprocess_input_of_keras_applications_runs_in_the_engine(name):
    keras = pytest.importorskip("keras")
    function = getattr(keras.applications, name).preprocess_input
    keras_, leat_ = both(preprocessing_function=function)
    x = pictures(8, 6, 6, 3)
    flow = leat_.flow(x, shuffle=False)
    numpy.testing.assert_allclose(next(flow), next(keras_.flow(x, shuffle=False)), atol=2e-4, rtol=1e-5)
    assert "map" not in flow._engine().dataset.text


def test_a_function_of_ones_own_is_told_of_and_works():
    import leat

    def half(image):
        assert type(image) is numpy.ndarray and image.dtype == "float32"
        return image / 2 + 1

    keras_, leat_ = both(preprocessing_function=half, rescale=1 / 255, samplewise_center=True)
    x = pictures(8, 6, 7, 3)
    with pytest.warns(leat.LeatWarning, match="half"):
        batch = next(leat_.flow(x, shuffle=False))
    numpy.testing.assert_allclose(batch, next(keras_.flow(x, shuffle=False)), atol=1e-6)


def test_the_class_that_scripts_import():
    """tf.keras.preprocessing.image has the class that this file compares with."""
    tf = pytest.importorskip("tensorflow")
    assert tf.keras.preprocessing.image.ImageDataGenerator is theirs.ImageDataGenerator
    assert transforms.COMPAT[0] == "keras3"


def test_iterators_of_the_drop_in_module_are_pydatasets():
    """Also if nothing has imported Keras before. TensorFlow's threads can still be set afterwards."""
    pytest.importorskip("tensorflow")
    script = """
from leat.tf.keras.preprocessing.image import ImageDataGenerator
import leat.tf as tf, numpy
tf.config.threading.set_intra_op_parallelism_threads(1)
flow = ImageDataGenerator(rotation_range=9).flow(numpy.zeros((8, 6, 6, 3), "uint8"), numpy.zeros(8), batch_size=4)
assert isinstance(flow, tf.keras.utils.PyDataset) and isinstance(flow, tf.keras.utils.Sequence)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                          env={**os.environ, "KERAS_BACKEND": "tensorflow"})
    assert done.returncode == 0, done.stderr
