# SPDX-License-Identifier: Apache-2.0
"""Functions of map and filter that leat reads: each name of the table beside real TensorFlow."""
import os
import types

import keras
import leat
import numpy
import pytest
import tensorflow as tf
from leat._tfdata.chain import Built, Chain, Columns, Refused
from leat._tftrace import lower_filter, lower_map
from leat._tftrace.table import ENGINE, ONCE, OTHERS, ROWS

keras.utils.set_random_seed(4)
ROWS_OF_TEST = 6
random = numpy.random.default_rng(3)
PIXELS = random.integers(0, 256, (ROWS_OF_TEST, 12, 16, 3)).astype("uint8")
GRAY = random.integers(0, 256, (ROWS_OF_TEST, 12, 16)).astype("uint8")
LABELS = numpy.array([0, 3, 1, 2, 3, 0], "int32")
SCALE = tf.constant([0.25, 0.5, 0.125])


@pytest.fixture(scope="session")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("photos")
    found = []
    y, x = numpy.mgrid[0:40, 0:50]
    for i in range(ROWS_OF_TEST):
        kind = "cat" if i % 2 else "dog"
        (folder / kind).mkdir(exist_ok=True)
        waves = numpy.stack([127 + 90 * numpy.sin(x / (5 + i + c)) * numpy.cos(y / 7) for c in range(3)], -1)
        pixels = (waves + random.normal(0, 10, (40, 50, 3))).clip(0, 255).astype("uint8")
        name, encode = [("jpg", tf.io.encode_jpeg), ("png", tf.io.encode_png)][i >= 3]
        path = str(folder / kind / f"{i}_{i % 4}.{name}")
        tf.io.write_file(path, encode(pixels))
        found.append(path.encode())
    return numpy.array(found, object)


@pytest.fixture(scope="session")
def records(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("records") / "a.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for i in range(ROWS_OF_TEST):
            feature = {
                "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[PIXELS[i].tobytes()])),
                "jpeg": tf.train.Feature(bytes_list=tf.train.BytesList(value=[tf.io.encode_jpeg(PIXELS[i]).numpy()])),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[int(LABELS[i])])),
                "box": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5, 1.5, i, 2.5])),
                "ids": tf.train.Feature(int64_list=tf.train.Int64List(value=[i, i + 1, i + 2]))}
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
    return path


def chain_of(arrays, structure):
    specs = {name: tf.TensorSpec(array.shape[1:], tf.string if array.dtype == object else array.dtype)
             for name, array in arrays.items()}
    return Chain(Columns(arrays, len(next(iter(arrays.values())))), structure, specs)


def real_of(arrays, structure):
    given = {name: array.tolist() if array.dtype == object else array for name, array in arrays.items()}
    return tf.data.Dataset.from_tensor_slices(tf.nest.map_structure(given.__getitem__, structure))


def arrays_of(item):
    return [numpy.asarray(part.tolist() if isinstance(part, leat.Ragged) else part) for part in tf.nest.flatten(item)]


def compare(lowered, real, bound=0.0, batch=4):
    """The elements of a lowered chain beside those of tf.data; bound is a share of the largest value."""
    assert lowered.element_spec() == real.element_spec
    if not lowered.batched:
        lowered, real = lowered.then("batch", batch), real.batch(batch)
    count = 0
    for ours, theirs in zip(lowered.build(), real.as_numpy_iterator(), strict=True):
        tf.nest.assert_same_structure(ours, theirs)
        for mine, wanted in zip(arrays_of(ours), tf.nest.flatten(theirs), strict=True):
            if wanted.dtype == object:
                assert mine.tolist() == wanted.tolist()
                continue
            assert mine.dtype == wanted.dtype and mine.shape == wanted.shape
            largest = max(1.0, float(numpy.abs(wanted.astype("float64")).max(initial=0)))
            difference = numpy.abs(mine.astype("float64") - wanted.astype("float64")).max(initial=0)
            assert difference <= bound * largest, difference
        count += 1
    assert count


def f32(x):
    return tf.cast(x, tf.float32) / 255.0


PARSED = {"image": tf.io.FixedLenFeature([], tf.string), "jpeg": tf.io.FixedLenFeature([], tf.string),
          "label": tf.io.FixedLenFeature([], tf.int64), "box": tf.io.FixedLenFeature([4], tf.float32),
          "weight": tf.io.FixedLenFeature([], tf.float32, default_value=0.5), "ids": tf.io.VarLenFeature(tf.int64)}
TABLE = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(tf.constant(["cat", "dog"]), tf.constant([7, 9])), -1)


def read(path):
    return tf.io.decode_jpeg(tf.io.read_file(path), channels=3)


def folder_of(path):
    return tf.strings.split(path, os.sep)[-2]


