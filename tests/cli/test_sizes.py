# SPDX-License-Identifier: Apache-2.0
"""Sizes and types where something is drawn or decoded; tests/golden/make/sizes.py has the rest."""
import re

import numpy
import pytest
from PIL import Image

from conftest import paint


def drawn(done) -> list[dict]:
    """The numbers of the last operation that drew, a sample a line."""
    lines = [line.split("\t")[-1].split("; ")[-1] for line in done.stdout.splitlines() if re.match(r"\d+:\d+\t", line)]
    return [{key: float(value) for key, value in re.findall(r"(\w+)=(\S+)", line)} for line in lines]


# What tests/golden/make/sizes.py --draws prints of 200,000 of TensorFlow's own draws.
BOXES = [
    (48, 64, "area=0.05,1 ratio=0.75,1.33", (7.035, 14.3696, 32.9769, 34.2868), (6.7434, 10.5722, 8.979, 10.7072)),
    (60, 40, "area=0.3,0.6 ratio=0.5,2", (14.8612, 2.7867, 29.2949, 33.5019), (9.9419, 3.4898, 7.7447, 5.1936)),
]


@pytest.mark.parametrize("height, width, words, mean, deviation", BOXES)
def test_boxes_are_distributed_as_tensorflow_draws_them(leat, height, width, words, mean, deviation):
    n = 20000
    done = leat("run", f"synth {n} {height} {width} | sample_distorted_bounding_box 1 {words} method=nearest | batch 500",
                "--params", "--quiet")
    boxes = numpy.array([[box[key] for key in ("y", "x", "height", "width")] for box in drawn(done)])
    assert len(boxes) == n
    area = boxes[:, 2] * boxes[:, 3] / (height * width)
    assert area.min() >= 0.1 and area.max() <= 1
    ends = boxes[:, :2] + boxes[:, 2:]
    assert (ends <= (height, width)).all()
    # Never the last row or column, unless the box begins at the first one.
    assert not ((ends == (height, width)) & (boxes[:, :2] > 0)).any()
    assert (numpy.abs(boxes.mean(0) - mean) < 5 * numpy.array(deviation) / n**0.5).all()
    assert (numpy.abs(boxes.std(0) - deviation) < 0.03 * numpy.array(deviation) + 0.02).all()


@pytest.mark.parametrize("mode, more", [("constant", {"constant_values": 9}), ("edge", {}), ("reflect", {})])
@pytest.mark.parametrize("kind", ["png", "raw"])
def test_crop_of_a_padded_picture(leat, tmp_path, records, kind, mode, more):
    """Rows of a decoder and a picture in memory; also where the border is wider than the crop."""
    whole = [paint(14, 11, i) for i in range(40)]
    if kind == "png":
        (tmp_path / "in").mkdir()
        for i, picture in enumerate(whole):
            Image.fromarray(picture).save(tmp_path / "in" / f"{i:03}.png")
        source = f"folder {tmp_path}/in labels=none | decode"
    else:
        name = records("raw.tfrecord", [{"image": picture.tobytes()} for picture in whole])
        source = f"tfrecord {name} | parse image:bytes | decode_raw image u8 | reshape image 14 11 3"
    fill = " fill=9" if mode == "constant" else ""
    for size, padding in [((14, 11), 4), ((5, 3), 9), ((30, 2), 8)]:
        text = f"{source} | random_crop {size[0]} {size[1]} padding={padding} mode={mode}{fill} | batch 40"
        done = leat("run", text, "--params", "--sink", f"npy:{tmp_path}/out")
        made = numpy.load(next((tmp_path / "out").glob("*_image.npy")))
        boxes = drawn(done)
        places = {(box["y"], box["x"]) for box in boxes}
        assert len(places) > 10
        for picture, box, part in zip(whole, boxes, made):
            around = numpy.pad(picture, [(padding, padding), (padding, padding), (0, 0)], mode=mode, **more)
            y, x = int(box["y"]) + padding, int(box["x"]) + padding
            assert numpy.array_equal(part, around[y : y + size[0], x : x + size[1]])


