# SPDX-License-Identifier: Apache-2.0
"""Two tables: the loaders that are compared, and what they are compared on."""
from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Peer:
    """A loader: which table of which file makes its batches, and what it is called in the page."""
    title: str
    module: str
    table: str = "KINDS"
    imports: tuple[str, ...] = ()
    flavour: str = "pil"  # leat's resize that does the same
    accuracy: str = ""  # leat's decoding that does the same, if not the exact one
    place: str = "peers"  # the environment, a folder in build/
    note: str = ""


PEERS = {
    "leat": Peer("leat", "with_leat", imports=("leat", "numpy"), place="leat"),
    "leat-first": Peer("leat, first visits", "with_leat", imports=("leat", "numpy"), place="leat",
                       note="`options positions=off`: what an epoch takes that meets each JPEG for the first time"),
    "tfdata": Peer("tf.data, best form", "with_tensorflow", imports=("tensorflow",), flavour="tf",
                   note="decode_and_crop_jpeg where it applies, AUTOTUNE, map before batch, a private pool"),
    "tfdata-tutorial": Peer("tf.data, tutorial form", "with_tensorflow", "TUTORIAL", ("tensorflow",), "tf",
                            note="decode_jpeg, then tf.image; AUTOTUNE"),
    "directory": Peer("image_dataset_from_directory", "with_tensorflow", imports=("tensorflow", "keras"), flavour="tf",
                      accuracy="fast"),
    "keras": Peer("Keras ImageDataGenerator", "with_keras", imports=("tensorflow", "keras", "scipy.ndimage"), flavour="tf",
                  note="its iterator works on one thread, whatever it is given"),
    "keras-layers": Peer("Keras layers in tf.data", "with_keras", "LAYERS", ("tensorflow", "keras"), "tf"),
    "pillow": Peer("DataLoader + Pillow", "with_torch", "PILLOW", ("torch", "PIL.Image")),
    "tensors": Peer("DataLoader, tensors", "with_torch", "TENSORS", ("torch", "numpy")),
    "torchvision": Peer("DataLoader + torchvision v2", "with_torch", "TORCHVISION", ("torch", "torchvision"), place="peers-torchvision"),
    "albumentations": Peer("DataLoader + Albumentations", "with_torch", "ALBUMENTATIONS", ("torch", "albumentations"), "tf"),
    "webdataset": Peer("WebDataset + Pillow", "with_torch", "WEBDATASET", ("torch", "webdataset")),
    "opencv": Peer("OpenCV threads", "with_opencv", imports=("cv2",), flavour="tf"),
    "grain": Peer("Grain + OpenCV", "with_grain", imports=("grain", "cv2"), flavour="tf"),
    "dali": Peer("DALI on the CPU", "with_dali", imports=("nvidia.dali",), flavour="tf"),
    "ffcv": Peer("FFCV, JPEG mode", "with_ffcv", imports=("ffcv", "ffcv.loader"), place="peers-ffcv", accuracy="fast",
                 note="a file of its own with the same JPEG bytes; it resizes by area, and decodes with the fast IDCT"),
}


@dataclasses.dataclass(frozen=True)
class Workload:
    title: str
    kind: str
    data: str  # a data set of peer_data.py
    peers: tuple[str, ...]  # leat's forms not among them
    forms: tuple[str, ...] = ("leat",)
    unit: str = "images/s"
    batch: int = 64
    side: int = 224
    limit: str = ""  # a ceiling of `leat bench --roofline` on the same data
    what: str = "rate"  # what measure.py does
    step: float = 0.0  # seconds that the consumer keeps a batch
    skip: float = 0.0  # the part of an epoch that was seen before
    threads: tuple[int, ...] = ()  # others than asked for
    why: str = ""  # where a peer is not behind, or what should be known


JPEG = ("tfdata", "tfdata-tutorial", "pillow", "torchvision", "albumentations", "webdataset", "opencv", "grain", "dali", "ffcv")
CODEC, COPY = "bare libjpeg-turbo, whole files", "memcpy of the output"

WORKLOADS = {
    "jpeg": Workload("Folder of JPEGs: random_resized_crop 224, flip, normalise", "crop", "jpeg", JPEG, ("leat", "leat-first"),
                     limit=CODEC),
    "records": Workload("The same JPEGs in TFRecords", "records", "records", ("tfdata", "tfdata-tutorial", "dali"), ("leat", "leat-first"),
                        limit=CODEC),
    "raw": Workload("Raw 256x256 TFRecords: f32 / 255, brightness, flip", "raw", "raw", ("tfdata",), unit="records/s", batch=32,
                    limit=COPY),
    "gzip": Workload("JPEGs in GZIP TFRecords", "gzip", "gzip", ("tfdata",), limit=CODEC),
    "png": Workload("Folder of PNGs: resize 224", "resize", "png", ("tfdata", "opencv", "dali", "pillow", "torchvision"),
                    limit="bare libpng, whole files"),
    "progressive": Workload("Folder of progressive JPEGs: resize 224", "resize", "progressive",
                            ("tfdata", "opencv", "dali", "pillow", "torchvision"), limit=CODEC),
    "webp": Workload("Folder of WebPs: resize 224", "resize", "webp", ("tfdata", "opencv", "dali", "pillow", "torchvision"),
                     limit="bare libwebp, whole files",
                     why="libwebp decodes for the others. Most of the time of either decoder goes into decisions that wait for one another"),
    "large": Workload("Folder of 12-megapixel JPEGs: random_resized_crop 224, flip, normalise", "crop", "large",
                      ("tfdata", "opencv", "dali", "pillow", "torchvision"), ("leat", "leat-first"), batch=16, limit=CODEC),
    "idg32": Workload("ImageDataGenerator, rotation, shifts, shear, zoom, flip, 32x32", "idg", "arrays32", ("keras",), batch=128, side=32),
    "idg224": Workload("The same, 224x224", "idg", "arrays224", ("keras",), batch=32),
    "tutorial": Workload("image_dataset_from_directory, as in the tutorial", "tutorial", "jpeg", ("directory",), batch=32, limit=CODEC),
    "cifar": Workload("50,000 arrays of 32x32: padded crop, flip, normalise", "cifar", "arrays32", ("tfdata", "tensors"), batch=128,
                      side=32, limit=COPY),
    "small": Workload("Many small JPEGs, 64x48: resize 32", "resize", "small", ("tfdata", "opencv", "dali", "pillow"), batch=128, side=32,
                      limit=CODEC),
    "cached": Workload("Second epoch of a cache of 224x224", "cached", "jpeg", ("tfdata",), limit=COPY),
    "consumer": Workload("Folder of JPEGs with a training step of 80 ms", "crop", "jpeg", ("tfdata", "pillow", "opencv", "grain", "dali"),
                         what="consumer", step=0.08),
    "memory": Workload("Folder of JPEGs with eight workers", "crop", "jpeg", ("tfdata", "pillow", "opencv", "grain", "dali"),
                       what="memory", threads=(8,)),
    "resume": Workload("Folder of JPEGs, resumed after half an epoch", "crop", "long", ("tfdata", "tfdata-tutorial", "pillow", "grain"),
                       what="resume", skip=0.5),
    "simclr": Workload("SimCLR: crop, flip, colour jitter, gray", "simclr", "jpeg", ("tfdata",), limit=CODEC),
    "randaugment": Workload("RandAugment: crop, flip, two of its operations, normalise", "randaugment", "jpeg",
                            ("dali", "keras-layers", "torchvision"), limit=CODEC),
}
