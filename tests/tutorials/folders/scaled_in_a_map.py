# SPDX-License-Identifier: Apache-2.0
"""A Rescaling layer in a map over an image folder; the first batch is looked at."""
import numpy as np
import tensorflow as tf

train_ds = tf.keras.utils.image_dataset_from_directory("flowers", image_size=(64, 64), batch_size=16, shuffle=False)
normalization_layer = tf.keras.layers.Rescaling(1. / 255)
normalized_ds = train_ds.map(lambda x, y: (normalization_layer(x), y))
image_batch, labels_batch = next(iter(normalized_ds))
first_image = image_batch[0]
print(np.min(first_image), np.max(first_image))

halves = train_ds.map(lambda x, y: (x / 127.5 - 1, y))
for images, labels in halves.take(1):
    low, high = tf.reduce_min(images), tf.reduce_max(images)
photos = []
for images, labels in train_ds.take(1):
    for i in range(9):
        photos.append(images[i].numpy().astype("uint8"))

results = {
    "exact.spec": str(normalized_ds.element_spec),
    "close.pixels": image_batch,
    "exact.labels": [y for x, y in normalized_ds.as_numpy_iterator()],
    "close.range": [low, high],
    "close.raw": next(iter(train_ds))[0],
    "exact.photo_shapes": [photo.shape for photo in photos],
    "exact.files": train_ds.file_paths,
}
