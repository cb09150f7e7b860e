# SPDX-License-Identifier: Apache-2.0
"""Pipelines of tf.data with one mistake each: the doctor names it."""
import time

import leat
import numpy
import tensorflow as tf
from leat._doctor.class_runs import longest_run
from leat._doctor.findings import CAUSES
from leat._doctor.tfdata import judge
from leat._doctor.tfdata_chain import chain_of, remote

tf.config.set_visible_devices([], "GPU")
AUTO = tf.data.AUTOTUNE
PICTURES = numpy.random.default_rng(1).integers(0, 255, (64, 32, 32, 3), "u1")
SQUARE = numpy.random.default_rng(2).normal(size=(160, 160)).astype("f4")
LABELS = numpy.arange(64) % 4


def pictures():
    return tf.data.Dataset.from_tensor_slices((PICTURES, LABELS)).repeat()


def heavy(image):
    """A millisecond of arithmetic without a state."""
    some = tf.reduce_mean(tf.cast(image, tf.float32)) / 1e3
    return tf.cast(image, tf.float32) + tf.linalg.inv(SQUARE + some)[:32, :32, None]


def augment(image, label):
    return tf.image.random_brightness(heavy(image), 0.2), label


def plain(image, label):
    return heavy(image), label


def sleep(image):
    time.sleep(0.004)
    return image


def in_python(image, label):
    return tf.numpy_function(sleep, [image], tf.uint8), label


def causes(found):
    assert all(each.cause in CAUSES for each in found.findings)
    return [each.cause for each in found.findings]


def test_a_random_map_stays_serial():
    found = judge(pictures().map(augment).batch(8), 0.5)
    first = found.findings[0]
    assert first.cause == "serial random map" and "map(augment) (test_doctor_tfdata.py:" in first.sentence, found.text()
    assert first.share > 0.5 and "one call after the other" in first.sentence
    remedy = found.remedies[0]
    assert remedy.change == "dataset.map(augment, num_parallel_calls=tf.data.AUTOTUNE)" and remedy.gain > 1.2
    assert any("map(augment)" in row[0] and row[1] == "1" for row in found.tables[0].rows)


def test_a_map_without_a_state_is_parallel_by_itself():
    """TensorFlow runs it side by side, whatever the source text says; so it is no mistake."""
    found = judge(pictures().map(plain).batch(8), 0.5)
    assert not {"serial map", "serial random map"} & set(causes(found)), found.text()
    assert "serial random map" not in causes(judge(pictures().map(augment, num_parallel_calls=AUTO).batch(8), 0.5))


def test_a_python_map_and_a_generator():
    found = judge(pictures().map(in_python).batch(8), 0.5)
    assert found.findings[0].cause == "serial python map" and "map(in_python)" in found.findings[0].sentence, found.text()
    assert found.findings[0].share > 0.8 and "workers=" in found.remedies[0].change

    def samples():
        while True:
            yield sleep(PICTURES[0])

    found = judge(tf.data.Dataset.from_generator(samples, output_signature=tf.TensorSpec((32, 32, 3), tf.uint8)).batch(8), 0.5)
    assert found.findings[0].cause == "python generator" and found.findings[0].share > 0.8, found.text()
    assert found.rate < 260  # 4 ms each


def test_the_doctor_of_iterables_judges_the_pipeline_too():
    found = leat.doctor(pictures().map(in_python).batch(4), step=lambda batch: time.sleep(0.004), steps=20)
    assert [each.cause for each in found.findings[:2]] == ["input", "serial python map"], found.text()
    assert 0.5 < found.findings[1].share < 1 and found.tables[0].rows
    assert found.text().count("samples/s") >= 2 and "leat.from_files(paths, labels).map(in_python" in found.text()
    alone = leat.doctor(pictures().map(in_python).batch(4), steps=10)
    assert alone.find("serial python map") is not None


