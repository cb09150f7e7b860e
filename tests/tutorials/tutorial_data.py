# SPDX-License-Identifier: Apache-2.0
"""The data that the programs find in their working directory, made with NumPy, Pillow and TensorFlow.

    tutorial_data.py FOLDER [SCALE]

SCALE multiplies the number of samples: 1 for the tests, more for times. The same scale gives the same bytes.

    flowers/CLASS/NNN.jpg           photos in class folders, of many sizes, and a LICENSE.txt beside the classes
    pets/images/, pets/masks/       pet_NN.jpg and pet_NN.png, whose pixels are 1, 2 or 3
    cats_and_dogs/cat.N.jpg         labels in the names of files
    leaves/ID.jpg, leaves.csv       labels in a table: image_id, label, weight
    digits/0..3/N.png               small grey pictures
    mixed/                          JPEG, PNG and GIF files in one folder
    spoilt/                         JPEG files, one of which is cut
    flowers-tfrec/NN-COUNT.tfrec    shards of JPEG Examples: image, class, id
    raw/train-N.tfrecord            shards of 32x32x3 bytes: image_raw, height, width, depth, label
    raw.tfrecord.gz                 one of them, gzip
    boxes.tfrecord                  image, and lists whose lengths differ
    tensorflow_datasets/            little_flowers as tfds prepares it: id, image, label; train in two shards, test in one
    cifar.npz, mnist.npz            x_train, y_train, x_test, y_test
    titanic.csv, poems/*.txt        a table and lines of text
"""
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

FLOWERS = ("daisy", "rose", "tulip")


def photo(rng: np.random.Generator, height: int, width: int, colour: int) -> np.ndarray:
    """A smooth picture with some noise; `colour` is the channel that is brightest."""
    y, x = np.mgrid[0:height, 0:width]
    waves = [100 + 30 * (c == colour % 3) + 60 * np.sin(x / (9 + c) + rng.uniform(0, 6)) * np.cos(y / (7 + colour))
             for c in range(3)]
    return (np.stack(waves, -1) + rng.normal(0, 6, (height, width, 3))).clip(0, 255).astype(np.uint8)


def save(path: Path, pixels: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **({"quality": 90} if path.suffix == ".jpg" else {}))


def make_folders(folder: Path, rng: np.random.Generator, scale: int) -> None:
    for label, name in enumerate(FLOWERS):
        for i in range(24 * scale):
            save(folder / "flowers" / name / f"{i:03}.jpg", photo(rng, 70 + i % 7 * 5, 96 - i % 5 * 6, label))
    (folder / "flowers/LICENSE.txt").write_text("These pictures were made by a program.\n")
    for i in range(16 * scale):
        size = 64 + i % 3 * 8, 80 - i % 2 * 8
        pixels, mask = photo(rng, *size, i), np.full(size, 2, np.uint8)
        mask[10:30 + i % 16, 12:40] = 1
        mask[8:10, 12:40] = 3
        pixels[mask == 1] //= 3
        save(folder / "pets/images" / f"pet_{i:02}.jpg", pixels)
        save(folder / "pets/masks" / f"pet_{i:02}.png", mask)
    for i in range(20 * scale):
        for label, name in enumerate(("cat", "dog")):
            save(folder / "cats_and_dogs" / f"{name}.{i}.jpg", photo(rng, 60 + i % 4 * 4, 64, label))
    rows = ["image_id,label,weight"]
    for i in range(36 * scale):
        label = i * 7 % 4
        save(folder / "leaves" / f"leaf_{i:03}.jpg", photo(rng, 64, 64, label))
        rows.append(f"leaf_{i:03}.jpg,{('healthy', 'rust', 'scab', 'spots')[label]},{0.5 + label / 4}")
    (folder / "leaves.csv").write_text("\n".join(rows) + "\n")
    for i in range(40 * scale):
        digit = np.zeros((28, 28), np.uint8)
        digit[4:24, 4 + i % 4 * 5:9 + i % 4 * 5] = 200
        save(folder / "digits" / str(i % 4) / f"{i}.png", digit + rng.integers(0, 40, digit.shape, np.uint8))
    for i in range(12):
        save(folder / "mixed" / f"{i:02}.{('jpg', 'png', 'gif')[i % 3]}", photo(rng, 40, 48, i))
        save(folder / "spoilt" / f"{i:02}.jpg", photo(rng, 40, 48, i))
    spoilt = folder / "spoilt/05.jpg"
    spoilt.write_bytes(b"<html>404 Not Found</html>" + spoilt.read_bytes()[26:60])


