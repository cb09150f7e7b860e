# SPDX-License-Identifier: Apache-2.0
"""'The GPU is slower than the CPU': a generator makes pictures one after the other, batches are small, and floats are sent.

    python device_waits.py [PICTURES] [EPOCHS]

The device is simulated: its step has a fixed time.
"""
import glob
import time

import numpy
import tensorflow as tf
from PIL import Image
from practice import Device, arguments, photos

COUNT, EPOCHS = arguments(320)
FOLDER = photos(COUNT)
device = Device()


def samples():
    for path in numpy.random.permutation(sorted(glob.glob(f"{FOLDER}/*/*.jpg"))):
        image = Image.open(path).resize((160, 160), Image.Resampling.BILINEAR)
        yield numpy.asarray(image, "float32") / 255, int(path.split("/class")[-1][0])


signature = tf.TensorSpec((160, 160, 3), tf.float32), tf.TensorSpec((), tf.int64)
train = tf.data.Dataset.from_generator(samples, output_signature=signature).batch(4)
for epoch in range(EPOCHS):
    begin = time.perf_counter()
    for images, labels in train:
        device.step(images)
    print(f"epoch {epoch + 1}: {time.perf_counter() - begin:.3f} s", flush=True)
