# SPDX-License-Identifier: Apache-2.0
"""leat.datasets without TensorFlow: prepared directories, split texts, raw files, folders of classes, and refusals."""
import gzip
import io
import os
import pickle
import struct

import leat
import numpy
import pytest
from leat._prepared.raw import read_idx, read_pickle
from leat._prepared.splits import parts_of, pieces
from PIL import Image
from prepared_set import DIGIT, LISTS, PHOTO, VIDEO, digits, encoded, photos, prepare

LENGTHS = {"train": [40, 40, 41], "test": [23]}


@pytest.mark.parametrize("text, wanted", [
    ("train", [("train", 0, 121)]), ("train+test", [("train", 0, 121), ("test", 0, 23)]),
    ("all", [("train", 0, 121), ("test", 0, 23)]),
    ("train[:80%]", [("train", 0, 97)]), ("train[80%:]", [("train", 97, 121)]), ("test[50%:]", [("test", 12, 23)]),
    ("test[:10%]", [("test", 0, 2)]), ("train[12.5%:37.5%]", [("train", 15, 45)]),
    ("train[-10%:]", [("train", 109, 121)]),
    ("train[10:20]", [("train", 10, 20)]), ("train[-13:]", [("train", 108, 121)]), ("train[:-1]", [("train", 0, 120)]),
    ("train[5:5]", [("train", 5, 5)]), ("train[1shard]", [("train", 40, 80)]), ("train[1shard:]", [("train", 40, 121)]),
    ("train[:-1shard]", [("train", 0, 80)]), ("train[:3] + test[20:]", [("train", 0, 3), ("test", 20, 23)]),
])
def test_split_texts(text, wanted):
    """Numbers are those of tensorflow_datasets 4.9."""
    assert parts_of(text, LENGTHS) == wanted


@pytest.mark.parametrize("text, words", [
    ("valid", "there is no split 'valid': there are train, test"), ("train[", "is not understood"),
    ("train[a:]", "not understood"),
    ("train[1:2:3]", "is not understood"), ("train[3]", "one number counts shards"),
    ("train[:200%]", "from -100 to 100"),
    ("train[:500]", "has 121 samples"), ("train[1.5:]", "not understood"), ("train[:]", "not understood"),
    (7, "not understood")])
def test_split_texts_that_are_wrong(text, words):
    with pytest.raises(leat.ArgumentError, match=words):
        parts_of(text, LENGTHS)