def square(x):
    return tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, x * 2), (0, x))[1]


def parsed(name, **features):
    wanted = features or {name: PARSED[name]}
    return lambda record: tf.io.parse_single_example(record, wanted)[name]


def distorted(x):
    begin, size, _ = tf.image.sample_distorted_bounding_box(tf.shape(x), tf.constant([0.0, 0.0, 1.0, 1.0], shape=[1, 1, 4]),
                                                            min_object_covered=0.3, area_range=(0.3, 1.0))
    part = tf.slice(x, begin, size)
    part.set_shape([None, None, 3])
    return tf.image.resize(part, [8, 8])


VARIABLE = tf.Variable(2.0)
NORMALIZATION = keras.layers.Normalization(mean=[100.0, 110.0, 120.0], variance=[2500.0, 1600.0, 900.0])
NORMALIZATION.build((None, 12, 16, 3))
DENSE = keras.layers.Dense(2)
DENSE.build((None, 3))

# For each name of the table: which samples (P paths, X pictures, G gray pictures without channels, Y labels, R records), the
# function, and how far results may be apart, as a share of the largest value; what is drawn is compared by distribution.
DRAWN = "drawn"
EXAMPLES = {
    "tf.io.read_file": ("P", lambda p: tf.io.decode_png(tf.io.read_file(tf.strings.join(["", p])), 3), 0),
    "tf.io.decode_jpeg": ("P", read, 0),
    "tf.io.decode_png": ("P", lambda p: tf.io.decode_png(tf.io.read_file(p), channels=3), 0),
    "tf.io.decode_image": ("P", lambda p: tf.io.decode_image(tf.io.read_file(p), 3, tf.float32, expand_animations=False), 1e-6),
    "tf.io.decode_bmp": ("B", lambda p: tf.io.decode_bmp(tf.io.read_file(p), channels=3), 0),
    "tf.image.decode_jpeg": ("P", lambda p: tf.image.decode_jpeg(tf.io.read_file(p), 3, dct_method="INTEGER_ACCURATE"), 0),
    "tf.image.decode_png": ("P", lambda p: tf.image.decode_png(tf.io.read_file(p), channels=3), 0),
    "tf.image.decode_image": ("P", lambda p: tf.image.decode_image(tf.io.read_file(p), 3, expand_animations=False), 0),
    "tf.io.decode_gif": ("P", lambda p: tf.io.decode_gif(tf.io.read_file(p))[0], OTHERS),
    "tf.io.decode_and_crop_jpeg": ("J", lambda p: tf.io.decode_and_crop_jpeg(tf.io.read_file(p), [3, 5, 20, 24], 3), 0),
    "tf.io.decode_raw": ("R", lambda r: tf.reshape(tf.io.decode_raw(parsed("image")(r), tf.uint8), [12, 16, 3]), 0),
    "tf.io.parse_single_example": ("R", lambda r: {key: tf.io.parse_single_example(r, PARSED)[key]
                                                   for key in ("label", "box", "weight", "image")}, 0),
    "tf.io.parse_example": ("Rb", lambda r: tf.io.parse_example(r, {key: PARSED[key] for key in ("label", "box")}), 0),
    "tf.sparse.to_dense": ("R", lambda r: tf.sparse.to_dense(parsed("ids")(r)), 0),
    "tf.image.resize": ("X", lambda x: tf.image.resize(x, [9, 7]), 0),
    "tf.image.resize_with_pad": ("X", lambda x: tf.image.resize_with_pad(x, 9, 20), 0),
    "tf.image.resize_with_crop_or_pad": ("X", lambda x: tf.image.resize_with_crop_or_pad(x, 9, 20), 0),
    "tf.image.central_crop": ("X", lambda x: tf.image.central_crop(x, 0.5), 0),
    "tf.image.crop_to_bounding_box": ("X", lambda x: tf.image.crop_to_bounding_box(x, 1, 2, 5, 6), 0),
    "tf.image.pad_to_bounding_box": ("X", lambda x: tf.image.pad_to_bounding_box(x, 1, 2, 15, 20), 0),
    "tf.image.random_flip_left_right": ("X", lambda x: tf.image.random_flip_left_right(x), DRAWN),
    "tf.image.random_flip_up_down": ("X", lambda x: tf.image.random_flip_up_down(x), DRAWN),
    "tf.image.flip_left_right": ("X", lambda x: tf.image.flip_left_right(x), 0),
    "tf.image.flip_up_down": ("X", lambda x: tf.image.flip_up_down(x), 0),
    "tf.image.rot90": ("X", lambda x: tf.image.rot90(x, 3), 0),
    "tf.image.transpose": ("X", lambda x: tf.image.transpose(x), 0),
    "tf.image.random_brightness": ("X", lambda x: tf.image.random_brightness(x, 0.2), DRAWN),
    "tf.image.adjust_brightness": ("X", lambda x: tf.image.adjust_brightness(x, 0.1), 0),
    "tf.image.random_contrast": ("X", lambda x: tf.image.random_contrast(f32(x), 0.5, 1.5), DRAWN),
    "tf.image.adjust_contrast": ("X", lambda x: tf.image.adjust_contrast(f32(x), 1.5), 1e-6),
    "tf.image.random_saturation": ("X", lambda x: tf.image.random_saturation(x, 0.5, 1.5), DRAWN),
    "tf.image.adjust_saturation": ("X", lambda x: tf.image.adjust_saturation(x, 1.5), 0),
    "tf.image.random_hue": ("X", lambda x: tf.image.random_hue(x, 0.1), DRAWN),
    "tf.image.adjust_hue": ("X", lambda x: tf.image.adjust_hue(x, 0.1), 0),
    "tf.image.adjust_gamma": ("X", lambda x: tf.image.adjust_gamma(x, 0.8, 1.1), 0),
    "tf.image.rgb_to_grayscale": ("X", lambda x: tf.image.rgb_to_grayscale(x), 0),
    "tf.image.per_image_standardization": ("X", lambda x: tf.image.per_image_standardization(x), 1e-6),
    "tf.image.random_jpeg_quality": ("X", lambda x: tf.image.random_jpeg_quality(x, 20, 80), DRAWN),
    "tf.image.adjust_jpeg_quality": ("X", lambda x: tf.image.adjust_jpeg_quality(x, 60), 0),
    "tf.image.random_crop": ("X", lambda x: tf.image.random_crop(x, [8, 8, 3]), DRAWN),
    "tf.image.convert_image_dtype": ("X", lambda x: tf.image.convert_image_dtype(x, tf.float32), 0),
    "tf.image.sample_distorted_bounding_box": ("P", lambda p: distorted(read(p)), DRAWN),
    "tf.image.grayscale_to_rgb": ("X", lambda x: tf.image.grayscale_to_rgb(tf.image.rgb_to_grayscale(x)), 0),
    "tf.image.stateless_random_brightness": ("X", lambda x: tf.image.stateless_random_brightness(x, 0.2, (1, 2)), 0),
    "tf.image.stateless_random_flip_left_right": ("X", lambda x: tf.image.stateless_random_flip_left_right(x, (1, 2)), 0),
    "tf.image.sobel_edges": ("X", lambda x: tf.image.sobel_edges(f32(x)[tf.newaxis])[0], OTHERS),
    "tf.image.draw_bounding_boxes": ("X", lambda x: tf.image.draw_bounding_boxes(
        f32(x)[tf.newaxis], [[[0.1, 0.1, 0.5, 0.5]]], [[1.0, 0, 0]])[0], OTHERS),
    "tf.image.rgb_to_hsv": ("X", lambda x: tf.image.rgb_to_hsv(f32(x)), OTHERS),
    "tf.cast": ("X", lambda x: tf.cast(x, tf.float16), 0),
    "tf.reshape": ("G", lambda x: tf.reshape(x, [16, 12, 1]), 0),
    "tf.expand_dims": ("G", lambda x: tf.expand_dims(x, -1), 0),
    "tf.squeeze": ("G", lambda x: tf.squeeze(x[..., tf.newaxis]), 0),
    "tf.one_hot": ("Y", lambda y: tf.one_hot(y, 4), 0),
    "tf.reverse": ("X", lambda x: tf.reverse(x, [0, 1]), 0),
    "tf.transpose": ("X", lambda x: tf.transpose(x, [1, 0, 2]), 0),
    "tf.pad": ("X", lambda x: tf.pad(x, [[2, 1], [3, 0], [0, 0]], "REFLECT"), 0),
    "tf.divide": ("X", f32, 1e-6),
    "tf.multiply": ("X", lambda x: tf.cast(x, tf.float32) * SCALE, 1e-6),
    "tf.add": ("X", lambda x: tf.cast(x, tf.float32) + 3.0, 1e-6),
    "tf.subtract": ("X", lambda x: (1.0 - tf.cast(x, tf.float32) / 127.5) * 2, 1e-6),
    "tf.ensure_shape": ("X", lambda x: tf.ensure_shape(x, [12, 16, 3]), 0),
    "tf.cond": ("X", lambda x: tf.cond(tf.random.uniform(()) < 0.25, lambda: tf.image.flip_up_down(x), lambda: x), DRAWN),
    "tf.where": ("X", lambda x: tf.where(tf.random.uniform(()) < 0.75, tf.image.flip_up_down(x), x), DRAWN),
    "tf.random.uniform": ("X", lambda x: tf.image.adjust_brightness(x, tf.random.uniform([], -0.2, 0.2)), DRAWN),
    "tf.random.normal": ("X", lambda x: f32(x) + tf.random.normal(tf.shape(x), stddev=0.1), DRAWN),
    "tf.random.truncated_normal": ("X", lambda x: f32(x) + tf.random.truncated_normal(tf.shape(x)), OTHERS),
    "tf.clip_by_value": ("X", lambda x: tf.clip_by_value(f32(x) * 1.5, 0.1, 0.9), 1e-6),
    "tf.minimum": ("X", lambda x: tf.minimum(x, 99), 0),
    "tf.maximum": ("X", lambda x: tf.maximum(f32(x), 0.25), 1e-6),
    "tf.reduce_mean": ("X", lambda x: (x, f32(x) - tf.reduce_mean(f32(x), axis=[0, 1], keepdims=True)), 1e-6),
    "tf.reduce_sum": ("X", lambda x: tf.reduce_sum(f32(x), axis=-1), 1e-6),
    "tf.reduce_max": ("Xb", lambda x: tf.reduce_max(x, axis=[1, 2]), 0),
    "tf.reduce_min": ("X", lambda x: (f32(x) - tf.reduce_min(f32(x))) / (tf.reduce_max(f32(x)) - tf.reduce_min(f32(x))), 1e-6),
    "tf.concat": ("X", lambda x: tf.concat([x, tf.image.flip_left_right(x)], -1), 0),
    "tf.stack": ("Gb", lambda x: tf.stack([x, x, x], -1), 0),
    "tf.tile": ("X", lambda x: tf.tile(x[..., :1], [1, 1, 3]), 0),
    "tf.round": ("X", lambda x: tf.cast(tf.round(f32(x) * 10), tf.int32), 0),
    "tf.sqrt": ("X", lambda x: tf.sqrt(f32(x)), 1e-6),
    "tf.square": ("X", lambda x: tf.square(f32(x)), 1e-6),
    "tf.abs": ("X", lambda x: tf.abs(f32(x) - 0.5), 1e-6),
    "tf.pow": ("X", lambda x: f32(x) ** 2.2, 1e-6),
    "tf.greater": ("X", lambda x: tf.cast(x > 127, tf.float32), 0),
    "tf.zeros_like": ("X", lambda x: tf.where(x > 127, x, tf.zeros_like(x)), 0),
    "keras.ops.clip": ("X", lambda x: keras.ops.clip(keras.ops.cast(x, "float32") / 255.0, 0.2, 0.8), 1e-6),
    "keras.ops.flip": ("X", lambda x: keras.ops.flip(x, axis=1), 0),
    "keras.applications.vgg16.preprocess_input": (
        "X", lambda x: keras.applications.vgg16.preprocess_input(tf.cast(x, tf.float32)), 1e-6),
    "keras.applications.densenet.preprocess_input": (
        "Xb", lambda x: keras.applications.densenet.preprocess_input(tf.cast(x, tf.float32)), 1e-6),
    "keras.applications.mobilenet_v2.preprocess_input": (
        "X", lambda x: keras.applications.mobilenet_v2.preprocess_input(tf.cast(x, tf.float32)), 1e-6),
    "tf.strings.split": ("P", lambda p: folder_of(p), 0),
    "tf.strings.regex_replace": ("P", lambda p: tf.strings.regex_replace(p, ".*/", ""), 0),
    "tf.strings.regex_full_match": ("P", lambda p: tf.strings.regex_full_match(p, ".*cat.*"), 0),
    "tf.strings.to_number": ("P", lambda p: tf.strings.to_number(tf.strings.substr(p, -5, 1), tf.int64), 0),
    "tf.strings.join": ("P", lambda p: tf.strings.join([p, folder_of(p)], "+"), 0),
    "tf.strings.substr": ("P", lambda p: tf.strings.substr(p, -3, 3), 0),
    "tf.strings.length": ("P", lambda p: tf.strings.length(p), 0),
    "tf.equal": ("P", lambda p: tf.cast(folder_of(p) == "cat", tf.int32), 0),
    "tf.gather": ("Y", lambda y: tf.gather(tf.constant([5.0, 6.0, 7.0, 8.0]), y), 0),
    "tf.argmax": ("P", lambda p: tf.argmax(tf.cast(folder_of(p) == ["cat", "dog"], tf.int32)), 0),
    "tf.lookup.StaticHashTable": ("P", lambda p: TABLE.lookup(folder_of(p)), 0),
    "tf.math.mod": ("Y", lambda y: tf.math.mod(y + 1, 3), 0),
    "keras.layers.Rescaling": ("X", keras.layers.Rescaling(1 / 127.5, offset=-1), 1e-6),
    "keras.layers.Normalization": ("Xb", lambda x: NORMALIZATION(x), 1e-6),
    "keras.layers.Resizing": ("X", keras.layers.Resizing(7, 9, crop_to_aspect_ratio=True), 0),
    "keras.layers.CenterCrop": ("X", keras.layers.CenterCrop(7, 9), 0),
    **{f"keras.layers.{name}": ("X", layer, DRAWN) for name, layer in {
        "RandomFlip": keras.layers.RandomFlip("horizontal"), "RandomRotation": keras.layers.RandomRotation(0.1),
        "RandomZoom": keras.layers.RandomZoom(0.2, 0.1), "RandomTranslation": keras.layers.RandomTranslation(0.2, 0.1),
        "RandomCrop": keras.layers.RandomCrop(8, 8)}.items()},
    "keras.layers.RandomContrast": ("F", keras.layers.RandomContrast(0.3), DRAWN),
    "keras.layers.RandomBrightness": ("F", keras.layers.RandomBrightness(0.3), DRAWN),
    "keras.layers.RandomShear": ("X", keras.layers.RandomShear(0.1, 0.1), OTHERS),
    "keras.layers.Dense": ("F", lambda x: DENSE(x), OTHERS),
    "tf.py_function": ("X", lambda x: tf.py_function(lambda x: x, [x], tf.uint8), OTHERS),
    "tf.numpy_function": ("X", lambda x: tf.numpy_function(lambda x: x, [x], tf.uint8), OTHERS),
    "tf.print": ("X", lambda x: (tf.print("x"), x)[1], OTHERS),
    "tf.while_loop": ("X", square, OTHERS),
    "tf.debugging.assert_equal": ("X", lambda x: (tf.debugging.assert_equal(tf.shape(x)[0], 12), x)[1], OTHERS),
    "tf.Variable": ("X", lambda x: tf.cast(x, tf.float32) * VARIABLE, OTHERS),
}


