# SPDX-License-Identifier: Apache-2.0
"""What belongs to a picture moves with it: masks, boxes and keypoints.

Oracles: the numbers that leat says it drew, carried out by NumPy and Pillow; and a mask that is a copy of its picture,
which must come out as the picture does when that is sampled by nearest values."""
import io
import re

import numpy
import pytest
from PIL import Image


def png(array: numpy.ndarray, palette: bool = False) -> bytes:
    image = Image.fromarray(array)
    if palette:
        image = Image.fromarray(array, "P")
        image.putpalette([(i * 37 + c * 91) % 256 for i in range(256) for c in range(3)])
    out = io.BytesIO()
    image.save(out, "png")
    return out.getvalue()


def load(leat, tmp_path, text: str, *words) -> dict:
    """All batches, one after the other, by field."""
    folder = tmp_path / f"out{len(list(tmp_path.iterdir()))}"
    leat("run", text, "--sink", f"npy:{folder}", "-q", *words)
    out = {}
    for path in sorted(folder.glob("*.npy")):
        out.setdefault(path.stem.split("_", 1)[1], []).append(numpy.load(path))
    return {name: numpy.concatenate(parts) if len({p.shape[1:] for p in parts}) == 1 else parts for name, parts in out.items()}


def params(leat, text: str) -> list[str]:
    return [line.split("\t")[5] for line in leat("run", text, "--params", "-q").stdout.splitlines()]


def numbers(text: str, name: str) -> dict:
    part = next(p for p in text.split("; ") if p.split()[0] == name)
    return {key: float(value) for key, value in re.findall(r"(\S+)=(\S+)", part)}


def refused(leat, text: str, message: str):
    """Opening fails: exit code 2 if the text is wrong, 1 if the data does not fit it."""
    try:
        done = leat("plan", text, code=1)
    except AssertionError:
        done = leat("plan", text, code=2)
    assert message in done.stderr and "column" in done.stderr


N, H, W = 9, 24, 36


@pytest.fixture
def masked(records):
    """A picture, a mask of classes, and a copy of the picture's gray values, in files of their own."""
    random = numpy.random.RandomState(5)
    samples = [{"image": random.randint(0, 256, (H, W, 3)).astype("uint8"), "mask": random.randint(0, 21, (H, W)).astype("uint8")}
               for _ in range(N)]
    path = records("m.tfrecord", [{"image": png(s["image"]), "mask": png(s["mask"], palette=True), "copy": png(s["image"]),
                                   "label": i} for i, s in enumerate(samples)])
    head = (f"tfrecord {path} | parse image:bytes mask:bytes copy:bytes | decode field=image,copy | decode mask palette=index"
            " | mask mask fill=255 | mask copy fill=9")
    return samples, head, str(path)


def test_palette_index(leat, tmp_path, masked):
    samples, head, _ = masked
    got = load(leat, tmp_path, f"{head} | batch 4")
    assert got["mask"].dtype == numpy.uint8 and got["mask"].shape == (N, H, W, 1)
    for i, sample in enumerate(samples):
        assert (got["mask"][i, ..., 0] == sample["mask"]).all() and (got["image"][i] == sample["image"]).all()


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_palette_index_of_few_bits(leat, tmp_path, bits):
    classes = numpy.random.RandomState(bits).randint(0, min(2 ** bits, 250), (13, 11)).astype("uint8")
    (tmp_path / "in").mkdir()
    for name, more in (("a", {}), ("b", {"transparency": 0})):
        image = Image.fromarray(classes, "P")
        image.putpalette([255 - i for i in range(2 ** bits) for _ in range(3)])
        image.save(tmp_path / f"in/{name}.png", bits=bits, **more)
    Image.fromarray(classes).save(tmp_path / "in/c.png")
    got = load(leat, tmp_path, f"folder {tmp_path}/in | decode palette=index | batch 3")["image"]
    assert (got[..., 0] == classes).all()


def test_palette_index_refuses_colours(leat, tmp_path):
    for name in ("a.png", "a.gif", "a.jpg"):
        folder = tmp_path / name
        folder.mkdir()
        Image.fromarray(numpy.zeros((4, 4, 3), "uint8")).save(folder / name)
        done = leat("run", f"folder {folder} | decode palette=index | batch 1", code=1)
        assert "palette=index wants a gray picture or a PNG with a palette" in done.stderr
    refused(leat, f"folder {folder} | decode channels=3 palette=index", "leave channels and depth out")


