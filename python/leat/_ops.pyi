# SPDX-License-Identifier: Apache-2.0
"""The operations as methods, with their types.

Written by scripts/python_ops.py; change the table of the engine, not this file.
"""

import os
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Self, TypeAlias

Text: TypeAlias = str | float | os.PathLike[str] | Sequence[float]
DType: TypeAlias = Any  # "f32", "float32", numpy.float32

class Arg(NamedTuple):
    name: str
    type: str
    default: str | None
    words: tuple[str, ...] = ...
    low: float = ...
    high: float = ...
    named: bool = ...
    help: str = ...

class Op(NamedTuple):
    kind: str
    help: str
    like: str
    args: tuple[Arg, ...] = ...

FIELD: Arg
OPS: dict[str, Op]

class Operations:
    def _add(self, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> Self: ...

    def shuffle(
        self,
        window: int | None = None,
        *,
        block: int | None = None,
        group: int | None = None,
        seed: int | None = None,
        reshuffle: bool | None = None,
    ) -> Self:
        """Another order in every epoch: of all samples, within windows of consecutive ones, or by blocks.

        window: 0: all samples at once (streams: 4096); else this many at a time (default 0)
        block: for storage that wants to be read in order: bytes of consecutive samples that stay
            together, such as 4MiB; 0: none do (default 0)
        group: with block: so many blocks are shuffled together (default 16)
        seed: its own seed; without it the pipeline's
        reshuffle: false: the same order in every epoch (default true)
        """
        ...

    def take(
        self,
        count: int,
    ) -> Self:
        """The first samples only.

        count: how many; -1: all
        """
        ...

    def skip(
        self,
        count: int,
    ) -> Self:
        """All but the first samples.

        count: how many to leave out; -1: all
        """
        ...

    def repeat(
        self,
        count: int | None = None,
    ) -> Self:
        """Begins again, count times or without end.

        count: -1: without end (default -1)
        """
        ...

    def interleave(
        self,
        cycle: int | None = None,
        block: int | None = None,
    ) -> Self:
        """Records of several shards in turn: so many shards at a time, so many records of each.

        cycle: shards at a time (default 16)
        block: records of each in turn (default 1)
        """
        ...

    def flat_map(
        self,
    ) -> Self:
        """Shards one after the other, which is the order without it: interleave cycle=1."""
        ...

    def balance(
        self,
        *,
        field: str | None = None,
        weights: Text | None = None,
        n: int | None = None,
        seed: int | None = None,
    ) -> Self:
        """Every class equally often, or by weights, each going through its own samples in its own drawn
        order.

        field: the field whose values are the classes (default label)
        weights: how often each class comes, by rising label: 0.5,0.3,0.2
        n: samples in an epoch; 0: the size of the largest class times the number of classes (default 0)
        seed: its own seed; without it the pipeline's
        """
        ...

    def oversample(
        self,
        *,
        field: str | None = None,
    ) -> Self:
        """Classes in turn, each repeated up to the size of the largest.

        field: the field whose values are the classes (default label)
        """
        ...

    def rejection_resample(
        self,
        *,
        field: str | None = None,
        target: Text | None = None,
        initial: Text | None = None,
        seed: int | None = None,
    ) -> Self:
        """Leaves out samples so that classes come in the proportions of target.

        field: the field whose values are the classes (default label)
        target: proportions by rising label, such as 0.5,0.5; left out: all equal
        initial: streams need it, others count and refuse it: the proportions that are there, for labels
            from 0
        seed: its own seed; without it the pipeline's
        """
        ...

    def split(
        self,
        part: Literal["train", "validation", "test"],
        *,
        fractions: Text | None = None,
        by: Literal["random", "hash", "order", "keras_first", "keras_last"] | None = None,
        stratify: bool | None = None,
        group: Text | None = None,
        field: str | None = None,
        seed: int | None = None,
    ) -> Self:
        """One part of the samples; the same text with another part gives the rest.

        part: which one
        fractions: shares of train, validation and test (default 0.8,0.2)
        by: hash: of the path or the record, stable when files are added; order: the first are for train
            (default random)
        stratify: keep the shares in every class (default false)
        group: a field whose equal values stay together; dir: files of one folder do
        field: the classes of stratify (default label)
        seed: its own seed, 0 if left out: the pipeline's seed does not count
        """
        ...

    def parse(
        self,
        *features: Text,
        from_: str | None = None,
    ) -> Self:
        """Features of a tf.train.Example: name:type, name:type[shape], name:type[*] (any number), with
        =default.

        features: such as image:bytes label:int64 box:float[4] ids:int64[*100] weight:float=1
        from_: the field that is parsed (default record)
        """
        ...

    def reshape(
        self,
        *shape: int,
        field: str | None = None,
    ) -> Self:
        """Gives a field another shape with as many values; one -1 means what is left.

        field: which field (default image)
        shape: sizes of the axes
        """
        ...

    def select(
        self,
        *fields: Text,
    ) -> Self:
        """Keeps these fields, in this order.

        fields: their names
        """
        ...

    def enumerate(
        self,
        name: Text | None = None,
        *,
        of: Literal["position", "sample"] | None = None,
    ) -> Self:
        """Adds a field with the place of the sample in the epoch, or with its number in the data set.

        name: of the new field, i64 (default index)
        of: position: in the finished order, from 0; sample: in the data set (default position)
        """
        ...

    def label_map(
        self,
        map: Text | None = None,
        *,
        file: Text | None = None,
        default: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Other numbers for labels: FROM=TO pairs, or a file of them.

        map: such as 3=0,5=1; with names of classes in quotes: 'cats=0,dogs=1'
        file: a text file with a pair in each line
        default: for labels that are not in the map; else they are errors
        field: which field (default label)
        """
        ...

    def one_hot(
        self,
        classes: int | None = None,
        *,
        field: str | None = None,
        smoothing: float | None = None,
        off: float | None = None,
        on: float | None = None,
    ) -> Self:
        """A label to f32 numbers, one for each class: 1 for its own, 0 for the others; smoothed if asked.

        field: which field (default label)
        classes: how many; 0: as many as the source knows (default 0)
        smoothing: share that is spread over all classes (default 0)
        off: for other classes (default 0)
        on: for its own class (default 1)
        """
        ...

    def decode(
        self,
        *,
        field: str | None = None,
        channels: int | None = None,
        orient: bool | None = None,
        depth: Literal["8", "16"] | None = None,
        palette: Literal["colour", "index"] | None = None,
    ) -> Self:
        """An image file (JPEG, PNG, WebP, GIF, BMP, told by content) to u8 or u16 pixels.

        field: which field (default image)
        channels: 1 gray, 3 RGB, 4 RGBA, 0 as stored (default 3)
        orient: turn the picture as its EXIF data says (default false)
        depth: 16: u16 pixels; files of 8 bits are multiplied by 257 (default 8)
        palette: index: the numbers that a PNG with a palette stores, one channel; for masks (default
            colour)
        """
        ...

    def decode_raw(
        self,
        dtype: DType,
        *,
        field: str | None = None,
    ) -> Self:
        """Takes bytes as values of a type, little-endian.

        field: which field (default image)
        dtype: type of the values
        """
        ...

    def adjust_jpeg_quality(
        self,
        quality: int,
        *,
        field: str | None = None,
    ) -> Self:
        """Encodes as JPEG and decodes again, for the noise that this leaves.

        quality: 0 to 100
        field: which field (default image)
        """
        ...

    def random_jpeg_quality(
        self,
        lower: int,
        upper: int,
        *,
        field: str | None = None,
    ) -> Self:
        """The same with a whole number drawn from [lower, upper).

        lower: least quality
        upper: above the best quality
        field: which field (default image)
        """
        ...

    def resize(
        self,
        height: int,
        width: int | None = None,
        *,
        method: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"] | None = None,
        flavour: Literal["tf", "pil", "keras"] | None = None,
        antialias: bool | None = None,
        crop_to_aspect_ratio: bool | None = None,
        pad_to_aspect_ratio: bool | None = None,
        fill: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Another size; flavour tf gives f32 (nearest keeps the type), flavour pil is antialiased and gives
        u8.

        height: in pixels
        width: in pixels; as the height if left out
        method: interpolation; pil has nearest, box, bilinear, hamming, bicubic, lanczos; tf all but the
            last three (default bilinear)
        flavour: whose arithmetic: tf.image.resize, Pillow, or tf rounded back to u8 (default tf)
        antialias: widen the filter when the picture shrinks; pil always does (default false)
        crop_to_aspect_ratio: only the largest part in the middle that has the shape of the result
            (default false)
        pad_to_aspect_ratio: with a border first that gives it the shape of the result (default false)
        fill: of a constant border: one number, or one a channel, in the picture's units (default 0)
        field: which field (default image)
        """
        ...

    def resize_with_crop_or_pad(
        self,
        height: int,
        width: int | None = None,
        *,
        field: str | None = None,
    ) -> Self:
        """This size by cutting off or adding zeros, the same on both sides; values stay as they are.

        height: in pixels
        width: in pixels; as the height if left out
        field: which field (default image)
        """
        ...

    def resize_with_pad(
        self,
        height: int,
        width: int | None = None,
        *,
        method: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"] | None = None,
        antialias: bool | None = None,
        field: str | None = None,
    ) -> Self:
        """Resized to fit into this size with its aspect ratio, with zeros around it.

        height: in pixels
        width: in pixels; as the height if left out
        method: interpolation of tf.image.resize (default bilinear)
        antialias: widen the filter when the picture shrinks (default false)
        field: which field (default image)
        """
        ...

    def resize_shorter(
        self,
        size: int,
        *,
        max_size: int | None = None,
        method: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"] | None = None,
        flavour: Literal["pil", "tf"] | None = None,
        antialias: bool | None = None,
        field: str | None = None,
    ) -> Self:
        """Resized with its aspect ratio so that the shorter side has this length; a crop usually follows.

        size: of the shorter side, in pixels
        max_size: most pixels of the longer side; 0: any (default 0)
        method: interpolation; pil has nearest, box, bilinear, hamming, bicubic, lanczos; tf all but the
            last three (default bilinear)
        flavour: whose resize: Pillow's, antialiased, u8; or tf.image.resize, f32 (default pil)
        antialias: widen the filter when the picture shrinks (default false)
        field: which field (default image)
        """
        ...

    def resize_to_bucket(
        self,
        *,
        method: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"] | None = None,
        flavour: Literal["pil", "tf"] | None = None,
        antialias: bool | None = None,
        crop_to_aspect_ratio: bool | None = None,
        pad_to_aspect_ratio: bool | None = None,
        fill: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """The size that bucket_by_aspect_ratio gives to the batch of the picture.

        method: interpolation; pil has nearest, box, bilinear, hamming, bicubic, lanczos; tf all but the
            last three (default bilinear)
        flavour: whose resize: Pillow's, antialiased, u8; or tf.image.resize, f32 (default pil)
        antialias: widen the filter when the picture shrinks (default false)
        crop_to_aspect_ratio: only the largest part in the middle that has the shape of the result
            (default false)
        pad_to_aspect_ratio: with a border first that gives it the shape of the result (default false)
        fill: of a constant border: one number, or one a channel, in the picture's units (default 0)
        field: which field (default image)
        """
        ...

    def crop_to_bounding_box(
        self,
        y: int,
        x: int,
        height: int,
        width: int | None = None,
        *,
        field: str | None = None,
    ) -> Self:
        """The part of a given size at a given place; only that part is decoded.

        y: rows above it
        x: columns to its left
        height: in pixels
        width: in pixels; as the height if left out
        field: which field (default image)
        """
        ...

    def central_crop(
        self,
        fraction: float,
        *,
        field: str | None = None,
    ) -> Self:
        """The middle part, a share of each side; only that part is decoded.

        fraction: of height and of width
        field: which field (default image)
        """
        ...

    def center_crop(
        self,
        height: int,
        width: int | None = None,
        *,
        field: str | None = None,
    ) -> Self:
        """The middle part, of a given size; only that part is decoded.

        height: in pixels
        width: in pixels; as the height if left out
        field: which field (default image)
        """
        ...

    def random_crop(
        self,
        height: int,
        width: int | None = None,
        *,
        padding: int | None = None,
        mode: Literal["constant", "edge", "reflect", "symmetric"] | None = None,
        fill: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """A part of a given size at a drawn place; only that part is decoded.

        height: in pixels
        width: in pixels; as the height if left out
        padding: a border of so many pixels first (default 0)
        mode: what the border shows (default constant)
        fill: of a constant border: one number, or one a channel, in the picture's units (default 0)
        field: which field (default image)
        """
        ...

    def random_resized_crop(
        self,
        height: int,
        width: int | None = None,
        *,
        scale: Text | None = None,
        ratio: Text | None = None,
        method: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic", "box", "hamming", "lanczos"] | None = None,
        flavour: Literal["pil", "tf"] | None = None,
        field: str | None = None,
    ) -> Self:
        """A part of drawn area, aspect ratio and place, resized; only that part is decoded.

        height: in pixels
        width: in pixels; as the height if left out
        scale: share of the area, from,to (default 0.08,1)
        ratio: width over height, from,to (default 3/4,4/3)
        method: interpolation; pil has nearest, box, bilinear, hamming, bicubic, lanczos; tf all but the
            last three (default bilinear)
        flavour: whose resize: Pillow's, antialiased, u8; or tf.image.resize, f32 (default pil)
        field: which field (default image)
        """
        ...

    def sample_distorted_bounding_box(
        self,
        height: int,
        width: int | None = None,
        *,
        area: Text | None = None,
        ratio: Text | None = None,
        attempts: int | None = None,
        covered: float | None = None,
        box_field: str | None = None,
        method: Literal["bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"] | None = None,
        antialias: bool | None = None,
        field: str | None = None,
    ) -> Self:
        """A part of drawn height, aspect ratio and place as TensorFlow draws it, resized; only that part is
        decoded.

        height: in pixels
        width: in pixels; as the height if left out
        area: share of the picture's area, from,to (default 0.05,1)
        ratio: width over height, from,to (default 0.75,1.33)
        attempts: then the whole picture is taken (default 100)
        covered: least share of the picture, or of one of its boxes, as min_object_covered (default 0.1)
        box_field: boxes of which at least one is covered; without it the whole picture
        method: interpolation of tf.image.resize (default bilinear)
        antialias: widen the filter when the picture shrinks (default false)
        field: which field (default image)
        """
        ...

    def pad(
        self,
        top: int,
        bottom: int | None = None,
        left: int | None = None,
        right: int | None = None,
        *,
        mode: Literal["constant", "edge", "reflect", "symmetric"] | None = None,
        fill: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """A border around the picture.

        top: rows
        bottom: rows; as top if left out
        left: columns; as top if left out
        right: columns; as left if left out
        mode: what the border shows (default constant)
        fill: of a constant border: one number, or one a channel, in the picture's units (default 0)
        field: which field (default image)
        """
        ...

    def random_flip_left_right(
        self,
        p: float | None = None,
        *,
        field: str | None = None,
    ) -> Self:
        """Mirrors left and right, by chance.

        p: how likely (default 0.5)
        field: which field (default image)
        """
        ...

    def random_flip_up_down(
        self,
        p: float | None = None,
        *,
        field: str | None = None,
    ) -> Self:
        """Mirrors top and bottom, by chance.

        p: how likely (default 0.5)
        field: which field (default image)
        """
        ...

    def random_flip(
        self,
        mode: Literal["horizontal_and_vertical", "horizontal", "vertical"] | None = None,
        *,
        field: str | None = None,
    ) -> Self:
        """Mirrors half of the pictures; with both directions, one coin decides about both.

        mode: which way (default horizontal_and_vertical)
        field: which field (default image)
        """
        ...

    def rot90(
        self,
        k: int | None = None,
        *,
        field: str | None = None,
    ) -> Self:
        """Turned counter-clockwise by quarters.

        k: how many quarters; below 0: clockwise (default 1)
        field: which field (default image)
        """
        ...

    def transpose(
        self,
        *,
        field: str | None = None,
    ) -> Self:
        """Rows become columns.

        field: which field (default image)
        """
        ...

    def random_rotation(
        self,
        factor: Text,
        *,
        fill: Literal["constant", "nearest", "reflect", "wrap"] | None = None,
        interpolation: Literal["nearest", "bilinear"] | None = None,
        value: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Turns the picture about its middle, counter-clockwise for positive numbers.

        factor: share of a full turn: 0.1 is up to 36 degrees either way; or low,high
        fill: what lies beyond the edge (default reflect)
        interpolation: nearest keeps the type, bilinear gives f32 (default bilinear)
        value: of fill=constant: one number, or one a channel (default 0)
        field: which field (default image)
        """
        ...

    def random_zoom(
        self,
        height_factor: Text,
        width_factor: Text | None = None,
        *,
        fill: Literal["constant", "nearest", "reflect", "wrap"] | None = None,
        interpolation: Literal["nearest", "bilinear"] | None = None,
        value: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Shrinks (positive numbers) or enlarges (negative ones) the picture about its middle.

        height_factor: change of the height: 0.2 is -20 % to +20 %; or low,high
        width_factor: the same for the width; without it both change alike
        fill: what lies beyond the edge (default reflect)
        interpolation: nearest keeps the type, bilinear gives f32 (default bilinear)
        value: of fill=constant: one number, or one a channel (default 0)
        field: which field (default image)
        """
        ...

    def random_translation(
        self,
        height_factor: Text,
        width_factor: Text,
        *,
        fill: Literal["constant", "nearest", "reflect", "wrap"] | None = None,
        interpolation: Literal["nearest", "bilinear"] | None = None,
        value: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Moves the picture, down and to the right for positive numbers.

        height_factor: share of the height; 0.2 is up to 20 % either way; or low,high
        width_factor: share of the width
        fill: what lies beyond the edge (default reflect)
        interpolation: nearest keeps the type, bilinear gives f32 (default bilinear)
        value: of fill=constant: one number, or one a channel (default 0)
        field: which field (default image)
        """
        ...

    def random_shear(
        self,
        x_factor: Text | None = None,
        y_factor: Text | None = None,
        *,
        fill: Literal["constant", "nearest", "reflect", "wrap"] | None = None,
        interpolation: Literal["nearest", "bilinear"] | None = None,
        value: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Slants the picture about its upper left corner; both directions have the same drawn sign.

        x_factor: pixels to the side for each one down, 0 to 1; or low,high (default 0)
        y_factor: pixels down for each one to the side (default 0)
        fill: what lies beyond the edge (default reflect)
        interpolation: nearest keeps the type, bilinear gives f32 (default bilinear)
        value: of fill=constant: one number, or one a channel (default 0)
        field: which field (default image)
        """
        ...

    def random_perspective(
        self,
        factor: Text | None = None,
        scale: float | None = None,
        *,
        interpolation: Literal["nearest", "bilinear"] | None = None,
        value: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Moves the corners of the picture but the upper left one; outside lies a constant.

        factor: how likely, drawn from 0,factor or low,high (default 1)
        scale: how far corners move (default 1)
        interpolation: nearest keeps the type, bilinear gives f32 (default bilinear)
        value: of fill=constant: one number, or one a channel (default 0)
        field: which field (default image)
        """
        ...

    def random_elastic_transform(
        self,
        factor: Text | None = None,
        scale: Text | None = None,
        *,
        range: Text | None = None,
        flavour: Literal["keras", "fixed"] | None = None,
        fill: Literal["constant", "nearest", "reflect", "wrap"] | None = None,
        interpolation: Literal["nearest", "bilinear"] | None = None,
        value: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Pulls the picture about as if it were of rubber.

        factor: how likely, drawn from 0,factor or low,high (default 1)
        scale: how strong, drawn from 0,scale or low,high (default 1)
        range: what f32 results are clipped to (default 0,255)
        flavour: keras moves both axes by the same noise, fixed each by its own (default keras)
        fill: what lies beyond the edge (default reflect)
        interpolation: nearest keeps the type, bilinear gives f32 (default bilinear)
        value: of fill=constant: one number, or one a channel (default 0)
        field: which field (default image)
        """
        ...

    def affine(
        self,
        *,
        rotate: Text | None = None,
        shear_x: Text | None = None,
        shear_y: Text | None = None,
        zoom: Text | None = None,
        zoom_x: Text | None = None,
        zoom_y: Text | None = None,
        shift_x: Text | None = None,
        shift_y: Text | None = None,
        flip_x: float | None = None,
        flip_y: float | None = None,
        perspective: float | None = None,
        order: Literal["1", "0", "3"] | None = None,
        fill: Literal["constant", "nearest", "reflect", "wrap"] | None = None,
        value: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Any mix of flips, zoom, shear, rotation, shift and perspective about the middle, in one sampling.

        rotate: degrees counter-clockwise: 20 is -20 to 20; or low,high (default 0)
        shear_x: degrees: the lower half goes to the right (default 0)
        shear_y: degrees: the right half goes down (default 0)
        zoom: 0.2 is a factor from 0.8 to 1.2, above 1 enlarges; or low,high (default 0)
        zoom_x: the same for the width alone (default 0)
        zoom_y: the same for the height alone (default 0)
        shift_x: share of the width, to the right (default 0)
        shift_y: share of the height, down (default 0)
        flip_x: how likely left and right change places (default 0)
        flip_y: how likely top and bottom change places (default 0)
        perspective: corners move by up to half this share of the sides (default 0)
        order: of the spline: 0 takes the nearest pixel and keeps the type, 1 is linear, 3 cubic (default
            1)
        fill: what lies beyond the edge (default reflect)
        value: of fill=constant: one number, or one a channel (default 0)
        field: which field (default image)
        """
        ...

    def random_affine(
        self,
        degrees: Text,
        *,
        translate: Text | None = None,
        scale: Text | None = None,
        shear: Text | None = None,
        interpolation: Literal["nearest", "bilinear"] | None = None,
        value: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Rotation, shift, scale and shear of a u8 picture in one sampling, as Pillow does it.

        degrees: clockwise: 20 is -20 to 20; or low,high
        translate: largest shift x,y as shares of width and height (default 0,0)
        scale: from,to; above 1 enlarges (default 1,1)
        shear: degrees: one number, low,high or x_low,x_high,y_low,y_high (default 0,0)
        interpolation: both give u8 (default nearest)
        value: of fill=constant: one number, or one a channel (default 0)
        field: which field (default image)
        """
        ...

    def adjust_brightness(
        self,
        delta: float,
        *,
        flavour: Literal["tf", "keras", "pil"] | None = None,
        range: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Adds a number to all values; u8 counts as 0 to 1 and is clipped.

        delta: what is added; keras: a share of the range; pil: a factor
        flavour: tf keeps the type; keras gives f32 as the layer; pil works on u8 as Pillow, torchvision
            (default tf)
        range: flavour=keras: the values that pictures have, low,high (default 0,255)
        field: which field (default image)
        """
        ...

    def random_brightness(
        self,
        max_delta: float,
        *,
        flavour: Literal["tf", "keras"] | None = None,
        range: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Adds one number drawn from [-max_delta, max_delta) to all values; u8 counts as 0 to 1 and is
        clipped.

        max_delta: largest change
        flavour: tf keeps the type; keras gives f32, changes by a share of the range and clips (default
            tf)
        range: flavour=keras: the values that pictures have, low,high (default 0,255)
        field: which field (default image)
        """
        ...

    def adjust_contrast(
        self,
        factor: float,
        *,
        flavour: Literal["tf", "keras", "pil"] | None = None,
        range: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Moves values away from their mean, or toward it with a factor below 1.

        factor: 1 changes nothing
        flavour: tf keeps the type; keras gives f32 and clips; pil works on u8 around the gray mean
            (default tf)
        range: flavour=keras: the values that pictures have, low,high (default 0,255)
        field: which field (default image)
        """
        ...

    def random_contrast(
        self,
        lower: float,
        upper: float | None = None,
        *,
        flavour: Literal["tf", "keras", "pil"] | None = None,
        range: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """The same with a factor drawn from [lower, upper).

        lower: smallest factor
        upper: largest factor; with flavour=keras they are 1 - lower and 1 + upper
        flavour: tf keeps the type; keras gives f32 and clips; pil works on u8 around the gray mean
            (default tf)
        range: flavour=keras: the values that pictures have, low,high (default 0,255)
        field: which field (default image)
        """
        ...

    def autocontrast(
        self,
        *,
        flavour: Literal["pil", "keras", "torch"] | None = None,
        range: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Stretches each channel from its smallest and largest value to 0 and 255.

        flavour: pil as Pillow; keras gives f32; torch as torchvision does tensors (default pil)
        range: flavour=keras: the values that pictures have, low,high (default 0,255)
        field: which field (default image)
        """
        ...

    def random_autocontrast(
        self,
        p: float | None = None,
        *,
        flavour: Literal["pil", "keras", "torch"] | None = None,
        range: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """The same, by chance.

        p: how likely (default 0.5)
        flavour: pil as Pillow; keras gives f32; torch as torchvision does tensors (default pil)
        range: flavour=keras: the values that pictures have, low,high (default 0,255)
        field: which field (default image)
        """
        ...

    def equalize(
        self,
        *,
        flavour: Literal["pil", "keras"] | None = None,
        field: str | None = None,
    ) -> Self:
        """Spreads the u8 values of each channel so that all are about equally frequent.

        flavour: whose arithmetic (default pil)
        field: which field (default image)
        """
        ...

    def random_equalize(
        self,
        p: float | None = None,
        *,
        flavour: Literal["pil", "keras"] | None = None,
        field: str | None = None,
    ) -> Self:
        """The same, by chance.

        p: how likely (default 0.5)
        flavour: whose arithmetic (default pil)
        field: which field (default image)
        """
        ...

    def adjust_saturation(
        self,
        factor: float,
        *,
        flavour: Literal["tf", "keras", "pil"] | None = None,
        range: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Multiplies the saturation of colours.

        factor: 0 gives gray, 1 changes nothing; keras: 0.5 changes nothing
        flavour: tf keeps the type; keras gives f32 as the layer; pil works on u8 as Pillow, torchvision
            (default tf)
        range: flavour=keras: the values that pictures have, low,high (default 0,255)
        field: which field (default image)
        """
        ...

    def random_saturation(
        self,
        lower: float,
        upper: float | None = None,
        *,
        flavour: Literal["tf", "keras", "pil"] | None = None,
        range: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """The same with a factor drawn from [lower, upper).

        lower: smallest factor
        upper: largest factor; keras: without it -lower to lower, as the layer
        flavour: tf keeps the type; keras gives f32 as the layer; pil works on u8 as Pillow, torchvision
            (default tf)
        range: flavour=keras: the values that pictures have, low,high (default 0,255)
        field: which field (default image)
        """
        ...

    def adjust_hue(
        self,
        delta: float,
        *,
        flavour: Literal["tf", "keras", "pil"] | None = None,
        range: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Turns the hue of colours by a part of the circle.

        delta: part of a turn
        flavour: tf keeps the type; keras gives f32 as the layer; pil works on u8 as Pillow, torchvision
            (default tf)
        range: flavour=keras: the values that pictures have, low,high (default 0,255)
        field: which field (default image)
        """
        ...

    def random_hue(
        self,
        max_delta: Text,
        *,
        flavour: Literal["tf", "keras", "pil"] | None = None,
        range: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """The same by a part drawn from [-max_delta, max_delta).

        max_delta: 0 to 0.5, or low,high; keras: the layer's factor, twice as large
        flavour: tf keeps the type; keras gives f32 as the layer; pil works on u8 as Pillow, torchvision
            (default tf)
        range: flavour=keras: the values that pictures have, low,high (default 0,255)
        field: which field (default image)
        """
        ...

    def rgb_to_grayscale(
        self,
        *,
        channels: int | None = None,
        flavour: Literal["tf", "pil"] | None = None,
        field: str | None = None,
    ) -> Self:
        """Colours to gray, as one channel or as three equal ones.

        channels: 1, or 3 equal ones (default 1)
        flavour: whose weights: tf.image on u8 and f32, or Pillow and torchvision on u8 (default tf)
        field: which field (default image)
        """
        ...

    def random_grayscale(
        self,
        p: float | None = None,
        *,
        flavour: Literal["tf", "pil"] | None = None,
        field: str | None = None,
    ) -> Self:
        """Makes three equal channels of colours, by chance.

        p: how likely (default 0.1)
        flavour: whose weights: tf.image on u8 and f32, or Pillow and torchvision on u8 (default tf)
        field: which field (default image)
        """
        ...

    def random_color_degeneration(
        self,
        factor: Text,
        *,
        range: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Moves colours toward their gray by a drawn share, as f32.

        factor: largest share, either way, or low,high
        range: flavour=keras: the values that pictures have, low,high (default 0,255)
        field: which field (default image)
        """
        ...

    def color_jitter(
        self,
        brightness: Text | None = None,
        contrast: Text | None = None,
        saturation: Text | None = None,
        hue: Text | None = None,
        *,
        flavour: Literal["pil", "keras"] | None = None,
        range: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Brightness, contrast, saturation and hue by drawn amounts, in a drawn order.

        brightness: factor from 1 - x to 1 + x, or low,high (default 0)
        contrast: the same (default 0)
        saturation: the same (default 0)
        hue: part of a turn from -x to x, or low,high; at most 0.5 (default 0)
        flavour: pil: u8 as torchvision on Pillow's images; keras: f32, in this order, the layers' factors
            (default pil)
        range: flavour=keras: the values that pictures have, low,high (default 0,255)
        field: which field (default image)
        """
        ...

    def adjust_gamma(
        self,
        gamma: float,
        *,
        gain: float | None = None,
        field: str | None = None,
    ) -> Self:
        """gain times each value to the power gamma; u8 counts as 0 to 1.

        gamma: above 1 darkens
        gain: factor afterwards (default 1)
        field: which field (default image)
        """
        ...

    def random_gamma(
        self,
        lower: float,
        upper: float,
        *,
        gain: float | None = None,
        field: str | None = None,
    ) -> Self:
        """The same with gamma drawn from [lower, upper).

        lower: smallest gamma
        upper: largest gamma
        gain: factor afterwards (default 1)
        field: which field (default image)
        """
        ...

    def invert(
        self,
        *,
        max: float | None = None,
        field: str | None = None,
    ) -> Self:
        """The largest value minus each value.

        max: f32: the largest value of a pixel, such as 1 or 255
        field: which field (default image)
        """
        ...

    def random_invert(
        self,
        p: float | None = None,
        *,
        max: float | None = None,
        field: str | None = None,
    ) -> Self:
        """The same, by chance.

        p: how likely (default 0.5)
        max: f32: the largest value of a pixel, such as 1 or 255
        field: which field (default image)
        """
        ...

    def posterize(
        self,
        bits: Text,
        *,
        field: str | None = None,
    ) -> Self:
        """Keeps the highest bits of u8 values.

        bits: how many to keep, 0 to 8
        field: which field (default image)
        """
        ...

    def random_posterize(
        self,
        bits: Text,
        p: float | None = None,
        *,
        field: str | None = None,
    ) -> Self:
        """The same, by chance, and with a drawn number of bits if two are given.

        bits: how many to keep, 0 to 8
        p: how likely (default 0.5)
        field: which field (default image)
        """
        ...

    def solarize(
        self,
        threshold: Text | None = None,
        *,
        addition: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Inverts u8 values that are not below a threshold.

        threshold: values from here on are inverted (default 128)
        addition: added and clipped before, -255 to 255 (default 0)
        field: which field (default image)
        """
        ...

    def random_solarize(
        self,
        threshold: Text | None = None,
        p: float | None = None,
        *,
        addition: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """The same, by chance, and with drawn numbers where two are given.

        threshold: values from here on are inverted (default 128)
        p: how likely (default 0.5)
        addition: added and clipped before, -255 to 255 (default 0)
        field: which field (default image)
        """
        ...

    def channel_shift(
        self,
        range: Text,
        *,
        field: str | None = None,
    ) -> Self:
        """Adds one drawn number to all values and clips them to the range the picture had, as f32.

        range: largest change, or low,high
        field: which field (default image)
        """
        ...

    def gaussian_blur(
        self,
        kernel: int,
        sigma: Text | None = None,
        *,
        p: float | None = None,
        flavour: Literal["torch", "keras"] | None = None,
        range: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Blurs with a Gaussian of drawn width.

        kernel: pixels along each axis, an odd number
        sigma: standard deviation, from,to (default 0.1,2)
        p: how likely (default 1)
        flavour: torch: reflects at the border, keeps the type; keras: zeros there, gives f32, clips
            (default torch)
        range: flavour=keras: the values that pictures have, low,high (default 0,255)
        field: which field (default image)
        """
        ...

    def adjust_sharpness(
        self,
        factor: float,
        *,
        flavour: Literal["pil", "keras"] | None = None,
        range: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Blends with the smoothed picture, or away from it.

        factor: 0 is smooth
        flavour: pil: u8, 1 changes nothing, the border stays; keras: gives f32, 0.5 changes nothing,
            clips (default pil)
        range: flavour=keras: the values that pictures have, low,high (default 0,255)
        field: which field (default image)
        """
        ...

    def random_sharpness(
        self,
        lower: float,
        upper: float,
        *,
        p: float | None = None,
        flavour: Literal["pil", "keras"] | None = None,
        range: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """The same with a factor drawn from [lower, upper).

        lower: least factor
        upper: largest factor
        p: how likely (default 1)
        flavour: pil: u8, 1 changes nothing, the border stays; keras: gives f32, 0.5 changes nothing,
            clips (default pil)
        range: flavour=keras: the values that pictures have, low,high (default 0,255)
        field: which field (default image)
        """
        ...

    def gaussian_noise(
        self,
        stddev: float,
        *,
        mean: float | None = None,
        clip: bool | None = None,
        field: str | None = None,
    ) -> Self:
        """Adds normal noise to every value; u8 counts as 0 to 1 and is clipped.

        stddev: its standard deviation
        mean: of the noise (default 0)
        clip: f32: keep values within 0 to 1, as torchvision (default false)
        field: which field (default image)
        """
        ...

    def random_erasing(
        self,
        p: float | None = None,
        *,
        scale: Text | None = None,
        ratio: Text | None = None,
        value: Text | None = None,
        flavour: Literal["torch", "keras"] | None = None,
        range: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Fills a part of drawn area, shape and place.

        p: how likely (default 0.5)
        scale: share of the area, from,to (default 0.02,0.33)
        ratio: flavour=torch: height over width, from,to (default 0.3,3.3)
        value: a number, one a channel, or random for noise, as flavour=keras has it unless told (default
            0)
        flavour: whose draws and noise; keras gives f32 (default torch)
        range: flavour=keras: the values that pictures have, low,high (default 0,255)
        field: which field (default image)
        """
        ...

    def cutout(
        self,
        size: int,
        *,
        p: float | None = None,
        value: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Fills a square whose middle lies anywhere in the picture.

        size: of a side, in pixels
        p: how likely (default 1)
        value: what fills it, in the picture's units: a number, or one a channel (default 0)
        field: which field (default image)
        """
        ...

    def cast(
        self,
        dtype: DType,
        *,
        field: str | None = None,
        scale: float | None = None,
        offset: float | None = None,
        layout: Literal["nhwc", "nchw"] | None = None,
    ) -> Self:
        """Another type, and x * scale + offset on the way; to whole numbers it truncates and saturates.

        field: which field (default image)
        dtype: the type
        scale: factor, such as 1/255 (default 1)
        offset: added afterwards (default 0)
        layout: channels last or channels first (default nhwc)
        """
        ...

    def rescale(
        self,
        scale: float,
        offset: float | None = None,
        *,
        field: str | None = None,
    ) -> Self:
        """x * scale + offset, as f32.

        scale: factor, such as 1/255
        offset: added afterwards (default 0)
        field: which field (default image)
        """
        ...

    def per_image_standardization(
        self,
        *,
        field: str | None = None,
    ) -> Self:
        """Mean 0 and standard deviation 1 for each picture, as f32.

        field: which field (default image)
        """
        ...

    def samplewise(
        self,
        *,
        center: bool | None = None,
        std: bool | None = None,
        field: str | None = None,
    ) -> Self:
        """Minus the picture's mean, divided by its standard deviation, as f32.

        center: subtract the mean; std does so in any case (default true)
        std: divide by the standard deviation + 1e-6 (default true)
        field: which field (default image)
        """
        ...

    def featurewise(
        self,
        *,
        mean: Text,
        std: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """(x - mean) / (std + 1e-6) with numbers that were fitted on a data set, as f32.

        mean: one number, or one a channel: 120.7,113.9,103.1
        std: the same; without it the values are centred only
        field: which field (default image)
        """
        ...

    def zca(
        self,
        *,
        file: Text,
        field: str | None = None,
    ) -> Self:
        """A small picture as one row of values, times a matrix from an .npy file, as f32.

        file: square matrix of float32 or float64, at most 4096 x 4096
        field: which field (default image)
        """
        ...

    def rand_augment(
        self,
        num_ops: int | None = None,
        magnitude: int | None = None,
        *,
        bins: int | None = None,
        interpolation: Literal["nearest", "bilinear"] | None = None,
        fill: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Some of fourteen operations, drawn, all at one strength.

        num_ops: how many of them, one after the other (default 2)
        magnitude: their strength, a step below bins (default 9)
        bins: steps from no to full strength (default 31)
        interpolation: how shears, moves and turns sample (default nearest)
        fill: what they show outside of the picture: a number from 0 to 255, or one a channel (default 0)
        field: which field (default image)
        """
        ...

    def trivial_augment_wide(
        self,
        *,
        bins: int | None = None,
        interpolation: Literal["nearest", "bilinear"] | None = None,
        fill: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """One of fourteen operations at a strength from a wide range, both drawn.

        bins: steps from no to full strength (default 31)
        interpolation: how shears, moves and turns sample (default nearest)
        fill: what they show outside of the picture: a number from 0 to 255, or one a channel (default 0)
        field: which field (default image)
        """
        ...

    def auto_augment(
        self,
        policy: Literal["imagenet", "cifar10", "svhn"] | None = None,
        *,
        interpolation: Literal["nearest", "bilinear"] | None = None,
        fill: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """One of 25 pairs of operations that were found for a data set.

        policy: which data set (default imagenet)
        interpolation: how shears, moves and turns sample (default nearest)
        fill: what they show outside of the picture: a number from 0 to 255, or one a channel (default 0)
        field: which field (default image)
        """
        ...

    def augmix(
        self,
        *,
        severity: int | None = None,
        width: int | None = None,
        depth: int | None = None,
        alpha: float | None = None,
        all_ops: bool | None = None,
        interpolation: Literal["nearest", "bilinear"] | None = None,
        fill: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Mixes the picture with others that chains of operations make of it, in drawn shares.

        severity: how many of ten steps of strength are drawn from (default 3)
        width: chains (default 3)
        depth: operations in a chain; below 1: 1 to 3, drawn (default -1)
        alpha: of the distributions that the shares are drawn from (default 1)
        all_ops: also brightness, color, contrast and sharpness (default true)
        interpolation: how shears, moves and turns sample (default bilinear)
        fill: what they show outside of the picture: a number from 0 to 255, or one a channel (default 0)
        field: which field (default image)
        """
        ...

    def image_data_generator(
        self,
        *,
        rotation: Text | None = None,
        width_shift: Text | None = None,
        height_shift: Text | None = None,
        shear: Text | None = None,
        zoom: Text | None = None,
        channel_shift: Text | None = None,
        horizontal_flip: bool | None = None,
        vertical_flip: bool | None = None,
        brightness: Text | None = None,
        fill: Literal["constant", "nearest", "reflect", "wrap"] | None = None,
        cval: Text | None = None,
        order: Literal["1", "0", "3"] | None = None,
        rescale: float | None = None,
        samplewise_center: bool | None = None,
        samplewise_std: bool | None = None,
        mean: Text | None = None,
        std: Text | None = None,
        flavour: Literal["keras3", "keras28", "fixed"] | None = None,
        field: str | None = None,
    ) -> Self:
        """All that Keras' ImageDataGenerator does to a picture, in its order, with one sampling; gives f32.

        rotation: degrees: 20 is -20 to 20; or low,high (default 0)
        width_shift: share of the width below 1, else pixels; or a list to choose from (default 0)
        height_shift: the same for the height (default 0)
        shear: degrees: 10 is -10 to 10; or low,high (default 0)
        zoom: 0.2 is 0.8 to 1.2 for each side, above 1 shrinks; or low,high (default 0)
        channel_shift: added to all channels, clipped to the picture's own range (default 0)
        horizontal_flip: mirror half of the pictures (default false)
        vertical_flip: turn half of them upside down (default false)
        brightness: factor low,high, by way of 8-bit values
        fill: what lies beyond the edge (default nearest)
        cval: of fill=constant: one number, or one a channel (default 0)
        order: interpolation_order: 0 nearest, 1 linear, 3 cubic (default 1)
        rescale: factor, 0 for none (default 0)
        samplewise_center: minus the picture's mean (default false)
        samplewise_std: divided by the picture's deviation, and centred (default false)
        mean: featurewise: subtracted, one number or one a channel
        std: featurewise: divided by it + 1e-6
        flavour: which axes and which middle, see the reference (default keras3)
        field: which field (default image)
        """
        ...

    def mask(
        self,
        *,
        field: str,
        image: str | None = None,
        fill: float | None = None,
    ) -> Self:
        """From here on this field moves with a picture, by nearest values: classes of pixels stay what they
        are.

        field: the mask, decoded
        image: the picture that it belongs to (default image)
        fill: its value where a border or a warp shows nothing of the picture (default 0)
        """
        ...

    def boxes(
        self,
        *,
        field: str,
        format: Literal["xyxy", "xywh", "yxyx", "cxcywh"] | None = None,
        normalized: bool | None = None,
        image: str | None = None,
        min_area: float | None = None,
        min_visible: float | None = None,
        labels: Text | None = None,
    ) -> Self:
        """From here on these boxes move with a picture; those that leave it are taken out, or become zeros.

        field: four numbers a box
        format: two corners, a corner and the size, TensorFlow's order, the middle and the size (default
            xyxy)
        normalized: relative to the size of the picture, before and behind (default false)
        image: the picture that it belongs to (default image)
        min_area: in pixels of the result; what is smaller is lost (default 0)
        min_visible: share of a box; if less of it is left, it is lost (default 0)
        labels: fields with values for each of them, which go with those that are taken out
        """
        ...

    def keypoints(
        self,
        *,
        field: str,
        format: Literal["xy", "yx", "xyv"] | None = None,
        normalized: bool | None = None,
        origin: Literal["corner", "centre"] | None = None,
        outside: Literal["keep", "zero", "remove"] | None = None,
        image: str | None = None,
        labels: Text | None = None,
    ) -> Self:
        """From here on these places move with a picture.

        field: two or three numbers a place
        format: xyv: with a number that becomes 0 when the place leaves the picture, as COCO has it
            (default xy)
        normalized: relative to the size of the picture, before and behind (default false)
        origin: where 0,0 lies in the first pixel; centre: whole numbers are pixels (default corner)
        outside: those that leave the picture: as they come, zeros, or taken out (default keep)
        image: the picture that it belongs to (default image)
        labels: fields with values for each of them, which go with those that are taken out
        """
        ...

    def mixup(
        self,
        alpha: float | None = None,
        *,
        group: int | None = None,
        p: float | None = None,
        labels: str | None = None,
        field: str | None = None,
    ) -> Self:
        """Blends each sample of a batch with the next one of its group, labels too.

        alpha: of Beta(alpha, alpha), from which the own share is drawn (default 0.2)
        group: samples among which partners are taken; the batch is a multiple of it (default 16)
        p: how likely (default 1)
        labels: f32 labels that are mixed with the same shares; none: there are none (default label)
        field: which field (default image)
        """
        ...

    def cutmix(
        self,
        alpha: float | None = None,
        *,
        group: int | None = None,
        p: float | None = None,
        labels: str | None = None,
        field: str | None = None,
    ) -> Self:
        """Pastes a box of the next sample of the group into each sample of a batch; labels are mixed by area.

        alpha: of Beta(alpha, alpha), from which the own share is drawn (default 1)
        group: samples among which partners are taken; the batch is a multiple of it (default 16)
        p: how likely (default 1)
        labels: f32 labels that are mixed with the same shares; none: there are none (default label)
        field: which field (default image)
        """
        ...

    def batch(
        self,
        size: int,
        *,
        drop_remainder: bool | None = None,
        pad_remainder: bool | None = None,
    ) -> Self:
        """Puts consecutive samples together.

        size: samples in a batch, of one rank
        drop_remainder: leave out a last batch that is not full (default false)
        pad_remainder: fill it up with repeated samples; so with several ranks in any case (default false)
        """
        ...

    def padded_batch(
        self,
        size: int,
        *shapes: Text,
        padding: Text | None = None,
        max: Text | None = None,
        drop_remainder: bool | None = None,
        pad_remainder: bool | None = None,
    ) -> Self:
        """A batch of fields that differ in size, filled up to the largest of the batch or to a given size.

        size: samples in a batch, of one rank
        shapes: fields of one size in all batches: image=640x640x3; * is the largest of the batch
        padding: what fills up: a number, or such as image:255,ids:-1 (default 0)
        max: the largest size there can be, where neither text nor index tells it: 2000x2000x3, or
            image:2000x2000x3
        drop_remainder: leave out a last batch that is not full (default false)
        pad_remainder: fill it up with repeated samples; so with several ranks in any case (default false)
        """
        ...

    def unbatch(
        self,
    ) -> Self:
        """Takes batches apart into samples."""
        ...

    def rebatch(
        self,
        size: int,
        *,
        drop_remainder: bool | None = None,
        pad_remainder: bool | None = None,
    ) -> Self:
        """The samples of batches in batches of another size.

        size: samples in a batch, of one rank
        drop_remainder: leave out a last batch that is not full (default false)
        pad_remainder: fill it up with repeated samples; so with several ranks in any case (default false)
        """
        ...

    def bucket_by_aspect_ratio(
        self,
        edges: Text,
        *,
        sizes: Text | None = None,
        field: str | None = None,
    ) -> Self:
        """Batches of pictures of like shape: buckets by width over height, batches as they become full.

        edges: width over height between buckets: 0.75,1.33
        sizes: for resize_to_bucket, height x width of each: 480x320,384x384,320x480
        field: which field (default image)
        """
        ...

    def prefetch(
        self,
        count: Text | None = None,
    ) -> Self:
        """How many finished batches may wait; auto follows the consumer.

        count: a number, or auto (default auto)
        """
        ...

    def on_device(
        self,
        *,
        field: str | None = None,
    ) -> Self:
        """What follows for the picture is drawn but not done: the u8 picture goes out with a field `drawn`
        that tells another device what to do.

        field: which field (default image)
        """
        ...

    def cache(
        self,
        path: Text | None = None,
        *,
        max: int | None = None,
        freeze: bool | None = None,
    ) -> Self:
        """Keeps the samples as they are here, by their numbers, in memory or in a directory; later epochs
        take them from there.

        path: a directory, which is made; left out: in memory
        max: bytes, such as 4GiB; 0: half of the memory budget, or as much as the disk has (default 0)
        freeze: true: random operations may stand before it; they draw once for each sample, for ever
            (default false)
        """
        ...

    def options(
        self,
        *,
        on_error: Literal["raise", "skip", "replace"] | None = None,
        max_bad: int | None = None,
        seed: int | None = None,
        fuse: bool | None = None,
        positions: bool | None = None,
        accuracy: Literal["exact", "fast"] | None = None,
        read_ahead: Text | None = None,
    ) -> Self:
        """Settings of the whole pipeline; may stand anywhere.

        on_error: what a bad sample does
        max_bad: bad samples of an epoch after which it fails all the same; 0: any number
        seed: its own seed; without it the pipeline's
        fuse: off: every operation by itself, with the same results (default true)
        positions: off: where rows of a JPEG begin is not remembered for its next crop; same results
            (default true)
        accuracy: fast: libjpeg's fast IDCT, as TensorFlow decodes by default (default exact)
        read_ahead: threads that read what comes next; auto: when storage is slow; off: none (default
            auto)
        """
        ...
