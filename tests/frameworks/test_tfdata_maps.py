# SPDX-License-Identifier: Apache-2.0
"""leat.tf.data with functions: in loops, in graphs, in Keras, beside what TensorFlow runs itself."""
import os
import time
import warnings

import keras
import leat
import leat.tf
import numpy
import pytest
import tensorflow as tf

X = numpy.random.default_rng(2).integers(0, 256, (64, 8, 8, 3), dtype="uint8")
Y = numpy.arange(64) % 5


def plain(tf, n=64):
    ds = tf.data.Dataset.from_tensor_slices((X[:n], Y[:n]))
    return ds.map(lambda x, y: (tf.cast(x, tf.float32) / 255, tf.one_hot(y, 5)), num_parallel_calls=tf.data.AUTOTUNE)


def is_lowered(dataset):
    return getattr(dataset, "_chain", None) is not None and dataset._engine() is not None


def close(ours, theirs):
    found, wanted = list(ours), list(theirs)
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted):
        for a, b in zip(tf.nest.flatten(one), tf.nest.flatten(other), strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            numpy.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-6)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("raw") / "a.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for x, y in zip(X, Y):
            writer.write(leat.example({"image": x, "label": int(y)}))
    return path


def parsed(tf, path):
    def parse(record):
        found = tf.io.parse_single_example(record, {"image": tf.io.FixedLenFeature([], tf.string),
                                                    "label": tf.io.FixedLenFeature([], tf.int64)})
        image = tf.reshape(tf.io.decode_raw(found["image"], tf.uint8), [8, 8, 3])
        return tf.cast(image, tf.float32), found["label"]
    return tf.data.TFRecordDataset(path).map(parse, num_parallel_calls=tf.data.AUTOTUNE)


def test_records(records):
    ours, theirs = parsed(leat.tf, records).batch(10), parsed(tf, records).batch(10)
    assert is_lowered(ours) and ours.element_spec == theirs.element_spec
    close(ours, theirs)
    files = [records]
    turns = leat.tf.data.Dataset.from_tensor_slices(files).interleave(leat.tf.data.TFRecordDataset, cycle_length=2)
    assert is_lowered(turns.batch(4))


def test_graphs_get_the_engines_batches(records):
    ours, theirs = plain(leat.tf).batch(16), plain(tf).batch(16)
    assert is_lowered(ours) and ours._realised() is not ours and "Generator" not in type(ours).__name__
    traces = []

    @tf.function
    def total(dataset):
        traces.append(1)
        found = 0.0
        for images, labels in dataset:
            found += tf.reduce_sum(images) + tf.reduce_sum(labels)
        return found
    numpy.testing.assert_allclose(total(ours).numpy(), total(theirs).numpy(), rtol=1e-5)
    total(ours)
    assert len(traces) <= 2
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    spread = list(strategy.experimental_distribute_dataset(ours))
    assert len(spread) == 4
    close([(strategy.experimental_local_results(x)[0], strategy.experimental_local_results(y)[0]) for x, y in spread], theirs)
    close(parsed(leat.tf, records).batch(8).take(3), parsed(tf, records).batch(8).take(3))


def test_what_the_engine_lacks_runs_behind_its_batches():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        ours = plain(leat.tf).batch(8).map(lambda x, y: (tf.linalg.det(x[..., 0]), y))
        ours2 = plain(leat.tf).batch(8).map(lambda x, y: (tf.linalg.det(x[..., 0]), y))
    assert not is_lowered(ours) and isinstance(ours, tf.data.Dataset)
    words = [str(each.message) for each in told if issubclass(each.category, leat.LeatWarning)]
    assert len(words) >= 1 and "test_tfdata_maps.py" in words[0]
    theirs = plain(tf).batch(8).map(lambda x, y: (tf.linalg.det(x[..., 0]), y))
    close(ours, theirs)
    close(ours2.take(2), theirs.take(2))
    inside = ours._input_dataset
    assert is_lowered(inside) and type(inside._realised()).__name__ == "Fed"  # the engine's batches are in it
    close(plain(leat.tf).batch(8).shuffle(4).map(lambda x, y: y).unbatch().batch(64).map(lambda y: tf.sort(y, axis=0)),
          plain(tf).batch(8).map(lambda x, y: y).unbatch().batch(64).map(lambda y: tf.sort(y, axis=0)))


