# SPDX-License-Identifier: Apache-2.0
"""COCO's json files of objects: pictures with their boxes and classes."""
from __future__ import annotations

import array
import os
from collections.abc import Mapping
from typing import Any, Literal

from .._base.advice import advised
from .._base.arrays import from_user
from .._base.errors import FormatError
from .._data.bind import bind
from .._data.dataset import Dataset, Origin
from .files import name_list

CROWD = ("drop", "keep", "flag")


def _read(annotations: Any) -> tuple[dict[str, Any], str]:
    if isinstance(annotations, Mapping):
        return dict(annotations), "from_coco()"
    import json

    name = os.fspath(annotations)
    with open(name, encoding="utf-8") as file:
        try:
            found = json.load(file)
        except ValueError as error:
            raise FormatError(f"from_coco(): {name} is no json: {error}") from None
    if not isinstance(found, dict):
        raise FormatError(f"from_coco(): {name} is no COCO file: it holds no object with images and annotations")
    return found, f"from_coco(): {name}"


def _entries(found: dict[str, Any], key: str, fields: tuple[str, ...], where: str) -> list[dict[str, Any]]:
    entries = found.get(key)
    if not isinstance(entries, list):
        raise FormatError(f"{where} has no list of {key}; object annotations have images, annotations and categories")
    for i, entry in enumerate(entries):
        missing = [name for name in fields if not isinstance(entry, dict) or name not in entry]
        if missing:
            raise FormatError(f"{where}: {key}[{i}] has no {missing[0]}")
    return entries


class _Objects:
    """The objects of all pictures, picture by picture."""

    def __init__(self) -> None:
        self.offsets = array.array("q", [0])
        self.boxes = array.array("f")
        self.labels = array.array("q")
        self.crowd = array.array("q")

    def add(self, objects: list[tuple[list[float], int, int]], corners: bool) -> None:
        for (x, y, width, height), label, crowd in objects:
            self.boxes.extend((x, y, x + width, y + height) if corners else (x, y, width, height))
            self.labels.append(label)
            self.crowd.append(crowd)
        self.offsets.append(len(self.labels))

    def fields(self, flag: bool) -> list[tuple[Any, ...]]:
        if not self.labels:  # no picture has any: memory of one entry, which none refers to
            self.boxes.extend([0] * 4)
            self.labels.append(0)
            self.crowd.append(0)
        boxes = memoryview(self.boxes).cast("B").cast("f", (len(self.labels), 4))
        fields: list[tuple[Any, ...]] = [("boxes", "f32", boxes, self.offsets), ("label", "i64", self.labels, self.offsets)]
        return [*fields, ("crowd", "i64", self.crowd, self.offsets)] if flag else fields


def _by_picture(found: dict[str, Any], numbers: dict[Any, int], crowd: str, where: str
                ) -> dict[Any, list[tuple[list[float], int, int]]]:
    objects: dict[Any, list[tuple[list[float], int, int]]] = {}
    for i, entry in enumerate(_entries(found, "annotations", ("image_id", "category_id", "bbox"), where)):
        box = entry["bbox"]
        if not isinstance(box, list) or len(box) != 4 or not all(isinstance(side, (int, float)) for side in box):
            raise FormatError(f"{where}: annotations[{i}]: bbox must be [x, y, width, height], not {box!r:.60}")
        if entry["category_id"] not in numbers:
            raise FormatError(f"{where}: annotations[{i}]: there is no category {entry['category_id']!r:.40}")
        is_crowd = int(bool(entry.get("iscrowd", 0)))
        if not is_crowd or crowd != "drop":
            objects.setdefault(entry["image_id"], []).append((box, numbers[entry["category_id"]], is_crowd))
    return objects


@advised
def from_coco(annotations: Any, images: str | os.PathLike[str], *, format: Literal["xyxy", "xywh"] = "xyxy",
              crowd: Literal["drop", "keep", "flag"] = "drop",
              empty: bool = True, with_path: bool = False, check: bool = False, decode: bool = True) -> Dataset:
    """Pictures with boxes and classes, from a json file as COCO has it (instances_train2017.json), or what it holds.

        ds = leat.from_coco("instances_train2017.json", "train2017").resize(640, 640).random_flip_left_right()
        for batch in ds.padded_batch(16): ...      # {"image", "boxes" (16, n, 4), "label" (16, n), "image_id" (16)}

    images: the folder of the pictures. boxes: (n, 4) f32 in pixels, format "xyxy" (two corners) or "xywh" (as the file has
    them). They follow the picture through every operation that moves pixels: boxes() is applied already. Those that leave
    it are taken out, with their labels. label: (n) i64, the number of the category in the order of ids;
    Dataset.class_names has the names. image_id: that of the file. crowd: "drop" leaves crowd annotations out, "keep" takes
    them as others, "flag" too, with a field `crowd` (n) of 0 and 1. empty=False leaves out pictures without objects.
    with_path, check, decode: as in from_files.
    """
    if format not in ("xyxy", "xywh"):
        raise ValueError(f"from_coco(): format must be 'xyxy' or 'xywh', not {format!r}")
    if crowd not in CROWD:
        raise ValueError(f"from_coco(): crowd must be one of {', '.join(CROWD)}, not {crowd!r}")
    found, where = _read(annotations)
    categories = sorted(_entries(found, "categories", ("id", "name"), where), key=lambda entry: entry["id"])
    pictures = _entries(found, "images", ("id", "file_name"), where)
    by_picture = _by_picture(found, {entry["id"]: i for i, entry in enumerate(categories)}, crowd, where)
    unknown = by_picture.keys() - {entry["id"] for entry in pictures}
    if unknown:
        raise FormatError(f"{where}: annotations have an image_id {next(iter(unknown))!r:.40}, which no picture has")
    pictures = [entry for entry in pictures if empty or entry["id"] in by_picture]
    if not pictures or not categories:
        raise FormatError(f"{where} has no {'pictures' if categories else 'categories'}")
    objects = _Objects()
    for entry in pictures:
        objects.add(by_picture.get(entry["id"], []), format == "xyxy")
    paths = [os.path.join(os.fspath(images), str(entry["file_name"])) for entry in pictures]
    arrays = [from_user("paths", paths), *objects.fields(crowd == "flag"),
              from_user("image_id", array.array("q", [int(entry["id"]) for entry in pictures]))]
    names = name_list([str(entry["name"]) for entry in categories], where)
    operation = bind("list", (), {"check": check or None, "classes": names})
    dataset = Dataset((operation,), Origin(arrays=tuple(arrays), decode=decode))
    if with_path:
        dataset = dataset.with_path()
    labels = "label,crowd" if crowd == "flag" else "label"
    return dataset.boxes(field="boxes", format=format, labels=labels)
