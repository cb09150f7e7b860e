# SPDX-License-Identifier: Apache-2.0
"""Filters, holes and composites: what they refuse, odd pictures, and what they draw. Pixels are in test_golden.py."""
import re

import numpy
import pytest

OPS = [
    "gaussian_blur 1", "gaussian_blur 5 flavour=keras", "gaussian_blur 255 0.01,300 flavour=keras p=0.5",
    "adjust_sharpness 3", "random_sharpness 0 1 flavour=keras p=0.5", "random_jpeg_quality 0 100",
    "random_erasing 1", "random_erasing 1 flavour=keras", "random_erasing 1 scale=0,1 ratio=0.01,100 value=7,8,9",
    "cutout 3", "cutout 65535 p=0.7", "rand_augment 6 30", "rand_augment 32 9 interpolation=bilinear fill=1,2,3",
    "trivial_augment_wide", "trivial_augment_wide bins=2 interpolation=bilinear", "auto_augment",
    "auto_augment cifar10", "auto_augment svhn fill=255", "augmix", "augmix severity=10 width=16 depth=5 alpha=0.001", "augmix alpha=1000",
]
REFUSED = {
    "gaussian_blur 4": "kernel must be odd",
    "gaussian_blur 5 0,1": "sigma must be above 0",
    "gaussian_blur 5 2,1": "the smaller one first",
    "gaussian_blur 257": "kernel",
    "gaussian_blur 3 flavour=keras range=1": "range must be two numbers",
    "random_sharpness 2 1": "upper must not be below lower",
    "random_sharpness 0 1.5 flavour=keras": "factors from 0 to 1",
    "cast f32 | adjust_sharpness 2": "works on u8 pictures",
    "adjust_jpeg_quality 101": "quality",
    "random_jpeg_quality 90 10": "upper must not be below lower",
    "random_erasing scale=0.5,1.5": "scale must lie between 0 and 1",
    "random_erasing ratio=0,1": "ratio must be above 0",
    "random_erasing value=1,2": "value has 2 numbers",
    "random_erasing value=red": "'red' is none",
    "random_erasing value=random": "write normalize before it",
    "cutout 0": "size",
    "cutout 5 value=1,2,3,4,5": "more than 4 numbers",
    "rand_augment 2 31": "magnitude must be below bins",
    "rand_augment bins=1": "bins",
    "cast f32 | rand_augment": "works on u8 pictures",
    "rand_augment fill=256": "fill must be from 0 to 255",
    "rand_augment fill=1,2": "one a channel",
    "auto_augment mnist": "imagenet|cifar10|svhn",
    "augmix alpha=0": "alpha must be above 0",
    "augmix severity=11": "severity",
}
SYNTAX = {"random_erasing value=red", "auto_augment mnist"}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(leat, text):
    done = leat("plan", f"synth 10 16 16 | {text} | batch 2", code=2 if text in SYNTAX else 1)
    assert REFUSED[text] in done.stderr, done.stderr


@pytest.mark.parametrize("op", ["augmix", "rand_augment", "adjust_jpeg_quality 50"])
def test_four_channels_are_refused(leat, op):
    done = leat("plan", f"synth 10 16 16 4 | {op} | batch 2", code=1)
    assert "1 or 3 channels" in done.stderr


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("size", ["1 1 3", "1 300", "300 1", "2 3", "33 20"])
def test_odd_pictures(leat, op, size):
    """Extreme shapes go through, the same for every number of threads."""
    text = f"synth 24 {size} | {op} | batch 5"
    digests = {leat("run", text, "--sink", "digest", "--threads", n).stdout.splitlines()[-1] for n in (1, 3)}
    assert len(digests) == 1


def test_small_picture_names_its_size(leat):
    done = leat("run", "synth 4 2 9 | gaussian_blur 5 | batch 2", code=1)
    assert "2x9" in done.stderr and "resize before it" in done.stderr


def drawn(leat, text) -> list[str]:
    lines = leat("run", text, "--sink", "null", "--params").stdout.splitlines()
    return [line.split("\t")[-1] for line in lines if "\t" in line]


def test_what_is_drawn(leat):
    qualities = {int(re.search(r"quality=(\d+)", line)[1]) for line in
                 drawn(leat, "synth 300 8 8 | random_jpeg_quality 90 95 | batch 50")}
    assert qualities == {90, 91, 92, 93, 94}
    lines = drawn(leat, "synth 400 40 60 | random_erasing 0.25 scale=0.1,0.2 ratio=1,1 | batch 50")
    holes = [dict(re.findall(r"(\w+)=(\d+)", line)) for line in lines if "applied=1" in line]
    assert 60 < len(holes) < 140
    for hole in holes:
        x, y, w, h = (int(hole[k]) for k in ("x", "y", "width", "height"))
        assert w == h and 0.09 < w * h / 2400 < 0.21 and x + w <= 60 and y + h <= 40
    ops = " ".join(drawn(leat, "synth 300 8 8 | rand_augment num_ops=3 | batch 50"))
    counts = {name: len(re.findall(rf"op={name}\b", ops)) for name in set(re.findall(r"op=(\w+)", ops))}
    assert len(counts) == 14 and sum(counts.values()) == 900 and min(counts.values()) > 30
    signs = re.findall(r"op=rotate magnitude=(-?9)\b", ops)
    assert {"9", "-9"} == set(signs)


def test_noise_is_normal(leat, tmp_path):
    text = "cast f32 scale=0 offset=9 | random_erasing 1 scale=0.9,0.9 ratio=1,1 value=random"
    leat("run", f"synth 8 64 64 | {text} | batch 8", "--sink", f"npy:{tmp_path}/out")
    values = numpy.load(sorted((tmp_path / "out").glob("*image*.npy"))[0]).ravel()
    values = values[values != 9]
    assert 0.85 < values.size / (8 * 64 * 64 * 3) < 0.92
    assert abs(values.mean()) < 0.02 and abs(values.std() - 1) < 0.02 and abs((values ** 4).mean() - 3) < 0.15


def test_shares_add_up(leat):
    for line in drawn(leat, "synth 50 8 8 | augmix alpha=0.2 | batch 50"):
        shares = [float(x) for x in re.findall(r"(?:own|share)=([\d.e+-]+)", line)]
        assert len(shares) == 4 and abs(sum(shares) - 1) < 1e-5