MOVES = [  # as it stands for the picture, and what makes it nearest with the mask's fill
    ("random_flip_left_right", ""),
    ("random_flip_up_down", ""),
    ("random_flip", ""),
    ("rot90", ""),
    ("rot90 2", ""),
    ("rot90 3", ""),
    ("transpose", ""),
    ("center_crop 10 20", ""),
    ("random_crop 13 17", ""),
    ("random_crop 20 30 padding=6", "fill=9"),
    ("random_crop 20 30 padding=6 mode=reflect", ""),
    ("central_crop 0.5", ""),
    ("pad 2 3 4 5", "fill=9"),
    ("pad 2 mode=edge", ""),
    ("resize 11 50", "method=nearest"),
    ("resize 40 13 flavour=pil", "method=nearest"),
    ("resize 20 20 pad_to_aspect_ratio=true", "method=nearest fill=9"),
    ("resize 20 20 crop_to_aspect_ratio=true", "method=nearest"),
    ("resize_shorter 17", "method=nearest"),
    ("random_resized_crop 16", "method=nearest"),
    ("sample_distorted_bounding_box 16", "method=nearest"),
    ("random_rotation 0.2", "interpolation=nearest"),
    ("random_rotation 0.2 fill=constant", "interpolation=nearest value=9"),
    ("random_zoom 0.3", "interpolation=nearest"),
    ("random_translation 0.3 0.2 fill=wrap", "interpolation=nearest"),
    ("random_shear 0.3 0.1 fill=constant", "interpolation=nearest value=9"),
    ("random_perspective", "interpolation=nearest value=9"),
    ("random_elastic_transform", "interpolation=nearest"),
    ("random_affine 40 translate=0.1,0.1 scale=0.7,1.4 shear=10", "value=9"),
    ("affine rotate=30 zoom=0.2 shear_x=10 shift_y=0.1 flip_x=0.5 perspective=0.2", "order=0"),
    ("affine rotate=30 order=3 fill=constant", "order=0 value=9"),
    ("image_data_generator rotation=30 zoom=0.2 width_shift=0.1 horizontal_flip=true", "order=0"),
    ("image_data_generator horizontal_flip=true vertical_flip=true", ""),
]


@pytest.mark.parametrize("operation,nearest", MOVES, ids=[m[0] for m in MOVES])
def test_a_copy_moves_as_the_picture_sampled_by_nearest(leat, tmp_path, masked, operation, nearest):
    _, head, path = masked
    # With other words for the picture, the operation has the same number and draws the same.
    plain = operation if "order" not in nearest else operation.replace(" order=3", "")
    for fuse in ("on", "off"):
        got = load(leat, tmp_path, f"options fuse={fuse} | {head} | {operation} | batch 4")
        want = load(leat, tmp_path, f"{head} | {plain} {nearest} | batch 4")
        assert got["copy"].dtype == numpy.uint8
        assert (got["copy"] == want["image"].astype("uint8")).all()
        # A palette's numbers took the same way.
        assert set(numpy.unique(got["mask"])) <= set(range(21)) | {255}
        assert got["mask"].shape[:3] == got["image"].shape[:3]


COLOURS = ["random_brightness 0.3", "color_jitter brightness=0.4 contrast=0.4 saturation=0.4 hue=0.1", "random_contrast 0.5 1.5",
           "normalize imagenet", "gaussian_blur 3", "random_grayscale", "random_erasing 1", "equalize", "cast f32",
           "per_image_standardization"]


@pytest.mark.parametrize("operation", COLOURS)
def test_colours_leave_masks_alone(leat, tmp_path, masked, operation):
    samples, head, _ = masked
    got = load(leat, tmp_path, f"{head} | {operation} | batch 4")
    assert (got["mask"][..., 0] == numpy.stack([s["mask"] for s in samples])).all()
    assert not (got["image"] == numpy.stack([s["image"] for s in samples])).all() or operation == "cast f32"


def test_a_mask_that_is_named(leat, tmp_path, masked):
    samples, head, _ = masked
    got = load(leat, tmp_path, f"{head} | random_flip_left_right p=1 | resize 12 18 field=mask | cast mask f32 scale=2 | batch 4")
    want = numpy.stack([s["mask"] for s in samples])[:, :, ::-1][:, 1::2, 1::2] * 2.0
    assert (got["mask"][..., 0] == want).all() and got["image"].shape[1:3] == (H, W)


