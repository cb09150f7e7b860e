# SPDX-License-Identifier: Apache-2.0
"""Augmentation on the device: the engine sends u8 pictures and what it has drawn, and the device does the rest.

    ds = (leat.from_directory("photos/train").shuffle(seed=7).random_resized_crop(224).on_device()
          .random_flip_left_right().color_jitter(0.2, 0.2, 0.2).random_rotation(0.05).normalize("imagenet").batch(64))
    augment = leat.device.torch_module(ds).to("cuda")
    for inputs, labels in ds.to_torch():
        images = augment({name: x.to("cuda") for name, x in inputs.items()})

What stands behind on_device() is drawn by the engine exactly as without it. There is one implementation, made of the
primitives of `Arrays` over torch, jax.numpy, keras.ops or numpy.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

from ._base.errors import ArgumentError
from ._data.bind import split_words
from ._data.dataset import Dataset
from ._data.ops import OPS
from ._frameworks import device_colour as colour
from ._frameworks.device_arrays import Arrays

__all__ = ["Augment", "jax_function", "keras_layer", "torch_module"]

FLIPS = {"random_flip_left_right", "random_flip_up_down", "random_flip"}
WARPS = {"random_rotation", "random_zoom", "random_translation", "random_shear", "random_perspective", "affine"}
KNOWN = FLIPS | WARPS | colour.NAMES | {"on_device", "color_jitter", "normalize", "rescale", "cast"}
PARTS = ("brightness", "contrast", "saturation", "hue")  # in the order of the digits that color_jitter sends
FLIP, WARP, AFFINE = 2, 8, 4  # numbers that each of them takes; src/sample/device.h has the whole list

Step = Callable[[Arrays, Any, Any], Any]  # of the primitives, the pictures as f32, and the numbers of this step


class Part(NamedTuple):
    """One operation: what it does, and which of the drawn numbers are its own."""

    step: Step
    numbers: int


def _arguments(operation: str) -> dict[str, str]:
    """All arguments of an operation as text, with the defaults of the table."""
    name, *words = split_words(operation)
    args = OPS[name[1]].args
    found = {arg.name: arg.default or "" for arg in args}
    places = iter([arg.name for arg in args if not arg.named])
    names = {name: arg.name for arg in args for name in arg.also}
    for key, word in words:
        found[names.get(key, key) or next(places)] = word
    return found


def _numbers(text: str) -> list[float]:
    return [float(word) for word in text.split(",") if word]


def _number(text: str) -> float:
    over, _, under = text.partition("/")
    return float(over) / float(under or 1)


# ------------------------------------------------------------------------------------------------- movements


def _flip(a: Arrays, x: Any, p: Any) -> Any:
    for number, axis in ((0, 2), (1, 1)):
        turned = a.reshape(p[:, number], (-1, 1, 1, 1)) > 0.5
        x = a.where(turned, a.flip(x, axis), x)
    return x


@dataclass(frozen=True)
class Warp:
    """One sampling along a matrix, by the rules of TensorFlow's projective transform or of SciPy's affine_transform."""

    height: int
    width: int
    scipy: bool
    linear: bool
    fill: str
    value: list[float]
    perspective: bool

    def fold(self, a: Arrays, c: Any, n: int) -> Any:
        """Brings positions along an axis of n pixels back into it."""
        if self.fill == "reflect" and n > 1:
            c = c - 2.0 * n * a.floor(c / (2.0 * n))
            c = a.where(c >= n, (2.0 * n - 1.0) - c, c)
        elif self.fill == "wrap" and n > 1:
            period = n - 1.0
            step = period if self.scipy else float(n)  # TensorFlow's jumps
            below = c + step * (a.floor(-c / period) + 1.0)
            c = a.where(c < 0.0, below, a.where(c > period, c - step * a.floor(c / period), c))
        return a.clip(c, 0.0, n - 1.0)

    def places(self, a: Arrays, p: Any) -> tuple[Any, Any]:
        """Where each pixel of the output comes from: x and y of shape (batch, height, width)."""
        m = [a.reshape(p[:, i], (-1, 1, 1)) for i in range(WARP)]
        x = a.reshape(a.arange(self.width, p), (1, 1, self.width))
        y = a.reshape(a.arange(self.height, p), (1, self.height, 1))
        cx, cy = (m[0] * x + m[1] * y) + m[2], (m[3] * x + m[4] * y) + m[5]
        if self.perspective:
            w = (m[6] * x + m[7] * y) + 1.0
            cx, cy = cx / w, cy / w
        return a.clip(cx, -1e6, 1e6), a.clip(cy, -1e6, 1e6)

    def pixels(self, a: Arrays, rows: Any, x: Any, y: Any) -> Any:
        """The pixels at whole positions; those outside are the nearest ones."""
        x, y = a.clip(x, 0.0, self.width - 1.0), a.clip(y, 0.0, self.height - 1.0)
        return a.pixels(rows, a.i32(y) * self.width + a.i32(x))

    def blend(self, a: Arrays, rows: Any, fx: Any, fy: Any, share: tuple[Any, Any], outside: Any) -> Any:
        """Between four pixels. outside: None, or what those have that are not there."""
        def take(dx: float, dy: float) -> Any:
            x, y = fx + dx, fy + dy
            found = self.pixels(a, rows, x, y)
            if outside is None:
                return found
            there = (x >= 0.0) & (x <= self.width - 1.0) & (y >= 0.0) & (y <= self.height - 1.0)
            return a.where(there[..., None], found, outside)

        sx, sy = share[0][..., None], share[1][..., None]
        upper = (1.0 - sx) * take(0.0, 0.0) + sx * take(1.0, 0.0)
        lower = (1.0 - sx) * take(0.0, 1.0) + sx * take(1.0, 1.0)
        return (1.0 - sy) * upper + sy * lower

    def __call__(self, a: Arrays, x: Any, p: Any) -> Any:
        h, w, constant = self.height, self.width, self.fill == "constant"
        rows, (cx, cy) = a.rows(x), self.places(a, p)
        value = a.like(self.value, x)
        if self.linear and constant and not self.scipy:  # what is not there has its share
            fx, fy = a.floor(cx), a.floor(cy)
            return self.blend(a, rows, fx, fy, (cx - fx, cy - fy), value)
        edge = 0.0 if self.scipy else 0.5
        inside = (cx >= -edge) & (cx <= w - 1.0 + edge) & (cy >= -edge) & (cy <= h - 1.0 + edge)
        cx, cy = self.fold(a, cx, w), self.fold(a, cy, h)
        if self.linear:
            fx, fy = a.clip(a.floor(cx), 0.0, max(w - 2.0, 0.0)), a.clip(a.floor(cy), 0.0, max(h - 2.0, 0.0))
            made = self.blend(a, rows, fx, fy, (cx - fx, cy - fy), None)
        else:
            made = self.pixels(a, rows, a.floor(cx + 0.5), a.floor(cy + 0.5))
        return a.where(inside[..., None], made, value) if constant else made


def _affine(points: int, channels: int) -> Step:
    def step(a: Arrays, x: Any, p: Any) -> Any:
        for i in range(points):
            used = channels if channels <= AFFINE else 1  # with more channels the first numbers are for all
            mul, add = p[:, 2 * AFFINE * i:2 * AFFINE * i + used], p[:, 2 * AFFINE * i + AFFINE:][:, :used]
            x = x * a.reshape(mul, (-1, 1, 1, used)) + a.reshape(add, (-1, 1, 1, used))
        return x
    return step


def _jitter(steps: dict[int, colour.Colour], drawn_order: bool) -> Step:
    """The parts of color_jitter by their digits, each sample in its own order."""
    def step(a: Arrays, x: Any, p: Any) -> Any:
        digits = a.reshape(p[:, len(PARTS)], (-1, 1, 1, 1))
        for place, fixed in enumerate(sorted(steps)):
            amount = a.reshape(p[:, place], (-1, 1, 1, 1))
            if not drawn_order or len(steps) == 1:
                x = steps[fixed](a, x, amount)
                continue
            above = a.floor((digits + 0.5) / 10.0 ** (len(steps) - 1 - place))
            digit = above - 10.0 * a.floor((above + 0.5) / 10.0)
            made = x
            for number, part in steps.items():
                made = a.where(abs(digit - number) < 0.5, part(a, x, amount), made)
            x = made
        return x
    return step


# ------------------------------------------------------------------------------------------------- the chain


class Augment:
    """What stands behind on_device() in a dataset, as a function of pictures, drawn numbers and an array namespace.

        augment = leat.device.Augment(ds)
        images = augment(batch["image"], batch["drawn"], numpy)     # f32, channels last
    """

    def __init__(self, ds: Dataset | tuple[str, ...], shape: tuple[int, ...] = ()) -> None:
        operations = ds.operations if isinstance(ds, Dataset) else ds
        at = next((i for i, text in enumerate(operations) if text.split(None, 1)[0] == "on_device"), None)
        if at is None:
            raise ArgumentError("this dataset leaves nothing to a device: "
                                "write on_device() before what the device shall do")
        self.field = _arguments(operations[at])["field"]
        if isinstance(ds, Dataset):
            shape = ds.as_dict().element_spec[self.field].shape[1 if ds.batched else 0:]
        if None in shape:
            raise ArgumentError(f"{self.field} has differing sizes: write resize() or a crop before on_device()")
        self.operations = tuple(text for text in operations[at:] if self._is_mine(text))
        self.shape = (*shape, 1)[:3]
        self._bytes = True  # the values are whole numbers from 0 to 255 here, as u8 has them
        self.parts = [part for part in map(self._part, self.operations[1:]) if part]

    def _is_mine(self, operation: str) -> bool:
        name = operation.split(None, 1)[0]
        return name in KNOWN and self.field in _arguments(operation)["field"].split(",")

    def _part(self, operation: str) -> Part | None:
        name, given = operation.split(None, 1)[0], _arguments(operation)
        height, width, channels = self.shape
        if name in FLIPS:
            return Part(_flip, FLIP)
        if name in WARPS:
            linear = given.get("interpolation", "bilinear") == "bilinear" and given.get("order", "1") == "1"
            value, perspective = _numbers(given["value"]), _number(given.get("perspective", "0")) > 0
            self._bytes &= not linear
            return Part(Warp(height, width, scipy=name == "affine", linear=linear, fill=given.get("fill", "constant"),
                             value=value * channels if len(value) == 1 else value,
                             perspective=perspective or name == "random_perspective"), WARP)
        if name in colour.NAMES:
            flavour = given.get("flavour", "tf")
            part = colour.make(name.split("_")[1], flavour, self._bytes, channels, _numbers(given["range"]))
            self._bytes &= flavour != "keras"
            return Part(lambda a, x, p: part(a, x, a.reshape(p, (-1, 1, 1, 1))), 1)
        if name == "color_jitter":
            return self._jitter(operation, given)
        if name == "cast" and not self._bytes and _number(given["scale"]) == 1 and _number(given["offset"]) == 0:
            return None
        self._bytes = False
        return Part(_affine(1, channels), 2 * AFFINE)

    def _jitter(self, operation: str, given: dict[str, str]) -> Part:
        keras = given["flavour"] == "keras"  # its parts are those that are written, in the order of PARTS
        written = split_words(operation)[1:]
        places = [key or PARTS[i] for i, (key, _) in enumerate(written)]
        steps, flavour, bounds = {}, given["flavour"], _numbers(given["range"])
        for number, name in enumerate(PARTS, 1):
            middle = 0.0 if name == "hue" else 1.0
            ends = _numbers(given[name])
            off = ends == [0.0] or ends == [middle, middle]
            if name in places if keras else not off:
                steps[number] = colour.make(name, flavour, self._bytes, self.shape[2], bounds)
        self._bytes &= not keras
        return Part(_jitter(steps, drawn_order=not keras), len(PARTS) + 1)

    def __call__(self, images: Any, drawn: Any, xp: Any) -> Any:
        """Pictures of any type and their numbers to f32 pictures, channels last; xp is the namespace of both."""
        a = Arrays(xp)
        x, at = a.reshape(a.f32(images), (-1, *self.shape)), 0
        for part in self.parts:
            x = part.step(a, x, drawn[:, at:at + part.numbers])
            at += part.numbers
        return x

    def inputs(self, given: Any) -> tuple[Any, Any]:
        """Pictures and numbers of what an iteration gives: {"image": ..., "drawn": ...}, or the two as a pair."""
        if isinstance(given, dict):
            return given[self.field], given["drawn"]
        images, drawn = given
        return images, drawn


# -------------------------------------------------------------------------------------------- for frameworks


def jax_function(ds: Dataset) -> Callable[[Any], Any]:
    """A function for JAX, free of state: put it inside of what is jitted.

        augment = leat.device.jax_function(ds)
        images = jax.jit(augment)({"image": u8, "drawn": drawn})    # f32, channels last
    """
    augment = Augment(ds)
    xp = import_module("jax.numpy")
    return lambda inputs: augment(*augment.inputs(inputs), xp)


def torch_module(ds: Dataset, channels_first: bool = True) -> Any:
    """A torch.nn.Module without weights, for the device on which its inputs are.

        augment = leat.device.torch_module(ds)
        images = augment({"image": u8, "drawn": drawn})             # f32, (batch, channels, height, width)
    """
    torch = import_module("torch")
    augment = Augment(ds)

    class DeviceAugment(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, inputs: Any) -> Any:
            with torch.no_grad():
                images = augment(*augment.inputs(inputs), torch)
                return images.permute(0, 3, 1, 2).contiguous() if channels_first else images

    return DeviceAugment()


def keras_layer(ds: Dataset, **options: Any) -> Any:
    """A Keras layer without weights, for any backend: the first of a model that takes {"image": u8, "drawn": f32}.

        inputs = {name: keras.Input(spec.shape[1:], dtype=spec.dtype, name=name)
                  for name, spec in ds.element_spec[0].items()}
        x = leat.device.keras_layer(ds)(inputs)                     # f32, channels last
    """
    chain = Augment(ds)
    return _keras_class()(operations=chain.operations, shape=chain.shape, **options)


def _keras_class() -> Any:
    """The class of the layer, made when Keras is first needed. A model that has one is loaded after a keras_layer()."""
    keras = import_module("keras")
    known = keras.saving.get_registered_object("leat>DeviceAugment")
    if known is not None:
        return known

    class DeviceAugment(keras.layers.Layer):  # type: ignore[misc, name-defined]
        def __init__(self, operations: Any, shape: Any, **options: Any) -> None:
            super().__init__(trainable=False, **options)
            self.augment = Augment(tuple(operations), tuple(shape))

        def call(self, inputs: Any) -> Any:
            return self.augment(*self.augment.inputs(inputs), keras.ops)

        def compute_output_shape(self, input_shape: Any) -> Any:
            images, _ = self.augment.inputs(input_shape)
            return (images[0], *self.augment.shape)

        def get_config(self) -> dict[str, Any]:
            config = super().get_config()
            config.pop("trainable", None)
            return {**config, "operations": list(self.augment.operations), "shape": list(self.augment.shape)}

    return keras.saving.register_keras_serializable("leat")(DeviceAugment)
