# SPDX-License-Identifier: Apache-2.0
"""from_coco: pictures, boxes and classes of a COCO json file."""
import copy
import json

import numpy
import pytest
from PIL import Image

import leat

FOUND = {
    "images": [{"id": 7, "file_name": "a.png"}, {"id": 3, "file_name": "b.png"}, {"id": 9, "file_name": "c.png"}],
    "annotations": [{"id": 1, "image_id": 3, "category_id": 18, "bbox": [2, 1, 4, 5], "iscrowd": 0},
                    {"id": 2, "image_id": 7, "category_id": 1, "bbox": [0, 0, 10.5, 8], "iscrowd": 0},
                    {"id": 3, "image_id": 3, "category_id": 1, "bbox": [1, 1, 2, 2], "iscrowd": 1},
                    {"id": 4, "image_id": 3, "category_id": 44, "bbox": [8, 6, 4, 4]}],
    "categories": [{"id": 44, "name": "bottle, big"}, {"id": 1, "name": "person"}, {"id": 18, "name": "dog"}]}


@pytest.fixture
def coco(tmp_path):
    for i, name in enumerate("abc"):
        Image.fromarray(numpy.full((10, 12, 3), i * 9, "uint8")).save(tmp_path / f"{name}.png")
    (tmp_path / "instances.json").write_text(json.dumps(FOUND))
    return tmp_path / "instances.json", tmp_path


def test_pictures_with_boxes(coco):
    ds = leat.from_coco(*coco, with_path=True)
    assert len(ds) == 3 and ds.class_names == ["person", "dog", "bottle, big"]
    batch = next(iter(ds.batch(3)))
    assert batch["image"][:, 0, 0, 0].tolist() == [0, 9, 18] and batch["image_id"].tolist() == [7, 3, 9]
    assert batch["boxes"].tolist() == [[[0, 0, 10.5, 8]], [[2, 1, 6, 6], [8, 6, 12, 10]], []]
    assert batch["label"].tolist() == [[0], [1, 2], []]
    assert batch["path"][2].decode() == str(coco[1] / "c.png")
    padded = next(iter(ds.resize(10, 12).padded_batch(3, padding="label:-1")))
    assert padded["boxes"].shape == (3, 2, 4) and padded["label"].tolist() == [[0, -1], [1, 2], [-1, -1]]


def test_boxes_follow(coco):
    batch = next(iter(leat.from_coco(*coco).resize(20, 24).random_flip_left_right(1.0).batch(3)))
    assert batch["boxes"].tolist()[1] == [[12, 2, 20, 12], [0, 12, 8, 20]]
    batch = next(iter(leat.from_coco(*coco, format="xywh").crop_to_bounding_box(0, 0, 7, 7).batch(3)))
    assert batch["boxes"].tolist() == [[[0, 0, 7, 7]], [[2, 1, 4, 5]], []] and batch["label"].tolist() == [[0], [1], []]


def test_crowds_and_pictures_without_objects(coco):
    assert next(iter(leat.from_coco(*coco, crowd="keep").batch(3)))["label"].tolist() == [[0], [1, 0, 2], []]
    batch = next(iter(leat.from_coco(*coco, crowd="flag").random_flip_left_right(1.0).batch(3)))
    assert batch["crowd"].tolist() == [[0], [0, 1, 0], []]
    assert next(iter(leat.from_coco(*coco, empty=False).batch(3)))["image_id"].tolist() == [7, 3]
    none = {**FOUND, "annotations": []}
    assert next(iter(leat.from_coco(none, coco[1]).batch(3)))["boxes"].tolist() == [[], [], []]


def changed(change):
    found = copy.deepcopy(FOUND)
    change(found)
    return found


BAD = [(lambda f: f.pop("images"), "has no list of images"), (lambda f: f["images"][1].pop("file_name"), r"images\[1\] has no file_name"),
       (lambda f: f["annotations"][2].update(bbox=[1, 2, 3]), r"annotations\[2\]: bbox must be \[x, y, width, height\], not \[1, 2, 3\]"),
       (lambda f: f["annotations"][0].update(category_id=5), r"annotations\[0\]: there is no category 5"),
       (lambda f: f["annotations"][0].update(image_id=5), "an image_id 5, which no picture has"),
       (lambda f: f.update(images=[], annotations=[]), "has no pictures"), (lambda f: f.update(categories=[], annotations=[]), "has no categories")]


@pytest.mark.parametrize("change,words", BAD, ids=[words for _, words in BAD])
def test_bad_files(coco, change, words):
    with pytest.raises(leat.FormatError, match=words):
        leat.from_coco(changed(change), coco[1])


def test_mistakes(coco):
    (coco[1] / "bad.json").write_text("{")
    with pytest.raises(leat.FormatError, match="bad.json is no json"):
        leat.from_coco(coco[1] / "bad.json", coco[1])
    (coco[1] / "list.json").write_text("[]")
    with pytest.raises(leat.FormatError, match="list.json is no COCO file"):
        leat.from_coco(coco[1] / "list.json", coco[1])
    with pytest.raises(FileNotFoundError):
        leat.from_coco(coco[1] / "nowhere.json", coco[1])
    with pytest.raises(ValueError, match="crowd must be one of drop, keep, flag"):
        leat.from_coco(*coco, crowd="yes")
    with pytest.raises(ValueError, match="format must be 'xyxy' or 'xywh'"):
        leat.from_coco(*coco, format="yxyx")
    with pytest.raises(leat.NotFoundError, match="3 of 3 files cannot be used"):
        leat.from_coco(coco[0], coco[1] / "elsewhere", check=True).samples