def test_by_the_numbers_that_were_drawn(leat, tmp_path, masked):
    samples, head, _ = masked
    text = (f"{head} | random_crop 20 28 | random_affine 30 translate=0.1,0.1 scale=0.8,1.2 shear=8 interpolation=bilinear"
            " | random_flip_left_right | random_brightness 0.2 | resize 30 30 | shuffle | batch 4")
    got = load(leat, tmp_path, text)
    ids = [int(x) for line in leat("run", text, "--sink", "ids", "-q").stdout.splitlines() for x in line.split(": ")[1].split()]
    drawn = params(leat, text)
    assert len(drawn) == N
    for i, told in enumerate(drawn):
        assert told.count("random_crop") == 1 and told.count(" x=") == 2, told  # told once, not once a field
        crop, move, flip = (numbers(told, n) for n in ("random_crop", "random_affine", "random_flip_left_right"))
        x, y = int(crop["x"]), int(crop["y"])
        mask = samples[ids[i]]["mask"][y:y + 20, x:x + 28]
        a, s = numpy.radians(move["angle"]), move["scale"]
        sx, sy = numpy.radians(move["shear_x"]), numpy.radians(move["shear_y"])
        forward = s * numpy.array([[numpy.cos(a - sy) / numpy.cos(sy), -numpy.cos(a - sy) * numpy.tan(sx) / numpy.cos(sy) - numpy.sin(a)],
                                   [numpy.sin(a - sy) / numpy.cos(sy), -numpy.sin(a - sy) * numpy.tan(sx) / numpy.cos(sy) + numpy.cos(a)]])
        back = numpy.linalg.inv(forward)
        centre = numpy.array([14, 10])
        offset = centre - back @ (centre + [move["x"], move["y"]])
        turned = Image.fromarray(mask).transform((28, 20), Image.AFFINE, (*back[0], offset[0], *back[1], offset[1]),
                                                 Image.NEAREST, fillcolor=255)
        mask = numpy.array(turned)
        mask = mask[:, ::-1] if flip["flip"] else mask
        rows, columns = ((numpy.arange(30) + 0.5) * k / 30 for k in (20, 28))
        want = mask[rows.astype(int)][:, columns.astype(int)]
        assert (got["mask"][i, ..., 0] == want).mean() > 0.995  # a cosine may put a pixel on the other side


def test_lists_of_fields(leat, tmp_path, masked):
    samples, _, path = masked
    head = f"tfrecord {path} | parse image:bytes copy:bytes | decode field=image,copy"
    text = f"{head} | random_crop 12 field=image,copy | random_brightness 0.4 field=copy,image | random_rotation 0.1 field=image,copy"
    got = load(leat, tmp_path, f"{text} | batch 4")
    assert (got["image"] == got["copy"]).all() and got["image"].dtype == numpy.float32
    apart = load(leat, tmp_path, f"{head} | random_crop 12 | random_crop 12 field=copy | batch 4")
    assert not (apart["image"] == apart["copy"]).all()


@pytest.mark.parametrize("operation", ["random_crop 8", "pad 3", "random_rotation 0.1", "random_affine 20", "center_crop 8",
                                       "resize_with_pad 9"])
@pytest.mark.parametrize("how", ["mask", "list"])
def test_sizes_must_agree(leat, tmp_path, records, operation, how):
    path = records("s.tfrecord", [{"image": png(numpy.zeros((20, 30, 3), "uint8")), "mask": png(numpy.zeros((10, 15), "uint8"))}])
    head = f"tfrecord {path} | parse image:bytes mask:bytes | decode | decode mask channels=1"
    text = f"{head} | mask mask | {operation}" if how == "mask" else f"{head} | {operation} field=image,mask"
    error = leat("run", f"{text} | batch 1", code=1).stderr
    assert "image is 20x30 and mask is 10x15 (height x width)" in error and "resize them before" in error
    # What does not depend on it, or makes it one, is fine.
    got = load(leat, tmp_path, f"{head} | mask mask | random_flip | rot90 | resize 8 8 flavour=pil | {operation} | batch 1")
    assert got["mask"].shape[1:3] == got["image"].shape[1:3]