def test_pieces_of_shards():
    assert pieces(parts_of("train[30:90]", LENGTHS)[0], LENGTHS["train"]) == [(0, 30, 10), (1, 0, 40), (2, 0, 10)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("tfds")
    prepare(place, "digits", digits, DIGIT, {"train": [40, 41, 40], "test": [10]})
    prepare(place, "photos", photos, PHOTO, {"train": [5, 6]}, config="small", version="1.2.0")
    prepare(place, "boxes", photos, {**PHOTO, **LISTS, **VIDEO}, {"train": [4]})
    prepare(place, "many", digits, DIGIT, {"train": [3] * 20})
    return place


def labels(ds) -> list[int]:
    return [int(label) for _, label in ds]


def in_turn(*shards) -> list:
    """16 shards in turn, 16 samples of each, while there are no more than 16 shards."""
    made, rest = [], [list(shard) for shard in shards]
    while any(rest):
        for shard in rest:
            made += shard[:16]
            del shard[:16]
    return made


def test_prepared_directory(folder):
    ds, info = leat.datasets.load("digits", split="train", data_dir=folder, as_supervised=True, with_info=True)
    assert isinstance(ds, leat.Dataset) and len(ds) == 121
    order = in_turn(range(40), range(40, 81), range(81, 121))
    assert labels(ds) == [number % 3 for number in order]
    image, label = next(iter(ds))
    pixels = numpy.asarray(Image.open(io.BytesIO(digits(0)["image"])))
    assert image.shape == (8, 8, 1) and numpy.array_equal(image[..., 0], pixels)
    assert info.features["label"].names == ["ant", "bee", "cat"] and info.features["label"].int2str(1) == "bee"
    assert info.features["label"].str2int("cat") == 2 and info.features["image"].shape == (8, 8, 1)
    assert info.splits["train"].num_examples == 121 and info.splits["test[:50%]"].num_examples == 5
    assert info.full_name == "digits/1.0.0" and info.supervised_keys == ("image", "label")
    assert info.splits.total_num_examples == 131


def test_parts_keep_the_order_of_tfds(folder):
    def load(split):
        batch = leat.datasets.load("digits", split=split, data_dir=folder, batch_size=-1)
        return [int(label) for label in batch["label"]]

    shards = range(30, 40), range(40, 81), range(81, 91)
    assert load("train[30:91]") == [number % 3 for number in in_turn(*shards)]
    assert load("test+train[:5]") == [number % 3 for number in in_turn(range(121, 131), range(5))]
    both = leat.datasets.load("digits", data_dir=folder, as_supervised=True, split={"a": "train[:3]", "b": ["test"]})
    assert labels(both["a"]) == [0, 1, 2] and len(both["b"][0]) == 10
    assert set(leat.datasets.load("digits", data_dir=folder)) == {"train", "test"}
    # More than 16 shards: as they lie.
    ds = leat.datasets.load("many", split="train[1:-1]", data_dir=folder, as_supervised=True)
    assert labels(ds) == [number % 3 for number in range(1, 59)]


def test_features(folder):
    ds = leat.datasets.load("photos", split="train", data_dir=folder)
    sample = next(iter(ds))
    assert set(sample) == {"image", "image/filename", "label", "flag", "score", "grid", "more/age"}
    assert sample["image"].dtype == "uint8" and sample["image"].shape == (16, 24, 3)
    assert sample["grid"].tolist() == [[0, 1], [2, 3]]
    assert (sample["flag"].dtype, sample["score"].dtype, sample["grid"].dtype) == ("bool", "float64", "int32")
    assert leat.datasets.load("photos/small:1.*.*", split="train", data_dir=folder).samples == 11
    batch = next(iter(leat.datasets.load("digits", split="train", data_dir=folder, as_supervised=True, batch_size=4)))
    assert batch[0].shape == (4, 8, 8, 1)


def test_what_only_tfds_reads(folder):
    ds = leat.datasets.load("boxes", split="train", data_dir=folder, as_supervised=True)  # which needs none of it
    assert labels(ds) == [0, 1, 2, 0]
    with pytest.raises(leat.UnsupportedError, match="feature 'video' is of kind Video.*pip install"):
        leat.datasets.load("boxes", split="train", data_dir=folder)
    with pytest.raises(leat.UnsupportedError, match="load.. with decoders"):
        leat.datasets.load("digits", data_dir=folder, decoders={"image": None, "x": 1})
    with pytest.raises(AttributeError, match="pip install tensorflow-datasets"):
        leat.datasets.features


def test_damaged_directories(tmp_path):
    place = prepare(tmp_path, "digits", digits, DIGIT, {"train": [4, 4]})
    next(place.glob("*00001-of*")).unlink()
    with pytest.raises(leat.NotFoundError, match="00001-of-00002 is missing"):
        leat.datasets.load("digits", split="train", data_dir=tmp_path)
    assert leat.datasets.load("digits", split="train[:4]", data_dir=tmp_path).samples == 4
    features = (place / "features.json").read_text()
    (place / "features.json").unlink()
    with pytest.raises(leat.UnsupportedError, match="features.json is missing: an old version"):
        leat.datasets.load("digits", split="train", data_dir=tmp_path)
    with pytest.raises(leat.UnsupportedError, match="gs://x is remote"):
        leat.datasets.load("digits", split="train", data_dir="gs://x")
    for file in ("features.json", "dataset_info.json"):
        (place / "features.json").write_text(features)
        for text in ("{", "[]", '{"featuresDict": 3, "splits": 4}',
                     '{"name": "x", "splits": [{"name": "train", "shardLengths": ["-1"]}]}',
                     '{"a":' * 100000):
            if file == "features.json" and "shardLengths" in text:
                continue  # which has no features
            (place / file).write_text(text)
            with pytest.raises(leat.Error, match=file.split(".")[0]):
                leat.datasets.load("digits", split="train", data_dir=tmp_path)


def test_nothing_there(tmp_path):
    words = r"mnist/VERSION/dataset_info.json.*mnist.npz in .*train-images-idx3.*pip install"
    with pytest.raises(leat.NotFoundError, match=words):
        leat.datasets.load("mnist", data_dir=tmp_path)
    with pytest.raises(leat.NotFoundError, match="cifar-10-batches-bin or cifar-10-batches-py"):
        leat.datasets.load("cifar10", data_dir=tmp_path)
    with pytest.raises(leat.ArgumentError, match="no name of a data set"):
        leat.datasets.load("a b")


# ---------------------------------------------------------------------------------------------- raw files


def write_idx(path, array, squeezed=False):
    data = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if squeezed else data)


