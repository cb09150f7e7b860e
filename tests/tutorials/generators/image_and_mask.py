# SPDX-License-Identifier: Apache-2.0
"""Two generators with one seed: the masks move with the images."""

import numpy as np
import tensorflow as tf
from tensorflow.keras.preprocessing.image import ImageDataGenerator

rng = np.random.default_rng(2)
images = np.zeros((40, 48, 48, 3), "float32")
masks = np.zeros((40, 48, 48, 1), "float32")
for i, (r, c) in enumerate(rng.integers(8, 24, (40, 2))):
    images[i, r : r + 16, c : c + 12] = 200
    masks[i, r : r + 16, c : c + 12] = 1

data_gen_args = dict(
    rotation_range=40, width_shift_range=0.1, height_shift_range=0.1, zoom_range=0.2, horizontal_flip=True
)
image_datagen = ImageDataGenerator(**data_gen_args)
mask_datagen = ImageDataGenerator(**data_gen_args)
seed = 1
image_datagen.fit(images, augment=True, seed=seed)
mask_datagen.fit(masks, augment=True, seed=seed)
image_generator = image_datagen.flow(images, batch_size=10, seed=seed)
mask_generator = mask_datagen.flow(masks, batch_size=10, seed=seed)
train_generator = zip(image_generator, mask_generator)

overlaps, areas = [], []
for step, (x, m) in enumerate(train_generator):
    overlaps.append(np.abs(x.mean(-1) / 200 - m[..., 0]).max())
    areas.append(m.mean())
    if step == 15:
        break


def pairs():
    for x, m in zip(image_datagen.flow(images, batch_size=10, seed=5), mask_datagen.flow(masks, batch_size=10, seed=5)):
        yield x, m


model = tf.keras.Sequential([tf.keras.layers.Conv2D(1, 3, padding="same", activation="sigmoid")])
model.compile("adam", "binary_crossentropy")
history = model.fit(pairs(), steps_per_epoch=4, epochs=1, verbose=0)

results = {
    "exact.lockstep": bool(max(overlaps) < 1e-3),
    "stat.area": (np.mean(areas), 0.02),
    "exact.shapes": [x.shape, m.shape, str(x.dtype)],
    "exact.finite": bool(np.isfinite(history.history["loss"][0])),
}
