# SPDX-License-Identifier: Apache-2.0
"""leat.keras.Doctor on every backend: training gives the same numbers with it, and injected causes are named."""
import re
import sys
import time
from pathlib import Path

import keras
import leat
import leat.keras
import numpy
import pytest
from leat._doctor import clocks, keras_doctor, keras_steps

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))
from clock import Clock  # noqa: E402

BACKEND = keras.backend.backend()
if BACKEND == "torch":
    import torch

    torch.set_num_threads(1)  # threads of torch wait for each other on a busy machine
VALUES = numpy.random.RandomState(1)
PICTURES = VALUES.rand(60, 8, 8, 3).astype("f4")
LABELS = (numpy.arange(60) % 3).astype("i4")
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def small(*front, metrics=(), **compile_with) -> keras.Model:
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((8, 8, 3)), *front, keras.layers.Flatten(), keras.layers.Dense(3)])
    model.compile("adam", LOSS, metrics=list(metrics), **compile_with)
    return model


class Slow(keras.utils.PyDataset):
    """Batches that take a time."""

    def __init__(self, seconds: float, n: int = 10**6, sleep=time.sleep) -> None:
        super().__init__()
        self.seconds, self.n, self.sleep = seconds, n, sleep

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int):
        self.sleep(self.seconds)
        return PICTURES[:8], LABELS[:8]


class Sleepy(keras.callbacks.Callback):
    def __init__(self, sleep) -> None:
        super().__init__()
        self.sleep = sleep

    def on_train_batch_end(self, batch, logs=None):
        self.sleep(0.08)


@pytest.fixture
def clock(monkeypatch) -> Clock:
    made = Clock()
    for module in (clocks, keras_doctor, keras_steps):
        monkeypatch.setattr(module, "now", made)
    return made


def fit(model, x, doctor=None, **options):
    model.fit(x, verbose=0, callbacks=[*options.pop("callbacks", ()), *([doctor] if doctor else [])], **options)
    return doctor.diagnosis if doctor else None


def causes(found) -> list[str]:
    return [finding.cause for finding in found.findings]


def arrays(batch: int):
    return {"x": PICTURES[:56], "y": LABELS[:56], "batch_size": batch}


def tf_data(batch: int):
    import tensorflow as tf

    # Its batches have one shape, so that a measurement with another one is traced anew.
    return {"x": tf.data.Dataset.from_tensor_slices((PICTURES, LABELS)).shuffle(16, seed=2).batch(batch, drop_remainder=True)}


@pytest.mark.parametrize("data", (arrays, tf_data) if BACKEND == "tensorflow" else (arrays,))
def test_training_gives_the_same_bits(data):
    def run(doctor):
        keras.utils.set_random_seed(1)
        model = small(keras.layers.RandomFlip("horizontal", seed=3), keras.layers.BatchNormalization(), keras.layers.Dropout(0.3),
                      metrics=["accuracy"])
        history = model.fit(**data(8), epochs=3, verbose=0, callbacks=[doctor] if doctor else [])
        numbers = [*model.variables, *model.optimizer.variables]
        return [numpy.array(keras.ops.convert_to_numpy(each)) for each in numbers], history.history

    plain, plain_history = run(None)
    doctor = leat.keras.Doctor(steps=8, show=False)
    watched, watched_history = run(doctor)
    assert doctor.diagnosis is not None and doctor.diagnosis.steps > 3
    assert len(plain) == len(watched) and all(numpy.array_equal(a, b) for a, b in zip(plain, watched))
    assert plain_history == watched_history
    assert any("random_flip" in row[0] for row in doctor.diagnosis.tables[-1].rows)
    assert not doctor.diagnosis.find("retracing"), str(doctor.diagnosis)


def check_waiting(found, seconds: float) -> None:
    """On TensorFlow a thread makes a batch while the step runs, so that less is waited for. On a busy machine steps are slow."""
    share = found.find("input").share
    assert found.findings[0].cause == "input" or found.compute_s > found.wait_s, str(found)
    assert max(0.1, seconds - found.compute_s) * 0.5 < found.wait_s < 2 * seconds, str(found)
    assert share == pytest.approx(found.wait_s / (found.wait_s + found.compute_s), abs=0.15), str(found)


def test_waiting_for_a_slow_dataset(capsys):
    doctor = leat.keras.Doctor(steps=6, ablation=False)
    model = small(steps_per_execution=1 if BACKEND == "torch" else 2)
    found = fit(model, Slow(0.15), doctor, steps_per_epoch=24)
    check_waiting(found, 0.15)
    assert found.batch == 8 and "Slow(..., workers=" in str(found) and "leat.from_python(dataset" in str(found)
    assert capsys.readouterr().err.count("leat doctor: " + found.verdict[:12]) == 1
    assert type(model.train_function).__name__ != "Steps"


