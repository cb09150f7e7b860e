# SPDX-License-Identifier: Apache-2.0
"""Packs of every preset and store, read by the very lines that `leat pack` prints at its end, with TensorFlow and torch."""
import os
import re
import subprocess
from pathlib import Path

import leat
import numpy
import pytest
import tensorflow as tf

ROOT = Path(__file__).resolve().parents[2]
LEAT = os.environ.get("LEAT", str(ROOT / "build/release/cli/leat"))
SAMPLES, CLASSES = 24, 4


def run(*words):
    done = subprocess.run([LEAT, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("photos") / "in"
    run("synth", folder, "--images", SAMPLES, "--classes", CLASSES, "--size", "80x60", "-q")
    return folder


def printed(said, word):
    """The expression of Python behind a word at the beginning of a line."""
    return re.search(rf"^{word} +(.*)", said, re.M)[1]


@pytest.mark.parametrize("features", ["simple", "tfds", "slim", "simple image=picture label=kind"])
@pytest.mark.parametrize("store", [[], ["--size", "32x40", "--quality", "90"], ["--size", "32x40", "--raw"]], ids=["original", "jpeg", "raw"])
def test_the_printed_lines(photos, tmp_path, features, store):
    said = run("pack", photos, tmp_path / "out", "--features", features, "--shards", 2, *store)
    names = [name for name in ("image/encoded", "picture", "image") if f"{name}:bytes" in said]
    image, label = names[0], {"image/encoded": "image/class/label", "picture": "kind", "image": "label"}[names[0]]

    records = list(eval(printed(said, "try tf"), {"tf": tf}).as_numpy_iterator())
    assert len(records) == SAMPLES
    labels = [int(record[label]) for record in records]
    assert sorted(set(labels)) == list(range(CLASSES))
    side = (32, 40) if store else (60, 80)
    for record in records:
        if "--raw" in store:
            assert len(record[image]) == side[0] * side[1] * 3
        else:
            assert tf.io.decode_jpeg(record[image]).shape == (*side, 3)

    batch = next(iter(eval(printed(said, "try py"), {"leat": leat})))
    images, classes = (batch[image], batch[label]) if isinstance(batch, dict) else batch
    height, width = side if store else (224, 224)
    plain = "--raw" in store and image != "image"  # an array of another name is no picture, whose channels to_torch() puts first
    assert images.shape == ((SAMPLES, height, width, 3) if plain else (SAMPLES, 3, height, width))
    assert classes.tolist() == labels
    if features in ("tfds", "slim"):
        whole = tf.io.parse_single_example(next(iter(tf.data.TFRecordDataset(tf.io.gfile.glob(f"{tmp_path}/out/data-*.tfrecord")))), {
            "image/format": tf.io.FixedLenFeature([], tf.string), "image/height": tf.io.FixedLenFeature([], tf.int64),
            "image/width": tf.io.FixedLenFeature([], tf.int64), "image/class/text": tf.io.FixedLenFeature([], tf.string),
            "image/filename": tf.io.FixedLenFeature([], tf.string)})
        assert (int(whole["image/height"]), int(whole["image/width"])) == side
        name = whole["image/filename"].numpy().decode()
        assert (photos / name).exists() and name.startswith(whole["image/class/text"].numpy().decode())
        assert whole["image/format"].numpy() == (b"raw" if "--raw" in store else b"jpeg")


def test_original_bytes(photos, tmp_path):
    packed = leat.pack(photos, tmp_path / "out")
    stored = {record["image"] for record in tf.data.TFRecordDataset(packed.files).map(
        lambda record: tf.io.parse_single_example(record, {"image": tf.io.FixedLenFeature([], tf.string)})).as_numpy_iterator()}
    assert stored == {path.read_bytes() for path in photos.rglob("*.jpg")}
    pixels = numpy.stack([images for images, _ in leat.from_tfrecord(packed.files, {"image": "bytes", "label": "int64"}).decode()])
    assert numpy.array_equal(pixels, numpy.stack([images for images, _ in leat.from_directory(photos).decode()]))
