# SPDX-License-Identifier: Apache-2.0
"""Warps: tests/golden/warp.npz, from SciPy, Keras' ImageDataGenerator (Keras 3 and keras-preprocessing 1.1.2), the
layers of Keras 3, and TensorFlow's ImageProjectiveTransformV3.

    LEAT=... python warp.py [path of an unpacked keras-preprocessing 1.1.2]

What is random takes the numbers that leat draws (drawn.py), and the library gets them as its transformation.

Bounds, of values from 0 to 255, and what was measured on white noise, the worst there is:
  - SciPy, order 1: it works in double, leat weighs pixels in float, at positions rounded to 2^-24 pixels (sides up to
    256; a bit less for each doubling). 3e-5 up to 256 pixels a side, 5e-5 at 500, 1.2e-4 at 1200. Orders 0 and 3 are
    equal, but for one value of order 3 in some millions, which is the next float.
  - ImageProjectiveTransformV3 is equal bit for bit, and so are zoom, translation and shear, whose matrices need no
    cosine. That of a rotation has TensorFlow's float cosine, which is now and then a unit in the last place off (by how
    many pictures are in the batch, too): 0.0065 in a third of 60 pictures of 96x80, equal in the others. A homography
    is solved in float there and here, with the same operations in the same order: equal.
  - The field of an elastic deformation is a sum in float there and in double here: 4e-4.
  - ImageDataGenerator's brightness of floats beyond 0 to 255 stretches them by a division there and a product here,
    and cuts the fractions off: a level, in rare values.
"""
import os
import sys

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", TF_ENABLE_ONEDNN_OPTS="0")
import keras
import numpy as np
import scipy
import scipy.ndimage
import tensorflow as tf
from drawn import drawn
from golden import Golden, picture
from keras.src.backend.tensorflow import image as keras_image
from keras.src.legacy.preprocessing.image import ImageDataGenerator

g = Golden("warp")
SCIPY, KERAS, TF = f"SciPy {scipy.__version__}", f"Keras {keras.__version__}", f"TensorFlow {tf.__version__}"
colour, gray, wide = picture(11, 8), picture(10, 12, 1, seed=1), picture(6, 9, 4, seed=2)
floats = picture(8, 7, seed=3).astype(np.float32) * np.float32(1.3) - np.float32(20)
FILLS = ("constant", "nearest", "reflect", "wrap")


def centred(matrix, x, y):
    there, back = np.eye(3), np.eye(3)
    there[:2, 2], back[:2, 2] = (x, y), (-x, -y)
    return there @ matrix @ back


def sample(given, m, order, fill, value=0.0):
    """m takes (x, y) of the output to (x, y) of the input."""
    swap = [1, 0]
    parts = [scipy.ndimage.affine_transform(given[..., c].astype(np.float32), m[:2, :2][swap][:, swap], m[:2, 2][swap],
                                            order=order, mode=fill, cval=value) for c in range(given.shape[2])]
    return np.stack(parts, -1)


# ------------------------------------------------------------------------------------------- affine, with SciPy

def affine_matrix(height, width, rotate=0, zoom=1, shear_x=0, shear_y=0, shift_x=0, shift_y=0, flip_x=False):
    c, s = np.cos(np.deg2rad(rotate)), np.sin(np.deg2rad(rotate))
    m = np.diag([-1.0 if flip_x else 1.0, 1.0, 1.0]) @ np.diag([1 / zoom, 1 / zoom, 1])
    m = m @ np.array([[1, -np.tan(np.deg2rad(shear_x)), 0], [0, 1, 0], [0, 0, 1]])
    m = m @ np.array([[1, 0, 0], [-np.tan(np.deg2rad(shear_y)), 1, 0], [0, 0, 1]])
    m = m @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    m = m @ np.array([[1, 0, -shift_x * width], [0, 1, -shift_y * height], [0, 0, 1]])
    return centred(m, (width - 1) / 2, (height - 1) / 2)