def given(kind, paths, records, tmp_path):
    """The chain of some samples, and tf.data's."""
    if kind.startswith("R"):
        chain = Chain(Built(leat.from_tfrecord(records)), "record", {"record": tf.TensorSpec((), tf.string)})
        real = tf.data.TFRecordDataset(records)
        if kind == "Rb":
            return chain.then("batch", 4).with_(batched=True, batch_size=4), real.batch(4)
        return chain, real
    if kind == "B":
        from PIL import Image

        names = []
        for i in range(3):
            Image.fromarray(PIXELS[i]).save(tmp_path / f"{i}.bmp")
            names.append(str(tmp_path / f"{i}.bmp").encode())
        paths = numpy.array(names, object)
    array = {"P": paths, "J": paths[:3], "B": paths, "X": PIXELS, "G": GRAY, "Y": LABELS, "F": PIXELS.astype("float32")}[kind[0]]
    chain, real = chain_of({"x": array}, "x"), real_of({"x": array}, "x")
    return (chain, real) if len(kind) == 1 else (chain.then("batch", 4).with_(batched=True, batch_size=4), real.batch(4))


def test_every_row_of_the_table_has_an_example():
    assert set(EXAMPLES) == set(ROWS)
    for name, (_, _, bound) in EXAMPLES.items():
        assert (bound == OTHERS) == (ROWS[name] == OTHERS), name


