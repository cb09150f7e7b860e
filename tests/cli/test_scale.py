# SPDX-License-Identifier: Apache-2.0
"""decode scale=auto: the pixels of libjpeg-turbo's scaled decoding as Pillow's draft gives them, the same bytes whatever the
threads and fusion, and what is refused."""
import io
import json

import numpy
import pytest
from PIL import Image

SIZES = [(1000, 700), (803, 641), (405, 390), (90, 300)]  # width, height
AUTO = "decode scale=auto"


def painted(width: int, height: int, number: int) -> Image.Image:
    coarse = numpy.random.RandomState(number).randint(0, 256, (height // 5 + 1, width // 5 + 1, 3)).astype("u1")
    return Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """JPEGs of all samplings and sizes, a progressive one, a gray one, and a PNG."""
    folder = tmp_path_factory.mktemp("large") / "all"
    folder.mkdir()
    for i, (width, height) in enumerate(SIZES):
        for sampling in range(3):
            painted(width, height, i).save(folder / f"{i}{sampling}.jpg", quality=85, subsampling=sampling)
    painted(500, 640, 7).save(folder / "progressive.jpg", progressive=True)
    painted(600, 500, 8).convert("L").save(folder / "gray.jpg")
    painted(400, 500, 9).save(folder / "z.png")
    return folder.parent


def load(leat, tmp_path, text: str, *words) -> numpy.ndarray:
    folder = tmp_path / f"out{len(list(tmp_path.iterdir()))}"
    leat("run", text, "--sink", f"npy:{folder}", "-q", *words)
    return numpy.concatenate([numpy.load(path) for path in sorted(folder.glob("*_image.npy"))])


def scale_of(part: tuple[int, int], output: tuple[int, int]) -> int:
    return max(s for s in (1, 2, 4, 8) if s == 1 or all(p >= s * o for p, o in zip(part, output)))


def drafted(path, scale: int) -> Image.Image:
    """The whole picture at 1/scale, by libjpeg-turbo."""
    image = Image.open(path)
    if scale > 1 and path.suffix == ".jpg":
        image.draft(image.mode, (image.width // scale, image.height // scale))
        assert image.size == tuple(-(-side // scale) for side in Image.open(path).size)
    return image.convert("RGB")


def test_wholes_are_those_of_pillow_draft(leat, tmp_path, photos):
    seen = set()
    for width, height in ((100, 80), (33, 41), (240, 150)):
        got = load(leat, tmp_path, f"folder {photos} | {AUTO} | resize {height} {width} flavour=pil | batch 4")
        for path, pixels in zip(sorted((photos / "all").iterdir()), got, strict=True):
            scale = scale_of(Image.open(path).size, (width, height))
            seen.add(scale)
            expected = drafted(path, scale).resize((width, height), Image.Resampling.BILINEAR)
            assert numpy.array_equal(pixels, numpy.asarray(expected)), (path.name, scale)
    assert seen == {1, 2, 4, 8}


@pytest.mark.parametrize("crop", [(37, 21, 300, 280), (0, 0, 390, 300), (5, 90, 77, 123)])  # y, x, height, width
def test_a_crop_is_divided(leat, tmp_path, photos, crop):
    """Its edges go to the nearest ones of the smaller picture."""
    y, x, height, width = crop
    folder = tmp_path / "some" / "all"
    folder.mkdir(parents=True)
    names = ["00.jpg", "11.jpg", "22.jpg", "progressive.jpg", "gray.jpg", "z.png"]
    for name in names:
        (folder / name).write_bytes((photos / "all" / name).read_bytes())
    for out in (30, 70, 140):
        got = load(leat, tmp_path, f"folder {folder.parent} | {AUTO} | crop_to_bounding_box {y} {x} {height} {width}"
                                   f" | resize {out} {out} flavour=pil | batch 8")
        for name, pixels in zip(sorted(names), got, strict=True):
            scale = scale_of((height, width), (out, out)) if name != "z.png" else 1
            box = [(edge + scale // 2) // scale for edge in (x, y, x + width, y + height)]
            expected = drafted(folder / name, scale).crop(box).resize((out, out), Image.Resampling.BILINEAR)
            assert numpy.array_equal(pixels, numpy.asarray(expected)), (name, scale)


CROPS = f"shuffle seed=5 | {AUTO} | random_resized_crop 60 | random_flip_left_right | normalize imagenet"
SHORTER = f"{AUTO} orient=true | resize_shorter 50 | center_crop 44 | random_brightness 0.2"


@pytest.mark.parametrize("chain", [CROPS, SHORTER])
def test_same_bytes(leat, photos, chain):
    """Over threads, fusion, positions, first and later epochs, and instruction sets."""
    def digest(more: str = "", *words, **env):
        return leat("run", f"folder {photos} | {chain} | batch 4{more}", "--sink", "digest", "-e", 3, "-q", *words,
                    env=env).stdout.split()[-1]

    expected = digest("", "-t", 1)
    assert digest("", "-t", 4) == expected
    assert digest(" | options fuse=off") == expected
    assert digest(" | options positions=off", "--synchronous") == expected
    assert digest("", "-t", 2, LEAT_CPU_MASK="0") == expected
    assert digest("", "-s", 1) != expected
    exact = leat("run", f"folder {photos} | {chain.replace(' scale=auto', '')} | batch 4", "--sink", "digest", "-e", 3, "-q")
    assert exact.stdout.split()[-1] != expected


def test_sizes_draws_and_boxes_are_those_of_exact_decoding(leat, tmp_path, records, photos):
    """Only pixels differ: shapes, drawn numbers and boxes do not."""
    data = io.BytesIO()
    painted(1000, 700, 3).save(data, "jpeg", quality=85)
    path = records("b.tfrecord", [{"image": data.getvalue(), "boxes": [10.0, 20.0, 210.0, 320.0, 300.0, 500.0, 660.0, 910.0]}] * 6)
    for chain in ("random_resized_crop 50 | batch 2", "resize_shorter 41 | center_crop 40 | batch 2"):
        found = []
        for decode in (AUTO, "decode"):
            text = f"tfrecord {path} | parse image:bytes boxes:float[8] | {decode} | boxes boxes format=yxyx | {chain}"
            folder = tmp_path / f"{decode} {chain}".replace(" ", "_").replace("|", "_")
            leat("run", text, "--sink", f"npy:{folder}", "-q")
            drawn = [line.split("\t")[5] for line in leat("run", text, "--params", "-q").stdout.splitlines()]
            found.append((drawn, *[[numpy.load(p) for p in sorted(folder.glob(f"*_{field}.npy"))] for field in ("boxes", "image")]))
        assert found[0][0] == found[1][0] and len(found[0][1]) == 3
        assert all(numpy.array_equal(a, b) for a, b in zip(found[0][1], found[1][1], strict=True))
        for a, b in zip(found[0][2], found[1][2], strict=True):
            assert a.shape == b.shape and 0 < numpy.abs(a.astype(float) - b).mean() < 12


def test_plan_and_help_say_it(leat, photos):
    plan = leat("plan", f"folder {photos} | {AUTO} | random_resized_crop 60 | batch 4").stdout
    assert "scale=auto" in plan and "one pass: decode, random_resized_crop" in plan
    off = leat("plan", f"folder {photos} | {AUTO} | random_resized_crop 60 | invert | batch 4 | options fuse=off").stdout
    assert "one pass: decode, random_resized_crop" in off and "one pass: invert" in off
    assert "scale" not in leat("plan", f"folder {photos} | decode | random_resized_crop 60 | batch 4").stdout
    assert "scale=" in leat("ops", "decode").stdout


@pytest.mark.parametrize("chain", [AUTO, f"{AUTO} | random_flip_left_right | resize 9 9", f"{AUTO} | cast f32 | resize 9 9",
                                   f"{AUTO} | random_crop 20", f"{AUTO} | random_rotation 0.1 | resize 9 9",
                                   f"{AUTO} | pad 4 | resize 9 9",
                                   f"{AUTO} | random_apply 0.5 'invert' | resize 9 9",
                                   f"{AUTO} | gaussian_blur 3 | resize 9 9"])
def test_refused_without_a_resize_directly_behind(leat, photos, chain):
    for more in ("", " | options fuse=off"):
        said = leat("plan", f"folder {photos} | {chain} | batch 1{more}", code=2).stderr
        assert "decode: scale=auto wants a resize, or a crop and a resize, directly behind it" in said, said
        assert "or leave scale=auto out" in said.splitlines()[0]


@pytest.mark.parametrize("chain", [f"{AUTO} | cache", f"{AUTO} | resize 20 20 | cache"])
def test_refused_before_cache(leat, photos, chain):
    said = leat("plan", f"folder {photos} | {chain} | batch 4", code=2).stderr
    assert "cache: decode scale=auto makes pixels for one crop and one size only: write cache before decode" in said
    leat("plan", f"folder {photos} | cache | {AUTO} | resize 20 20 | batch 4")


def test_a_truncated_file_is_an_error(leat, tmp_path, photos):
    folder = tmp_path / "cut" / "all"
    folder.mkdir(parents=True)
    data = (photos / "all" / "00.jpg").read_bytes()
    (folder / "cut.jpg").write_bytes(data[:len(data) - 2])
    said = leat("run", f"folder {folder.parent} | {AUTO} | resize 60 60 | batch 1", "-q", code=1).stderr
    assert "cut.jpg" in said and "truncated" in said and len(said.splitlines()) == 1


def test_the_doctor_offers_it(leat, tmp_path, photos):
    """For large JPEGs that a resize makes small, and not for others."""
    folder = tmp_path / "set" / "all"
    folder.mkdir(parents=True)
    for i in range(6):
        (folder / f"{i}.jpg").write_bytes((photos / "all" / "00.jpg").read_bytes())

    def offered(text: str) -> dict:
        report = json.loads(leat("doctor", text, "--json", "--seconds", 0.3).stdout)
        return {remedy["name"]: remedy for remedy in report["remedies"]} | {"cause": report["cause"]}

    text = f"folder {folder.parent} | decode | resize 60 60 | batch 4"
    found = offered(text)
    if found["cause"] != "decode":
        pytest.skip("another cause was found while other programs have the cores")
    assert "decode scale=auto | resize 60 60" in found["scale"]["command"]
    assert "pixels" in found["scale"]["cost"] and found["scale"]["gain"] > 1.1
    assert "scale" not in offered(text.replace("resize 60 60", "resize 900 900"))
    assert "scale" not in offered(text.replace("decode", "decode scale=auto"))
