# SPDX-License-Identifier: Apache-2.0
"""FFCV on a file of its own, which holds the same JPEG files byte for byte (mode "jpg"), in memory, with its decoder for
RandomResizedCrop. Its resize is OpenCV's INTER_AREA, and libjpeg-turbo's fast IDCT."""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common import MEAN, STD, Job


class Same:
    """Pictures that remember their file."""

    def __init__(self, job: Job) -> None:
        self.paths, self.labels = job.files()

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, i: int) -> Any:
        import numpy
        from PIL import Image

        class Pixels(numpy.ndarray):  # type: ignore[type-arg]
            file = self.paths[i]
        with Image.open(self.paths[i]) as opened:
            return numpy.array(opened.convert("RGB")).view(Pixels), self.labels[i]


def beton(job: Job) -> str:
    """FFCV's file, made once. Its writer would encode the pixels anew: what encodes them for it gives the file's own bytes."""
    import numpy
    from ffcv.fields import IntField, RGBImageField, rgb_image
    from ffcv.writer import DatasetWriter
    place = Path(job.options["beton"])
    if not place.exists():
        part = place.with_suffix(".part")
        rgb_image.encode_jpeg = lambda image, quality: numpy.fromfile(image.file, numpy.uint8)
        fields = {"image": RGBImageField(write_mode="jpg"), "label": IntField()}
        DatasetWriter(str(part), fields, num_workers=1).from_indexed_dataset(Same(Job("", "", job.data, 1, 1)))
        part.rename(place)
    return str(place)


def crop(job: Job) -> Iterator[Any]:
    import numpy
    from ffcv.fields.decoders import CenterCropRGBImageDecoder, IntDecoder, RandomResizedCropRGBImageDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import NormalizeImage, RandomHorizontalFlip
    normal = NormalizeImage(255 * numpy.array(MEAN), 255 * numpy.array(STD), numpy.float32)
    if job.fixed:
        image = [CenterCropRGBImageDecoder((job.side, job.side), ratio=1), normal]
    else:
        image = [RandomResizedCropRGBImageDecoder((job.side, job.side)), RandomHorizontalFlip(), normal]
    ds = Loader(beton(job), batch_size=job.batch, num_workers=job.threads, os_cache=True,
                order=OrderOption.SEQUENTIAL if job.fixed else OrderOption.RANDOM, drop_last=False,
                pipelines={"image": image, "label": [IntDecoder()]})
    while True:
        yield from ds
        if job.fixed:
            return


KINDS = {"crop": crop}
