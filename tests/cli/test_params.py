# SPDX-License-Identifier: Apache-2.0
"""leat run --params and --sample: what was drawn is told, and a sample can be made again by itself."""
import re

import numpy
import pytest

TEXT = ("synth 30 16 16 | shuffle | random_brightness 0.2 | random_crop 12 | random_flip_left_right | one_hot label 10"
        " | cast f32 scale=1/255 | batch 8 | mixup group=4")


def lines(leat, text, *words, **more) -> list[list[str]]:
    return [line.split("\t") for line in leat("run", text, "--params", "-q", *words, **more).stdout.splitlines()]


def test_a_line_a_sample(leat):
    rows = lines(leat, TEXT, "--epochs", 2)
    assert len(rows) == 60
    for i, (key, batch, place, sample, name, drawn) in enumerate(rows):
        assert key == f"{i // 30}:{i % 30}"
        assert batch == f"batch {i // 30 * 4 + i % 30 // 8}" and place == f"place {i % 30 % 8}"
        assert name == f"synthetic picture {sample.removeprefix('sample ')}"
        assert re.fullmatch(
            r"random_brightness delta=\S+; random_crop x=\d y=\d width=12 height=12; random_flip_left_right flip=[01]; "
            r"mixup lambda=\S+( partner=\d+)?", drawn), drawn
    assert len({tuple(row[5:]) for row in rows}) == 60


@pytest.mark.parametrize("words", [("--threads", 1), ("--threads", 5), ("--synchronous",), ("--slots", 2)], ids=str)
def test_the_same_however_it_runs(leat, words):
    assert lines(leat, TEXT) == lines(leat, TEXT, *words)
    assert lines(leat, TEXT) == lines(leat, f"{TEXT} | options fuse=off", env={"LEAT_STALL": "300", "LEAT_CPU_MASK": "0"})


def test_what_was_drawn_was_done(leat, tmp_path):
    """Crop and flip done in Python by the numbers that leat tells."""
    leat("run", "synth 12 16 16 | batch 12", "--sink", f"npy:{tmp_path}/plain")
    text = "synth 12 16 16 | random_flip_left_right | random_crop 9 5 | batch 4"
    leat("run", text, "--sink", f"npy:{tmp_path}/drawn")
    plain = numpy.load(tmp_path / "plain/000000_image.npy")
    made = numpy.concatenate([numpy.load(path) for path in sorted((tmp_path / "drawn").glob("*_image.npy"))])
    for i, row in enumerate(lines(leat, text)):
        flip, x, y = map(int, re.search(r"flip=(\d); random_crop x=(\d+) y=(\d+)", row[5]).groups())
        picture = plain[i][:, ::-1] if flip else plain[i]
        assert (picture[y:y + 9, x:x + 5] == made[i]).all()


def test_mixup_by_its_parameters(leat, tmp_path):
    head = "synth 24 6 6 | random_flip_left_right | one_hot label 10 | cast f32 scale=1/255 | batch 8"
    arrays = {}
    for name, tail in (("plain", ""), ("mixed", " | mixup 1 group=8")):
        leat("run", head + tail, "--sink", f"npy:{tmp_path}/{name}")
        for field in ("image", "label"):
            arrays[name, field] = numpy.concatenate(
                [numpy.load(path) for path in sorted((tmp_path / name).glob(f"*_{field}.npy"))])
    for i, row in enumerate(lines(leat, head + " | mixup 1 group=8")):
        own, partner = re.search(r"lambda=(\S+) partner=(\d+)", row[5]).groups()
        own = numpy.float64(numpy.float32(own))
        assert int(partner) == i // 8 * 8 + (i + 1) % 8
        for field in ("image", "label"):
            a, b = arrays["plain", field][i], arrays["plain", field][int(partner)]
            want = a * numpy.float32(own) + b * numpy.float32(1 - own)
            assert (arrays["mixed", field][i] == want).all(), (i, field)


@pytest.mark.parametrize("key", ["0:0", "0:7", "1:13", "2:29"])
def test_a_sample_alone(leat, tmp_path, key):
    epoch, position = map(int, key.split(":"))
    leat("run", TEXT, "--epochs", 3, "--sink", f"npy:{tmp_path}/all")
    leat("run", TEXT, "--sample", key, "--sink", f"npy:{tmp_path}/one")
    for field in ("image", "label"):
        whole = numpy.load(tmp_path / f"all/{epoch * 4 + position // 8:06}_{field}.npy")
        one = numpy.load(tmp_path / f"one/{position:06}_{field}.npy")
        assert one.shape[0] == 1 and (one[0] == whole[position % 8]).all()
    alone, = lines(leat, TEXT, "--sample", key)
    among = next(row for row in lines(leat, TEXT, "--epochs", 3) if row[0] == key)
    assert [alone[0], *alone[3:]] == [among[0], *among[3:]]