PIXELS = numpy.random.RandomState(3).randint(0, 255, (10, 28, 28), "uint8")
NUMBERS = numpy.arange(10, dtype="uint8") % 10


@pytest.mark.parametrize("name, place", [("mnist", "mnist"), ("mnist", "MNIST/raw"), ("fashion_mnist", "fashion-mnist"),
                                         ("my_digits", "my_digits"), ("mnist", ".")])
@pytest.mark.parametrize("squeezed", [False, True])
def test_idx(tmp_path, name, place, squeezed):
    for prefix, count in (("train", 10), ("t10k", 4)):
        end = ".gz" if squeezed else ""
        write_idx(tmp_path / place / f"{prefix}-images-idx3-ubyte{end}", PIXELS[:count], squeezed)
        write_idx(tmp_path / place / f"{prefix}-labels-idx1-ubyte{end}", NUMBERS[:count], squeezed)
    ds, info = leat.datasets.load(name, split=["train", "test[1:]"], data_dir=tmp_path, with_info=True,
                                  as_supervised=True)
    images, numbers = next(iter(ds[0].batch(10)))
    assert numpy.array_equal(images, PIXELS[..., None]) and numbers.tolist() == NUMBERS.tolist() and len(ds[1]) == 3
    assert info.features["label"].num_classes == 10
    assert info.features["label"].names[9] == ("Ankle boot" if name == "fashion_mnist" else "9")


def test_damaged_idx(tmp_path):
    file = tmp_path / "x"
    good = struct.pack(">BBBBI", 0, 0, 8, 1, 3) + b"abc"
    for data in (b"", b"\0\0", good[:-1], good + b"x", b"\0\0\x08\xff" + good, gzip.compress(good)[:-9],
                 b"\x1f\x8b" + good,
                 struct.pack(">BBBBIII", 0, 0, 8, 3, 2**32 - 1, 2**32 - 1, 2**32 - 1)):
        file.write_bytes(data)
        with pytest.raises(leat.FormatError, match=str(file)):
            read_idx(str(file))


def test_keras_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "datasets").mkdir()
    numpy.savez(tmp_path / "datasets/mnist.npz", x_train=PIXELS, y_train=NUMBERS, x_test=PIXELS[:2], y_test=NUMBERS[:2])
    assert labels(leat.datasets.load("mnist", split="train+test", as_supervised=True)) == [*range(10), 0, 1]
    write_cifar(tmp_path / "datasets/cifar-10-batches-py-target/cifar-10-batches-py", False, False)
    assert leat.datasets.load("cifar10", split="train").samples == 10
    (tmp_path / "datasets/mnist.npz").write_bytes(b"PK")
    with pytest.raises(leat.FormatError, match="not the mnist.npz of Keras"):
        leat.datasets.load("mnist", split="train")


ROWS = numpy.random.RandomState(4).randint(0, 255, (2, 3072), "uint8")


