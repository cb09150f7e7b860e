# SPDX-License-Identifier: Apache-2.0
"""'Augmentation made training ten times slower': ImageDataGenerator turns and shifts each picture on one core.

    python augment_by_generator.py [PICTURES] [EPOCHS]
"""
import tensorflow as tf
from practice import Says, arguments, arrays, compiled, small_model

COUNT, EPOCHS = arguments(2000)

x, y = arrays(COUNT, 96)
generator = tf.keras.preprocessing.image.ImageDataGenerator(
    rotation_range=20, width_shift_range=0.1, height_shift_range=0.1, zoom_range=0.2, shear_range=10, horizontal_flip=True)
train = generator.flow(x, y, batch_size=32)
compiled(small_model(96)).fit(train, epochs=EPOCHS, callbacks=[Says()], verbose=0)