def test_holes(leat, pictures):
    """A sample keeps its key when another one is left out before it."""
    (pictures / "ant" / "03.bmp").write_bytes(b"BM damaged")
    text = f"folder {pictures} | decode | resize 8 8 | random_flip_left_right | batch 4"
    rows = lines(leat, text, "--on-error", "skip")
    assert len(rows) == 22 and "0:1" not in [row[0] for row in rows]
    for row in rows[:6]:
        alone, = lines(leat, text, "--sample", row[0])
        assert alone[3:] == row[3:]
        assert row[4].endswith((".jpg", ".png", ".webp", ".bmp", ".JPG"))


@pytest.mark.parametrize("words, code, message", [
    (("--sample", "0:30"), 1, "no position 30: an epoch has 30 samples"),
    (("--sample", "5"), 2, "EPOCH:POSITION"),
    (("--sample", "-1:5"), 2, "EPOCH:POSITION"),
    (("--sample", "0:5x"), 2, "EPOCH:POSITION"),
    (("--sample", "0:5", "--state", "s"), 2, "not both"),
], ids=str)
def test_mistakes(leat, words, code, message):
    assert message in leat("run", TEXT, *words, code=code).stderr


def test_streams_have_no_samples(leat, records):
    path = records("a.gz", [{"label": 1}] * 3, "gzip")
    text = f"tfrecord {path} | parse label:int64 | batch 2"
    assert "read from its beginning" in leat("run", text, "--sample", "0:1", code=1).stderr
    assert [row[4] for row in lines(leat, text)] == [f"{path}: record {k}" for k in range(3)]


def two(name: str, key: str):
    """The operation `name` with a range that holds what was drawn and nothing else."""
    return lambda p: f"{name}{p[key]},{p[key]}"


REPEATS = {
    "random_brightness 0.3": lambda p: f"adjust_brightness {p['delta']}",
    "random_contrast 0.5 1.5": lambda p: f"adjust_contrast {p['factor']}",
    "random_saturation 0.5 1.5": lambda p: f"adjust_saturation {p['factor']}",
    "random_hue 0.2": lambda p: f"adjust_hue {p['delta']}",
    "random_gamma 0.5 2": lambda p: f"adjust_gamma {p['gamma']}",
    "random_sharpness 0 1 flavour=keras range=0,1": lambda p: f"adjust_sharpness {p['factor']} flavour=keras range=0,1",
    "gaussian_blur 5 0.3,2": two("gaussian_blur 5 ", "sigma"),
    "channel_shift 0.2": two("channel_shift ", "shift"),
    "random_color_degeneration 0,0.7 range=0,1": lambda p: f"random_color_degeneration {p['factor']},{p['factor']} range=0,1",
    "random_rotation 0.2": lambda p: "random_rotation {0!r},{0!r}".format(float(p["angle"]) / 360),
    "random_zoom 0.3 0.2": lambda p: "random_zoom {0!r},{0!r} {1!r},{1!r}".format(
        float(p["height_zoom"]) - 1, float(p["width_zoom"]) - 1),
    "random_shear 0.1,0.3 0,0.2": lambda p: "random_shear {0},{0} {1},{1}".format(p["x"].lstrip("-"), p["y"].lstrip("-")),
    "affine rotate=30 zoom=0.3 shear_x=9 shift_y=0.1": lambda p: "affine " + " ".join(
        f"{key}={p[key]},{p[key]}" for key in ("rotate", "zoom", "shear_x", "shift_y")),
    "image_data_generator rotation=30 shear=20 channel_shift=0.2": lambda p: "image_data_generator "
        "rotation={0},{0} shear={1},{1} channel_shift={2},{2}".format(p["theta"], p["shear"], p["channel_shift"]),
    "random_resized_crop 9 flavour=tf": lambda p: f"crop_to_bounding_box {p['y']} {p['x']} {p['height']} {p['width']} | resize 9",
}


@pytest.mark.parametrize("text", REPEATS)
def test_what_was_told_repeats_the_draw(leat, tmp_path, text):
    """To the last bit: numbers are printed with all digits that they need, and are read as the same doubles."""
    head = "synth 8 21 17 | cast f32 scale=1/255"
    leat("run", f"{head} | {text} | batch 1", "--sink", f"npy:{tmp_path}/drawn")
    for i, row in enumerate(lines(leat, f"{head} | {text} | batch 1")):
        told = dict(word.split("=") for word in row[5].replace(";", " ").split() if "=" in word)
        leat("run", f"{head} | {REPEATS[text](told)} | batch 1", "--sample", f"0:{i}", "--sink", f"npy:{tmp_path}/again")
        drawn, again = (numpy.load(tmp_path / f"{name}/{i:06}_image.npy") for name in ("drawn", "again"))
        assert drawn.tobytes() == again.tobytes(), (row[5], numpy.abs(drawn - again).max())