def test_functions_of_python_are_tensorflows():
    def noisy(library):
        def call(x, y):
            return tf.py_function(lambda a: a + 1, [x], tf.float32), tf.numpy_function(lambda b: b, [y], tf.float32)
        return plain(library, 6).map(call)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not is_lowered(noisy(leat.tf))
        assert [x.numpy().sum() for x, _ in noisy(leat.tf)] == [x.numpy().sum() for x, _ in noisy(tf)]


def test_errors_in_functions_are_tensorflows(records):
    for wrong in (lambda x, y: x + y, lambda x: x, lambda x, y: 1 / 0, lambda x, y: tf.reshape(x, [7])):
        with pytest.raises(Exception) as theirs, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            list(tf.data.Dataset.from_tensor_slices((X, Y)).map(wrong))
        with pytest.raises(theirs.type), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            list(leat.tf.data.Dataset.from_tensor_slices((X, Y)).map(wrong))


def test_bad_records_in_loops_and_in_fit(records, tmp_path):
    data = bytearray(open(records, "rb").read())
    data[len(data) // 2] ^= 1
    path = tmp_path / "bad.tfrecord"
    path.write_bytes(data)
    with pytest.raises(tf.errors.DataLossError):
        list(parsed(leat.tf, str(path)).batch(4))
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    with pytest.raises(tf.errors.DataLossError):
        model.fit(parsed(leat.tf, str(path)).batch(4), verbose=0)


def test_keras_learns_the_same(records):
    def losses(library):
        keras.utils.set_random_seed(3)
        model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(5)])
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        ds = parsed(library, records).map(lambda x, y: (x / 255, y)).batch(16)
        history = model.fit(ds, epochs=2, verbose=0, validation_data=ds)
        more = model.fit(ds.repeat(), epochs=2, steps_per_epoch=3, verbose=0)
        return [*history.history["loss"], *history.history["val_loss"], *more.history["loss"]]
    numpy.testing.assert_allclose(losses(leat.tf), losses(tf), rtol=1e-4)


def test_set_seed_seeds_random_functions():
    def drawn(seed):
        tf.random.set_seed(seed)
        ds = plain(leat.tf).map(lambda x, y: (tf.image.random_brightness(x, 0.5), y)).batch(64)
        assert is_lowered(ds)
        return [next(iter(ds))[0].numpy() for _ in range(2)]
    one, again, other = drawn(1), drawn(1), drawn(2)
    assert numpy.array_equal(one, again) and not numpy.array_equal(one, other)
    assert not numpy.array_equal(one[0], one[1])  # another epoch


def test_cache_behind_a_random_function_freezes_it():
    ds = plain(leat.tf).map(lambda x, y: (tf.image.random_brightness(x, 0.5), y))
    with pytest.warns(leat.LeatWarning, match="draws"):
        kept = ds.cache().batch(64)
    first, second = next(iter(kept)), next(iter(kept))
    assert is_lowered(kept) and numpy.array_equal(first[0], second[0])
    assert not numpy.array_equal(next(iter(ds.batch(64)))[0], first[0])
    again = plain(leat.tf).cache().map(lambda x, y: (tf.image.random_brightness(x, 0.5), y)).batch(64)
    assert not numpy.array_equal(next(iter(again))[0], next(iter(again))[0])


def test_a_few_elements_open_quickly():
    ds = plain(leat.tf).batch(8).prefetch(2)
    list(ds.take(1))
    begin = time.perf_counter()
    for _ in range(20):
        for _ in ds.take(1):
            pass
    assert (time.perf_counter() - begin) / 20 < 0.2  # some ms on an idle machine
    assert len(os.listdir("/proc/self/task")) < 200


