# SPDX-License-Identifier: Apache-2.0
"""Pictures that come with channels first: layout="nchw", and what is said where it was left out."""
import warnings

import leat
import numpy
import pytest

N = 6
LAST = numpy.random.default_rng(1).integers(0, 255, (N, 9, 7, 3), "u1")
FIRST = numpy.ascontiguousarray(LAST.transpose(0, 3, 1, 2))
LABELS = numpy.arange(N)


class Items:
    """As torch datasets give them: (channels, height, width) and a number."""

    def __len__(self):
        return N

    def __getitem__(self, i):
        return FIRST[i], i


def sources(tmp_path, layout):
    numpy.save(tmp_path / "x.npy", FIRST)
    numpy.save(tmp_path / "y.npy", LABELS)
    numpy.savez(tmp_path / "xy.npz", image=FIRST, label=LABELS)
    return [leat.from_arrays((FIRST, LABELS), layout=layout),
            leat.from_npy(image=tmp_path / "x.npy", label=tmp_path / "y.npy", layout=layout),
            leat.from_npy(tmp_path / "xy.npz", layout=layout),
            leat.from_generator(lambda: zip(FIRST, LABELS), layout=layout),
            leat.from_python(Items(), workers=1, layout=layout)]


@pytest.mark.parametrize("number", range(5))
def test_channels_first_gives_the_same_pictures(number, tmp_path):
    def chain(ds):
        return ds.shuffle(seed=1).random_flip_left_right().random_crop(6).batch(4)

    expected = list(chain(leat.from_arrays((LAST, LABELS))))
    for name in ("nchw", "chw"):
        for (a, x), (b, y) in zip(chain(sources(tmp_path, name)[number]), expected, strict=True):
            assert numpy.array_equal(a, b) and numpy.array_equal(x, y)
    plain = sources(tmp_path, "nchw")[number].batch(N)
    assert numpy.array_equal(next(iter(plain))[0], LAST)


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8", "i8"])
def test_every_type_and_memory_that_is_not_contiguous(dtype):
    wide = numpy.zeros((N, 3, 9, 14), dtype)
    wide[..., ::2] = FIRST
    got = next(iter(leat.from_arrays((wide[..., ::2], LABELS), layout="nchw").batch(N)))[0]
    assert got.dtype == numpy.dtype(dtype) and numpy.array_equal(got, LAST.astype(dtype))
    assert numpy.array_equal(next(iter(leat.from_arrays((wide[::-1, ..., ::2], LABELS)).batch(N)))[0],
                             FIRST.astype(dtype)[::-1])


def test_other_fields_stay():
    values = {"image": FIRST, "vector": numpy.ones((N, 3)), "table": numpy.ones((N, 3, 8)), "name": list("abcdef")}
    batch = next(iter(leat.from_arrays(values, layout="nchw").batch(2)))
    assert batch["image"].shape == (2, 9, 7, 3) and batch["vector"].shape == (2, 3) and batch["table"].shape == (2, 3, 8)


@pytest.mark.parametrize(("number", "remedy"), [
    (0, "leat.from_arrays(..., layout='nchw')"), (1, "leat.from_npy(..., layout='nchw')"),
    (2, "leat.from_npy(..., layout='nchw')"), (3, "layout='nchw'"), (4, "leat.from_python(..., layout='nchw')")])
def test_an_operation_on_pictures_refuses_channels_first(number, remedy, tmp_path):
    """No picture is turned upside down in silence; what does not look at pixels takes every shape without a word."""
    for chain in (lambda ds: ds.random_flip_left_right(), lambda ds: ds.resize(4, 4), lambda ds: ds.normalize(mean=0.5)):
        with pytest.raises(leat.ShapeError) as caught:
            chain(sources(tmp_path, None)[number]).batch(2).element_spec
        message = str(caught.value)
        assert "(3, 9, 7): its channels are first" in message and remedy in message and "layout='nhwc'" in message
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        images, _ = next(iter(sources(tmp_path, None)[number].cast("f32").shuffle(seed=1).batch(2)))
    assert images.shape == (2, 3, 9, 7)
    said = sources(tmp_path, "nhwc")[number].random_flip_up_down().batch(2)  # three rows of nine pixels of seven channels
    assert said.element_spec[0].shape == (2, 3, 9, 7)


