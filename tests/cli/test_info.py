# SPDX-License-Identifier: Apache-2.0
"""leat info: what a path is, in words and as JSON."""
import json
import shutil
import zlib

import pytest
from PIL import Image

import tfrecord
from conftest import paint


def facts(leat, path, *more) -> dict:
    return json.loads(leat("info", "--json", *more, path).stdout)


def test_folder(leat, pictures):
    sizes = [path.stat().st_size for path in pictures.rglob("*.*")]
    images = [Image.open(path).size for path in pictures.rglob("*.*")]
    got = facts(leat, pictures)
    assert got["kind"] == "folder" and got["samples"] == got["files"] == got["looked_at"] == 23 and got["bad"] == 0
    assert got["bytes"] == sum(sizes)
    assert (got["sample_bytes_min"], got["sample_bytes_max"]) == (min(sizes), max(sizes))
    assert got["classes"] == [{"name": "ant", "n": 8}, {"name": "bee", "n": 8}, {"name": "cat", "n": 7}]
    assert {f["name"]: f["n"] for f in got["formats"]} == {"jpeg": 9, "png": 5, "webp": 5, "bmp": 4}
    widths, heights = zip(*images)
    assert (got["width_min"], got["width_max"]) == (min(widths), max(widths))
    assert (got["height_min"], got["height_max"]) == (min(heights), max(heights))
    assert got["width_mean"] == pytest.approx(sum(widths) / 23, abs=0.01)
    assert got["height_mean"] == pytest.approx(sum(heights) / 23, abs=0.01)


def test_same_for_any_number_of_threads(leat, pictures):
    assert len({leat("info", "-t", n, pictures).stdout for n in (1, 2, 7)}) == 1


def test_text_fits_the_terminal(leat, pictures):
    text = leat("info", pictures.name).stdout
    assert text.startswith("pictures: a folder of images\n  images    23 in 3 classes\n")
    assert "jpeg" in text and "ant" in text and "all alike" not in text
    assert max(map(len, text.splitlines())) <= 100


def test_classes_are_cut_at_20_unless_all(leat, tmp_path):
    for number in range(30):
        folder = tmp_path / "many" / f"class{number:02}"
        folder.mkdir(parents=True)
        for copy in range(1 + number % 4):
            Image.fromarray(paint(8, 8, number)).save(folder / f"{copy}.png")
    text = leat("info", "many").stdout
    assert "and 10 more (--all lists them)" in text and text.count("class") == 21 + text.count("classes") - 1
    counts = [int(line.split()[-1]) for line in text.splitlines() if "class" in line and line.split()[-1].isdigit()]
    assert counts == sorted(counts, reverse=True)
    assert "class29" in leat("info", "--all", "many").stdout
    assert "more" not in leat("info", "--all", "many").stdout


def test_no_classes(leat, pictures):
    got = facts(leat, pictures / "ant")
    assert got["classes"] == [] and got["samples"] == 8


def test_few_are_looked_at(leat, pictures):
    got = facts(leat, pictures, "--look-at", 5)
    assert got["looked_at"] == 5 and sum(f["n"] for f in got["formats"]) == 5 and got["samples"] == 23
    assert "of 5 images" in leat("info", "--look-at", 5, pictures).stdout


def test_bad_images_are_counted(leat, pictures):
    (pictures / "ant" / "empty.jpg").write_bytes(b"")
    (pictures / "ant" / "text.png").write_bytes(b"hello")
    assert facts(leat, pictures)["bad"] == 2
    assert "2 of 25 could not be read" in leat("info", pictures).stdout


def test_records(leat, records, pictures):
    picture = (pictures / "ant" / "00.jpg").read_bytes()
    examples = [{"image": picture, "label": i, "ids": list(range(i + 1)), "x": [0.5] * 3} for i in range(5)]
    path = records("a.tfrecord", examples + [{"label": 7}])
    got = facts(leat, path)
    assert got["kind"] == "tfrecord" and got["samples"] == 6 and got["files"] == 1 and got["bytes"] == path.stat().st_size
    assert got["formats"] == [{"name": "ids: int64[1..5]", "n": 5}, {"name": "image: bytes[1] jpeg", "n": 5},
                              {"name": "label: int64[1]", "n": 6}, {"name": "x: float[3]", "n": 5}]
    assert (got["width_min"], got["height_min"]) == Image.open(pictures / "ant" / "00.jpg").size
    assert "in 5 of 6 records" in leat("info", path).stdout


@pytest.mark.parametrize("how", ["gzip", "zlib"])
def test_compressed_records(leat, records, how):
    got = facts(leat, records("a.tfrecord", [{"label": i} for i in range(300)], how))
    assert got["kind"] == f"tfrecord {how}" and got["samples"] == got["looked_at"] == 300
    assert got["formats"] == [{"name": "label: int64[1]", "n": 300}]


def test_pattern_and_folder_of_shards(leat, records, tmp_path):
    (tmp_path / "shards").mkdir()
    for number in range(3):
        records(f"shards/a.tfrecord-{number:05}-of-00003", [{"label": 1}] * (number + 1))
    for path in ("shards", "shards/a.tfrecord-*", tmp_path / "shards/"):
        got = facts(leat, path)
        assert (got["kind"], got["samples"], got["files"]) == ("tfrecord", 6, 3)


def test_images(leat, pictures):
    one = facts(leat, pictures / "ant" / "00.jpg")
    assert one["kind"] == "image" and one["samples"] == 1 and one["formats"] == [{"name": "jpeg", "n": 1}]
    assert facts(leat, f"{pictures}/*/*.png")["samples"] == 5
    gray = pictures / "gray.jpg"
    Image.fromarray(paint(9, 9, 1)[..., 0]).save(gray, progressive=True)
    assert facts(leat, gray)["formats"][0]["name"] == "jpeg gray progressive"


