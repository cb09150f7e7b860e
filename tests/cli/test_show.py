# SPDX-License-Identifier: Apache-2.0
"""leat show: records as people read them, compared with what was written."""
import struct

import pytest
from PIL import Image

import tfrecord

SMALL = {"label": 7}


def lines(done) -> list[str]:
    return done.stdout.splitlines()


@pytest.mark.parametrize("how", ["", "gzip", "zlib"])
def test_kinds_and_values(leat, records, pictures, how):
    picture = (pictures / "ant" / "00.jpg").read_bytes()
    width, height = Image.open(pictures / "ant" / "00.jpg").size
    example = {"image": picture, "label": 7, "x": [0.5, -1.25, 3e10], "ids": list(range(-2, 20)), "name": b'a "b"\n\xc3\xa4',
               "raw": bytes(range(200, 255)), "words": [b"one", b"two"], "nothing": []}
    path = records("a.tfrecord", [example, SMALL], how)
    got = lines(leat("show", path))
    assert got == [
        f"record 0, {len(tfrecord.example(example)):,} bytes",
        "  ids      int64  [22]  -2  -1  0  1  2  3  4  5  ...",
        f"  image    bytes  [1]   JPEG {width}x{height}, {len(picture) / 1000:.1f} KB",
        "  label    int64  [1]   7",
        '  name     bytes  [1]   "a \\"b\\"\\n\u00e4"',
        "  nothing  int64  [0]",
        "  raw      bytes  [1]   c8 c9 ca cb cc cd ce cf d0 d1 d2 d3 d4 d5 d6 d7 ...  55 bytes",
        '  words    bytes  [2]   "one", "two"',
        "  x        float  [3]   0.5  -1.25  3e+10",
        f"record 1, {len(tfrecord.example(SMALL))} bytes",
        "  label  int64  [1]  7",
    ]


def test_five_unless_told(leat, records):
    path = records("a.tfrecord", [{"i": i} for i in range(9)])
    packed = records("b.tfrecord", [{"i": i} for i in range(9)], "gzip")
    for file in (path, packed):
        numbers = lambda *more: [line.split()[-1] for line in lines(leat("show", file, *more)) if line.startswith(" ")]
        assert numbers() == list("01234")
        assert numbers("--records", 2, "--skip", 3) == list("34")
        assert numbers("-n", -1) == list("012345678")
        assert numbers("-n", 4, "--skip", 7) == list("78")
        assert numbers("-n", 0) == []
        assert "has only 9 records" in leat("show", "--skip", 9, file, code=1).stderr


def test_lines_fit_the_terminal(leat, records):
    example = {"long": [2**62 + i for i in range(30)], "floats": [1.2345678e-20] * 30, "text": b"word " * 500,
               "texts": [b"many words " * 9] * 20, "k" * 90: 1}
    got = lines(leat("show", records("a.tfrecord", [example])))
    assert max(map(len, got)) <= 100
    assert any("..." in line and "[30]" in line for line in got)
    assert any(line.endswith("2.5 KB") for line in got)


def test_nothing_a_terminal_would_obey(leat, records):
    example = {"\x1b[31mkey": 1, "a": b"\x1b[2J", "b": "\u009b31m".encode(), "c": b"\xff\xfe", "d": b"\xed\xa0\x80"}
    text = leat("show", records("a.tfrecord", [example])).stdout
    assert all(ord(c) >= 32 or c == "\n" for c in text) and "\x9b" not in text
    assert "1b 5b 32 4a" in text and "ed a0 80" in text


def test_no_example(leat, tmp_path):
    data = b"\xff" * 40
    (tmp_path / "a.tfrecord").write_bytes(tfrecord.record(data) + tfrecord.record(b"") + tfrecord.record(b"\x0a\x00"))
    assert lines(leat("show", "a.tfrecord")) == [
        "record 0, 40 bytes, not an Example", "  " + " ".join(["ff"] * 16) + " ...  40 bytes", "record 1, 0 bytes, empty",
        "record 2, 2 bytes, an Example without features"]


def test_last_of_equal_keys_counts(leat, tmp_path):
    entries = [tfrecord.delimited(1, b"k") + tfrecord.delimited(2, tfrecord.feature(value)) for value in (1, 2, 3)]
    data = tfrecord.delimited(1, b"".join(tfrecord.delimited(1, entry) for entry in entries))
    (tmp_path / "a.tfrecord").write_bytes(tfrecord.record(data))
    assert lines(leat("show", "a.tfrecord"))[1:] == ["  k  int64  [1]  3"]


