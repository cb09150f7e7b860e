# SPDX-License-Identifier: Apache-2.0
"""Pictures for the programs beside it, a callback that prints the time of each epoch, and a device that is only simulated.

The pictures are made up, once, in a folder of the temporary directory.
"""
import os
import sys
import tempfile
import time
from pathlib import Path

import leat
import numpy
import tensorflow as tf


def arguments(count, epochs=3):
    """How many pictures, and how many epochs: both may be given to the program."""
    given = [int(each) for each in sys.argv[1:3]]
    return (given + [count, epochs][len(given):])[:2]


def place(name):
    folder = Path(os.environ.get("LEAT_SLOW", Path(tempfile.gettempdir()) / f"leat-slow-{os.getuid()}")) / name
    return folder, folder.with_suffix(".done").exists()


def photos(count):
    """A folder with JPEGs of 640x480, in ten folders: one for each class."""
    folder, done = place(f"photos-{count}")
    for i, (image, label) in enumerate(() if done else leat.synthetic(count, 480, 640, seed=3)):
        path = folder / f"class{int(label)}" / f"{i:05}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(tf.io.encode_jpeg(image, quality=92).numpy())
    folder.with_suffix(".done").touch()
    return str(folder)


def arrays(count, side):
    """Pictures and labels as arrays."""
    return next(iter(leat.synthetic(count, side, side, seed=5).batch(count)))


def records(count, compression="GZIP"):
    """Four TFRecord files with raw pictures of 96x96. The classes come one after the other."""
    folder, done = place(f"records-{count}-{compression or 'plain'}")
    folder.mkdir(parents=True, exist_ok=True)
    paths = [str(folder / f"train-{number}.tfrecord") for number in range(4)]
    if not done:
        images, labels = arrays(count, 96)
        order = numpy.argsort(labels, kind="stable")
        for number, path in enumerate(paths):
            with tf.io.TFRecordWriter(path, compression) as writer:
                for i in order[number * count // 4:(number + 1) * count // 4]:
                    writer.write(leat.example({"image": images[i].tobytes(), "label": int(labels[i])}))
    folder.with_suffix(".done").touch()
    return paths


def small_model(side, *first):
    """A network that needs little time: what remains is the input."""
    layers = tf.keras.layers
    model = tf.keras.Sequential([
        tf.keras.Input((side, side, 3)), *first, layers.Rescaling(1 / 255),
        layers.Conv2D(8, 5, strides=8, activation="relu"), layers.Conv2D(16, 3, strides=2, activation="relu"),
        layers.GlobalAveragePooling2D(), layers.Dense(10)])
    return model


def compiled(model):
    model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


class Says(tf.keras.callbacks.Callback):
    """Prints the seconds of each epoch."""

    def on_epoch_begin(self, epoch, logs=None):
        self.begin = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        print(f"epoch {epoch + 1}: {time.perf_counter() - self.begin:.3f} s", flush=True)


class Device:
    """A device that computes while the processor is free: it sleeps. A step costs 4 ms at the least, as starting work on a device
    does, and 0.1 ms for each picture; a batch comes over a bus with 1 GB/s."""

    def step(self, batch):
        batch = numpy.asarray(batch)
        time.sleep(0.004 + 0.0001 * len(batch) + batch.nbytes / 1e9)
