# SPDX-License-Identifier: Apache-2.0
"""Tone and standardising through the command: what is drawn, what is refused, and pictures at the edge of sense."""
import os
import re
import subprocess
from pathlib import Path

import numpy
import pytest

import tfrecord

ROOT = Path(__file__).resolve().parents[2]
LEAT = os.environ.get("LEAT", str(ROOT / "build/release/cli/leat"))


def leat(*words: str):
    return subprocess.run([LEAT, *words], capture_output=True, text=True, timeout=60)


def drawn(operation: str, key: str) -> list[float]:
    done = leat("run", f"synth 200 4 4 | {operation} | batch 50", "--params", "--sink", "null", "--threads", "1")
    assert done.returncode == 0, done.stderr
    return [float(x) for x in re.findall(rf"\b{key}=(\S+?)(?:;|\s|$)", done.stdout)]


def through(folder: Path, picture, operation: str):
    (folder / "one.tfrecord").write_bytes(tfrecord.record(tfrecord.example({"image": picture.tobytes()})))
    kind = {"uint8": "u8", "float32": "f32"}[picture.dtype.name]
    shape = " ".join(map(str, picture.shape))
    text = f"tfrecord {folder}/one.tfrecord | parse image:bytes | decode_raw {kind} | reshape {shape} | {operation}"
    done = leat("run", text, "--sink", f"npy:{folder}/out")
    if done.returncode:
        return done.stderr
    return numpy.load(next((folder / "out").glob("*image*.npy")))[0]


@pytest.mark.parametrize("operation, key, low, high", [
    ("random_contrast 0.8 1.2", "factor", 0.8, 1.2),
    ("random_contrast 0.2 flavour=keras", "factor", 1, 1.2),
    ("random_contrast 0.3 0.5 flavour=keras", "factor", 0.7, 1.5),
    ("channel_shift 20", "shift", -20, 20),
    ("channel_shift 5,6", "shift", 5, 6),
    ("random_solarize 100,200 p=1", "threshold", 100, 200),
])
def test_draws_fill_their_range(operation, key, low, high):
    values = drawn(operation, key)
    span = (high - low) / 10
    assert len(values) == 200 and low <= min(values) < low + span and high - span < max(values) <= high


def test_whole_numbers_are_drawn_with_both_ends():
    assert set(drawn("random_posterize 2,5 p=1", "bits")) == {2, 3, 4, 5}
    assert set(drawn("random_solarize addition=-1,1 p=1", "addition")) == {-1, 0, 1}


@pytest.mark.parametrize("name", ["invert", "posterize 4", "solarize", "autocontrast", "equalize"])
def test_chance(name):
    share = numpy.mean(drawn(f"random_{name} p=0.3", "applied"))
    assert 0.15 < share < 0.45


@pytest.mark.parametrize("operation, message", [
    ("random_contrast 0.8", "upper is missing"),
    ("random_contrast 1.2 0.8", "must not be below lower"),
    ("random_contrast 1.5 flavour=keras", "at most 1"),
    ("adjust_contrast 2 flavour=keras range=3,1", "smaller one first"),
    ("cast f32 | adjust_contrast 2 flavour=pil", "works on u8 pictures"),
    ("cast f32 | invert", "max=1 or max=255"),
    ("invert max=1", "leave max out"),
    ("posterize 9", "whole numbers from 0 to 8"),
    ("posterize 2.5", "whole numbers"),
    ("cast f32 | posterize 4", "works on u8 pictures"),
    ("solarize addition=300", "from -255 to 255"),
    ("autocontrast range=7", "two numbers"),
    ("channel_shift x", "'x' is none"),
    ("channel_shift 3,1", "smaller one first"),
    ("samplewise center=false std=false", "leave the operation out"),
    ("featurewise", "mean"),
    ("featurewise mean=1,2", "2 means or stds"),
    ("featurewise mean=1,2,3 std=1,2", "one a channel"),
    ("featurewise mean=1 std=-3", "below 0"),
    ("zca file=/nonexistent.npy", "/nonexistent.npy"),
])
def test_mistakes_are_named(operation, message):
    done = leat("plan", f"synth 8 4 4 | {operation} | batch 2")
    assert done.returncode != 0 and message in done.stderr, done.stderr


