# SPDX-License-Identifier: Apache-2.0
"""model.fit(ds) and its like with real Keras, on the backend that KERAS_BACKEND names: Keras sees the bytes of the
plain passes over the dataset, in their order, however it asks."""
import hashlib
import os
import subprocess
import sys
import warnings
from pathlib import Path

import keras
import leat
import numpy
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cli"))
import tfrecord  # noqa: E402
from mixed_sizes import mixed

BACKEND = keras.backend.backend()
N, SIZE = 23, 5  # samples and batch: five batches, the last with three samples
LIMIT = 120  # seconds, against hanging
random = numpy.random.RandomState(1)
PICTURES = random.randint(0, 255, (N, 6, 4, 3), "uint8")
LABELS = (numpy.arange(N) % 3).astype("int64")


def pictures() -> leat.Dataset:
    """Differs from pass to pass in order and in pixels."""
    return (leat.from_arrays((PICTURES, LABELS)).shuffle(seed=3).random_flip_left_right()
            .cast("f32", scale=1 / 255).batch(SIZE))


def digest(array) -> str:
    return hashlib.sha256(numpy.ascontiguousarray(array).tobytes()).hexdigest()[:12]


def plain_passes(ds: leat.Dataset, count: int) -> list[list[str]]:
    return [[digest(images) for images, *_ in ds] for _ in range(count)]


