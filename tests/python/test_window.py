# SPDX-License-Identifier: Apache-2.0
"""Windows over time series, against NumPy."""
import itertools
import re

import leat
import numpy
import pytest

N = 97
X = numpy.arange(N * 3, dtype="float32").reshape(N, 3)
Y = numpy.arange(N, dtype="int64") * 10


def windows(size: int, shift: int, stride: int, at: int | None = None) -> tuple[numpy.ndarray, numpy.ndarray | None]:
    """All windows, and the targets that lie `at` samples behind the last one of each."""
    last = (size - 1) * stride
    reach = last + max(at or 0, 0)
    starts = range(0, N - reach, shift)
    x = numpy.stack([X[s:s + last + 1:stride] for s in starts])
    return x, None if at is None else numpy.array([Y[s + last + at] for s in starts])


def everything(ds: leat.Dataset) -> dict[str, numpy.ndarray]:
    batches = [{name: numpy.array(batch[name]) for name in ("x", "y")} for batch in ds.batch(8).batches()]
    return {name: numpy.concatenate([batch[name] for batch in batches]) for name in ("x", "y")}


def sources(tmp_path) -> dict[str, leat.Dataset]:
    numpy.save(tmp_path / "x.npy", X)
    numpy.save(tmp_path / "y.npy", Y)
    wide = numpy.zeros((N, 6), "float32")
    wide[:, ::2] = X
    return {
        "arrays": leat.from_arrays({"x": X, "y": Y}),
        "fortran": leat.from_arrays({"x": numpy.asfortranarray(X), "y": Y}),  # gathered row by row
        "strided": leat.from_arrays({"x": wide[:, ::2], "y": numpy.repeat(Y, 2)[::2]}),
        "backwards": leat.from_arrays({"x": X[::-1].copy()[::-1], "y": Y}),
        "npy": leat.from_npy(x=tmp_path / "x.npy", y=tmp_path / "y.npy"),
        "generator": leat.from_generator(lambda: ({"x": x, "y": y} for x, y in zip(X, Y))),
    }


@pytest.mark.parametrize("size, shift, stride, at", [(10, 1, 1, 0), (4, 3, 2, 1), (1, 1, 1, 0), (5, 7, 1, -4), (3, 1, 6, 5)])
def test_against_numpy(tmp_path, size, shift, stride, at):
    for name, ds in sources(tmp_path).items():
        got = everything(ds.window(size, shift=shift, stride=stride, targets="y", at=at))
        x, y = windows(size, shift, stride, at)
        assert numpy.array_equal(got["x"], x) and numpy.array_equal(got["y"], y), name


def test_every_field_is_stacked_without_targets():
    got = everything(leat.from_arrays({"x": X, "y": Y}).window(10))
    assert got["x"].shape == (9, 10, 3), "windows do not overlap, as in tf.data"
    assert numpy.array_equal(got["y"], Y[:90].reshape(9, 10))
    first = leat.from_arrays({"x": X, "y": Y}).window(4, shift=2, targets="y", at="first")
    assert numpy.array_equal(everything(first)["y"], Y[0:94:2])


def test_a_window_is_a_sample(tmp_path):
    """Shuffled, divided, resumed, batched and cast like any other."""
    x, y = windows(10, 1, 1, 0)
    ds = leat.from_arrays({"x": X, "y": Y}).window(10, shift=1, targets="y")
    assert len(ds) == len(x) == 88
    mixed = everything(ds.shuffle(seed=4))
    order = (mixed["y"] - y[0]) // 10
    assert sorted(order) == list(range(88)) and list(order) != list(range(88))
    assert numpy.array_equal(mixed["x"], x[order])
    train, val = ds.split(0.75, by="order")
    assert numpy.array_equal(everything(val)["x"], x[66:])
    assert numpy.array_equal(everything(ds.cast("f64", field="x"))["x"], x.astype("float64"))
    run = ds.shuffle(seed=4).batch(8)
    batches = [numpy.array(batch["y"]) for batch in run.batches()]
    half = run.configure()
    for _ in itertools.islice(half.batches(), 5):
        pass
    again = run.configure()
    again.restore(half.state())
    assert [list(batch["y"]) for batch in again.batches()] == [list(batch) for batch in batches[5:]]


def test_part_of_a_series(tmp_path):
    ds = leat.from_arrays({"x": X, "y": Y})
    train, val = ds.split(0.75, by="order")
    n = len(train)
    assert numpy.array_equal(everything(val.window(5, shift=1))["x"][0], X[n:n + 5])
    assert len(train.window(5, shift=1)) == n - 4
    assert numpy.array_equal(everything(ds.skip(7).take(20).window(5, shift=1))["y"][-1], Y[22:27])


@pytest.mark.parametrize("call, message", [
    (lambda ds: ds.shuffle().window(4), "write shuffle and repeat behind it"),
    (lambda ds: ds.shard(0, 2).window(4), "take, skip or split by=order before it"),
    (lambda ds: ds.cast("f64", field="x").window(4), "right behind the source"),
    (lambda ds: ds.window(98), "no whole window fits"),
    (lambda ds: ds.window(4, targets="z"), "there is no field 'z'"),
    (lambda ds: ds.window(4, at=1), "at is for fields that targets names"),
    (lambda ds: ds.window(4, targets="y", at=-4), "at must be -3 or more"),
    (lambda ds: ds.window(4, targets="y", at="frist"), "at must be last, first"),
    (lambda ds: ds.batch(4).window(4), "before batch"),
])
def test_mistakes(call, message):
    with pytest.raises((TypeError, ValueError, leat.Error), match=re.escape(message)):
        len(call(leat.from_arrays({"x": X, "y": Y})))


def test_records_are_told_the_remedy(tmp_path, pictures):
    with leat.TFRecordWriter(tmp_path / "a.tfrecord") as out:
        for x, y in zip(X, Y):
            out.write(leat.example({"x": x, "y": int(y)}))
    records = leat.from_tfrecord(tmp_path / "a.tfrecord", {"x": "float32[3]", "y": "int64"})
    with pytest.raises(leat.Error, match=re.escape("leat.from_generator(lambda: ds)")):
        len(records.window(10))
    kept = leat.from_generator(lambda: records)
    assert numpy.array_equal(everything(kept.window(10, shift=1))["x"], windows(10, 1, 1)[0])
    with pytest.raises(leat.Error, match="field image holds bytes"):
        len(leat.from_directory(pictures).window(3))