@pytest.mark.parametrize("text,message", [
    ("mask mask", "field mask holds an undecoded file"),
    ("decode | mask image", "cannot follow itself"),
    ("decode field=image,mask | mask mask | mask mask", "is a mask already"),
    ("decode field=image,mask,copy | mask mask | mask copy image=mask", "field mask is a mask of image"),
    ("decode field=image,mask,copy | mask mask | mask image image=copy", "has masks of its own"),
    ("decode field=image,mask | mask mask fill=300", "fill=300 is no value of u8"),
    ("decode field=image,mask | mask mask | random_crop 8 field=mask", "moves with image by itself"),
    ("decode field=image,mask | mask mask | random_crop 8 field=image,mask", "moves with image by itself"),
    ("decode field=image,mask | mask mask | rand_augment", "moves pixels in ways of its own"),
    ("decode field=image,mask | mask mask | augmix", "moves pixels in ways of its own"),
    ("decode field=image,image", "field image is named twice"),
    ("decode field=image,maks", "did you mean 'mask'"),
    ("decode field=image,", "there is no field ''"),
    ("decode | decode mask depth=16 | mask mask | random_rotation 0.1", "the mask mask holds u16"),
    ("decode | decode mask depth=16 | mask mask | random_affine 5", "the mask mask holds u16"),
])
def test_what_masks_cannot(leat, masked, text, message):
    _, _, path = masked
    refused(leat, f"tfrecord {path} | parse image:bytes mask:bytes copy:bytes | {text} | batch 2", message)


def test_folders_of_pictures_and_masks(leat, tmp_path, masked):
    samples, _, _ = masked
    for i, sample in enumerate(samples):
        for name, data in (("images", png(sample["image"])), ("masks", png(sample["mask"], palette=True))):
            (tmp_path / name).mkdir(exist_ok=True)
            (tmp_path / name / f"{i}.png").write_bytes(data)
    text = (f"zip image='folder {tmp_path}/images' mask='folder {tmp_path}/masks' | shuffle | decode | decode mask palette=index | mask mask"
            " | random_crop 11 13 | random_flip_left_right | batch 4")
    got = load(leat, tmp_path, text)
    ids = [int(x) for line in leat("run", text, "--sink", "ids", "-q").stdout.splitlines() for x in line.split(": ")[1].split()]
    for i, told in enumerate(params(leat, text)):
        crop, flip = numbers(told, "random_crop"), numbers(told, "random_flip_left_right")["flip"]
        part = (slice(int(crop["y"]), int(crop["y"]) + 11), slice(int(crop["x"]), int(crop["x"]) + 13))
        for field, value in (("image", got["image"][i]), ("mask", got["mask"][i, ..., 0])):
            want = samples[ids[i]][field][part]
            assert (value == (want[:, ::-1] if flip else want)).all()
    refused(leat, "zip image='synth 9 | mask image' x='synth 9' | batch 1", "write it behind")


def test_masks_do_not_depend_on_how_it_runs(leat, masked):
    _, head, _ = masked
    text = (f"{head} | shuffle | random_resized_crop 16 | random_rotation 0.1 | random_flip_left_right | rot90 | normalize imagenet"
            " | batch 4")
    want = leat("run", text, "--sink", "digest", "-e", 3).stdout
    for words in (("--threads", 1), ("--threads", 4), ("--synchronous",), ("--slots", 2)):
        assert leat("run", text, "--sink", "digest", "-e", 3, *words).stdout == want
    assert leat("run", f"{text} | options fuse=off", "--sink", "digest", "-e", 3, env={"LEAT_CPU_MASK": "0"}).stdout == want


# ------------------------------------------------------------------------------------------------ boxes and keypoints

