# SPDX-License-Identifier: Apache-2.0
"""Functions of Python on samples: map() and filter()."""
import functools
import os
import pickle
import time
from pathlib import Path

import leat
import numpy
import pytest
from children import children
from PIL import Image


def images_of(ds) -> list:
    return [numpy.array(batch["image"] if isinstance(batch, dict) else batch[0]) for batch in ds]


def equal(a: list, b: list) -> bool:
    return len(a) == len(b) and all(numpy.array_equal(x, y) and x.dtype == y.dtype for x, y in zip(a, b))


def synthetic(n: int = 24):
    return leat.synthetic(n, 12, 10)


PLAIN = images_of(synthetic().batch(8))


# ------------------------------------------------------------------------------------- parameters and results


class Inverter:
    def __init__(self, top: int = 255) -> None:
        self.top = top

    def __call__(self, image, strength=1):
        return self.top - image * strength


class FakeTensor:
    """As a torch tensor: it has no buffer, but these methods."""

    def __init__(self, values) -> None:
        self.values = values

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return self.values


def in_place(image):
    image[:] = 255 - image  # arrays are the function's own
    return image


def with_default(image, power=1):
    return 255 - image * power


def odd(label):
    return label % 2 == 1


def positional(image, /):
    return 255 - image


@pytest.mark.parametrize("function", [
    lambda image: 255 - image,
    lambda image, label: {"image": 255 - image},
    lambda image, label: (255 - image, label),
    lambda label, image: {"label": label, "image": 255 - image},
    lambda sample: {"image": 255 - sample["image"]},
    lambda sample, rng: {"image": 255 - sample["image"]},
    lambda **fields: {"image": 255 - fields["image"]},
    lambda image, **fields: 255 - image if list(fields) == ["label"] else 0,
    lambda image: Image.fromarray(255 - image),
    lambda image: FakeTensor(255 - image),
    lambda image: (255 - image)[:, ::-1][:, ::-1],
    lambda image: numpy.asfortranarray(255 - image),
    in_place, with_default, positional, Inverter(), functools.partial(with_default, power=1),
    functools.partial(lambda image, label: 255 - image, label=3),
])
def test_a_parameter_gets_the_field_of_its_name(function):
    ds = synthetic().map(function).batch(8)
    assert equal(images_of(ds), [255 - images for images in PLAIN])
    labels = [batch[1].tolist() for batch in ds]
    assert labels == [batch[1].tolist() for batch in synthetic().batch(8)]


def test_a_dict_makes_new_fields():
    ds = synthetic().map(lambda image: {"mean": image.mean(), "size": image.shape, "n": 3, "flag": True}).batch(8)
    batch = next(iter(ds))
    assert list(batch) == ["image", "label", "mean", "size", "n", "flag"]
    assert batch["mean"].dtype == "float32" and numpy.allclose(batch["mean"], PLAIN[0].mean((1, 2, 3)))
    assert batch["size"].tolist() == [[12, 10, 3]] * 8 and batch["size"].dtype == "int64"
    assert batch["n"].tolist() == [3] * 8 and batch["flag"].dtype == bool
    gray = next(iter(synthetic().map(lambda image: Image.fromarray(image).convert("L")).batch(8)))[0]
    assert gray.shape == (8, 12, 10) and gray.dtype == "uint8"


def test_declared_fields():
    ds = synthetic().map(lambda image: image.mean(), bright="f32")
    assert ds.text.endswith(" | map bright:f32 callback=python0")
    assert [spec.dtype for spec in ds.batch(8).element_spec.values()] == ["uint8", "int64", "float32"]
    ds = synthetic().map(lambda image: (image.mean(), image.max()), low="f64", high=numpy.uint8).batch(8)
    batch = next(iter(ds))
    assert batch["low"].dtype == "float64" and numpy.array_equal(batch["high"], PLAIN[0].max((1, 2, 3)))
    ds = synthetic().map(lambda image: image / 2, image=("f32", (12, 10, 3))).batch(8)
    assert equal(images_of(ds), [(images / 2).astype("f4") for images in PLAIN])
    # One field declared, the other found; an axis that differs.
    ds = synthetic().map(lambda image: {"image": image[: 1 + image[0, 0, 0] % 5], "low": image.min()},
                         image=("u8", (None, 10, 3)), low=None)
    assert ds.text.endswith("map image:u8[*,10,3] * callback=python0")
    assert next(iter(ds.padded_batch(8, max="image:5x10x3")))["image"].shape[2:] == (10, 3)
    calls = []
    ds = synthetic().map(lambda label: calls.append(1) or label, label="i64").batch(8)
    assert len(ds) == 3 and not calls  # what is declared need not be found


