# SPDX-License-Identifier: Apache-2.0
"""What leat draws for a picture, so that another library can be made to draw the same.

    drawn("trivial_augment_wide | options seed=3", picture)   [("op", "rotate"), ("magnitude", -27.0)]

Runs the leat of the environment's LEAT, with the text that tests/cli/test_golden.py will run.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/cli"))
import tfrecord  # noqa: E402

LEAT = os.environ.get("LEAT", str(ROOT / "build/release/cli/leat"))
TYPES = {"uint8": "u8", "float32": "f32"}


def drawn(text, picture):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "raw.tfrecord"
        path.write_bytes(tfrecord.record(tfrecord.example({"image": picture.tobytes()})))
        shape = " ".join(map(str, picture.shape))
        whole = (f"tfrecord {path} | parse image:bytes | decode_raw image {TYPES[picture.dtype.name]} "
                 f"| reshape image {shape} | {text} | batch 1")
        done = subprocess.run([LEAT, "run", whole, "--sink", "null", "--params"], capture_output=True, text=True,
                              check=True, env={**os.environ, "XDG_CACHE_HOME": "/nonexistent"})
    words = done.stdout.splitlines()[0].split("\t")[-1].split()
    return [(key, value if key == "op" else float(value)) for key, value in
            (word.rstrip(";").split("=", 1) for word in words if "=" in word)]
