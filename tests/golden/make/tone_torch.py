# SPDX-License-Identifier: Apache-2.0
"""Tone operations of torchvision: tests/golden/tone_torch.npz. On images of Pillow they are those of Pillow; on tensors
only autocontrast differs. Equal bit for bit.

A torchvision whose compiled part does not fit the installed torch will do: the operators that it would register are
declared first, and none of them is used here.
"""
import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from golden import Golden, picture
from PIL import Image

declared = (Path(find_spec("torchvision").submodule_search_locations[0]) / "_meta_registrations.py").read_text()
library = torch.library.Library("torchvision", "FRAGMENT")
for name in set(re.findall(r'torchvision::(\w+)|register_meta\("(\w+)"', declared)):
    try:
        library.define("".join(name) + "(Tensor x) -> Tensor")
    except RuntimeError:
        pass  # the compiled part is there

import torchvision
from torchvision.transforms.v2 import functional as F

g = Golden("tone_torch")
VERSION = f"torchvision {torchvision.__version__}"
dull = (picture(15, 11, seed=4) // 3 + np.array([40, 90, 7])).astype(np.uint8)
flat = dull.copy()
flat[..., 1] = 77


def tensor(array):
    return torch.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1)))


def pixels(tensor):
    return np.ascontiguousarray(tensor.numpy().transpose(1, 2, 0))


def main():
    for name, given in (("dull", dull), ("flat", flat), ("gray", picture(15, 11, 1, seed=5) // 2 + 3)):
        for text in ("autocontrast flavour=torch", "random_autocontrast p=1 flavour=torch"):
            g.add(f"{text.split()[0]}_{name}", text, given, pixels(F.autocontrast(tensor(given))), library=VERSION)
    image = Image.fromarray(dull)
    pil = {
        "adjust_contrast 1.4 flavour=pil": F.adjust_contrast(image, 1.4),
        "random_invert 1": F.invert(image),
        "random_posterize 2 1": F.posterize(image, 2),
        "random_solarize 77 1": F.solarize(image, 77),
        "random_equalize 1": F.equalize(image),
    }
    for text, made in pil.items():
        g.add(text.split()[0], text, dull, np.array(made), library=VERSION)
    g.add("invert_tensor", "invert", dull, pixels(F.invert(tensor(dull))), library=VERSION)
    g.add("posterize_tensor", "posterize 5", dull, pixels(F.posterize(tensor(dull), 5)), library=VERSION)
    unit = picture(15, 11, seed=6, dtype=np.float32)
    g.add("invert_f32", "invert max=1", unit, pixels(F.invert(tensor(unit))), library=VERSION)
    g.write()


if __name__ == "__main__":
    main()