BOX_MOVES = [
    "random_flip_left_right", "random_flip_up_down", "random_flip", "rot90", "rot90 2", "rot90 3", "transpose",
    "random_crop 40 50", "center_crop 40 50", "central_crop 0.6", "random_crop 60 80 padding=20", "pad 5 6 7 8",
    "resize 90 60", "resize 33 41 flavour=pil", "resize 60 60 pad_to_aspect_ratio=true", "resize 60 60 crop_to_aspect_ratio=true",
    "resize_shorter 45", "resize_with_crop_or_pad 50 90", "resize_with_pad 70 70", "random_resized_crop 64 scale=0.4,1",
    "sample_distorted_bounding_box 64", "crop_to_bounding_box 10 5 40 60", "random_crop 40 50 | pad 12 | random_flip_left_right",
    "random_rotation 0.1 fill=constant", "random_zoom 0.3 fill=constant", "random_translation 0.3 0.2 fill=constant",
    "random_shear 0.3 0.1 fill=constant", "random_perspective scale=0.6", "random_affine 40 translate=0.1,0.1 scale=0.7,1.4 shear=10",
    "affine rotate=30 zoom=0.2 shear_x=10 shift_y=0.1 flip_x=0.5 fill=constant", "affine perspective=0.3 fill=constant",
    "image_data_generator rotation=30 zoom=0.2 width_shift=0.1 horizontal_flip=true fill=constant",
    "image_data_generator rotation=30 zoom=0.2 height_shift=0.1 flavour=keras28 fill=constant",
    "random_crop 50 60 | random_rotation 0.05 fill=constant | rot90 | resize 80 80 | random_flip_up_down | normalize imagenet",
]


@pytest.fixture
def boxed(records):
    """Pictures with a box and a mask on which it is painted; the middle of the box as a keypoint."""
    random = numpy.random.RandomState(11)
    samples = []
    for _ in range(12):
        y, x = random.randint(0, 30), random.randint(0, 40)
        h, w = random.randint(12, 60 - y + 1), random.randint(12, 80 - x + 1)
        mask = numpy.zeros((60, 80), "uint8")
        mask[y:y + h, x:x + w] = 1
        samples.append({"mask": mask, "box": [x, y, x + w, y + h]})
    image = png(random.randint(0, 256, (60, 80, 3)).astype("uint8"))
    path = records("b.tfrecord", [{"image": image, "mask": png(s["mask"]), "box": [float(v) for v in s["box"]],
                                   "point": [(s["box"][0] + s["box"][2]) / 2, (s["box"][1] + s["box"][3]) / 2]} for s in samples])
    return samples, f"tfrecord {path} | parse image:bytes mask:bytes box:float[4] point:float[2] | decode | decode mask channels=1"


@pytest.mark.parametrize("moves", BOX_MOVES)
@pytest.mark.parametrize("fuse", ["on", "off"])
def test_a_box_is_where_it_was_painted(leat, tmp_path, boxed, moves, fuse):
    _, head = boxed
    got = load(leat, tmp_path, f"options fuse={fuse} | {head} | mask mask | boxes box | keypoints point | {moves} | batch 12")
    turned = any(word in moves for word in ("rotation", "affine", "shear", "perspective"))
    seen = 0
    for mask, box, point in zip(got["mask"][..., 0], got["box"], got["point"]):
        rows, columns = numpy.nonzero(mask.any(1))[0], numpy.nonzero(mask.any(0))[0]
        if (box == 0).all():
            assert mask.sum() < 8
            continue
        assert box[0] >= 0 and box[1] >= 0 and box[2] <= mask.shape[1] and box[3] <= mask.shape[0]
        if not len(rows):
            assert min(box[2] - box[0], box[3] - box[1]) < 1.5
            continue
        painted = numpy.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1])
        # Corners of something turned are sharper than pixels.
        assert abs(painted - box).max() <= (2.5 if turned else 1.01), (painted, box)
        seen += 1
        x, y = point
        if 2 < x < mask.shape[1] - 2 and 2 < y < mask.shape[0] - 2 and "pad" not in moves:
            assert mask[int(y), int(x)] == 1
    assert seen >= 6