def test_a_python_generator():
    def batches():
        while True:
            time.sleep(0.15)
            yield PICTURES[:8], LABELS[:8]

    found = fit(small(), batches(), leat.keras.Doctor(steps=8, ablation=False, show=False), steps_per_epoch=20)
    check_waiting(found, 0.15)
    assert "the Python generator gave" in found.find("input").evidence, str(found)
    assert any("__getitem__" in remedy.cost for remedy in found.remedies)


def test_later_epochs_that_are_slower():
    class Later(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            data.seconds = 0.15 if epoch else 0.0

    data = Slow(0, 8)
    found = fit(small(), data, leat.keras.Doctor(steps=4, ablation=False, show=False), epochs=2, callbacks=[Later()])
    assert found.find("later epochs").share > 0.2, str(found)


def test_the_time_of_the_doctor_is_not_the_epoch_s(monkeypatch, clock):
    def slow_answer(doctor, *told):
        clock.sleep(1.5)
        answer(doctor, *told)

    answer = leat.keras.Doctor._answer
    monkeypatch.setattr(leat.keras.Doctor, "_answer", slow_answer)
    # The answer comes in the second epoch, the one that counts.
    found = fit(small(), PICTURES, leat.keras.Doctor(steps=8, ablation=False, show=False), y=LABELS, batch_size=8, epochs=2,
                validation_data=Slow(0.2, 4, clock.sleep), callbacks=[Sleepy(clock.sleep)])
    assert found.find("validation").share == pytest.approx(0.8 / (0.8 + 8 * 0.08)), str(found)


def test_callbacks_validation_and_short_batches(clock):
    found = fit(small(), PICTURES, leat.keras.Doctor(steps=4, ablation=False, show=False), y=LABELS, batch_size=8, epochs=2,
                validation_data=Slow(0.2, 4, clock.sleep), callbacks=[Sleepy(clock.sleep)])
    callback, validation = found.find("callback"), found.find("validation")
    assert "Sleepy takes" in callback.sentence and callback.share == pytest.approx(1), str(found)
    assert found.parts["callbacks"] == pytest.approx(0.08)
    assert validation.share == pytest.approx(0.8 / (0.8 + 8 * 0.08)) and "in every epoch" in validation.sentence, str(found)
    assert any("validation_freq=5" in remedy.change and remedy.gain > 1.2 for remedy in found.remedies)
    if BACKEND == "jax":
        assert "4 in place of 8" in found.find("last batch").sentence
        assert any("drop_remainder=True" in remedy.change for remedy in found.remedies)
    else:
        assert found.find("last batch") is None
    assert any("steps_per_execution=10" in remedy.change for remedy in found.remedies) == (BACKEND != "torch")


def test_tiny_batches():
    found = fit(small(), PICTURES[:20], leat.keras.Doctor(steps=12, show=False), y=LABELS[:20], batch_size=1)
    assert "overhead" in causes(found), str(found)
    assert found.find("overhead").share > 0.25 and "batches of 1 are too small" in found.find("overhead").sentence, str(found)
    assert any(remedy.title == "batches of 64" and remedy.gain > 1.5 for remedy in found.remedies), str(found)
    assert found.find("dominant layer") is None


def test_a_wide_layer():
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((32, 32, 3)), keras.layers.Flatten(), keras.layers.Dense(2000, "relu"),
                              keras.layers.Dense(3)])
    model.compile("sgd", LOSS)
    x, y = VALUES.rand(320, 32, 32, 3).astype("f4"), (numpy.arange(320) % 3).astype("i4")
    found = fit(model, x, leat.keras.Doctor(steps=6, ablation=False, show=False), y=y, batch_size=32)
    wide = found.find("dominant layer")
    assert wide is not None and re.search(r"\(Dense\) is (9\d|100) % of", wide.sentence), str(found)
    assert found.tables[0].rows[0][1:5] == ("Dense", "2000", "6.1 M", "12.3 M")  # 3072 x 2000 weights, each used twice
    assert wide.share > 0.4 and any("GlobalAveragePooling2D" in remedy.change for remedy in found.remedies)