def test_threads_do_not_help_python_that_holds_the_lock():
    def busy(image):
        end = time.thread_time() + 0.003
        while time.thread_time() < end:
            pass
        return image

    ds = pictures().map(lambda x, y: (tf.numpy_function(busy, [x], tf.uint8), y), num_parallel_calls=2).batch(8)
    found = judge(ds, 1)
    assert found.findings[0].cause == "serial python map" and "lock" in found.findings[0].sentence, found.text()


def test_caches():
    frozen = judge(tf.data.Dataset.from_tensor_slices((PICTURES, LABELS)).map(augment).cache().repeat().batch(8), 0.5)
    assert "random cache" in causes(frozen), frozen.text()
    large = tf.data.Dataset.from_tensor_slices((numpy.tile(PICTURES, (20, 1, 1, 1)), numpy.tile(LABELS, 20)))
    useless = judge(large.cache().map(plain).batch(8), 0.5)
    assert "useless cache" in causes(useless), useless.text()
    offered = next(each for each in useless.remedies if each.title == "samples kept from the second epoch on")
    assert offered.gain > 1.2 and "MB of memory" in offered.cost
    right = judge(large.map(plain).cache().batch(8), 0.5)
    assert not {"useless cache", "random cache"} & set(causes(right)), right.text()


def write(folder, runs, files=1, compressed=False, picture=PICTURES[0].tobytes()):
    options = tf.io.TFRecordOptions(compression_type="GZIP") if compressed else None
    paths = []
    for number in range(files):
        paths.append(str(folder / f"part-{number}.tfrecord"))
        with tf.io.TFRecordWriter(paths[-1], options) as writer:
            for label in range(4):
                for _ in range(runs):
                    features = {"image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[picture])),
                                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label]))}
                    writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
    return paths


def parse(record):
    got = tf.io.parse_single_example(record, {"image": tf.io.FixedLenFeature((), tf.string),
                                              "label": tf.io.FixedLenFeature((), tf.int64)})
    return tf.reshape(tf.io.decode_raw(got["image"], tf.uint8), (32, 32, 3)), got["label"]


def test_a_shuffle_smaller_than_the_runs_of_a_class(tmp_path):
    paths = write(tmp_path, 60)
    small = judge(tf.data.TFRecordDataset(paths).shuffle(20).map(parse).batch(8), 0.2)
    finding = small.find("small shuffle")
    assert finding is not None and "shuffle(20)" in finding.sentence and "60 samples" in finding.sentence, small.text()
    behind = judge(tf.data.TFRecordDataset(paths).map(parse).shuffle(20).batch(8), 0.2)
    assert behind.find("small shuffle") is not None
    assert judge(tf.data.TFRecordDataset(paths).shuffle(240).map(parse).batch(8), 0.2).find("small shuffle") is None
    assert judge(pictures().shuffle(20).batch(8), 0.2).find("small shuffle") is None
    for number in range(2):
        for i in range(30):
            path = tmp_path / f"class{number}" / f"{i}.jpg"
            path.parent.mkdir(exist_ok=True)
            path.touch()
    names = sorted(str(path) for path in tmp_path.glob("class*/*.jpg"))
    assert longest_run(tf.data.Dataset.from_tensor_slices(names), 1000) == 30
    one_hot = tf.data.Dataset.from_tensor_slices((numpy.zeros(6), numpy.eye(3)[[0, 0, 0, 1, 2, 2]]))
    assert longest_run(one_hot, 1000) == 3
    assert longest_run(tf.data.Dataset.from_tensor_slices((numpy.zeros(6), numpy.zeros(6, "i4"))), 1000) == 0  # one class