FORMATS = {
    "xyxy": lambda b: b,
    "xywh": lambda b: numpy.stack([b[..., 0], b[..., 1], b[..., 2] - b[..., 0], b[..., 3] - b[..., 1]], -1),
    "yxyx": lambda b: b[..., [1, 0, 3, 2]],
    "cxcywh": lambda b: numpy.stack([(b[..., 0] + b[..., 2]) / 2, (b[..., 1] + b[..., 3]) / 2, b[..., 2] - b[..., 0], b[..., 3] - b[..., 1]], -1),
}


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("form", FORMATS)
def test_formats(leat, tmp_path, records, form, normalized):
    random = numpy.random.RandomState(3)
    corners = numpy.sort(random.uniform(0, 1, (8, 5, 2, 2)), 2) * [50, 40]
    boxes = numpy.concatenate([corners[:, :, 0], corners[:, :, 1]], -1)
    scale, after = (numpy.array([50, 40, 50, 40]), numpy.array([30, 20, 30, 20])) if normalized else (1, 1)
    image = png(numpy.zeros((40, 50, 3), "uint8"))
    path = records("f.tfrecord", [{"image": image, "b": [float(v) for v in FORMATS[form](b / scale).ravel()]} for b in boxes])
    text = (f"tfrecord {path} | parse image:bytes b:float[5,4] | decode | boxes b format={form} normalized={normalized}".lower()
            .replace(str(path).lower(), str(path)) + " | random_crop 20 30 | random_flip_left_right | batch 8")
    got = load(leat, tmp_path, text)["b"]
    for i, told in enumerate(params(leat, text)):
        crop, flip = numbers(told, "random_crop"), numbers(told, "random_flip_left_right")["flip"]
        want = numpy.clip(boxes[i] - [crop["x"], crop["y"]] * 2, 0, [30, 20, 30, 20])
        if flip:
            want = numpy.stack([30 - want[:, 2], want[:, 1], 30 - want[:, 0], want[:, 3]], -1)
        lost = (want[:, 2] <= want[:, 0]) | (want[:, 3] <= want[:, 1])
        want = FORMATS[form](want / after)
        want[lost] = 0
        numpy.testing.assert_allclose(got[i], want, atol=2e-5)


def test_what_is_lost_is_taken_out_with_its_labels(leat, tmp_path, records):
    random = numpy.random.RandomState(8)
    examples, kept = [], []
    for i in range(20):
        n = random.randint(0, 9)
        corner = random.uniform(0, 40, (n, 2))
        boxes = numpy.concatenate([corner, corner + random.uniform(1, 20, (n, 2))], -1).astype("float32")
        examples.append({"image": png(numpy.zeros((60, 60, 3), "uint8")), "b": [float(v) for v in boxes.ravel()] or [0.0][:0],
                         "id": [int(k) for k in range(100 * i, 100 * i + n)], "two": [float(v) for k in range(n) for v in (i, k)]})
        cut = numpy.clip(boxes - [30, 10] * 2, 0, 30)
        area = (cut[:, 2] - cut[:, 0]) * (cut[:, 3] - cut[:, 1])
        whole = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        kept.append([(k, c, a, a / w) for k, (c, a, w) in enumerate(zip(cut, area, whole)) if a > 0])
    for example in examples:
        if not example["id"]:
            del example["b"], example["id"], example["two"]
    path = records("l.tfrecord", examples)
    for words, rule in (("", lambda a, v: True), ("min_area=50", lambda a, v: a >= 50), ("min_visible=0.5", lambda a, v: v >= 0.5)):
        text = (f"tfrecord {path} | parse image:bytes b:float[*64] id:int64[*16] two:float[*32] | decode | boxes b labels=id,two {words}"
                " | crop_to_bounding_box 10 30 30 30 | batch 20")
        got = load(leat, tmp_path, text)
        for i, left in enumerate(kept):
            left = [(k, c) for k, c, a, v in left if rule(a, v)]
            part = {f: got[f][got[f"{f}_offsets"][i]:got[f"{f}_offsets"][i + 1]] for f in ("b", "id", "two")}
            assert list(part["id"]) == [100 * i + k for k, _ in left]
            assert list(part["two"]) == [v for k, _ in left for v in (i, k)]
            numpy.testing.assert_allclose(part["b"].reshape(-1, 4), numpy.array([c for _, c in left]).reshape(-1, 4), atol=1e-5)


def test_boxes_of_padded_batches(leat, tmp_path, records):
    image = png(numpy.zeros((20, 20, 3), "uint8"))
    path = records("p.tfrecord", [{"image": image, "b": [0.0, 0.0, 5.0, 5.0] + [12.0, 12.0, 18.0, 18.0] * (i + 1),
                                   "id": [7] + [i] * (i + 1)} for i in range(3)])
    text = (f"tfrecord {path} | parse image:bytes b:float[*100] id:int64[*25] | decode | reshape b -1 4 | boxes b labels=id"
            " | crop_to_bounding_box 8 8 10 10 | padded_batch 3 max=b:25x4 padding=-1")
    got = load(leat, tmp_path, text)
    assert got["b"].shape == (3, 3, 4)
    for i in range(3):
        assert (got["b"][i, :i + 1] == [4, 4, 10, 10]).all() and (got["b"][i, i + 1:] == -1).all()
        assert list(got["id"][i]) == [i] * (i + 1) + [-1] * (2 - i)


