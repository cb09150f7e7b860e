# SPDX-License-Identifier: Apache-2.0
"""leat.datasets with TensorFlow: load gives a tf.data.Dataset with the samples, the order and the types of tfds.load.

tensorflow_datasets itself is compared where it is installed. tests/python/prepared_set.py writes the directories.
"""
import subprocess
import sys
from pathlib import Path

import leat.datasets
import leat.tf
import numpy
import pytest
import tensorflow as tf

sys.path.append(str(Path(__file__).resolve().parent.parent / "python"))
from prepared_set import DIGIT, LISTS, PHOTO, VIDEO, digits, encoded, photos, prepare


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("tfds")
    prepare(place, "digits", digits, DIGIT, {"train": [40, 41, 40], "test": [10]})
    prepare(place, "photos", photos, PHOTO, {"train": [20, 21]}, config="small", version="1.2.0")
    prepare(place, "boxes", photos, {**PHOTO, **LISTS}, {"train": [4, 3]})
    prepare(place, "films", photos, {**PHOTO, **VIDEO}, {"train": [4]})
    return place


def samples(ds) -> list:
    return list(ds.as_numpy_iterator())


def same(got: list, wanted: list) -> None:
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted):
        tf.nest.assert_same_structure(one, other)
        for a, b in zip(tf.nest.flatten(one), tf.nest.flatten(other)):
            a, b = numpy.asarray(a), numpy.asarray(b)
            assert a.dtype == b.dtype and a.shape == b.shape and (a == b).all()


def by_tensorflow(folder: Path, name: str, feature: dict) -> list:
    """The samples of a split as TensorFlow reads them: 16 shards in turn, 16 samples of each."""
    files = tf.data.Dataset.from_tensor_slices(sorted(str(path) for path in (folder / name).rglob(f"{name}-train*")))
    records = files.interleave(tf.data.TFRecordDataset, cycle_length=16, block_length=16)
    return samples(records.map(lambda record: tf.io.parse_single_example(record, feature)))


def test_digits(folder):
    ds, info = leat.datasets.load("digits", split="train", data_dir=folder, with_info=True)
    assert isinstance(ds, tf.data.Dataset) and isinstance(ds, leat.tf.data.Dataset) and ds._chain is not None
    assert ds.element_spec == {"image": tf.TensorSpec((8, 8, 1), tf.uint8), "label": tf.TensorSpec((), tf.int64)}
    assert len(ds) == ds.cardinality() == 121 and info.features["label"].num_classes == 3
    plain = by_tensorflow(folder, "digits", {"image": tf.io.FixedLenFeature([], tf.string),
                                             "label": tf.io.FixedLenFeature([], tf.int64)})
    wanted = [{"image": tf.io.decode_png(each["image"]).numpy(), "label": each["label"]} for each in plain]
    same(samples(ds), wanted)
    same([tf.nest.map_structure(lambda tensor: tensor.numpy(), each) for each in ds], wanted)
    same(samples(ds._make()), wanted)  # TensorFlow's own, where it is asked for
    fed = ds.map(lambda each: (tf.cast(each["image"], tf.float32) / 255., each["label"])).cache().shuffle(50).batch(32)
    # As most scripts go on: all of it in the engine.
    assert fed._chain is not None and sum(len(y) for _, y in fed) == 121
    splits = ["train[:30%]", "train[30%:]", "all"]
    parts = leat.datasets.load("digits", split=splits, data_dir=folder, as_supervised=True)
    assert [len(part) for part in parts] == [36, 85, 131]
    x, y = leat.datasets.load("digits", split="test", data_dir=folder, as_supervised=True, batch_size=-1)
    assert x.shape == (10, 8, 8, 1) and y.dtype == tf.int64


def test_photos_and_lists(folder, monkeypatch):
    ds = leat.datasets.load("photos", split="train", data_dir=folder)
    first = samples(ds)[0]
    assert ds.element_spec["image"] == tf.TensorSpec((None, None, 3), tf.uint8)
    assert ds.element_spec["more"]["age"].dtype == tf.int64
    assert numpy.array_equal(first["image"], tf.io.decode_jpeg(photos(0)["image"]).numpy())  # TensorFlow's pixels
    assert (first["flag"].dtype, first["score"].dtype, first["image/filename"]) == ("bool", "float64", b"0.jpg")
    boxes = samples(leat.datasets.load("boxes", split="train[2:]", data_dir=folder))
    assert boxes[0]["objects"]["bbox"].shape == (3, 4) and boxes[0]["objects"]["label"].tolist() == [0, 1, 2]
    assert [each["words"].tolist() for each in boxes[:2]] == [[b"a"], [b"a", b"bc"]]
    monkeypatch.setitem(sys.modules, "tensorflow_datasets", None)
    with pytest.raises(leat.UnsupportedError, match="feature 'video' is of kind Video"):
        leat.datasets.load("films", split="train", data_dir=folder)
    shuffled = leat.datasets.load("photos", split="train", data_dir=folder, as_supervised=True, shuffle_files=True)
    assert len(samples(shuffled)) == 41


