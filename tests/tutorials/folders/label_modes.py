# SPDX-License-Identifier: Apache-2.0
"""Every kind of label, colour and interpolation of image_dataset_from_directory."""

import tensorflow as tf
from tensorflow.keras.utils import image_dataset_from_directory

common = dict(directory="flowers", shuffle=False, batch_size=8, image_size=(32, 40))
categorical = image_dataset_from_directory(label_mode="categorical", **common)
unlabelled = image_dataset_from_directory(label_mode=None, **common)
binary = image_dataset_from_directory(label_mode="binary", class_names=["tulip", "daisy"], **common)
grey = image_dataset_from_directory(color_mode="grayscale", **common)
nearest = image_dataset_from_directory(interpolation="nearest", **common)
cropped = image_dataset_from_directory(crop_to_aspect_ratio=True, **common)
padded = image_dataset_from_directory(pad_to_aspect_ratio=True, **common)
given = image_dataset_from_directory(
    "digits",
    labels=list(range(len(image_dataset_from_directory("digits", batch_size=None)))),
    shuffle=False,
    image_size=(28, 28),
    color_mode="grayscale",
)
try:
    image_dataset_from_directory("flowers", validation_split=0.2)
except ValueError as e:
    message = str(e)[:60]

results = {
    "exact.specs": [str(ds.element_spec) for ds in (categorical, unlabelled, binary, grey, nearest, cropped)],
    "exact.categorical": [y for x, y in categorical.as_numpy_iterator()][2:5],
    "exact.binary": [y for x, y in binary.as_numpy_iterator()],
    "exact.class_names": [categorical.class_names, binary.class_names],
    "close.unlabelled": next(iter(unlabelled)),
    "close.grey": next(iter(grey))[0],
    "exact.nearest": next(iter(nearest))[0],
    "close.cropped": next(iter(cropped))[0],
    "close.padded": next(iter(padded))[0],
    "exact.given": next(iter(given))[1],
    "raises": message,
}
