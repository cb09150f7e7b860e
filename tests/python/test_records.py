# SPDX-License-Identifier: Apache-2.0
"""TFRecords that are written: TFRecordWriter, example, save_tfrecord. tests/frameworks/test_records.py reads them with
TensorFlow."""
import os

import leat
import numpy
import pytest


def read(path, *features):
    return list(leat.from_tfrecord(path, list(features)).as_dict())


def test_what_an_example_takes(tmp_path):
    path = tmp_path / "a.tfrecord"
    with leat.TFRecordWriter(path) as writer:
        assert repr(writer) == f"<leat.TFRecordWriter {path}>" and writer.files == [str(path)]
        writer.write({"a": 3, "b": 0.5, "c": "ant", "d": [1.5, 2], "e": numpy.arange(6, dtype="int16").reshape(2, 3),
                      "f": numpy.float64(0.25), "g": numpy.full((2, 2), 7, "uint8"), "h": True, "i": b"\0\1"})
        writer.write(leat.example(a=-1, b=1.0, c="", d=(0, 0.5), e=[[1, 2, 3], [4, 5, 6]], f=2.0,
                                  g=numpy.zeros((2, 2), "uint8"), h=False, i=bytearray(b"x")))
        assert not path.exists()
    assert os.listdir(tmp_path) == ["a.tfrecord"] and "closed" in repr(writer)
    first, second = read(path, "a:int64", "c:bytes", "d:float[2]", "e:int64[6]", "f:float", "g:bytes", "h:int64",
                         "i:bytes")
    assert (first["a"], first["c"], first["f"], first["g"], first["h"]) == (3, b"ant", 0.25, b"\7" * 4, 1)
    assert first["d"].tolist() == [1.5, 2] and first["e"].tolist() == [0, 1, 2, 3, 4, 5] and first["i"] == b"\0\1"
    assert (second["a"], second["c"], second["h"], second["i"]) == (-1, b"", 0, b"x")
    assert second["e"].tolist() == [1, 2, 3, 4, 5, 6]
    assert [float(sample["b"]) for sample in read(path, "b:float")] == [0.5, 1]


@pytest.mark.parametrize("compression", [None, "GZIP", "zlib"])
def test_shards_and_compression(tmp_path, compression):
    with leat.TFRecordWriter(tmp_path / "t.tfrecord", compression, shards=3, level=1 if compression else None) as writer:
        for i in range(8):
            writer.write({"i": i})
    assert sorted(os.listdir(tmp_path)) == [f"t-0000{i}-of-00003.tfrecord" for i in range(3)]
    assert [sorted(os.path.basename(file) for file in writer.files)] == [sorted(os.listdir(tmp_path))]
    found = [int(sample["i"]) for file in writer.files for sample in read(file, "i:int64")]
    assert found == [0, 3, 6, 1, 4, 7, 2, 5]


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    with pytest.raises(ZeroDivisionError):
        with leat.TFRecordWriter(tmp_path / "a.tfrecord", shards=2) as writer:
            writer.write({"x": 1})
            1 / 0
    assert os.listdir(tmp_path) == []
    writer = leat.TFRecordWriter(tmp_path / "a.tfrecord")
    writer.write({"x": 1})
    del writer
    assert os.listdir(tmp_path) == []
    writer = leat.TFRecordWriter(tmp_path / "a.tfrecord")
    writer.write(b"anything")
    writer.close()
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.write(b"more")
    assert os.listdir(tmp_path) == ["a.tfrecord"]


def test_a_child_process_leaves_the_files_of_its_parent(tmp_path):
    writer = leat.TFRecordWriter(tmp_path / "a.tfrecord")
    writer.write({"x": 1})
    child = os.fork()
    if child == 0:
        del writer
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    writer.close()
    assert len(read(tmp_path / "a.tfrecord", "x:int64")) == 1


