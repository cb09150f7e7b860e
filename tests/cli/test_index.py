# SPDX-License-Identifier: Apache-2.0
"""leat index: where indexes go, and that they are made anew."""
import os
import re
import shutil
import subprocess

import pytest
from PIL import Image

import tfrecord
from conftest import paint


def settle(*paths):
    """What changed just now may change again, and leaves no index."""
    for path in paths:
        os.utime(path, (10**9, 10**9))


def kept(folder) -> list:
    return sorted(path for path in folder.rglob("*.leat*") if path.suffix in (".leatidx", ".leatseg"))


def test_cache_directory(leat, pictures, records, tmp_path):
    path = records("a.tfrecord", [{"label": i} for i in range(5)])
    settle(path)
    text = leat("index", pictures, path).stdout
    assert re.fullmatch(r"28 samples indexed in [\d.:]+ (us|ms|s|min), kept in (.+)\n", text)
    assert f"kept in {tmp_path}/cache/leat/sets" in text and len(kept(tmp_path / "cache")) == 2
    other = tmp_path / "other"
    assert f"kept in {other}/sets" in leat("index", "--cache-dir", other, pictures).stdout and len(kept(other)) == 1


def test_beside(leat, pictures, records, tmp_path):
    path = records("a.tfrecord", [{"label": 1}])
    settle(path)
    assert "24 samples indexed" in leat("index", "--beside", "pictures", "a.tfrecord").stdout
    assert kept(tmp_path) == [tmp_path / ".a.tfrecord.leatidx", tmp_path / ".pictures.leatidx"]
    assert leat("index", "--quiet", "--beside", "pictures").stdout == ""


def test_made_anew(leat, pictures, records, tmp_path):
    path = records("a.tfrecord", [{"label": i} for i in range(3)])
    settle(path)
    leat("index", path)
    (place,) = kept(tmp_path / "cache")
    before = place.read_bytes()
    place.write_bytes(b"damaged")
    leat("index", path)
    assert place.read_bytes() == before
    records("a.tfrecord", [{"label": i} for i in range(4)])
    settle(path)
    assert leat("index", path).stdout.startswith("4 samples")
    assert place.read_bytes() != before


def test_replaced_at_the_same_size_and_time(leat, tmp_path):
    """What a program can set back proves nothing."""
    path = tmp_path / "a.tfrecord"
    path.write_bytes(tfrecord.record(b"a" * 84) * 8)
    settle(path)
    spec = f"tfrecord {path} | batch 1"
    leat("index", path)
    path.write_bytes(tfrecord.record(b"b" * 64) * 10)
    settle(path)
    assert "10 records" in leat("plan", spec).stdout
    assert leat("run", spec, "--sink", "digest").stdout == leat("run", spec, "--sink", "digest", "--no-side-files").stdout


def test_times_of_folders_set_back(leat, pictures):
    settle(pictures, pictures / "ant")
    leat("index", pictures)
    shutil.copy(pictures / "ant" / "00.jpg", pictures / "ant" / "new.jpg")
    settle(pictures / "ant")
    assert "24 images" in leat("plan", f"folder {pictures} | batch 1").stdout


@pytest.mark.parametrize("keep", [[], ["-p"]], ids=["cp", "cp -p"])
def test_an_index_beside_the_data_is_copied_with_it(leat, pictures, records, tmp_path, keep):
    (tmp_path / "from").mkdir()
    path = records("from/a.tfrecord", [{"label": i} for i in range(5)])
    pictures.rename(tmp_path / "from/pictures")
    settle(path)
    leat("index", "--beside", "from/pictures", "from/a.tfrecord")
    subprocess.run(["cp", "-r", *keep, tmp_path / "from", tmp_path / "to"], check=True)
    before = {path: path.stat().st_mtime_ns for path in kept(tmp_path)}
    assert len(before) == 4
    for source, n in (("tfrecord to/a.tfrecord", "5 records"), ("folder to/pictures", "23 images")):
        assert n in leat("plan", f"{source} | batch 1").stdout
    assert {path: path.stat().st_mtime_ns for path in kept(tmp_path)} == before  # they were used as they are


def test_images_without_a_label_count_too(leat, pictures):
    (pictures / "top.jpg").write_bytes(b"")
    assert leat("index", pictures).stdout.startswith("24 samples")


