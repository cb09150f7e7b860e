# SPDX-License-Identifier: Apache-2.0
"""Tone and standardising: tests/golden/tone.npz and standard.npz, from TensorFlow, Keras and Pillow.

Everything on u8 is equal bit for bit. With flavour=tf the mean behind a u8 contrast is exact in leat and a float32 sum
in TensorFlow, which showed in 1 of 765,000 values; none of them is in these pictures. Results in f32 differ where the
libraries sum in float32 (leat sums in double), and where they divide by a number while leat multiplies with its
inverse: each costs a unit or two in the last place of the largest value. The bounds are about twice what was measured.
"""
import os

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", TF_ENABLE_ONEDNN_OPTS="0")
import keras
import numpy as np
import PIL
import tensorflow as tf
from golden import Golden, picture
from keras.src.legacy.preprocessing.image import ImageDataGenerator, apply_channel_shift
from PIL import Image, ImageEnhance, ImageOps

tone, standard = Golden("tone"), Golden("standard")
TF, KERAS, PILLOW = f"TensorFlow {tf.__version__}", f"Keras {keras.__version__}", f"Pillow {PIL.__version__}"
colour, gray, alpha = picture(15, 11), picture(23, 17, 1, seed=1), picture(13, 7, 4, seed=2)
large = picture(29, 27, seed=3)
dull = (picture(15, 11, seed=4) // 3 + np.array([40, 90, 7])).astype(np.uint8)
flat = dull.copy()
flat[..., 1] = 77  # a channel without contrast
unit, wide = colour.astype(np.float32) / np.float32(255), colour.astype(np.float32)


def pillow(array):
    return Image.fromarray(array[..., 0] if array.shape[2] == 1 else array)


def pixels(image):
    array = np.array(image)
    return array if array.ndim == 3 else array[..., None]


def tf_cases():
    for name, given in (("colour", colour), ("gray", gray), ("alpha", alpha)):
        for factor in (0.4, 1.7):
            expected = tf.image.adjust_contrast(given, factor).numpy()
            tone.add(f"tf_contrast_{name}_{factor}", f"adjust_contrast {factor}", given, expected, library=TF)
    for name, given, factor, bound in (("unit", unit, 1.6, 2.5e-7), ("wide", wide, 0.3, 3.1e-5)):
        expected = tf.image.adjust_contrast(given, factor).numpy()
        tone.add(f"tf_contrast_{name}", f"adjust_contrast {factor}", given, expected, max=bound, library=TF)
    expected = tf.image.adjust_contrast(colour, 1.3).numpy()
    tone.add("tf_random_contrast", "random_contrast 1.3 1.3", colour, expected, library=TF)
    for name, given in (("u8", colour), ("f32", unit), ("alpha", alpha), ("flat", np.full((9, 7, 3), 5, np.uint8))):
        expected = tf.image.per_image_standardization(given).numpy()
        standard.add(f"tf_standardization_{name}", "per_image_standardization", given, expected, max=5e-7, library=TF)


def keras_layer(layer, given, **transformation):
    values = {key: np.asarray(value) for key, value in transformation.items()}
    return np.array(layer.transform_images(given[None].astype(np.float32), values, training=True))[0]


def keras_cases():
    layers = keras.layers
    for factor in (0.5, 1.9):
        expected = keras_layer(layers.RandomContrast(0.5), colour, contrast_factor=np.float32(factor))
        text = f"adjust_contrast {factor} flavour=keras"
        tone.add(f"keras_contrast_{factor}", text, colour, expected, max=6.2e-5, library=KERAS)
    expected = keras_layer(layers.RandomContrast(0.5, value_range=(0, 1)), unit, contrast_factor=np.float32(1.9))
    text = "adjust_contrast 1.9 flavour=keras range=0,1"
    tone.add("keras_contrast_unit", text, unit, expected, max=2.5e-7, library=KERAS)
    expected = keras_layer(layers.RandomContrast(0.5), wide, contrast_factor=np.float32(1))
    tone.add("keras_random_contrast", "random_contrast 0 0 flavour=keras", wide, expected, max=6.2e-5, library=KERAS)
    expected = keras_layer(layers.RandomInvert(1.0), wide, apply_inversion=[True])
    tone.add("keras_invert", "random_invert 1 max=255", wide, expected, library=KERAS)
    expected = keras_layer(layers.RandomPosterization([3, 3]), colour, shift_factor=np.array([5], np.uint8))
    tone.add("keras_posterize", "random_posterize 3 p=1", colour, expected.astype(np.uint8), library=KERAS)
    expected = keras_layer(layers.Solarization(), colour, additions=np.float32(30), thresholds=np.float32(100.5))
    text = "random_solarize 100.5 p=1 addition=30"
    tone.add("keras_solarize", text, colour, expected.astype(np.uint8), library=KERAS)
    for name, given in (("u8", dull), ("flat", flat), ("f32", dull.astype(np.float32) * np.float32(0.7))):
        expected = keras_layer(layers.AutoContrast(), given)
        tone.add(f"keras_autocontrast_{name}", "autocontrast flavour=keras", given, expected, library=KERAS)
    small = dull.astype(np.float32) / np.float32(255)
    expected = keras_layer(layers.AutoContrast(value_range=(0, 1)), small)
    text = "autocontrast flavour=keras range=0,1"
    tone.add("keras_autocontrast_unit", text, small, expected, max=1.2e-7, library=KERAS)
    for name, given in (("colour", large), ("flat", flat), ("gray", gray)):
        expected = keras_layer(layers.Equalization(), given)
        tone.add(f"keras_equalize_{name}", "equalize flavour=keras", given, expected.astype(np.uint8), library=KERAS)
    expected = np.array(layers.Rescaling(1 / 127.5, -1.0)(colour))
    standard.add("keras_rescale", "rescale 1/127.5 -1", colour, expected, library=KERAS)
    expected = np.array(layers.Rescaling(1 / 255)(alpha))
    standard.add("keras_rescale_unit", "rescale 1/255", alpha, expected, library=KERAS)


def generator_cases():
    for shift in (21.25, -40):
        expected = apply_channel_shift(dull.astype(np.float32), shift, channel_axis=2)
        standard.add(f"idg_shift_{shift}", f"channel_shift {shift},{shift}", dull, expected, library=KERAS)
    expected = apply_channel_shift(unit, 0.2, channel_axis=2)
    standard.add("idg_shift_unit", "channel_shift 0.2,0.2", unit, expected, library=KERAS)

    center, both = ImageDataGenerator(samplewise_center=True), ImageDataGenerator(samplewise_std_normalization=True)
    standard.add("idg_center", "samplewise std=false", wide, center.standardize(wide.copy()), max=1.6e-5, library=KERAS)
    standard.add("idg_samplewise", "samplewise", colour, both.standardize(wide.copy()), max=5e-7, library=KERAS)
    standard.add("idg_samplewise_unit", "samplewise", unit, both.standardize(unit.copy()), max=5e-7, library=KERAS)

    known = ImageDataGenerator(featurewise_center=True, featurewise_std_normalization=True)
    known.mean, known.std = (np.array(x, np.float32) for x in ([[[120.7, 113.9, 103.1]]], [[[70.5, 65.25, 68.0]]]))
    text = "featurewise mean=120.7,113.9,103.1 std=70.5,65.25,68"
    standard.add("idg_featurewise", text, colour, known.standardize(wide.copy()), max=5e-7, library=KERAS)
    known = ImageDataGenerator(featurewise_center=True)
    known.mean = np.float32(99.5)
    expected = known.standardize(wide.copy())
    standard.add("idg_featurewise_center", "featurewise mean=99.5", colour, expected, library=KERAS)

    train = np.stack([picture(5, 4, 3, seed) for seed in range(40)]).astype(np.float32) / np.float32(255)
    zca = ImageDataGenerator(zca_whitening=True, zca_epsilon=1e-2)
    zca.fit(train)
    np.save(standard.path.parent / "zca_matrix.npy", zca.zca_whitening_matrix.astype(np.float32))
    mean = ",".join(repr(float(x)) for x in zca.mean.ravel())
    text = f"featurewise mean={mean} | zca file='GOLDEN/zca_matrix.npy'"
    expected = zca.standardize(train[3].copy()).astype(np.float32)  # Keras has a matrix of doubles
    standard.add("idg_zca", text, train[3], expected, max=3e-5, library=KERAS)
    part, tiny = zca.zca_whitening_matrix[:12, :12], picture(2, 2, 3, 9)
    np.save(standard.path.parent / "zca_matrix64.npy", np.asfortranarray(part.astype(np.float64)))
    expected = (tiny.reshape(1, -1).astype(np.float32) @ part.astype(np.float32)).reshape(2, 2, 3)
    text = "zca file='GOLDEN/zca_matrix64.npy'"
    standard.add("zca_fortran", text, tiny, expected, max=4e-3, library=f"NumPy {np.__version__}")


def pillow_cases():
    for name, given in (("colour", colour), ("gray", gray), ("alpha", alpha)):
        for factor in (0.3, 1.8):
            expected = pixels(ImageEnhance.Contrast(pillow(given)).enhance(factor))
            text = f"random_contrast {factor} {factor} flavour=pil"
            tone.add(f"pil_contrast_{name}_{factor}", text, given, expected, library=PILLOW)
    simple = {
        "invert": ("invert", lambda x: ImageOps.invert(x)),
        "posterize": ("posterize 4", lambda x: ImageOps.posterize(x, 4)),
        "solarize": ("solarize", lambda x: ImageOps.solarize(x)),
        "solarize_all": ("solarize 0", lambda x: ImageOps.solarize(x, 0)),
        "autocontrast": ("autocontrast", lambda x: ImageOps.autocontrast(x)),
        "random_autocontrast": ("random_autocontrast 1", lambda x: ImageOps.autocontrast(x)),
        "equalize": ("equalize", lambda x: ImageOps.equalize(x)),
        "random_equalize": ("random_equalize 1", lambda x: ImageOps.equalize(x)),
    }
    for name, (text, apply) in simple.items():
        for kind, given in (("colour", large if "equalize" in name else dull), ("gray", gray), ("flat", flat)):
            tone.add(f"pil_{name}_{kind}", text, given, pixels(apply(pillow(given))), library=PILLOW)


tf_cases()
keras_cases()
generator_cases()
pillow_cases()
tone.write()
standard.write()