@pytest.mark.parametrize("origin,last", [("corner", 30), ("centre", 29)])
def test_keypoints(leat, tmp_path, records, origin, last):
    points = [3, 4, 2, 25, 18, 1, 29, 19, 2]
    path = records("k.tfrecord", [{"image": png(numpy.zeros((20, 30, 3), "uint8")), "k": points}])
    head = f"tfrecord {path} | parse image:bytes k:int64[3,3] | decode | keypoints k format=xyv origin={origin}"
    got = load(leat, tmp_path, f"{head} | random_flip_left_right p=1 | batch 1")["k"]
    assert got.dtype == numpy.int64 and got.tolist() == [[[last - 3, 4, 2], [last - 25, 18, 1], [last - 29, 19, 2]]]
    got = load(leat, tmp_path, f"{head} | crop_to_bounding_box 0 0 10 10 | pad 20 | batch 1")["k"]
    assert got.tolist() == [[[23, 24, 2], [45, 38, 0], [49, 39, 0]]]
    got = load(leat, tmp_path, f"{head} outside=zero | crop_to_bounding_box 0 0 10 10 | pad 20 | batch 1")["k"]
    assert got.tolist() == [[[23, 24, 2], [0, 0, 0], [0, 0, 0]]]
    path = records("r.tfrecord", [{"image": png(numpy.zeros((20, 30, 3), "uint8")), "k": points, "id": [5, 6, 7]}])
    got = load(leat, tmp_path, f"tfrecord {path} | parse image:bytes k:int64[*99] id:int64[*33] | decode | keypoints k format=xyv"
               f" origin={origin} outside=remove labels=id | center_crop 18 | batch 1")
    assert got["id"].tolist() == []
    got = load(leat, tmp_path, f"tfrecord {path} | parse image:bytes k:int64[*99] id:int64[*33] | decode | keypoints k format=xyv"
               f" origin={origin} outside=remove labels=id | center_crop 18 29 | batch 1")
    whole = origin == "corner"  # then the right edge belongs to the picture
    assert got["id"].tolist() == [5, 6, 7][:2 + whole] and got["k"].tolist() == [3, 3, 2, 25, 17, 1, 29, 18, 2][:6 + 3 * whole]


def test_only_what_comes_behind_moves_them(leat, tmp_path, boxed):
    samples, head = boxed
    want = numpy.array([s["box"] for s in samples], "float32")
    flipped = numpy.stack([80 - want[:, 2], want[:, 1], 80 - want[:, 0], want[:, 3]], -1)
    flip, more = "random_flip_left_right p=1", "| batch 12"
    assert (load(leat, tmp_path, f"{head} | {flip} | boxes box {more}")["box"] == want).all()
    assert (load(leat, tmp_path, f"{head} | {flip} | boxes box | {flip} {more}")["box"] == flipped).all()
    assert (load(leat, tmp_path, f"{head} | boxes box | {flip} | {flip} {more}")["box"] == want).all()
    # Whoever looks in between sees what has happened so far.
    got = load(leat, tmp_path, f"{head} | boxes box | {flip} | cast box f32 offset=1 | {flip} {more}")["box"]
    once = numpy.minimum(flipped + 1, [80, 60, 80, 60])
    assert (got == numpy.stack([80 - once[:, 2], once[:, 1], 80 - once[:, 0], once[:, 3]], -1)).all()


def test_boxes_and_a_cache(leat, tmp_path, boxed):
    _, head = boxed
    text = (f"{head} | boxes box | rot90 | keypoints point | resize 40 43 flavour=pil{{}} | shuffle | random_crop 30 | random_rotation 0.1"
            " | random_flip | batch 5")
    plain = leat("run", text.format(""), "--sink", "digest", "-e", 3).stdout
    assert leat("run", text.format(" | cache"), "--sink", "digest", "-e", 3).stdout == plain
    assert leat("run", text.format(f" | cache {tmp_path}/kept"), "--sink", "digest", "-e", 3).stdout == plain
    off = text.format(f" | cache {tmp_path}/kept") + " | options fuse=off"
    assert leat("run", off, "--sink", "digest", "-e", 3, "--threads", 1).stdout == plain