def affine_cases():
    for order in (0, 1, 3):
        for fill in FILLS:
            for name, given in (("colour", colour), ("gray", gray), ("wide", wide), ("floats", floats)):
                if name != {0: "colour", 1: "colour", 3: "gray"}[order] and (order == 0 or fill != "constant"):
                    continue
                how = dict(rotate=34, zoom=0.7, shear_x=12, shear_y=-7, shift_x=0.13, shift_y=-0.21)
                if name == "wide":
                    how = dict(rotate=-100, zoom=0.4, flip_x=True)
                words = " ".join(f"{k}=1" if k == "flip_x" else f"{k}={v},{v}" for k, v in how.items())
                value = 40 if name != "floats" else -1.25
                m = affine_matrix(*given.shape[:2], **how)
                made = sample(given, m, order, fill, value)
                made = made.astype(given.dtype if order == 0 else np.float32)
                bound = {0: 0, 1: 1e-4, 3: 4e-5}[order]
                g.add(f"affine_{name}_{order}_{fill}", f"affine {words} order={order} fill={fill} value={value}", given,
                      made, max=bound, library=SCIPY)
    # Whole steps are exact, also at the edge.
    for fill in ("constant", "wrap"):
        made = sample(gray, affine_matrix(10, 12, shift_x=0.25, shift_y=-0.2), 1, fill, 7)
        g.add(f"affine_steps_{fill}", f"affine shift_x=0.25,0.25 shift_y=-0.2,-0.2 fill={fill} value=7",
              gray, made, library=SCIPY)
    one = gray[:1, :1]
    g.add("affine_one_pixel", "affine rotate=30,30 zoom=2,2 fill=nearest", one, one.astype(np.float32), library=SCIPY)
    row = colour[:1]
    m = affine_matrix(1, 8, shift_x=0.1)
    g.add("affine_one_row", "affine shift_x=0.1,0.1 fill=reflect", row, sample(row, m, 1, "reflect"), max=1e-4,
          library=SCIPY)


def perspective_case():
    """SciPy has no perspective: the same positions by map_coordinates."""
    text = "affine perspective=0.6 rotate=10,10 fill=nearest"
    got = dict(drawn(text, colour))
    height, width = colour.shape[:2]
    moved = np.array([[got[f"x{i}"], got[f"y{i}"]] for i in range(1, 5)])
    corner = np.array([[0, 0], [width - 1, 0], [0, height - 1], [width - 1, height - 1]], float)
    rows, right = [], []
    for (x, y), (u, v) in zip(moved, corner):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        right += [u, v]
    h = np.append(np.linalg.solve(np.array(rows), np.array(right)), 1).reshape(3, 3)
    m = affine_matrix(height, width, rotate=10) @ h
    y, x = np.mgrid[0:height, 0:width]
    u, v, w = np.einsum("ij,jyx->iyx", m, np.stack([x, y, np.ones_like(x)]).astype(float))
    made = np.stack([scipy.ndimage.map_coordinates(colour[..., c].astype(np.float32), [v / w, u / w], order=1,
                                                   mode="nearest") for c in range(3)], -1)
    g.add("affine_perspective", text, colour, made, max=1e-4, library=SCIPY)


# ----------------------------------------------------------------------------------------- ImageDataGenerator

def generate(generator, given, got):
    names = dict(theta="theta", tx="tx", ty="ty", shear="shear", zx="zx", zy="zy", channel_shift="channel_shift_intensity",
                 brightness="brightness", flip_horizontal="flip_horizontal", flip_vertical="flip_vertical", flip="flip_horizontal")
    made = generator.apply_transform(given.astype(np.float32), {names[k]: v for k, v in got.items()})
    return generator.standardize(np.array(made, dtype=np.float32))


MOVES = "rotation=40 width_shift=0.2 height_shift=0.3 shear=15 zoom=0.4 horizontal_flip=true vertical_flip=true"


def idg(name, words, given, options, bound, generator=ImageDataGenerator, library=KERAS):
    text = f"image_data_generator {words}"
    made = generate(generator(**options), given, dict(drawn(text, given)))
    g.add(name, text, given, made, max=bound, library=library)


def idg_cases():
    for order, fills in ((0, ("constant",)), (1, FILLS), (3, ("nearest",))):
        for fill in fills:
            given = colour if fill in ("nearest", "reflect") else wide
            idg(f"idg_{order}_{fill}", f"{MOVES} order={order} fill={fill} cval=100", given,
                dict(interpolation_order=order, fill_mode=fill, cval=100), {0: 0, 1: 1e-4, 3: 5e-5}[order])
    idg("idg_floats", MOVES, floats, {}, 1e-4)
    idg("idg_gray", f"{MOVES} rescale=1/255", gray, dict(rescale=1 / 255), 1e-6)
    idg("idg_pixels", "width_shift=7 height_shift=3.5 rotation=20,20", colour, {}, 1e-4)
    idg("idg_list", "width_shift=0.1,0.25 height_shift=-4,2", colour, {}, 1e-4)
    idg("idg_flips", "horizontal_flip=true vertical_flip=false | options seed=7", colour, {}, 0)
    idg("idg_channels", "rotation=10 channel_shift=60", colour, {}, 1e-4)
    idg("idg_brightness", "brightness=1.3,1.3 horizontal_flip=true", colour, {}, 0)
    idg("idg_brightness_floats", "brightness=0.6,0.6", floats, {}, 1.4)
    idg("idg_standard", "zoom=0.8,1.1 rescale=1/128 samplewise_center=true samplewise_std=true", colour,
        dict(rescale=1 / 128, samplewise_center=True, samplewise_std_normalization=True), 1e-5)
    mean, std = np.array([120.5, 113.25, 99.75], np.float32), np.array([60, 61.5, 70], np.float32)
    text = "image_data_generator shear=20 mean=120.5,113.25,99.75 std=60,61.5,70"
    generator = ImageDataGenerator(featurewise_center=True, featurewise_std_normalization=True)
    generator.mean, generator.std = mean, std
    g.add("idg_features", text, colour, generate(generator, colour, dict(drawn(text, colour))), max=1e-5, library=KERAS)


