# SPDX-License-Identifier: Apache-2.0
"""Blur, sharpness and holes of torchvision and Pillow: filter.npz.

Run with a Python that has torch, torchvision and Pillow, and with LEAT set to the leat of the tree.

Sharpness and holes are equal bit for bit. torchvision blurs with one convolution over the whole window, whose sums
come in the order that its backend likes; leat sums along one axis after the other. Over 400 random pictures (1.7
million bytes, windows of 1 to 23 pixels, sigma 0.1 to 5) 26 bytes were off by one; between torchvision's own two
versions of the same function it is 18. On floats from 0 to 1 the largest difference was 1.4e-6.
"""
import numpy as np
import torch
from PIL import Image, ImageEnhance

import torchvision_alone  # noqa: F401
from drawn import drawn
from golden import Golden, picture
from torchvision import __version__ as version
from torchvision.transforms import functional, transforms

TORCHVISION, PILLOW = f"torchvision {version}", f"Pillow {Image.__version__}"


def tensor_of(array):
    return torch.from_numpy(array).permute(2, 0, 1).contiguous()


def array_of(tensor):
    return tensor.permute(1, 2, 0).contiguous().numpy()


def blurred(array, kernel, sigma):
    return array_of(functional.gaussian_blur(tensor_of(array), [kernel, kernel], [sigma, sigma]))


def sharpened(array, factor):
    mode = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}[array.shape[2]]
    image = Image.frombytes(mode, array.shape[1::-1], array.tobytes())
    return np.asarray(ImageEnhance.Sharpness(image).enhance(factor)).reshape(array.shape)


def erased(text, array, **how):
    """torchvision works out the sides, which the text makes certain; where they lie is what leat has drawn."""
    params = dict(drawn(text, array))
    where = [params["y"], params["x"]]

    class Forced:
        def __getattr__(self, name):
            return getattr(torch, name)

        def randint(self, *args, **kwargs):
            return torch.tensor([int(where.pop(0))])

    transforms.torch = Forced()
    out = array_of(transforms.RandomErasing(p=1, **how)(tensor_of(array)))
    transforms.torch = torch
    return out


def cut_out(text, array, size, value):
    """As its authors wrote it, but for the middle, which is what leat has drawn; a hole that is cut off at the edges
    tells it only together with its size."""
    params, out = dict(drawn(text, array)), array.copy()
    y, x = int(params["y"]), int(params["x"])
    assert params["height"] <= size and params["width"] <= size
    assert params["height"] == size or y == 0 or y + params["height"] == array.shape[0]
    assert params["width"] == size or x == 0 or x + params["width"] == array.shape[1]
    out[y:y + int(params["height"]), x:x + int(params["width"])] = value
    return out


def main():
    g = Golden("filter")
    rgb, gray, wide = picture(), picture(17, 23, 1, 1), picture(19, 30, 4, 2)
    floats = picture(14, 11, dtype=np.float32, seed=5)
    for array, name, kernel, sigma in [(rgb, "rgb", 3, 1.0), (rgb, "rgb", 23, 4.5), (gray, "gray", 7, 0.3),
                                       (wide, "rgba", 5, 2.0), (rgb, "rgb", 1, 1.0)]:
        g.add(f"blur_{name}_{kernel}", f"gaussian_blur {kernel} {sigma}", array, blurred(array, kernel, sigma),
              max=1, mean=0.001, library=TORCHVISION)
    for kernel, sigma in [(3, 0.8), (11, 2.5)]:
        g.add(f"blur_f32_{kernel}", f"gaussian_blur {kernel} sigma={sigma},{sigma} p=1", floats,
              blurred(floats, kernel, sigma), max=2e-6, mean=2e-7, library=TORCHVISION)
    g.add("blur_never", "gaussian_blur 5 p=0", rgb, rgb, library=TORCHVISION)

    alpha = picture(12, 9, 2, 6)
    for array, name in [(rgb, "rgb"), (gray, "gray"), (wide, "rgba"), (alpha, "la"), (rgb[:2, :3], "small")]:
        array = np.ascontiguousarray(array)
        for factor in (0, 0.3, 1.9) if name == "rgb" else (2.5,):
            g.add(f"sharpness_{name}_{factor}", f"adjust_sharpness {factor}", array, sharpened(array, factor),
                  library=PILLOW)
    g.add("sharpness_drawn", "random_sharpness -0.5 -0.5 p=1", rgb, sharpened(rgb, -0.5), library=PILLOW)
    g.add("sharpness_never", "random_sharpness 0 3 p=0", rgb, rgb, library=PILLOW)

    square = "random_erasing p=1 scale=0.2,0.2 ratio=0.5,0.5"
    for array, name, value in [(rgb, "u8", "255,7,99"), (floats, "f32", "0.25"), (gray, "gray", "200")]:
        text = f"{square} value={value} | options seed=3"
        numbers = [float(v) for v in value.split(",")]
        how = {"scale": (0.2, 0.2), "ratio": (0.5, 0.5), "value": numbers if len(numbers) > 1 else numbers[0]}
        g.add(f"erasing_{name}", text, array, erased(text, array, **how), library=TORCHVISION)
    g.add("erasing_too_large", "random_erasing p=1 scale=1,1", rgb, rgb, library=TORCHVISION)
    for seed, size in [(1, 8), (2, 9), (5, 16)]:
        text = f"cutout {size} value=128,1,2 | options seed={seed}"
        g.add(f"cutout_{size}", text, rgb, cut_out(text, rgb, size, (128, 1, 2)), library="NumPy")
    g.write()


if __name__ == "__main__":
    main()
