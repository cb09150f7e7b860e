# SPDX-License-Identifier: Apache-2.0
"""What happens to a name of TensorFlow or Keras inside of a function that map or filter is given.

engine      an operation of leat
once        TensorFlow computes it once for each row, when the data set is first opened: values that depend on paths and labels only
TensorFlow  the function is TensorFlow's own map
"""
from __future__ import annotations

from .marks import IMAGE, LAYERS

ENGINE, ONCE, OTHERS = "engine", "once", "TensorFlow"

_IMAGE = {f"tf.image.{name}": ENGINE for name in IMAGE} | {
    "tf.image.sample_distorted_bounding_box": ENGINE, "tf.image.grayscale_to_rgb": ENGINE, "tf.image.stateless_random_brightness": ENGINE,
    "tf.image.stateless_random_flip_left_right": ENGINE, "tf.image.sobel_edges": OTHERS,
    "tf.image.draw_bounding_boxes": OTHERS, "tf.image.rgb_to_hsv": OTHERS}
_IO = {"tf.io.read_file": ENGINE, "tf.io.decode_jpeg": ENGINE, "tf.io.decode_png": ENGINE, "tf.io.decode_image": ENGINE,
       "tf.io.decode_bmp": ENGINE, "tf.image.decode_jpeg": ENGINE, "tf.image.decode_png": ENGINE,
       "tf.image.decode_image": ENGINE, "tf.io.decode_gif": OTHERS, "tf.io.decode_and_crop_jpeg": ENGINE, "tf.io.decode_raw": ENGINE,
       "tf.io.parse_single_example": ENGINE, "tf.io.parse_example": ENGINE, "tf.sparse.to_dense": ENGINE}
_ARRAYS = {"tf.cast": ENGINE, "tf.reshape": ENGINE, "tf.expand_dims": ENGINE, "tf.squeeze": ENGINE, "tf.one_hot": ENGINE,
           "tf.reverse": ENGINE, "tf.transpose": ENGINE, "tf.pad": ENGINE, "tf.divide": ENGINE, "tf.multiply": ENGINE,
           "tf.add": ENGINE, "tf.subtract": ENGINE, "tf.ensure_shape": ENGINE, "tf.cond": ENGINE, "tf.where": ENGINE,
           "tf.random.uniform": ENGINE, "tf.random.normal": ENGINE, "tf.random.truncated_normal": OTHERS}
_ARITHMETIC = dict.fromkeys(("tf.clip_by_value", "tf.minimum", "tf.maximum", "tf.reduce_mean", "tf.reduce_sum", "tf.reduce_max",
                             "tf.reduce_min", "tf.concat", "tf.stack", "tf.tile", "tf.round", "tf.sqrt", "tf.square", "tf.abs",
                             "tf.pow", "tf.greater", "tf.zeros_like", "keras.ops.clip", "keras.ops.flip",
                             "keras.applications.vgg16.preprocess_input", "keras.applications.densenet.preprocess_input",
                             "keras.applications.mobilenet_v2.preprocess_input"), ENGINE)
_ONCE = dict.fromkeys(("tf.strings.split", "tf.strings.regex_replace", "tf.strings.regex_full_match", "tf.strings.to_number",
                       "tf.strings.join", "tf.strings.substr", "tf.strings.length", "tf.equal", "tf.gather", "tf.argmax",
                       "tf.lookup.StaticHashTable", "tf.math.mod"), ONCE)
_OTHERS = dict.fromkeys(("tf.py_function", "tf.numpy_function", "tf.print", "tf.while_loop", "tf.debugging.assert_equal",
                         "tf.Variable"), OTHERS)
_LAYERS = {f"keras.layers.{name}": ENGINE for name in LAYERS} | {
    "keras.layers.RandomShear": OTHERS, "keras.layers.Dense": OTHERS}

ROWS: dict[str, str] = {**_IO, **_IMAGE, **_ARRAYS, **_ARITHMETIC, **_ONCE, **_LAYERS, **_OTHERS}