def test_augmentation_in_the_model():
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((24, 24, 3)), keras.layers.RandomRotation(0.2), keras.layers.Flatten(),
                              keras.layers.Dense(3)])
    model.compile("sgd", LOSS)
    x = VALUES.rand(60, 24, 24, 3).astype("f4")
    found = fit(model, x, leat.keras.Doctor(steps=8, show=False), y=LABELS, batch_size=4)
    augmentation = found.find("augmentation")
    assert augmentation is not None and "random_rotation" in augmentation.evidence, str(found)
    lifted = next(remedy for remedy in found.remedies if "leat.keras.lift(model, ds)" in remedy.change)
    assert augmentation.share <= 0.9 and 1 < lifted.gain < 10.1  # layers that are timed alone may take longer than the whole step
    if BACKEND != "torch":
        assert "RandomShear and RandomPerspective" in augmentation.evidence and "XLA off for the whole model" in augmentation.evidence
    assert ("eager" in causes(found)) == (BACKEND == "jax")  # there such a layer leaves every step uncompiled


@pytest.mark.skipif(BACKEND == "torch", reason="torch's steps are not traced")
def test_retracing():
    doctor = leat.keras.Doctor(steps=4, ablation=False, show=False)
    if BACKEND == "jax":
        def batches():
            for n in range(12):
                yield numpy.zeros((4, 5 + n // 6), "f4"), LABELS[:4]

        model = keras.Sequential([keras.layers.Lambda(lambda x: keras.ops.mean(x, -1, keepdims=True)), keras.layers.Dense(3)])
        model.compile("sgd", LOSS)
        found = fit(model, batches(), doctor, steps_per_epoch=12)
    else:
        import tensorflow as tf

        model = small()
        for size in (4, 5):
            data = tf.data.Dataset.from_tensor_slices((PICTURES, LABELS)).batch(size, drop_remainder=True)
            found = fit(model, data, doctor)
    assert found.find("retracing") is not None, str(found)


def test_steps_that_are_not_compiled_and_steps_of_the_users_own():
    class Own(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(3)

        def call(self, x):
            return self.dense(keras.ops.reshape(x, (-1, 192)))

        def train_step(self, *args):
            return super().train_step(*args)

    model = Own()
    model.compile("sgd", LOSS, run_eagerly=True)
    found = fit(model, PICTURES, leat.keras.Doctor(steps=3, show=False), y=LABELS, batch_size=8)
    assert ("eager" in causes(found)) == (BACKEND != "torch"), str(found)
    assert any("train_step of its own" in note for note in found.notes)


def test_remedies_of_a_machine_with_a_gpu(monkeypatch):
    from leat._doctor import devices

    monkeypatch.setattr(devices, "seen_by", lambda framework: ["GPU:0"])
    work = [keras.layers.Conv2D(128, 3, padding="same") for _ in range(2)]  # so that the model is what takes time
    model = small(*([keras.layers.RandomRotation(0.1)] if BACKEND == "tensorflow" else []), *work)
    found = fit(model, PICTURES, leat.keras.Doctor(steps=3, ablation=False, show=False), y=LABELS, batch_size=8)
    assert any("set_global_policy(\"mixed_" in remedy.change for remedy in found.remedies), str(found)
    assert any("nvidia-smi proves little" in note for note in found.notes)
    assert any("XLA off for the whole model" in each.evidence for each in found.findings) == (BACKEND == "tensorflow")
    if BACKEND == "torch":
        assert found.findings[0].cause == "device" and "model is on the processor" in found.verdict  # the GPU is made up


def test_no_error_of_the_doctor_ends_training(monkeypatch, capsys):
    from leat._doctor import keras_doctor

    def broken(*args):
        raise RuntimeError("a fault")

    monkeypatch.setattr(keras_doctor, "judge", broken)
    model = small()
    fit(model, PICTURES, leat.keras.Doctor(steps=2), y=LABELS, batch_size=8)
    assert "leat doctor: no diagnosis: RuntimeError: a fault" in capsys.readouterr().err


def test_a_fit_that_fails_leaves_no_doctor_behind():
    class Fails(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            if batch == 2:
                raise KeyError("of the user")

    model, doctor = small(), leat.keras.Doctor(steps=4, ablation=False, show=False)
    with pytest.raises(KeyError):
        fit(model, PICTURES, doctor, y=LABELS, batch_size=8, callbacks=[Fails()])
    found = fit(model, PICTURES, doctor, y=LABELS, batch_size=8)
    assert found.steps > 0
    fit(model, PICTURES, y=LABELS, batch_size=8)
    assert type(model.train_function).__name__ != "Steps"


def test_a_doctor_with_wrong_steps():
    with pytest.raises(ValueError, match="steps is a number"):
        leat.keras.Doctor(steps=0)
