# SPDX-License-Identifier: Apache-2.0
"""Dataset.to_tf() with the real TensorFlow: fit, tf.function, prefetch, a strategy of two devices, ends of epochs."""
import gc
import itertools
import os
import subprocess
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import leat
import numpy
import pytest
import tensorflow as tf
from leat._data.run import Iterator
from PIL import Image
from ends import LIMIT, check_ctrl_c, check_end
from mixed_sizes import mixed

tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0],
                                           [tf.config.LogicalDeviceConfiguration()] * 2)


def numbers(n=40, size=8):
    """Samples that say which they are."""
    images = numpy.arange(n * 12, dtype="float32").reshape(n, 2, 2, 3)
    return leat.from_arrays((images, numpy.arange(n))).shuffle(seed=5).batch(size)


def labels_of(batches):
    return [labels.numpy().tolist() if hasattr(labels, "numpy") else labels.tolist() for _, labels in batches]


def address(tensor):
    return numpy.asarray(memoryview(tensor)).ctypes.data


def test_a_plain_loop_gives_the_epochs_in_order():
    ds, theirs = numbers(), numbers().to_tf()
    assert theirs.element_spec == (tf.TensorSpec((8, 2, 2, 3), tf.float32), tf.TensorSpec((8,), tf.int64))
    assert int(theirs.cardinality()) == len(theirs) == 5
    assert theirs.options().experimental_distribute.auto_shard_policy == tf.data.experimental.AutoShardPolicy.OFF
    for _ in range(3):
        for (images, labels), (tensor, numbers_of) in itertools.zip_longest(ds, theirs):
            assert (tensor.numpy() == images).all() and (numbers_of.numpy() == labels).all()


def test_repeat_goes_on_with_the_next_epoch():
    plain = numbers()
    epochs = [labels for _ in range(3) for labels in labels_of(plain)]
    assert labels_of(numbers().to_tf().repeat(3)) == epochs


def test_nothing_is_copied(monkeypatch):
    """The tensors lie where the engine wrote."""
    addresses = []
    original = Iterator.__next__

    def recorded(self):
        batch = original(self)
        addresses.extend(array.ctypes.data for array in batch)
        return batch

    monkeypatch.setattr(Iterator, "__next__", recorded)
    ds = leat.synthetic(64, 32, 32).cast("f32", scale=1 / 255).batch(8)
    kept = list(itertools.chain.from_iterable(ds.to_tf()))
    assert [address(tensor) for tensor in kept] == addresses and ds.stats()["copies"] == 0


def test_lengths():
    odd = leat.synthetic(10, 4, 4).batch(4)
    assert odd.to_tf().element_spec[0].shape.as_list() == [None, 4, 4, 3] and int(odd.to_tf().cardinality()) == 3
    endless = leat.synthetic(10, 4, 4).repeat().batch(4).to_tf()
    assert int(endless.cardinality()) == tf.data.INFINITE_CARDINALITY
    assert len(list(endless.take(7))) == 7
    part = leat.synthetic(10, 4, 4).repeat().take(12).batch(4).to_tf()
    assert int(part.cardinality()) == 3 and len(list(part)) == 3
    without_end = leat.synthetic(10, 4, 4).batch(4).repeat().to_tf()
    assert int(without_end.cardinality()) == tf.data.INFINITE_CARDINALITY and len(list(without_end.take(7))) == 7
    twice = leat.synthetic(10, 4, 4).batch(4).repeat(2).to_tf()
    assert int(twice.cardinality()) == 6 and len(list(twice)) == 6


def test_after_a_state():
    """The first iteration is shorter then: its length is not known to tf.data, and the order is right."""
    plain = numbers()
    whole = [labels_of(plain), labels_of(plain)]
    ds = numbers()
    before = ds.to_tf()
    ds.restore(ds.state(0, 2))
    with pytest.raises(tf.errors.OpError, match=r"call to_tf\(\) again"):
        list(before)
    ds.restore(ds.state(0, 2))
    after = ds.to_tf()
    assert int(after.cardinality()) == tf.data.UNKNOWN_CARDINALITY
    assert labels_of(after) == whole[0][2:] and labels_of(after) == whole[1]


