#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Colour: tests/golden/colour.npz, from TensorFlow, Keras on TensorFlow, and Pillow.

Equal bit for bit: saturation, hue, brightness and gray of tf.image on u8 and f32, those of the Keras layers (which
convert by way of tf.image.rgb_to_hsv, another arithmetic), Pillow's Color and Brightness, and gamma on u8. The layers
are called with given factors, so nothing is drawn.

Bounds, each about twice what was measured:
  gamma on f32     TensorFlow's power is good to a unit in the last place, leat's is rounded from double: 1.2e-7 of
                   values up to 1
  keras contrast   inside color_jitter the layer's mean is a float32 sum, leat's is exact: 6e-5 of 255
"""
import os

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", TF_ENABLE_ONEDNN_OPTS="0")
import keras
import numpy as np
import PIL
import tensorflow as tf
from golden import Golden, picture
from PIL import Image, ImageEnhance

g = Golden("colour")
TF, KERAS, PILLOW = f"TensorFlow {tf.__version__}", f"Keras {keras.__version__}", f"Pillow {PIL.__version__}"
f32 = np.float32


def edges(picture):
    """Grays, equal channels, and pure colours: where sectors meet."""
    picture[1] = picture[1, :, :1]
    picture[2, :, 1] = picture[2, :, 0]
    picture[3, :, 2] = picture[3, :, 0]
    picture[4, :, 1] = picture[4, :, 2]
    picture[5] = 255 * ((np.arange(picture.shape[1])[:, None] >> np.arange(3)) & 1)
    return picture


colour = edges(picture(9, 10))
unit, wide = colour.astype(f32) / f32(255), colour.astype(f32)
rough = (np.random.RandomState(3).standard_normal((5, 9, 3)) * 2).astype(f32)  # negative values too


def keras_layer(layer, transformation, given):
    """A layer's own arithmetic with what it would have drawn."""
    return np.asarray(layer.transform_images(tf.convert_to_tensor(given.astype(f32))[None], transformation))[0]


def tf_cases():
    bytes_ = ((0, 0.4, 1, 1.7), (-1, -0.4, 0, 0.13, 0.5, 1))
    for name, given, (factors, deltas) in (("u8", colour, bytes_), ("unit", unit, ((0.4, 1.7), (-0.4, 0.5, 1))),
                                           ("wide", wide, ((1.7,), (0.13,))), ("rough", rough, ((1.3,), (-1,)))):
        for factor in factors:
            made = tf.image.adjust_saturation(given, factor)
            g.add(f"tf_saturation_{name}_{factor}", f"adjust_saturation {factor}", given, made, library=TF)
        for delta in deltas:
            made = tf.image.adjust_hue(given, delta)
            g.add(f"tf_hue_{name}_{delta}", f"adjust_hue {delta}", given, made, library=TF)
    for name, given in (("u8", colour), ("unit", unit), ("rough", rough)):
        made = tf.image.rgb_to_grayscale(given)
        g.add(f"tf_gray_{name}", "rgb_to_grayscale", given, made, library=TF)
        made = tf.image.grayscale_to_rgb(made)
        g.add(f"tf_gray3_{name}", "rgb_to_grayscale channels=3", given, made, library=TF)
        made = tf.image.adjust_brightness(given, -0.21)
        g.add(f"tf_brightness_{name}", "adjust_brightness -0.21", given, made, library=TF)
    made = tf.image.grayscale_to_rgb(tf.image.rgb_to_grayscale(colour))
    g.add("tf_random_gray", "random_grayscale 1", colour, made, library=TF)
    g.add("tf_no_gray", "random_grayscale p=0", colour, colour, library=TF)
    for name, given in (("u8", colour), ("unit", unit)):
        made = tf.image.adjust_hue(tf.image.adjust_saturation(given, 1.4), -0.07)
        text = "random_saturation 1.4 1.4 | random_hue -0.07,-0.07"
        g.add(f"tf_saturation_hue_{name}", text, given, made, library=TF)
        for gamma, gain in ((0, 1), (0.4, 1), (1, 1), (2.2, 1), (3, 0.7))[:: 1 if name == "u8" else 2]:
            made = tf.image.adjust_gamma(given, gamma, gain)
            text = f"adjust_gamma {gamma}" if gain == 1 else f"adjust_gamma {gamma} gain={gain}"
            g.add(f"tf_gamma_{name}_{gamma}", text, given, made, max=0 if name == "u8" else 1.2e-7, library=TF)
        made = tf.image.adjust_gamma(given, 1.6)
        g.add(f"tf_random_gamma_{name}", "random_gamma 1.6 1.6", given, made, max=0 if name == "u8" else 1.2e-7,
              library=TF)
    gray = picture(9, 14, 1, seed=4)
    g.add("tf_gamma_gray", "adjust_gamma 0.7", gray, tf.image.adjust_gamma(gray, 0.7), library=TF)
    g.add("tf_brightness_gray", "adjust_brightness 0.3", gray, tf.image.adjust_brightness(gray, 0.3), library=TF)


