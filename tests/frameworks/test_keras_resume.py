# SPDX-License-Identifier: Apache-2.0
"""leat.keras.Resume: a fit that was killed in the middle of an epoch goes on with the very batches that it had not
seen, and comes to the weights of one that was not. The killed process runs this file itself."""
import functools
import os
import random
import signal
import subprocess
import sys

import keras
import leat
import numpy
import pytest

N, SIZE = 23, 5  # five batches, the last with three samples
LIMIT = 180  # seconds, against hanging
values = numpy.random.RandomState(1)
PICTURES = values.randint(0, 255, (N, 6, 4, 3), "uint8")
LABELS = (numpy.arange(N) % 3).astype("int64")


def data(seed: int | None = 3) -> leat.Dataset:
    ds = leat.from_arrays((PICTURES, LABELS)).shuffle(seed=seed).random_flip_left_right()
    return ds.cast("f32", scale=1 / 255).batch(SIZE)


class Mark(keras.metrics.Metric):
    """A number that tells batches apart: of the last one only."""

    def __init__(self) -> None:
        super().__init__(name="mark")
        self.value = self.add_variable((), "zeros", name="value")

    def update_state(self, y_true, y_pred, sample_weight=None):
        y = keras.ops.reshape(keras.ops.cast(y_true, "float32"), (-1,)) + 1
        self.value.assign(keras.ops.sum(y * keras.ops.arange(1, keras.ops.shape(y)[0] + 1, dtype="float32") ** 2))

    def result(self):
        return keras.ops.convert_to_tensor(self.value)


class Watch(keras.callbacks.Callback):
    """Keeps the marks of the batches that the model has seen, and ends everything after some of them."""

    def __init__(self, stop_after: int | None = None, how=None) -> None:
        super().__init__()
        self.marks, self.left, self.how = [], stop_after, how

    def on_train_batch_end(self, batch, logs=None):
        self.marks.append(int(logs["mark"]))
        if self.left is not None:
            self.left -= 1
            if self.left == 0:
                self.how()


class Crash(Exception):
    pass


def crash() -> None:
    raise Crash


def new_model(built: bool = True):
    """Everything that has a state: an optimizer with slots, drawn numbers, moving means, metrics."""
    keras.utils.set_random_seed(4)
    layers = [keras.layers.Flatten(), keras.layers.Dense(8, activation="relu"), keras.layers.BatchNormalization(),
              keras.layers.Dropout(0.5), keras.layers.Dense(3)]
    model = keras.Sequential(([keras.Input((6, 4, 3))] if built else []) + layers)
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=[Mark()],
                  jit_compile=keras.backend.backend() == "jax")  # elsewhere it would take most of the time
    return model


@functools.cache
def used_model():
    """A model, its variables and their first values: compiling takes longer than all else here."""
    model = new_model()
    model.optimizer.build(model.trainable_variables)
    variables = [*model.trainable_variables, *model.non_trainable_variables, *model.optimizer.variables]
    return model, variables, [numpy.array(keras.ops.convert_to_numpy(variable)) for variable in variables]


def model_for_it(built: bool = True):
    """A new model, or one that is as good as new."""
    if not built:
        return new_model(False)
    model, variables, first = used_model()
    for variable, value in zip(variables, first):
        variable.assign(value)
    keras.utils.set_random_seed(4)
    return model


def train(path, *, ds=None, stop_after=None, how=crash, every=2, built=True, keep=False, resize=False, **more):
    """(marks, losses of the epochs, weights); path None: without Resume."""
    model, watch = model_for_it(built), Watch(stop_after, how)
    callbacks = [watch] if path is None else [leat.keras.Resume(path, every=every, keep=keep, resize_batch=resize), watch]
    more = {"epochs": 3, "verbose": 0, **more}
    losses = []
    try:
        losses = model.fit(data() if ds is None else ds, callbacks=callbacks, **more).history.get("loss", [])
    except Crash:
        pass
    return watch.marks, losses, model.get_weights()


@functools.cache
def whole(**more):
    """The same without an interruption."""
    return train(None, **more)


def same(got, wanted) -> None:
    for a, b in zip(got, wanted, strict=True):
        numpy.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    train(sys.argv[1], stop_after=9, how=lambda: os.kill(os.getpid(), signal.SIGKILL))
    sys.exit("it was not killed")


