# SPDX-License-Identifier: Apache-2.0
"""tf.image: each function as the operation of the engine that has its meaning."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._base.arrays import optional
from .._tfdata.chain import Refused
from .graph import Ref
from .lower import Lowering, cast, marked, node
from .marks import Mark
from .nodes import jpeg_arguments
from .values import Draw, Flow, Step, Value

METHODS = {"bilinear": "bilinear", "nearest": "nearest", "bicubic": "bicubic", "area": "area", "lanczos3": "lanczos3",
           "lanczos5": "lanczos5", "gaussian": "gaussian", "mitchellcubic": "mitchellcubic"}
ANY = ("uint8", "uint16", "float32")


def _image(low: Lowering, ref: Ref, mark: Mark, types: tuple[str, ...] = ("uint8", "float32")) -> Flow:
    name = next(name for name in ("image", "images", "value") if name in mark.given)
    value = low.argument(ref, mark, name)
    if not isinstance(value, Flow):
        raise Refused(f"{mark.name} of a constant")
    return low.picture(value, mark.name, types)


def _seed(low: Lowering, ref: Ref, mark: Mark) -> int | None:
    seed = low.plain(ref, mark, "seed")
    return None if seed is None else int(seed)


def _once_for_a_batch(low: Lowering, mark: Mark) -> None:
    if low.batched:
        raise Refused(f"{mark.name} behind batch() draws once for a batch")


def _channels(flow: Flow) -> int | None:
    return flow.shape[2] if flow.shape else None


# ------------------------------------------------------------------------------------------------ sizes


def _method(low: Lowering, ref: Ref, mark: Mark) -> str:
    method = low.plain(ref, mark, "method")
    if method not in METHODS:
        raise Refused(f"{mark.name} with method {method!r}")
    return METHODS[method]


@marked("tf.image.resize")
def resize(low: Lowering, ref: Ref, mark: Mark) -> Value:
    flow = _image(low, ref, mark)
    size = low.plain(ref, mark, "size")
    if not isinstance(size, list) or len(size) != 2:
        raise Refused("tf.image.resize to a size that differs from sample to sample")
    height, width = int(size[0]), int(size[1])
    if low.plain(ref, mark, "preserve_aspect_ratio"):
        height, width = _fitting(flow, height, width)
    method = _method(low, ref, mark)
    words: dict[str, Any] = {"method": method} if method != "bilinear" else {}
    if low.plain(ref, mark, "antialias") and method not in ("nearest", "area"):
        words["antialias"] = True
    dtype = flow.dtype if method == "nearest" else "float32"
    if flow.steps and flow.steps[-1].name == "distorted":
        drawn = flow.steps[-1]
        before = replace(flow, steps=flow.steps[:-1])
        return before.then("sample_distorted_bounding_box", height, width, dtype=dtype, shape=(height, width, _channels(flow)),
                           random=True, seed=drawn.seed, **drawn.kwargs, **words)
    return flow.then("resize", height, width, dtype=dtype, shape=(height, width, _channels(flow)), **words)


def _fitting(flow: Flow, height: int, width: int) -> tuple[int, int]:
    """The size with the picture's aspect ratio that TensorFlow takes: float32, rounded to even."""
    if flow.shape is None or flow.shape[0] is None or flow.shape[1] is None:
        raise Refused("tf.image.resize with preserve_aspect_ratio of pictures of different sizes")
    numpy: Any = optional("numpy")
    one = numpy.float32
    scale = min(one(height) / one(flow.shape[0]), one(width) / one(flow.shape[1]))
    return int(numpy.round(scale * one(flow.shape[0]))), int(numpy.round(scale * one(flow.shape[1])))


@node("Slice")
def distorted(low: Lowering, ref: Ref) -> Value:
    """A part that sample_distorted_bounding_box has drawn: the engine cuts it out and resizes it in one step."""
    flow = low.picture(low.input(ref, 0), "tf.slice", ("uint8",))
    begin, size = (low.trace.follow(ref.input(i)) for i in (1, 2))
    box = begin.op
    if low.batched or box.type != "SampleDistortedBoundingBoxV2" or size.op is not box or not flow.steps:
        raise Refused("tf.slice")
    shape = low.trace.follow(begin.input(0))
    if shape.op.type != "Shape" or low.value(shape.input(0)) != flow:
        raise Refused("a part that is drawn for another picture")
    return _distorted(low, flow, begin)


