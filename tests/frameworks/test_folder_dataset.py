# SPDX-License-Identifier: Apache-2.0
"""image_dataset_from_directory beside Keras's own: files, labels, parts, pixels, messages and errors."""
import inspect
import os
import re

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy
import pytest
import tensorflow as tf
from leat.keras.utils import image_dataset_from_directory as ours
from PIL import Image

theirs = keras.utils.image_dataset_from_directory
METHODS = ["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"]
random = numpy.random.default_rng(7)


def picture(height, width, mode="RGB"):
    """Smooth with some noise, as photos are."""
    y, x = numpy.mgrid[0:height, 0:width]
    waves = [127 + 90 * numpy.sin(x / (7 + c) + c) * numpy.cos(y / 11) for c in range(len(mode))]
    pixels = (numpy.stack(waves, -1) + random.normal(0, 12, (height, width, len(mode)))).clip(0, 255).astype("u1")
    return Image.fromarray(pixels[..., 0] if mode == "L" else pixels, mode)


def save(image, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path)


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Two classes, with every kind of file, folders inside, links, and names that are not counted."""
    top = tmp_path_factory.mktemp("photos")
    for i, (height, width) in enumerate([(60, 80), (97, 41), (33, 33), (120, 77), (50, 91)]):
        save(picture(height, width), top / f"cats/{i}.jpg")
        save(picture(width, height), top / f"dogs/young/{i}.JPEG")
    save(picture(40, 50), top / "cats/b.bmp")
    save(picture(44, 70), top / "cats/deep/er/c.png")
    save(picture(70, 44, "L"), top / "dogs/gray.png")
    save(picture(64, 64, "RGBA"), top / "dogs/alpha.png")
    save(picture(30, 20).convert("P"), top / "dogs/a.gif")
    save(picture(30, 20), top / ".hidden/x.png")
    (top / "cats/notes.txt").write_text("not a picture")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    save(picture(25, 25), elsewhere / "linked.png")
    (top / "cats/link").symlink_to(elsewhere)
    return top


@pytest.fixture(scope="module")
def pngs(tmp_path_factory):
    top = tmp_path_factory.mktemp("pngs")
    for i, mode in enumerate(["RGB", "L", "RGBA", "RGB", "L", "RGBA", "RGB"]):
        save(picture(20 + i, 31 - i, mode), top / f"class{i % 3}/{i}.png")
    return top


def parts(element):
    return [numpy.asarray(part) for part in (element if isinstance(element, tuple) else (element,))]


def compare(directory, bound=0.0, **given):
    given = {"shuffle": False, "image_size": (48, 40), "verbose": False, **given}
    a, b = theirs(directory, **given), ours(directory, **given)
    assert a.class_names == b.class_names and a.file_paths == b.file_paths
    count = 0
    for x, y in zip(a, b, strict=True):
        assert type(x) is type(y)
        for p, q in zip(parts(x), parts(y), strict=True):
            assert (p.shape, p.dtype) == (q.shape, q.dtype)
            assert numpy.abs(p.astype("f8") - q.astype("f8")).max() <= bound
        count += 1
    assert count == len(a) == len(b)


def test_where_it_is():
    import leat.keras
    import leat.tf

    for module in (leat.keras.utils, leat.keras.preprocessing, leat.tf.keras.utils, leat.tf.keras.preprocessing):
        assert module.image_dataset_from_directory is ours
    assert leat.keras.utils.split_dataset is keras.utils.split_dataset and leat.keras.utils.Sequence is keras.utils.Sequence


def test_the_parameters_are_those_of_keras():
    assert [(p.name, p.default) for p in inspect.signature(ours).parameters.values()] == \
        [(p.name, p.default) for p in inspect.signature(theirs).parameters.values()]


@pytest.mark.parametrize("how", [{}, {"crop_to_aspect_ratio": True}, {"pad_to_aspect_ratio": True}])
@pytest.mark.parametrize("method", METHODS)
def test_pixels(photos, method, how):
    """Bits, but for lanczos, whose sines TensorFlow takes from the C library. `nearest` gives bytes."""
    if "crop_to_aspect_ratio" in how and method in METHODS[6:]:
        for function in (theirs, ours):
            with pytest.raises(ValueError, match="Invalid value for argument `interpolation`"):
                function(photos, interpolation=method, **how)
    else:
        compare(photos, 0.00025 if method.startswith("lanczos") else 0, interpolation=method, **how)


@pytest.mark.parametrize("given", [
    {"label_mode": "int"}, {"label_mode": "binary"}, {"label_mode": "categorical"}, {"label_mode": None}, {"labels": None},
    {"class_names": ["dogs", "cats"]}, {"class_names": ["dogs"]}, {"class_names": ["dogs"], "label_mode": "categorical"},
    {"labels": [5, 3] * 8}, {"labels": [0, 1, 1, 1] * 4, "label_mode": "binary"},
    {"labels": [2, 1, 0, 0] * 4, "label_mode": "categorical"}, {"labels": [1, 3, 7, 7] * 4, "label_mode": "categorical"},
    {"labels": [0.5] * 16}, {"batch_size": None}, {"batch_size": 1}, {"batch_size": 4}, {"batch_size": 100},
    {"image_size": 20}, {"image_size": [30, 50]}, {"follow_links": True}, {"interpolation": "BiCubic"},
    {"data_format": "channels_first"}, {"data_format": "Channels_First", "interpolation": "nearest", "batch_size": None},
    {"data_format": "channels_first", "crop_to_aspect_ratio": True}, {"validation_split": 0.3, "subset": "validation"}])
def test_arguments(photos, given):
    compare(photos, **given)


@pytest.mark.parametrize("mode, bound", [("grayscale", 1.0001), ("rgba", 0), ("rgb", 0)])
def test_channels(pngs, mode, bound):
    """The gray of a PNG in colour differs by at most 1, see docs/operations.md, decode."""
    compare(pngs, bound, color_mode=mode)


def test_gray_jpegs(photos):
    compare(photos / "dogs/young", color_mode="grayscale", labels=None)


@pytest.mark.parametrize("mode", ["grayscale", "rgba"])
def test_what_tensorflow_does_not_decode_is_its_error(photos, mode):
    errors = []
    for function in (theirs, ours):
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            list(function(photos, color_mode=mode, verbose=False))
        errors.append(type(caught.value))
    assert errors[0] is errors[1]


@pytest.mark.parametrize("seed", [0, 1, 1337, 2**31])
@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("split", [0.2, 0.5, 0.99])
def test_parts_have_the_same_files(photos, seed, shuffle, split, capsys):
    said = []
    found = []
    for function in (theirs, ours):
        both = function(photos, validation_split=split, subset="both", seed=seed, shuffle=shuffle)
        single = [function(photos, validation_split=split, subset=subset, seed=seed, shuffle=shuffle)
                  for subset in ("training", "validation")]
        found.append([(ds.file_paths, ds.class_names, len(ds)) for ds in (*both, *single)])
        said.append(capsys.readouterr().out)
    assert found[0] == found[1] and said[0] == said[1]
    assert "Using" in said[0]


def test_labels_follow_their_files(photos):
    """By the names of the files; elements come in another order in every epoch, each once."""
    ds = ours(photos, seed=3, image_size=(16, 16), batch_size=4)
    pixels = {image.tobytes(): label for images, labels in theirs(photos, shuffle=False, image_size=(16, 16))
              for image, label in zip(images.numpy(), labels.numpy())}
    orders = []
    for _ in range(3):
        seen = [(image.tobytes(), label) for images, labels in ds
                for image, label in zip(numpy.asarray(images), numpy.asarray(labels))]
        assert dict(seen) == pixels and len(seen) == len(pixels)
        orders.append([image for image, _ in seen])
    assert orders[0] != orders[1] != orders[2]
    again = [image.tobytes() for images, _ in ours(photos, seed=3, image_size=(16, 16), batch_size=4)
             for image in numpy.asarray(images)]
    assert again == orders[0]


@pytest.mark.parametrize("given", [
    {"labels": "other"}, {"labels": numpy.zeros(16)}, {"labels": [0] * 16, "class_names": ["cats", "dogs"]},
    {"labels": None, "class_names": ["cats"]}, {"label_mode": None, "class_names": ["cats"]}, {"label_mode": "other"},
    {"color_mode": "cmyk"}, {"image_size": (1, 2, 3)}, {"image_size": 2.5}, {"interpolation": "linear"}, {"format": "np"},
    {"validation_split": 2, "subset": "training"}, {"validation_split": 0.5}, {"subset": "training"},
    {"validation_split": 0.0, "subset": "training"}, {"validation_split": 0.2, "subset": "test", "seed": 1},
    {"validation_split": 0.2, "subset": "training"}, {"class_names": ["cats", "birds"]}, {"labels": [0, 1]},
    {"label_mode": "binary", "class_names": ["cats"]}, {"label_mode": "binary", "labels": [1, 2, 3, 3] * 4},
    {"crop_to_aspect_ratio": True, "pad_to_aspect_ratio": True}, {"data_format": "middle"},
    {"validation_split": 0.01, "subset": "training", "seed": 1}, {"validation_split": 0.01, "subset": "both", "seed": 1},
    {"interpolation": None}, {"batch_size": 0}, {"batch_size": -2}, {"image_size": (0, 5)}, {"image_size": (5, None)},
    {"directory": "/does/not/exist"}, {"directory": "/does/not/exist", "labels": None}, {"directory": ""}])
def test_errors(photos, given, capsys):
    """The class, and the first name in the message that Keras writes in code."""
    errors = []
    for function in (theirs, ours):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            list(function(**{"directory": photos, **given}))
        errors.append(caught.value)
    assert type(errors[0]) is type(errors[1]), errors
    named = re.search(r"`(\w+)|No (\w+ )?images found", str(errors[0]))
    assert named is None or named[0] in str(errors[1]), errors


def test_no_picture(tmp_path):
    (tmp_path / "empty").mkdir()
    for function in (theirs, ours):
        with pytest.raises(ValueError, match="No images found in directory"):
            function(tmp_path)


@pytest.mark.parametrize("given", [{}, {"labels": None}, {"label_mode": None}, {"labels": [1, 2, 3, 3] * 4},
                                   {"verbose": False}, {"class_names": ["dogs"]}])
def test_what_is_printed(photos, given, capsys):
    said = []
    for function in (theirs, ours):
        function(photos, **given)
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] and bool(said[0]) == given.get("verbose", True)


def test_what_is_printed_goes_to_the_log(photos, capsys):
    keras.config.disable_interactive_logging()
    try:
        ours(photos)
    finally:
        keras.config.enable_interactive_logging()
    assert capsys.readouterr().out == ""


def test_the_seed_is_numpys_if_there_is_none(photos):
    found = []
    for function in (theirs, ours):
        numpy.random.seed(5)
        found.append(function(photos, verbose=False).file_paths)
    assert found[0] == found[1]


@pytest.mark.parametrize("given", [{"format": "grain"}, {"directory": "gs://bucket/photos"}, {"directory": "/gcs/photos"}])
def test_the_rest_is_keras_own(photos, given, monkeypatch):
    calls = []
    monkeypatch.setattr(keras.utils, "image_dataset_from_directory", lambda **given: calls.append(given) or "theirs")
    assert ours(**{"directory": photos, "seed": 4, **given}) == "theirs"
    assert calls[0]["seed"] == 4 and {key: calls[0][key] for key in given} == given


@pytest.mark.parametrize("given", [{}, {"batch_size": None}, {"data_format": "channels_first"},
                                   {"label_mode": None, "batch_size": 4}])
def test_it_is_a_dataset_of_tensorflow(photos, given):
    """Verbs, loops in a tf.function, specs and lengths, beside Keras's own."""
    given = {"shuffle": False, "image_size": (16, 12), "verbose": False, "batch_size": 5, **given}
    a, b = theirs(photos, **given), ours(photos, **given)
    assert isinstance(b, tf.data.Dataset) and a.element_spec == b.element_spec
    assert int(a.cardinality()) == int(b.cardinality()) == len(b)

    @tf.function
    def total(ds):
        found = 0.0
        for element in ds:
            found += tf.reduce_sum(tf.nest.flatten(element)[0])
        return found

    assert abs(float(total(a)) / float(total(b)) - 1) < 1e-6
    verbs = [lambda ds: ds.take(2), lambda ds: ds.skip(1), lambda ds: ds.cache().prefetch(tf.data.AUTOTUNE),
             lambda ds: ds.repeat(2), lambda ds: ds.map(lambda x, *y: (x / 255, *y)), lambda ds: ds.map(lambda *e: e[0][..., :1]),
             lambda ds: ds.map(lambda *e: tf.image.flip_left_right(e[0])), lambda ds: ds.enumerate(),
             lambda ds: ds.batch(2, drop_remainder=True), lambda ds: ds.concatenate(ds), lambda ds: tf.data.Dataset.zip((ds, ds))]
    verbs += [] if given["batch_size"] is None else [lambda ds: ds.unbatch(), lambda ds: ds.unbatch().batch(3)]
    for verb in verbs:
        p, q = verb(a), verb(b)
        assert p.element_spec == q.element_spec
        for x, y in zip(p.as_numpy_iterator(), q.as_numpy_iterator(), strict=True):
            for left, right in zip(tf.nest.flatten(x), tf.nest.flatten(y), strict=True):
                assert numpy.allclose(left, right, rtol=1e-6, atol=1e-5)


