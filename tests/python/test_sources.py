# SPDX-License-Identifier: Apache-2.0
"""Where samples come from."""
import gzip
import struct
import zlib

import leat
import numpy
import pytest
from leat._leat import Pipeline


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 & -(crc & 1))
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _field(number: int, data: bytes) -> bytes:
    size, length = len(data), b""
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + data


def _example(features: dict) -> bytes:
    entries = b""
    for name, value in features.items():
        if isinstance(value, bytes):
            kind = _field(1, _field(1, value))
        elif isinstance(value, list):
            kind = _field(2, _field(1, struct.pack(f"<{len(value)}f", *value)))
        else:
            kind = _field(3, _field(1, bytes([value])))
        entries += _field(1, _field(1, name.encode()) + _field(2, kind))
    return _field(1, entries)


def write_records(path, examples: list[dict], gz: bool = False) -> None:
    data = b""
    for example in examples:
        payload = _example(example)
        length = struct.pack("<Q", len(payload))
        data += length + struct.pack("<I", _crc32c(length)) + payload + struct.pack("<I", _crc32c(payload))
    path.write_bytes(gzip.compress(data) if gz else data)


def test_tfrecords(tmp_path):
    pixels = numpy.random.RandomState(0).randint(0, 255, (6, 4, 4, 3), "uint8")
    write_records(tmp_path / "my data.tfrecord", [{"image": p.tobytes(), "label": i} for i, p in enumerate(pixels)])
    ds = (leat.from_tfrecord(tmp_path / "my data.tfrecord", {"image": "bytes", "label": "int64"})
          .decode_raw("u8").reshape(4, 4, 3).batch(6))
    images, labels = next(iter(ds))
    assert numpy.array_equal(images, pixels) and labels.tolist() == list(range(6))
    raw = leat.from_tfrecord([tmp_path / "my data.tfrecord"]).batch(2)
    record = next(iter(raw))
    assert isinstance(record, leat.Ragged) and len(record) == 2 and isinstance(record[0], bytes)
    assert raw.element_spec.ragged and raw.element_spec.dtype == "bytes"


def test_csv(pictures, tmp_path):
    table = tmp_path / "list.csv"
    table.write_text("file,breed\n" + "".join(
        f"{path.relative_to(pictures)},{path.parent.name}\n" for path in sorted(pictures.rglob("*.png"))))
    ds = leat.from_csv(table, path="file", label="breed", root=pictures).resize(8, 8).batch(4)
    assert ds.samples == 12 and ds.class_names == ["ant", "bee", "big cat"]
    assert next(iter(ds))[0].shape == (4, 8, 8, 3)


def test_npy(tmp_path):
    x, y = numpy.random.rand(10, 3).astype("f4"), numpy.arange(10)
    numpy.save(tmp_path / "my x.npy", x)
    numpy.save(tmp_path / "y.npy", y)
    images, labels = next(iter(leat.from_npy(image=tmp_path / "my x.npy", label=tmp_path / "y.npy").batch(10)))
    assert numpy.array_equal(images, x) and numpy.array_equal(labels, y)
    numpy.savez(tmp_path / "both.npz", a=x, b=y)
    assert set(next(iter(leat.from_npy(tmp_path / "both.npz").batch(2)))) == {"a", "b"}


