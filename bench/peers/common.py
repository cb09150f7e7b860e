# SPDX-License-Identifier: Apache-2.0
"""What the loaders of all libraries share: the job, its files, and the numbers that both sides must agree on."""
from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
PICTURES = {".jpg", ".jpeg", ".png", ".webp"}
SIDE = 224


@dataclasses.dataclass
class Job:
    """One run of one loader in one process."""
    peer: str
    kind: str  # what is done to a sample: a function of each with_*.py has this name
    data: str  # a folder, or an .npz of arrays
    threads: int
    batch: int
    what: str = "rate"  # or outputs, consumer, memory, resume, single
    seconds: float = 2.0
    step: float = 0.0  # seconds that the consumer keeps a batch
    drawn: list[list[int]] | None = None  # y, x, height, width, flip of the first samples: all else in order and undrawn
    side: int = SIDE
    cache: str = ""  # where side files go
    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def fixed(self) -> bool:
        return self.drawn is not None

    @property
    def skip(self) -> int:
        """Samples of the first epoch that were seen before: the run goes on behind them."""
        return 0 if self.fixed else int(self.options.get("skip", 0))

    def files(self) -> tuple[list[str], list[int]]:
        """Pictures in sorted order, class by class, as all libraries number them. Those that are compared, if fixed."""
        classes = sorted(path for path in Path(self.data).iterdir() if path.is_dir())
        found = [(str(path), label) for label, folder in enumerate(classes) for path in sorted(folder.iterdir())
                 if path.suffix.lower() in PICTURES]
        found = found[:len(self.drawn)] if self.drawn is not None else found
        return [path for path, _ in found], [label for _, label in found]

    def shards(self) -> list[str]:
        return sorted(map(str, Path(self.data).glob("[!.]*-of-*.tfrecord")))

    @staticmethod
    def read(path: str) -> Job:
        return Job(**json.loads(Path(path).read_text()))


Loader = Callable[[Job], Iterator[Any]]


def endless(n: int, skip: int = 0, seed: int = 0) -> Iterator[int]:
    """Numbers 0 to n-1 in a drawn order, epoch after epoch, behind those that were seen before."""
    source = random.Random(seed)
    order = list(range(n))
    while True:
        source.shuffle(order)
        yield from order[skip:]
        skip = 0


def draw_crop(height: int, width: int, source: random.Random) -> tuple[int, int, int, int]:
    """The part that torchvision's RandomResizedCrop draws: y, x, height, width."""
    import math
    for _ in range(10):
        area = height * width * source.uniform(0.08, 1)
        ratio = math.exp(source.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return source.randint(0, height - h), source.randint(0, width - w), h, w
    side = min(height, width)
    return (height - side) // 2, (width - side) // 2, side, side