def idg_fixed(name, words, given):
    text = f"image_data_generator {words} flavour=fixed"
    got = dict(drawn(text, given))
    t, s = np.deg2rad(got["theta"]), np.deg2rad(got["shear"])
    m = np.array([[np.cos(t), -np.sin(t), 0], [np.sin(t), np.cos(t), 0], [0, 0, 1]])
    m = m @ np.array([[1, 0, got["ty"]], [0, 1, got["tx"]], [0, 0, 1]])
    m = m @ np.array([[1, -np.sin(s), 0], [0, np.cos(s), 0], [0, 0, 1]]) @ np.diag([got["zx"], got["zy"], 1])
    made = sample(given, centred(m, (given.shape[1] - 1) / 2, (given.shape[0] - 1) / 2), 1, "nearest")
    made = made[:, ::-1] if got.get("flip_horizontal") else made
    made = made[::-1] if got.get("flip_vertical") else made
    g.add(name, text, given, made, max=1e-4, library=SCIPY)


def idg_old(path):
    sys.path.insert(0, path)
    from keras_preprocessing.image import ImageDataGenerator as Old  # noqa: PLC0415

    scipy.ndimage.interpolation = scipy.ndimage
    for fill in ("nearest", "constant"):
        idg(f"idg_keras28_{fill}", f"{MOVES} fill={fill} flavour=keras28", colour, dict(fill_mode=fill), 1e-4, Old,
            "keras-preprocessing 1.1.2")


# ------------------------------------------------------------------------------------------ layers of Keras 3

def f32(x):
    return tf.constant([x], tf.float32)


def layer_cases():
    for fill in FILLS:
        for mode in ("bilinear", "nearest"):
            given = {"constant": colour, "nearest": gray, "reflect": floats, "wrap": wide}[fill]
            how = f"fill={fill} interpolation={mode} value=50"
            options = dict(fill_mode=fill, interpolation=mode, fill_value=50.0)
            kind = given.dtype if mode == "nearest" else np.float32

            def add(name, words, layer, transformation, bound=0):
                if mode == "nearest" and name != "rotation":
                    return
                made = layer.transform_images(given[None].astype(np.float32), transformation, training=True)
                g.add(f"{name}_{mode}_{fill}", f"{words} {how}", given, np.array(made)[0].astype(kind), max=bound,
                      library=KERAS)

            height, width = given.shape[:2]
            layer = keras.layers.RandomRotation(0.5, **options)
            zero, one = tf.zeros([1]), tf.ones([1])
            angle = f32(np.float32(0.21 * 360))
            matrix = layer._compute_affine_matrix(0.5, 0.5, angle, zero, zero, one, zero, zero, height, width)
            add("rotation", "random_rotation 0.21,0.21", layer, {"rotation_matrix": matrix}, 0.01 * (mode == "bilinear"))
            layer = keras.layers.RandomZoom(0.5, 0.5, **options)
            add("zoom", "random_zoom 0.43,0.43 -0.3,-0.3", layer,
                {"height_zoom": f32(1.43)[:, None], "width_zoom": f32(0.7)[:, None]})
            layer = keras.layers.RandomTranslation(0.5, 0.5, **options)
            shift = tf.stack([f32(-0.37) * width, f32(0.13) * height], 1)
            add("translation", "random_translation 0.13,0.13 -0.37,-0.37", layer, {"translations": shift})
            layer = keras.layers.RandomShear(0.5, 0.5, **options)
            got = dict(drawn(f"random_shear 0.3,0.3 0.2,0.2 {how}", given))
            add("shear", "random_shear 0.3,0.3 0.2,0.2", layer, {"shear_factor": tf.constant([[got["x"], got["y"]]], tf.float32)})
    text = "random_zoom 0.3,0.3"
    layer = keras.layers.RandomZoom(0.3)
    made = layer.transform_images(colour[None], {"height_zoom": f32(1.3)[:, None], "width_zoom": f32(1.3)[:, None]})
    g.add("zoom_alike", text, colour, np.array(made)[0], library=KERAS)
    for mode in ("horizontal_and_vertical", "horizontal", "vertical"):
        text = f"random_flip {mode}"
        layer = keras.layers.RandomFlip(mode)
        flips = np.full((1, 1, 1, 1), bool(dict(drawn(text, colour))["flip"]))
        made = layer.transform_images(colour[None], {"flips": flips}, training=True)
        g.add(f"flip_{mode}", text, colour, np.array(made)[0].astype(np.uint8), library=KERAS)