def test_sequence_example(leat, tmp_path):
    steps = b"".join(tfrecord.delimited(1, tfrecord.feature([i, i + 1])) for i in range(6))
    lists = tfrecord.delimited(1, tfrecord.delimited(1, b"frames") + tfrecord.delimited(2, steps))
    (tmp_path / "a.tfrecord").write_bytes(tfrecord.record(tfrecord.example({"id": 4}) + tfrecord.delimited(2, lists)))
    assert lines(leat("show", "a.tfrecord"))[1:] == ["  id      int64  [1]  4", "  frames  6 steps of int64  [2]  0  1"]


def damaged(where: int, n: int = 5) -> bytes:
    data = bytearray(b"".join(tfrecord.record(tfrecord.example({"i": i})) for i in range(n)))
    data[where] ^= 1
    return bytes(data)


SIZE = len(tfrecord.record(tfrecord.example({"i": 0})))


@pytest.mark.parametrize("how", ["", "gzip"])
@pytest.mark.parametrize("skip", [0, 1])
@pytest.mark.parametrize("where, words", [(SIZE * 2 + 20, "bytes is wrong"), (SIZE * 2 + 3, "checksum of its length is wrong"),
                                          (SIZE * 2 + 9, "checksum of its length is wrong")])
def test_damage_costs_one_record(leat, tmp_path, where, words, how, skip):
    (tmp_path / "a.tfrecord").write_bytes(tfrecord.compress(damaged(where), how))
    got = lines(leat("show", "--skip", skip, "a.tfrecord", code=1))
    at = got.index("record 2, damaged")
    assert words in got[at + 1] and f"byte {SIZE * 2}" in got[at + 1] and "a.tfrecord" not in got[at + 1]
    assert ("inflated" in got[at + 1]) == (how != "")
    assert [line.split()[-1] for line in got if "int64" in line] == [str(i) for i in range(5) if i != 2 and i >= skip]


def test_damage_at_the_beginning(leat, tmp_path):
    (tmp_path / "a.tfrecord").write_bytes(damaged(0))
    got = lines(leat("show", "a.tfrecord", code=1))
    assert got[0] == "record 0, damaged" and len([line for line in got if "int64" in line]) == 4


@pytest.mark.parametrize("cut", [1, 11, 12, 15, SIZE - 1])
def test_truncated(leat, tmp_path, cut):
    data = damaged(0)[SIZE:]
    (tmp_path / "a.tfrecord").write_bytes(data[: SIZE + cut])
    got = lines(leat("show", "a.tfrecord", code=1))
    assert got[0].startswith("record 0, ") and got[2] == "record 1, damaged"


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 2**64 - 4, 2**32 + 1, 10**6])
def test_forged_length(leat, tmp_path, length):
    header = struct.pack("<Q", length)
    forged = header + tfrecord.masked(header) + b"x" * 50
    (tmp_path / "a.tfrecord").write_bytes(tfrecord.record(tfrecord.example(SMALL)) + forged)
    assert "record 1, damaged" in lines(leat("show", "a.tfrecord", code=1))
    (tmp_path / "b.tfrecord").write_bytes(forged)
    assert "record 0, damaged" in lines(leat("show", "b.tfrecord", code=1))


def test_what_is_no_tfrecord(leat, tmp_path, pictures):
    (tmp_path / "text.tfrecord").write_text("hello\n" * 100)
    (tmp_path / "jpeg.tfrecord").write_bytes((pictures / "ant" / "00.jpg").read_bytes())
    (tmp_path / "text.gz").write_bytes(tfrecord.compress(b"hello " * 100, "gzip"))
    (tmp_path / "empty.tfrecord").write_bytes(b"")
    (tmp_path / "picture.png").write_bytes((pictures / "bee" / "01.png").read_bytes())
    for path, words in [("text.tfrecord", "is not a TFRecord file"), ("jpeg.tfrecord", "is not a TFRecord file"),
                        ("text.gz", "is not a TFRecord file"), ("empty.tfrecord", "holds no record"),
                        ("picture.png", "is an image"), ("pictures", "is a folder"), ("nowhere", "cannot find nowhere"),
                        ("*.nothing", "no file matches")]:
        done = leat("show", path, code=1)
        assert words in done.stderr and done.stdout == "" and done.stderr.count("\n") == 1, (path, done.stderr)


def test_usage(leat):
    assert "which TFRecord file" in leat("show", code=2).stderr
    assert "whole number" in leat("show", "--records", "x", "a", code=2).stderr
    assert "Example:" in leat("show", "--help").stdout
