# SPDX-License-Identifier: Apache-2.0
"""Keras: ImageDataGenerator, which works on one thread, and preprocessing layers inside tf.data, as its guide on transfer learning does."""
from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from common import MEAN, STD, Job

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


def randaugment(job: Job) -> Iterator[Any]:
    """Crop and flip by tf.image, since Keras has no layer that crops before it decodes; then the layer, picture by picture."""
    import keras
    from with_tensorflow import batches, box_of, files, start
    tf = start(job)
    layer = keras.layers.RandAugment((0, 255), num_ops=0 if job.fixed else 2, factor=0.3)

    def make(path: Any, label: Any, drawn: Any = None) -> Any:
        image = layer(box_of(job, tf, tf.io.read_file(path), drawn, True), training=True)
        return (image / 255.0 - MEAN) / STD, label
    return batches(job, tf, files(job, tf), make)


KINDS = {"idg": idg}
LAYERS = {"resize": layers, "randaugment": randaugment}
