# SPDX-License-Identifier: Apache-2.0
"""Sizes and types: what tf.image, Keras, torchvision's rules and NumPy make of small pictures, into sizes.npz.

    python tests/golden/make/sizes.py        with TensorFlow, Keras and NumPy

All cases are equal bit for bit. Borders and crops move values and compute none; the sizes of resize_with_pad and of
the aspect ratios are computed in float32, as TensorFlow computes them; halves are rounded to the nearest even.

`sample_distorted_bounding_box` is certain only where nothing is left to draw. Its distribution is compared with
TensorFlow's own in tests/cli/test_sizes.py; `--draws` prints the numbers that stand there.
"""
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import numpy as np
import tensorflow as tf

from golden import Golden, picture

TF = f"TensorFlow {tf.__version__}"
KERAS = f"Keras {keras.__version__}"
NUMPY = f"NumPy {np.__version__}"


def paint(seed, dtype=np.uint8, height=11, width=8, channels=2):
    if dtype == np.uint16:
        return np.random.RandomState(seed).randint(0, 65536, (height, width, channels)).astype(np.uint16)
    return picture(height, width, channels, seed, dtype)


def with_pad(g):
    """Up and down, wide and tall, and sizes at which the rounding of float32 shows."""
    for i, (h, w) in enumerate([(16, 13), (5, 20), (20, 5), (6, 6), (11, 8), (3, 3)]):
        x = paint(i, np.float32 if i % 3 == 2 else np.uint8)
        g.add(f"with_pad_{h}x{w}", f"resize_with_pad {h} {w}", x, tf.image.resize_with_pad(x, h, w).numpy(), library=TF)
    x = paint(20, height=4, width=8, channels=1)
    for target in (14, 15, 26):  # 8 to 14 becomes 13: 8 / (8 / 14) is less than 14 in float32
        g.add(f"with_pad_short_{target}", f"resize_with_pad {target}", x,
              tf.image.resize_with_pad(x, target, target).numpy(), library=TF)
    for method, antialias in [("nearest", False), ("area", False), ("bicubic", True)]:
        x = paint(30)
        g.add(f"with_pad_{method}", f"resize_with_pad 6 10 method={method} antialias={antialias}".lower(), x,
              tf.image.resize_with_pad(x, 6, 10, method=method, antialias=antialias).numpy(), library=TF)


def crop_or_pad(g):
    for i, (h, w) in enumerate([(15, 4), (5, 15), (20, 19), (4, 5), (12, 8)]):
        x = paint(40 + i, [np.uint8, np.float32, np.uint16][i % 3])
        g.add(f"crop_or_pad_{h}x{w}", f"resize_with_crop_or_pad {h} {w}", x,
              tf.image.resize_with_crop_or_pad(x, h, w).numpy(), library=TF)


def aspect(g):
    """keras.utils.image_dataset_from_directory and keras.layers.Resizing crop alike; only the layer pads in front."""
    for i, (h, w) in enumerate([(6, 6), (15, 5), (5, 15), (12, 9), (3, 21)]):
        x = paint(60 + i)
        smart = keras.preprocessing.image.smart_resize(x.astype("f4"), (h, w))
        g.add(f"aspect_crop_{h}x{w}", f"resize {h} {w} crop_to_aspect_ratio=true", x, smart, library=KERAS)
        assert np.array_equal(smart, keras.ops.image.resize(x.astype("f4"), (h, w), crop_to_aspect_ratio=True))
        padded = keras.ops.image.resize(x.astype("f4"), (h, w), pad_to_aspect_ratio=True, fill_value=11.0)
        g.add(f"aspect_pad_{h}x{w}", f"resize {h} {w} pad_to_aspect_ratio=true fill=11", x, padded, library=KERAS)
    x = paint(69)
    g.add("aspect_layer", "resize 6 6 crop_to_aspect_ratio=true flavour=keras", x,
          keras.layers.Resizing(6, 6, crop_to_aspect_ratio=True)(x), library=KERAS)
    for method in ("bilinear", "nearest", "bicubic"):
        layer = keras.layers.Resizing(7, 13, interpolation=method, antialias=method == "bicubic")
        words = " antialias=true" if method == "bicubic" else ""
        x = paint(70, np.float32 if method == "bilinear" else np.uint8)
        g.add(f"layer_{method}", f"resize 7 13 flavour=keras method={method}{words}", x, layer(x), library=KERAS)


