# SPDX-License-Identifier: Apache-2.0
"""bucket_by_aspect_ratio: batches of pictures of like shape, against the rule spelled out in Python."""
import numpy
import pytest
from PIL import Image

EDGES = [0.8, 1.25]
SIZES = [(30, 20), (24, 24), (20, 30)]
WORDS = "edges=0.8,1.25 sizes=30x20,24x24,20x30"
N = 61


@pytest.fixture
def shapes(tmp_path):
    """A folder of pictures of all shapes, and the bucket of each."""
    random = numpy.random.RandomState(4)
    buckets = []
    for i in range(N):
        height, width = random.randint(10, 40, 2)
        folder = tmp_path / "photos" / str(i % 2)
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.randint(0, 256, (height, width, 3)).astype("uint8")).save(folder / f"{i:03}.{'png' if i % 3 else 'jpg'}")
        buckets.append((i % 2, f"{i:03}", int(numpy.searchsorted(EDGES, width / height, side="right"))))
    return tmp_path / "photos", [b for _, _, b in sorted(buckets)]


def batches(leat, text: str, *words) -> list[list[int]]:
    out = []
    for line in leat("run", text, "--sink", "ids", "-q", *words).stdout.splitlines():
        head, ids = line.split(":")
        out.append((*map(int, head.split()), [int(x) for x in ids.split()]))
    return out


def bucketed(order: list[int], buckets: list[int], size: int, drop: bool = False) -> list[list[int]]:
    """tf.data's bucket_by_sequence_length: a batch comes when it is full, what is left comes by rising bucket."""
    waiting, out = {}, []
    for sample in order:
        group = waiting.setdefault(buckets[sample], [])
        group.append(sample)
        if len(group) == size:
            out.append(waiting.pop(buckets[sample]))
    return out + ([] if drop else [waiting[b] for b in sorted(waiting)])


@pytest.mark.parametrize("verbs", ["", "shuffle |", "shuffle 7 seed=3 |", "skip 5 | take 50 | shuffle |", "shuffle reshuffle=false |",
                                   "shard 1/2 | shuffle | repeat 3 |", "filter label==1 | shuffle |"])
@pytest.mark.parametrize("drop", [False, True])
def test_order(leat, shapes, verbs, drop):
    folder, buckets = shapes
    plain = batches(leat, f"folder {folder} | {verbs} batch 1", "-e", 3)
    got = batches(leat, f"folder {folder} | {verbs} bucket_by_aspect_ratio {WORDS} | batch 4 drop_remainder={str(drop).lower()}", "-e", 3)
    for epoch in range(3):
        order = [ids[0] for e, _, ids in plain if e == epoch]
        want = bucketed(order, buckets, 4, drop)
        assert [ids for e, _, ids in got if e == epoch] == want
        assert [step for e, step, _ in got if e == epoch] == list(range(len(want)))


def test_sizes(leat, tmp_path, shapes):
    folder, buckets = shapes
    for tail in ("", " | cast f32 scale=1/255 layout=nchw", " | random_flip_left_right | normalize imagenet", " | random_rotation 0.1"):
        text = f"folder {folder} | shuffle | bucket_by_aspect_ratio {WORDS} | decode | resize_to_bucket{tail} | batch 4"
        out = tmp_path / f"out{len(tail)}"
        leat("run", text, "--sink", f"npy:{out}", "-q")
        seen = set()
        for number, (_, _, ids) in enumerate(batches(leat, text)):
            size = SIZES[buckets[ids[0]]]
            seen.add(size)
            shape = numpy.load(out / f"{number:06}_image.npy").shape
            assert shape == ((len(ids), 3, *size) if "nchw" in tail else (len(ids), *size, 3))
        assert len(seen) == 3


@pytest.mark.parametrize("words", ["", "method=bicubic", "crop_to_aspect_ratio=true", "pad_to_aspect_ratio=true fill=3", "flavour=tf"])
def test_pixels(leat, tmp_path, shapes, words):
    """Each batch has what resize to its size gives."""
    folder, buckets = shapes
    text = f"folder {folder} | bucket_by_aspect_ratio {WORDS} | decode | resize_to_bucket {words} | batch 4"
    leat("run", text, "--sink", f"npy:{tmp_path}/got", "-q")
    for bucket, (height, width) in enumerate(SIZES):
        flavour = "" if "flavour" in words else "flavour=pil"
        leat("run", f"folder {folder} | decode | resize {height} {width} {words} {flavour} | batch {N}", "--sink",
             f"npy:{tmp_path}/want{bucket}", "-q")
    want = [numpy.load(tmp_path / f"want{b}/000000_image.npy") for b in range(3)]
    for number, (_, _, ids) in enumerate(batches(leat, text)):
        got = numpy.load(tmp_path / f"got/{number:06}_image.npy")
        assert (got == want[buckets[ids[0]]][ids]).all()


