# SPDX-License-Identifier: Apache-2.0
"""'Augmentation made training ten times slower': Keras layers for augmentation inside the model.

    python augment_in_model.py [PICTURES] [EPOCHS]
"""
import tensorflow as tf
from practice import Says, arguments, arrays, compiled, small_model

COUNT, EPOCHS = arguments(2000)
layers = tf.keras.layers

x, y = arrays(COUNT, 96)
train = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000).batch(32)
model = small_model(96, layers.RandomFlip("horizontal"), layers.RandomRotation(0.1), layers.RandomZoom(0.2),
                    layers.RandomTranslation(0.1, 0.1), layers.RandomContrast(0.2))
compiled(model).fit(train, epochs=EPOCHS, callbacks=[Says()], verbose=0)
