# SPDX-License-Identifier: Apache-2.0
"""The primitives that augmentation on a device is made of, over torch, jax.numpy, keras.ops or numpy."""
from __future__ import annotations

from typing import Any


class Arrays:
    """Sums, products, comparisons and slices are the arrays' own; these are the rest.

        a = Arrays(jax.numpy)
        a.clip(x, 0.0, 255.0)
    """

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        self.torch = xp.__name__ == "torch"
        self.keras = xp.__name__.startswith("keras")
        self.where, self.floor, self.clip = xp.where, xp.floor, xp.clip
        self.minimum, self.maximum = xp.minimum, xp.maximum

    def f32(self, x: Any) -> Any:
        if self.torch:
            return x.to(self.xp.float32)
        return self.xp.cast(x, "float32") if self.keras else x.astype("float32")

    def i32(self, x: Any) -> Any:
        if self.torch:
            return x.to(self.xp.int32)
        return self.xp.cast(x, "int32") if self.keras else x.astype("int32")

    def reshape(self, x: Any, shape: tuple[int, ...]) -> Any:
        return self.xp.reshape(x, shape)

    def flip(self, x: Any, axis: int) -> Any:
        return self.xp.flip(x, (axis,)) if self.torch else self.xp.flip(x, axis)

    def like(self, values: list[float], x: Any) -> Any:
        """A few numbers as an array where x is."""
        if self.torch:
            return self.xp.tensor(values, dtype=self.xp.float32, device=x.device)
        return self.xp.convert_to_tensor(values, "float32") if self.keras else self.xp.asarray(values, dtype="float32")

    def arange(self, n: Any, x: Any) -> Any:
        """0 to n - 1 as f32, where x is."""
        if self.torch:
            return self.xp.arange(n, dtype=self.xp.float32, device=x.device)
        return self.xp.arange(n, dtype="float32")

    def stack(self, channels: list[Any]) -> Any:
        """Channels as the last axis."""
        return self.xp.stack(channels, -1)

    def mean(self, x: Any) -> Any:
        """Over height and width of (batch, height, width, channels); these axes stay, with one element."""
        # Of each row first: one sum of floats over a large picture loses too many digits.
        if self.torch:
            return x.mean(dim=2, keepdim=True).mean(dim=1, keepdim=True)
        return self.xp.mean(self.xp.mean(x, axis=2, keepdims=True), axis=1, keepdims=True)

    def rows(self, x: Any) -> tuple[Any, Any]:
        """Pixels of a batch one under the other, and where each picture begins: for pixels()."""
        _, height, width, channels = x.shape
        batch = self.xp.shape(x)[0] if self.keras else x.shape[0]
        begins = self.i32(self.arange(batch, x)) * (height * width)
        return self.xp.reshape(x, (-1, channels)), self.xp.reshape(begins, (-1, 1, 1))

    def pixels(self, rows: tuple[Any, Any], places: Any) -> Any:
        """The pixels with these numbers, (batch, height, width), in their pictures."""
        pixels, begins = rows
        return self.xp.take(pixels, begins + places, axis=0) if self.keras else pixels[begins + places]