@pytest.mark.parametrize("name", [name for name, (_, _, bound) in EXAMPLES.items() if bound not in (DRAWN, OTHERS)])
def test_the_engine_has_tensorflows_values(name, paths, records, tmp_path):
    kind, function, bound = EXAMPLES[name]
    chain, real = given(kind, paths, records, tmp_path)
    lowered = lower_map(chain, function)
    compare(lowered, real.map(function), bound)
    if ROWS[name] == ONCE:
        assert not lowered.operations
    else:
        assert ROWS[name] == ENGINE


@pytest.mark.parametrize("name", [name for name, (_, _, bound) in EXAMPLES.items() if bound == OTHERS])
def test_what_the_engine_does_not_do_is_refused(name, paths, records, tmp_path):
    kind, function, _ = EXAMPLES[name]
    with pytest.raises(Refused) as refused:
        lower_map(given(kind, paths, records, tmp_path)[0], function)
    assert refused.value.reason


def distributed_alike(lowered, real, field=0):
    """Projections of the elements, by the two-sample test of Kolmogorov and Smirnov."""
    assert lowered.element_spec() == real.element_spec
    ours, theirs = (numpy.concatenate([numpy.asarray(tf.nest.flatten(item)[field]) for item in batches]).astype("float64")
                    for batches in (lowered.with_(seed=5).then("batch", 100).build(), real.batch(100).as_numpy_iterator()))
    assert ours.shape == theirs.shape
    weights = numpy.random.default_rng(1).normal(size=(ours[0].size, 4))
    for w in (*weights.T, numpy.ones(ours[0].size)):
        one, two = (numpy.sort(each.reshape(len(each), -1) @ w) for each in (ours, theirs))
        places = numpy.concatenate([one, two])
        places += 1e-6 * max(1.0, numpy.abs(places).max())  # beyond rounding
        apart = numpy.abs(numpy.searchsorted(one, places, "right") - numpy.searchsorted(two, places, "right")).max() / len(one)
        assert apart < 2.23 * (2 / len(one)) ** 0.5, apart
    assert len(numpy.unique(ours.reshape(len(ours), -1) @ weights[:, 0])) > 1
    return ours