def test_not_an_example(leat, tmp_path):
    (tmp_path / "raw.tfrecord").write_bytes(tfrecord.record(b"\xff" * 50))
    assert facts(leat, "raw.tfrecord")["formats"] == [{"name": "(not an Example)", "n": 1}]


def test_what_cannot_be_told(leat, pictures, records, tmp_path):
    (tmp_path / "notes.txt").write_text("hello\n")
    (tmp_path / "text.tfrecord").write_text("hello\n" * 100)
    (tmp_path / "empty.tfrecord").write_bytes(b"")
    (tmp_path / "bare").mkdir()
    shutil.make_archive(str(tmp_path / "photos"), "zip", pictures)
    (tmp_path / "cut.jpg").write_bytes((pictures / "ant" / "00.jpg").read_bytes()[:20])
    records("ant.tfrecord", [{"label": 1}])
    for path, words in [("nowhere", "cannot find nowhere"), ("no*where", "no file matches no*where"),
                        ("notes.txt", "neither a TFRecord file nor a JPEG"), ("photos.zip", "a zip archive: unpack"),
                        ("text.tfrecord", "text.tfrecord is not a TFRecord file"), ("cut.jpg", "cut.jpg: jpeg"),
                        ("empty.tfrecord", "holds no record"), ("bare", "bare has no images"), ("", "path is empty"),
                        ("*.{jpg,tfrecord}", "different kinds"), ("/dev/null", "not a regular file")]:
        done = leat("info", path, code=1)
        assert words in done.stderr and done.stdout == "" and done.stderr.count("\n") == 1, (path, done.stderr)


def test_usage(leat):
    assert "which path" in leat("info", code=2).stderr
    assert "one path at a time" in leat("info", "a", "b", code=2).stderr
    assert "no option --wrong" in leat("info", "--wrong", code=2).stderr
    assert "Example:" in leat("info", "--help").stdout


def without_last_scan(progressive: bytes) -> bytes:
    return progressive[: progressive.rindex(b"\xff\xc4")] + b"\xff\xd9"


def test_decoder(leat, tmp_path):
    folder = tmp_path / "some"
    folder.mkdir()
    for number in range(4):
        Image.fromarray(paint(40, 30, number)).save(folder / f"{number}.jpg")
    for number in range(2):
        path = folder / f"slow{number}.jpg"
        Image.fromarray(paint(40, 30, number)).save(path, progressive=True)
        shutil.copy(path, folder / f"scans{number}.jpg")
        path.write_bytes(without_last_scan(path.read_bytes()))
    Image.fromarray(paint(40, 30, 1)).convert("CMYK").save(folder / "inks.jpg")
    Image.fromarray(paint(40, 30, 1)).save(folder / "other.png")
    Image.fromarray(paint(40, 30, 1)).save(folder / "other.gif")
    header = bytearray((folder / "other.png").read_bytes())
    header[28] = 1  # interlaced
    (folder / "interlaced.png").write_bytes(header[:29] + zlib.crc32(header[12:29]).to_bytes(4, "big") + header[33:])
    Image.fromarray(paint(40, 30, 1)).save(folder / "other.webp")
    Image.fromarray(paint(40, 30, 1)).save(folder / "lossless.webp", lossless=True)
    Image.fromarray(paint(40, 30, 1)).convert("RGBA").rotate(30).save(folder / "transparent.webp")
    got = facts(leat, folder)
    assert got["own_decoder"] == 8
    assert got["detours"] == [{"name": "libjpeg-turbo: incomplete scans", "n": 2}, {"name": "libjpeg-turbo: CMYK", "n": 1},
                              {"name": "libpng: interlaced", "n": 1}, {"name": "libwebp: lossless", "n": 1},
                              {"name": "libwebp: transparency", "n": 1}]
    lines = [line.split() for line in leat("info", folder).stdout.splitlines()]
    assert ["decoder", "leat's", "own", "8"] in lines
    assert ["libjpeg-turbo:", "incomplete", "scans", "2"] in lines and ["libjpeg-turbo:", "CMYK", "1"] in lines
    assert ["libpng:", "interlaced", "1"] in lines
    assert "decoder   leat's own\n" in leat("info", folder / "0.jpg").stdout
    assert "decoder   leat's own\n" in leat("info", folder / "other.png").stdout
    assert "decoder   leat's own\n" in leat("info", folder / "other.webp").stdout
    assert "decoder   libwebp: transparency\n" in leat("info", folder / "transparent.webp").stdout
    assert "decoder   libpng: interlaced\n" in leat("info", folder / "interlaced.png").stdout
    assert "  decoder " not in leat("info", folder / "other.gif").stdout
    assert "decoder   libjpeg-turbo: CMYK\n" in leat("info", folder / "inks.jpg").stdout
    shutil.rmtree(folder)


def test_decoder_of_records(leat, records, tmp_path):
    images = []
    for progressive in (False, True, False):
        Image.fromarray(paint(20, 20, len(images))).save(tmp_path / "one.jpg", progressive=progressive)
        image = (tmp_path / "one.jpg").read_bytes()
        images.append(without_last_scan(image) if progressive else image)
    got = facts(leat, records("a.tfrecord", [{"image": image} for image in images]))
    assert got["own_decoder"] == 2 and got["detours"] == [{"name": "libjpeg-turbo: incomplete scans", "n": 1}]