def keras_cases():
    for name, given, high in (("u8", colour, 255), ("unit", unit, 1)):
        suffix = f"flavour=keras range=0,{high}"
        values = (0, high)
        for factor in (0, 0.3, 0.5, 0.9) if name == "u8" else (0.6,):
            layer = keras.layers.RandomSaturation((factor, factor), value_range=values)
            scale = tf.constant([factor], tf.float32) / (1 - tf.constant([factor], tf.float32) + keras.config.epsilon())
            made = keras_layer(layer, {"factor": scale}, given)
            text = f"adjust_saturation {factor} {suffix}" if factor else f"random_saturation 0 0 {suffix}"
            g.add(f"keras_saturation_{name}_{factor}", text, given, made, library=KERAS)
        for delta in (-0.5, -0.2, 0.11) if name == "u8" else (0.3,):
            layer = keras.layers.RandomHue(1.0, value_range=values)
            made = keras_layer(layer, {"factor": tf.constant([delta], tf.float32)}, given)
            g.add(f"keras_hue_{name}_{delta}", f"adjust_hue {delta} {suffix}", given, made, library=KERAS)
        layer = keras.layers.RandomHue((0.0, 0.0), value_range=values)
        made = keras_layer(layer, {"factor": tf.constant([0.0])}, given)
        g.add(f"keras_random_hue_{name}", f"random_hue 0 {suffix}", given, made, library=KERAS)
        layer = keras.layers.RandomBrightness(0.5, value_range=values)
        for factor in (0.0, -0.35):
            delta = tf.constant(factor, tf.float32) * (values[1] - values[0])
            made = keras_layer(layer, {"rgb_delta": delta}, given)
            text = f"adjust_brightness {factor} {suffix}" if factor else f"random_brightness 0 {suffix}"
            g.add(f"keras_brightness_{name}_{factor}", text, given, made, library=KERAS)
        layer = keras.layers.RandomColorDegeneration(0.5, value_range=values)
        for factor in (-0.6, 0.3, 1.0) if name == "u8" else (0.3,):
            made = keras_layer(layer, {"factor": tf.constant(factor, tf.float32)}, given)
            g.add(f"keras_degeneration_{name}_{factor}", f"random_color_degeneration {factor},{factor} range=0,{high}",
                  given, made, library=KERAS)
    jitter = "color_jitter brightness=0.2,0.2 saturation=0.7,0.7 hue=0,0 flavour=keras"
    layer = keras.layers.RandomColorJitter((0, 255), brightness_factor=(0.2, 0.2), saturation_factor=(0.7, 0.7),
                                           hue_factor=(0.0, 0.0))
    g.add("keras_jitter", jitter, colour, keras_layer(layer, None, colour), library=KERAS)
    # With two equal numbers x the contrast factor is drawn between 1 - x and 1 + x; 0 leaves it at 1.
    layer = keras.layers.RandomColorJitter((0, 255), brightness_factor=(-0.1, -0.1), contrast_factor=(0.0, 0.0),
                                           saturation_factor=(0.4, 0.4))
    g.add("keras_jitter_contrast", "color_jitter brightness=-0.1,-0.1 contrast=0,0 saturation=0.4,0.4 flavour=keras",
          colour, keras_layer(layer, None, colour), max=6e-5, library=KERAS)
    for name, given in (("u8", colour), ("unit", unit)):
        made = keras.layers.GaussianNoise(0.0)(given.astype(f32), training=True)
        made = np.asarray(made).astype(given.dtype)
        g.add(f"keras_no_noise_{name}", "gaussian_noise 0", given, made, library=KERAS)


def pillow_cases():
    image = Image.fromarray(colour)
    for factor in (0, 0.4, 1, 1.9):
        made = np.asarray(ImageEnhance.Color(image).enhance(factor))
        g.add(f"pil_color_{factor}", f"adjust_saturation {factor} flavour=pil", colour, made, library=PILLOW)
        made = np.asarray(ImageEnhance.Brightness(image).enhance(factor))
        g.add(f"pil_brightness_{factor}", f"adjust_brightness {factor} flavour=pil", colour, made, library=PILLOW)
    gray = np.asarray(image.convert("L"))[..., None]
    g.add("pil_gray", "rgb_to_grayscale flavour=pil", colour, gray, library=PILLOW)
    g.add("pil_gray3", "rgb_to_grayscale flavour=pil channels=3", colour, gray.repeat(3, -1), library=PILLOW)
    g.add("pil_random_gray", "random_grayscale 1 flavour=pil", colour, gray.repeat(3, -1), library=PILLOW)


if __name__ == "__main__":
    tf_cases()
    keras_cases()
    pillow_cases()
    g.write()