def many(array, n=1200):
    """One picture many times."""
    arrays = {"x": numpy.repeat(array[:1], n, 0)}
    return chain_of(arrays, "x"), real_of(arrays, "x")


@pytest.mark.parametrize("name", [name for name, (_, _, bound) in EXAMPLES.items() if bound == DRAWN])
def test_what_is_drawn_is_distributed_alike(name, paths):
    kind, function, _ = EXAMPLES[name]
    chain, real = many({"P": paths, "X": PIXELS, "F": PIXELS.astype("float32")}[kind])
    distributed_alike(lower_map(chain, function), real.map(function))


def flipped(x):
    if tf.random.uniform(()) > 0.3:
        x = tf.image.flip_left_right(tf.image.adjust_brightness(x, 0.1))
    return x


def coin(x):
    return tf.cond(tf.random.uniform([], 0, 4, tf.int32) == 1, lambda: x, lambda: tf.image.rot90(x, 2))


def test_a_drawn_condition_is_random_apply():
    for function in (flipped, coin):
        chain, real = many(PIXELS)
        lowered = lower_map(chain, function)
        assert [each.name for each in lowered.operations] == ["random_apply"]
        distributed_alike(lowered, real.map(function))

    def both(x, y):
        if tf.random.uniform(()) > 0.5:
            x, y = tf.image.flip_left_right(x), tf.image.flip_left_right(y)
        return x, y
    arrays = {"x": PIXELS.repeat(9, 0), "y": PIXELS[..., :1].repeat(9, 0)}
    lowered = lower_map(chain_of(arrays, ("x", "y")), both).then("batch", 54).build()
    ((x, y),) = list(lowered)
    kept = (x == arrays["x"]).all((1, 2, 3))
    assert (x[..., :1] == y).all() and kept.any() and not kept.all()

    def twice(x):
        u = tf.random.uniform(())
        x = tf.image.flip_left_right(x) if u > 0.5 else x
        return tf.image.flip_up_down(x) if u > 0.5 else x
    with pytest.raises(Refused, match="two places"):
        lower_map(chain, twice)