def test_a_matrix_that_is_none(tmp_path):
    def plan(content):
        (tmp_path / "m.npy").write_bytes(content)
        return leat("plan", f"synth 8 4 4 | zca file={tmp_path}/m.npy | batch 2").stderr

    def saved(array):
        numpy.save(tmp_path / "a.npy", array)
        return (tmp_path / "a.npy").read_bytes()

    good = saved(numpy.eye(48, dtype="f4"))
    assert plan(good) == "" or "m.npy" not in plan(good)
    assert "m.npy" in plan(b"") and "m.npy" in plan(b"not an array at all")
    assert "ends too early" in plan(good[:-1])
    assert "save the matrix as float32" in plan(saved(numpy.eye(48, dtype="i4")))
    assert "square" in plan(saved(numpy.zeros((48, 47), "f4"))) and "square" in plan(saved(numpy.zeros(48, "f4")))
    assert "square" in plan(saved(numpy.zeros((0, 0), "f4")))
    assert "the matrix is for 49 values" in plan(saved(numpy.eye(49, dtype="f4")))


def test_one_pixel(tmp_path):
    one = numpy.array([[[10, 200, 30]]], "u1")
    for operation in ("adjust_contrast 3", "adjust_contrast 1 flavour=pil", "autocontrast", "equalize",
                      "autocontrast flavour=torch", "equalize flavour=keras"):
        assert (through(tmp_path, one, operation) == one).all(), operation
    assert (through(tmp_path, one, "autocontrast flavour=keras") == one).all()
    assert abs(through(tmp_path, one, "samplewise").mean()) < 1e-6
    assert (through(tmp_path, one, "channel_shift 9,9") == numpy.minimum(one + 9.0, 200)).all()


def test_a_flat_picture_stays_finite(tmp_path):
    flat = numpy.full((3, 5, 3), 7, "f4")
    assert (through(tmp_path, flat, "per_image_standardization") == 0).all()
    assert (through(tmp_path, flat, "samplewise") == 0).all()
    assert (through(tmp_path, flat, "autocontrast flavour=keras") == flat).all()
    assert (through(tmp_path, flat, "adjust_contrast 5") == flat).all()


def test_many_channels(tmp_path):
    """More than four are one population; what needs them apart is refused."""
    picture = numpy.arange(6 * 3 * 5, dtype="f4").reshape(6, 3, 5)
    made = through(tmp_path, picture, "samplewise")
    assert abs(made.mean()) < 1e-6 and abs(made.std() - 1) < 1e-6
    assert "up to 4 channels" in through(tmp_path, picture, "adjust_contrast 2")
    assert "up to 4 channels" in through(tmp_path, picture.astype("u1"), "equalize")
    assert (through(tmp_path, picture.astype("u1"), "invert") == 255 - picture.astype("u1")).all()


def test_no_number_does_no_harm(tmp_path):
    picture = numpy.array([[[1, numpy.nan, numpy.inf]]], "f4")
    for operation in ("adjust_contrast 2", "samplewise", "autocontrast flavour=keras", "channel_shift 3"):
        assert through(tmp_path, picture, operation).shape == (1, 1, 3)


def test_long_chains(tmp_path):
    """More tables and stages than one pass holds."""
    picture = numpy.random.RandomState(0).randint(0, 256, (6, 7, 3)).astype("u1")
    pairs = " | ".join(["invert | adjust_contrast 1"] * 12)
    assert (through(tmp_path, picture, pairs) == picture).all()
    clipped = " | ".join(["adjust_contrast 1 flavour=keras"] * 20)
    assert abs(through(tmp_path, picture, clipped) - picture.astype("f4")).max() < 1e-3
