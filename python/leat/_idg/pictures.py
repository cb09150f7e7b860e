# SPDX-License-Identifier: Apache-2.0
"""Files and arrays as pictures, by Pillow, with Keras's meaning: what the engine does not read or write itself."""
from __future__ import annotations

import io
import os
import sys
from typing import Any

from .needs import need, np

METHODS = ("nearest", "bilinear", "bicubic", "hamming", "box", "lanczos")


def setting(name: str, otherwise: str) -> str:
    """image_data_format or floatx of Keras, if it is imported."""
    config = getattr(sys.modules.get("keras"), "config", None)
    return str(getattr(config, name)()) if config is not None else otherwise


def standard_format(data_format: str | None) -> str:
    """channels_last or channels_first; None is Keras's setting."""
    if data_format is None:
        return setting("image_data_format", "channels_last")
    found = str(data_format).lower()
    if found not in ("channels_last", "channels_first"):
        raise ValueError('`data_format` should be "channels_last" (channels behind rows and columns) or '
                         f'"channels_first". Received: {data_format}')
    return found


def array_to_img(x: Any, data_format: str | None = None, scale: bool = True) -> Any:
    """An array with three axes as a Pillow image; scale: stretched to 0 to 255."""
    image = need("PIL.Image", "Pillow", "array_to_img")
    data_format = standard_format(data_format)
    x = np.asarray(x, setting("floatx", "float32"))
    if x.ndim != 3:
        raise ValueError(f"Expected an array with three axes (one picture), not of shape {x.shape}")
    if data_format == "channels_first":
        x = x.transpose(1, 2, 0)
    if scale:
        x = x - np.min(x)
        highest = np.max(x)
        if highest != 0:
            x /= highest
        x *= 255
    channels = x.shape[2]
    if channels in (3, 4):
        return image.fromarray(np.ascontiguousarray(x.astype("uint8")))
    if channels != 1:
        raise ValueError(f"Unsupported channel number: {channels}; a picture has 1, 3 or 4")
    return image.fromarray(np.ascontiguousarray(x[:, :, 0].astype("int32" if np.max(x) > 255 else "uint8")))


def img_to_array(image: Any, data_format: str | None = None, dtype: str | None = None) -> Any:
    """A Pillow image as an array with three axes."""
    first = standard_format(data_format) == "channels_first"
    x = np.asarray(image, dtype or setting("floatx", "float32"))
    if x.ndim == 2:
        return x[None] if first else x[:, :, None]
    if x.ndim != 3:
        raise ValueError(f"Unsupported image shape: {x.shape}")
    return x.transpose(2, 0, 1) if first else x


def convert(image: Any, color_mode: str) -> Any:
    """In the mode that is wanted; gray pictures of 16 and 32 bits keep them."""
    if color_mode == "grayscale":
        return image if image.mode in ("L", "I;16", "I") else image.convert("L")
    mode = color_mode.upper()
    return image if image.mode == mode else image.convert(mode)


def middle_box(size: tuple[int, int], wanted: tuple[int, int]) -> tuple[int, int, int, int]:
    """The largest part in the middle with the shape of the result: left, top, right, bottom; sizes: width, height."""
    (width, height), (to_width, to_height) = size, wanted
    high, wide = min(height, width * to_height // to_width), min(width, height * to_width // to_height)
    top, left = (height - high) // 2, (width - wide) // 2
    return left, top, left + wide, top + high


def load(source: str | bytes, color_mode: str, size: tuple[int, int], method: str, keep_aspect_ratio: bool) -> Any:
    """A file, or the bytes of one, as a Pillow image of `size` (height, width)."""
    library = need("PIL.Image", "Pillow", "reading this file")
    if isinstance(source, str):
        with open(source, "rb") as file:
            source = file.read()
    image = convert(library.open(io.BytesIO(source)), color_mode)
    wanted = (size[1], size[0])
    if image.size == wanted:
        return image
    if method not in METHODS:
        raise ValueError(f"Invalid interpolation method {method}; supported are {', '.join(METHODS)}")
    how = getattr(library.Resampling, method.upper())
    return image.resize(wanted, how, box=middle_box(image.size, wanted) if keep_aspect_ratio else None)


def save_batch(batch: Any, numbers: Any, folder: str, prefix: str, form: str, data_format: str, most: int) -> None:
    """The pictures of a batch as files, each stretched to 0 to 255: prefix_number_chance.format."""
    for x, number in zip(batch, numbers):
        name = f"{prefix}_{number}_{np.random.randint(most)}.{form}"
        array_to_img(x, data_format, scale=True).save(os.path.join(folder, name))
