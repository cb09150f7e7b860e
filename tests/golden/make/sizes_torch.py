# SPDX-License-Identifier: Apache-2.0
"""Sizes as torchvision has them, on images of Pillow: tests/golden/sizes_torch.npz. Equal bit for bit.

    python tests/golden/make/sizes_torch.py        with torch, torchvision and a Pillow below 13

RandomCrop has but one place to choose where the crop is as large as the picture with its border.
"""
import torchvision_alone  # noqa: F401  before torchvision
import numpy as np
import PIL
import torchvision
from PIL import Image
from torchvision.transforms import InterpolationMode, v2

from golden import Golden, picture

VERSION = f"torchvision {torchvision.__version__}, Pillow {PIL.__version__}"


def run(transform, x):
    return np.asarray(transform(Image.fromarray(x)))


g = Golden("sizes_torch")
tall, wide = picture(19, 12, seed=1), picture(11, 23, seed=2)
for size, more in [(8, {}), (15, {}), (12, {}), (7, {"max_size": 10})]:
    words = "".join(f" {key}={value}" for key, value in more.items())
    for name, x in (("tall", tall), ("wide", wide)):
        g.add(f"shorter_{name}_{size}", f"resize_shorter {size}{words}", x, run(v2.Resize(size, **more), x), library=VERSION)
for method, word in [("bicubic", "BICUBIC"), ("lanczos", "LANCZOS"), ("nearest", "NEAREST")]:
    g.add(f"shorter_{method}", f"resize_shorter 9 method={method}", wide,
          run(v2.Resize(9, interpolation=InterpolationMode[word]), wide), library=VERSION)
both = v2.Compose([v2.Resize(10), v2.CenterCrop(8)])
g.add("shorter_crop", "resize_shorter 10 | center_crop 8 flavour=torch", wide, run(both, wide), library=VERSION)
# 1, 3, 5 and 7 pixels are left over along a side: halves go to the even number.
for height, width in [(18, 11), (16, 9), (14, 7), (12, 5), (13, 8)]:
    text = f"center_crop {height} {width} flavour=torch"
    g.add(f"center_{height}_{width}", text, tall, run(v2.CenterCrop((height, width)), tall), library=VERSION)
for mode in ("constant", "edge", "reflect", "symmetric"):
    fill = " fill=10,20,30" if mode == "constant" else ""
    pad = v2.Pad((3, 2, 4, 1), fill=(10, 20, 30), padding_mode=mode)
    g.add(f"pad_{mode}", f"pad 2 1 3 4 mode={mode}{fill}", tall, run(pad, tall), library=VERSION)
    crop = v2.RandomCrop((19 + 8, 12 + 8), padding=4, fill=(10, 20, 30), padding_mode=mode)
    g.add(f"crop_{mode}", f"random_crop 27 20 padding=4 mode={mode}{fill}", tall, run(crop, tall), library=VERSION)
g.write()