@pytest.mark.parametrize(("ours", "theirs"), [("bf16", tf.bfloat16), ("f16", tf.float16), ("f64", tf.float64),
                                              ("u8", tf.uint8), ("i32", tf.int32), ("u16", tf.uint16)])
def test_types(ours, theirs):
    ds = leat.synthetic(8, 4, 4)
    images, _ = next(iter(ds.cast(ours).batch(4).to_tf()))
    expected, _ = next(iter(ds.batch(4)))
    assert images.dtype == theirs and (tf.cast(images, tf.float64).numpy() == expected).all()


def test_forms():
    """Weights, dicts, booleans, strings, fields of differing length, single samples, batches that came as batches."""
    n = 6
    x, y, w = numpy.ones((n, 2), "f4"), numpy.arange(n), numpy.linspace(0, 1, n, dtype="f4")
    triple = next(iter(leat.from_arrays((x, y, w)).batch(3).to_tf()))
    assert len(triple) == 3 and (triple[2].numpy() == w[:3]).all()
    fields = {"a": x, "ok": y % 2 == 0, "name": [f"n{i}" for i in range(n)]}
    batch = next(iter(leat.from_arrays(fields).batch(4).to_tf()))
    assert batch["ok"].dtype == tf.bool and batch["name"].numpy().tolist() == [b"n0", b"n1", b"n2", b"n3"]
    nested = next(iter(leat.from_arrays(fields).as_tuple(["a", "ok"], "name").batch(2).to_tf()))
    assert set(nested[0]) == {"a", "ok"} and nested[1].numpy().tolist() == [b"n0", b"n1"]
    image, label = next(iter(leat.from_arrays((x, y)).to_tf()))
    assert image.shape == (2,) and label.shape == () and int(label) == 0
    assert next(iter(leat.from_arrays({"name": ["one", "two"]}).to_tf())).numpy() == b"one"


def test_ragged():
    ragged = leat.Ragged(numpy.arange(10, dtype="f4"), numpy.array([0, 1, 4, 4, 10]))
    rows = [[0.0], [1.0, 2.0, 3.0], [], [4.0, 5.0, 6.0, 7.0, 8.0, 9.0]]
    alone = leat.from_arrays({"r": ragged}).batch(2).to_tf()
    assert isinstance(alone.element_spec, tf.RaggedTensorSpec) and int(alone.cardinality()) == 2
    assert [part for batch in alone for part in batch.to_list()] == rows
    both = next(iter(leat.from_arrays({"r": ragged, "y": numpy.arange(4)}).batch(4).to_tf()))
    assert both["r"].to_list() == rows and both["y"].numpy().tolist() == [0, 1, 2, 3]
    pair = next(iter(leat.from_arrays({"r": ragged, "y": numpy.arange(4)}).as_tuple("y", "r").batch(4).to_tf()))
    assert pair[1].to_list() == rows
    single = leat.from_arrays({"r": ragged}).to_tf()
    assert [row.numpy().tolist() for row in single] == rows


def test_items_that_are_batches():
    class Batches:
        """Items are batches, the last one is shorter. A local class travels whole: its process imports no framework."""

        def __len__(self):
            return 3

        def __getitem__(self, i):
            n = 4 if i < 2 else 2
            return numpy.full((n, 3), i, "f4"), numpy.arange(n)

    found = [(tuple(x.shape), y.numpy().tolist()) for x, y in leat.from_python(Batches(), 1, items="batch").to_tf()]
    assert sorted(found) == [((2, 3), [0, 1]), ((4, 3), [0, 1, 2, 3]), ((4, 3), [0, 1, 2, 3])]


# ------------------------------------------------------------------------------------------- consumers


def test_a_sleeping_consumer_behind_prefetch():
    """tf.data takes batches ahead as it likes, in memory for a few; the consumer stops for a while. Nothing hangs."""
    ds = leat.synthetic(1600, 64, 64).shuffle(seed=1).cast("f32").batch(8)
    tight = ds.configure(memory=8 << 20)
    kept = []
    for number, (images, labels) in enumerate(tight.to_tf().prefetch(tf.data.AUTOTUNE).prefetch(64)):
        if number in (0, 50):
            time.sleep(0.5)
        kept.append((images, labels))
    assert len(kept) == 200 and tight.stats()["copies"] > 0
    for (images, labels), (tensor, numbers_of) in zip(ds, kept):
        assert (tensor.numpy() == images).all() and (numbers_of.numpy() == labels).all()