def test_a_programs_own_subclass():
    class Mine(leat.tf.data.Dataset):
        def __new__(cls, n):
            return tf.data.Dataset.from_generator(lambda: iter(range(n)), output_signature=tf.TensorSpec([], tf.int32))
    assert [int(n) for n in Mine(3)] == [0, 1, 2]
    assert not isinstance(tf.data.Dataset.range(3), Mine) and isinstance(Mine(2), leat.tf.data.Dataset)


def test_dicts_keep_the_order_of_their_keys():
    made = plain(leat.tf, 4).map(lambda x, y: {"z": x, "a": {"q": y, "b": y}})
    assert is_lowered(made)
    assert list(next(iter(made))) == ["z", "a"] and list(next(iter(made))["a"]) == ["q", "b"]
    assert list(made.element_spec) == ["z", "a"]


def test_a_picture_and_its_mask_are_cropped_as_one():
    """The usual way: one tensor of both, one crop, and both taken out again."""
    def crop(tf):
        def function(image, mask):
            both = tf.image.random_crop(tf.concat([image, mask], axis=-1), [5, 6, 4])
            return both[..., :3], both[..., 3:]
        return function
    made = leat.tf.data.Dataset.from_tensor_slices((X, X[..., :1])).map(crop(leat.tf))
    assert made.element_spec == tf.data.Dataset.from_tensor_slices((X, X[..., :1])).map(crop(tf)).element_spec
    for image, mask in made:
        assert image.shape == (5, 6, 3) and numpy.array_equal(image[..., :1], mask)


