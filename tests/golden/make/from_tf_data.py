# SPDX-License-Identifier: Apache-2.0
"""Runs the tf.data examples of examples/from_tf_data.md with real TensorFlow and writes their `Order:` lines.

    python tests/golden/make/from_tf_data.py

Needs TensorFlow, NumPy and Pillow. Every block defines `ds`; a batch is known by its field `id`, by its only field, or by its
pictures, which are looked up among those of the data set. Blocks without an `Order:` line are only run.
"""
import glob
import os
import re
import sys
import tempfile
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "examples/from_tf_data.md"
sys.path.insert(0, str(ROOT / "tests/cli"))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import guide_data  # noqa: E402
import tensorflow as tf  # noqa: E402


def batches_of(ds: tf.data.Dataset) -> list[list[int]]:
    seen: list[bytes] = []
    batches = []
    for batch in ds.take(8):
        if isinstance(batch, dict) and "id" in batch:
            batches.append([int(i) for i in batch["id"]])
        elif not isinstance(batch, (dict, tuple)) and batch.ndim == 1:
            batches.append([int(i) for i in batch])
        else:  # each sample comes once, so its number is how many others came before
            rows = batch["image"] if isinstance(batch, dict) else batch[0] if isinstance(batch, tuple) else batch
            numbers = []
            for row in rows.numpy():
                assert row.tobytes() not in seen, "a sample that comes twice needs an id"
                numbers.append(len(seen))
                seen.append(row.tobytes())
            batches.append(numbers)
    return batches


def main() -> None:
    page = PAGE.read_text()
    sections = re.split(r"(?m)^(?=### )", page)
    names: dict = {"tf": tf, "numpy": numpy, "glob": glob}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        guide_data.make(Path(folder))
        for i, section in enumerate(sections):
            for code in re.findall(r"```python\n(.*?)```", section, re.S):
                exec(code, names)
                if not re.search("(?m)^Order: ", section):
                    assert sum(1 for _ in names["ds"].take(4)) > 0
                    continue
                order = " / ".join(" ".join(map(str, batch)) for batch in batches_of(names["ds"]))
                sections[i] = re.sub(r"(?m)^Order: .*$", f"Order: {order}", section)
        os.chdir(ROOT)
    PAGE.write_text("".join(sections))


if __name__ == "__main__":
    main()