def write_cifar(folder, fine, binary, protocol=2):
    folder.mkdir(parents=True)
    names = ["train", "test"] if fine else [*[f"data_batch_{n}" for n in range(1, 6)], "test_batch"]
    for number, name in enumerate(names):
        if binary:
            head = numpy.array([[number + 1, number]] * 2 if fine else [[number]] * 2, "uint8")
            (folder / f"{name}.bin").write_bytes(numpy.concatenate([head, ROWS], 1).tobytes())
        else:
            fields = {b"data": ROWS, b"batch_label": b"x", b"filenames": [b"a", b"b"]}
            keys = {b"coarse_labels": number + 1, b"fine_labels": number} if fine else {b"labels": number}
            fields.update({key: [value] * 2 for key, value in keys.items()})
            (folder / name).write_bytes(pickle.dumps(fields, protocol=protocol))


@pytest.mark.parametrize("fine, binary, place", [
    (False, True, "cifar-10-batches-bin"), (False, False, "cifar-10-batches-py"), (True, True, "cifar-100-binary"),
    (True, False, "cifar100/cifar-100-python"), (False, True, ".")])
def test_cifar(tmp_path, fine, binary, place):
    base = tmp_path / "x"
    write_cifar(base / place, fine, binary)
    name = "cifar100" if fine else "cifar10"
    ds, info = leat.datasets.load(name, split="train", data_dir=base, with_info=True)
    samples = list(ds)
    assert numpy.array_equal(samples[1]["image"], ROWS[1].reshape(3, 32, 32).transpose(1, 2, 0))
    assert samples[1]["id"] == b"train_00001"
    assert [int(sample["label"]) for sample in samples] == ([0, 0] if fine else [0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    assert not fine or [int(sample["coarse_label"]) for sample in samples] == [1, 1]
    assert fine or info.features["label"].names[3] == "cat"


class Evil:
    def __reduce__(self):
        return os.system, ("touch /tmp/leat-was-here",)


def test_pickles_run_no_code(tmp_path):
    file = tmp_path / "data_batch_1"
    file.write_bytes(pickle.dumps({b"data": Evil()}))
    with pytest.raises(leat.FormatError, match="names posix.system"):
        read_pickle(str(file))
    whole = {b"data": ROWS, b"labels": [1, 2], "name": "x", b"number": 3}
    for protocol in (2, 3, 4):
        file.write_bytes(pickle.dumps(whole, protocol=protocol))
        assert numpy.array_equal(read_pickle(str(file))["data"], ROWS)
    data = file.read_bytes()
    random = numpy.random.RandomState(5)
    for _ in range(300):  # damaged ones are read as something, or refused in one line
        bad = bytearray(data[:random.randint(1, 200)] + data[-60:])
        bad[random.randint(len(bad))] ^= 1 << random.randint(8)
        file.write_bytes(bytes(bad))
        try:
            read_pickle(str(file))
        except leat.FormatError:
            pass
    for value in ([1], {b"data": numpy.array(["x"], object)}, {b"data": numpy.zeros(3, "f4")}):
        file.write_bytes(pickle.dumps(value, protocol=2))
        with pytest.raises(leat.FormatError):
            read_pickle(str(file))


@pytest.mark.parametrize("splits", [("train", "test"), ()])
def test_folders_of_classes(tmp_path, monkeypatch, splits):
    monkeypatch.chdir(tmp_path)
    for number, split in enumerate(splits or ("",)):
        for label in ("bee", "ant"):
            (tmp_path / "data/bugs" / split / label).mkdir(parents=True)
            pixels = numpy.full((6 + number, 8, 3), len(label) * 10, "uint8")
            (tmp_path / "data/bugs" / split / label / "1.png").write_bytes(encoded(pixels, "PNG"))
    ds, info = leat.datasets.load("bugs", split="train", with_info=True)
    first = next(iter(ds))
    assert first["image"].shape == (6, 8, 3) and first["image/filename"].endswith(b"ant/1.png") and first["label"] == 0
    assert info.features["label"].names == ["ant", "bee"] and set(info.splits) == set(splits or ("train",))
    assert labels(leat.datasets.load("bugs", split="all", data_dir=tmp_path / "data/bugs", as_supervised=True)) == (
        [0, 1, 0, 1] if splits else [0, 1])


def test_as_numpy():
    ds = leat.from_arrays((numpy.zeros((2, 3)), [1, 2]))
    assert leat.datasets.as_numpy({"a": [ds, 3]}) == {"a": [ds, 3]}