def perspective_cases():
    for mode in ("bilinear", "nearest"):
        for value in (0, 90) if mode == "bilinear" else (90,):
            text = f"random_perspective 1,1 0.6 interpolation={mode} value={value}"
            got = dict(drawn(text, colour))
            height, width = colour.shape[:2]
            start = np.array([[[0, 0], [width - 1, 0], [0, height - 1], [width - 1, height - 1]]], np.float32)
            end = np.array([[[got[f"x{i}"], got[f"y{i}"]] for i in range(1, 5)]], np.float32)
            layer = keras.layers.RandomPerspective(1.0, 0.6, interpolation=mode, fill_value=float(value))
            made = layer.transform_images(colour[None].astype(np.float32), {
                "apply_perspective": tf.constant([True]), "start_points": tf.constant(start),
                "end_points": tf.constant(end), "input_shape": (1, *colour.shape)}, training=True)
            made = np.array(made)[0].astype(np.uint8 if mode == "nearest" else np.float32)
            g.add(f"perspective_{mode}_{value}", text, colour, made, library=KERAS)


# leat's generator, for the noise of an elastic deformation: base/rng.h.
MASK = (1 << 64) - 1


def mix64(x):
    for _ in range(2):
        x = ((x ^ x >> 32) * 0xD6E8FEB86659FD93) & MASK
    return x ^ x >> 32


def philox(counter, key):
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    c = list(counter)
    for _ in range(10):
        p0, p1 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [p1 >> 32 ^ c[1] ^ k0, p1 & 0xFFFFFFFF, p0 >> 32 ^ c[3] ^ k1, p0 & 0xFFFFFFFF]
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return c


def noise(n, operation, draw, seed=0, epoch=0, position=0):
    key = mix64(mix64((seed + 0x9E3779B97F4A7C15) & MASK) ^ (epoch * 0xA0761D6478BD642F + 1) & MASK)
    made = []
    for i in range(0, n, 2):
        c = philox([position & 0xFFFFFFFF, position >> 32, operation, draw + i // 2], key)
        u, turn = ((c[0] | c[1] << 32) + 0.5) * 2.0**-64, (c[2] | c[3] << 32) * 2.0**-64
        far = np.sqrt(-2 * np.log(u))
        made += [far * np.cos(2 * np.pi * turn), far * np.sin(2 * np.pi * turn)]
    return np.array(made[:n], np.float32)


def elastic_cases():
    for fill in FILLS:
        for mode in ("bilinear", "nearest") if fill == "reflect" else ("bilinear",):
            given = {"constant": colour, "nearest": gray, "reflect": colour, "wrap": wide}[fill]
            text = f"random_elastic_transform 1,1 0.8,0.8 fill={fill} interpolation={mode} value=30"
            height, width = given.shape[:2]
            field = noise(height * width, 5, 3).reshape(1, height, width)
            tf.random.stateless_normal = lambda shape, **_: tf.constant(field)
            layer = keras.layers.RandomElasticTransform(1.0, 0.8, interpolation=mode, fill_mode=fill, fill_value=30.0)
            made = layer.transform_images(given[None].astype(np.float32), {
                "apply_transform": tf.constant([True]), "distortion_factor": tf.constant(0.8), "seed": 1}, training=True)
            made = np.array(made)[0].astype(given.dtype if mode == "nearest" else np.float32)
            g.add(f"elastic_{mode}_{fill}", text, given, made, max=1e-3 * (mode == "bilinear"), library=KERAS)


affine_cases()
perspective_case()
idg_cases()
idg_fixed("idg_fixed", MOVES, colour)
idg_fixed("idg_fixed_wide", MOVES, wide)
if len(sys.argv) > 1:
    idg_old(sys.argv[1])
layer_cases()
perspective_cases()
elastic_cases()
g.write()