class Record(keras.layers.Layer):
    """Keeps what comes by in training. Only without compiling are there values to keep."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def call(self, x, training=False):
        if training:
            self.seen.append(digest(keras.ops.convert_to_numpy(x)))
        return x


class Epochs(keras.callbacks.Callback):
    """Cuts what a Record has seen into the epochs of fit."""

    def __init__(self, record: Record) -> None:
        super().__init__()
        self.record, self.passes = record, []

    def on_epoch_begin(self, epoch, logs=None):
        self.record.seen.clear()

    def on_epoch_end(self, epoch, logs=None):
        self.passes.append(list(self.record.seen))


def recorder(build: bool = True):
    """A model that is compiled for eager steps, and its Record."""
    record = Record()
    layers = [record, keras.layers.Flatten(), keras.layers.Dense(3)]
    model = keras.Sequential(([keras.Input((6, 4, 3))] if build else []) + layers)
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True), run_eagerly=True)
    return model, record


def fit_passes(ds, build: bool = True, **more) -> list[list[str]]:
    model, record = recorder(build)
    epochs = Epochs(record)
    model.fit(ds, verbose=0, callbacks=[epochs, *more.pop("callbacks", [])], **more)
    return epochs.passes


def linear(features: int = 2, weights=None):
    """y = x w, without a bias: losses that can be computed by hand."""
    model = keras.Sequential([keras.Input((features,)), keras.layers.Dense(1, use_bias=False)])
    model.compile(keras.optimizers.SGD(0.05), "mse", weighted_metrics=[], jit_compile=False)
    model.set_weights([numpy.full((features, 1), 0.5, "float32") if weights is None else weights])
    return model


def columns(n: int = 12, seed: int = 5):
    values = numpy.random.RandomState(seed)
    return values.rand(n, 2).astype("float32"), values.randint(0, 3, n).astype("float32")


# -------------------------------------------------------------------------------------------------- passes


@pytest.mark.parametrize("build", [True, False])
def test_epochs_are_the_plain_passes(build):
    assert fit_passes(pictures(), build, epochs=3) == plain_passes(pictures(), 3)


def test_adapter_by_hand():
    assert fit_passes(pictures().to_keras(), False, epochs=2) == plain_passes(pictures(), 2)


def test_compiled_steps_see_the_same():
    """The same by a number for each batch, which the compiled step computes."""

    class Last(keras.metrics.Metric):
        def __init__(self) -> None:
            super().__init__(name="last")
            self.value = self.add_variable((), "zeros", name="value")

        def update_state(self, y_true, y_pred, sample_weight=None):
            y_true = keras.ops.reshape(keras.ops.cast(y_true, "float32"), (-1,))
            place = keras.ops.arange(1, keras.ops.shape(y_true)[0] + 1, dtype="float32")
            self.value.assign(keras.ops.sum(y_true * place))

        def result(self):
            return keras.ops.convert_to_tensor(self.value)

    class Keep(keras.callbacks.Callback):
        def __init__(self) -> None:
            super().__init__()
            self.values = []

        def on_train_batch_end(self, batch, logs=None):
            self.values.append(int(logs["last"]))

    def numbers() -> leat.Dataset:
        return leat.from_arrays((numpy.ones((N, 2), "float32"), numpy.arange(N))).shuffle(seed=9).batch(SIZE)

    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=[Last()])
    keep = Keep()
    ds = numbers()
    model.fit(ds, epochs=3, verbose=0, callbacks=[keep])
    again = numbers()
    assert keep.values == [int((y * numpy.arange(1, len(y) + 1)).sum()) for _ in range(3) for _, y in again]


def test_the_dataset_goes_on_after_fit():
    ds = pictures()
    wanted = plain_passes(pictures(), 5)
    assert fit_passes(ds, False, epochs=2) == wanted[:2]
    assert plain_passes(ds, 1) == wanted[2:3]
    assert fit_passes(ds, epochs=4, initial_epoch=3) == wanted[3:4]
    assert fit_passes(ds, epochs=1) == wanted[4:]


def test_initial_epoch_counts_for_keras_only():
    wanted = plain_passes(pictures(), 4)
    assert fit_passes(pictures(), epochs=4, initial_epoch=2) == wanted[:2]
    ds = pictures()
    ds.restore(ds.state(2))
    assert fit_passes(ds, epochs=4, initial_epoch=2) == wanted[2:]


def test_fit_after_restore_in_the_middle():
    wanted = plain_passes(pictures(), 2)
    ds = pictures()
    ds.restore(ds.state(0, 3))
    assert fit_passes(ds, False, epochs=2) == [wanted[0][3:], wanted[1]]


@pytest.mark.parametrize("steps", [2, 5, 8, 1])
def test_steps_per_epoch(steps):
    """Shorter, as long and longer than a pass: steps are what was asked for, and passes follow each other."""
    stream = sum(plain_passes(pictures(), 5), [])
    assert fit_passes(pictures(), False, epochs=3, steps_per_epoch=steps) == \
        [stream[i * steps:(i + 1) * steps] for i in range(3)]


def test_a_broken_off_pass_is_followed_by_the_next():
    wanted = plain_passes(pictures(), 3)
    ds = pictures()
    fit_passes(ds, epochs=2, steps_per_epoch=3)  # six of five batches
    assert plain_passes(ds, 1) == wanted[2:]


@pytest.mark.parametrize("place", ["before", "after"])
def test_without_end(place):
    ds = leat.from_arrays((PICTURES, LABELS)).shuffle(seed=3)
    ds = ds.repeat().batch(SIZE) if place == "before" else ds.batch(SIZE).repeat()
    stream = []
    for images, _ in ds:
        stream.append(digest(images.astype("float32")))
        if len(stream) == 14:
            break
    ds = leat.Dataset(ds._operations, ds._origin)
    assert sum(fit_passes(ds, False, epochs=2, steps_per_epoch=7), []) == stream
    with pytest.raises(leat.ArgumentError, match="steps_per_epoch"):
        fit_passes(ds, epochs=1)


def test_a_stream_whose_length_nobody_knows(tmp_path):
    path = tmp_path / "pictures.tfrecord.gz"
    examples = [tfrecord.example({"image": image.tobytes(), "label": int(label)})
                for image, label in zip(PICTURES, LABELS)]
    path.write_bytes(tfrecord.compress(b"".join(map(tfrecord.record, examples)), "gzip"))

    def stream() -> leat.Dataset:
        return (leat.from_tfrecord([path], {"image": "bytes", "label": "int64"}).decode_raw("u8").reshape(6, 4, 3)
                .shuffle(8, seed=3).cast("f32").batch(SIZE))

    wanted = plain_passes(stream(), 4)
    assert stream().length is None
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Your input ran out of data")
        assert fit_passes(stream(), False, epochs=3) == wanted[:3]
        assert sum(fit_passes(stream(), epochs=2, steps_per_epoch=8), []) == sum(wanted, [])[:16]


def test_one_batch_that_also_builds_the_model():
    ds = leat.from_arrays((PICTURES, LABELS)).shuffle(seed=3).cast("f32").batch(N)
    again = leat.from_arrays((PICTURES, LABELS)).shuffle(seed=3).cast("f32").batch(N)
    assert fit_passes(ds, False, epochs=3) == plain_passes(again, 3)


# --------------------------------------------------------------------------------- validation, evaluate, predict


def test_validation():
    x, y = columns()
    model, wanted = linear(), linear()
    ds = leat.from_arrays((x, y)).batch(5)
    validation = leat.from_arrays((x[:7], y[:7])).batch(3)
    got = model.fit(ds, epochs=2, verbose=0, validation_data=validation)
    expected = wanted.fit(x, y, batch_size=5, shuffle=False, epochs=2, verbose=0, validation_data=(x[:7], y[:7]),
                          validation_batch_size=3)
    for name in ("loss", "val_loss"):
        numpy.testing.assert_allclose(got.history[name], expected.history[name], rtol=1e-5)


def test_validation_steps():
    """Every validation is the next pass, from its beginning."""
    x, y = columns()
    model = linear()
    model.optimizer.learning_rate = 0.0
    validation = leat.from_arrays((x, y)).shuffle(seed=2).batch(3)
    got = model.fit(leat.from_arrays((x, y)).batch(4), epochs=3, verbose=0, validation_data=validation,
                    validation_steps=2)
    again = leat.from_arrays((x, y)).shuffle(seed=2).batch(3)
    wanted = []
    for _ in range(3):
        parts = [(a.copy(), b.copy()) for a, b in again][:2]
        wanted.append(numpy.mean([(b - a.sum(1) * 0.5) ** 2 for a, b in parts]))
    numpy.testing.assert_allclose(got.history["val_loss"], wanted, rtol=1e-5)


def test_evaluate_and_predict():
    x, y = columns(13)
    model = linear()
    ds = leat.from_arrays((x, y)).batch(5)
    assert model.evaluate(ds, verbose=0) == pytest.approx(model.evaluate(x, y, batch_size=5, verbose=0), rel=1e-5)
    assert model.evaluate(ds, steps=2, verbose=0) == pytest.approx(
        model.evaluate(x[:10], y[:10], batch_size=5, verbose=0), rel=1e-5)
    numpy.testing.assert_allclose(model.predict(ds, verbose=0), x.sum(1, keepdims=True) * 0.5, rtol=1e-5)
    alone = leat.from_arrays({"x": x}).batch(5)
    assert model.predict(alone, verbose=0).shape == (13, 1)
    assert model.predict(alone, steps=2, verbose=0).shape == (10, 1)


def test_unbuilt_model_predicts_all():
    x, _ = columns(13)
    model = keras.Sequential([keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")])
    numpy.testing.assert_allclose(model.predict(leat.from_arrays({"x": x}).batch(5), verbose=0),
                                  x.sum(1, keepdims=True), rtol=1e-5)


# ------------------------------------------------------------------------------------------------- weights, dicts


@pytest.mark.parametrize("form", ["sparse", "one_hot", "by_hand"])
def test_class_weight(form):
    """Against Keras on arrays, and the first loss against arithmetic."""
    x, y = columns()
    weight = {0: 0.5, 2: 3.0}
    targets = numpy.eye(3, dtype="float32")[y.astype(int)] if form == "one_hot" else y
    ds = leat.from_arrays((x, targets)).batch(5)
    model, wanted = linear(), linear()
    got = model.fit(ds.to_keras() if form == "by_hand" else ds, epochs=2, verbose=0, class_weight=weight)
    expected = wanted.fit(x, targets, batch_size=5, shuffle=False, epochs=2, verbose=0, class_weight=weight)
    numpy.testing.assert_allclose(got.history["loss"], expected.history["loss"], rtol=1e-5)
    still = linear()
    still.optimizer.learning_rate = 0.0
    weights = numpy.array([weight.get(int(c), 1.0) for c in y])
    squares = ((targets.reshape(12, -1) - x.sum(1, keepdims=True) * 0.5) ** 2).mean(1) * weights
    first = still.fit(ds, verbose=0, class_weight=weight).history["loss"][0]
    assert first == pytest.approx(squares.mean(), rel=1e-5)
    assert first != pytest.approx(squares.mean() / weights.mean(), rel=1e-3)


def test_sample_weights():
    x, y = columns()
    w = numpy.linspace(0, 2, 12).astype("float32")
    model, wanted = linear(), linear()
    got = model.fit(leat.from_arrays((x, y, w)).batch(5), epochs=2, verbose=0)
    expected = wanted.fit(x, y, sample_weight=w, batch_size=5, shuffle=False, epochs=2, verbose=0)
    numpy.testing.assert_allclose(got.history["loss"], expected.history["loss"], rtol=1e-5)
    assert model.evaluate(leat.from_arrays((x, y, w)).batch(5), verbose=0) == pytest.approx(
        wanted.evaluate(x, y, sample_weight=w, batch_size=5, verbose=0), rel=1e-5)


def test_dict_inputs():
    a, b = keras.Input((2,), name="a"), keras.Input((1,), name="b")
    out = keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")(keras.layers.Concatenate()([a, b]))
    model = keras.Model({"a": a, "b": b}, out)
    model.compile(keras.optimizers.SGD(0.0), "mse", jit_compile=False)
    x, y = columns()
    extra = numpy.arange(12, dtype="float32").reshape(12, 1)
    ds = leat.from_arrays({"a": x, "b": extra, "y": y}).batch(5).as_tuple(["a", "b"], "y")
    wanted = ((y - x.sum(1) - extra[:, 0]) ** 2).mean()
    assert model.fit(ds, verbose=0).history["loss"][0] == pytest.approx(wanted, rel=1e-5)
    assert model.evaluate(ds, verbose=0) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.skipif(BACKEND == "torch", reason="on torch Keras has one step in a call only")
@pytest.mark.parametrize("more", [{}, {"steps_per_epoch": 4}])
def test_several_steps_in_one_call(more):
    x, y = columns(23)
    losses = []
    for steps in (1, 2):
        model = linear()
        model.compile(keras.optimizers.SGD(0.05), "mse", jit_compile=False, steps_per_execution=steps)
        losses.append(model.fit(leat.from_arrays((x, y)).shuffle(seed=1).batch(5), epochs=3, verbose=0, **more)
                      .history["loss"])
    numpy.testing.assert_allclose(*losses, rtol=1e-5)


def test_early_stopping():
    ds = pictures()
    stop = keras.callbacks.EarlyStopping("loss", patience=0, min_delta=100.0)
    assert len(fit_passes(ds, epochs=9, callbacks=[stop])) == 2
    assert plain_passes(ds, 1) == plain_passes(pictures(), 3)[2:]


def test_stopped_in_the_middle():
    class Stop(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.model.stop_training = batch == 1

    ds = pictures()
    wanted = plain_passes(pictures(), 2)
    assert fit_passes(ds, epochs=3, callbacks=[Stop()]) == [wanted[0][:2]]
    assert fit_passes(ds, epochs=1) == wanted[1:]


def test_the_same_dataset_twice_in_one_fit():
    ds = pictures()
    wanted = plain_passes(pictures(), 4)
    assert fit_passes(ds, epochs=2, validation_data=ds) == [wanted[0], wanted[2]]


# -------------------------------------------------------------------------------------------------- hand-over


def test_memory_is_taken_as_it_is():
    """Batches lie where leat has written them. (JAX takes NumPy arrays; on CPU it shares what is aligned.)"""
    adapter = pictures().to_keras()
    adapter.on_epoch_begin()
    addresses = []
    complete = adapter.complete

    def remember(batch):
        addresses.append(batch[0].ctypes.data)
        return complete(batch)

    adapter.complete = remember
    if BACKEND == "torch":
        images = next(iter(adapter.get_torch_dataloader()))[0]
        assert images.data_ptr() == addresses[0]
    elif BACKEND == "jax":
        images = next(adapter.get_jax_iterator())[0]
        assert images.ctypes.data == addresses[0] and images.ctypes.data % 64 == 0
    else:
        images = next(iter(adapter.get_tf_dataset()))[0]
        assert numpy.asarray(memoryview(images)).ctypes.data == addresses[0]
    assert adapter.batch_size == SIZE and adapter.has_partial_batch and adapter.partial_batch_size == N % SIZE


# ------------------------------------------------------------------------------------------------- what is wrong


@pytest.mark.parametrize("make, more, words", [
    (lambda: leat.from_arrays((PICTURES, LABELS)), {}, r"batch\(32\)"),
    (lambda: leat.from_arrays({"image": PICTURES, "name": [f"n{i}" for i in range(N)]}).batch(5), {}, "'name' has str"),
    (lambda: leat.from_arrays({"a": LABELS, "b": LABELS, "c": LABELS, "d": LABELS}).batch(5)
     .as_tuple("a", "b", "c", "d"), {}, "4 parts"),
    (pictures, {"y": LABELS}, "y was given"),
    (pictures, {"sample_weight": LABELS}, "sample_weight was given"),
    (lambda: leat.from_arrays((PICTURES, LABELS, LABELS)).batch(5), {"class_weight": {0: 1.0}}, "only one"),
    (lambda: leat.from_arrays({"x": LABELS}).batch(5), {"class_weight": {0: 1.0}}, "one field of labels"),
    (lambda: pictures().repeat(), {}, "no end"),
])
def test_clear_errors(make, more, words):
    model, _ = recorder()
    with pytest.raises(leat.ArgumentError, match=words):
        model.fit(make(), verbose=0, **more)


def test_several_processes_have_to_share():
    class Spread:
        _is_multi_process = auto_shard_dataset = True

    keras.distribution.set_distribution(Spread())
    try:
        with pytest.raises(leat.ArgumentError, match="rank"):
            keras.src.trainers.data_adapters.get_data_adapter(pictures())
    finally:
        keras.distribution.set_distribution(None)


# ------------------------------------------------------------------------------------------------------ imports


def start(code: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, stdin=subprocess.DEVNULL)


def test_orders_of_imports():
    """Both at once, because importing takes its time. Arrays still go their own way."""
    code = """
import numpy
from keras.src.trainers.epoch_iterator import EpochIterator
x = numpy.ones((6, 2), "float32")
for data in (leat.from_arrays({"x": x}).batch(4), x):
    print(type(EpochIterator(data).data_adapter).__name__)
"""
    for process in [start(f"import {order}{code}") for order in ("leat, keras", "keras, leat")]:
        said = process.communicate(timeout=LIMIT)[0]
        assert said.endswith("Adapter\nArrayDataAdapter\n"), said


def test_leat_imports_no_framework():
    process = start("import leat, sys; print([name for name in ('keras', 'numpy') if name in sys.modules])")
    assert process.communicate(timeout=LIMIT)[0] == "[]\n"


def test_photos_of_mixed_sizes(tmp_path):
    ds = mixed(tmp_path).cast("f32", scale=1 / 255).batch(1)
    model = keras.Sequential([keras.Input((None, None, 3)), keras.layers.Conv2D(2, 3),
                              keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    assert numpy.isfinite(model.fit(ds, epochs=2, verbose=0).history["loss"]).all()
    one_by_one = [model.predict(images, verbose=0)[0] for images, _ in ds]
    assert numpy.allclose(model.predict(ds, verbose=0), one_by_one, atol=1e-5)