def test_with_masks_and_boxes(leat, tmp_path, records):
    import io
    random = numpy.random.RandomState(1)
    examples = []
    for i in range(20):
        height, width = random.randint(10, 30, 2)
        files = []
        for array in (random.randint(0, 256, (height, width, 3)), random.randint(0, 5, (height, width))):
            out = io.BytesIO()
            Image.fromarray(array.astype("uint8")).save(out, "png")
            files.append(out.getvalue())
        examples.append({"image": files[0], "mask": files[1], "box": [0.25, 0.25, 0.75, 0.75]})
    path = records("b.tfrecord", examples)
    text = (f"tfrecord {path} | parse image:bytes mask:bytes box:float[4] | shuffle | bucket_by_aspect_ratio {WORDS} | decode"
            " | decode mask channels=1 | mask mask | boxes box normalized=true | resize_to_bucket | random_flip_left_right p=1 | batch 3")
    leat("run", text, "--sink", f"npy:{tmp_path}/o", "-q")
    for path in (tmp_path / "o").glob("*_image.npy"):
        image, mask, box = (numpy.load(str(path).replace("_image", f"_{f}")) for f in ("image", "mask", "box"))
        assert image.shape[:3] == mask.shape[:3] and mask.max() < 5
        numpy.testing.assert_allclose(box, numpy.tile([0.25, 0.25, 0.75, 0.75], (len(box), 1)), atol=1e-6)


def test_padded_batches_have_little_to_fill(leat, tmp_path, shapes):
    folder, _ = shapes
    head = f"folder {folder} | shuffle |"
    tail = "decode | padded_batch 4 max=64x64x3"
    sizes = {}
    for name, middle in (("plain", ""), ("alike", "bucket_by_aspect_ratio 0.7,1,1.4 |")):
        leat("run", f"{head} {middle} {tail}", "--sink", f"npy:{tmp_path}/{name}", "-q")
        sizes[name] = sum(numpy.load(p).size for p in (tmp_path / name).glob("*_image.npy"))
    assert sizes["alike"] < sizes["plain"] * 0.95


@pytest.mark.parametrize("world", [2, 3])
@pytest.mark.parametrize("drop", ["", " drop_remainder=true"])
def test_ranks(leat, shapes, world, drop):
    """All ranks have the same bucket at every step, and together they have the batches of one."""
    folder, buckets = shapes
    text = f"folder {folder} | shuffle | bucket_by_aspect_ratio {WORDS} | decode | resize_to_bucket | batch "
    whole = batches(leat, f"{text}{6 // world * world}{drop}", "-e", 2)
    parts = [batches(leat, f"{text}{6 // world}{drop}", "-e", 2, "--rank", f"{r}/{world}") for r in range(world)]
    assert {len(p) for p in parts} == {len(whole)}
    for step, (_, _, ids) in enumerate(whole):
        together = [i for part in parts for i in part[step][2]]  # without those that fill up
        assert together == ids and {buckets[i] for i in together} == {buckets[ids[0]]}


def test_a_sample_alone(leat, tmp_path, shapes):
    folder, _ = shapes
    text = f"folder {folder} | shuffle | bucket_by_aspect_ratio {WORDS} | decode | resize_to_bucket | random_flip_left_right | batch 4"
    leat("run", text, "--sink", f"npy:{tmp_path}/all", "-q")
    position = 0
    for number, (_, step, ids) in enumerate(batches(leat, text)):
        if number % 4 == 0 or len(ids) < 4:
            leat("run", text, "--sample", f"0:{position}", "--sink", f"npy:{tmp_path}/one{number}", "-q")
            one, = (tmp_path / f"one{number}").glob("*_image.npy")
            assert (numpy.load(one)[0] == numpy.load(tmp_path / f"all/{number:06}_image.npy")[0]).all()
        position += len(ids)


def test_sizes_are_asked_for_once(leat, shapes):
    folder, _ = shapes
    text = f"folder {folder} | shuffle | bucket_by_aspect_ratio 1.0 sizes=20x10,10x20 | decode | resize_to_bucket | batch 4"
    first = leat("run", text, "--sink", "digest").stdout
    assert leat("run", text, "--sink", "digest").stdout == first
    assert leat("run", text, "--sink", "digest", "--no-side-files").stdout == first
    assert leat("run", text, "--sink", "digest", "--threads", 1).stdout == first