def test_arrays_of_any_kind():
    x = numpy.arange(240, dtype="f4").reshape(10, 4, 6)
    for view in (x, x[::-1], x[:, ::2], numpy.asfortranarray(x), x.transpose(0, 2, 1), x[::2], x.astype(">f4"),
                 numpy.broadcast_to(x[:1], x.shape), numpy.broadcast_to(x[1, 1, 1], x.shape),
                 numpy.broadcast_to(x[1, 1, 1], (10,)), numpy.broadcast_to(x[1, 1, 1], (1,))):
        got = numpy.concatenate(list(leat.from_arrays(view).batch(4)))
        assert got.tobytes() == numpy.ascontiguousarray(view, "f4").tobytes()
    for dtype in ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "?"):
        values = numpy.arange(6).astype(dtype)
        got = next(iter(leat.from_arrays(values).batch(6)))
        assert got.dtype == values.dtype and got.tolist() == values.tolist()
    with pytest.raises(TypeError, match="array a: one value stands for all"):
        Pipeline("batch 4", arrays=(("a", "i32", numpy.broadcast_to(numpy.int32(1), (24,))),))
    frozen = numpy.arange(4)
    frozen.flags.writeable = False
    assert next(iter(leat.from_arrays(frozen).batch(4))).tolist() == [0, 1, 2, 3]


def test_arrays_are_not_copied():
    x = numpy.zeros((8, 2), "f4")
    ds = leat.from_arrays(x).configure(synchronous=True).batch(4)
    x[:] = 5
    assert next(iter(ds)).sum() == 40


def test_lists_and_strings():
    names = ["ant", b"bee", "", "größe"]
    ds = leat.from_arrays({"name": names, "n": [1, 2, 3, 4], "x": [0.5, 1, 2, 3]}).batch(2)
    batches = list(ds)
    assert [name for batch in batches for name in batch["name"].tolist()] == [
        b"ant", b"bee", b"", "größe".encode()]
    assert batches[0]["n"].dtype == numpy.int64 and batches[0]["x"].dtype == numpy.float64
    assert batches[1]["name"][-1].decode() == "größe"
    with pytest.raises(IndexError):
        batches[0]["name"][2]
    words = numpy.array(["a", "bcd"])
    assert next(iter(leat.from_arrays({"w": words, "v": words.astype("S")}).batch(2)))["w"].tolist() == [b"a", b"bcd"]


def test_pandas():
    class Frame:  # what pandas has and leat looks at
        columns = ("a", "b")

        def __getitem__(self, name):
            return Series()

        def to_numpy(self):
            raise AssertionError("columns are taken one by one")

    class Series:
        def to_numpy(self):
            return numpy.arange(3)

    assert set(next(iter(leat.from_arrays(Frame()).batch(3)))) == {"a", "b"}
    try:
        import pandas
    except ImportError:
        return
    frame = pandas.DataFrame({"x": [1.0, 2.0], "name": ["a", "b"]})
    assert next(iter(leat.from_arrays(frame).batch(2)))["name"].tolist() == [b"a", b"b"]


@pytest.mark.parametrize("arrays, error, words", [
    ((numpy.zeros(3), numpy.zeros(4)), ValueError, "image has 3, label has 4"),
    (numpy.zeros(3, "c8"), TypeError, "complex64"),
    ([object()], TypeError, "object"),
    ([[1], [1, 2]], ValueError, "row 0 has 1 value, row 1 has 2"),
    (numpy.float32(3), ValueError, "first axis"),
    (["a", 3], TypeError, "value 1 is int"),
    ({}, ValueError, "no array"),
    ((1, 2, 3, 4), ValueError, "dict"),
])
def test_wrong_arrays(arrays, error, words):
    with pytest.raises(error, match=words):
        leat.from_arrays(arrays)


def test_generators():
    calls = []

    def samples():
        calls.append(1)
        for i in range(20):
            yield numpy.full((3, 3, 1), i, "uint8"), i

    ds = leat.from_generator(samples).shuffle(seed=1).batch(6)
    assert not calls  # nothing is read before it is needed
    assert len(ds) == 4
    for _ in range(2):
        labels = [label for images, labels in ds for label in labels.tolist()]
        assert sorted(labels) == list(range(20)) and labels != list(range(20))
    assert calls == [1]
    strings = leat.from_generator([{"word": "ab", "x": 1.5}, {"word": "c", "x": 2.5}]).batch(2)
    batch = next(iter(strings))
    assert batch["word"].tolist() == [b"ab", b"c"] and batch["x"].tolist() == [1.5, 2.5]

    def endless():
        while True:
            yield numpy.zeros(1000, "f4")

    assert leat.from_generator(endless, take=5).samples == 5
    with pytest.raises(leat.LimitError, match="take=n"):
        leat.from_generator(endless, max_bytes=100_000).batch(2).samples
    with pytest.raises(leat.ArgumentError, match="sample 1 is f32"):
        leat.from_generator([1, 2.5]).samples
    with pytest.raises(leat.ArgumentError, match="no sample"):
        leat.from_generator([]).samples
    with pytest.raises(TypeError):
        leat.from_generator(3)


