# SPDX-License-Identifier: Apache-2.0
"""tf.data, in its best form (decode_and_crop_jpeg, map before batch, AUTOTUNE, a private pool of so many threads) and as tutorials
write it (decode everything, then tf.image and shuffle, batch, prefetch)."""
from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from typing import Any

from common import MEAN, STD, Job

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")


def start(job: Job) -> Any:
    import tensorflow as tf
    tf.config.threading.set_inter_op_parallelism_threads(job.threads)
    tf.config.threading.set_intra_op_parallelism_threads(job.threads)
    return tf


def pool(job: Job, tf: Any, ds: Any) -> Any:
    options = tf.data.Options()
    options.threading.private_threadpool_size = job.threads
    options.deterministic = job.fixed
    return ds.with_options(options)


def batches(job: Job, tf: Any, ds: Any, make: Any) -> Any:
    """map with AUTOTUNE, batch, prefetch: what the guide on performance says."""
    ds = ds.map(make, num_parallel_calls=tf.data.AUTOTUNE).batch(job.batch)
    if job.options.get("late"):  # where a script that is resumed can put it without knowing the pipeline
        ds = ds.skip(job.skip // job.batch)
    return iter(pool(job, tf, ds.prefetch(tf.data.AUTOTUNE)))


def files(job: Job, tf: Any) -> Any:
    paths, labels = job.files()
    if job.fixed:
        drawn = tf.constant(job.drawn, tf.int32)
        return tf.data.Dataset.from_tensor_slices((paths, labels, drawn))
    ds = tf.data.Dataset.from_tensor_slices((paths, labels)).shuffle(len(paths)).repeat()
    return ds.skip(job.skip) if job.skip and not job.options.get("late") else ds


def box_of(job: Job, tf: Any, data: Any, drawn: Any, part: bool) -> Any:
    """random_resized_crop and flip of an encoded JPEG, f32 from 0 to 255. TensorFlow's own box: sample_distorted_bounding_box."""
    method = "INTEGER_ACCURATE" if job.options.get("accurate", True) else "INTEGER_FAST"
    if drawn is None:
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.io.extract_jpeg_shape(data), tf.zeros([0, 0, 4]), area_range=(0.08, 1), aspect_ratio_range=(3 / 4, 4 / 3),
            max_attempts=10, use_image_if_no_bounding_boxes=True)
        window = tf.stack([begin[0], begin[1], size[0], size[1]])
    else:
        window = drawn[:4]
    if part:
        image = tf.io.decode_and_crop_jpeg(data, window, channels=3, dct_method=method)
    else:
        image = tf.io.decode_jpeg(data, channels=3, dct_method=method)
        image = tf.image.crop_to_bounding_box(image, window[0], window[1], window[2], window[3])
    image = tf.image.resize(image, [job.side, job.side])
    if drawn is None:
        return tf.image.random_flip_left_right(image)
    return tf.cond(drawn[4] > 0, lambda: tf.image.flip_left_right(image), lambda: image)


def normalized(image: Any) -> Any:
    """From 0 to 255, in two passes over the picture and not three."""
    return image * [1 / (255 * s) for s in STD] - [m / s for m, s in zip(MEAN, STD, strict=True)]


def crop_of(job: Job, tf: Any, data: Any, drawn: Any, part: bool) -> Any:
    image = box_of(job, tf, data, drawn, part)
    return normalized(image) if part else (image / 255.0 - MEAN) / STD


def crop(job: Job, part: bool) -> Iterator[Any]:
    tf = start(job)

    def make(path: Any, label: Any, drawn: Any = None) -> Any:
        return crop_of(job, tf, tf.io.read_file(path), drawn, part), label
    return batches(job, tf, files(job, tf), make)


def records(job: Job, part: bool) -> Iterator[Any]:
    tf = start(job)
    names = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}

    def make(record: Any, drawn: Any = None) -> Any:
        found = tf.io.parse_single_example(record, names)
        return crop_of(job, tf, found["image"], drawn, part), found["label"]
    ds = tf.data.TFRecordDataset(job.shards(), num_parallel_reads=1 if job.fixed else tf.data.AUTOTUNE,
                                 compression_type="GZIP" if job.kind == "gzip" else None)
    if job.fixed:
        return batches(job, tf, tf.data.Dataset.zip((ds, tf.data.Dataset.from_tensor_slices(tf.constant(job.drawn, tf.int32)))), make)
    return batches(job, tf, ds.shuffle(2000).repeat(), make)


def raw(job: Job) -> Iterator[Any]:
    tf = start(job)
    names = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}

    def make(record: Any) -> Any:
        found = tf.io.parse_single_example(record, names)
        image = tf.cast(tf.reshape(tf.io.decode_raw(found["image"], tf.uint8), [256, 256, 3]), tf.float32) / 255
        if not job.fixed:
            image = tf.image.random_flip_left_right(tf.image.random_brightness(image, 0.2))
        return image, found["label"]
    ds = tf.data.TFRecordDataset(job.shards(), num_parallel_reads=1 if job.fixed else tf.data.AUTOTUNE,
                                 compression_type="GZIP" if job.kind == "rawgzip" else None)
    return batches(job, tf, ds if job.fixed else ds.shuffle(2000).repeat(), make)


