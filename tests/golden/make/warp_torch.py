# SPDX-License-Identifier: Apache-2.0
"""torchvision's RandomAffine on images of Pillow: tests/golden/warp_torch.npz. Equal bit for bit."""
import numpy as np
import torchvision_alone  # noqa: F401
from drawn import drawn
from golden import Golden, picture
from PIL import Image, __version__
from torchvision.transforms import InterpolationMode
from torchvision.transforms import functional as F

g = Golden("warp_torch")
LIBRARY = f"torchvision with Pillow {__version__}"
colour, gray = picture(17, 13, seed=5), picture(12, 15, 1, seed=6)
CASES = [
    ("turned", "random_affine 30,30", colour),
    ("moved", "random_affine 0,0 translate=0.3,0.4", colour),
    ("all", "random_affine -15,-15 translate=0.2,0.1 scale=0.75,0.75 shear=10,10,5,5 value=10,200,30", colour),
    ("gray", "random_affine 100,100 scale=1.25,1.25 shear=-20,-20 value=77", gray),
]

for name, text, given in CASES:
    for mode in ("nearest", "bilinear"):
        words = f"{text} interpolation={mode}"
        got = dict(drawn(words, given))
        image = Image.fromarray(given if given.shape[2] == 3 else given[..., 0])
        fill = [10, 200, 30] if "200" in text else 77 if "77" in text else 0
        made = F.affine(image, got["angle"], (int(got["x"]), int(got["y"])), got["scale"], (got["shear_x"], got["shear_y"]),
                        interpolation=InterpolationMode(mode), fill=fill)
        g.add(f"{name}_{mode}", words, given, np.asarray(made).reshape(given.shape), library=LIBRARY)
g.write()