def borders(g):
    modes = {"constant": {"constant_values": 7}, "edge": {}, "reflect": {}, "symmetric": {}}
    types = [np.uint8, np.float32, np.uint16]
    for i, (mode, words) in enumerate(modes.items()):
        for k in range(2):
            x = paint(80 + i, types[(i + k) % 3])
            fill = " fill=7" if mode == "constant" else ""
            g.add(f"pad_{mode}_{k}", f"pad 5 0 3 7 mode={mode}{fill}", x,
                  np.pad(x, [(5, 0), (3, 7), (0, 0)], mode=mode, **words), library=NUMPY)
    x = paint(85, channels=3)
    g.add("pad_box", "pad 4 5 6 7", x, tf.image.pad_to_bounding_box(x, 4, 6, 11 + 9, 8 + 13).numpy(), library=TF)
    g.add("pad_all", "pad 3", x, np.pad(x, [(3, 3), (3, 3), (0, 0)]), library=NUMPY)
    colours = np.zeros((17, 14, 3), np.uint8) + np.array([124, 116, 104], np.uint8)
    colours[3:-3, 3:-3] = x
    g.add("pad_colours", "pad 3 fill=124,116,104", x, colours, library=NUMPY)
    g.add("crop_box", "crop_to_bounding_box 3 2 7 5", x, tf.image.crop_to_bounding_box(x, 3, 2, 7, 5).numpy(),
          library=TF)
    d = paint(86, np.uint16)
    g.add("crop_box_u16", "crop_to_bounding_box 0 7 11 1", d, d[:, 7:], library=NUMPY)
    # As torchvision's RandomCrop with padding: a border first, then a part at a drawn place; here there is but one.
    g.add("crop_padding", "random_crop 19 16 padding=4", x, np.pad(x, [(4, 4), (4, 4), (0, 0)]), library=NUMPY)
    g.add("crop_padding_reflect", "random_crop 19 16 padding=4 mode=reflect", x,
          np.pad(x, [(4, 4), (4, 4), (0, 0)], mode="reflect"), library=NUMPY)
    g.add("crop_padding_fill", "random_crop 19 16 padding=4 fill=9", d,
          np.pad(d, [(4, 4), (4, 4), (0, 0)], constant_values=9), library=NUMPY)


def turns(g):
    types = [np.uint8, np.float32, np.uint8, np.uint16]
    for k in range(-1, 4):
        x = paint(90, types[k % 4], channels=1 + k % 4)
        g.add(f"rot90_{k}", f"rot90 {k}", x, tf.image.rot90(x, k % 4).numpy(), library=TF)
    x = paint(91, channels=3)
    g.add("transpose", "transpose", x, tf.image.transpose(x).numpy(), library=TF)


def distorted(g):
    """Nothing to draw: all of the picture; and the picture as it is after attempts that cannot succeed."""
    x = paint(100, height=12, width=12)
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        x.shape, tf.zeros([1, 0, 4]), area_range=(1, 1), aspect_ratio_range=(1, 1), min_object_covered=0.1,
        use_image_if_no_bounding_boxes=True)
    g.add("distorted_all", "sample_distorted_bounding_box 7 9 area=1 ratio=1", x,
          tf.image.resize(tf.slice(x, begin, size), (7, 9)).numpy(), library=TF)
    x = paint(101)
    g.add("distorted_none", "sample_distorted_bounding_box 5 9 area=1 ratio=3 method=area", x,
          tf.image.resize(x, (5, 9), method="area").numpy(), library=TF)


