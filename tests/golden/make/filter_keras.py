# SPDX-License-Identifier: Apache-2.0
"""JPEG's noise of TensorFlow; blur, sharpness and holes of Keras: filter_keras.npz.

Run with a Python that has TensorFlow and Keras, and with LEAT set to the leat of the tree.

JPEG, sharpness and holes are equal bit for bit: TensorFlow's libjpeg-turbo is another version than Debian's, but over
200 random pictures of all qualities not one value differed, with either inverse transform; libjpeg-turbo without its
vector code (JSIMD_FORCENONE=1) gives the same bits. The sums of a blur come in another order: over 60 random pictures
of values from 0 to 255 the largest difference was 0.00013.
"""
import os

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", KERAS_BACKEND="tensorflow")
import keras
import numpy as np
import tensorflow as tf
from drawn import drawn
from golden import Golden, picture

TENSORFLOW, KERAS = f"TensorFlow {tf.__version__}", f"Keras {keras.__version__}"


def erased(text, array, **how):
    """Keras fills pixels between fractions of places; those that leat has drawn are given to it."""
    params = dict(drawn(text, array))
    layer = keras.layers.RandomErasing(factor=1.0, **how)
    x, y, w, h = (np.float32(params[k]) for k in ("x", "y", "width", "height"))
    masks = layer._generate_batch_mask((1, *array.shape), [np.array([v]) for v in (x, x + w, y, y + h)])
    fill = layer._get_fill_value(array[None].astype("f4"), (1, *array.shape), None)
    transformation = {"apply_erasing": np.array([True]), "batch_masks": masks, "fill_value": fill}
    return layer.transform_images(array[None], transformation).numpy()[0]


def main():
    g = Golden("filter_keras")
    rgb, gray, floats = picture(), picture(33, 18, 1, 1), picture(14, 11, dtype=np.float32, seed=5)
    for array, name in [(rgb, "rgb"), (gray, "gray"), (floats, "f32")]:
        for quality in (5, 60, 100):
            for fast in (False, True):
                expected = tf.image.adjust_jpeg_quality(
                    array, quality, dct_method="INTEGER_FAST" if fast else "INTEGER_ACCURATE").numpy()
                if fast and quality != 60:
                    continue
                op = f"adjust_jpeg_quality {quality}" if quality != 5 else "random_jpeg_quality 5 5"
                g.add(f"jpeg_{name}_{quality}{'_fast' * fast}", op + " | options accuracy=fast" * fast, array, expected,
                      library=TENSORFLOW)
    outside = (floats * 3 - 1).astype("f4")
    g.add("jpeg_outside", "adjust_jpeg_quality 80", outside,
          tf.image.adjust_jpeg_quality(outside, 80, dct_method="INTEGER_ACCURATE").numpy(), library=TENSORFLOW)

    for array, name in [(rgb, "u8"), (floats * 255, "f32")]:
        sigma = np.float32(1.5) + np.float32(1e-6)
        expected = keras.ops.image.gaussian_blur(array[None].astype("f4"), (5, 5), (sigma, sigma)).numpy()[0]
        g.add(f"blur_{name}", "gaussian_blur 5 1.5 flavour=keras", array, np.clip(expected, 0, 255), max=2e-4,
              mean=2e-5, library=KERAS)
        layer = keras.layers.RandomSharpness((0.8, 0.8), value_range=(20, 230))
        g.add(f"sharpness_{name}", "adjust_sharpness 0.8 flavour=keras range=20,230", array,
              layer(array[None], training=True).numpy()[0], library=KERAS)
    layer = keras.layers.RandomSharpness((0.1, 0.1), value_range=(0, 1))
    g.add("sharpness_unit", "random_sharpness 0.1 0.1 flavour=keras range=0,1", floats,
          layer(floats[None], training=True).numpy()[0], library=KERAS)

    for array, name, value, seed in [(rgb, "u8", "300", 1), (floats * 255, "f32", "10,20,30", 2)]:
        text = f"random_erasing p=1 flavour=keras value={value} | options seed={seed}"
        numbers = [float(v) for v in value.split(",")]
        fill = numbers if len(numbers) > 1 else numbers[0]
        g.add(f"erasing_{name}", text, array, erased(text, array, fill_value=fill), library=KERAS)
    g.write()


if __name__ == "__main__":
    main()
