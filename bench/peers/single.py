# SPDX-License-Identifier: Apache-2.0
"""Single transforms of u8 pictures of 256x256 on one thread, in the manner of Albumentations' own benchmark: 64 pictures that lie in
memory, one after the other. leat fills batches of 32 with the results; the others leave each picture where their library puts it."""
from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from common import MEAN, STD, Job

# leat's operations; what is drawn is marked, and its pixels are not compared.
LEAT = {
    "horizontal flip": "random_flip_left_right p=1",
    "resize 224": "resize 224 224 flavour=pil",
    "centre crop 224": "center_crop 224",
    "random_resized_crop 224 *": "random_resized_crop 224",
    "rotation 15 *": "random_affine 15 interpolation=bilinear",
    "gray": "rgb_to_grayscale channels=3 flavour=pil",
    "colour jitter *": "color_jitter 0.4 0.4 0.4 0.1",
    "gaussian blur 5": "gaussian_blur 5 sigma=1,1",
    "solarize": "solarize 128",
    "posterize": "posterize 4",
    "equalize": "equalize",
    "normalise": "normalize imagenet",
}


def albumentations() -> dict[str, Callable[[Any], Any]]:
    import albumentations as A
    import cv2
    cv2.setNumThreads(0)
    made = {
        "horizontal flip": A.HorizontalFlip(p=1),
        "resize 224": A.Resize(224, 224, interpolation=cv2.INTER_AREA),
        "centre crop 224": A.CenterCrop(224, 224),
        "random_resized_crop 224 *": A.RandomResizedCrop((224, 224)),
        "rotation 15 *": A.Rotate(15, border_mode=cv2.BORDER_CONSTANT, p=1),
        "gray": A.ToGray(p=1),
        "colour jitter *": A.ColorJitter((0.6, 1.4), (0.6, 1.4), (0.6, 1.4), (-0.1, 0.1), p=1),
        "gaussian blur 5": A.GaussianBlur((5, 5), (1, 1), p=1),
        "solarize": A.Solarize((128 / 255, 128 / 255), p=1),
        "posterize": A.Posterize(4, p=1),
        "equalize": A.Equalize(p=1),
        "normalise": A.Normalize(MEAN, STD),
    }
    return {name: lambda image, transform=transform: transform(image=image)["image"] for name, transform in made.items()}


def pillow() -> dict[str, Callable[[Any], Any]]:
    """Pictures are Pillow's from the start, and stay so."""
    import random

    from common import draw_crop
    from PIL import Image, ImageFilter, ImageOps

    def crop(image: Any) -> Any:
        y, x, h, w = draw_crop(image.height, image.width, random)  # type: ignore[arg-type]
        return image.resize((224, 224), Image.Resampling.BILINEAR, (x, y, x + w, y + h))
    return {
        "horizontal flip": ImageOps.mirror,
        "resize 224": lambda image: image.resize((224, 224), Image.Resampling.BILINEAR),
        "centre crop 224": lambda image: image.crop((16, 16, 240, 240)),
        "random_resized_crop 224 *": crop,
        "rotation 15 *": lambda image: image.rotate(random.uniform(-15, 15), Image.Resampling.BILINEAR),
        "gray": lambda image: image.convert("L").convert("RGB"),
        "gaussian blur 5": lambda image: image.filter(ImageFilter.GaussianBlur(1)),
        "solarize": lambda image: ImageOps.solarize(image, 128),
        "posterize": lambda image: ImageOps.posterize(image, 4),
        "equalize": ImageOps.equalize,
    }


def one(job: Job, name: str, images: Any) -> tuple[Callable[[], int], Callable[[], Any]]:
    """A function that works through some pictures and says how many, and one that gives the first results."""
    import numpy
    if job.peer == "leat":
        import leat
        ds = leat.from_text(f"npy image='{job.options['pictures']}' | repeat | {LEAT[name]} | batch 32 | options seed=0")
        batches = iter(ds.configure(threads=1, cache_dir=job.cache, top=False))

        def step() -> int:
            made = next(batches)
            return len(made["image"] if isinstance(made, dict) else made)

        def first() -> Any:
            made = next(iter(ds.configure(threads=1, cache_dir=job.cache, top=False)))
            return numpy.array(made["image"] if isinstance(made, dict) else made)[:16]
        return step, first
    transform = {"albumentations": albumentations, "pillow": pillow}[job.peer]()[name]
    if job.peer == "pillow":
        from PIL import Image
        images = [Image.fromarray(image) for image in images]

    def each() -> int:
        for image in images:
            transform(image)
        return len(images)
    return each, lambda: numpy.stack([numpy.asarray(transform(image)) for image in images[:16]])


def rates(job: Job) -> dict[str, Any]:
    """Pictures a second of each transform that the library has, and where the first results are."""
    import numpy
    images = numpy.load(job.options["pictures"])
    names = list(LEAT) if job.peer == "leat" else list({"albumentations": albumentations, "pillow": pillow}[job.peer]())
    found: dict[str, float] = {}
    results: dict[str, Any] = {}
    for name in names:
        step, first = one(job, name, images)
        results[name] = first().astype("f4")
        warm = time.perf_counter() + job.seconds / 20
        while time.perf_counter() < warm:
            step()
        begun, done = time.perf_counter(), 0
        while (now := time.perf_counter()) - begun < job.seconds / 5:
            done += step()
        found[name] = done / (now - begun)
    numpy.savez(job.options["out"], **results)
    return {"rates": found}
