# SPDX-License-Identifier: Apache-2.0
"""TFRecords that leat writes, read by the real TensorFlow."""
import leat
import numpy
import pytest
import tensorflow as tf


def test_examples_are_what_tensorflow_writes():
    """Byte for byte, when TensorFlow is asked for a fixed order."""
    features = {"b": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"ant", b"", b"bee"])),
                "f": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5, -1e30])),
                "i": tf.train.Feature(int64_list=tf.train.Int64List(value=[-1, 0, 2**62]))}
    theirs = tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString(deterministic=True)
    assert leat.example(i=[-1, 0, 2**62], f=[0.5, -1e30], b=["ant", b"", "bee"]) == theirs
    assert leat.example(i=numpy.array([-1, 0, 2**62]), f=tf.constant([0.5, -1e30]), b=[b"ant", "", "bee"]) == theirs


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_tensorflow_reads_what_is_saved(tmp_path, compression):
    images = numpy.random.default_rng(0).integers(0, 255, (20, 9, 7, 3), "uint8")
    ds = leat.from_arrays({"image": images, "label": numpy.arange(20), "x": images.mean((1, 2)).astype("float32")})
    saved = ds.batch(8).save_tfrecord(tmp_path / "train.tfrecord", shards=3, compression=compression)
    spec = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64),
            "x": tf.io.FixedLenFeature([3], tf.float32)}
    found = {}
    for record in tf.data.TFRecordDataset(saved.files, compression_type=compression):
        sample = tf.io.parse_single_example(record, spec)
        pixels = tf.reshape(tf.io.decode_raw(sample["image"], tf.uint8), (9, 7, 3)).numpy()
        found[int(sample["label"])] = pixels, sample["x"].numpy()
    assert sorted(found) == list(range(20))
    for i, (pixels, x) in found.items():
        assert (pixels == images[i]).all() and (x == images[i].mean((0, 1)).astype("float32")).all()