def test_normalization_with_given_numbers_is_built_in_the_map():
    """Its numbers must outlive leat's trace: in the engine, in TensorFlow's map, and outside of both."""
    def printing(x):
        tf.print("", end="")
        return x

    for more in (lambda x: x, printing):  # the second is TensorFlow's
        layer = keras.layers.Normalization(mean=[1.0, 2.0, 3.0], variance=[4.0, 5.0, 6.0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", leat.LeatWarning)
            made = plain(leat.tf).batch(16).map(lambda x, y, more=more, layer=layer: more(layer(x)))
        ours = next(iter(made)).numpy()
        numpy.testing.assert_allclose(ours, layer(next(iter(plain(tf).batch(16)))[0]).numpy(), atol=1e-6)


def test_a_condition_on_labels_chooses_pictures():
    def function(tf):
        def choose(x, y):
            if y > 2:
                x = tf.image.flip_left_right(x)
            else:
                x = x * 0.5
            return x, y
        return choose
    ours, theirs = plain(leat.tf), plain(tf)
    ours, theirs = (each.map(lambda x, y: (x, tf.argmax(y))) for each in (ours, theirs))
    ours, theirs = ours.map(function(leat.tf)).batch(8), theirs.map(function(tf)).batch(8)
    assert is_lowered(ours)
    close(ours, theirs)


def test_a_function_is_traced_once():
    """Also where TensorFlow runs it, or its data set is made later: names in it have the values of the call of map."""
    sets, traced = [], []
    for k in (1, 2):
        sets.append(leat.tf.data.Dataset.range(5).map(lambda x: x * k))
    assert [int(ds.reduce(numpy.int64(0), lambda total, x: total + x)) for ds in sets] == [10, 20]

    def function(x, y):
        traced.append(x)
        return {"a": (tf.image.rgb_to_hsv(tf.cast(x, tf.float32) / 255), y)}, tf.strings.as_string(y)
    with pytest.warns(leat.LeatWarning, match="RGBToHSV"):
        ours = leat.tf.data.Dataset.from_tensor_slices((X, Y)).map(function).batch(10)
    theirs = tf.data.Dataset.from_tensor_slices((X, Y)).map(function).batch(10)
    assert ours.element_spec == theirs.element_spec
    one, other = next(iter(ours)), next(iter(theirs))
    assert len(traced) == 2 and one[1].numpy().tolist() == other[1].numpy().tolist()
    numpy.testing.assert_array_equal(one[0]["a"][0], other[0]["a"][0])


def test_sparse_and_ragged_results():
    def function(x, y):
        return tf.sparse.from_dense(tf.one_hot(y, 5)), tf.RaggedTensor.from_tensor(x[0])
    with pytest.warns(leat.LeatWarning, match="a result that is a"):
        ours = leat.tf.data.Dataset.from_tensor_slices((X, Y)).map(function)
    (one, two), (theirs, more) = next(iter(ours)), next(iter(tf.data.Dataset.from_tensor_slices((X, Y)).map(function)))
    numpy.testing.assert_array_equal(tf.sparse.to_dense(one), tf.sparse.to_dense(theirs))
    assert two.to_list() == more.to_list()


def test_an_integer_division_by_zero_fails():
    given = numpy.int32([[[4, 6], [2, 0]]])

    def divided(x):
        return 12 // x

    def rest(x):
        return 12 % x
    for function in (divided, rest):
        with pytest.warns(leat.LeatWarning, match=f"TensorFlow runs {function.__name__}"):
            ours = leat.tf.data.Dataset.from_tensor_slices(given).map(function)
        with pytest.raises(tf.errors.InvalidArgumentError, match="by zero"):
            list(ours)
    assert is_lowered(leat.tf.data.Dataset.from_tensor_slices(given).map(lambda x: x // 4 + x % 3).batch(2))


@pytest.mark.parametrize("function", [
    lambda x: tf.reshape(x, [10, 192]), lambda x: tf.ensure_shape(x, [10, 8, 8, 3])])
def test_a_function_of_whole_batches_fails_at_a_shorter_one(function):
    """64 samples make six batches of 10 and one of 4."""
    for n, fails in ((64, True), (60, False)):
        for drop in (False, True):
            ours, theirs = (kind.data.Dataset.from_tensor_slices(X[:n]).batch(10, drop_remainder=drop).map(function)
                            for kind in (leat.tf, tf))
            assert ours.element_spec == theirs.element_spec
            if fails and not drop:
                for each in (ours, theirs):
                    with pytest.raises(tf.errors.InvalidArgumentError):
                        list(each)
            else:
                close(ours, theirs)
            assert is_lowered(ours) == drop


def test_a_size_that_the_program_says_wrongly_fails(tmp_path):
    for i in range(3):
        (tmp_path / f"{i}.png").write_bytes(tf.io.encode_png(X[i]).numpy())

    def read(path):
        image = tf.io.decode_png(tf.io.read_file(path))
        image.set_shape([9, 8, 3])
        return image
    for kind in (leat.tf, tf):
        ds = kind.data.Dataset.list_files(str(tmp_path / "*.png"), shuffle=False).map(read)
        for each in (ds, ds.batch(2)):
            with pytest.raises(tf.errors.InvalidArgumentError):
                list(each)


def test_a_notice_tells_nothing_of_leats_text(tmp_path):
    path = str(tmp_path / "a.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for n in (1, 3):
            writer.write(leat.example({"boxes": numpy.ones(4 * n, "float32")}))

    def parse(record):
        found = tf.io.parse_single_example(record, {"boxes": tf.io.VarLenFeature(tf.float32)})
        return tf.reshape(tf.sparse.to_dense(found["boxes"]), [-1, 4])
    ours, theirs = (kind.data.TFRecordDataset(path).map(parse).padded_batch(2) for kind in (leat.tf, tf))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        close(ours, theirs)
    notices = [str(each.message) for each in caught if each.category is leat.LeatWarning]
    assert all("TensorFlow runs this data set: " in each and "column" not in each and "write " not in each for each in notices)
    assert is_lowered(ours) != bool(notices)