def test_turned_pictures(leat, tmp_path):
    (tmp_path / "in").mkdir()
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(numpy.zeros((10, 30, 3), "uint8")).save(tmp_path / "in/a.jpg", exif=exif)
    for orient, shape in (("true", (40, 20)), ("false", (20, 40))):
        leat("run", f"folder {tmp_path}/in | bucket_by_aspect_ratio 1.0 sizes=40x20,20x40 | decode orient={orient} | resize_to_bucket | batch 1",
             "--sink", f"npy:{tmp_path}/{orient}", "-q")
        assert numpy.load(tmp_path / orient / "000000_image.npy").shape == (1, *shape, 3)


@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_bad_pictures(leat, tmp_path, shapes, policy):
    folder, buckets = shapes
    (folder / "0/zzz.jpg").write_bytes(b"not a picture")
    damaged = sorted((folder / "1").glob("*.png"))[2]
    damaged.write_bytes(damaged.read_bytes()[:200])
    text = f"folder {folder} | shuffle | bucket_by_aspect_ratio {WORDS} | decode | resize_to_bucket | batch 4"
    done = leat("run", text, code=1)
    assert "zzz.jpg" in done.stderr and "it must look at every sample" in done.stderr
    leat("run", text, "--on-error", policy, "--sink", f"npy:{tmp_path}/o", "-q", "-e", 2)
    for path in (tmp_path / "o").glob("*_image.npy"):
        assert numpy.load(path).shape[1:3] in SIZES


@pytest.mark.parametrize("text,message", [
    ("bucket_by_aspect_ratio 1.3,0.7 | batch 2", "edges must be rising"),
    ("bucket_by_aspect_ratio 0,1 | batch 2", "edges must be rising"),
    ("bucket_by_aspect_ratio 1 sizes=10x10 | batch 2", "1 edges make 2 buckets"),
    ("bucket_by_aspect_ratio 1 sizes=10x10,10x20,1x1 | batch 2", "1 edges make 2 buckets"),
    ("bucket_by_aspect_ratio 1 sizes=10,20 | batch 2", "sizes must be HEIGHTxWIDTH"),
    ("bucket_by_aspect_ratio 1 field=label | batch 2", "is no picture"),
    ("decode | bucket_by_aspect_ratio 1 | batch 2", "before decode"),
    ("repeat | bucket_by_aspect_ratio 1 | batch 2", "write repeat behind batch"),
    ("shuffle | take 7 | bucket_by_aspect_ratio 1 | batch 2", "different in every epoch"),
    ("bucket_by_aspect_ratio 1 | shuffle | batch 2", "settled by bucket_by_aspect_ratio"),
    ("bucket_by_aspect_ratio 1 | filter label==1 | batch 2", "settled by bucket_by_aspect_ratio"),
    ("bucket_by_aspect_ratio 1 | batch 2 | take 3", "settled by bucket_by_aspect_ratio"),
    ("bucket_by_aspect_ratio 1 | batch 2 | rebatch 3", "left as they are"),
    ("bucket_by_aspect_ratio 1 | decode | resize 8 8 | batch 2 | mixup group=2", "left as they are"),
    ("bucket_by_aspect_ratio 1 | decode | resize_to_bucket | batch 2", "there are no sizes"),
    ("decode | resize_to_bucket | batch 2", "there are no sizes"),
    ("bucket_by_aspect_ratio 1 sizes=8x4,4x8 | decode channels=0 | resize_to_bucket | batch 2", "write decode channels=3"),
])
def test_what_cannot_be(leat, shapes, text, message):
    folder, _ = shapes
    try:
        done = leat("plan", f"folder {folder} | {text}", code=1)
    except AssertionError:
        done = leat("plan", f"folder {folder} | {text}", code=2)
    assert message in done.stderr


def test_how_it_runs_does_not_matter(leat, tmp_path, shapes):
    folder, _ = shapes
    text = f"folder {folder} | shuffle | bucket_by_aspect_ratio {WORDS} | decode | resize_to_bucket | random_flip_left_right | batch 4 | repeat 2"
    want = leat("run", text, "--sink", "digest").stdout
    for words in (("--threads", 1), ("--threads", 5), ("--synchronous",), ("--slots", 2)):
        assert leat("run", text, "--sink", "digest", *words).stdout == want
    assert leat("run", text.replace("| random", "| cache | random"), "--sink", "digest").stdout == want
    assert leat("run", text + " | options fuse=off", "--sink", "digest", env={"LEAT_STALL": "300"}).stdout == want
    # Stopped and taken up again after every batch.
    ids = batches(leat, text)
    got = []
    for _ in ids:
        got += batches(leat, text, "--state", tmp_path / "state", "-n", 1)
    assert got == ids
