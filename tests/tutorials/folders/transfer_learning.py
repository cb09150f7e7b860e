# SPDX-License-Identifier: Apache-2.0
"""preprocess_input of keras.applications in a map, a frozen base, and class indices by argmax."""

import numpy as np
import tensorflow as tf
from tensorflow.keras.applications import mobilenet_v2, resnet50

IMG_SIZE = (64, 64)
dataset = tf.keras.utils.image_dataset_from_directory("flowers", shuffle=False, batch_size=12, image_size=IMG_SIZE)
val_batches = tf.data.experimental.cardinality(dataset)
test_dataset = dataset.take(val_batches // 5)
train_dataset = dataset.skip(val_batches // 5)
train_dataset = train_dataset.prefetch(buffer_size=tf.data.AUTOTUNE)

mobile = test_dataset.map(lambda x, y: (mobilenet_v2.preprocess_input(x), y))
caffe = test_dataset.map(lambda x, y: (resnet50.preprocess_input(x), y))
base = tf.keras.Sequential(
    [tf.keras.layers.Conv2D(8, 3, strides=3, activation="relu"), tf.keras.layers.GlobalAveragePooling2D()]
)
base.trainable = False
inputs = tf.keras.Input(shape=IMG_SIZE + (3,))
x = mobilenet_v2.preprocess_input(inputs)
x = base(x, training=False)
model = tf.keras.Model(inputs, tf.keras.layers.Dense(3)(x))
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(train_dataset, epochs=1, verbose=0)
image_batch, label_batch = test_dataset.as_numpy_iterator().next()
predictions = tf.argmax(model.predict_on_batch(image_batch), axis=1)

results = {
    "exact.batches": [int(val_batches), len(test_dataset), len(train_dataset)],
    "exact.labels": label_batch,
    "close.mobile": next(iter(mobile))[0],
    "close.caffe": next(iter(caffe))[0],
    "exact.predictions": predictions.shape,
    "exact.trainable": len(model.trainable_variables),
}
