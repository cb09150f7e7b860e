#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""TFRecords through tf.data and through leat.tf: the same program, the same file, in turns.

    PYTHONPATH=build/package bench/python/records.py [--sides 32 256] [--samples 20000] [--rounds 3]

Raw bytes: parse, decode_raw, reshape, cast, random_brightness, random_flip_left_right, shuffle, batch, prefetch. JPEG: decode, resize,
flip, brightness. A round runs some epochs of each, in a loop over eager tensors. Beside the time of the clock stands the processor time
of all threads, which is steadier where other programs run. Lines of a Markdown table; ratios are tf.data's time by leat's."""
import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import leat
import leat.tf
import numpy
import tensorflow

BATCH = 64
EPOCHS = 3


def write(path: Path, pictures: list[bytes]) -> None:
    with leat.TFRecordWriter(path) as writer:
        for i, picture in enumerate(pictures):
            writer.write(leat.example({"image": picture, "label": i % 10}))


def pipeline(tf: Any, path: Path, decode: Callable[[Any, Any], Any]) -> Any:
    def parse(record: Any) -> Any:
        found = tf.io.parse_single_example(record, {"image": tf.io.FixedLenFeature([], tf.string),
                                                    "label": tf.io.FixedLenFeature([], tf.int64)})
        image = tf.image.random_brightness(decode(tf, found["image"]), 0.2)
        return tf.image.random_flip_left_right(image), found["label"]

    records = tf.data.TFRecordDataset(str(path)).map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    return records.shuffle(1000).batch(BATCH).prefetch(tf.data.AUTOTUNE)


def run(dataset: Any) -> tuple[float, float]:
    """Seconds of an epoch by the clock and of all threads: the epochs behind the first, without a pause between them, because
    leat goes on working for the next one."""
    for turn in range(EPOCHS + 1):
        if turn == 1:
            clock, processor = time.perf_counter(), time.process_time()
        for _ in dataset:
            pass
    return (time.perf_counter() - clock) / EPOCHS, (time.process_time() - processor) / EPOCHS


def compare(title: str, path: Path, n: int, decode: Callable[[Any, Any], Any], rounds: int) -> None:
    times: dict[str, list[tuple[float, float]]] = {"tf.data": [], "leat.tf": []}
    for _ in range(rounds):
        times["tf.data"].append(run(pipeline(tensorflow, path, decode)))
        times["leat.tf"].append(run(pipeline(leat.tf, path, decode)))
    middle = {name: [statistics.median(column) for column in zip(*taken)] for name, taken in times.items()}
    for name, (clock, processor) in middle.items():
        base = middle["tf.data"]
        print(f"| {title} | {name} | {n / clock:,.0f} | {base[0] / clock:.1f} | {processor / n * 1e6:.1f} | "
              f"{base[1] / processor:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sides", type=int, nargs="*", default=[32, 256], help="of raw pictures; none: JPEGs alone")
    parser.add_argument("--samples", type=int, default=20000, help="of 32x32; larger pictures are fewer")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    random = numpy.random.RandomState(1)
    print("| records | way | samples/s | ratio | processor us a sample | ratio |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for side in options.sides:
            n, path = max(options.samples * 32 * 32 // side**2, 20 * BATCH), Path(folder) / "raw.tfrecord"
            write(path, [random.bytes(side * side * 3) for _ in range(n)])

            def raw(tf: Any, data: Any, side: int = side) -> Any:
                return tf.cast(tf.reshape(tf.io.decode_raw(data, tf.uint8), (side, side, 3)), tf.float32) / 255.0

            compare(f"raw {side}x{side}", path, n, raw, options.rounds)
        n, path = max(options.samples // 30, 8 * BATCH), Path(folder) / "jpeg.tfrecord"
        photos = leat.synthetic(n, 375, 500).batch(1)
        write(path, [tensorflow.io.encode_jpeg(numpy.asarray(picture)[0], quality=90).numpy() for picture, _ in photos])

        def photo(tf: Any, data: Any) -> Any:
            return tf.image.resize(tf.io.decode_jpeg(data, channels=3), (224, 224)) / 255.0

        compare("JPEG 500x375", path, n, photo, options.rounds)


if __name__ == "__main__":
    main()
