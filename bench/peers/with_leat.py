# SPDX-License-Identifier: Apache-2.0
"""leat: one text a workload, run by the Python package, so that its loop costs what the loops of the others cost."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from common import Job

RAW = "parse image:bytes label:int64 | decode_raw image u8 | reshape image {0} {0} 3 | cast image f32 scale=1/255"
NORMAL = "normalize imagenet"
CLIP = 'eval image="min(max(image, 0), 1)"'


def flavour(job: Job) -> str:
    """Whose resize: that of the library it is compared with; Pillow's, which is antialiased, for rates."""
    return job.options.get("flavour", "pil")


def boxes(job: Job) -> str:
    return f"random_resized_crop {job.side} flavour={flavour(job)} | random_flip_left_right"


def source(job: Job) -> str:
    if job.kind in ("records", "gzip"):
        return f"tfrecord '{job.data}/*-of-*' | parse image:bytes label:int64"
    return f"folder '{job.data}'"


def text(job: Job) -> str:
    """The pipeline. Without its shuffle when outputs are compared: the draws stay, and are told to the others."""
    shuffle = "" if job.fixed else " | shuffle window=2000" if job.kind in ("gzip", "rawgzip") else " | shuffle"
    jitter = ("random_apply 0.8 'random_brightness 0.8 | random_contrast 0.2 1.8 | random_saturation 0.2 1.8 | random_hue 0.2' | "
              f"{CLIP} | random_grayscale 0.2")
    if job.fixed:
        jitter = f"adjust_brightness 0.2 | adjust_contrast 1.5 | adjust_saturation 1.3 | adjust_hue 0.1 | {CLIP}"
    ops = {
        "crop": f"decode | {boxes(job)} | {NORMAL}",
        "resize": f"decode | resize {job.side} {job.side} flavour={flavour(job)} | cast f32",
        "randaugment": f"decode | {boxes(job)}{'' if job.fixed else ' | rand_augment'} | {NORMAL}",
        "simclr": f"decode | {boxes(job)} | cast f32 scale=1/255 | {jitter}",
    }
    ops |= {"records": ops["crop"], "gzip": ops["crop"]}
    if job.options.get("square"):
        ops["crop"] = f"decode | resize {job.side} {job.side} crop_to_aspect_ratio=true flavour={flavour(job)} | {NORMAL}"
    tail = f" | batch {job.batch} | options seed=0"
    if job.kind in ("raw", "rawgzip"):
        augment = "" if job.fixed else " | random_brightness 0.2 | random_flip_left_right"
        made = f"tfrecord '{job.data}/*-of-*'{shuffle} | {RAW.format(256)}{augment}"
    elif job.kind == "cached":
        flip = "" if job.fixed else " | random_flip_left_right"
        made = f"folder '{job.data}' | decode | resize {job.side} {job.side} | cache{shuffle}{flip}"
    elif job.kind == "cifar":  # for the bare loop of the limit: the Python package takes the arrays themselves
        made = f"npy image='{job.data}:x' label='{job.data}:y'{shuffle} | random_crop 32 32 padding=4 | random_flip_left_right | {NORMAL}"
    elif job.kind == "tutorial":
        made = f"folder '{job.data}'{shuffle} | decode | resize {job.side} {job.side}"
    else:
        made = f"{source(job)}{shuffle} | {ops[job.kind]}"
    if job.options.get("first visits"):
        tail += " positions=off"
    if job.options.get("accuracy"):
        tail += f" accuracy={job.options['accuracy']}"
    return made + tail


def dataset(job: Job) -> Any:
    import leat
    import numpy
    if job.kind in ("cifar", "idg"):
        with numpy.load(job.data) as arrays:
            made = leat.from_arrays((arrays["x"], arrays["y"]))
        made = made if job.fixed else made.shuffle()
        if job.kind == "cifar":
            if not job.fixed:
                made = made.random_crop(32, 32, padding=4).random_flip_left_right()
            made = made.normalize("imagenet")
        elif not job.fixed:
            made = made.image_data_generator(rotation=20, width_shift=0.2, height_shift=0.2, shear=0.2, zoom=0.2, horizontal_flip=True)
        else:
            made = made.image_data_generator(rescale=1.0)
        made = made.batch(job.batch)
    else:
        made = leat.from_text(text(job))
    made = made.configure(threads=job.threads, cache_dir=job.cache, top=False)
    if job.skip:
        made.restore(made.state(0, job.skip // job.batch))
    return made


def loop(job: Job) -> Iterator[Any]:
    made = dataset(job)
    while True:
        yield from made
        if job.fixed:
            return


KINDS = {name: loop for name in ("crop", "resize", "records", "gzip", "raw", "rawgzip", "cifar", "idg", "cached", "tutorial", "simclr",
                                 "randaugment")}