def test_a_loop_in_a_graph():
    @tf.function
    def total(data):
        result = tf.constant(0, tf.int64)
        for _, labels in data:
            result += tf.reduce_sum(labels)
        return result

    theirs = numbers().to_tf().map(lambda x, y: (x * 2, y), num_parallel_calls=2).prefetch(tf.data.AUTOTUNE)
    assert [int(total(theirs)) for _ in range(3)] == [sum(range(40))] * 3


def model_of(keras):
    return keras.Sequential([keras.layers.Input((2, 2, 3)), keras.layers.Flatten(), keras.layers.Dense(1)])


def test_fit():
    """Plain Keras on the tf.data.Dataset: the batches of epoch k are those of the k-th plain pass."""
    import keras

    seen = []

    class Recording(keras.Model):
        def __init__(self):
            super().__init__()
            self.layer = model_of(keras)

        def call(self, x):
            return self.layer(x)

        def train_step(self, data):
            tf.py_function(lambda y: seen.append(y.numpy().tolist()), [data[1]], [])
            return super().train_step(data)

    plain = numbers()
    expected = [labels for _ in range(3) for labels in labels_of(plain)]
    model = Recording()
    model.build((None, 2, 2, 3))
    model.compile("sgd", "mse", jit_compile=False)
    history = model.fit(numbers().to_tf(), epochs=3, verbose=0, validation_data=numbers(16).to_tf())
    assert seen == expected and len(history.history["val_loss"]) == 3
    assert model.predict(numbers(20).to_tf(), verbose=0).shape == (20, 1)


def test_two_devices_have_each_sample_once():
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    assert strategy.num_replicas_in_sync == 2
    shared = strategy.experimental_distribute_dataset(numbers().to_tf())
    epochs = []
    for _ in range(2):
        seen = [strategy.experimental_local_results(labels) for _, labels in shared]
        assert [[len(part) for part in parts] for parts in seen] == [[4, 4]] * 5
        epochs.append([int(n) for parts in seen for part in parts for n in part])
        assert sorted(epochs[-1]) == list(range(40))
    assert epochs[0] != epochs[1]


def test_fit_on_two_devices():
    import keras

    with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
        model = model_of(keras)
        model.compile(keras.optimizers.SGD(1e-9), "mse", jit_compile=False)
    history = model.fit(numbers().to_tf(), epochs=2, verbose=0)
    assert len(history.history["loss"]) == 2 and numpy.isfinite(history.history["loss"]).all()


# ------------------------------------------------------------------------------------------------ ends

LOOP = """
import os, sys
import tensorflow as tf, leat
ds = leat.synthetic(100000, 32, 32).shuffle(seed=1).cast("f32").batch(16).to_tf().prefetch(tf.data.AUTOTUNE)
it = iter(ds)
kept = [next(it) for _ in range(3)]
"""


@pytest.mark.parametrize(("end", "wanted"), [("", 0), ("raise ValueError('in the loop')", 1)])
def test_ends_in_mid_epoch(end, wanted):
    check_end(LOOP, end, wanted)


def test_ctrl_c_in_mid_epoch():
    # Between batches: a signal within TensorFlow's own calls may be swallowed there, or crash, with any generator.
    check_ctrl_c(LOOP, between=True)


def test_a_program_that_ends_has_no_more_batches():
    """Nor does TensorFlow begin anew when it repeats, and the program waits for threads that ask meanwhile."""
    program = """
import atexit, sys, time
asked = []
def report():
    time.sleep(0.3)
    n = len(asked)
    time.sleep(0.3)
    print(n == len(asked), n < 10_000_000)
atexit.register(report)  # runs last: behind that of leat
import tensorflow as tf, leat, leat._frameworks.tf
ask = leat._frameworks.tf.Batches.__next__
leat._frameworks.tf.Batches.__next__ = lambda self: asked.append(1) or ask(self)
ds = leat.synthetic(64, 8, 8).batch(4).to_tf().repeat().prefetch(10_000_000)
it = iter(ds)
kept = [next(it) for _ in range(3)]
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=LIMIT)
    assert (done.returncode, done.stdout) == (0, "True True\n"), done.stderr


# ------------------------------------------------------------------------------- codecs in one process

DECODE = """
import importlib, sys
path, *order = sys.argv[1:]
for name in order:
    importlib.import_module(name)