def _distorted(low: Lowering, flow: Flow, begin: Ref) -> Flow:
    boxes = low.known(low.input(begin, 1), "bounding boxes")
    if boxes.size and (boxes.size != 4 or boxes.reshape(-1).tolist() != [0, 0, 1, 1]):
        raise Refused("tf.image.sample_distorted_bounding_box with boxes of objects")
    covered = float(low.known(low.input(begin, 2), "min_object_covered"))
    return flow.then("distorted", shape=(None, None, _channels(flow)), random=True, covered=covered,
                     area=tuple(begin.attr("area_range")), ratio=tuple(begin.attr("aspect_ratio_range")),
                     attempts=begin.attr("max_attempts"))


@node("DecodeAndCropJpeg")
def decode_and_crop_jpeg(low: Lowering, ref: Ref) -> Value:
    what = "tf.io.decode_and_crop_jpeg"
    flow = low.flow(low.input(ref, 0), what)
    channels = ref.attr("channels")
    if flow.shape != () or flow.dtype != "string" or flow.steps:
        raise Refused(f"{what} of bytes that the function has changed")
    jpeg_arguments(low, ref, what)
    whole = flow.then("decode", channels=channels, dtype="uint8", shape=(None, None, channels or None))
    window = low.trace.follow(ref.input(1))
    drawn = _window(low, window)
    if drawn is not None:
        shape = low.trace.follow(drawn.input(0))
        if shape.op.type != "ExtractJpegShape" or low.value(shape.input(0)) != flow:
            raise Refused("a part that is drawn for another picture")
        return _distorted(low, whole, drawn)
    y, x, height, width = low.known(low.value(window), "the window of tf.io.decode_and_crop_jpeg").tolist()
    return whole.then("crop_to_bounding_box", y, x, height, width, shape=(height, width, channels or None))


def _window(low: Lowering, window: Ref) -> Ref | None:
    """The node that has drawn the four numbers of a window, None if they are not drawn."""
    if window.op.type != "Pack" or len(window.op.inputs) != 4:
        return None
    found = set()
    for i, (output, place) in enumerate(((0, 0), (0, 1), (1, 0), (1, 1))):
        number = low.trace.follow(window.input(i))
        if number.op.type != "Unpack" or number.tensor.value_index != place:
            return None
        box = low.trace.follow(number.input(0))
        if box.op.type != "SampleDistortedBoundingBoxV2" or box.tensor.value_index != output:
            return None
        found.add(id(box.op))
    return box if len(found) == 1 else None


@marked("tf.image.resize_with_pad")
def resize_with_pad(low: Lowering, ref: Ref, mark: Mark) -> Value:
    flow = _image(low, ref, mark)
    height, width = (int(low.plain(ref, mark, name)) for name in ("target_height", "target_width"))
    method = _method(low, ref, mark)
    words: dict[str, Any] = {"method": method} if method != "bilinear" else {}
    if low.plain(ref, mark, "antialias"):
        words["antialias"] = True
    dtype = flow.dtype if method == "nearest" else "float32"
    return flow.then("resize_with_pad", height, width, dtype=dtype, shape=(height, width, _channels(flow)), **words)


@marked("tf.image.resize_with_crop_or_pad")
def resize_with_crop_or_pad(low: Lowering, ref: Ref, mark: Mark) -> Value:
    flow = _image(low, ref, mark)
    height, width = (int(low.plain(ref, mark, name)) for name in ("target_height", "target_width"))
    return flow.then("resize_with_crop_or_pad", height, width, shape=(height, width, _channels(flow)))


@marked("tf.image.central_crop")
def central_crop(low: Lowering, ref: Ref, mark: Mark) -> Value:
    flow = _image(low, ref, mark)
    fraction = float(low.plain(ref, mark, "central_fraction"))
    return flow.then("central_crop", fraction, shape=low.sample_shape(ref.tensor) or (None, None, _channels(flow)))


@marked("tf.image.crop_to_bounding_box")
def crop_to_bounding_box(low: Lowering, ref: Ref, mark: Mark) -> Value:
    flow = _image(low, ref, mark)
    y, x, height, width = (int(low.plain(ref, mark, name))
                           for name in ("offset_height", "offset_width", "target_height", "target_width"))
    return flow.then("crop_to_bounding_box", y, x, height, width, shape=(height, width, _channels(flow)))


