# SPDX-License-Identifier: Apache-2.0
"""Keras's preprocessing layers, called in a function of map: a Sequential of them is a call of each."""
from __future__ import annotations

from typing import Any

from .._base.arrays import optional
from .._tfdata.chain import Refused
from .graph import Ref
from .lower import Lowering, cast, marked
from .marks import Mark
from .nodes import linear
from .values import Flow, Value

AGAIN = 1_000_003  # a layer that is called twice has a second draw, also where it was given a seed


def _begun(low: Lowering, ref: Ref, mark: Mark, picture: bool = True) -> tuple[Any, Flow]:
    """The layer, and the field that it was called with."""
    layer = mark.args[0]
    given = mark.args[1] if len(mark.args) > 1 else next(iter(mark.kwargs.values()))
    value = low.trace.given(ref, given)
    flow = low.flow(low.value(value) if isinstance(value, Ref) else value, mark.name)
    if getattr(layer, "data_format", None) == "channels_first":
        raise Refused(f"{mark.name} with channels first")
    if flow.dtype in ("float16", "bfloat16") and flow.steps and flow.steps[-1].name == "cast":
        # Of a mixed policy: the engine computes in float32, and what leaves has the policy's type.
        flow = Flow(flow.field, "float32", flow.shape, flow.steps[:-1])
    return layer, low.picture(flow, mark.name) if picture else flow


def _training(mark: Mark) -> bool:
    return bool(mark.given.get("training", True))


def _seed(low: Lowering, layer: Any, ref: Ref) -> int | None:
    """The seed that the program gave to the layer, another one for each further call of it."""
    calls = low.calls.setdefault(id(layer), [])
    if ref.key not in calls:
        calls.append(ref.key)
    return None if layer.seed is None else int(layer.seed) + AGAIN * calls.index(ref.key)


def _float(flow: Flow) -> Flow:
    return flow if flow.dtype == "float32" else cast(flow, "float32")


@marked("keras.layers.Rescaling")
def rescaling(low: Lowering, ref: Ref, mark: Mark) -> Value:
    numpy: Any = optional("numpy")
    layer, flow = _begun(low, ref, mark, False)
    numbers = [numpy.asarray(each, "float64") for each in (layer.scale, layer.offset)]
    if any(each.ndim > 1 or (each.ndim and (flow.shape is None or each.shape != flow.shape[-1:])) for each in numbers):
        raise Refused("keras.layers.Rescaling with an array of numbers")
    return linear(_float(flow), *numbers)


@marked("keras.layers.Normalization")
def normalization(low: Lowering, ref: Ref, mark: Mark) -> Value:
    import keras  # type: ignore[import-untyped, import-not-found, unused-ignore]

    numpy: Any = optional("numpy")
    layer, flow = _begun(low, ref, mark, False)
    mean, variance = (numpy.asarray(keras.ops.convert_to_numpy(each), "float64") for each in (layer.mean, layer.variance))
    if layer.invert or mean.size != mean.shape[-1] or mean.shape != variance.shape:
        raise Refused("keras.layers.Normalization with invert, or with numbers for more than one axis")
    deviation = numpy.maximum(numpy.sqrt(variance), keras.backend.epsilon())
    mean, deviation = (each.reshape(() if each.size == 1 else -1) for each in (mean, deviation))
    return linear(_float(flow), 1 / deviation, -mean / deviation)


@marked("keras.layers.Resizing")
def resizing(low: Lowering, ref: Ref, mark: Mark) -> Value:
    layer, flow = _begun(low, ref, mark)
    words: dict[str, Any] = {"flavour": "keras"}
    if layer.interpolation != "bilinear":
        words["method"] = layer.interpolation
    for name in ("crop_to_aspect_ratio", "pad_to_aspect_ratio"):  # an earlier Keras lacks some of these
        if getattr(layer, name, False):
            words[name] = True
    if "pad_to_aspect_ratio" in words:
        words["fill"] = layer.fill_value
    if getattr(layer, "antialias", False) and layer.interpolation not in ("nearest", "area"):
        words["antialias"] = True
    mode = getattr(layer, "fill_mode", "constant")
    if mode != "constant" or layer.interpolation not in ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5"):
        raise Refused(f"keras.layers.Resizing with {layer.interpolation} or fill_mode {mode}")
    channels = flow.shape[2] if flow.shape else None
    return flow.then("resize", layer.height, layer.width, shape=(layer.height, layer.width, channels), **words)


