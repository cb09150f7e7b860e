# SPDX-License-Identifier: Apache-2.0
"""Grain: a MapDataset of files, decoded by OpenCV, with worker processes, or with threads where there is one core."""
from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from common import Job


def crop(job: Job) -> Iterator[Any]:
    import cv2
    import grain
    import numpy
    from with_opencv import crop_one, read
    cv2.setNumThreads(0)
    paths, labels = job.files()

    def make(i: int) -> Any:
        drawn = job.drawn[i] if job.drawn is not None else None
        return crop_one(read(paths[i]), job.side, drawn, random), numpy.int64(labels[i])  # type: ignore[arg-type]
    ds = grain.MapDataset.range(len(paths))
    if job.fixed:
        return iter(ds.map(make).batch(job.batch).to_iter_dataset())
    made = ds.shuffle(seed=0).repeat().map(make)
    made = made[job.skip:] if job.skip else made
    made = made.to_iter_dataset(grain.ReadOptions(num_threads=1, prefetch_buffer_size=job.batch * 2)).batch(job.batch, drop_remainder=True)
    return iter(made.mp_prefetch(grain.MultiprocessingOptions(num_workers=job.threads)))


KINDS = {"crop": crop}