def test_killed_in_the_middle_of_an_epoch(tmp_path):
    path = tmp_path / "run.resume"
    killed = subprocess.Popen([sys.executable, __file__, path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    marks, losses, weights = whole()
    said = killed.communicate(timeout=LIMIT)[0]
    assert killed.returncode == -signal.SIGKILL, said
    seen, rest, after = train(path)
    assert seen == marks[8:]  # killed after nine steps; every second was saved
    same(after, weights)
    numpy.testing.assert_allclose(rest, losses[1:], rtol=1e-5)  # of the whole epoch, not of what was left of it
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("stop_after, every, begin, more", [
    (9, 3, 9, {"steps_per_epoch": 7, "epochs": 2}),  # the epoch of fit is longer than a pass
    (3, 1, 3, {"steps_per_epoch": 2, "epochs": 4}),  # and shorter
    (6, "epoch", 5, {}),  # at the end of the first epoch
    (6, 5, 5, {}),  # due at the last step of an epoch, and saved after it
])
def test_tail(tmp_path, stop_after, every, begin, more):
    path = tmp_path / "new/run.resume"
    marks, _, weights = whole(**more)
    train(path, stop_after=stop_after, every=every, **more)
    seen, _, after = train(path, every=every, **more)
    assert seen == marks[begin:]
    same(after, weights)


def test_twice_and_model_not_built_and_seed_left_open(tmp_path):
    path = tmp_path / "run.resume"
    random.seed(11)
    ds = data(None)
    marks, _, weights = train(None, ds=ds, built=False)
    random.seed(11)
    train(path, ds=data(None), stop_after=4, every=1, built=False)
    random.seed(12)  # another seed would be drawn now
    train(path, ds=data(None), stop_after=3, every=1, built=False)
    seen, _, after = train(path, ds=data(None), built=False)
    assert seen == marks[7:]
    same(after, weights)


def test_another_size_of_batches(tmp_path):
    """Every sample of the epoch once: three batches of five, one of four and what is left; then epochs in batches of four."""
    labels = numpy.arange(N)

    def numbered(size: int) -> leat.Dataset:
        return leat.from_arrays((PICTURES, labels % 3)).shuffle(seed=3).cast("f32", scale=1 / 255).batch(size)

    def mark(values: numpy.ndarray) -> int:
        return int(sum((values + 1) * numpy.arange(1, len(values) + 1) ** 2))

    one = numbered(1)
    epochs = [numpy.concatenate([label for _, label in one]) for _ in range(3)]
    wanted = [mark(part) for part in numpy.split(epochs[0], [5, 10, 15, 19])]
    wanted += [mark(epoch[i:i + 4]) for epoch in epochs[1:] for i in range(0, N, 4)]
    path = tmp_path / "run.resume"
    assert train(path, ds=numbered(5), stop_after=3, every=1)[0] == wanted[:3]
    with pytest.raises(leat.StateError, match="resize_batch"):
        train(path, ds=numbered(4), every=1)
    assert train(path, ds=numbered(4), stop_after=2, every=1, resize=True)[0] == wanted[3:5]
    # The last step of an epoch is saved behind it, so that step comes again.
    assert train(path, ds=numbered(4), every=1, resize=True)[0] == wanted[4:]


def test_a_finished_fit(tmp_path):
    path = tmp_path / "run.resume"
    marks, _, weights = train(path, every="epoch", keep=True)
    seen, _, after = train(path, every="epoch", keep=True)
    assert (len(marks), seen) == (15, [])
    same(after, weights)
    assert train(path, every="epoch", keep=True, epochs=4)[0] == whole(epochs=4)[0][15:]


def test_state_is_that_of_the_steps_taken(tmp_path):
    """Not of what was read ahead: the text is that of ds.state(epoch, step)."""
    path = tmp_path / "run.resume"
    train(path, stop_after=8, every=8)
    with numpy.load(path) as file:
        saved = file["about"].tobytes().decode()
    ds = data()
    assert ds.state(1, 3) in saved


def test_what_does_not_fit(tmp_path):
    path = tmp_path / "run.resume"
    train(path, stop_after=3, every=1, steps_per_epoch=4)
    with pytest.raises(leat.StateError, match="steps_per_epoch=4"):
        train(path, every=1)
    with pytest.raises(leat.StateError):
        train(path, every=1, ds=data(seed=4), steps_per_epoch=4)
    model = keras.Sequential([keras.Input((6, 4, 3)), keras.layers.Flatten(), keras.layers.Dense(3)])
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    with pytest.raises(leat.StateError, match="another model"):
        model.fit(data(), steps_per_epoch=4, verbose=0, callbacks=[leat.keras.Resume(path)])
    with pytest.raises(leat.ArgumentError, match="not fed by a leat dataset"):
        model.fit(PICTURES, LABELS, verbose=0, callbacks=[leat.keras.Resume(path)])
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(leat.ArgumentError, match="delete it"):
        model.fit(data(), verbose=0, callbacks=[leat.keras.Resume(path)])
    with pytest.raises(leat.ArgumentError, match="every"):
        leat.keras.Resume(path, every=0)