def test_results_that_need_expressions():
    """Conditions of the sample, two results of one picture, and one result of two."""
    def bright(x):
        return tf.image.flip_left_right(f32(x)) * 0.5 if tf.reduce_mean(f32(x)) > 0.505 else f32(x)

    chain, real = chain_of({"x": PIXELS}, "x"), real_of({"x": PIXELS}, "x")
    compare(lower_map(chain, bright), real.map(bright), 1e-6)
    arrays = {"x": PIXELS, "y": PIXELS[::-1].copy()}
    product = lambda x, y: f32(x) * f32(y)  # noqa: E731
    compare(lower_map(chain_of(arrays, ("x", "y")), product), real_of(arrays, ("x", "y")).map(product), 1e-6)
    drawn = lambda x: (tf.image.random_flip_left_right(x), tf.cast(x, tf.float32))  # noqa: E731
    ((x, y),) = list(lower_map(many(PIXELS, 50)[0], drawn).then("batch", 50).build())
    assert len(numpy.unique(x, axis=0)) == 2 and len(numpy.unique(y, axis=0)) == 1


def test_a_noisy_and_a_clean_picture(paths):
    def noisy(path):
        clean = tf.image.random_flip_left_right(tf.image.resize(read(path), [8, 8]) / 255)
        return tf.clip_by_value(clean + 0.1, 0, 1), clean
    for x, y in lower_map(chain_of({"p": paths}, "p"), noisy).then("batch", 6).build():
        assert numpy.abs(x - (y + 0.1).clip(0, 1)).max() < 1e-6