def make_records(folder: Path, rng: np.random.Generator, scale: int) -> None:
    import tensorflow as tf

    def feature(value: Any) -> Any:
        if isinstance(value, bytes):
            return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
        value = list(np.ravel(value))
        if value and isinstance(value[0], (float, np.floating)):
            return tf.train.Feature(float_list=tf.train.FloatList(value=value))
        return tf.train.Feature(int64_list=tf.train.Int64List(value=value))

    def write(path: Path, examples: list[dict[str, Any]], options: Any = None) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tf.io.TFRecordWriter(str(path), options) as writer:
            for example in examples:
                features = tf.train.Features(feature={key: feature(value) for key, value in example.items()})
                writer.write(tf.train.Example(features=features).SerializeToString())

    files = sorted((folder / "flowers").glob("*/*.jpg"))
    order = rng.permutation(len(files))
    for shard in range(4):
        part = [files[k] for k in order[shard::4]]
        write(folder / f"flowers-tfrec/{shard:02}-{len(part)}.tfrec",
              [{"image": file.read_bytes(), "class": FLOWERS.index(file.parent.name),
                "id": f"{file.parent.name}-{file.stem}".encode()} for file in part])
    for shard in range(2):
        raw = [{"image_raw": rng.integers(0, 256, (32, 32, 3), np.uint8).tobytes(), "height": 32, "width": 32, "depth": 3,
                "label": k % 10} for k in range(150 * scale)]
        write(folder / f"raw/train-{shard}.tfrecord", raw)
    write(folder / "raw.tfrecord.gz", raw, tf.io.TFRecordOptions(compression_type="GZIP"))
    boxes = []
    for i, file in enumerate(sorted((folder / "pets/images").glob("*.jpg"))):
        corner = rng.uniform(0, 0.5, (1 + i % 3, 2))
        boxes.append({"image": file.read_bytes(), "boxes": np.hstack([corner, corner + 0.4]).astype(np.float32),
                      "classes": np.arange(1 + i % 3) + i % 2, "difficult": np.arange(i % 2)})
    write(folder / "boxes.tfrecord", boxes)
    make_prepared(folder / "tensorflow_datasets/little_flowers/1.0.0", files, order, write)


def make_prepared(folder: Path, files: list[Path], order: np.ndarray, write: Any) -> None:
    """What tfds prepares: shards, and two files in JSON that describe them."""
    lengths = {"train": [len(files) // 2, len(files) // 4], "test": [len(files) // 4]}
    chosen = iter(order)
    for split, counts in lengths.items():
        for i, n in enumerate(counts):
            part = [files[next(chosen)] for _ in range(n)]
            write(folder / f"little_flowers-{split}.tfrecord-{i:05}-of-{len(counts):05}",
                  [{"image": file.read_bytes(), "label": FLOWERS.index(file.parent.name),
                    "id": f"{file.parent.name}-{file.stem}".encode()} for file in part])

    def feature(kind: str, **fields: Any) -> dict[str, Any]:
        return {"pythonClassName": f"tensorflow_datasets.core.features.{kind}", **fields}

    sizes = {"shape": {"dimensions": ["-1", "-1", "3"]}, "dtype": "uint8", "encodingFormat": "jpeg"}
    (folder / "features.json").write_text(json.dumps(feature("features_dict.FeaturesDict", featuresDict={"features": {
        "id": feature("text_feature.Text", text={}),
        "image": feature("image_feature.Image", image=sizes),
        "label": feature("class_label_feature.ClassLabel", classLabel={"numClasses": str(len(FLOWERS))})}})))
    (folder / "label.labels.txt").write_text("\n".join(FLOWERS) + "\n")
    (folder / "dataset_info.json").write_text(json.dumps({
        "name": "little_flowers", "version": "1.0.0", "fileFormat": "tfrecord",
        "supervisedKeys": {"tuple": {"items": [{"featureKey": "image"}, {"featureKey": "label"}]}},
        "splits": [{"name": split, "shardLengths": [str(n) for n in counts], "numBytes": "1",
                    "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"}
                   for split, counts in lengths.items()]}))


def make_tables(folder: Path, rng: np.random.Generator, scale: int) -> None:
    for name, shape, classes, n in (("cifar", (32, 32, 3), 10, 320), ("mnist", (28, 28), 10, 480)):
        y = rng.integers(0, classes, n * scale + 80).astype(np.uint8)
        x = rng.integers(0, 80, (len(y), *shape)).astype(np.uint8)
        for k in range(classes):
            x[y == k, 3 * k // 2:3 * k // 2 + 4] += 120
        y = y[:, None] if name == "cifar" else y
        np.savez(folder / f"{name}.npz", x_train=x[:-80], y_train=y[:-80], x_test=x[-80:], y_test=y[-80:])
    rows = ["survived,sex,age,n_siblings_spouses,fare,class,alone"]
    for i in range(120 * scale):
        alone = ("y", "n")[int(rng.integers(2))]
        rows.append(f"{rng.integers(2)},{('male', 'female')[i % 2]},{rng.integers(1, 80)}.0,{rng.integers(4)},"
                    f"{rng.uniform(5, 90):.4f},{('First', 'Second', 'Third')[i % 3]},{alone}")
    (folder / "titanic.csv").write_text("\n".join(rows) + "\n")
    (folder / "poems").mkdir()
    words = ("the", "grey", "sea", "and", "long", "black", "land", "yellow", "moon", "low")
    for k in range(3):
        lines = [" ".join(rng.choice(words, 3 + (i + k) % 4)) for i in range(10 + k)]
        (folder / "poems" / f"poem{k}.txt").write_text("\n".join(lines) + "\n")


def make(folder: Path, scale: int = 1) -> None:
    rng = np.random.default_rng(16)
    folder.mkdir(parents=True, exist_ok=True)
    make_folders(folder, rng, scale)
    make_records(folder, rng, scale)
    make_tables(folder, rng, scale)


if __name__ == "__main__":
    make(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
