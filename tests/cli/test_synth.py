# SPDX-License-Identifier: Apache-2.0
"""leat synth: the same options give the same files, and the files are what they say."""
import statistics
import subprocess
import time

import pytest
from PIL import Image

from packs import LEAT, environment, leat


def tree(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_files(tmp_path):
    done = leat("synth", tmp_path / "a", "--images", 23, "--classes", 4, cache=tmp_path)
    files = tree(tmp_path / "a")
    assert sorted(files) == sorted(f"class_{i % 4:02d}/{i:06d}.jpg" for i in range(23))
    assert "23 images" in done.stdout and "4 classes" in done.stdout
    for name in files:
        with Image.open(tmp_path / "a" / name) as image:
            image.load()
            assert image.format == "JPEG" and image.mode == "RGB"


def test_same_for_any_threads(tmp_path):
    for threads in (1, 2, 5):
        leat("synth", tmp_path / str(threads), "--images", 30, "--threads", threads, cache=tmp_path)
    assert tree(tmp_path / "1") == tree(tmp_path / "2") == tree(tmp_path / "5")
    leat("synth", tmp_path / "other", "--images", 30, "--seed", 9, cache=tmp_path)
    assert not set(tree(tmp_path / "other").values()) & set(tree(tmp_path / "1").values())


def test_more_images_keep_the_first(tmp_path):
    leat("synth", tmp_path / "few", "--images", 10, cache=tmp_path)
    leat("synth", tmp_path / "many", "--images", 20, cache=tmp_path)
    few, many = tree(tmp_path / "few"), tree(tmp_path / "many")
    assert all(many[name] == data for name, data in few.items())


def test_like_photographs(tmp_path):
    leat("synth", tmp_path / "a", "--images", 60, cache=tmp_path)
    images = [Image.open(path) for path in (tmp_path / "a").rglob("*.jpg")]
    pixels = [image.width * image.height for image in images]
    sizes = [path.stat().st_size for path in (tmp_path / "a").rglob("*.jpg")]
    assert 150_000 < statistics.mean(pixels) < 220_000
    assert 70_000 < statistics.mean(sizes) < 140_000
    assert len({image.size for image in images}) > 5
    assert any(image.width < image.height for image in images)
    assert len({image.layer[0][1] for image in images}) == 2  # colour at full and at half resolution


def test_size_format_quality(tmp_path):
    leat("synth", tmp_path / "png", "--images", 6, "--size", "40x30", "--format", "png", cache=tmp_path)
    leat("synth", tmp_path / "low", "--images", 6, "--size", "40x30", "--quality", 20, cache=tmp_path)
    leat("synth", tmp_path / "high", "--images", 6, "--size", "40x30", "--quality", 99, cache=tmp_path)
    for path in (tmp_path / "png").rglob("*.png"):
        with Image.open(path) as image:
            image.load()
            assert image.size == (40, 30) and image.format == "PNG" and image.mode == "RGB"
    low, high = ([len(data) for data in tree(tmp_path / name).values()] for name in ("low", "high"))
    assert all(a < b for a, b in zip(low, high))


def test_not_empty_is_refused(tmp_path):
    leat("synth", tmp_path / "a", "--images", 3, "--size", "16x16", cache=tmp_path)
    before = tree(tmp_path / "a")
    done = leat("synth", tmp_path / "a", "--images", 3, "--size", "16x16", "--seed", 1, code=1, cache=tmp_path)
    assert "not empty" in done.stderr and "force" in done.stderr and done.stderr.count("\n") == 1
    assert tree(tmp_path / "a") == before
    leat("synth", tmp_path / "a", "--images", 3, "--size", "16x16", "--seed", 1, "--force", cache=tmp_path)
    assert tree(tmp_path / "a").keys() == before.keys() and tree(tmp_path / "a") != before


@pytest.mark.parametrize("args, word", [
    (["--images", "0"], "--images"), (["--images", "x"], "--images"), (["--size", "4"], "--size"),
    (["--size", "0x4"], "--size"), (["--size", "-4x4"], "--size"), (["--format", "bmp"], "--format"),
    (["--quality", "101"], "--quality"), (["--classes", "0"], "--classes"), (["--colour"], "--colour"), (["b"], "folder")])
def test_usage(tmp_path, args, word):
    done = leat("synth", tmp_path / "a", *args, code=2, cache=tmp_path)
    assert word in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "a").exists()


def test_trouble(tmp_path):
    (tmp_path / "file").write_text("")
    done = leat("synth", tmp_path / "file", "--images", 2, code=1, cache=tmp_path)
    assert "file" in done.stderr and done.stderr.count("\n") == 1
    assert "needed" in leat("synth", code=2, cache=tmp_path).stderr
    assert "leat synth" in leat("synth", "--help", cache=tmp_path).stdout


def test_interrupt(tmp_path):
    with subprocess.Popen([LEAT, "synth", str(tmp_path / "a"), "--images", "100000"], env=environment(tmp_path),
                          stderr=subprocess.PIPE) as process:
        while not list((tmp_path / "a").glob("*/*.jpg")):
            time.sleep(0.01)
        process.send_signal(2)
        _, said = process.communicate(timeout=20)
    assert process.returncode == 130 and b"stopped" in said
    assert not [path for path in (tmp_path / "a").rglob("*") if ".tmp-" in path.name]
    for path in (tmp_path / "a").rglob("*.jpg"):
        with Image.open(path) as image:
            image.load()


def test_learnable(tmp_path):
    """Colours and forms of the classes differ: even the nearest of a few tiny thumbnails tells them apart far
    more often than chance would."""
    leat("synth", tmp_path / "a", "--images", 300, "--classes", 5, "--size", "96x96", "--format", "png", cache=tmp_path)
    samples = []
    for path in sorted((tmp_path / "a").rglob("*.png"), key=lambda path: path.name):
        with Image.open(path) as image:
            middle = image.crop((24, 24, 72, 72)).resize((6, 6), Image.BOX)
            samples.append((int(path.parent.name[6:]), list(middle.tobytes())))
    known, asked = samples[:200], samples[200:]
    right = 0
    for label, pixels in asked:
        near = min(known, key=lambda other: sum((a - b) ** 2 for a, b in zip(other[1], pixels)))
        right += near[0] == label
    assert right >= 45, f"{right} of {len(asked)} with 5 classes"