def test_a_damaged_file_is_tensorflows_error(tmp_path):
    save(picture(20, 20), tmp_path / "a/good.png")
    (tmp_path / "a/bad.jpg").write_bytes(b"\xff\xd8\xff\xe0 no picture")
    for function in (theirs, ours):
        with pytest.raises(tf.errors.InvalidArgumentError):
            list(function(tmp_path))


@pytest.mark.parametrize("label_mode", ["int", "binary", "categorical"])
def test_fit_evaluate_predict(photos, label_mode):
    train, val = ours(photos, label_mode=label_mode, image_size=(16, 16), batch_size=4, validation_split=0.3, subset="both",
                      seed=1)
    model = keras.Sequential([keras.layers.Rescaling(1 / 255), keras.layers.Flatten(),
                              keras.layers.Dense(1 if label_mode == "binary" else 2, "sigmoid")])
    loss = {"int": "sparse_categorical_crossentropy", "binary": "binary_crossentropy"}
    model.compile("adam", loss.get(label_mode, "categorical_crossentropy"), metrics=["accuracy"])
    history = model.fit(train, validation_data=val, epochs=2, verbose=0)
    assert len(history.history["val_loss"]) == 2
    own = theirs(photos, label_mode=label_mode, image_size=(16, 16), batch_size=4, validation_split=0.3, subset="validation",
                 seed=1, shuffle=True)
    assert sorted(own.file_paths) == sorted(val.file_paths)
    pixels = theirs(photos, label_mode=label_mode, image_size=(16, 16), batch_size=4, validation_split=0.3, subset="both",
                    seed=1)[1]
    assert numpy.allclose(model.evaluate(val, verbose=0), model.evaluate(pixels, verbose=0), atol=1e-6)
    assert numpy.allclose(model.predict(val, verbose=0), model.predict(pixels, verbose=0), atol=1e-6)
