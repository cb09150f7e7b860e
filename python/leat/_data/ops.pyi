# SPDX-License-Identifier: Apache-2.0
"""The operations as methods, with their types.

Written by scripts/python_ops.py; change the table of the engine, not this file.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self, TypeAlias, overload

Size: TypeAlias = int | Sequence[int]  # 224, or (height, width)
Text: TypeAlias = str | float | os.PathLike[str] | Sequence[float] | Mapping[str, object]
DType: TypeAlias = Any  # "f32", "float32", numpy.float32, torch.float32


class Arg(NamedTuple):
    name: str
    type: str
    default: str | None  # None = must be given
    words: tuple[str, ...] = ()
    low: float = 0
    high: float = 0  # both 0 = any
    named: bool = False
    also: tuple[str, ...] = ()  # other names that are taken
    help: str = ""


class Op(NamedTuple):
    kind: str
    help: str
    args: tuple[Arg, ...] = ()
    first: tuple[str, ...] = ()  # arguments that may be given without a name; a list takes the rest
    lead: str = ""  # a field that may stand in front of them

FIELD: Arg
OPS: dict[str, Op]

class Operations:
    def _add(self, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> Self: ...
    def shuffle(
        self, buffer_size: int | None = None, seed: int | None = None, *, window: int | None = None,
        block: int | None = None, group: int | None = None, reshuffle: bool | None = None,
        reshuffle_each_iteration: bool | None = None,
    ) -> Self: ...
    def take(
        self, count: int,
    ) -> Self: ...
    def skip(
        self, count: int,
    ) -> Self: ...
    def repeat(
        self, count: int | None = None,
    ) -> Self: ...
    def interleave(
        self, cycle: int | None = None, block: int | None = None, cycle_length: int | None = None,
        block_length: int | None = None,
    ) -> Self: ...
    def flat_map(
        self,
    ) -> Self: ...
    def balance(
        self, field: str | Sequence[str] | None = None, *, weights: Text | None = None, n: int | None = None,
        seed: int | None = None,
    ) -> Self: ...
    def oversample(
        self, field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def rejection_resample(
        self, field: str | Sequence[str] | None = None, *, target: Text | None = None, initial: Text | None = None,
        seed: int | None = None,
    ) -> Self: ...
    def window(
        self, size: int, *, shift: int | None = None, stride: int | None = None, targets: Text | None = None,
        at: Text | None = None,
    ) -> Self: ...
    def parse(
        self, *features: Text, from_: str | Sequence[str] | None = None,
    ) -> Self: ...
    @overload
    def reshape(
        self, *shape: int | Sequence[int], field: str | Sequence[str] | None = None,
        layout: Literal["nhwc", "nchw"] | None = None,
    ) -> Self: ...
    @overload
    def reshape(
        self, field: str, *shape: int | Sequence[int], layout: Literal["nhwc", "nchw"] | None = None,
    ) -> Self: ...
    def select(
        self, *fields: Text,
    ) -> Self: ...
    def copy(
        self, field: str | Sequence[str], name: Text,
    ) -> Self: ...
    def enumerate(
        self, name: Text | None = None, *, of: Literal["position", "sample"] | None = None,
    ) -> Self: ...
    def stack(
        self, name: Text, *fields: Text,
    ) -> Self: ...
    def with_path(
        self, name: Text | None = None, *, of: Literal["file", "name"] | None = None,
    ) -> Self: ...
    def label_map(
        self, map: Text | None = None, *, file: Text | None = None, default: Text | None = None,
        field: str | Sequence[str] | None = None,
    ) -> Self: ...
    @overload
    def one_hot(
        self, classes: int | None = None, *, field: str | Sequence[str] | None = None, smoothing: float | None = None,
        off: float | None = None, on: float | None = None, num_classes: int | None = None, depth: int | None = None,
    ) -> Self: ...
    @overload
    def one_hot(
        self, field: str, classes: int | None = None, *, smoothing: float | None = None, off: float | None = None,
        on: float | None = None, num_classes: int | None = None, depth: int | None = None,
    ) -> Self: ...
    def decode(
        self, field: str | Sequence[str] | None = None, *, channels: int | None = None, orient: bool | None = None,
        depth: Literal["8", "16"] | None = None, palette: Literal["colour", "index"] | None = None,
        scale: Literal["1", "auto"] | None = None,
    ) -> Self: ...
    @overload
    def decode_raw(
        self, dtype: DType, *, field: str | Sequence[str] | None = None,
    ) -> Self: ...
    @overload
    def decode_raw(
        self, field: str, dtype: DType,
    ) -> Self: ...
    def adjust_jpeg_quality(
        self, quality: int, *, field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def random_jpeg_quality(
        self, lower: int, upper: int, *, field: str | Sequence[str] | None = None, seed: int | None = None,
    ) -> Self: ...
    @overload
    def resize(
        self, height: Size, width: int | None = None, *,
        method: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"] | None = None,
        flavour: Literal["tf", "pil", "keras"] | None = None, antialias: bool | None = None,
        crop_to_aspect_ratio: bool | None = None, pad_to_aspect_ratio: bool | None = None, fill: Text | None = None,
        field: str | Sequence[str] | None = None,
        interpolation: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"] | None = None,
    ) -> Self: ...
    @overload
    def resize(
        self, *, size: Size, width: int | None = None,
        method: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"] | None = None,
        flavour: Literal["tf", "pil", "keras"] | None = None, antialias: bool | None = None,
        crop_to_aspect_ratio: bool | None = None, pad_to_aspect_ratio: bool | None = None, fill: Text | None = None,
        field: str | Sequence[str] | None = None,
        interpolation: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"] | None = None,
    ) -> Self: ...
    @overload
    def resize_with_crop_or_pad(
        self, height: Size, width: int | None = None, *, field: str | Sequence[str] | None = None,
    ) -> Self: ...
    @overload
    def resize_with_crop_or_pad(
        self, *, size: Size, width: int | None = None, field: str | Sequence[str] | None = None,
    ) -> Self: ...
    @overload
    def resize_with_pad(
        self, height: Size, width: int | None = None, *,
        method: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"] | None = None,
        antialias: bool | None = None, field: str | Sequence[str] | None = None,
        interpolation: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"] | None = None,
    ) -> Self: ...
    @overload
    def resize_with_pad(
        self, *, size: Size, width: int | None = None,
        method: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"] | None = None,
        antialias: bool | None = None, field: str | Sequence[str] | None = None,
        interpolation: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"] | None = None,
    ) -> Self: ...
    def resize_shorter(
        self, size: int, *, max_size: int | None = None,
        method: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"] | None = None,
        flavour: Literal["pil", "tf"] | None = None, antialias: bool | None = None,
        field: str | Sequence[str] | None = None,
        interpolation: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"] | None = None,
    ) -> Self: ...
    def resize_to_bucket(
        self, *,
        method: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"] | None = None,
        flavour: Literal["pil", "tf"] | None = None, antialias: bool | None = None,
        crop_to_aspect_ratio: bool | None = None, pad_to_aspect_ratio: bool | None = None, fill: Text | None = None,
        field: str | Sequence[str] | None = None,
        interpolation: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"] | None = None,
    ) -> Self: ...
    @overload
    def crop_to_bounding_box(
        self, y: int, x: int, height: Size, width: int | None = None, *, field: str | Sequence[str] | None = None,
    ) -> Self: ...
    @overload
    def crop_to_bounding_box(
        self, *, size: Size, y: int, x: int, width: int | None = None, field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def central_crop(
        self, fraction: float, *, field: str | Sequence[str] | None = None,
    ) -> Self: ...
    @overload
    def center_crop(
        self, height: Size, width: int | None = None, *, flavour: Literal["keras", "torch"] | None = None,
        field: str | Sequence[str] | None = None,
    ) -> Self: ...
    @overload
    def center_crop(
        self, *, size: Size, width: int | None = None, flavour: Literal["keras", "torch"] | None = None,
        field: str | Sequence[str] | None = None,
    ) -> Self: ...
    @overload
    def random_crop(
        self, height: Size, width: int | None = None, *, padding: int | None = None,
        mode: Literal["constant", "edge", "reflect", "symmetric"] | None = None, fill: Text | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None,
        padding_mode: Literal["constant", "edge", "reflect", "symmetric"] | None = None,
    ) -> Self: ...
    @overload
    def random_crop(
        self, *, size: Size, width: int | None = None, padding: int | None = None,
        mode: Literal["constant", "edge", "reflect", "symmetric"] | None = None, fill: Text | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None,
        padding_mode: Literal["constant", "edge", "reflect", "symmetric"] | None = None,
    ) -> Self: ...
    @overload
    def random_resized_crop(
        self, height: Size, width: int | None = None, *, scale: Text | None = None, ratio: Text | None = None,
        method: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"] | None = None,
        flavour: Literal["pil", "tf"] | None = None, field: str | Sequence[str] | None = None, seed: int | None = None,
        interpolation: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"] | None = None,
    ) -> Self: ...
    @overload
    def random_resized_crop(
        self, *, size: Size, width: int | None = None, scale: Text | None = None, ratio: Text | None = None,
        method: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"] | None = None,
        flavour: Literal["pil", "tf"] | None = None, field: str | Sequence[str] | None = None, seed: int | None = None,
        interpolation: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"] | None = None,
    ) -> Self: ...
    @overload
    def sample_distorted_bounding_box(
        self, height: Size, width: int | None = None, *, area: Text | None = None, ratio: Text | None = None,
        attempts: int | None = None, covered: float | None = None, box_field: str | Sequence[str] | None = None,
        method: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"] | None = None,
        antialias: bool | None = None, field: str | Sequence[str] | None = None, seed: int | None = None,
        interpolation: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"] | None = None,
    ) -> Self: ...
    @overload
    def sample_distorted_bounding_box(
        self, *, size: Size, width: int | None = None, area: Text | None = None, ratio: Text | None = None,
        attempts: int | None = None, covered: float | None = None, box_field: str | Sequence[str] | None = None,
        method: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"] | None = None,
        antialias: bool | None = None, field: str | Sequence[str] | None = None, seed: int | None = None,
        interpolation: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"] | None = None,
    ) -> Self: ...
    def pad(
        self, top: int, bottom: int | None = None, left: int | None = None, right: int | None = None, *,
        mode: Literal["constant", "edge", "reflect", "symmetric"] | None = None, fill: Text | None = None,
        field: str | Sequence[str] | None = None,
        padding_mode: Literal["constant", "edge", "reflect", "symmetric"] | None = None,
    ) -> Self: ...
    def random_flip_left_right(
        self, p: float | None = None, *, field: str | Sequence[str] | None = None, seed: int | None = None,
    ) -> Self: ...
    def random_flip_up_down(
        self, p: float | None = None, *, field: str | Sequence[str] | None = None, seed: int | None = None,
    ) -> Self: ...
    def random_flip(
        self, mode: Literal["horizontal_and_vertical", "horizontal", "vertical"] | None = None, *,
        field: str | Sequence[str] | None = None, seed: int | None = None,
    ) -> Self: ...
    def rot90(
        self, k: int | None = None, *, field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def transpose(
        self, *, field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def random_rotation(
        self, factor: Text, *, fill: Literal["constant", "nearest", "reflect", "wrap"] | None = None,
        interpolation: Literal["nearest", "bilinear"] | None = None, value: Text | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None,
        fill_mode: Literal["constant", "nearest", "reflect", "wrap"] | None = None, fill_value: Text | None = None,
    ) -> Self: ...
    def random_zoom(
        self, height_factor: Text, width_factor: Text | None = None, *,
        fill: Literal["constant", "nearest", "reflect", "wrap"] | None = None,
        interpolation: Literal["nearest", "bilinear"] | None = None, value: Text | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None,
        fill_mode: Literal["constant", "nearest", "reflect", "wrap"] | None = None, fill_value: Text | None = None,
    ) -> Self: ...
    def random_translation(
        self, height_factor: Text, width_factor: Text, *,
        fill: Literal["constant", "nearest", "reflect", "wrap"] | None = None,
        interpolation: Literal["nearest", "bilinear"] | None = None, value: Text | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None,
        fill_mode: Literal["constant", "nearest", "reflect", "wrap"] | None = None, fill_value: Text | None = None,
    ) -> Self: ...
    def random_shear(
        self, x_factor: Text | None = None, y_factor: Text | None = None, *,
        fill: Literal["constant", "nearest", "reflect", "wrap"] | None = None,
        interpolation: Literal["nearest", "bilinear"] | None = None, value: Text | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None,
        fill_mode: Literal["constant", "nearest", "reflect", "wrap"] | None = None, fill_value: Text | None = None,
    ) -> Self: ...
    def random_perspective(
        self, factor: Text | None = None, scale: float | None = None, *,
        interpolation: Literal["nearest", "bilinear"] | None = None, value: Text | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None, fill_value: Text | None = None,
    ) -> Self: ...
    def random_elastic_transform(
        self, factor: Text | None = None, scale: Text | None = None, *, range: Text | None = None,
        flavour: Literal["keras", "fixed"] | None = None,
        fill: Literal["constant", "nearest", "reflect", "wrap"] | None = None,
        interpolation: Literal["nearest", "bilinear"] | None = None, value: Text | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None,
        fill_mode: Literal["constant", "nearest", "reflect", "wrap"] | None = None, fill_value: Text | None = None,
    ) -> Self: ...
    def affine(
        self, *, rotate: Text | None = None, shear_x: Text | None = None, shear_y: Text | None = None,
        zoom: Text | None = None, zoom_x: Text | None = None, zoom_y: Text | None = None, shift_x: Text | None = None,
        shift_y: Text | None = None, flip_x: float | None = None, flip_y: float | None = None,
        perspective: float | None = None, order: Literal["1", "0", "3"] | None = None,
        fill: Literal["constant", "nearest", "reflect", "wrap"] | None = None, value: Text | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None,
        fill_mode: Literal["constant", "nearest", "reflect", "wrap"] | None = None, fill_value: Text | None = None,
    ) -> Self: ...
    def random_affine(
        self, degrees: Text, *, translate: Text | None = None, scale: Text | None = None, shear: Text | None = None,
        interpolation: Literal["nearest", "bilinear"] | None = None, value: Text | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None, fill_value: Text | None = None,
    ) -> Self: ...
    def adjust_brightness(
        self, delta: float, *, flavour: Literal["tf", "keras", "pil"] | None = None, range: Text | None = None,
        field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def random_brightness(
        self, max_delta: float, *, flavour: Literal["tf", "keras"] | None = None, range: Text | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None,
    ) -> Self: ...
    def adjust_contrast(
        self, factor: float, *, flavour: Literal["tf", "keras", "pil"] | None = None, range: Text | None = None,
        field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def random_contrast(
        self, lower: float, upper: float | None = None, *, flavour: Literal["tf", "keras", "pil"] | None = None,
        range: Text | None = None, field: str | Sequence[str] | None = None, seed: int | None = None,
    ) -> Self: ...
    def autocontrast(
        self, *, flavour: Literal["pil", "keras", "torch"] | None = None, range: Text | None = None,
        field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def random_autocontrast(
        self, p: float | None = None, *, flavour: Literal["pil", "keras", "torch"] | None = None,
        range: Text | None = None, field: str | Sequence[str] | None = None, seed: int | None = None,
    ) -> Self: ...
    def equalize(
        self, *, flavour: Literal["pil", "keras"] | None = None, field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def random_equalize(
        self, p: float | None = None, *, flavour: Literal["pil", "keras"] | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None,
    ) -> Self: ...
    def adjust_saturation(
        self, factor: float, *, flavour: Literal["tf", "keras", "pil"] | None = None, range: Text | None = None,
        field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def random_saturation(
        self, lower: float, upper: float | None = None, *, flavour: Literal["tf", "keras", "pil"] | None = None,
        range: Text | None = None, field: str | Sequence[str] | None = None, seed: int | None = None,
    ) -> Self: ...
    def adjust_hue(
        self, delta: float, *, flavour: Literal["tf", "keras", "pil"] | None = None, range: Text | None = None,
        field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def random_hue(
        self, max_delta: Text, *, flavour: Literal["tf", "keras", "pil"] | None = None, range: Text | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None,
    ) -> Self: ...
    def rgb_to_grayscale(
        self, *, channels: int | None = None, flavour: Literal["tf", "pil"] | None = None,
        field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def random_grayscale(
        self, p: float | None = None, *, flavour: Literal["tf", "pil"] | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None,
    ) -> Self: ...
    def random_color_degeneration(
        self, factor: Text, *, range: Text | None = None, field: str | Sequence[str] | None = None,
        seed: int | None = None,
    ) -> Self: ...
    def color_jitter(
        self, brightness: Text | None = None, contrast: Text | None = None, saturation: Text | None = None,
        hue: Text | None = None, *, flavour: Literal["pil", "keras"] | None = None, range: Text | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None,
    ) -> Self: ...
    def adjust_gamma(
        self, gamma: float, *, gain: float | None = None, field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def random_gamma(
        self, lower: float, upper: float, *, gain: float | None = None, field: str | Sequence[str] | None = None,
        seed: int | None = None,
    ) -> Self: ...
    def invert(
        self, *, max: float | None = None, field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def random_invert(
        self, p: float | None = None, *, max: float | None = None, field: str | Sequence[str] | None = None,
        seed: int | None = None,
    ) -> Self: ...
    def posterize(
        self, bits: Text, *, field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def random_posterize(
        self, bits: Text, p: float | None = None, *, field: str | Sequence[str] | None = None, seed: int | None = None,
    ) -> Self: ...
    def solarize(
        self, threshold: Text | None = None, *, addition: Text | None = None, field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def random_solarize(
        self, threshold: Text | None = None, p: float | None = None, *, addition: Text | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None,
    ) -> Self: ...
    def channel_shift(
        self, range: Text, *, field: str | Sequence[str] | None = None, seed: int | None = None,
    ) -> Self: ...
    @overload
    def gaussian_blur(
        self, kernel: int, sigma: Text | None = None, *, p: float | None = None,
        flavour: Literal["torch", "keras"] | None = None, range: Text | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None,
    ) -> Self: ...
    @overload
    def gaussian_blur(
        self, *, kernel_size: int, sigma: Text | None = None, p: float | None = None,
        flavour: Literal["torch", "keras"] | None = None, range: Text | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None,
    ) -> Self: ...
    def adjust_sharpness(
        self, factor: float, *, flavour: Literal["pil", "keras"] | None = None, range: Text | None = None,
        field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def random_sharpness(
        self, lower: float, upper: float, *, p: float | None = None, flavour: Literal["pil", "keras"] | None = None,
        range: Text | None = None, field: str | Sequence[str] | None = None, seed: int | None = None,
    ) -> Self: ...
    def gaussian_noise(
        self, stddev: float, *, mean: float | None = None, clip: bool | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None,
    ) -> Self: ...
    def random_erasing(
        self, p: float | None = None, *, scale: Text | None = None, ratio: Text | None = None,
        value: Text | None = None, flavour: Literal["torch", "keras"] | None = None, range: Text | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None,
    ) -> Self: ...
    def cutout(
        self, size: int, *, p: float | None = None, value: Text | None = None, field: str | Sequence[str] | None = None,
        seed: int | None = None,
    ) -> Self: ...
    @overload
    def cast(
        self, dtype: DType, *, field: str | Sequence[str] | None = None, scale: float | None = None,
        offset: float | None = None, layout: Literal["nhwc", "nchw"] | None = None,
    ) -> Self: ...
    @overload
    def cast(
        self, field: str, dtype: DType, *, scale: float | None = None, offset: float | None = None,
        layout: Literal["nhwc", "nchw"] | None = None,
    ) -> Self: ...
    def rescale(
        self, scale: float, offset: float | None = None, *, field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def per_image_standardization(
        self, *, field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def samplewise(
        self, *, center: bool | None = None, std: bool | None = None, field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def featurewise(
        self, *, mean: Text, std: Text | None = None, field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def zca(
        self, *, file: Text, field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def rand_augment(
        self, num_ops: int | None = None, magnitude: int | None = None, *, bins: int | None = None,
        interpolation: Literal["nearest", "bilinear"] | None = None, fill: Text | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None, num_magnitude_bins: int | None = None,
    ) -> Self: ...
    def trivial_augment_wide(
        self, *, bins: int | None = None, interpolation: Literal["nearest", "bilinear"] | None = None,
        fill: Text | None = None, field: str | Sequence[str] | None = None, seed: int | None = None,
        num_magnitude_bins: int | None = None,
    ) -> Self: ...
    def auto_augment(
        self, policy: Literal["imagenet", "cifar10", "svhn"] | None = None, *,
        interpolation: Literal["nearest", "bilinear"] | None = None, fill: Text | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None,
    ) -> Self: ...
    def augmix(
        self, *, severity: int | None = None, width: int | None = None, depth: int | None = None,
        alpha: float | None = None, all_ops: bool | None = None,
        interpolation: Literal["nearest", "bilinear"] | None = None, fill: Text | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None, mixture_width: int | None = None,
        chain_depth: int | None = None,
    ) -> Self: ...
    def image_data_generator(
        self, *, rotation: Text | None = None, width_shift: Text | None = None, height_shift: Text | None = None,
        shear: Text | None = None, zoom: Text | None = None, channel_shift: Text | None = None,
        horizontal_flip: bool | None = None, vertical_flip: bool | None = None, brightness: Text | None = None,
        fill: Literal["constant", "nearest", "reflect", "wrap"] | None = None, cval: Text | None = None,
        order: Literal["1", "0", "3"] | None = None, rescale: float | None = None,
        samplewise_center: bool | None = None, samplewise_std: bool | None = None, mean: Text | None = None,
        std: Text | None = None, flavour: Literal["keras3", "keras28", "fixed"] | None = None,
        field: str | Sequence[str] | None = None, seed: int | None = None, rotation_range: Text | None = None,
        width_shift_range: Text | None = None, height_shift_range: Text | None = None, shear_range: Text | None = None,
        zoom_range: Text | None = None, channel_shift_range: Text | None = None, brightness_range: Text | None = None,
        fill_mode: Literal["constant", "nearest", "reflect", "wrap"] | None = None, fill_value: Text | None = None,
        interpolation_order: Literal["1", "0", "3"] | None = None, samplewise_std_normalization: bool | None = None,
    ) -> Self: ...
    def mask(
        self, field: str | Sequence[str], *, image: str | Sequence[str] | None = None, fill: float | None = None,
    ) -> Self: ...
    def boxes(
        self, field: str | Sequence[str], *, format: Literal["xyxy", "xywh", "yxyx", "cxcywh"] | None = None,
        normalized: bool | None = None, image: str | Sequence[str] | None = None, min_area: float | None = None,
        min_visible: float | None = None, labels: Text | None = None, of: Text | None = None,
    ) -> Self: ...
    def keypoints(
        self, field: str | Sequence[str], *, format: Literal["xy", "yx", "xyv"] | None = None,
        normalized: bool | None = None, origin: Literal["corner", "centre"] | None = None,
        outside: Literal["keep", "zero", "remove"] | None = None, image: str | Sequence[str] | None = None,
        labels: Text | None = None,
    ) -> Self: ...
    def mixup(
        self, alpha: float | None = None, *, group: int | None = None, p: float | None = None,
        labels: str | Sequence[str] | None = None, field: str | Sequence[str] | None = None, seed: int | None = None,
    ) -> Self: ...
    def cutmix(
        self, alpha: float | None = None, *, group: int | None = None, p: float | None = None,
        labels: str | Sequence[str] | None = None, field: str | Sequence[str] | None = None, seed: int | None = None,
    ) -> Self: ...
    def batch(
        self, size: int | None = None, drop_remainder: bool | None = None, *, pad_remainder: bool | None = None,
        valid: Text | None = None, global_size: int | None = None, batch_size: int | None = None,
        drop_last: bool | None = None, global_batch_size: int | None = None,
    ) -> Self: ...
    def padded_batch(
        self, size: int | None = None, *shapes: Text, padding: Text | None = None, max: Text | None = None,
        drop_remainder: bool | None = None, pad_remainder: bool | None = None, valid: Text | None = None,
        global_size: int | None = None, batch_size: int | None = None, padding_values: Text | None = None,
        drop_last: bool | None = None, global_batch_size: int | None = None,
    ) -> Self: ...
    def unbatch(
        self,
    ) -> Self: ...
    @overload
    def rebatch(
        self, size: int, drop_remainder: bool | None = None, *, pad_remainder: bool | None = None,
        valid: Text | None = None, drop_last: bool | None = None,
    ) -> Self: ...
    @overload
    def rebatch(
        self, *, batch_size: int, drop_remainder: bool | None = None, pad_remainder: bool | None = None,
        valid: Text | None = None, drop_last: bool | None = None,
    ) -> Self: ...
    def bucket_by_aspect_ratio(
        self, edges: Text, *, sizes: Text | None = None, field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def prefetch(
        self, count: Text | None = None, buffer_size: Text | None = None,
    ) -> Self: ...
    def on_device(
        self, *, field: str | Sequence[str] | None = None,
    ) -> Self: ...
    def cache(
        self, path: Text | None = None, *, max: int | None = None, freeze: bool | None = None,
        filename: Text | None = None,
    ) -> Self: ...
    def options(
        self, *, on_error: Literal["raise", "skip", "replace"] | None = None, max_bad: int | None = None,
        seed: int | None = None, fuse: bool | None = None, positions: bool | None = None,
        accuracy: Literal["exact", "fast"] | None = None, layout: Literal["nhwc", "nchw"] | None = None,
        unit: Literal["off", "f32", "f16", "bf16"] | None = None, read_ahead: Text | None = None,
        tune: Text | None = None,
    ) -> Self: ...