def test_equal_seeds_draw_equally():
    """A picture and its mask in one map, and in two data sets that are zipped."""
    def augment(x):
        x = tf.image.random_flip_left_right(x, seed=7)
        x = tf.cond(tf.random.uniform((), seed=5) > 0.5, lambda: tf.image.rot90(x, 2), lambda: x)
        return tf.image.random_crop(x, [8, 8, x.shape[-1]], seed=9)
    arrays = {"x": PIXELS.repeat(9, 0), "y": PIXELS[..., :1].repeat(9, 0)}
    lowered = lower_map(chain_of(arrays, ("x", "y")), lambda x, y: (augment(x), augment(y)))
    ((x, y),) = list(lowered.then("batch", 54).build())
    assert (x[..., :1] == y).all() and len(numpy.unique(x[:9], axis=0)) > 3
    parts = [lower_map(chain_of({name: array}, name), augment).build() for name, array in arrays.items()]
    ((x, y),) = list(leat.zip(*parts).batch(54))
    assert (x[..., :1] == y).all() and len(numpy.unique(x[:9], axis=0)) > 3
    first, second = (keras.layers.RandomFlip("horizontal", seed=3) for _ in range(2))
    lowered = lower_map(chain_of(arrays, ("x", "y")), lambda x, y: (first(x), second(y)))
    ((x, y),) = list(lowered.then("batch", 54).build())
    assert (x[..., :1] == y).all()
    lowered = lower_map(chain_of(arrays, ("x", "y")), lambda x, y: (first(x), first(y)))
    ((x, y),) = list(lowered.then("batch", 54).build())
    assert not (x[..., :1] == y).all()


def window(path):
    data = tf.io.read_file(path)
    begin, size, _ = tf.image.sample_distorted_bounding_box(tf.io.extract_jpeg_shape(data), tf.zeros((1, 0, 4)), area_range=(0.3, 1),
                                                            use_image_if_no_bounding_boxes=True)
    y, x, _ = tf.unstack(begin)
    height, width, _ = tf.unstack(size)
    return tf.image.resize(tf.io.decode_and_crop_jpeg(data, tf.stack([y, x, height, width]), channels=3), [8, 8])


def maybe_gray(x):
    return tf.cond(tf.random.uniform(()) < 0.3, lambda: tf.tile(tf.image.rgb_to_grayscale(x), [1, 1, 3]), lambda: x)


def either(x):
    x = tf.image.random_flip_left_right(x)
    return tf.where(tf.random.uniform(()) < 0.3, tf.minimum(x, 90), x)


def brighter(x):
    return tf.cond(tf.random.uniform(()) < 0.4, lambda: tf.minimum(f32(x), 0.5), lambda: f32(x))


def test_other_ways_to_draw(paths):
    chain, real = many(paths)
    distributed_alike(lower_map(chain, window), real.map(window))
    chain, real = many(PIXELS)
    for function in (brighter, maybe_gray, either):
        distributed_alike(lower_map(chain, function), real.map(function))
    turn = lambda x: tf.image.rot90(x[:, :12], tf.random.uniform([], 0, 4, tf.int32))  # noqa: E731
    distributed_alike(lower_map(chain, turn), real.map(turn))


def test_layers_in_a_sequential():
    layers = [keras.layers.RandomFlip("horizontal"), keras.layers.RandomRotation(0.1), keras.layers.Rescaling(1 / 255)]
    augment = keras.Sequential(layers)
    chain, real = many(PIXELS)
    for function in (lambda x: augment(x, training=True), augment):
        lowered = lower_map(chain, function)
        assert [each.name for each in lowered.operations][-3:] == ["random_flip", "random_rotation", "rescale"]
        distributed_alike(lowered, real.map(function))
    still = lambda x: augment(x, training=False)  # noqa: E731
    compare(lower_map(chain, still), real.map(still), 1e-6)
    batched = chain.then("batch", 50).with_(batched=True, batch_size=50)
    assert [each.name for each in lower_map(batched, keras.Sequential(layers)).operations][-1] == "batch"
    with pytest.raises(Refused, match="once for a batch"):
        lower_map(batched, keras.layers.RandomCrop(8, 8))


def test_a_mixed_policy_gives_its_type():
    layers = [keras.layers.Rescaling(1 / 127.5, -1, dtype="mixed_float16"), keras.layers.Resizing(6, 8, dtype="mixed_float16")]
    chain, real = chain_of({"x": PIXELS}, "x"), real_of({"x": PIXELS}, "x")
    compare(lower_map(chain, layers[0]), real.map(layers[0]), 1e-3)
    flip = keras.layers.RandomFlip(dtype="mixed_float16")
    lowered = lower_map(chain, lambda x: flip(layers[0](x)))
    assert lowered.element_spec().dtype == tf.float16
    assert next(iter(lowered.then("batch", 2).build())).dtype == numpy.float16


def test_a_layer_of_an_earlier_keras(monkeypatch):
    """Resizing of Keras 3.8 has no antialias, and that of 3.3 neither pad_to_aspect_ratio nor fill_mode."""
    from leat._tftrace import layers

    class Flow:
        shape = (12, 16, 3)

        def then(self, *arguments, **words):
            return arguments, words

    layer = types.SimpleNamespace(height=6, width=8, interpolation="bilinear", crop_to_aspect_ratio=True)
    monkeypatch.setattr(layers, "_begun", lambda *given: (layer, Flow()))
    assert layers.resizing(None, None, None) == (("resize", 6, 8), {"shape": (6, 8, 3), "flavour": "keras", "crop_to_aspect_ratio": True})


