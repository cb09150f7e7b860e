# SPDX-License-Identifier: Apache-2.0
"""Values whose number differs from sample to sample: boxes (n, 4), tokens (n), from arrays, generators and datasets."""
import numpy
import pytest

import leat

COUNTS = (3, 0, 5, 1)


def boxes(dtype="float32"):
    corner = numpy.random.RandomState(0).randint(0, 4, (sum(COUNTS), 2))
    all_of_them = numpy.concatenate([corner, corner + 3], 1).astype(dtype)
    return numpy.split(all_of_them, numpy.cumsum(COUNTS)[:-1])


def fields(i, dtype="float32"):
    return {"image": numpy.full((8, 8, 3), i, "uint8"), "boxes": boxes(dtype)[i], "tokens": numpy.arange(COUNTS[i])}


class Detection:
    def __init__(self, dtype="float32"):
        self.dtype = dtype

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return fields(i, self.dtype)


def arrays(dtype="float32"):
    return leat.from_arrays({"image": numpy.stack([fields(i)["image"] for i in range(4)]), "boxes": boxes(dtype),
                             "tokens": [numpy.arange(n) for n in COUNTS]})


def generator(dtype="float32"):
    return leat.from_generator(lambda: (fields(i, dtype) for i in range(4)))


def python(dtype="float32"):
    return leat.from_python(Detection(dtype), workers=1, ragged={"boxes": 9, "tokens": 9})


SOURCES = [arrays, generator, python]


@pytest.mark.parametrize("make", SOURCES)
@pytest.mark.parametrize("dtype", ["float32", "int64", "float64", "uint16"])
def test_ragged_batches(make, dtype):
    ds = make(dtype).batch(4)
    batch = next(iter(ds))
    assert batch["boxes"].values.shape == (9, 4) and batch["boxes"].values.dtype == dtype
    assert batch["boxes"].offsets.tolist() == [0, 3, 3, 8, 9]
    for got, wanted in zip(batch["boxes"], boxes(dtype), strict=True):
        assert numpy.array_equal(got, wanted)
    assert batch["tokens"].tolist() == [list(range(n)) for n in COUNTS]
    assert ds.element_spec["boxes"].shape == (4, None, 4) and ds.element_spec["boxes"].ragged
    assert [x.shape for x in next(iter(make(dtype).shuffle(seed=2).batch(4)))["boxes"]] != [(n, 4) for n in COUNTS]


@pytest.mark.parametrize("make", SOURCES)
def test_padded_batches(make):
    batch = next(iter(make().padded_batch(4, padding="boxes:-1")))
    assert batch["boxes"].shape == (4, 5, 4) and batch["tokens"].shape == (4, 5)
    for got, wanted in zip(batch["boxes"], boxes()):
        assert numpy.array_equal(got[:len(wanted)], wanted) and (got[len(wanted):] == -1).all()
    assert next(iter(make().padded_batch(4, max="boxes:7x4")))["boxes"].shape == (4, 5, 4)
    fixed = make()._with(operations=(*make()._operations, "padded_batch 4 boxes=7x4"))
    assert next(iter(fixed))["boxes"].shape == (4, 7, 4)


@pytest.mark.parametrize("make", SOURCES)
def test_boxes_move_with_the_picture(make):
    ds = make().boxes(field="boxes", labels="tokens").random_flip_left_right(1.0).batch(4)
    for got, wanted in zip(next(iter(ds))["boxes"], boxes()):
        flipped = wanted.copy()
        flipped[:, 0], flipped[:, 2] = 8 - wanted[:, 2], 8 - wanted[:, 0]
        assert numpy.array_equal(got, flipped)
    # What leaves the picture is taken out, with its label.
    batch = next(iter(make().boxes(field="boxes", labels="tokens", min_visible=0.9).crop_to_bounding_box(0, 0, 5, 5).batch(4)))
    inside = [(x[:, 2:] <= 5).all(1) for x in boxes()]
    assert [len(x) for x in batch["boxes"]] == [int(kept.sum()) for kept in inside]
    assert batch["tokens"].tolist() == [numpy.arange(len(kept))[kept].tolist() for kept in inside]


def test_cache_and_single_samples():
    ds = generator().cache()
    for _ in range(2):
        assert [x.shape for x in next(iter(ds.batch(4)))["boxes"]] == [(n, 4) for n in COUNTS]
    assert generator()[2]["boxes"].shape == (5, 4)


def test_what_is_empty_tells_no_type():
    for first in ([], numpy.zeros((0, 4))):
        items = [first, numpy.ones((2, 4), "float32"), []]
        ds = leat.from_generator(lambda items=items: ({"b": x} for x in items)).batch(3)
        assert [len(x) for x in next(iter(ds))] == [0, 2, 0]
        got = next(iter(leat.from_arrays({"b": items}).batch(3)))
        assert got.values.dtype == "float32" and [len(x) for x in got] == [0, 2, 0]