def test_large_generators_go_to_a_file(monkeypatch):
    import leat._sources.spool

    monkeypatch.setattr(leat._sources.spool, "MEMORY_MAX", 1000)
    ds = leat.from_generator(numpy.full(100, i, "f4") for i in range(50)).batch(10)
    assert [batch[0, 0] for batch in ds] == [0, 10, 20, 30, 40]


def test_text():
    ds = leat.from_text("synth 20 8 8 | shuffle seed=1").random_flip_left_right().batch(5)
    assert len(ds) == 4
    with pytest.raises(ValueError, match="did you mean 'shuffle'"):
        leat.from_text("synth | shufle")
    with pytest.raises(ValueError, match="from_arrays"):
        leat.from_text("arrays | batch 3")
    with pytest.raises(TypeError):
        leat.from_text(3)


def test_odd_names(tmp_path):
    for number, name in enumerate(["it's", 'a "b" c', "x|y=z", "ü"]):
        folder = tmp_path / name / "class"
        folder.mkdir(parents=True)
        row = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)

        def chunk(kind: bytes, data: bytes) -> bytes:
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

        (folder / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", row) + chunk(
            b"IDAT", zlib.compress(bytes([0, number, 0, 0]))) + chunk(b"IEND", b""))
        images, _ = next(iter(leat.from_directory(tmp_path / name).batch(1)))
        assert images[0, 0, 0, 0] == number


def test_decode_is_added_where_it_belongs(pictures):
    plain = leat.from_directory(pictures)
    assert plain.shuffle(seed=1).take(5).resize(8, 8).text.endswith("take count=5 | decode | resize height=8 width=8")
    assert plain.decode(channels=1).resize(8, 8).text.count("decode") == 1
    assert plain.filter("label == 1").cache().resize(8, 8).operations[2] == "decode"
    raw = leat.from_directory(pictures, decode=False).batch(3)
    assert isinstance(next(iter(raw))[0], leat.Ragged)
    assert len(list(plain.filter("label == 1").cache().resize(8, 8).batch(4))) == 2


def test_functions_of_python():
    ds = leat.synthetic(20, 4, 4).filter(lambda sample: sample["label"] % 2 == 0)
    ds = ds.map(lambda sample: {"bright": sample["image"].mean(), "image": 255 - sample["image"]},
                bright="f32", image=("uint8", (4, 4, 3))).batch(5)
    plain = leat.synthetic(20, 4, 4).filter("label in 0,2,4,6,8").batch(5)
    for mapped, (images, labels) in zip(ds, plain):
        assert mapped["label"].tolist() == labels.tolist()
        assert numpy.array_equal(mapped["image"], 255 - images)
        assert numpy.allclose(mapped["bright"], images.mean((1, 2, 3)))

    def broken(sample):
        raise KeyError("nothing here")

    with pytest.raises(leat.ReadError, match="nothing here") as caught:
        list(leat.synthetic(4, 4, 4).map(broken, x="f32").batch(2))
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(leat.ShapeError, match="was declared"):
        list(leat.synthetic(4, 4, 4).map(lambda sample: numpy.zeros(3), x=("f32", (2,))).batch(2))
    with pytest.raises(TypeError, match="did you mean"):
        leat.synthetic(4).map(broken, x="float31")