def test_grey_pictures_and_four_channels():
    for channels in (1, 4):
        with pytest.raises(leat.ShapeError, match=rf"\({channels}, 9, 7\): its channels are first"):
            leat.from_arrays(numpy.zeros((N, channels, 9, 7), "u1")).random_flip_left_right().batch(2).element_spec
        made = leat.from_arrays(numpy.zeros((N, channels, 9, 7), "u1"), layout="chw").random_flip_left_right()
        assert made.element_spec.shape == (9, 7, channels)
    many = leat.from_arrays(numpy.zeros((N, 9, 7, 16), "u1")).random_flip_left_right()  # sixteen channels, last
    assert many.element_spec.shape == (9, 7, 16)


@pytest.mark.parametrize("shape", [(3, 3, 3), (4, 4, 4), (3, 11, 3), (1, 12, 1), (1, 5, 4)])
def test_a_doubtful_shape_is_told_once(shape, monkeypatch):
    monkeypatch.setattr("leat._base.notices._told", set())
    values = numpy.random.default_rng(1).integers(0, 255, (N, *shape), "u1")
    ds = leat.from_arrays(values).random_flip_left_right()
    with pytest.warns(leat.LeatWarning, match=r"taken as \(height, width, channels\); say layout=nchw"):
        ds.element_spec
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        next(iter(ds.batch(2)))
        for layout in ("nhwc", "nchw"):
            next(iter(leat.from_arrays(values, layout=layout).random_flip_left_right().batch(3)))
        next(iter(leat.from_arrays(values[:, :, ::-1]).batch(3)))
        next(iter(leat.synthetic(4, 3, 3).random_flip_left_right().batch(2)))


def test_raw_bytes_of_records(tmp_path):
    """Pictures with channels first in TFRecords: reshape says it."""
    from test_elements import _record

    raw = tmp_path / "a.tfrecord"
    raw.write_bytes(b"".join(_record(FIRST[i].tobytes()) for i in range(N)))
    ds = leat.from_tfrecord(raw).decode_raw("u8", field="record")
    with pytest.raises(leat.ShapeError, match=r"reshape\(\.\.\., layout='nchw'\)"):
        ds.reshape(3, 9, 7, field="record").random_flip_left_right(field="record").batch(2).element_spec
    got = ds.reshape(3, 9, 7, field="record", layout="nchw").batch(N)
    assert numpy.array_equal(next(iter(got)), LAST)
    flipped = ds.reshape(-1, 9, 7, field="record", layout="nchw").rot90(2, field="record").batch(N)
    assert numpy.array_equal(next(iter(flipped)), LAST[:, ::-1, ::-1])
    with pytest.raises(leat.ShapeError, match="three axes"):
        ds.reshape(27, 7, field="record", layout="nchw").batch(2).element_spec


def test_wrong_layouts():
    for make in (lambda: leat.from_arrays((FIRST, LABELS), layout="cwh"), lambda: leat.from_npy("x.npy", layout="x"),
                 lambda: leat.from_generator([], layout=1), lambda: leat.from_python(Items(), 1, layout="first")):
        with pytest.raises(leat.ArgumentError, match="layout is 'nchw'"):
            make()
    with pytest.raises(leat.ArgumentError, match="leave layout out"):
        leat.from_python(Items(), 1, items="batch", layout="nchw")


def test_the_layout_is_no_part_of_a_state():
    """The view is the same data as a copy with channels last."""
    last = leat.from_arrays((LAST, LABELS)).shuffle(seed=1).batch(2)
    first = leat.from_arrays((FIRST, LABELS), layout="nchw").shuffle(seed=1).batch(2)
    first.restore(last.state(0, 2))
    assert numpy.array_equal(next(iter(first))[0], last[2][0])