@pytest.mark.parametrize(("value", "words"), [
    (None, "NoneType"), ({"a": 1}, "dict"), ([], "empty list"), (["a", 1], "strings and int"),
    (numpy.zeros(2, "complex64"), "complex64"), (numpy.array([2**63], "uint64"), "2\\*\\*63"), ([1, "a"], "strings and int"),
])
def test_values_that_no_example_holds(value, words):
    with pytest.raises((TypeError, ValueError), match=words):
        leat.example(x=value)


def test_wrong_arguments(tmp_path):
    for wrong, words in (({"compression": "GZP"}, "GZIP"), ({"shards": 0}, "1024"), ({"level": 10}, "1 to 9")):
        with pytest.raises(ValueError, match=words):
            leat.TFRecordWriter(tmp_path / "a", **wrong)
    with pytest.raises(leat.NotFoundError, match="no/such"):
        leat.TFRecordWriter(tmp_path / "no/such/place")
    with pytest.raises(ValueError, match="no feature"):
        leat.example()
    with pytest.raises(TypeError, match="encode"):
        leat.TFRecordWriter(tmp_path / "a").write("text")
    assert os.listdir(tmp_path) == []


def test_a_dataset_is_saved_and_read_back(tmp_path):
    rng = numpy.random.default_rng(1)
    fields = {"image": rng.integers(0, 255, (10, 6, 5, 3), "uint8"), "label": numpy.arange(10),
              "x": rng.random((10, 2, 3), "float32"), "flag": numpy.arange(10) % 3 == 0,
              "name": [f"n{i}" for i in range(10)], "small": numpy.arange(10, dtype="uint8")}
    ds = leat.from_arrays(fields).shuffle(seed=3).random_flip_left_right()
    for batched in (ds, ds.batch(4)):
        saved = batched.save_tfrecord(tmp_path / "d.tfrecord", shards=2)
        assert saved.samples == 10 and len(saved.files) == 2 and all(map(os.path.exists, saved.files))
        expected = [sample for shard in range(2) for sample in list(ds.as_dict().configure())[shard::2]]
        for ours, again in zip(expected, leat.from_text(saved.text).as_dict(), strict=True):
            assert ours.keys() == again.keys()
            for name in ours:
                assert numpy.array_equal(ours[name], again[name]), name
            assert again["image"].dtype == "uint8" and again["x"].dtype == "float32"
    assert next(iter(batched))["label"].tolist() == [int(sample["label"]) for sample in ds.take(4)]  # still epoch 0


def test_several_epochs_are_versions(tmp_path):
    ds = leat.synthetic(5, 8, 8).shuffle(seed=1).random_brightness(0.3).batch(2)
    saved = ds.save_tfrecord(tmp_path / "d.tfrecord", epochs=3, compression="GZIP")
    again = [image for image, _ in leat.from_text(saved.text)]
    ours = [image for _ in range(3) for images, _ in ds for image in images]
    assert saved.samples == 15 and len(again) == 15
    assert all(numpy.array_equal(a, b) for a, b in zip(ours, again))


def test_files_as_they_are(pictures, tmp_path):
    ds = leat.from_directory(pictures, decode=False)
    saved = ds.save_tfrecord(tmp_path / "p.tfrecord")
    again = leat.from_text(saved.text)
    assert saved.samples == len(ds)
    for (ours, label), (theirs, other) in zip(ds, again, strict=True):
        assert ours == theirs and label == other


def test_what_cannot_be_saved(tmp_path):
    ds = leat.synthetic(4, 4, 4)
    for wrong, words in ((lambda: ds.repeat().save_tfrecord(tmp_path / "a"), "no end"),
                         (lambda: ds.save_tfrecord(tmp_path / "a", epochs=0), "epochs"),
                         (lambda: ds.cast("f16").save_tfrecord(tmp_path / "a"), "cast image f32")):
        with pytest.raises((ValueError, leat.Error, TypeError), match=words):
            wrong()
    assert os.listdir(tmp_path) == []
