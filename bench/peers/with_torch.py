# SPDX-License-Identifier: Apache-2.0
"""torch.utils.data.DataLoader with worker processes, persistent and each with one thread. Pictures by Pillow, as torchvision's transforms
do it; by torchvision v2 and its decoder; by Albumentations on OpenCV."""
from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

from common import MEAN, STD, Job, draw_crop, endless

HAS_TORCH = True
try:
    import torch
    from torch.utils.data import DataLoader, Dataset, Sampler
except ImportError:  # the table of peers reads this file without it
    HAS_TORCH, Dataset, Sampler = False, object, object  # type: ignore[assignment,misc]


class Order(Sampler):  # type: ignore[type-arg,misc]
    """Drawn orders without an end: no worker waits between two epochs."""

    def __init__(self, n: int, skip: int) -> None:
        self.n, self.skip = n, skip

    def __iter__(self) -> Iterator[int]:
        return endless(self.n, self.skip)


class Files(Dataset):  # type: ignore[type-arg,misc]
    def __init__(self, job: Job, make: Any) -> None:
        self.job, self.make = job, make
        self.paths, self.labels = job.files()

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, i: int) -> Any:
        return self.make(self.job, self.paths[i], self.job.drawn[i] if self.job.drawn is not None else None), self.labels[i]


class Arrays(Dataset):  # type: ignore[type-arg,misc]
    """Pictures of 32x32 in memory: padding, crop, flip and normalise, as scripts for CIFAR do it on tensors."""

    def __init__(self, job: Job) -> None:
        import numpy
        self.fixed = job.fixed
        with numpy.load(job.data) as arrays:
            self.x, self.y = torch.from_numpy(arrays["x"]).permute(0, 3, 1, 2), arrays["y"].tolist()
        self.mean, self.std = torch.tensor(MEAN).view(3, 1, 1), torch.tensor(STD).view(3, 1, 1)

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, i: int) -> Any:
        image = self.x[i]
        if not self.fixed:
            y, x = random.randrange(9), random.randrange(9)
            image = torch.nn.functional.pad(image, (4, 4, 4, 4))[:, y:y + 32, x:x + 32]
            image = image.flip(2) if random.random() < 0.5 else image
        return (image.float() / 255 - self.mean) / self.std, self.y[i]


def one_thread(worker: int) -> None:
    torch.set_num_threads(1)
    try:
        import cv2
        cv2.setNumThreads(0)
    except ImportError:
        pass


def loader(job: Job, data: Any) -> Iterator[Any]:
    torch.set_num_threads(job.threads)
    made = DataLoader(data, batch_size=job.batch, sampler=None if job.fixed else Order(len(data), job.skip), num_workers=job.threads,
                      worker_init_fn=one_thread, prefetch_factor=2, persistent_workers=True)
    return iter(made)


def normalized(image: Any) -> Any:
    """A u8 picture (height, width, channels) to planes, as ToTensor and Normalize do it."""
    made = torch.from_numpy(image).permute(2, 0, 1).contiguous().float().div_(255)
    return made.sub_(torch.tensor(MEAN).view(3, 1, 1)).div_(torch.tensor(STD).view(3, 1, 1))


def pillow_crop(job: Job, path: str, drawn: list[int] | None) -> Any:
    import numpy
    from PIL import Image
    with Image.open(path) as opened:
        image = opened.convert("RGB")
    y, x, h, w = drawn[:4] if drawn else draw_crop(image.height, image.width, random)  # type: ignore[arg-type]
    image = image.crop((x, y, x + w, y + h)).resize((job.side, job.side), Image.Resampling.BILINEAR)
    if drawn[4] if drawn else random.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return normalized(numpy.array(image))


def pillow_resize(job: Job, path: str, drawn: list[int] | None) -> Any:
    import numpy
    from PIL import Image
    with Image.open(path) as opened:
        image = opened.convert("RGB").resize((job.side, job.side), Image.Resampling.BILINEAR)
    return torch.from_numpy(numpy.array(image)).permute(2, 0, 1).float()


