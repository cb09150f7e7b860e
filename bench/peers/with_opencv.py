# SPDX-License-Identifier: Apache-2.0
"""OpenCV on threads: imread, crop, resize, flip, normalise, on a pool of so many threads that fills batches in order. OpenCV's own
threads are off, so that each picture has one."""
from __future__ import annotations

import collections
import itertools
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from common import MEAN, STD, Job, draw_crop, endless


def decode(data: Any) -> Any:
    import cv2
    return cv2.imdecode(data, cv2.IMREAD_COLOR_RGB) if hasattr(cv2, "IMREAD_COLOR_RGB") else cv2.cvtColor(
        cv2.imdecode(data, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)


def read(path: str) -> Any:
    import numpy
    return decode(numpy.fromfile(path, numpy.uint8))


def crop_one(image: Any, side: int, drawn: list[int] | None, source: random.Random, out: Any = None) -> Any:
    """u8 to normalised f32: crop, bilinear resize as u8, flip; x * a + b in one call."""
    import cv2
    import numpy
    y, x, h, w = drawn[:4] if drawn else draw_crop(*image.shape[:2], source)
    made = cv2.resize(image[y:y + h, x:x + w], (side, side), interpolation=cv2.INTER_LINEAR)
    if drawn[4] if drawn else source.random() < 0.5:
        made = cv2.flip(made, 1)
    scale, offset = 1 / (255 * numpy.array(STD, "f4")), -numpy.array(MEAN, "f4") / numpy.array(STD, "f4")
    made = numpy.multiply(made, scale, out=out, dtype="f4")
    made += offset
    return made


def pooled(job: Job, make: Any, ahead: int = 3) -> Iterator[Any]:
    """Batches made by a pool of threads, `ahead` of them under way; each thread fills places of a batch."""
    import cv2
    import numpy
    cv2.setNumThreads(0)
    paths, labels = job.files()
    order = iter(range(len(paths))) if job.fixed else endless(len(paths))
    source = random.Random(0)

    def one(images: Any, place: int, i: int) -> None:
        images[place] = make(paths[i], job.drawn[i] if job.drawn is not None else None, source)

    with ThreadPoolExecutor(job.threads) as threads:
        queue: collections.deque[Any] = collections.deque()
        while True:
            while len(queue) < ahead and (chosen := list(itertools.islice(order, job.batch))):
                images = numpy.empty((len(chosen), job.side, job.side, 3), "f4")
                futures = [threads.submit(one, images, place, i) for place, i in enumerate(chosen)]
                queue.append((images, numpy.array([labels[i] for i in chosen]), futures))
            if not queue:
                return
            images, numbers, futures = queue.popleft()
            for future in futures:
                future.result()
            yield images, numbers


def crop(job: Job) -> Iterator[Any]:
    return pooled(job, lambda path, drawn, source: crop_one(read(path), job.side, drawn, source))


def resize(job: Job) -> Iterator[Any]:
    import cv2
    return pooled(job, lambda path, drawn, source: cv2.resize(read(path), (job.side, job.side), interpolation=cv2.INTER_LINEAR))


KINDS = {"crop": crop, "resize": resize}