@marked("keras.layers.CenterCrop")
def center_crop(low: Lowering, ref: Ref, mark: Mark) -> Value:
    layer, flow = _begun(low, ref, mark)
    sides = flow.shape or (None, None, None)
    if None in sides[:2] or sides[0] < layer.height or sides[1] < layer.width:
        raise Refused("keras.layers.CenterCrop of pictures that may be too small")
    return flow.then("center_crop", layer.height, layer.width, shape=(layer.height, layer.width, sides[2]))


@marked("keras.layers.RandomCrop")
def random_crop(low: Lowering, ref: Ref, mark: Mark) -> Value:
    layer, flow = _begun(low, ref, mark)
    if not _training(mark):
        return flow
    sides = flow.shape or (None, None, None)
    if low.batched:
        raise Refused("keras.layers.RandomCrop behind batch() draws once for a batch")
    if None in sides[:2] or sides[0] <= layer.height or sides[1] <= layer.width:
        raise Refused("keras.layers.RandomCrop of pictures that may be too small")
    return flow.then("random_crop", layer.height, layer.width, shape=(layer.height, layer.width, sides[2]), random=True)


@marked("keras.layers.RandomFlip")
def random_flip(low: Lowering, ref: Ref, mark: Mark) -> Value:
    layer, flow = _begun(low, ref, mark)
    return flow.then("random_flip", layer.mode, random=True, seed=_seed(low, layer, ref)) if _training(mark) else flow


def _filling(layer: Any) -> dict[str, Any]:
    words = {"fill": layer.fill_mode} if layer.fill_mode != "reflect" else {}
    if layer.interpolation != "bilinear":
        words["interpolation"] = layer.interpolation
    if layer.fill_value:
        words["value"] = layer.fill_value
    return words


@marked("keras.layers.RandomRotation", "keras.layers.RandomZoom", "keras.layers.RandomTranslation")
def warp(low: Lowering, ref: Ref, mark: Mark) -> Value:
    layer, flow = _begun(low, ref, mark)
    if not _training(mark):
        return flow
    kind = mark.name.rpartition(".")[2]
    if kind == "RandomRotation":
        name, factors = "random_rotation", [tuple(layer.factor)]
    else:
        name = "random_zoom" if kind == "RandomZoom" else "random_translation"
        factors = [(layer.height_lower, layer.height_upper)]
        if layer.width_factor is not None:
            factors.append((layer.width_lower, layer.width_upper))
    return flow.then(name, *factors, dtype="float32", random=True, seed=_seed(low, layer, ref), **_filling(layer))


@marked("keras.layers.RandomContrast", "keras.layers.RandomBrightness")
def colour(low: Lowering, ref: Ref, mark: Mark) -> Value:
    layer, flow = _begun(low, ref, mark)
    if not _training(mark):
        return flow
    if flow.dtype != "float32":
        raise Refused(f"{mark.name} of {flow.dtype}")
    words: dict[str, Any] = {"flavour": "keras", "range": tuple(layer.value_range)}
    seed = _seed(low, layer, ref)
    least, most = layer.factor
    if mark.name == "keras.layers.RandomContrast":
        return flow.then("random_contrast", least, most, random=True, seed=seed, **words)
    if least != -most:
        raise Refused("keras.layers.RandomBrightness with other factors than -f and f")
    return flow.then("random_brightness", most, random=True, seed=seed, **words)