@pytest.mark.parametrize("function, fields, kind, message", [
    (lambda img: img, {}, leat.ArgumentError, "no field of that name; did you mean 'image'?.*there are image, label"),
    (lambda image, mask: image, {}, leat.ArgumentError, "has a parameter 'mask'"),
    (lambda image: None, {}, leat.DTypeError, "gave None: does it lack a return"),
    (lambda image: "text", {}, leat.DTypeError, "image is str"),
    (lambda image: (image, 1, 2), {}, leat.DTypeError, "a tuple of 3, for 1 field"),
    (lambda sample: 3, {}, leat.DTypeError, "must give a dict"),
    (lambda image: {3: image}, {}, leat.DTypeError, "keys name fields"),
    (lambda image: {}, {}, leat.DTypeError, "gave no field"),
    (lambda image: image.astype(complex), {}, leat.ReadError, "complex128"),
    (lambda image: {"image": image, "x": 1}, {"x": "f32"}, leat.ArgumentError, "gave image too.*image=None"),
    (lambda image: {"image": image}, {"x": "f32"}, leat.ArgumentError, "gave image too"),
    (lambda image: {"x": 1}, {"x": "f32", "y": "f32"}, leat.ArgumentError, "gave no y"),
    (lambda image: image, {"image": ("u8", (3, 3, 3))}, leat.ShapeError, r"shape \(12, 10, 3\), \(3, 3, 3\) was"),
    (lambda image, label: image if label != 7 else image / 2, {}, leat.DTypeError,
     r"image is float64 .* and was uint8 with 3 axes in the first call.*or declare it"),
    (lambda image, label: image if label != 7 else image[0], {}, leat.ShapeError, "was uint8 with 3 axes"),
    (lambda image, label: {"image": image} if label != 7 else {"x": 1}, {}, leat.Error, "x was neither declared"),
    (lambda image, label: image[: 3 + label], {}, leat.ShapeError, "must have one size: write resize"),
])
def test_mistakes(function, fields, kind, message):
    with pytest.raises(kind, match=message) as caught:
        list(synthetic().map(function, **fields).batch(8))
    assert "synthetic picture" in str(caught.value)  # the sample


