# SPDX-License-Identifier: Apache-2.0
"""leat view: the pictures on a sheet are those that the pipeline makes, whatever it reads and stores."""
import numpy
import pytest
from PIL import Image

MARGIN, GAP, GAP_FIRST = 28, 14, 26


def cells(path, size: int, columns: int) -> list[list[numpy.ndarray]]:
    """The pictures of a sheet, row by row: squares of `size` in a frame."""
    sheet = numpy.asarray(Image.open(path).convert("RGB"))
    frame = (sheet == (208, 212, 217)).all(-1)
    tops = [y for y in range(1, sheet.shape[0] - size)
            if frame[y - 1, MARGIN - 1:MARGIN + size + 1].all() and frame[y + size, MARGIN - 1:MARGIN + size + 1].all()
            and frame[y - 1:y + size + 1, MARGIN - 1].all()]
    lefts = [MARGIN + c * (size + GAP) + (GAP_FIRST - GAP if c else 0) for c in range(columns)]
    assert sheet.shape[1] == lefts[-1] + size + MARGIN
    return [[sheet[y:y + size, x:x + size] for x in lefts] for y in tops]


def sample(leat, text: str, key: str, folder) -> numpy.ndarray:
    leat("run", text, "--sample", key, "--sink", f"npy:{folder}", "-q")
    return numpy.load(folder / f"{int(key.split(':')[1]):06}_image.npy")[0]


@pytest.mark.parametrize("tail, back", [
    ("batch 8", lambda x: x),
    ("cast f32 scale=1/255 layout=nchw | batch 8", lambda x: x.transpose(1, 2, 0) * 255),
    ("normalize mean=0.4,0.5,0.6 std=0.2,0.3,0.4 scale=1/255 | batch 8",
     lambda x: (x * (0.2, 0.3, 0.4) + (0.4, 0.5, 0.6)) * 255),
    ("normalize imagenet | cast bf16 | batch 8", None),
], ids=["u8", "nchw", "normalize", "bf16"])
def test_pictures_are_those_of_the_run(leat, tmp_path, tail, back):
    text = f"synth 40 48 48 | shuffle | random_flip_left_right | random_brightness 0.1 | {tail}"
    leat("view", text, "-o", tmp_path / "sheet.png", "-n", 4, "-v", 3, "--size", 48)
    rows = cells(tmp_path / "sheet.png", 48, 4)
    assert len(rows) == 4
    plain = "synth 40 48 48 | batch 1"
    order = leat("run", f"{text} | options", "--sink", "ids", "--epochs", "3", "-q").stdout
    numbers = [[int(n) for line in order.splitlines() if line.startswith(f"{epoch} ") for n in line.split(":")[1].split()]
               for epoch in range(3)]
    for i, row in enumerate(rows):
        number = numbers[0][i * 10]  # spread evenly over the epoch
        assert (row[0] == sample(leat, plain, f"0:{number}", tmp_path / "o")).all(), "the original"
        for epoch in range(3):
            position = numbers[epoch].index(number)
            if back is None:
                continue
            made = back(sample(leat, text, f"{epoch}:{position}", tmp_path / f"{epoch}").astype("f8"))
            assert numpy.abs(row[1 + epoch] - numpy.clip(made, 0, 255)).max() < 0.51, (i, epoch)


def test_same_bytes(leat, tmp_path, pictures):
    text = f"folder {pictures} | shuffle | decode | resize 24 24 | random_flip_left_right | one_hot | batch 8 | mixup group=8"
    for name, words in (("a", ()), ("b", ("--threads", "3"))):
        leat("view", text, "-o", f"{name}.png", *words)
    leat("view", text, "-o", "c.png", "--seed", "1")
    a, b, c = ((tmp_path / f"{name}.png").read_bytes() for name in "abc")
    assert a == b != c
    assert len(cells(tmp_path / "a.png", 160, 6)) == 6


def test_streams(leat, tmp_path, records):
    rng = numpy.random.RandomState(1)
    examples = [{"image": rng.randint(0, 256, (32, 32, 3)).astype("u1").tobytes(), "label": k} for k in range(30)]
    tail = "shuffle 10 | parse image:bytes label:int64 | decode_raw u8 | reshape 32 32 3 | random_flip_up_down | batch 4"
    plain, packed = records("a.tfrecord", examples), records("b.tfrecord.gz", examples, "gzip")
    leat("view", f"tfrecord {packed} | {tail}", "-o", "packed.png", "--size", 32, "-n", 5, "-v", 2)
    rows = cells(tmp_path / "packed.png", 32, 3)
    assert len(rows) == 5
    for i, row in enumerate(rows):
        first = sample(leat, f"tfrecord {plain} | {tail}", f"0:{i}", tmp_path / "one")
        assert (row[1] == first).all()
        assert (row[0] == first).all() or (row[0] == first[::-1]).all()
        assert (row[2] == first).all() or (row[2] == first[::-1]).all()
    # Where samples come from several streams, their originals are left out rather than mistaken for others.
    packed2 = records("c.tfrecord.gz", examples[::-1], "gzip")
    for source in (f"tfrecord {packed} {packed2} | interleave 2", f"concatenate 'tfrecord {packed2}' 'tfrecord {packed}'"):
        leat("view", f"{source} | {tail}", "-o", "several.png", "--size", 32, "-n", 5, "-v", 2)
        for row in cells(tmp_path / "several.png", 32, 3):
            assert (row[0] == row[0][0, 0]).all() and not (row[1] == row[1][0, 0]).all()
            assert (row[2] == row[1]).all() or (row[2] == row[1][::-1]).all()