def test_mistakes():
    with pytest.raises(ValueError, match="value 1 has the shape .3, 5., others have .2, 4.: only the first axis may differ"):
        leat.from_arrays({"b": [numpy.zeros((2, 4)), numpy.zeros((3, 5))]})
    with pytest.raises(leat.ArgumentError, match="b of sample 1 is f64 .3, 5., of those before f64 .2, 4."):
        leat.from_generator(lambda: ({"b": numpy.zeros((2 + i, 4 + i))} for i in range(2))).samples
    with pytest.raises(leat.ArgumentError, match="a list of texts or of lists of different lengths"):
        leat.from_generator(lambda: ({"b": ["x", "yz"]} for i in range(2))).samples
    with pytest.raises(ValueError, match="resize them to one size"):
        leat.from_arrays([numpy.zeros((2, 4, 3)), numpy.zeros((3, 4, 3))])
    with pytest.raises(leat.ReadError, match="item 2: boxes has 5 entries; ragged says at most 4"):
        list(leat.from_python(Detection(), workers=1, ragged={"boxes": 4, "tokens": 9}).batch(4))
    with pytest.raises(leat.ArgumentError, match="items have no part box"):
        leat.from_python(Detection(), workers=1, ragged={"box": 4}).samples
    with pytest.raises(ValueError, match="ragged is a dict of names"):
        leat.from_python(Detection(), ragged={"boxes": 0})


def test_four_fields_are_boxes():
    sides = {name: [x[:, k] for x in boxes()] for k, name in enumerate(("x0", "y0", "x1", "y1"))}
    ds = leat.from_arrays({"image": numpy.zeros((4, 8, 8, 3), "uint8"), **sides,
                           "label": [numpy.arange(n) for n in COUNTS]})
    got = next(iter(ds.boxes(field="boxes", of=("x0", "y0", "x1", "y1"), labels="label").random_flip_left_right(1.0).batch(4)))
    assert set(got) == {"image", "boxes", "label"}
    for x, wanted in zip(got["boxes"], boxes(), strict=True):
        assert numpy.array_equal(x[:, 1::2], wanted[:, 1::2]) and numpy.array_equal(x[:, 0], 8 - wanted[:, 2])
    with pytest.raises(leat.Error, match="of must name four fields"):
        ds.boxes(field="boxes", of="x0,y0").samples
    with pytest.raises(leat.Error, match="there is no field 'x9' here"):
        ds.boxes(field="boxes", of="x0,y0,x1,x9").samples
    numbers = leat.from_arrays({"a": numpy.arange(3.0), "b": numpy.arange(3.0) * 2, "c": numpy.arange(3)})
    assert next(iter(numbers.stack("x", "b", "a").batch(3)))["x"].tolist() == [[0, 0], [2, 1], [4, 2]]
    with pytest.raises(leat.ShapeError, match="fields a and c differ in type or shape"):
        numbers.stack("x", "a", "c").samples
    uneven = leat.from_arrays({"a": [numpy.ones(1), numpy.ones(2)], "b": [numpy.ones(2), numpy.ones(1)]}).stack("x", "a", "b").batch(2)
    with pytest.raises(leat.ShapeError, match="field 1 of them has 2 values, the first has 1"):
        next(iter(uneven))


def test_boxes_of_tensorflows_object_detection(tmp_path):
    import io

    from PIL import Image

    keys = [f"image/object/bbox/{side}" for side in ("xmin", "ymin", "xmax", "ymax")]
    with leat.TFRecordWriter(tmp_path / "od.tfrecord") as writer:
        for i, n in enumerate(COUNTS):
            file = io.BytesIO()
            Image.fromarray(numpy.full((8, 8, 3), i, "uint8")).save(file, "PNG")
            sides = {key: boxes()[i][:, k] / 8 for k, key in enumerate(keys) if n}
            writer.write(leat.example({"image/encoded": file.getvalue(), "image/object/class/label": numpy.arange(n), **sides}))
    features = {"image/encoded": "bytes", **{key: "float[*10]" for key in keys}, "image/object/class/label": "int64[*10]"}
    ds = leat.from_tfrecord(tmp_path / "od.tfrecord", features).decode(field="image/encoded")
    ds = ds.boxes(field="boxes", of=keys, image="image/encoded", normalized=True, labels="image/object/class/label")
    batch = next(iter(ds.random_flip_left_right(1.0, field="image/encoded").batch(4)))
    assert set(batch) == {"image/encoded", "boxes", "image/object/class/label"}
    for got, wanted in zip(batch["boxes"], boxes(), strict=True):
        assert numpy.allclose(got[:, 0] * 8, 8 - wanted[:, 2]) and numpy.allclose(got[:, 3] * 8, wanted[:, 3])