def resize(job: Job) -> Iterator[Any]:
    tf = start(job)

    def make(path: Any, label: Any, drawn: Any = None) -> Any:
        data = tf.io.read_file(path)
        if job.options.get("format") == "png":
            image = tf.io.decode_png(data, channels=3)
        elif job.options.get("format") == "webp":
            image = tf.io.decode_webp(data, channels=3)[0]  # the first frame
        else:
            image = tf.io.decode_jpeg(data, channels=3, dct_method="INTEGER_ACCURATE")
        image.set_shape([None, None, 3])
        return tf.image.resize(image, [job.side, job.side]), label
    return batches(job, tf, files(job, tf), make)


def cifar(job: Job) -> Iterator[Any]:
    """Behind batch, as the guide on performance says for small elements: rows and columns of each padded picture are gathered."""
    import numpy
    tf = start(job)
    with numpy.load(job.data) as arrays:
        x, y = arrays["x"], arrays["y"]

    def make(images: Any, labels: Any) -> Any:
        if not job.fixed:
            begin = tf.random.uniform([2, tf.shape(images)[0], 1], 0, 9, tf.int32) + tf.range(32)
            padded = tf.pad(images, [[0, 0], [4, 4], [4, 4], [0, 0]])
            images = tf.gather(tf.gather(padded, begin[0], axis=1, batch_dims=1), begin[1], axis=2, batch_dims=1)
            images = tf.image.random_flip_left_right(images)
        return normalized(tf.cast(images, tf.float32)), labels
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    ds = (ds if job.fixed else ds.shuffle(len(x)).repeat()).batch(job.batch).map(make, num_parallel_calls=tf.data.AUTOTUNE)
    return iter(pool(job, tf, ds.prefetch(tf.data.AUTOTUNE)))


def cached(job: Job) -> Iterator[Any]:
    tf = start(job)

    def make(path: Any, label: Any) -> Any:
        image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3, dct_method="INTEGER_ACCURATE")
        return tf.image.resize(image, [job.side, job.side]), label

    def flip(image: Any, label: Any) -> Any:
        return (image if job.fixed else tf.image.random_flip_left_right(image)), label
    paths, labels = job.files()
    ds = tf.data.Dataset.from_tensor_slices((paths, labels)).map(make, num_parallel_calls=tf.data.AUTOTUNE).cache()
    return batches(job, tf, ds if job.fixed else ds.shuffle(len(paths)).repeat(), flip)


def simclr(job: Job) -> Iterator[Any]:
    """Crop, flip, colour jitter in one order, gray: as SimCLR's own code has it, without its blur. Compared with fixed amounts."""
    tf = start(job)

    def jitter(image: Any) -> Any:
        image = tf.image.random_brightness(image, 0.8)
        image = tf.image.random_contrast(image, 0.2, 1.8)
        image = tf.image.random_saturation(image, 0.2, 1.8)
        return tf.clip_by_value(tf.image.random_hue(image, 0.2), 0, 1)

    def make(path: Any, label: Any, drawn: Any = None) -> Any:
        image = box_of(job, tf, tf.io.read_file(path), drawn, True) / 255
        if drawn is not None:
            image = tf.image.adjust_contrast(tf.image.adjust_brightness(image, 0.2), 1.5)
            return tf.clip_by_value(tf.image.adjust_hue(tf.image.adjust_saturation(image, 1.3), 0.1), 0, 1), label
        image = tf.cond(tf.random.uniform([]) < 0.8, lambda: jitter(image), lambda: image)
        gray = tf.random.uniform([]) < 0.2
        return tf.cond(gray, lambda: tf.tile(tf.image.rgb_to_grayscale(image), [1, 1, 3]), lambda: image), label
    return batches(job, tf, files(job, tf), make)


def tutorial(job: Job) -> Iterator[Any]:
    """image_dataset_from_directory, shuffled, cached nowhere, prefetched: the tutorial on loading images."""
    import keras
    tf = start(job)
    ds = keras.utils.image_dataset_from_directory(job.data, image_size=(job.side, job.side), batch_size=job.batch, shuffle=not job.fixed,
                                                  verbose=False)
    return iter(pool(job, tf, (ds if job.fixed else ds.repeat()).prefetch(tf.data.AUTOTUNE)))


KINDS = {"crop": functools.partial(crop, part=True), "records": functools.partial(records, part=True), "raw": raw, "resize": resize,
         "gzip": functools.partial(records, part=True), "rawgzip": raw, "cifar": cifar, "cached": cached, "simclr": simclr,
         "tutorial": tutorial}
TUTORIAL = {"crop": functools.partial(crop, part=False), "records": functools.partial(records, part=False)}
