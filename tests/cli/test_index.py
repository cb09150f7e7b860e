# SPDX-License-Identifier: Apache-2.0
"""leat index: where indexes go, and that they are made anew."""
import os
import re


def settle(*paths):
    """What changed just now may change again, and leaves no index."""
    for path in paths:
        os.utime(path, (10**9, 10**9))


def kept(folder) -> list:
    return sorted(folder.rglob("*.leatidx"))


def test_cache_directory(leat, pictures, records, tmp_path):
    path = records("a.tfrecord", [{"label": i} for i in range(5)])
    settle(path)
    text = leat("index", pictures, path).stdout
    assert re.fullmatch(r"28 samples indexed in [\d.:]+ (us|ms|s|min), kept in (.+)\n", text)
    assert f"kept in {tmp_path}/cache/leat/index" in text and len(kept(tmp_path / "cache")) == 2
    other = tmp_path / "other"
    assert f"kept in {other}/index" in leat("index", "--cache-dir", other, pictures).stdout and len(kept(other)) == 1


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
