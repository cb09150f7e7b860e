# SPDX-License-Identifier: Apache-2.0
"""'Training time is anomalous': a Sequence reads and resizes pictures in __getitem__, one core is busy, and the model is too wide.

    python sequence_on_one_core.py [PICTURES] [EPOCHS]
"""
import glob

import numpy
import tensorflow as tf
from PIL import Image
from practice import Says, arguments, compiled, photos

COUNT, EPOCHS = arguments(320)
layers = tf.keras.layers
FOLDER = photos(COUNT)


class Photos(tf.keras.utils.PyDataset):
    def __init__(self, folder, size, **kwargs):
        super().__init__(**kwargs)
        self.paths, self.size = sorted(glob.glob(f"{folder}/*/*.jpg")), size
        self.labels = numpy.array([int(path.split("/class")[-1][0]) for path in self.paths])

    def __len__(self):
        return -(-len(self.paths) // self.size)

    def __getitem__(self, number):
        part = slice(number * self.size, (number + 1) * self.size)
        images = [numpy.asarray(Image.open(path).resize((128, 128), Image.Resampling.BILINEAR)) for path in self.paths[part]]
        return numpy.stack(images).astype("float32") / 255, self.labels[part]


train = Photos(FOLDER, 32)
model = tf.keras.Sequential([
    tf.keras.Input((128, 128, 3)), layers.Conv2D(8, 5, strides=4, activation="relu"),
    layers.Flatten(), layers.Dense(1024, activation="relu"),
    layers.Dense(10)])
compiled(model).fit(train, epochs=EPOCHS, callbacks=[Says()], verbose=0)