@marked("tf.image.pad_to_bounding_box")
def pad_to_bounding_box(low: Lowering, ref: Ref, mark: Mark) -> Value:
    flow = _image(low, ref, mark)
    y, x, height, width = (int(low.plain(ref, mark, name))
                           for name in ("offset_height", "offset_width", "target_height", "target_width"))
    if flow.shape is None or flow.shape[0] is None or flow.shape[1] is None:
        raise Refused("tf.image.pad_to_bounding_box of pictures of different sizes")
    return flow.then("pad", y, height - y - flow.shape[0], x, width - x - flow.shape[1], shape=(height, width, _channels(flow)))


@marked("tf.image.random_crop")
def random_crop(low: Lowering, ref: Ref, mark: Mark) -> Value:
    _once_for_a_batch(low, mark)
    flow = _image(low, ref, mark)
    size = low.plain(ref, mark, "size")
    if not isinstance(size, list) or len(size) != 3 or _channels(flow) not in (size[2], None):
        raise Refused("tf.image.random_crop of channels")
    return flow.then("random_crop", int(size[0]), int(size[1]), shape=(int(size[0]), int(size[1]), _channels(flow)),
                     random=True, seed=_seed(low, ref, mark))


# ------------------------------------------------------------------------------------------- flips, turns

FLIPS = {"flip_left_right": "random_flip_left_right", "flip_up_down": "random_flip_up_down"}


@marked(*(f"tf.image.{name}" for name in FLIPS))
def flip(low: Lowering, ref: Ref, mark: Mark) -> Value:
    return _image(low, ref, mark).then(FLIPS[mark.name.removeprefix("tf.image.")], p=1)


@marked("tf.image.random_flip_left_right", "tf.image.random_flip_up_down")
def random_flip(low: Lowering, ref: Ref, mark: Mark) -> Value:
    name = mark.name.removeprefix("tf.image.")
    return _image(low, ref, mark).then(name, random=True, seed=_seed(low, ref, mark))


@marked("tf.image.rot90")
def rot90(low: Lowering, ref: Ref, mark: Mark) -> Value:
    flow = _image(low, ref, mark)
    given = low.argument(ref, mark, "k")
    if isinstance(given, Draw):
        return _random_turns(low, ref, flow, given)
    k = int(low.plain(ref, mark, "k"))
    turned = flow.shape and k % 2 and (flow.shape[1], flow.shape[0], flow.shape[2])
    return flow.then("rot90", k, shape=turned or flow.shape)


def _random_turns(low: Lowering, ref: Ref, flow: Flow, draw: Draw) -> Flow:
    """A drawn number of quarter turns, of square pictures."""
    if not draw.whole or flow.shape is None or flow.shape[0] is None or flow.shape[0] != flow.shape[1]:
        raise Refused("tf.image.rot90 by a drawn number, of pictures that are not square")
    low.drawn(draw, ref)
    texts = [f"rot90 k={k % 4} field={flow.field}" for k in range(int(draw.low), int(draw.high))]
    kwargs = {} if draw.seed is None else {"seed": draw.seed}
    joint = Step("joint", (("random_choice", (texts,), kwargs), (flow.field,)), {}, True, draw.seed)
    return replace(flow, steps=(*flow.steps, joint))


@marked("tf.image.transpose")
def transpose(low: Lowering, ref: Ref, mark: Mark) -> Value:
    flow = _image(low, ref, mark)
    return flow.then("transpose", shape=flow.shape and (flow.shape[1], flow.shape[0], flow.shape[2]))


# ----------------------------------------------------------------------------------------------- colours

# Function: its argument, the operation with a number, and the one that draws it.
ADJUST = {"adjust_brightness": ("delta", "random_brightness"), "adjust_contrast": ("contrast_factor", "random_contrast"),
          "adjust_saturation": ("saturation_factor", "random_saturation"), "adjust_hue": ("delta", "random_hue")}


@marked(*(f"tf.image.{name}" for name in ADJUST))
def adjust(low: Lowering, ref: Ref, mark: Mark) -> Value:
    name = mark.name.removeprefix("tf.image.")
    argument, drawing = ADJUST[name]
    flow = _image(low, ref, mark)
    given = low.argument(ref, mark, argument)
    if not isinstance(given, Draw):
        return flow.then(name, float(low.plain_value(given, f"{argument} of {mark.name}")))
    low.drawn(given, ref)
    least, most = sorted((given.low, given.high))
    if given.whole:
        raise Refused(f"{mark.name} with a drawn whole number")
    if drawing in ("random_brightness", "random_hue"):
        if abs(least + most) > 1e-6 * abs(most):
            raise Refused(f"{mark.name} with a number that is not drawn from both sides of 0 alike")
        return flow.then(drawing, most, random=True, seed=given.seed)
    return flow.then(drawing, least, most, random=True, seed=given.seed)


