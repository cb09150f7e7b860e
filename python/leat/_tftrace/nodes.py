# SPDX-License-Identifier: Apache-2.0
"""Nodes of a graph that are read one by one."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

from .._base.arrays import optional
from .._tfdata.chain import Columns, Refused
from .expressions import HERE
from .graph import Ref
from .lower import Lowering, cast, marked, node
from .marks import Mark
from .values import Chance, Constant, Draw, Flow, Noise, Value

# ------------------------------------------------------------------------------------------------ files


@node("ReadFile")
def read_file(low: Lowering, ref: Ref) -> Value:
    path = low.flow(low.input(ref, 0), "tf.io.read_file")
    if low.batched or path.steps or path.shape != ():
        raise Refused("tf.io.read_file of a path that the engine does not know")
    source = low.chain.source
    known = {**(source.arrays if isinstance(source, Columns) else {}), **low.arrays}
    if path.field not in known:
        raise Refused("tf.io.read_file of a path that is in no list in memory")
    name = low.fresh("image")
    low.files[name] = path.field
    return Flow(name, "string", ())


DECODERS = {"DecodeJpeg": "decode_jpeg", "DecodePng": "decode_png", "DecodeImage": "decode_image", "DecodeBmp": "decode_bmp"}


@node(*DECODERS)
def decode(low: Lowering, ref: Ref) -> Value:
    what = f"tf.io.{DECODERS[ref.op.type]}"
    flow = low.flow(low.input(ref, 0), what)
    if flow.shape != () or flow.dtype != "string" or flow.steps:
        raise Refused(f"{what} of bytes that the function has changed")
    channels = ref.attr("channels")
    if ref.op.type == "DecodeJpeg":
        jpeg_arguments(low, ref, what)
    elif ref.op.type == "DecodeImage":
        low.transforms.add("fast")
        animations(low, flow, bool(ref.attr("expand_animations")))
    elif ref.op.type == "DecodePng":
        low.transforms.add("fast")
    stored = ref.tensor.dtype.name
    shape = (None, None, channels or None)  # 0: as stored; a picture with another number is an error in the batch
    if stored == "float32" and ref.op.type == "DecodeImage":
        return flow.then("decode", channels=channels, dtype="uint8", shape=shape).then("cast", "f32", scale=1 / 255, dtype="float32")
    if stored != "uint8":
        raise Refused(f"{what} with dtype {stored}")
    return flow.then("decode", channels=channels, dtype="uint8", shape=shape)


def jpeg_arguments(low: Lowering, ref: Ref, what: str) -> None:
    """The arguments of a JPEG decoder that change pixels."""
    method = ref.attr("dct_method").decode()
    if ref.attr("ratio") != 1 or not ref.attr("fancy_upscaling") or ref.attr("try_recover_truncated"):
        raise Refused(f"{what} with ratio, fancy_upscaling or try_recover_truncated")
    low.transforms.add("exact" if method == "INTEGER_ACCURATE" else "fast")


def animations(low: Lowering, flow: Flow, expand: bool) -> None:
    """A GIF has an axis of frames if they are asked for, which the engine does not give."""
    column = low.files.get(flow.field)
    if not expand or column is None:
        return
    if column in low.arrays:
        raise Refused("tf.io.decode_image with expand_animations=True of paths that the function makes")
    names = low.array(column)
    if any((each if isinstance(each, bytes) else str(each).encode()).lower().endswith(b".gif") for each in names.tolist()):
        raise Refused("tf.io.decode_image of GIF files with expand_animations=True")


# --------------------------------------------------------------------------------------------- arithmetic


@node("Cast")
def cast_node(low: Lowering, ref: Ref) -> Value:
    value, wanted = low.input(ref, 0), ref.tensor.dtype.name
    if isinstance(value, Draw) and wanted == "float32":
        return value
    return cast(low.flow(value, "tf.cast"), wanted)


def _constant_for(low: Lowering, flow: Flow, value: Constant) -> Any:
    """A constant operand as one number, or one for each channel."""
    numpy: Any = optional("numpy")
    array = numpy.asarray(value.value, "float64")
    if array.size == 1:
        return array.reshape(())
    rank = None if flow.shape is None else len(flow.shape) + low.batched
    if rank is None or array.ndim > rank or array.shape[-1] != array.size or flow.shape is None or flow.shape[-1] != array.size:
        raise Refused("arithmetic with an array of constants")
    return array.reshape(-1)


def linear(flow: Flow, scale: Any, offset: Any) -> Flow:
    """x * scale + offset, joined with the same before it."""
    numpy: Any = optional("numpy")
    scale, offset = numpy.asarray(scale, "float64"), numpy.asarray(offset, "float64")
    if flow.dtype != "float32":
        raise Refused(f"arithmetic in {flow.dtype}")
    if not numpy.isfinite(scale).all() or not numpy.isfinite(offset).all() or not scale.all():
        raise Refused("arithmetic with 0, infinity or NaN")
    last = flow.steps[-1] if flow.steps else None
    if last is not None and last.name == "linear":
        before, plus = last.args
        flow = Flow(flow.field, flow.dtype, flow.shape, flow.steps[:-1])
        scale, offset = before * scale, plus * scale + offset
    return flow.then("linear", scale, offset)


def _on_draw(kind: str, draw: Draw, number: float, left: bool) -> Draw:
    ends = {"AddV2": (draw.low + number, draw.high + number), "Mul": (draw.low * number, draw.high * number),
            "Sub": (draw.low - number, draw.high - number) if left else (number - draw.low, number - draw.high)}
    if kind == "RealDiv" and left and number:
        ends[kind] = (draw.low / number, draw.high / number)
    if kind not in ends or draw.whole:
        raise Refused("arithmetic with a drawn number")
    return Draw(*ends[kind], draw.seed, False, draw.node)


@node("AddV2", "Sub", "Mul", "RealDiv")
def arithmetic(low: Lowering, ref: Ref) -> Value:
    kind = ref.op.type
    left, right = low.input(ref, 0), low.input(ref, 1)
    if isinstance(left, Flow) and isinstance(right, Noise) or (isinstance(right, Flow) and isinstance(left, Noise)):
        return _noise(low, ref, left, right)
    if isinstance(left, Constant) == isinstance(right, Constant):
        raise Refused("arithmetic with two values of a sample")
    value, number = (left, right) if isinstance(right, Constant) else (right, left)
    assert isinstance(number, Constant)
    if isinstance(value, (Draw, Noise)) and number.value.size != 1:
        raise Refused("a drawn number with an array of constants")
    if isinstance(value, Draw):
        return _on_draw(kind, value, float(number.value.reshape(())), value is left)
    if isinstance(value, Noise):
        return _on_noise(kind, value, float(number.value.reshape(())), value is left)
    flow = low.flow(value, "arithmetic")
    other = _constant_for(low, flow, number)
    if kind == "AddV2":
        return linear(flow, 1, other)
    if kind == "Mul":
        return linear(flow, other, 0)
    if kind == "Sub":
        return linear(flow, 1, -other) if value is left else linear(flow, -1, other)
    if value is not left or not other.all():
        raise Refused("a division by a value of the sample")
    return linear(flow, 1 / other, 0)


@node("Neg")
def negative(low: Lowering, ref: Ref) -> Value:
    return linear(low.flow(low.input(ref, 0), "arithmetic"), -1, 0)


# ----------------------------------------------------------------------------------------------- shapes


@node("Reshape", "ExpandDims", "Squeeze")
def reshape(low: Lowering, ref: Ref) -> Value:
    flow = low.flow(low.input(ref, 0), "tf.reshape")
    shape = low.sample_shape(ref.tensor)
    if ref.op.type == "Reshape" and (shape is None or sum(side is None for side in shape) > 1):
        return replace(reshaped(flow, low.probed(ref)), probed=True)
    return reshaped(flow, shape)


def reshaped(flow: Flow, shape: tuple[int | None, ...] | None) -> Flow:
    if flow.dtype == "string":
        raise Refused("tf.reshape of strings")
    if shape is None or sum(side is None for side in shape) > 1:
        raise Refused("tf.reshape to sizes that differ from sample to sample")
    if shape == flow.shape:
        return flow
    if None not in shape and flow.shape is not None and None not in flow.shape and _count(shape) != _count(flow.shape):
        raise Refused("tf.reshape across samples")
    if any(step.name == "linear" for step in flow.steps[-1:]) and flow.steps[-1].args[0].ndim:
        raise Refused("tf.reshape behind arithmetic for each channel")
    if not shape:
        raise Refused("tf.reshape to a single number")
    return flow.then("reshape", *(-1 if side is None else side for side in shape), shape=shape)


def _count(shape: tuple[int | None, ...]) -> int:
    found = 1
    for side in shape:
        found *= side or 0
    return found


@node("StridedSlice")
def slices(low: Lowering, ref: Ref) -> Value:
    flow = low.flow(low.input(ref, 0), "a slice")
    shape, sides = low.sample_shape(ref.tensor), flow.shape
    if shape is None or sides is None:
        raise Refused("a slice of a tensor whose shape is not known")
    if ref.attr("new_axis_mask") and None not in (*shape, *sides) and _count(shape) == _count(sides):
        return reshaped(flow, shape)
    if low.batched or len(sides) != 3 or None in sides or ref.attr("shrink_axis_mask") or ref.attr("new_axis_mask"):
        raise Refused("a slice")
    begin, end, strides = (low.known(low.input(ref, i), "a slice") for i in (1, 2, 3))
    if ref.attr("ellipsis_mask") or any(step != 1 for step in strides.tolist()):
        raise Refused("a slice with steps")
    starts = []
    for axis, side in enumerate(sides):
        assert side is not None
        if axis >= len(begin) or ref.attr("begin_mask") >> axis & 1:
            starts.append(0)
        else:
            starts.append(int(begin[axis]) + (side if begin[axis] < 0 else 0))
    del end
    if starts[2] or shape[2] != sides[2] or None in shape or flow.dtype not in ("uint8", "float32"):
        raise Refused("a slice of channels")
    return flow.then("crop_to_bounding_box", starts[0], starts[1], shape[0], shape[1], shape=shape)


@node("ReverseV2")
def reverse(low: Lowering, ref: Ref) -> Value:
    flow = low.picture(low.input(ref, 0), "tf.reverse")
    axes = low.known(low.input(ref, 1), "the axes of tf.reverse").tolist()
    for axis in axes:
        place = (axis if axis >= 0 else axis + 3 + low.batched) - low.batched
        if place not in (0, 1):
            raise Refused("tf.reverse of channels")
        flow = flow.then("random_flip_up_down" if place == 0 else "random_flip_left_right", p=1)
    return flow


@node("Transpose")
def transpose(low: Lowering, ref: Ref) -> Value:
    flow = low.picture(low.input(ref, 0), "tf.transpose")
    order = low.known(low.input(ref, 1), "the axes of tf.transpose").tolist()
    if order != [*range(low.batched), *(low.batched + axis for axis in (1, 0, 2))]:
        raise Refused("tf.transpose with other axes than height and width")
    return flow.then("transpose", shape=None if flow.shape is None else (flow.shape[1], flow.shape[0], flow.shape[2]))


@node("Pad", "PadV2", "MirrorPad")
def pad(low: Lowering, ref: Ref) -> Value:
    flow = low.picture(low.input(ref, 0), "tf.pad")
    sides = low.known(low.input(ref, 1), "the paddings of tf.pad").tolist()[low.batched:]
    if low.batched and any(low.known(low.input(ref, 1), "paddings").tolist()[0]) or any(sides[2]):
        raise Refused("tf.pad of channels")
    mode = ref.attr("mode").decode().lower() if ref.op.type == "MirrorPad" else "constant"
    fill = float(low.known(low.input(ref, 2), "the value of tf.pad")) if ref.op.type == "PadV2" else 0
    return flow.then("pad", *sides[0], *sides[1], mode=mode, fill=fill, shape=low.sample_shape(ref.tensor))


# ----------------------------------------------------------------------------------------------- labels


@node("OneHot")
def one_hot(low: Lowering, ref: Ref) -> Value:
    flow = low.flow(low.input(ref, 0), "tf.one_hot")
    depth, on, off = (low.known(low.input(ref, i), "an argument of tf.one_hot").item() for i in (1, 2, 3))
    if flow.shape != () or ref.attr("axis") not in (-1, 1 if low.batched else 0):
        raise Refused("tf.one_hot of an array")
    if any(step.name != "cast" for step in flow.steps):
        raise Refused("tf.one_hot of a value that the function computes")
    source = low.chain.source
    column = source.arrays.get(flow.field) if isinstance(source, Columns) else None
    inside = column is not None and not callable(column) and len(column) and column.min() >= 0 and column.max() < depth
    if not inside:
        # TensorFlow makes zeros of a label that is no class, and so does eval.
        return flow.then("eval", f"one_hot({HERE}, {depth}, {on!r}, {off!r})", dtype="float32", shape=(depth,))
    numbers = {} if (on, off) == (1, 0) else {"on": on, "off": off}
    return flow.then("one_hot", classes=depth, dtype="float32", shape=(depth,), **numbers)


# ------------------------------------------------------------------------------------------ random numbers


@marked("tf.random.uniform", "tf.random.normal")
def seeded(low: Lowering, ref: Ref, mark: Mark) -> Value:
    """The numbers that the nodes draw, with the seed that the program gave."""
    value, seed = low.unmarked(ref), low.plain(ref, mark, "seed")
    return replace(value, seed=int(seed)) if seed is not None and isinstance(value, (Draw, Noise)) else value


@node("RandomUniform", "RandomUniformInt")
def uniform(low: Lowering, ref: Ref) -> Value:
    if ref.tensor.shape.rank != 0 or low.batched:
        raise Refused("random numbers in an array" if not low.batched else "a number that is drawn once for a batch")
    if ref.op.type == "RandomUniform":
        return Draw(0.0, 1.0, None, False, id(ref.op))
    ends = [float(low.known(low.input(ref, i), "the range of tf.random.uniform")) for i in (1, 2)]
    return Draw(ends[0], ends[1], None, True, id(ref.op))


@node("RandomStandardNormal")
def normal(low: Lowering, ref: Ref) -> Value:
    if low.batched:
        raise Refused("random numbers behind batch()")
    shape = ref.tensor.shape
    if shape.rank is not None and shape.is_fully_defined():
        return Noise(0.0, 1.0, None, tuple(shape), id(ref.op))
    size = low.trace.follow(ref.input(0))
    if size.op.type != "Shape":
        raise Refused("random numbers in an array whose shape is not known")
    return Noise(0.0, 1.0, None, low.flow(low.input(size, 0), "tf.shape").field, id(ref.op))


def _on_noise(kind: str, noise: Noise, number: float, left: bool) -> Noise:
    if kind == "Mul":
        return Noise(noise.mean * number, noise.deviation * abs(number), noise.seed, noise.like, noise.node)
    if kind == "AddV2" or (kind == "Sub" and left):
        return Noise(noise.mean + (number if kind == "AddV2" else -number), noise.deviation, noise.seed, noise.like, noise.node)
    raise Refused("arithmetic with random numbers")


def _noise(low: Lowering, ref: Ref, left: Value, right: Value) -> Value:
    flow, noise = (left, right) if isinstance(left, Flow) else (right, left)
    assert isinstance(noise, Noise)
    picture = low.picture(flow, "noise", ("float32",))
    if ref.op.type not in ("AddV2", "Sub") or (ref.op.type == "Sub" and not isinstance(left, Flow)):
        raise Refused("arithmetic with random numbers")
    if noise.like != picture.field and (picture.shape is None or None in picture.shape or noise.like != picture.shape):
        raise Refused("noise of another shape than the picture")
    low.drawn(Draw(0, 1, None, False, noise.node), ref)
    mean = noise.mean if ref.op.type == "AddV2" else -noise.mean
    return picture.then("gaussian_noise", noise.deviation, mean=mean, random=True, seed=noise.seed)


@node("Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual")
def compare(low: Lowering, ref: Ref) -> Value:
    kind, left, right = ref.op.type, low.input(ref, 0), low.input(ref, 1)
    if isinstance(left, Constant):
        left, right = right, left
        kind = {"Less": "Greater", "Greater": "Less", "LessEqual": "GreaterEqual", "GreaterEqual": "LessEqual"}.get(kind, kind)
    if not isinstance(left, Draw) or not isinstance(right, Constant) or right.value.size != 1:
        raise Refused("a condition that differs from sample to sample")
    return Chance(_probability(kind, left, float(right.value.reshape(()))), left.seed, left.node)


def _probability(kind: str, draw: Draw, number: float) -> float:
    low, high = sorted((draw.low, draw.high))
    if draw.whole:
        values = range(int(low), int(high))
        tests: dict[str, Any] = {"Less": lambda x: x < number, "LessEqual": lambda x: x <= number,
                                 "Greater": lambda x: x > number, "GreaterEqual": lambda x: x >= number,
                                 "Equal": lambda x: x == number, "NotEqual": lambda x: x != number}
        return float(sum(map(tests[kind], values)) / len(values))
    if kind in ("Equal", "NotEqual") or low == high:
        raise Refused("a condition that a drawn number is equal to another")
    below = min(max((number - low) / (high - low), 0.0), 1.0)
    return below if kind.startswith("Less") else 1 - below


@node("LogicalNot")
def logical_not(low: Lowering, ref: Ref) -> Value:
    value = low.input(ref, 0)
    if not isinstance(value, Chance):
        raise Refused("a condition that differs from sample to sample")
    return Chance(1 - value.p, value.seed, value.node)