class Own(keras.layers.Layer):
    def call(self, x):
        return tf.cast(x, tf.float32) * 2.0 + 1.0


class Other(keras.layers.RandomFlip):
    def call(self, x, training=True):
        return super().call(x, training=training)


def test_a_layer_of_the_programs_own_is_read_node_by_node():
    chain, real = chain_of({"x": PIXELS}, "x"), real_of({"x": PIXELS}, "x")
    compare(lower_map(chain, Own()), real.map(Own()), 1e-6)
    with pytest.raises(Refused):
        lower_map(chain, Other())


def shaped(record):
    wanted = {"image": PARSED["image"], "ids": tf.io.FixedLenFeature([3], tf.int64), "label": PARSED["label"]}
    parsed = tf.io.parse_single_example(record, wanted)
    height = tf.cast(parsed["label"], tf.int32) * 0 + 12
    x = tf.reshape(tf.io.decode_raw(parsed["image"], tf.uint8), tf.stack([height, height + 4, 3]))
    return x, tf.cast(parsed["label"], tf.int32)


def test_sizes_that_records_say_are_those_of_the_first(paths, records):
    chain, real = given("R", paths, records, None)
    compare(lower_map(chain, shaped), real.map(shaped))
    with pytest.raises(Refused, match="sizes are in their records"):
        lower_map(chain, lambda r: tf.image.resize(shaped(r)[0], [8, 8]))


def test_a_row_that_tensorflow_fails_for():
    chain = chain_of({"p": numpy.array([b"age", b"31", b"7"], object)}, "p").then("skip", 1)
    lowered = lower_map(chain, lambda p: tf.strings.to_number(p))
    with pytest.raises(Refused, match="fails for a row"):
        lowered.build()


@pytest.mark.parametrize("n", [1, 128, 129, 5000])
def test_values_of_few_and_of_many_rows(n):
    arrays = {"p": numpy.array([f"a/{i % 7}/{i}.jpg".encode() for i in range(n)], object), "y": numpy.arange(n) % 5}

    def labels(p, y):
        parts = tf.strings.split(p, "/")
        return parts[-2], tf.strings.to_number(parts[1], tf.int32) // 2 + tf.cast(y, tf.int32), tf.stack([y, y + 1])

    def divided(p, y):
        return tf.strings.to_number(tf.strings.split(p, "/")[1]) / 3 + tf.cast(y, tf.float32)
    for function in (labels, divided):
        chain, real = chain_of(arrays, ("p", "y")), real_of(arrays, ("p", "y"))
        compare(lower_map(chain, function), real.map(function))


def test_labels_that_are_no_class(paths, records):
    chain, real = given("R", paths, records, None)
    for depth, dtype in ((2, None), (3, tf.int64)):
        hot = lambda r: tf.one_hot(parsed("label")(r), depth, dtype=dtype)  # noqa: B023, E731
        compare(lower_map(chain, hot), real.map(hot))
    arrays = {"y": LABELS - 1}
    compare(lower_map(chain_of(arrays, "y"), lambda y: tf.one_hot(y, 2)), real_of(arrays, "y").map(lambda y: tf.one_hot(y, 2)))


def test_channels_as_stored(paths):
    def load(path):
        return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path)), [8, 8]) / 255
    compare(lower_map(chain_of({"p": paths}, "p"), load), real_of({"p": paths}, "p").map(load), 1e-6)


def test_filters(paths, records):
    arrays = {"path": paths, "label": LABELS}
    chain, real = chain_of(arrays, ("path", "label")), real_of(arrays, ("path", "label"))
    for predicate in (lambda p, y: y > 1, lambda p, y: tf.strings.regex_full_match(p, ".*cat.*"),
                      lambda p, y: tf.logical_and(y != 0, folder_of(p) == "dog")):
        compare(lower_filter(chain, predicate), real.filter(predicate))
        behind = lower_filter(chain.then("take", 4), predicate)
        compare(behind, real.take(4).filter(predicate))
    with pytest.raises(Refused):
        lower_filter(chain, lambda p, y: tf.random.uniform(()) > 0.5)
    chain, real = given("R", paths, records, None)
    wanted = {key: PARSED[key] for key in ("label", "box")}
    parse = lambda r: tf.io.parse_single_example(r, wanted)  # noqa: E731
    compare(lower_filter(lower_map(chain, parse), lambda d: d["label"] >= 2), real.map(parse).filter(lambda d: d["label"] >= 2))
