# SPDX-License-Identifier: Apache-2.0
"""preprocessing_function, brightness and channel shifts, wrapped by from_generator as pages advise."""

import numpy as np
import tensorflow as tf
from tensorflow.keras.preprocessing.image import ImageDataGenerator, img_to_array, load_img


def add_noise(img):
    return np.clip(img + np.random.normal(0, 5, img.shape), 0, 255.0)


datagen = ImageDataGenerator(preprocessing_function=add_noise, rescale=1 / 255.0)
noisy = datagen.flow_from_directory(
    "digits", target_size=(28, 28), color_mode="grayscale", class_mode="sparse", batch_size=20, shuffle=False
)
clean = ImageDataGenerator(rescale=1 / 255.0).flow_from_directory(
    "digits", target_size=(28, 28), color_mode="grayscale", class_mode="sparse", batch_size=20, shuffle=False
)
a, b = next(noisy), next(clean)
ds = tf.data.Dataset.from_generator(
    lambda: noisy, output_types=(tf.float32, tf.float32), output_shapes=([None, 28, 28, 1], [None])
)
shapes = [x.shape for x, y in ds.take(2)]

img = load_img("flowers/daisy/000.jpg", target_size=(40, 40))
x = img_to_array(img)
x = x.reshape((1,) + x.shape)
bright = ImageDataGenerator(brightness_range=(0.5, 1.5), channel_shift_range=20.0)
means = []
for i, batch in enumerate(bright.flow(x, batch_size=1), 1):
    means.append(batch.mean() / x.mean())
    if i >= 60:
        break

results = {
    "exact.labels": [a[1], b[1]],
    "close.clean": b[0],
    "stat.noise": ((a[0] - b[0]).std() * 255, 0.7),
    "exact.shapes": shapes,
    "exact.loaded": x.shape,
    "stat.brightness": (np.mean(means), 0.15),
    "stat.spread": (np.std(means), 0.12),
}