def types(g):
    """Stored as halves and taken as 16 bits, among the operations that may stand before."""
    def brain(x):
        return tf.cast(np.ascontiguousarray(x), tf.bfloat16).numpy().view("V2")

    x, f = paint(110, channels=3), paint(111, np.float32, channels=3)
    scaled = x.astype("f4") * np.float32(1 / 255)
    g.add("cast_f16", "cast image f16 scale=1/255", x, scaled.astype("f2"), library=NUMPY)
    g.add("cast_bf16", "cast image bf16 scale=1/255", x, brain(scaled), library=TF)
    g.add("cast_f16_nchw", "cast image f16 scale=1/255 layout=nchw", x, scaled.astype("f2").transpose(2, 0, 1),
          library=NUMPY)
    g.add("cast_bf16_nchw", "cast image bf16 layout=nchw", f, brain(f.transpose(2, 0, 1)), library=TF)
    g.add("cast_f16_f32", "cast image f16", f * 3, (f * 3).astype("f2"), library=NUMPY)
    g.add("resize_f16", "resize 7 9 | cast image f16", x, tf.image.resize(x, (7, 9)).numpy().astype("f2"), library=TF)
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    made = x.astype("f4") * (1 / 255 / std).astype("f4") + (-mean / std).astype("f4")
    g.add("normalize_f16", "normalize imagenet dtype=f16", x, made.astype("f2"), library=NUMPY)
    g.add("normalize_bf16", "normalize imagenet dtype=bf16 layout=nchw", x, brain(made.transpose(2, 0, 1)), library=TF)
    g.add("normalize_f32", "normalize imagenet dtype=f32", x, made, library=NUMPY)
    d = paint(112, np.uint16, channels=3)
    share = d.astype("f4") * np.float32(1 / 65535)
    g.add("u16_f32", "cast image f32 scale=1/65535", d, share, library=NUMPY)
    g.add("u16_f32_nchw", "cast image f32 scale=1/65535 layout=nchw", d, share.transpose(2, 0, 1), library=NUMPY)
    g.add("u16_f16", "cast image f16 scale=1/65535", d, share.astype("f2"), library=NUMPY)
    g.add("u16_nchw", "cast image u16 layout=nchw", d, d.transpose(2, 0, 1), library=NUMPY)
    g.add("u16_nearest", "resize 15 4 method=nearest", d, tf.image.resize(d, (15, 4), method="nearest").numpy(),
          library=TF)
    for method in ("bilinear", "bicubic", "area"):
        g.add(f"u16_{method}", f"resize 15 4 method={method}", d, tf.image.resize(d, (15, 4), method=method).numpy(),
              library=TF)
    g.add("u16_same", "resize 11 8", d, tf.image.resize(d, (11, 8)).numpy().astype("f4"), library=TF)
    g.add("u16_flips", "random_flip_left_right p=1 | random_flip_up_down p=1", d, d[::-1, ::-1], library=NUMPY)
    g.add("u16_crop", "center_crop 6 4 | random_flip_up_down p=1 | cast image f32", d, d[2:8, 2:6][::-1].astype("f4"),
          library=NUMPY)


def draws(n=200000):
    """Means and deviations of TensorFlow's own boxes, for tests/cli/test_sizes.py."""
    for height, width, area, ratio in [(48, 64, (0.05, 1), (0.75, 1.33)), (60, 40, (0.3, 0.6), (0.5, 2))]:
        @tf.function
        def one(_):
            begin, size, _ = tf.image.sample_distorted_bounding_box(
                [height, width, 3], tf.zeros([1, 0, 4]), area_range=area, aspect_ratio_range=ratio,
                min_object_covered=0.1, max_attempts=100, use_image_if_no_bounding_boxes=True)
            return tf.concat([begin[:2], size[:2]], 0)
        tf.random.set_seed(1)
        boxes = np.array(list(tf.data.Dataset.range(n).map(one).as_numpy_iterator()))
        print(height, width, area, ratio, "y x height width: mean", boxes.mean(0).round(4).tolist(), "deviation",
              boxes.std(0).round(4).tolist())


if __name__ == "__main__":
    if "--draws" in sys.argv:
        draws()
    else:
        g = Golden("sizes")
        for part in (with_pad, crop_or_pad, aspect, borders, turns, distorted, types):
            part(g)
        g.write()