@pytest.fixture
def scans(tmp_path) -> tuple:
    """Gray pictures of 16 bits, with one of 8 bits among them."""
    folder = tmp_path / "scans"
    folder.mkdir()
    y, x = numpy.mgrid[0:31, 0:45]
    values = [((x * 1400 + y * 777 + i * 4099) % 65536).astype("u2") for i in range(8)]
    for i, scan in enumerate(values):
        Image.fromarray(scan).save(folder / f"{i}.png")
    plain = (x * 5 % 256).astype("u1")
    Image.fromarray(plain).save(folder / "8.png")
    return folder, numpy.stack([*values, plain.astype("u2") * 257])[..., None]


def load(leat, tmp_path, text: str) -> numpy.ndarray:
    leat("run", f"{text} | batch 9", "--sink", f"npy:{tmp_path}/out")
    return numpy.load(next((tmp_path / "out").glob("*_image.npy")))


def test_sixteen_bits(leat, tmp_path, scans):
    folder, values = scans
    decode = f"folder {folder} labels=none | decode channels=1 depth=16"
    assert numpy.array_equal(load(leat, tmp_path, decode), values)
    part = load(leat, tmp_path, f"{decode} | crop_to_bounding_box 3 7 20 30 | random_flip_left_right p=1")
    assert part.dtype == "u2" and numpy.array_equal(part, values[:, 3:23, 7:37][:, :, ::-1])
    scaled = load(leat, tmp_path, f"{decode} | center_crop 30 | cast image f32 scale=1/65535")
    middle = values[:, 0:30, 7:37].astype("f4") * numpy.float32(1 / 65535)
    assert scaled.dtype == "f4" and numpy.array_equal(scaled, middle)
    colour = load(leat, tmp_path, f"folder {folder} labels=none | decode depth=16")
    assert numpy.array_equal(colour, numpy.repeat(values, 3, -1))
    resized = load(leat, tmp_path, f"{decode} | resize 62 90")
    assert resized.dtype == "f4" and resized.max() > 60000
    halves = load(leat, tmp_path, f"{decode} | normalize mean=0.5 std=0.25 scale=1/65535 dtype=f16 layout=nchw")
    assert halves.dtype == "f2" and halves.shape == (9, 1, 31, 45)
    assert numpy.array_equal(load(leat, tmp_path, f"folder {folder} labels=none | decode channels=1"),
                             (values >> 8).astype("u1"))


@pytest.mark.parametrize("operation, remedy", [
    ("random_brightness 0.1", "write cast image f32 before"),
    ("resize 8 flavour=pil", "works on u8"),
    ("adjust_contrast 1.2", "write cast image f32 before"),
])
def test_what_sixteen_bits_cannot(leat, scans, operation, remedy):
    done = leat("run", f"folder {scans[0]} labels=none | decode depth=16 | {operation} | batch 9", code=1)
    assert remedy in done.stderr


@pytest.mark.parametrize("operation, words", [
    ("pad 40 mode=reflect", "cannot mirror a picture of 40x64"),
    ("crop_to_bounding_box 30 0 20 20", "does not lie in a picture of 40x64"),
    ("pad 65535 | resize 8", "the limit is 65535 a side"),
    ("resize 1 65535 pad_to_aspect_ratio=true", "the limit is 65535 a side"),
    ("resize_with_pad 1 2 | resize_with_pad 300 1", "has no pixel left"),
    ("random_crop 60 padding=2", "a crop of 60x60 does not fit into a picture of 44x68"),
    ("random_crop 8 fill=3", "write padding=4 too"),
    ("resize 8 crop_to_aspect_ratio=true pad_to_aspect_ratio=true", "not both"),
    ("resize 8 fill=3", "fill is for pad_to_aspect_ratio=true"),
    ("pad 3 fill=300", "fill must be from 0 to 255"),
    ("pad 3 fill=1,2", "fill has 2 numbers for 3 channels"),
    ("sample_distorted_bounding_box 8 area=0,1", "area must be above 0"),
    ("normalize dtype=f16 | random_flip_left_right", "write the cast to it last"),
])
def test_what_cannot_be(leat, operation, words):
    assert words in leat("run", f"synth 4 40 64 | {operation} | batch 2", code=1).stderr


def test_layout_after_a_picture_in_memory(leat, tmp_path):
    plain = load(leat, tmp_path, "synth 9 12 20 | rot90 | cast image f32")
    planes = load(leat, tmp_path, "synth 9 12 20 | cast image f32 layout=nchw | rot90")
    assert planes.shape == (9, 3, 20, 12) and numpy.array_equal(planes, plain.transpose(0, 3, 1, 2))
