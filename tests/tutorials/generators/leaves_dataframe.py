# SPDX-License-Identifier: Apache-2.0
"""flow_from_dataframe, as in competitions: ids and labels in a table, several kinds of targets."""

import numpy as np
import pandas as pd
from tensorflow.keras.preprocessing.image import ImageDataGenerator

train = pd.read_csv("leaves.csv")
print(train["label"].value_counts())
datagen = ImageDataGenerator(rescale=1 / 255.0, validation_split=0.2)
train_gen = datagen.flow_from_dataframe(
    dataframe=train,
    directory="leaves",
    x_col="image_id",
    y_col="label",
    subset="training",
    batch_size=8,
    seed=42,
    shuffle=False,
    class_mode="categorical",
    target_size=(48, 48),
)
valid_gen = datagen.flow_from_dataframe(
    dataframe=train,
    directory="leaves",
    x_col="image_id",
    y_col="label",
    subset="validation",
    batch_size=8,
    seed=42,
    shuffle=False,
    class_mode="sparse",
    target_size=(48, 48),
)
raw_gen = ImageDataGenerator().flow_from_dataframe(
    train,
    "leaves",
    x_col="image_id",
    y_col="weight",
    class_mode="raw",
    batch_size=10,
    target_size=(64, 64),
    shuffle=False,
)
test_gen = ImageDataGenerator(rescale=1 / 255.0).flow_from_dataframe(
    train, "leaves", x_col="image_id", y_col=None, class_mode=None, batch_size=10, shuffle=True, target_size=(32, 32)
)
images, labels = next(train_gen)

results = {
    "exact.indices": train_gen.class_indices,
    "exact.lengths": [train_gen.n, valid_gen.n, len(train_gen), len(valid_gen), raw_gen.samples],
    "close.pixels": images,
    "exact.labels": np.concatenate([train_gen[i][1] for i in range(len(train_gen))]),
    "exact.valid": np.concatenate([valid_gen[i][1] for i in range(len(valid_gen))]),
    "exact.raw": next(raw_gen)[1],
    "close.raw_pixels": raw_gen[0][0],
    "exact.unlabelled": next(test_gen).shape,
    "exact.filenames": valid_gen.filenames,
}