@pytest.mark.parametrize("make, kind, message", [
    (lambda: synthetic().map(3), TypeError, "needs a function, not int"),
    (lambda: synthetic().map(max), TypeError, r"cannot be read: write map\(lambda image: max\(image\)\)"),
    (lambda: synthetic().map(in_place, x="float31"), TypeError, "float32"),
    (lambda: synthetic().map(in_place, x=("f32", (0,))), TypeError, "sizes are numbers above 0"),
    (lambda: synthetic().map(in_place, workers=-1), ValueError, "workers must be"),
])
def test_mistakes_at_once(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


def test_an_exception_has_its_traceback_and_names_the_sample():
    def third(image, label):
        if label == 3:
            raise KeyError("nothing here")
        return image

    for workers in (None, 1):
        with pytest.raises(leat.ReadError, match="synthetic picture 3: call: .*nothing here") as caught:
            list(synthetic().map(third, workers=workers).batch(8))
        assert isinstance(caught.value.__cause__, KeyError) and caught.value.sample == 3
        notes = "".join(getattr(caught.value.__cause__, "__notes__", []))
        where = caught.value.__cause__.__traceback__
        while where and where.tb_next:
            where = where.tb_next
        assert "in third" in notes if workers else where.tb_frame.f_code.co_name == "third"


def test_filter_takes_parameters_too():
    def labels(ds):
        return [int(label) for _, label in ds]

    assert labels(synthetic().filter(lambda label: label % 3 == 0)) == labels(synthetic().filter("label in 0,3,6,9"))
    assert labels(synthetic().filter(lambda sample: sample["label"] == 2)) == [2, 2, 2]
    assert labels(synthetic().filter(lambda **fields: fields["label"] == 2)) == [2, 2, 2]
    with pytest.raises(leat.ArgumentError, match="a parameter 'x'.*there are .*label"):
        labels(synthetic().filter(lambda x: True))


# ------------------------------------------------------------------------------------------ sizes and places


def resized(image, rng):
    """A picture of another size for each sample."""
    height, width = rng.integers(5, 30, 2)
    return rng.integers(0, 255, (height, width, 3), "uint8")


def test_pictures_of_any_size():
    ds = synthetic().shuffle(seed=3).random_flip_left_right().map(resized)
    small = ds.resize(6, 5).random_flip_up_down().normalize(mean=0.0, std=2.0).batch(8)
    assert images_of(small)[0].shape == (8, 6, 5, 3)
    assert next(iter(ds.random_crop(5).cast("f32", layout="nchw").batch(8)))[0].shape == (8, 3, 5, 5)
    padded = next(iter(ds.padded_batch(8, max="image:30x30")))[0]
    assert padded.shape[3] == 3 and padded.shape[1] <= 30
    once = ds.resize(6, 5).batch(8)
    assert equal(images_of(once), images_of(once.options(fuse=False)))
    # What a map behind picture operations sees is what they give.
    seen = synthetic().resize(4, 4).map(lambda image: image * 2).normalize(mean=1.0, std=2.0).batch(8)
    assert equal(images_of(seen), [((images * 2 - 1.0) / 2).astype("f4") for images in
                                   images_of(synthetic().resize(4, 4).batch(8))])
    cached = synthetic().map(resized).cache().resize(6, 5).batch(8)
    assert equal(images_of(cached), images_of(cached))  # drawn once for all epochs


def test_photos(pictures):
    """Decoded pictures, a function of Pillow, and leat's resize behind it."""
    def turn(image):
        return Image.fromarray(image).rotate(90, expand=True)

    ds = leat.from_directory(pictures).map(turn).resize(16, 16).batch(8)
    plain = leat.from_directory(pictures).rot90().resize(16, 16).batch(8)
    assert equal(images_of(ds), images_of(plain))


def test_in_combined_datasets():
    a, b = synthetic(12), leat.synthetic(8, 12, 10, seed=4)
    both = leat.concatenate(a.map(lambda image: 255 - image), b).batch(4)
    assert equal(images_of(both), [255 - images for images in images_of(a.batch(4))] + images_of(b.batch(4)))
    pair = next(iter(leat.zip(image=a, other=a.map(lambda image: 255 - image, workers=1)).batch(4)))
    assert numpy.array_equal(pair["image"], 255 - pair["other"])
    runs = [images_of(leat.sample_from_datasets([a.map(resized, workers=workers), b.map(resized)], weights=[1, 1], seed=1)
                      .resize(4, 4).batch(4)) for workers in (None, 2)]
    assert equal(*runs)
    behind = leat.concatenate(a, b).map(resized).resize(4, 4).batch(4)
    assert len(images_of(behind)) == 5


def test_class_weights():
    ds = synthetic().map(lambda label: label % 2).batch(8)
    assert set(ds.class_weights()) == {0, 1}
    assert len(synthetic().map(lambda image: image).batch(8).class_weights()) == 10
    dark = synthetic().resize(4, 4).map(lambda image: int(image.mean() > 100), label="i64").batch(8)
    assert set(dark.class_weights()) <= {0, 1}


# ---------------------------------------------------------------------------------------------------- random


def draw(image, rng):
    return {"x": rng.random(), "y": rng.integers(1000)}


def drawn(ds) -> list:
    return [numpy.concatenate([batch["x"], batch["y"]]).tolist() for batch in ds.batch(8)]


def test_rng_is_a_function_of_seed_epoch_and_position():
    ds = synthetic().options(seed=5).shuffle().map(draw)
    epochs = [drawn(ds) for _ in range(2)]
    one = ds.batch(8)
    first, second = ([numpy.concatenate([batch["x"], batch["y"]]).tolist() for batch in one] for _ in range(2))
    assert first != second and first == epochs[0] == epochs[1]  # drawn() begins with epoch 0 each time
    for threads in (1, 3):
        for workers in (None, 1, 3):
            again = synthetic().options(seed=5).shuffle().map(draw, workers=workers).configure(threads=threads)
            assert drawn(again) == first
    assert drawn(synthetic().options(seed=6).shuffle().map(draw)) != first
    plain = next(iter(synthetic().map(lambda rng: {"x": rng.random()}).options(seed=5).batch(8)))["x"]
    rule = [numpy.random.default_rng((5, 0, position, 2)).random() for position in range(8)]  # it is operation 2
    assert plain.tolist() == numpy.float32(rule).tolist()


def test_rng_after_a_resume():
    ds = synthetic().shuffle(seed=5).map(draw).batch(4)
    want = [batch["x"].tolist() for _ in range(2) for batch in ds]
    state = ds.state(1, 2)
    other = synthetic().shuffle(seed=5).map(draw).batch(4)
    other.restore(state)
    assert [batch["x"].tolist() for batch in other] == want[8:]
    # Ranks together have what one process has.
    ranks = [synthetic().shuffle(seed=5).map(draw).batch(2).configure(rank=rank, world_size=2) for rank in range(2)]
    parts = [[batch["x"].tolist() for batch in rank] for rank in ranks]
    assert [a + b for a, b in zip(*parts)] == want[:6]


def test_two_maps_draw_differently():
    ds = synthetic().map(lambda rng: {"a": rng.random()}).map(lambda rng: {"b": rng.random()}).batch(8)
    batch = next(iter(ds))
    assert not set(batch["a"].tolist()) & set(batch["b"].tolist()) and len(set(batch["a"].tolist())) == 8


# -------------------------------------------------------------------------------------------------- processes


def test_worker_processes():
    before = children()
    ds = synthetic(64).map(lambda image: {"image": 255 - image, "pid": os.getpid()}, workers=2).batch(8)
    plain = images_of(synthetic(64).batch(8))
    pids = set()
    for _ in range(2):
        for batch, images in zip(ds, plain):
            assert numpy.array_equal(batch["image"], 255 - images)
            pids |= set(batch["pid"].tolist())
    assert 1 <= len(pids) <= 2 and os.getpid() not in pids and pids <= children()
    ds.close()
    del ds, batch
    assert not children() - before


def test_global_random_states_are_seeded_in_processes():
    def unaware(image):
        import random

        return {"x": numpy.random.random(), "y": random.random()}

    runs = []
    for workers in (1, 3):
        ds = synthetic().shuffle(seed=1).map(unaware, workers=workers).batch(8)
        runs.append([[*batch["x"].tolist(), *batch["y"].tolist()] for _ in range(2) for batch in ds])
    assert runs[0] == runs[1] and len({x for batch in runs[0] for x in batch}) == 96


def test_a_process_that_dies_is_replaced(tmp_path):
    died = tmp_path / "died"

    def deadly(image, label):
        if label == 7 and not died.exists():
            died.touch()
            os.kill(os.getpid(), 9)
        return 255 - image

    assert equal(images_of(synthetic().map(deadly, workers=2).batch(8)), [255 - images for images in PLAIN])
    with pytest.raises(leat.ReadError, match="synthetic picture 7: .*ended its worker process 3 times.*exit code -9"):
        images_of(synthetic().map(lambda image, label: os.kill(os.getpid(), 9) if label == 7 else image,
                                  image=("u8", (12, 10, 3)), workers=2).batch(8))


def test_close_does_not_wait_for_a_process(run):
    said = run("""
import leat, time
def slow(image, label):
    if label:
        time.sleep(100)
    return image
ds = leat.synthetic(8, 4, 4).map(slow, workers=2).batch(4)
it = iter(ds)
time.sleep(1)
begun = time.monotonic()
it.close()
ds.close()
print("closed", time.monotonic() - begun < 5)
""")
    assert "closed True" in said


def test_ctrl_c(run):
    said = run("""
import leat, os, signal, threading, time
def slow(image):
    time.sleep(0.2)
    return image
for workers in (None, 2):
    ds = leat.synthetic(200, 4, 4).map(slow, image=("u8", (4, 4, 3)), workers=workers).batch(100)
    threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
    begun = time.monotonic()
    try:
        for batch in ds: pass
    except KeyboardInterrupt:
        print("stopped", time.monotonic() - begun < 3)
    ds.close()
""")
    assert said.count("stopped True") == 2


def test_after_fork(run):
    said = run("""
import leat, os, time
def slow(image):
    time.sleep(0.02)
    return image
for workers in (None, 1):
    ds = leat.synthetic(60, 4, 4).map(slow, workers=workers).batch(20)
    it = iter(ds)
    time.sleep(0.1)          # a thread of the parent is inside of the function
    child = os.fork()
    if child == 0:
        print("child", len(list(ds)), flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    print("parent", len(list(it)), flush=True)
""")
    assert said.count("child 3") == said.count("parent 3") == 2


def test_one_batch_that_is_taken_calls_the_function_for_few_others():
    calls = []

    def noted(image):
        calls.append(1)
        return image

    ds = leat.synthetic(400, 4, 4).map(noted, image=("u8", (4, 4, 3))).batch(20).configure(threads=2)
    it = iter(ds)
    next(it)
    time.sleep(0.2)
    assert len(calls) <= 40  # the one that comes next is made meanwhile
    assert len(list(it)) == 19 and len(calls) <= 800
    ds.close()


def test_a_dataset_with_functions_can_be_pickled():
    ds = synthetic().filter(odd).map(in_place, workers=1).map(resized).resize(4, 4).batch(8)
    images = images_of(ds)
    assert equal(images_of(pickle.loads(pickle.dumps(ds))), images) and len(images) == 2


def test_without_numpy(run):
    said = run("""
import sys
sys.modules["numpy"] = None
import array, leat
ds = leat.synthetic(8, 2, 2).filter(lambda label: label > 3)
ds = ds.map(lambda image, label: {"image": array.array("B", range(4)), "half": label / 2, "n": 3})
batch = next(iter(ds.batch(4)))
print(list(memoryview(batch["half"])), list(memoryview(batch["n"])), memoryview(batch["image"]).shape)
""")
    assert "[2.0, 2.5, 3.0, 3.5] [3, 3, 3, 3] (4, 4)" in said
