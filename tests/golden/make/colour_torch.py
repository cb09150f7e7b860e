#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Colour of torchvision on images of Pillow, and noise on tensors: tests/golden/colour_torch.npz. All bit for bit.

ColorJitter draws the order of its parts, and so does leat. So that the pictures can be compared, this asks leat which
order it drew for the first sample (LEAT=... names the command) and lets torchvision do the same parts in that order.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import torch
from golden import Golden, picture
from PIL import Image
from torchvision_alone import torchvision
from torchvision.transforms.v2 import functional as F

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "tests/cli"))
LEAT = os.environ.get("LEAT", str(ROOT / "build/release/cli/leat"))
import tfrecord

g = Golden("colour_torch")
VERSION = f"torchvision {torchvision.__version__}"
colour = picture(13, 11, seed=7)
colour[1] = colour[1, :, :1]
colour[2, :, 1] = colour[2, :, 0]
colour[3, :, 2] = colour[3, :, 0]
colour[4, :, 1] = colour[4, :, 2]
image = Image.fromarray(colour)
PARTS = {"b": F.adjust_brightness, "c": F.adjust_contrast, "s": F.adjust_saturation, "h": F.adjust_hue}


def tensor(array):
    return torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))


def pixels(made):
    return np.ascontiguousarray(made.numpy().transpose(1, 2, 0))


def drawn_order(text):
    """The draws depend on the number of the operation, so it stands where tests/cli/test_golden.py has it."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "raw.tfrecord"
        path.write_bytes(tfrecord.record(tfrecord.example({"image": colour.tobytes()})))
        shape = " ".join(map(str, colour.shape))
        spec = f"tfrecord {path} | parse image:bytes | decode_raw image u8 | reshape image {shape} | {text} | batch 1"
        done = subprocess.run([LEAT, "run", spec, "--params", "--threads", "1"], capture_output=True, text=True)
    return re.search(r"order=(\w+)", done.stdout)[1]


def jitter_cases():
    amounts = {"b": 1.3, "c": 0.6, "s": 1.8, "h": -0.21}
    names = {"b": "brightness", "c": "contrast", "s": "saturation", "h": "hue"}
    for part, amount in amounts.items():
        text = f"color_jitter {names[part]}={amount},{amount}"
        g.add(f"jitter_{names[part]}", text, colour, np.array(PARTS[part](image, amount)), library=VERSION)
    for parts in ("bc", "cs", "sh", "csh", "bcsh"):
        text = "color_jitter " + " ".join(f"{names[p]}={amounts[p]},{amounts[p]}" for p in parts)
        order, made = drawn_order(text), image
        assert sorted(order) == sorted(parts)
        for part in order:
            made = PARTS[part](made, amounts[part])
        g.add(f"jitter_{parts}", text, colour, np.array(made), library=VERSION)
    gray = picture(8, 15, 1, seed=8)
    made = np.array(F.adjust_hue(F.adjust_saturation(Image.fromarray(gray[..., 0]), 0.3), 0.2))[..., None]
    g.add("jitter_gray", "color_jitter saturation=0.3,0.3 hue=0.2,0.2", gray, made, library=VERSION)


def main():
    for delta in (-0.5, -0.17, 0, 0.003, 0.26, 0.5):
        made = np.array(F.adjust_hue(image, delta))
        g.add(f"hue_{delta}", f"adjust_hue {delta} flavour=pil", colour, made, library=VERSION)
    made = np.array(F.adjust_hue(image, 0.4))
    g.add("random_hue", "random_hue 0.4,0.4 flavour=pil", colour, made, library=VERSION)
    made = np.array(F.adjust_saturation(image, 1.5))
    g.add("random_saturation", "random_saturation 1.5 1.5 flavour=pil", colour, made, library=VERSION)
    jitter_cases()
    unit = colour.astype(np.float32) / np.float32(255)
    for name, given in (("u8", colour), ("unit", unit)):
        for mean in (-0.3, 0.21):
            made = pixels(F.gaussian_noise(tensor(given), mean=mean, sigma=0.0))
            g.add(f"noise_{name}_{mean}", f"gaussian_noise 0 mean={mean} clip=true", given, made, library=VERSION)
    made = pixels(F.gaussian_noise(tensor(unit), mean=0.7, sigma=0.0, clip=False))
    g.add("noise_unclipped", "gaussian_noise 0 mean=0.7", unit, made, library=VERSION)
    g.write()


main()