transforms: dict[str, Any] = {}


def once(name: str, make: Any) -> Any:
    """A transform is built once a process."""
    if name not in transforms:
        transforms[name] = make()
    return transforms[name]


def albumentations_crop(job: Job, path: str, drawn: list[int] | None) -> Any:
    import albumentations as A
    import cv2
    from with_opencv import read
    image = read(path)
    normal = once("normal", lambda: A.Normalize(MEAN, STD))
    if drawn:
        y, x, h, w = drawn[:4]
        image = once("crop", lambda: A.RandomResizedCrop((job.side, job.side))).apply(image, crop_coords=(x, y, x + w, y + h))
        image = normal(image=cv2.flip(image, 1) if drawn[4] else image)["image"]
    else:
        make = once("all", lambda: A.Compose([A.RandomResizedCrop((job.side, job.side)), A.HorizontalFlip(), normal]))
        image = make(image=image)["image"]
    return torch.from_numpy(image.transpose(2, 0, 1).copy())


def torchvision_crop(job: Job, path: str, drawn: list[int] | None) -> Any:
    """Also with RandAugment, on u8 pictures as torchvision's reference scripts have it; pixels are compared without it."""
    from torchvision.io import ImageReadMode, decode_image, read_file
    from torchvision.transforms import v2
    image = decode_image(read_file(path), ImageReadMode.RGB)
    finish = once("finish", lambda: v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]))
    if drawn:
        image = v2.functional.resized_crop(image, *drawn[:4], [job.side, job.side], antialias=True)
        return finish(v2.functional.horizontal_flip(image) if drawn[4] else image)
    augment = [v2.RandAugment()] if job.kind == "randaugment" else []
    make = once("all", lambda: v2.Compose([v2.RandomResizedCrop(job.side, antialias=True), v2.RandomHorizontalFlip(), *augment, finish]))
    return make(image)


def torchvision_resize(job: Job, path: str, drawn: list[int] | None) -> Any:
    from torchvision.io import ImageReadMode, decode_image, read_file
    from torchvision.transforms import v2
    return v2.functional.resize(decode_image(read_file(path), ImageReadMode.RGB), [job.side, job.side], antialias=True).float()


def webdataset(job: Job) -> Iterator[Any]:
    """Tars of the same files, decoded by Pillow; its own loader with worker processes."""
    import io
    from pathlib import Path

    import webdataset as wds
    from PIL import Image
    torch.set_num_threads(job.threads)
    shards = sorted(str(path) for path in Path(job.options["tars"]).glob("*.tar"))

    numbers = itertools.count()

    def make(sample: Any) -> Any:
        drawn = job.drawn[next(numbers)] if job.drawn is not None else None
        return pillow_crop(job, io.BytesIO(sample["jpg"]), drawn), int(sample["cls"])  # type: ignore[arg-type]
    Image.init()
    ds = wds.WebDataset(shards, shardshuffle=False if job.fixed else len(shards), nodesplitter=None, empty_check=False)
    if job.fixed:
        return iter(wds.WebLoader(ds.map(make).slice(len(job.drawn or [])).batched(job.batch), batch_size=None, num_workers=0))
    ds = ds.shuffle(500).map(make).repeat().batched(job.batch)
    return iter(wds.WebLoader(ds, batch_size=None, num_workers=job.threads, worker_init_fn=one_thread, persistent_workers=True))


def of_files(make: Any) -> Any:
    return lambda job: loader(job, Files(job, make))


PILLOW = {"crop": of_files(pillow_crop), "resize": of_files(pillow_resize)}
TENSORS = {"cifar": lambda job: loader(job, Arrays(job))}
TORCHVISION = {"crop": of_files(torchvision_crop), "randaugment": of_files(torchvision_crop), "resize": of_files(torchvision_resize)}
ALBUMENTATIONS = {"crop": of_files(albumentations_crop)}
WEBDATASET = {"crop": webdataset}
