#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""leat.tf.data against tf.data: the same programs, in turns, in one process.

    PYTHONPATH=build/package bench/python/tfdata.py [--rounds 5] [--samples 20000]

Needs TensorFlow. Each line has the time of an epoch (after a first one) in an eager loop and in a loop inside a tf.function,
and what it takes to get one batch. Ratios are medians over the rounds, since the machine is never equally fast for long. Lines
of a Markdown table."""
import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def programs(n: int, folder: Path) -> dict[str, Callable[[Any], Any]]:
    """Pipelines as functions of tensorflow or leat.tf."""
    import leat
    import numpy

    random = numpy.random.default_rng(1)
    x, y = random.integers(0, 256, (n, 32, 32, 3), dtype="uint8"), random.integers(0, 10, n)
    path = str(folder / "raw.tfrecord")
    with leat.TFRecordWriter(path) as writer:
        for image, label in zip(x, y):
            writer.write({"image": image, "label": int(label)})

    def arrays(tf: Any) -> Any:
        return tf.data.Dataset.from_tensor_slices((x, y)).shuffle(n).batch(128).prefetch(tf.data.AUTOTUNE)

    def cast(tf: Any) -> Any:
        ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(n)
        ds = ds.map(lambda image, label: (tf.cast(image, tf.float32) / 255, label), num_parallel_calls=tf.data.AUTOTUNE)
        return ds.batch(128).prefetch(tf.data.AUTOTUNE)

    def records(tf: Any) -> Any:
        features = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}

        def parse(record: Any) -> Any:
            found = tf.io.parse_single_example(record, features)
            image = tf.cast(tf.reshape(tf.io.decode_raw(found["image"], tf.uint8), [32, 32, 3]), tf.float32)
            image = tf.image.random_brightness(image, 20.0)
            return tf.image.random_flip_left_right(image), found["label"]
        ds = tf.data.TFRecordDataset(path).shuffle(2000).map(parse, num_parallel_calls=tf.data.AUTOTUNE)
        return ds.batch(128).prefetch(tf.data.AUTOTUNE)
    return {"arrays 32x32 u8: shuffle, batch": arrays, "the same, with cast and / 255": cast,
            "raw TFRecords: parse, decode_raw, brightness, flip, batch": records}


def timed(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def loops(tf: Any, dataset: Any) -> dict[str, Callable[[], Any]]:
    def eager() -> None:
        for _ in dataset:
            pass

    @tf.function  # type: ignore[untyped-decorator, unused-ignore]
    def graph() -> Any:
        found = tf.constant(0, tf.int64)
        for _, labels in dataset:
            found += labels[0]
        return found
    return {"eager": eager, "graph": graph, "first": lambda: next(iter(dataset.take(1)))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=20000)
    options = parser.parse_args()
    import leat.tf
    import tensorflow

    print("| pipeline | | tf.data | leat.tf.data | ratio |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for title, make in programs(options.samples, Path(folder)).items():
            theirs, ours = loops(tensorflow, make(tensorflow)), loops(tensorflow, make(leat.tf))
            for name, word in (("eager", "an epoch, eager loop"), ("graph", "an epoch in a tf.function"), ("first", "take(1)")):
                theirs[name](), ours[name]()
                pairs = [(timed(theirs[name]), timed(ours[name])) for _ in range(options.rounds)]
                a, b = (statistics.median(side) for side in zip(*pairs))
                ratio = statistics.median(one / other for one, other in pairs)
                print(f"| {title} | {word} | {a * 1e3:.1f} ms | {b * 1e3:.1f} ms | {ratio:.1f} |", flush=True)


if __name__ == "__main__":
    main()