@marked("tf.image.random_brightness", "tf.image.random_hue")
def random_delta(low: Lowering, ref: Ref, mark: Mark) -> Value:
    _once_for_a_batch(low, mark)
    delta = float(low.plain(ref, mark, "max_delta"))
    return _image(low, ref, mark).then(mark.name.removeprefix("tf.image."), delta, random=True, seed=_seed(low, ref, mark))


@marked("tf.image.random_contrast", "tf.image.random_saturation")
def random_factor(low: Lowering, ref: Ref, mark: Mark) -> Value:
    _once_for_a_batch(low, mark)
    ends = (float(low.plain(ref, mark, name)) for name in ("lower", "upper"))
    return _image(low, ref, mark).then(mark.name.removeprefix("tf.image."), *ends, random=True, seed=_seed(low, ref, mark))


@marked("tf.image.adjust_gamma")
def adjust_gamma(low: Lowering, ref: Ref, mark: Mark) -> Value:
    gamma, gain = (float(low.plain(ref, mark, name)) for name in ("gamma", "gain"))
    return _image(low, ref, mark).then("adjust_gamma", gamma, gain=gain)


@marked("tf.image.rgb_to_grayscale")
def rgb_to_grayscale(low: Lowering, ref: Ref, mark: Mark) -> Value:
    flow = _image(low, ref, mark)
    if _channels(flow) != 3:
        raise Refused("tf.image.rgb_to_grayscale of pictures without three channels")
    assert flow.shape is not None
    return flow.then("rgb_to_grayscale", shape=(*flow.shape[:2], 1))


@node("Tile")
def three_times(low: Lowering, ref: Ref) -> Value:
    """tf.image.grayscale_to_rgb of what rgb_to_grayscale has made."""
    flow = low.picture(low.input(ref, 0), "tf.tile")
    counts = low.known(low.input(ref, 1), "the multiples of tf.tile").tolist()
    if counts[low.batched:] != [1, 1, 3] or counts[0] != 1 or not flow.steps or flow.steps[-1].name != "rgb_to_grayscale":
        raise Refused("tf.tile")
    before = replace(flow, steps=flow.steps[:-1])
    return before.then("rgb_to_grayscale", channels=3, shape=flow.shape and (*flow.shape[:2], 3))


@marked("tf.image.per_image_standardization")
def per_image_standardization(low: Lowering, ref: Ref, mark: Mark) -> Value:
    return _image(low, ref, mark).then("per_image_standardization", dtype="float32")


@marked("tf.image.adjust_jpeg_quality")
def adjust_jpeg_quality(low: Lowering, ref: Ref, mark: Mark) -> Value:
    low.transforms.add("exact" if low.plain(ref, mark, "dct_method") == "INTEGER_ACCURATE" else "fast")
    return _image(low, ref, mark).then("adjust_jpeg_quality", int(low.plain(ref, mark, "jpeg_quality")))


@marked("tf.image.random_jpeg_quality")
def random_jpeg_quality(low: Lowering, ref: Ref, mark: Mark) -> Value:
    _once_for_a_batch(low, mark)
    low.transforms.add("fast")
    ends = (int(low.plain(ref, mark, name)) for name in ("min_jpeg_quality", "max_jpeg_quality"))
    return _image(low, ref, mark).then("random_jpeg_quality", *ends, random=True, seed=_seed(low, ref, mark))


@marked("tf.image.convert_image_dtype")
def convert_image_dtype(low: Lowering, ref: Ref, mark: Mark) -> Value:
    value = low.argument(ref, mark, "image")
    if not isinstance(value, Flow):
        raise Refused("tf.image.convert_image_dtype of a constant")
    wanted, largest = ref.tensor.dtype.name, {"uint8": 255, "uint16": 65535}
    if value.dtype == wanted:
        return value
    if value.dtype in largest and wanted in ("float32", "float16", "bfloat16"):
        made = value.then("cast", "f32", scale=1 / largest[value.dtype], dtype="float32")
        return made if wanted == "float32" else cast(made, wanted)
    if value.dtype == "float32" and wanted == "uint8":
        return value.then("cast", "u8", scale=255.5, dtype="uint8")
    if value.dtype.startswith("float") and wanted.startswith("float"):
        return cast(value, wanted)
    raise Refused(f"tf.image.convert_image_dtype from {value.dtype} to {wanted}")