def test_pattern_and_folder_of_shards(leat, records, tmp_path):
    (tmp_path / "shards").mkdir()
    for number in range(3):
        settle(records(f"shards/{number}.tfrecord", [{"label": 1}] * 2))
    for path in ("shards", "shards/*.tfrecord"):
        assert leat("index", path).stdout.startswith("6 samples indexed")
    assert len(kept(tmp_path / "cache")) == 3


def test_damaged_file_can_be_indexed(leat, records, tmp_path):
    path = records("a.tfrecord", [{"label": i} for i in range(9)])
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data[:-3])
    settle(path)
    assert leat("index", path).stdout.startswith("9 samples")


def test_what_cannot_be_indexed(leat, records, pictures, tmp_path):
    records("a.tfrecord.gz", [{"label": 1}], "gzip")
    (tmp_path / "a.txt").write_text("hello")
    (tmp_path / "file").write_text("")
    for words, more in [("read as a stream and needs no index", ["a.tfrecord.gz"]), ("neither a TFRecord", ["a.txt"]),
                        ("is an image", [pictures / "ant" / "00.jpg"]), ("cannot find nowhere", ["nowhere"]),
                        ("not kept", ["--cache-dir", tmp_path / "file", pictures])]:
        done = leat("index", *more, code=1)
        assert words in done.stderr and done.stdout == "", done.stderr
    assert "not both" in leat("index", "--beside", "--cache-dir", "x", pictures, code=2).stderr
    assert "which path" in leat("index", code=2).stderr
    assert "Example:" in leat("index", "--help").stdout


CROP = "shuffle | decode | random_resized_crop 24 | random_flip_left_right | batch 5"


def photos(folder, n=6):
    """JPEGs with something to skip in them, and one that has no positions."""
    (folder / "a").mkdir(parents=True)
    for number in range(n):
        image = Image.fromarray(paint(150, 190, number))
        image.save(folder / f"a/{number}.jpg", subsampling=number % 3, quality=70 + 5 * number)
    image.save(folder / "a/progressive.jpg", progressive=True)
    return folder


def digest(leat, spec, *more) -> str:
    return leat("run", spec, "--sink", "digest", "--epochs", "3", "--on-error", "skip", "-q", *more).stdout


def test_positions_of_a_folder(leat, tmp_path):
    folder = photos(tmp_path / "photos")
    spec = f"folder {folder} | {CROP}"
    plain = digest(leat, spec + " | options positions=off")
    assert len(kept(tmp_path)) == 1
    text = leat("index", "--positions", folder).stdout
    assert text.startswith("7 samples indexed, with positions of 6 JPEGs in ")
    assert len(kept(tmp_path)) == 2
    plan = leat("plan", spec).stdout
    assert "positions of 6 files are there" in plan
    assert "of 7 JPEGs looked at, 7 are ordinary\n" in plan
    before = [path.read_bytes() for path in kept(tmp_path)]
    assert digest(leat, spec) == plain
    assert [path.read_bytes() for path in kept(tmp_path)] == before  # nothing was new
    assert digest(leat, spec, "--threads", "3") == plain
    assert digest(leat, spec, "--no-side-files") == plain


def test_positions_are_kept_by_a_run(leat, tmp_path):
    folder = photos(tmp_path / "photos")
    spec = f"folder {folder} | {CROP}"
    assert "positions of 0 files are there" in leat("plan", spec).stdout
    first = digest(leat, spec)
    assert "positions of 6 files are there" in leat("plan", spec).stdout
    assert digest(leat, spec) == first
    fast = spec + " | options accuracy=fast"  # other pixels at the same positions
    plan = leat("plan", fast).stdout
    assert "leat's own for ordinary files" in plan and "equal bytes; fast IDCT\n" in plan
    assert "positions of 6 files are there" in plan
    assert digest(leat, fast) == digest(leat, fast + " positions=off") != first


def test_positions_beside(leat, tmp_path):
    folder = photos(tmp_path / "photos")
    leat("index", "--beside", "-p", folder)
    assert kept(tmp_path) == [tmp_path / ".photos.leatidx", tmp_path / ".photos.positions.leatseg"]
    assert "positions of 6 files are there" in leat("plan", f"folder {folder} | {CROP}").stdout


