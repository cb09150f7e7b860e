# SPDX-License-Identifier: Apache-2.0
"""The data of examples/from_tf_data.md, as its beginning describes it."""
import io
from pathlib import Path

import numpy
from PIL import Image

import tfrecord

SHARDS = (3, 1, 4, 2)


def picture(number: int, height: int = 8, width: int = 8) -> numpy.ndarray:
    return numpy.random.RandomState(number).randint(0, 256, (height, width, 3), "uint8")


def png(pixels: numpy.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def make(folder: Path) -> None:
    table = ["path,label"]
    for number in range(9):
        path = folder / "photos" / ("ants", "bees", "cats")[number // 4] / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(picture(number, 20 + number, 30)))
        table.append(f"{path.relative_to(folder)},{number // 4}")
    (folder / "photos.csv").write_text("\n".join(table) + "\n")
    number = 0
    for name in ("records", "packed"):
        (folder / name).mkdir()
    for shard, n in enumerate(SHARDS):
        examples = [{"id": i, "image": png(picture(i)), "x": [float(k) for k in range(i + 1)]} for i in range(number, number + n)]
        data = b"".join(tfrecord.record(tfrecord.example(example)) for example in examples)
        (folder / f"records/part-{shard}.tfrecord").write_bytes(data)
        (folder / f"packed/part-{shard}.tfrecord.gz").write_bytes(tfrecord.compress(data, "gzip"))
        number += n
    numpy.save(folder / "rows.npy", numpy.arange(30, dtype="float32").reshape(10, 3))
    numpy.save(folder / "numbers.npy", numpy.arange(10))
    (folder / "frames.bin").write_bytes(b"head" + numpy.random.RandomState(1).bytes(120))