def test_gray_and_deep(leat, tmp_path):
    (tmp_path / "deep").mkdir()
    Image.fromarray(numpy.arange(40 * 40, dtype="u2").reshape(40, 40) * 40).save(tmp_path / "deep" / "0.png")
    for text in (f"folder {tmp_path}/deep labels=none | decode channels=1 | batch 1",
                 f"folder {tmp_path}/deep labels=none | decode channels=1 depth=16 | batch 1",
                 "synth 5 40 40 4 | batch 2", "synth 5 40 40 1 | cast f16 | batch 2"):
        leat("view", text, "-o", tmp_path / "sheet.png", "--size", 40)
        assert cells(tmp_path / "sheet.png", 40, 6)


def test_fewer_than_asked_for(leat, tmp_path):
    done = leat("view", "synth 3 16 16 | shuffle | take 2 | batch 2", "-o", "sheet.png", "--size", 32)
    assert "2 samples" in done.stderr
    assert len(cells(tmp_path / "sheet.png", 32, 6)) == 2


def test_pictures_of_differing_sizes(leat, tmp_path, pictures):
    leat("view", f"folder {pictures} | decode | random_flip_left_right", "-o", "sheet.png", "-n", 4, "--size", 64)
    assert len(cells(tmp_path / "sheet.png", 64, 6)) == 4


def test_bad_samples_are_shown_as_such(leat, tmp_path, pictures):
    (pictures / "ant" / "00.jpg").write_bytes(b"\xff\xd8 not a picture")
    leat("view", f"folder {pictures} | decode | resize 16 16 | batch 4", "-o", "sheet.png", "-n", 4, "--size", 64)
    assert len(cells(tmp_path / "sheet.png", 64, 6)) == 4


@pytest.mark.parametrize("words, code, message", [
    (("synth 4 8 8 | batch 2",), 2, "-o sheet.png"),
    (("synth 4 8 8 | select label | batch 2", "-o", "a.png"), 1, "no picture"),
    (("synth 4 8 8 | bach 2", "-o", "a.png"), 2, "did you mean 'batch'"),
    (("synth 4 8 8 | batch 2", "-o", "no/such/a.png"), 1, "cannot create no/such/"),
    (("synth 4 8 8 | batch 2", "-o", "a.png", "--samples", "0"), 2, "--samples"),
    (("synth 4 8 8 | batch 2", "-o", "a.png", "--size", "5"), 2, "--size"),
    (("-o", "a.png"), 2, "pipeline is missing"),
], ids=["no output", "no picture", "syntax", "folder", "samples", "size", "no pipeline"])
def test_mistakes(leat, tmp_path, words, code, message):
    assert message in leat("view", *words, code=code).stderr
    assert not list(tmp_path.glob("*.png*"))


def test_masks_and_boxes_are_drawn(leat, tmp_path):
    """Of every format, relative or in pixels: the same frame; the mask has the colour of its class."""
    numpy.save(tmp_path / "image.npy", numpy.full((3, 40, 50, 3), 128, "uint8"))
    mask = numpy.zeros((3, 40, 50), "int32")
    mask[:, :10, :15] = 2
    numpy.save(tmp_path / "mask.npy", mask.astype("uint8")[..., None])
    sheets = []
    for form, box in (("xyxy", (20, 15, 40, 30)), ("xywh", (20, 15, 20, 15)), ("yxyx", (15, 20, 30, 40)), ("cxcywh", (30, 22.5, 20, 15))):
        for relative in (False, True):
            scale = numpy.array((40, 50, 40, 50) if form == "yxyx" else (50, 40, 50, 40)) if relative else 1
            numpy.save(tmp_path / "box.npy", numpy.tile((numpy.array(box) / scale).astype("float32"), (3, 1, 1)))
            text = f"npy image=image.npy mask=mask.npy box=box.npy | mask mask | boxes box format={form} normalized={str(relative).lower()}"
            leat("view", f"{text} | batch 2", "-o", "s.png", "-n", 3, "--size", 50, "--strip")
            sheets.append(numpy.asarray(Image.open(tmp_path / "s.png").convert("RGB")).astype(int)[1:, 1:51])
    assert all((sheet == sheets[0]).all() for sheet in sheets)
    picture = sheets[0][5:45]
    frame = (picture == (230, 97, 0)).all(-1)
    assert frame[15, 20:41].all() and frame[30, 20:41].all() and frame[15:31, 20].all() and frame[15:31, 40].all()
    assert frame.sum() == 21 * 16 - 17 * 12, "two pixels wide"
    assert (picture[:10, :15] == (128 + 26) // 2 * numpy.array([1, 0, 0]) + [0, (128 + 133) // 2, (128 + 255) // 2]).all()
    assert (picture[35:, 5:] == 128).all()


def test_a_strip_has_the_pictures_of_the_run(leat, tmp_path):
    text = "synth 40 48 48 | random_flip_left_right | batch 8"
    leat("view", text, "-o", "s.png", "-n", 4, "--size", 48, "--strip")
    strip = numpy.asarray(Image.open(tmp_path / "s.png").convert("RGB"))
    for i in range(4):
        made = sample(leat, text, f"0:{i * 10}", tmp_path / "o")
        assert (strip[1:49, 1 + i * (48 + GAP):][:, :48] == made).all()
