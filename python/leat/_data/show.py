# SPDX-License-Identifier: Apache-2.0
"""A contact sheet of a dataset, for people."""
from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .dataset import Dataset


class Sheet:
    """A picture in PNG form. Notebooks show it by themselves.

        sheet = ds.show(4)
        sheet.save("sheet.png")
    """

    def __init__(self, png: bytes, rows: int, width: int, height: int) -> None:
        self.png = png
        self.rows = rows
        self.width = width
        self.height = height

    def _repr_png_(self) -> bytes:
        return self.png

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the picture to a file."""
        with open(path, "wb") as file:
            file.write(self.png)

    def __repr__(self) -> str:
        return f"<leat contact sheet of {self.rows} samples, {self.width}x{self.height}; save(path) writes it>"


def sheet(dataset: Dataset, n: int, versions: int, size: int) -> Sheet:
    for name, value, most in (("n", n, 100), ("versions", versions, 20), ("size", size, 2000)):
        if not isinstance(value, int) or not 1 <= value <= most:
            raise ValueError(f"show(): {name} must be a whole number from 1 to {most}, not {value!r}")
    return draw(dataset, n, versions, size)


def draw(dataset: Dataset, n: int, versions: int, size: int, strip: bool = False) -> Sheet:
    """A sheet, or with strip one row of samples as the pipeline makes them."""
    dataset._refuse_after("show")
    with tempfile.TemporaryDirectory(prefix="leat") as folder:
        path = os.path.join(folder, "sheet.png")
        rows, width, height = dataset._plan(plain=True).pipeline.view(path, n, versions, size, strip)
        with open(path, "rb") as file:
            return Sheet(file.read(), rows, width, height)
