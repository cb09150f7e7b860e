# SPDX-License-Identifier: Apache-2.0
"""Every image operation on pictures of one pixel, of one row, with one, two and four channels: a result, or one line that
says what is wrong. The texts are those of the golden cases."""
import json
import os
import subprocess
from pathlib import Path

import numpy
import pytest

import tfrecord

ROOT = Path(__file__).resolve().parents[2]
LEAT = os.environ.get("LEAT", str(ROOT / "build/release/cli/leat"))
GOLDEN = ROOT / "tests/golden"
SHAPES = [(1, 1, 3), (1, 200, 3), (200, 1, 3), (2, 3, 1), (5, 4, 4), (3, 3, 2)]


def texts() -> dict:
    """One text of each operation, and the type of picture it is for."""
    found = {}
    for path in sorted(GOLDEN.glob("*.npz")):
        arrays = numpy.load(path)
        for case in json.loads(str(arrays["cases"])):
            found.setdefault(case["text"].split()[0], (case["text"], arrays[case["name"] + ".in"].dtype))
    return found


TEXTS = texts()


@pytest.mark.parametrize("operation", sorted(TEXTS))
def test_odd_pictures(operation, tmp_path):
    text, dtype = TEXTS[operation]
    text = text.replace("GOLDEN/", f"{GOLDEN}/")
    made = 0
    for shape in SHAPES:
        values = numpy.random.RandomState(1).randint(0, 256, shape).astype(dtype)
        (tmp_path / "raw").write_bytes(tfrecord.record(tfrecord.example({"image": values.tobytes()})))
        name = {"uint8": "u8", "uint16": "u16", "float32": "f32"}[dtype.name]
        spec = (f"tfrecord {tmp_path}/raw | parse image:bytes | decode_raw image {name} | "
                f"reshape image {' '.join(map(str, shape))} | {text} | batch 1")
        done = subprocess.run([LEAT, "run", spec, "--sink", "digest", "--no-side-files", "--threads", "1"],
                              capture_output=True, text=True, timeout=60)
        made += done.returncode == 0
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if line.startswith("leat run:")]
            assert done.returncode in (1, 2) and len(lines) == 1 and len(lines[0]) > 30, (shape, done.stderr)
    sized = operation in ("center_crop", "crop_to_bounding_box", "random_crop", "zca")
    assert made or sized, f"{operation}: refuses every odd picture"