def test_reading_of_compressed_files_one_after_the_other(tmp_path):
    paths = write(tmp_path, 8, 3, True, numpy.random.default_rng(3).integers(0, 9, 100_000, "u1").tobytes())
    found = judge(tf.data.TFRecordDataset(paths, compression_type="GZIP").repeat().batch(8), 0.5)
    assert {"gzip", "sequential read"} <= set(causes(found)), found.text()
    assert "3 files" in found.find("sequential read").sentence
    assert any("num_parallel_reads" in each.change and each.gain > 1.2 for each in found.remedies), found.text()


def test_files_one_after_the_other_are_told_also_when_they_are_near(tmp_path):
    paths = write(tmp_path, 8, 3)
    assert "sequential read" in causes(judge(tf.data.TFRecordDataset(paths).map(parse).map(augment).batch(4), 0.2))
    beside = judge(tf.data.TFRecordDataset(paths, num_parallel_reads=AUTO).map(parse).map(augment).batch(4), 0.2)
    assert "sequential read" not in causes(beside), beside.text()


def test_whole_pictures_decoded_before_a_crop(tmp_path):
    path = tmp_path / "a.jpg"
    path.write_bytes(tf.io.encode_jpeg(PICTURES[0]).numpy())
    paths = tf.data.Dataset.from_tensor_slices([str(path)] * 200)

    def read(path):
        return tf.io.decode_jpeg(tf.io.read_file(path), channels=3)

    def judged(ds):
        return "whole decode" in causes(judge(ds.batch(8), 0.1))

    assert judged(paths.map(lambda path: tf.image.random_crop(read(path), (16, 16, 3))))
    assert judged(paths.map(lambda path: read(path)[4:20, 4:20]))
    assert judged(paths.map(read).map(lambda image: tf.image.central_crop(image, 0.5)))
    assert not judged(paths.map(lambda path: tf.image.resize(read(path), (16, 16))))
    assert not judged(paths.map(lambda path: tf.image.random_crop(tf.image.resize(read(path), (20, 20)), (16, 16, 3))))
    assert not judged(paths.map(lambda path: tf.io.decode_and_crop_jpeg(tf.io.read_file(path), [0, 0, 16, 16])))


def test_batches_of_one():
    assert "batch of one" in causes(judge(pictures().batch(1), 0.1))
    assert "batch of one" not in causes(judge(pictures().batch(2), 0.1))


def test_storage_that_is_far_away(tmp_path):
    mounts = tmp_path / "mounts"
    mounts.write_text("/dev/sda / ext4 rw 0 0\nserver:/x /mnt/share nfs4 rw 0 0\nd /content/drive fuse.drive rw 0 0\n")
    assert remote("/mnt/share/a/b.tfrecord", str(mounts)) == "nfs4" and remote("/content/drive/x", str(mounts)) == "fuse.drive"
    assert remote("/home/a.jpg", str(mounts)) == "" and remote("/mnt/shared", str(mounts)) == ""
    assert remote("gs://bucket/a.tfrecord") == "gs://"
    from leat._doctor.tfdata import tell_pipeline
    from leat._doctor.findings import Diagnosis

    found = Diagnosis(0, 0.0, 0.0, 0.0)
    tell_pipeline(found, None, tf.data.TFRecordDataset(["gs://bucket/a.tfrecord", "gs://bucket/b.tfrecord"]).batch(8))
    assert "remote storage" in causes(found)


def test_without_autotune_there_are_no_times():
    options = tf.data.Options()
    options.autotune.enabled = False
    found = judge(pictures().with_options(options).batch(1), 0.1)
    assert any("AUTOTUNE is off" in note for note in found.notes) and "batch of one" in causes(found)


def test_an_empty_data_set_and_one_of_two_batches():
    for ds in (pictures().take(0), pictures().take(2)):
        assert judge(ds.batch(1), 0.1).steps == 0


def test_functions_of_combined_data_sets_are_found():
    both = tf.data.Dataset.zip((pictures().map(plain), pictures().map(augment)))
    functions = [link.function.name for link in chain_of(both.batch(4)) if link.function is not None]
    assert functions == ["plain", "augment"]