def test_a_script_as_it_is(folder, tmp_path):
    """With tensorflow_datasets not installed, and imports as scripts have them."""
    (tmp_path / "train.py").write_text("""
import sys
sys.modules["tensorflow_datasets"] = None
import tensorflow as tf
import tensorflow_datasets as tfds
(train, test), info = tfds.load("digits", split=["train[:80%]", "test"], shuffle_files=True, as_supervised=True,
                                with_info=True, data_dir=sys.argv[1])
def scale(image, label):
    return tf.cast(image, tf.float32) / 255., label
train = train.map(scale, num_parallel_calls=tf.data.AUTOTUNE).cache().shuffle(info.splits["train"].num_examples)
train = train.batch(32)
model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(info.features["label"].num_classes)])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
history = model.fit(train, epochs=2, validation_data=test.map(scale).batch(10), verbose=0)
print(len(history.history["val_loss"]), isinstance(train, tf.data.Dataset), sum(1 for _ in tfds.as_numpy(test)))
try:
    tfds.features
except AttributeError as error:
    print(error)
""")
    done = subprocess.run([sys.executable, "-m", "leat", "train.py", folder], capture_output=True, text=True,
                          cwd=tmp_path, timeout=120)
    assert done.stdout.splitlines()[0] == "2 True 10", done.stdout + done.stderr
    assert "pip install tensorflow-datasets" in done.stdout


def test_arrays_and_folders(tmp_path):
    x = numpy.random.RandomState(1).randint(0, 255, (12, 28, 28), "uint8")
    numpy.savez(tmp_path / "mnist.npz", x_train=x, y_train=numpy.arange(12) % 10, x_test=x[:2], y_test=[0, 1])
    ds = leat.datasets.load("mnist", split="train[2:]", data_dir=tmp_path, as_supervised=True)
    assert ds.element_spec == (tf.TensorSpec((28, 28, 1), tf.uint8), tf.TensorSpec((), tf.int64)) and len(ds) == 10
    assert numpy.array_equal(samples(ds)[0][0], x[2][..., None])
    for label in ("ant", "bee"):
        (tmp_path / "bugs/train" / label).mkdir(parents=True)
        (tmp_path / f"bugs/train/{label}/1.jpg").write_bytes(encoded(x[:1].repeat(3, 0).transpose(1, 2, 0), "JPEG"))
    ds = leat.datasets.load("bugs", split="train", data_dir=tmp_path)
    first = samples(ds)[0]
    assert set(first) == {"image", "image/filename", "label"}
    assert ds.element_spec["image"].shape.as_list() == [None, None, 3]
    assert numpy.array_equal(first["image"], tf.io.decode_jpeg(tf.io.read_file(first["image/filename"])).numpy())


@pytest.mark.parametrize("name", ["digits", "photos/small", "boxes"])
def test_against_tensorflow_datasets(folder, name):
    tfds = pytest.importorskip("tensorflow_datasets")
    path = next((folder / name.split("/")[0]).rglob("dataset_info.json")).parent
    builder = tfds.builder_from_directory(path)
    for split in ("train", "train[:30%]", "train[3:5]", "train[1shard:]", "train[2:3]+train[:-2]", "all"):
        for supervised in (False, True):
            wanted = builder.as_dataset(split=split, as_supervised=supervised)
            got, info = leat.datasets.load(name, split=split, data_dir=folder, as_supervised=supervised, with_info=True)
            assert got.element_spec == wanted.element_spec and len(got) == len(wanted)
            assert type(info).__module__.startswith("tensorflow_datasets")
            assert info.splits[split].num_examples == len(got)
            same(samples(got), samples(wanted))


def test_what_tensorflow_datasets_does(folder, tmp_path):
    """It prepares what is not there, and reads what leat does not."""
    tfds = pytest.importorskip("tensorflow_datasets")

    class MadeUp(tfds.core.GeneratorBasedBuilder):
        VERSION = tfds.core.Version("1.0.0")

        def _info(self):
            image = tfds.features.Image(shape=(None, None, 3))
            features = tfds.features.FeaturesDict({"image": image, "label": numpy.int64})
            return tfds.core.DatasetInfo(builder=self, features=features, supervised_keys=("image", "label"))

        def _split_generators(self, dl_manager):
            return {"train": self._generate_examples()}

        def _generate_examples(self):
            for number in range(5):
                yield number, {"image": numpy.full((4, 4 + number, 3), number, "uint8"), "label": number}

    got = leat.datasets.load("made_up", split="train", data_dir=tmp_path, as_supervised=True)
    assert got._chain is not None
    same(samples(got), samples(tfds.load("made_up", split="train", data_dir=tmp_path, as_supervised=True)))
    with pytest.warns(leat.LeatWarning, match="read by tensorflow_datasets itself: load.. with decoders"):
        raw = leat.datasets.load("made_up", split="train", data_dir=tmp_path,
                                 decoders={"image": tfds.decode.SkipDecoding()})
    assert samples(raw)[0]["image"].startswith(b"\x89PNG")
