# SPDX-License-Identifier: Apache-2.0
"""Keras: ImageDataGenerator, which works on one thread, and preprocessing layers inside tf.data, as its guide on transfer learning does."""
from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from common import Job

os.environ.setdefault("KERAS_BACKEND", "tensorflow")


def idg(job: Job) -> Iterator[Any]:
    import numpy
    from with_tensorflow import start
    start(job)
    from keras.src.legacy.preprocessing.image import ImageDataGenerator
    with numpy.load(job.data) as arrays:
        x, y = arrays["x"], arrays["y"]
    if job.fixed:
        return ImageDataGenerator(rescale=1.0).flow(x, y, batch_size=job.batch, shuffle=False)
    made = ImageDataGenerator(rotation_range=20, width_shift_range=0.2, height_shift_range=0.2, shear_range=0.2, zoom_range=0.2,
                              horizontal_flip=True)
    return made.flow(x, y, batch_size=job.batch, shuffle=True)


def layers(job: Job) -> Iterator[Any]:
    """Decoded pictures through a Sequential of layers behind batch: RandomFlip, RandomCrop's place taken by Resizing."""
    import keras
    from with_tensorflow import files, pool, start
    tf = start(job)
    drawn = [] if job.fixed else [keras.layers.RandomFlip("horizontal")]
    made = keras.Sequential([keras.layers.Resizing(job.side, job.side), *drawn])

    def make(path: Any, label: Any, drawn: Any = None) -> Any:
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3, dct_method="INTEGER_ACCURATE")
        return made(image, training=True), label
    ds = files(job, tf).map(make, num_parallel_calls=tf.data.AUTOTUNE).batch(job.batch).prefetch(tf.data.AUTOTUNE)
    return iter(pool(job, tf, ds))


KINDS = {"idg": idg}
LAYERS = {"resize": layers}
