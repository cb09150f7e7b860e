# SPDX-License-Identifier: Apache-2.0
"""leat check: everything that is bad is named, nothing else is, and nothing crashes it."""
import json
import os
import random
import struct

import pytest

import tfrecord


def report(leat, *paths, code: int = 0) -> dict:
    return json.loads(leat("check", "--json", *paths, code=code).stdout)


def test_all_good(leat, pictures, records):
    path = records("a.tfrecord", [{"image": file.read_bytes()} for file in sorted(pictures.rglob("*.*"))])
    text = leat("check", pictures, path).stdout
    assert text.startswith("all 46 good  (") and text.count("\n") == 1
    assert report(leat, pictures) == {"files": 23, "samples": 23, "bad": 0, "list": [],
                                      "bytes": sum(file.stat().st_size for file in pictures.rglob("*.*"))}
    assert leat("check", "--quiet", pictures).stdout == ""


def spoil(pictures) -> dict:
    """Bad files of every kind, and words that their reasons must have."""
    good = (pictures / "ant" / "00.jpg").read_bytes()
    png = bytearray((pictures / "bee" / "01.png").read_bytes())
    png[len(png) // 2] ^= 255
    os.symlink("ant", pictures / "loop")
    os.mkfifo(pictures / "cat" / "fifo.jpg")
    (pictures / "cat" / "notes.txt").write_text("ignored")
    (pictures / "root.jpg").write_bytes(good)
    bad = {"ant/empty.jpg": (b"", "empty"), "ant/text.jpg": (b"hello", "not a JPEG"), "bee/cut.jpg": (good[:-100], "truncated"),
           "bee/flipped.png": (bytes(png), "png"), "cat/odd name: x.gif": (b"GIF89a", "gif"), "top.bmp": (b"BM", "bmp")}
    for name, (data, _) in bad.items():
        (pictures / name).write_bytes(data)
    return {name: words for name, (_, words) in bad.items()}


def test_folder(leat, pictures):
    bad = spoil(pictures)
    got = report(leat, pictures, code=1)
    found = {item["path"]: item for item in got["list"]}
    assert sorted(found) == sorted(f"{pictures}/{name}" for name in bad)
    for name, words in bad.items():
        item = found[f"{pictures}/{name}"]
        assert words in item["reason"] and item["stage"] == "decode" and "record" not in item, item
    assert (got["samples"], got["bad"]) == (24 + len(bad), len(bad))
    text = leat("check", "pictures/", code=1).stdout.splitlines()
    assert text[-1].startswith(f"{len(bad)} of {24 + len(bad)} bad  (")
    names = [f"pictures/{name}" for name in sorted(bad, key=lambda name: ("/" in name, name))]  # in the order of the folder
    assert [line.split(": decode: ")[0] for line in text[:-1]] == names
    assert leat("check", "-q", "pictures", code=1).stdout.splitlines() == names
    assert len({leat("check", "-q", "-t", n, "pictures", code=1).stdout for n in (1, 2, 5)}) == 1


def test_names_of_all_kinds(leat, pictures):
    names = [b"new\nline.jpg", b"\xff\xfe.jpg", b"\x1b[31mred.jpg", ("a" * 250 + ".jpg").encode()]
    for name in names:
        with open(os.fsencode(pictures / "ant") + b"/" + name, "wb") as file:
            file.write(b"bad")
    done = leat("check", "--null", "pictures", code=1, errors="surrogateescape").stdout.split("\0")
    assert sorted(os.fsencode(path) for path in done[:-1]) == sorted(b"pictures/ant/" + name for name in names)
    text = leat("check", "pictures", code=1, errors="surrogateescape").stdout
    assert text.count("\n") == 5 and "\x1b" not in text
    assert report(leat, "pictures", code=1)["bad"] == 4


def test_changed_since_indexed(leat, pictures):
    leat("index", pictures)
    for path in pictures.rglob("*"):
        if path.is_dir():
            os.utime(path, (10**9, 10**9))
    os.utime(pictures, (10**9, 10**9))
    leat("index", pictures)
    (pictures / "ant" / "00.jpg").write_bytes((pictures / "bee" / "01.png").read_bytes())
    assert report(leat, pictures)["bad"] == 0  # it is read as it is now
    assert report(leat, "--no-side-files", pictures)["bad"] == 0


def test_unreadable(leat, pictures):
    path = pictures / "ant" / "00.jpg"
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    got = report(leat, pictures, path, code=1)["list"]
    assert [item["path"] for item in got] == [str(path)] * 2 and "Permission denied" in got[0]["reason"]


def test_single_files(leat, pictures, tmp_path):
    (tmp_path / "a.txt").write_text("hello")
    (tmp_path / "cut.jpg").write_bytes((pictures / "ant" / "00.jpg").read_bytes()[:-50])
    got = report(leat, pictures / "bee" / "01.png", "cut.jpg", "a.txt", code=1)
    assert (got["files"], got["samples"], got["bad"]) == (3, 3, 2)
    assert [(item["path"], item["stage"]) for item in got["list"]] == [("cut.jpg", "decode"), ("a.txt", "read")]


@pytest.mark.parametrize("how", ["", "gzip", "zlib"])
def test_images_inside_records(leat, records, pictures, how):
    good = (pictures / "ant" / "00.jpg").read_bytes()
    examples = [{"image": good, "label": 1, "text": b"BMW and GIF", "raw": b"BM" + bytes(90)} for _ in range(200)]
    for number in (7, 150):
        examples[number] = {"label": 2, "image": [good, good[: len(good) // 2]]}
    examples[160] = {"frame": good[:-60]}
    path = records("a.tfrecord", examples, how)
    got = report(leat, path, code=1)
    assert (got["samples"], got["bad"], [item["record"] for item in got["list"]]) == (200, 3, [7, 150, 160])
    assert all(item["stage"] == "decode" and item["path"] == str(path) for item in got["list"])
    assert "feature 'image' value 1: jpeg" in got["list"][0]["reason"] and "record 7" in got["list"][0]["reason"]
    assert "feature 'frame': jpeg" in got["list"][2]["reason"]
    assert leat("check", "-q", path, code=1).stdout == f"{path}\n"


def test_images_in_sequences_and_bare_records(leat, tmp_path, pictures):
    good = (pictures / "ant" / "00.jpg").read_bytes()
    steps = b"".join(tfrecord.delimited(1, tfrecord.feature([data])) for data in (good, good, good[:-70]))
    lists = tfrecord.delimited(2, tfrecord.delimited(1, tfrecord.delimited(1, b"video") + tfrecord.delimited(2, steps)))
    (tmp_path / "a.tfrecord").write_bytes(b"".join(map(tfrecord.record, (good, lists, good[:-70], b"\xff" * 9))))
    got = report(leat, "a.tfrecord", code=1)
    assert [item["record"] for item in got["list"]] == [1, 2]
    assert "step 2 of feature 'video'" in got["list"][0]["reason"]


@pytest.mark.parametrize("how", ["", "gzip"])
def test_checksums(leat, tmp_path, how):
    record = tfrecord.record(tfrecord.example({"label": 3}))
    data = bytearray(record * 100)
    for number, byte in ((3, 2), (50, 14), (99, len(record) - 1)):
        data[number * len(record) + byte] ^= 4
    (tmp_path / "a.tfrecord").write_bytes(tfrecord.compress(bytes(data), how))
    got = report(leat, "a.tfrecord", code=1)
    assert (got["samples"], [item["record"] for item in got["list"]]) == (100, [3, 50, 99])
    for item in got["list"]:
        assert item["stage"] == "read" and item["code"] == "CORRUPT" and f"byte {item['record'] * len(record)}:" in item["reason"]


def test_one_file_that_is_no_tfrecord_among_others(leat, records, tmp_path):
    for number in (0, 2):
        records(f"s-{number}.tfrecord", [{"label": 1}] * 4)
    (tmp_path / "s-1.tfrecord").write_bytes(b"nothing " * 1000)
    (tmp_path / "s-3.tfrecord").write_bytes(b"")  # a shard that got no records
    (tmp_path / "s-4.tfrecord").write_bytes(tfrecord.compress(tfrecord.record(b"x") * 9999, "gzip")[:60])
    got = report(leat, "s-*.tfrecord", code=1)
    assert [item["path"] for item in got["list"]] == ["s-1.tfrecord", "s-4.tfrecord"]
    assert "not a TFRecord file" in got["list"][0]["reason"]
    assert "holds no record" in leat("check", "s-3.tfrecord", code=1).stderr


def test_missing(leat, pictures):
    assert "cannot find nowhere" in leat("check", pictures, "nowhere", code=1).stderr
    assert "which path" in leat("check", code=2).stderr
    assert "Example:" in leat("check", "--help").stdout


def test_hostile_bytes(leat, tmp_path, pictures):
    """Flipped and cut files: an answer each time, and for folders one for every file."""
    choose = random.Random(5)
    seeds = [file.read_bytes() for file in sorted(pictures.rglob("*.*"))]
    shard = b"".join(tfrecord.record(tfrecord.example({"image": data, "n": [1, 2]})) for data in seeds[:4])
    (tmp_path / "h").mkdir()
    for number in range(150):
        data = bytearray(choose.choice(seeds))
        for _ in range(choose.randrange(4)):
            data[choose.randrange(len(data))] ^= 1 << choose.randrange(8)
        (tmp_path / "h" / f"{number}.jpg").write_bytes(data[: choose.randrange(len(data) + 1)] if number % 2 else data)
        data = bytearray(shard)
        for _ in range(1 + choose.randrange(3)):
            data[choose.randrange(choose.choice([16, len(data)]))] ^= 1 << choose.randrange(8)
        (tmp_path / "h" / f"{number}.tfrecord").write_bytes(data[: choose.randrange(len(data))] if number % 3 == 0 else data)
    got = report(leat, "h", "h/*.tfrecord", code=1)
    assert got["files"] == 300 and 150 < got["bad"] < got["samples"]
    leat("info", "--look-at", -1, "h")
    for number in range(0, 150, 10):
        for how in ("", "gzip"):
            path = tmp_path / "h" / f"x{number}.tfrecord"
            path.write_bytes(tfrecord.compress((tmp_path / "h" / f"{number}.tfrecord").read_bytes(), how))
            leat("show", path, code=1)


def test_forged_lengths(leat, tmp_path):
    whole = tfrecord.record(tfrecord.example({"label": 3}))
    for number, length in enumerate((2**63, 2**64 - 1, 2**64 - 4, 2**32 + 1, 1000, 2**28)):
        header = struct.pack("<Q", length)
        data = whole + header + tfrecord.masked(header) + b"abc"
        for how in ("", "gzip"):
            (tmp_path / f"f{number}{how}.tfrecord").write_bytes(tfrecord.compress(data, how))
    got = report(leat, "f*.tfrecord", code=1)
    assert (got["samples"], got["bad"], {item["record"] for item in got["list"]}) == (24, 12, {1})