@pytest.mark.parametrize("text,message", [
    ("boxes image", "must have 4 numbers for each"),
    ("boxes point", "must have 4 numbers for each"),
    ("keypoints box format=xyv", "must have 3 numbers for each"),
    ("boxes box image=box", "cannot follow itself"),
    ("boxes box image=point", "is no picture"),
    ("boxes box | boxes box", "follows a picture already"),
    ("boxes box labels=nobody", "there is no field 'nobody'"),
    ("keypoints point outside=remove", "has a fixed number of values"),
    ("keypoints point origin=centre normalized=true", "begins at the corner"),
    ("boxes box | random_elastic_transform", "cannot follow it"),
    ("boxes box | trivial_augment_wide", "moves pixels in ways of its own"),
    ("boxes box | auto_augment", "moves pixels in ways of its own"),
    ("boxes box | rand_augment", "moves pixels in ways of its own"),
])
def test_what_boxes_cannot(leat, boxed, text, message):
    refused(leat, f"{boxed[1]} | {text} | batch 2", message)


@pytest.mark.parametrize("values", [[1, 2, 3], [1, 2, 3, 4, 5]])
def test_a_broken_number_of_values(leat, records, values):
    path = records("x.tfrecord", [{"image": png(numpy.zeros((9, 9, 3), "uint8")), "b": [float(v) for v in values], "id": [1, 2]}])
    head = f"tfrecord {path} | parse image:bytes b:float[*12] id:int64[*9] | decode | boxes b labels=id | center_crop 5 | batch 1"
    assert "no multiple of 4" in leat("run", head, code=1).stderr
    path = records("y.tfrecord", [{"image": png(numpy.zeros((9, 9, 3), "uint8")), "b": [1.0] * 12, "id": [1, 2]}])
    assert "id has 2 values for the 3 of b" in leat("run", head.replace("x.tfr", "y.tfr"), code=1).stderr


@pytest.mark.parametrize("values", [["nan"] * 4, ["inf", "0", "inf", "9"], ["-inf", "-inf", "inf", "inf"], ["9", "9", "2", "2"],
                                    ["1e38", "0", "3e38", "5"], ["-1", "-1", "-1", "-1"]])
@pytest.mark.parametrize("moves", ["random_rotation 0.1", "random_crop 5", "random_perspective", "resize 4 4", "image_data_generator zoom=0,0"])
def test_odd_numbers(leat, tmp_path, records, values, moves):
    path = records("o.tfrecord", [{"image": png(numpy.zeros((9, 9, 3), "uint8")), "b": [float(v) for v in values]}] * 3)
    got = load(leat, tmp_path, f"tfrecord {path} | parse image:bytes b:float[4] | decode | boxes b min_visible=0.0001 | {moves} | batch 3")["b"]
    assert numpy.isfinite(got).all() and (got >= 0).all() and (got <= 9).all()


@pytest.mark.parametrize("before", ["", "random_flip_left_right p=1 |"])
def test_parts_drawn_around_boxes(leat, records, before):
    """sample_distorted_bounding_box with covered=1 takes a part with at least one whole box in it."""
    random = numpy.random.RandomState(2)
    corners = random.uniform(0, 60, (40, 2, 2))
    boxes = numpy.concatenate([corners, corners + random.uniform(5, 20, (40, 2, 2))], -1).astype("float32")
    path = records("d.tfrecord", [{"image": png(numpy.zeros((80, 80, 3), "uint8")), "b": [float(v) for v in b.ravel()]} for b in boxes])
    text = (f"tfrecord {path} | parse image:bytes b:float[*8] | decode | boxes b | {before} sample_distorted_bounding_box 32"
            " area=0.05,0.4 covered=1 box_field=b | batch 8")
    whole = 0
    for b, told in zip(boxes, params(leat, text)):
        part = numbers(told, "sample_distorted_bounding_box")
        x, y, right, bottom = part["x"], part["y"], part["x"] + part["width"], part["y"] + part["height"]
        b = numpy.stack([80 - b[:, 2], b[:, 1], 80 - b[:, 0], b[:, 3]], -1) if before else b
        b = numpy.floor(numpy.clip(b, 0, 80))
        inside = (b[:, 0] >= x) & (b[:, 1] >= y) & (b[:, 2] <= right) & (b[:, 3] <= bottom)
        assert inside.any()
        whole += right - x == 80
    assert whole < 10
    refused(leat, text.replace("boxes b |", "") .replace("box_field=b", "box_field=b"), "holds no boxes of image")
