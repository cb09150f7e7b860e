# SPDX-License-Identifier: Apache-2.0
"""Writes directories as TFDS prepares them, with leat's own writer: features.json, dataset_info.json and shards."""
import io
import json
from pathlib import Path

import leat
import numpy
from PIL import Image

DIGIT = {"image": {"image": {"dtype": "uint8", "shape": {"dimensions": ["8", "8", "1"]}}},
         "label": {"classLabel": {"numClasses": "3"}}}
PHOTO = {"image": {"image": {"dtype": "uint8", "encodingFormat": "jpeg", "shape": {"dimensions": ["-1", "-1", "3"]}}},
         "image/filename": {"text": {}}, "label": {"classLabel": {"numClasses": "3"}},
         "flag": {"tensor": {"dtype": "bool", "shape": {}, "encoding": "none"}},
         "score": {"tensor": {"dtype": "float64", "shape": {}}},
         "grid": {"tensor": {"dtype": "int32", "shape": {"dimensions": ["2", "2"]}}},
         "more": {"featuresDict": {"features": {"age": {"tensor": {"dtype": "int64", "shape": {}}}}}}}
LISTS = {"objects": {"sequence": {"length": "-1", "feature": {"featuresDict": {"features": {
            "bbox": {"boundingBox": {"dtype": "float32", "shape": {"dimensions": ["4"]}}},
            "label": {"classLabel": {"numClasses": "5"}}}}}}},
         "words": {"sequence": {"length": "-1", "feature": {"text": {}}}}}
VIDEO = {"video": {"video": {"shape": {}}}}
CLASSES = {"image": "image_feature.Image", "classLabel": "class_label_feature.ClassLabel", "text": "text_feature.Text",
           "tensor": "tensor_feature.Tensor", "featuresDict": "features_dict.FeaturesDict",
           "video": "video_feature.Video",
           "sequence": "sequence_feature.Sequence", "boundingBox": "bounding_boxes.BBoxFeature"}
KEYS = {"tuple": {"items": [{"featureKey": "image"}, {"featureKey": "label"}]}}


def named(feature: dict) -> dict:
    """With the names of classes, by which TFDS finds them."""
    (kind, value), = feature.items()
    if kind == "featuresDict":
        value = {"features": {name: named(each) for name, each in value["features"].items()}}
    if kind == "sequence":
        value = {**value, "feature": named(value["feature"])}
    return {kind: value, "pythonClassName": f"tensorflow_datasets.core.features.{CLASSES[kind]}"}


def encoded(pixels: numpy.ndarray, form: str) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels).save(file, form)
    return file.getvalue()


def digits(number: int) -> dict:
    pixels = numpy.random.RandomState(number).randint(0, 255, (8, 8, 1), "uint8")
    return {"image": encoded(pixels, "PNG"), "label": number % 3}


def photos(number: int) -> dict:
    random = numpy.random.RandomState(number)
    pixels = random.randint(0, 255, (16 + number % 5, 24 - number % 3, 3), "uint8")
    return {"image": encoded(pixels, "JPEG"), "image/filename": f"{number}.jpg", "label": number % 3,
            "flag": number % 2,
            "score": float(number), "grid": numpy.arange(4) + number, "more/age": number,
            "objects/bbox": numpy.arange(4 * (number % 3 + 1), dtype="f4"),
            "objects/label": numpy.arange(number % 3 + 1),
            "words": [b"a", b"bc"][:1 + number % 2]}


def prepare(folder: Path, name: str, sample, features: dict, shards: dict[str, list[int]], *, version: str = "1.0.0",
            config: str = "", keys=KEYS, classes=("ant", "bee", "cat"), **more) -> Path:
    """shards: for each split the samples of its shards. sample: a function of the number of the sample."""
    place = folder / name / config / version
    place.mkdir(parents=True)
    (place / "features.json").write_text(json.dumps(named({"featuresDict": {"features": features}})))
    (place / "label.labels.txt").write_text("".join(f"{each}\n" for each in classes))
    number, splits = 0, []
    for split, lengths in shards.items():
        for shard, length in enumerate(lengths):
            with leat.TFRecordWriter(place / f"{name}-{split}.tfrecord-{shard:05}-of-{len(lengths):05}") as file:
                for _ in range(length):
                    file.write(leat.example(sample(number)))
                    number += 1
        splits.append({"name": split, "shardLengths": [str(length) for length in lengths], "numBytes": "1000",
                       "filepathTemplate": "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"})
    about = {"name": name, "version": version, "fileFormat": "tfrecord", "splits": splits, **more}
    if config:
        about["configName"] = config
        (folder / name / ".config").mkdir()
        (folder / name / ".config/metadata.json").write_text(json.dumps({"default_config_name": config}))
    if keys:
        about["supervisedKeys"] = keys
    (place / "dataset_info.json").write_text(json.dumps(about))
    return place
