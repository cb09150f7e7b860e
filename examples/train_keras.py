#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small convolutional network with Keras, on whichever backend it has: model.fit takes the dataset as it is.

    KERAS_BACKEND=jax python examples/train_keras.py

The pictures are made up, landscapes with one of ten figures in them: for your own, put
leat.from_directory("photos/train") in place of leat.synthetic(...).
"""
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # TensorFlow says much when it starts

import keras  # noqa: E402
import leat  # noqa: E402
from keras import layers  # noqa: E402

CLASSES, SIDE, EPOCHS, PATIENCE, WANTED, ENOUGH = 10, 32, 10, 4, 0.95, 0.97
L2 = keras.regularizers.L2(1e-4)


def datasets() -> tuple[leat.Dataset, leat.Dataset]:
    """What is learned from, drawn anew in every epoch, and what is tested with."""
    train = (leat.synthetic(4800, SIDE + 4, SIDE + 4, classes=CLASSES, seed=1).shuffle(seed=7).random_crop(SIDE)
             .random_flip_left_right().color_jitter(0.1, 0.1).random_rotation(0.02).normalize("imagenet").batch(64))
    test = (leat.synthetic(500, SIDE + 4, SIDE + 4, classes=CLASSES, seed=2).center_crop(SIDE)
            .normalize("imagenet").batch(100))
    return train, test


def network() -> keras.Model:
    """Three blocks of convolution, batch normalization and pooling, then dropout and the classes."""
    model = keras.Sequential([keras.Input((SIDE, SIDE, 3))])
    for width in (16, 32, 64):
        model.add(layers.Conv2D(width, 3, padding="same", use_bias=False, kernel_regularizer=L2))
        model.add(layers.BatchNormalization(momentum=0.9))
        model.add(layers.ReLU())
        model.add(layers.MaxPooling2D())
    model.add(layers.Flatten())
    model.add(layers.Dropout(0.3))
    model.add(layers.Dense(CLASSES, kernel_regularizer=L2))
    return model


class Says(keras.callbacks.Callback):
    """One line an epoch; enough is enough."""

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        logs = logs or {}
        print(f"epoch {epoch + 1:2}: loss {logs['loss']:.3f}, accuracy {logs['val_accuracy']:.1%}", flush=True)
        self.model.stop_training |= logs["val_accuracy"] >= ENOUGH


def main() -> int:
    keras.utils.set_random_seed(0)
    train, test = datasets()
    model = network()
    rate = keras.optimizers.schedules.CosineDecay(4e-3, EPOCHS * len(train))
    model.compile(keras.optimizers.Adam(rate), keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  metrics=["accuracy"])
    stopping = keras.callbacks.EarlyStopping("val_accuracy", patience=PATIENCE, restore_best_weights=True)
    model.fit(train, validation_data=test, epochs=EPOCHS, callbacks=[stopping, Says()], verbose=0)
    _, reached = model.evaluate(test, verbose=0)
    print(f"accuracy {reached:.1%}")
    return 0 if reached >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
