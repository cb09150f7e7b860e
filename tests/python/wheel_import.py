# SPDX-License-Identifier: Apache-2.0
"""Imports leat from a wheel and compares the first batch of a pipeline with what the command of that wheel wrote of it.
`scripts/wheel --check` runs it with a Python that has NumPy and nothing else.

    python tests/python/wheel_import.py TEXT FOLDER     FOLDER: of leat run TEXT --sink npy:FOLDER
"""
import platform
import sys
from pathlib import Path

import numpy

import leat


def main() -> int:
    text, folder = sys.argv[1], Path(sys.argv[2])
    fields = ("image", "label")
    batch = dict(zip(fields, next(iter(leat.from_text(text))), strict=True))
    for field in fields:
        wanted = numpy.load(folder / f"000000_{field}.npy")
        if batch[field].dtype != wanted.dtype or batch[field].tobytes() != wanted.tobytes():
            print(f"wheel: {field} differs from what the command wrote", file=sys.stderr)
            return 1
    print(f"wheel: leat {leat.__version__} in Python {platform.python_version()} on {platform.machine()}:", batch["image"].shape,
          batch["image"].dtype, "as the command wrote them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
