# SPDX-License-Identifier: Apache-2.0
"""python -m leat doctor SCRIPT: fit of Keras, loops over tf.data and torch, train_on_batch."""
import json
import subprocess
import sys
import time

import keras
import numpy
import tensorflow as tf
import torch
from leat._doctor.script import Observer
from leat._doctor.script_hooks import install

tf.config.set_visible_devices([], "GPU")
TRAIN = """
import atexit, sys, time
import numpy, keras, tensorflow as tf
atexit.register(print, "atexit")
class Slow(keras.utils.PyDataset):
    def __len__(self):
        return 60
    def __getitem__(self, i):
        time.sleep(0.03)
        return numpy.ones((8, 4), "f4"), numpy.ones((8, 3), "f4")
class Mine(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print("epoch", epoch)
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
model.compile("sgd", "mse")
callbacks = [keras.callbacks.ModelCheckpoint("best.keras", save_freq=1), keras.callbacks.BackupAndRestore("backup"), Mine(),
             keras.callbacks.CSVLogger("log.csv")]
try:
    model.fit(Slow(max_queue_size=1), epochs=2, verbose=0, callbacks=callbacks)
finally:
    print("finally", len(callbacks))
model.save("last.keras")
"""


def watched(function, steps=0):
    observer = Observer(steps)
    install(observer)
    try:
        function()
    finally:
        found = observer.answer()
    return found


def test_steps_end_a_fit_and_nothing_is_saved(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    done = subprocess.run([sys.executable, "-m", "leat", "doctor", "--steps", "40", "--json", "answer.json", "train.py"],
                          capture_output=True, text=True, timeout=200, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "", done.stdout + done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answer.json", "log.csv", "train.py"]
    (answer,) = json.loads((tmp_path / "answer.json").read_text())
    assert answer["watched"] == "model.fit" and "input" in [each["cause"] for each in answer["findings"]], done.stderr
    assert answer["wait_s"] > 0.002 and "the PyDataset" in done.stderr


def small_model():
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    model.compile("sgd", "mse")
    return model


def slow(seconds):
    def sleep(x):
        time.sleep(seconds)
        return x

    data = tf.data.Dataset.from_tensor_slices((numpy.ones((80, 4), "f4"), numpy.ones((80, 3), "f4")))
    return data.map(lambda x, y: (tf.ensure_shape(tf.numpy_function(sleep, [x], tf.float32), (4,)), y)).batch(4)


def test_a_fit_is_watched_and_gives_the_same_weights():
    models = [small_model(), small_model()]
    models[0].fit(slow(0), epochs=2, verbose=0)
    mine = []
    found, = watched(lambda: models[1].fit(slow(0.003), epochs=2, verbose=0, callbacks=mine))
    for a, b in zip(models[0].get_weights(), models[1].get_weights()):
        assert numpy.array_equal(a, b)
    assert mine == [] and found.find("input") is not None and found.find("serial python map") is not None, found.text()
    assert not hasattr(models[1].fit, "leat") and models[1].fit(slow(0), verbose=0) is not None  # nobody looks any more


def test_a_loop_over_tf_data_is_watched():
    def train():
        for _ in slow(0).take(1):  # a look at the data is no training
            pass
        data = slow(0.003)
        for _ in range(2):
            for x, y in data:
                time.sleep(0.004)

    found, = watched(train)
    assert found.steps > 10 and found.batch == 4 and found.find("serial python map") is not None, found.text()


def test_the_inside_of_a_graph_is_left_alone():
    @tf.function
    def total(data):
        found = tf.constant(0.0)
        for x, y in data:
            found += tf.reduce_sum(x)
        return found

    seen = []
    assert watched(lambda: seen.append(float(total(slow(0))))) == [] and seen == [320.0]


def test_train_on_batch_is_watched(capsys):
    def train():
        model = small_model()
        for _ in range(10):
            time.sleep(0.03)
            model.train_on_batch(numpy.ones((8, 4), "f4"), numpy.ones((8, 3), "f4"))

    found, = watched(train)
    assert found.batch == 8 and found.wait_s > 0.025 and found.findings[0].cause == "input", found.text()
    assert "leat doctor: Waiting for data takes" in capsys.readouterr().err


def test_a_loop_of_torch_is_watched():
    class Slow(torch.utils.data.Dataset):
        def __len__(self):
            return 40

        def __getitem__(self, i):
            time.sleep(0.003)
            return torch.ones(3), i

    loader = torch.utils.data.DataLoader(Slow(), batch_size=4)
    seen = []

    def train():
        for _ in range(2):
            for x, y in loader:
                seen.append(y)
                time.sleep(0.003)

    found, = watched(train)
    assert found.steps > 5 and found.findings[0].cause == "input" and "num_workers=" in found.text(), found.text()
    assert torch.cat(seen).tolist() == 2 * list(range(40))