def test_positions_of_records(leat, records, tmp_path):
    folder = photos(tmp_path / "photos")
    (tmp_path / "shards").mkdir()
    files = sorted((folder / "a").iterdir())
    for number in range(2):
        images = [{"image": path.read_bytes(), "label": 1} for path in files[number::2]]
        settle(records(f"shards/{number}.tfrecord", images))
    spec = f"tfrecord '{tmp_path}/shards/*.tfrecord' | parse image:bytes label:int64 | {CROP}"
    plain = digest(leat, spec + " | options positions=off")
    assert ", with positions of 3 JPEGs in" in leat("index", "-p", "shards/0.tfrecord").stdout
    assert "positions of 3 files are there" in leat("plan", spec).stdout
    leat("index", "-p", "shards/1.tfrecord")  # adds to them
    plan = leat("plan", spec).stdout
    assert "positions of 6 files are there" in plan and "of 7 JPEGs looked at, 7 are ordinary\n" in plan
    assert digest(leat, spec) == plain


def test_positions_that_are_no_good(leat, tmp_path):
    folder = photos(tmp_path / "photos")
    spec = f"folder {folder} | {CROP}"
    settle(folder, folder / "a")
    plain = digest(leat, spec + " | options positions=off")
    leat("index", "--beside", "-p", folder)
    place = tmp_path / ".photos.positions.leatseg"
    good = place.read_bytes()
    spoilt = bytearray(good)
    spoilt[200] ^= 1  # in the first entry
    for bad, n in ((b"", 0), (good[:40], 0), (good[:-1], 5), (good[:-40], 5), (good + b"x", 6), (spoilt, 5),
                   (good[:50] + b"\1" + good[51:], 0), (b"x" * len(good), 0), (good[:64] + b"x" * 320 + good[64:], 6)):
        place.write_bytes(bad)
        assert f"positions of {n} files are there" in leat("plan", spec).stdout
        assert digest(leat, spec, "--no-side-files") == digest(leat, spec) == plain
        shutil.rmtree(tmp_path / "cache")
    place.write_bytes(good)  # and the files change, but neither their sizes nor their times
    for path in (folder / "a").glob("[0-9].jpg"):
        times, body = path.stat(), bytearray(path.read_bytes())
        body[len(body) // 2] ^= 64
        path.write_bytes(body)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert digest(leat, spec) == digest(leat, spec + " | options positions=off")


def test_positions_where_none_are_needed(leat, tmp_path):
    folder = photos(tmp_path / "photos")
    Image.fromarray(paint(40, 30, 1)).convert("CMYK").save(folder / "a/inks.jpg")
    whole = leat("plan", f"folder {folder} | decode | resize 20 20 | batch 2").stdout
    assert "no positions: pictures are decoded whole" in whole and "leat's own for ordinary files" in whole
    assert "of 8 JPEGs looked at, 7 are ordinary; others are not: CMYK (see leat info)" in whole
    off = leat("plan", f"folder {folder} | {CROP} | options positions=off").stdout
    assert "no positions: they are switched off" in off


def test_the_plan_of_other_pictures(leat, tmp_path):
    (tmp_path / "png").mkdir()
    for number in range(3):
        Image.fromarray(paint(20, 20, number)).save(tmp_path / f"png/{number}.png")
    plan = leat("plan", "folder png labels=none | decode | resize 8 8 | batch 2").stdout
    assert "decoder   PNG: leat's own for ordinary files" in plan and "of 3 PNGs looked at, 3 are ordinary\n" in plan
    assert "JPEG" not in plan
    (tmp_path / "gif").mkdir()
    Image.fromarray(paint(20, 20, 1)).save(tmp_path / "gif/1.gif")
    plan = leat("plan", "folder gif labels=none | decode | resize 8 8 | batch 2").stdout
    assert "decoder   of GIF or BMP: none of 1 pictures looked at is a JPEG, a PNG or a WebP\n" in plan
    (tmp_path / "webp").mkdir()
    for number in range(3):
        Image.fromarray(paint(20, 20, number)).save(tmp_path / f"webp/{number}.webp", lossless=number == 1)
    plan = leat("plan", "folder webp labels=none | decode | resize 8 8 | batch 2").stdout
    assert "decoder   WebP: leat's own for lossy files" in plan
    assert "of 3 WebPs looked at, 2 are ordinary; others are not: lossless (see leat info)\n" in plan
    assert "JPEG" not in plan and "PNG" not in plan


def test_old_names(leat, tmp_path):
    done = leat("index", "--checkpoints", tmp_path, code=2)
    assert "the option --checkpoints is called --positions now" in done.stderr
    done = leat("plan", "synth 9 | batch 3 | options checkpoints=off", code=2)
    assert "options: the argument 'checkpoints' is called 'positions' now" in done.stderr
