# SPDX-License-Identifier: Apache-2.0
"""NVIDIA DALI on the CPU: its file and TFRecord readers, the decoder that decodes the drawn part alone, and its resize without
antialiasing, which is its faster one."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from common import MEAN, STD, Job


def finish(job: Job, image: Any, flip: Any) -> Any:
    from nvidia.dali import fn, types
    return fn.crop_mirror_normalize(image, dtype=types.FLOAT, output_layout="HWC", mirror=flip, mean=[255 * m for m in MEAN],
                                    std=[255 * s for s in STD])


def cropped(job: Job, data: Any) -> Any:
    """An encoded picture to its final tensor; the drawn numbers come from outside when outputs are compared."""
    from nvidia.dali import fn, types
    if job.drawn is None:
        image = fn.decoders.image_random_crop(data, device="cpu", output_type=types.RGB, random_area=[0.08, 1.0],
                                              random_aspect_ratio=[3 / 4, 4 / 3], num_attempts=10)
        flip = fn.random.coin_flip(probability=0.5)
    else:
        import numpy
        numbers = iter(job.drawn)
        drawn = fn.external_source(lambda: [numpy.array(next(numbers), "i4") for _ in range(job.batch)], batch=True)
        image = fn.decoders.image_slice(data, drawn[0:2], drawn[2:4], device="cpu", output_type=types.RGB, axes=[0, 1],
                                        normalized_anchor=False, normalized_shape=False)
        flip = drawn[4]
    image = fn.resize(image, size=[job.side, job.side], interp_type=types.INTERP_LINEAR, antialias=False)
    if job.kind == "randaugment" and job.drawn is None:
        from nvidia.dali.auto_aug.rand_augment import rand_augment
        image = rand_augment(image, n=2, m=9, shape=[job.side, job.side])
    return finish(job, image, flip)


def run(job: Job, define: Any) -> Iterator[Any]:
    from nvidia.dali import pipeline_def

    made = pipeline_def(define, enable_conditionals=job.kind == "randaugment")
    pipe = made(batch_size=job.batch, num_threads=job.threads, device_id=None, prefetch_queue_depth=2, seed=1)
    pipe.build()
    left = len(job.drawn) if job.drawn is not None else 1 << 60
    while left > 0:
        images, labels = pipe.run()
        yield images.as_tensor(), labels.as_tensor()
        left -= job.batch


def read_files(job: Job) -> Any:
    from nvidia.dali import fn
    paths, labels = job.files()
    return fn.readers.file(files=paths, labels=labels, random_shuffle=not job.fixed, initial_fill=len(paths), name="files")


def crop(job: Job) -> Iterator[Any]:
    def define() -> Any:
        data, label = read_files(job)
        return cropped(job, data), label
    return run(job, define)


def records(job: Job) -> Iterator[Any]:
    """DALI asks for an index beside each shard; it is written by its own tool's format: offset and length of each record."""
    import struct
    from pathlib import Path
    indexes = []
    for shard in job.shards():
        data, at, lines = Path(shard).read_bytes(), 0, []
        while at < len(data):
            length = struct.unpack_from("<Q", data, at)[0] + 16
            lines.append(f"{at} {length}\n")
            at += length
        place = Path(job.cache) / (Path(shard).name + ".idx")
        place.write_text("".join(lines))
        indexes.append(str(place))

    def define() -> Any:
        from nvidia.dali import fn
        from nvidia.dali import tfrecord as tfr
        found = fn.readers.tfrecord(path=job.shards(), index_path=indexes, random_shuffle=not job.fixed, initial_fill=2000,
                                    features={"image": tfr.FixedLenFeature((), tfr.string, ""),
                                              "label": tfr.FixedLenFeature([1], tfr.int64, -1)})
        return cropped(job, found["image"]), found["label"]
    return run(job, define)


def resize(job: Job) -> Iterator[Any]:
    def define() -> Any:
        from nvidia.dali import fn, types
        data, label = read_files(job)
        image = fn.decoders.image(data, device="cpu", output_type=types.RGB)
        return fn.resize(image, size=[job.side, job.side], interp_type=types.INTERP_LINEAR, antialias=False, dtype=types.FLOAT), label
    return run(job, define)


KINDS = {"crop": crop, "randaugment": crop, "records": records, "resize": resize}
