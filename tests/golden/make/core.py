#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/core.npz: crops, flips, brightness, normalize and cast, by TensorFlow, Keras and Pillow < 13."""
import sys

import numpy as np
import PIL
from PIL import Image

from golden import Golden, picture


def main():
    if int(PIL.__version__.split(".")[0]) >= 13:
        sys.exit("core.py: take a Pillow below 13, see pil_resize.py")
    import keras
    import tensorflow as tf

    g = Golden("core")
    tensorflow, pillow = f"TensorFlow {tf.__version__}", f"Pillow {PIL.__version__}"
    for dtype in (np.uint8, np.float32):
        name, p = np.dtype(dtype).name, picture(dtype=dtype)
        g.add(f"left_right_{name}", "random_flip_left_right p=1", p, tf.image.flip_left_right(p), library=tensorflow)
        g.add(f"up_down_{name}", "random_flip_up_down 1", p, tf.image.flip_up_down(p), library=tensorflow)
        for fraction in (0.3, 0.5, 0.81):
            g.add(f"central_{fraction}_{name}", f"central_crop {fraction}", p, tf.image.central_crop(p, fraction),
                  library=tensorflow)
        g.add(f"brightness_0_{name}", "random_brightness 0", p, tf.image.adjust_brightness(p, 0.0), library=tensorflow)
        centre = keras.layers.CenterCrop(10, 6, dtype=name)(p)
        g.add(f"center_{name}", "center_crop 10 6", p, np.asarray(centre), library=f"Keras {keras.__version__}")
        g.add(f"whole_{name}", "random_crop 23 17", p, tf.image.random_crop(p, p.shape), library=tensorflow)
    p = picture()
    # The arithmetic of leat's normalize is x * (scale/std) + (-mean/std); others subtract first.
    mean, std = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
    expected = (p.astype(np.float32) / 255 - mean) / std
    g.add("imagenet", "normalize imagenet", p, expected, max=1e-6, library=f"NumPy {np.__version__}")
    g.add("imagenet_nchw", "normalize imagenet layout=nchw", p, expected.transpose(2, 0, 1), max=1e-6,
          library=f"NumPy {np.__version__}")
    g.add("cast", "cast image f32", p, tf.cast(p, tf.float32), library=tensorflow)
    g.add("cast_back", "cast image f32 scale=3 offset=-100.5 | cast image u8", p,
          np.clip(p.astype(np.float32) * 3 - 100.5, 0, 255).astype(np.uint8), library="NumPy")
    square = picture(20, 20, 3, 5)
    made = np.asarray(Image.fromarray(square).resize((13, 9), Image.BILINEAR))
    g.add("resized_crop", "random_resized_crop 9 13 scale=1,1 ratio=1,1", square, made, library=pillow)
    g.write()


main()