import numpy, leat, tensorflow, torch, PIL.Image, pathlib
ds = leat.from_directory(pathlib.Path(path).parent).padded_batch(1, max="100x100")
image = next(iter(ds))
others = [numpy.asarray(PIL.Image.open(path).convert("RGB")),
          tensorflow.io.decode_jpeg(open(path, "rb").read(), dct_method="INTEGER_ACCURATE").numpy()]
for other in others:
    assert other.shape == image[0].shape and abs(other.astype(int) - image[0]).max() <= 2
theirs = next(iter(ds.to_torch(layout="nhwc", dtype="u8")))
assert (theirs.numpy() == image).all()
print("equal")
"""


@pytest.mark.parametrize("order", ["leat tensorflow torch PIL.Image", "PIL.Image torch tensorflow leat"])
def test_each_decodes_the_same_picture_in_any_order_of_importing(tmp_path, order):
    random = numpy.random.RandomState(1)
    small = Image.fromarray(random.randint(0, 255, (12, 16, 3), "uint8"))
    small.resize((64, 48), Image.BICUBIC).save(tmp_path / "one.jpg", quality=90, subsampling=0)
    done = subprocess.run([sys.executable, "-c", DECODE, tmp_path / "one.jpg", *order.split()], capture_output=True,
                          text=True, timeout=LIMIT)
    assert done.stdout.strip() == "equal", done.stderr


def test_photos_of_mixed_sizes(tmp_path):
    ds = mixed(tmp_path)
    theirs = ds.to_tf()
    assert theirs.element_spec == (tf.TensorSpec((None, None, 3), tf.uint8), tf.TensorSpec((), tf.int64))
    for (image, label), (tensor, number) in itertools.zip_longest(ds, theirs):
        assert (tensor.numpy() == image).all() and number == label
    one = ds.batch(1).to_tf()
    assert one.element_spec[0] == tf.TensorSpec((1, None, None, 3), tf.uint8)
    assert [tuple(images.shape) for images, _ in one] == [(1, 5, 9, 3), (1, 6, 8, 3), (1, 7, 7, 3)]


def test_data_sets_of_the_same_types_share_their_functions():
    """Functions of TensorFlow's are traced once; Keras may replace the default graph; a pass that is left is given back."""
    from leat._frameworks import tf_feed

    first, second = numbers().to_tf(), numbers().to_tf()
    epoch = labels_of(first)
    assert labels_of(second) == epoch
    traced = tf_feed._functions.cache_info().misses
    keras.backend.clear_session()
    gc.collect()
    third, other = numbers().to_tf(), leat.from_arrays(numpy.arange(6, dtype="float64")).batch(2).to_tf()
    assert labels_of(third) == epoch and [x.numpy().tolist() for x in other] == [[0, 1], [2, 3], [4, 5]]
    assert tf_feed._functions.cache_info().misses == traced + 1
    iterator = iter(third)
    next(iterator)
    assert tf_feed._passes
    del iterator
    gc.collect()
    assert not tf_feed._passes


def test_verbs_that_write_a_graph_take_it_too(tmp_path):
    theirs = numbers().to_tf()
    assert len(list(theirs.snapshot(str(tmp_path)))) == 5
    assert theirs._as_serialized_graph().dtype == tf.string


@pytest.mark.parametrize("value, words", [(numpy.zeros((2, 3), "f4"), "of shape"), (numpy.array(["a"]), "could not|type|convert")])
def test_elements_are_checked_as_those_of_from_generator(value, words):
    from leat._frameworks.tf_feed import fed

    made = fed(lambda: iter([{"b": numpy.arange(2), "a": numpy.float64(1)}, {"a": 0.0, "b": value}]),
               {"a": tf.TensorSpec((), tf.float32), "b": tf.TensorSpec((2,), tf.int64)}, tf.data.Options())
    for each in (made, made.map(lambda element: element)):
        iterator = iter(each)
        found = next(iterator)
        assert found["a"].dtype == tf.float32 and found["b"].numpy().tolist() == [0, 1]
        with pytest.raises((TypeError, tf.errors.InvalidArgumentError, tf.errors.UnknownError), match=words):
            next(iterator)
