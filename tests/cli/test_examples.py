# SPDX-License-Identifier: Apache-2.0
"""The programs in examples/ do what their first lines say, on data made here."""
import os
import re
import struct
import subprocess
from pathlib import Path

import numpy
import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "examples").glob("*.c"))


def program(name: str) -> Path:
    """LEAT_EXAMPLES names the folder of the programs; without it they are looked for in the build folder."""
    build = Path(os.environ.get("LEAT_BUILD", ROOT / "build/release"))
    folders = [Path(os.environ["LEAT_EXAMPLES"])] if "LEAT_EXAMPLES" in os.environ else [build / "examples", build]
    for path in (folder / form for folder in folders for form in (name, "example_" + name)):
        if path.is_file():
            return path
    raise FileNotFoundError(f"example {name} is not built in {' or '.join(map(str, folders))}")


@pytest.fixture
def run(tmp_path):
    def run(name: str, *words, code: int = 0, **env: str) -> str:
        """What it prints; on failure (code != 0) what it complains about."""
        done = subprocess.run([program(name), *map(str, words)], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), **env})
        assert done.returncode == code, done.stdout + done.stderr
        return done.stderr if code else done.stdout

    return run


@pytest.fixture
def photos(tmp_path):
    """Pictures of one gray value: 20 of 51, 14 of 102 and 9 of 204, in three classes and three formats."""
    folder = tmp_path / "my photos"
    for name, n, value, ending in (("ants", 20, 51, "jpg"), ("bees", 14, 102, "png"), ("cats", 9, 204, "bmp")):
        (folder / name).mkdir(parents=True)
        for i in range(n):
            pixels = numpy.full((40 + i, 60 - i, 3), value, numpy.uint8)
            Image.fromarray(pixels).save(folder / name / f"{i:03}.{ending}")
    return folder


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_is_built_and_short(source, run):
    assert program(source.stem).is_file()
    assert len(source.read_text().splitlines()) < 80
    assert "usage: " + source.stem in run(source.stem, code=2)


def test_read_folder(run, photos):
    text = run("read_folder", photos)
    batches = [(int(n), float(mean)) for n, mean in re.findall(r"^batch \d+: (\d+) pictures, mean (\S+)$", text, re.M)]
    assert [n for n, _ in batches] == [32, 11]
    mean = sum(n * mean for n, mean in batches) / 43
    assert mean == pytest.approx((20 * 51 + 14 * 102 + 9 * 204) / 43 / 255, abs=2e-4)
    assert re.findall(r"^class (\w+): (\d+)$", text, re.M) == [("ants", "20"), ("bees", "14"), ("cats", "9")]
    assert text == run("read_folder", photos)


def test_read_folder_says_what_is_wrong(run, tmp_path, photos):
    assert str(tmp_path / "nowhere") in run("read_folder", tmp_path / "nowhere", code=1)
    (photos / "bees/003.png").write_bytes((photos / "bees/003.png").read_bytes()[:60])
    assert "bees/003.png" in run("read_folder", photos, code=1)


def test_write_read_tfrecord(run, tmp_path):
    path = tmp_path / "pictures.tfrecord"
    assert run("write_read_tfrecord", path) == "wrote 100 pictures, 100 came back the same\n"
    data, at, n = path.read_bytes(), 0, 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        assert b"image" in data[at + 12:at + 12 + length] and b"label" in data[at + 12:at + 12 + length]
        at, n = at + 16 + length, n + 1
    assert (at, n) == (len(data), 100)
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["pictures.tfrecord"]
    assert "nowhere" in run("write_read_tfrecord", tmp_path / "nowhere/x.tfrecord", code=1)


def test_parallel_decode(run, photos):
    (photos / "ants/broken.jpg").write_bytes(b"\xff\xd8 this is no picture")
    for threads in ("0", "1", "3"):
        text = run("parallel_decode", photos, threads)
        assert re.match(r"43 images in \S+ s: \d+ images/s with \d+ threads", text), text
        assert re.findall(r"^  (read|parse|decode|transform|store) +\d+\.\d+ s$", text, re.M) == [
            "read", "parse", "decode", "transform", "store"]
        assert "1 bad images" in text


def test_float_table(run, tmp_path):
    text = run("float_table", tmp_path / "rows.tfrecord")
    accuracy = float(re.fullmatch(r"accuracy on 2000 rows it has not seen: (\S+)\n", text)[1])
    assert accuracy > 0.93
    assert text == run("float_table", tmp_path / "rows.tfrecord", LEAT_CPU_MASK="0")


def test_own_source(run):
    text = run("own_source", 1000)
    assert "left out: source: sample 13: nobody draws number 13\n" in text
    counts = re.findall(r"^radius (\d+): (\d+) of 999$", text, re.M)
    assert [int(radius) for radius, _ in counts] == list(range(3, 11)) and sum(int(n) for _, n in counts) == 999
    assert "number of samples is 0" in run("own_source", 0, code=1)


def test_combine_sources(run, photos):
    assert run("combine_sources", photos) == "4096 samples, 1024 of them noise\n"
    assert "part photos: " in run("combine_sources", "no/such", code=1)


def test_ranks(run, photos):
    steps = lambda text: {int(step): [int(n) for n in ids.split()]
                          for step, ids in re.findall(r"^step (\d+): sum \d+, samples((?: \d+)*)$", text, re.M)}
    alone = run("ranks", photos)
    assert alone.endswith("43 samples, 0 places filled up\n")
    texts = [run("ranks", photos, RANK=str(r), WORLD_SIZE="3") for r in range(3)]
    ranks = [steps(text) for text in texts]
    assert sum((ids for ids in steps(alone).values()), []) == [n for step in range(4) for rank in ranks for n in rank[step]]
    assert [int(re.search(r"(\d+) places filled up", text)[1]) for text in texts] == [0, 1, 4]
    assert "RANK" in run("ranks", photos, code=1, RANK="x", WORLD_SIZE="3")


def test_padded_pictures(run, photos):
    text = run("padded_pictures", photos)
    sizes = re.findall(r"^batch \d+: (\d) pictures of (\d+)x(\d+)$", text, re.M)
    assert len(sizes) == 11 and sizes[0] == ("4", "43", "60") and sizes[-1] == ("3", "48", "54")
