# SPDX-License-Identifier: Apache-2.0
"""Writes the JPEGs of tests/golden/photos: one of each kind, painted by leat, encoded by Pillow.

    tests/golden/make/photos.py

They are committed because encoders differ: the bytes of a JPEG depend on the library that wrote it and its version, and
tests/golden/digests.json is about what leat makes of given bytes. Written anew, they need new digests too.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[3]
OUT = ROOT / "tests/golden/photos"
KINDS = {
    "a/420": {"subsampling": 2, "quality": 90},
    "a/420_coarse": {"subsampling": 2, "quality": 35},
    "a/422": {"subsampling": 1, "quality": 85},
    "a/444": {"subsampling": 0, "quality": 92},
    "a/gray": {"mode": "L", "quality": 88},
    "b/optimized": {"subsampling": 2, "quality": 80, "optimize": True},
    "b/progressive_420": {"subsampling": 2, "quality": 85, "progressive": True},
    "b/progressive_444": {"subsampling": 0, "quality": 75, "progressive": True},
    "b/progressive_gray": {"mode": "L", "quality": 80, "progressive": True},
    "b/cmyk": {"mode": "CMYK", "quality": 80},
}


def main() -> int:
    leat = sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/cli/leat"
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([leat, "synth", name, "--images", str(len(KINDS)), "--classes", "1", "--size", "140x110", "--format",
                        "png", "--seed", "14", "--quiet"], check=True)
        painted = sorted(Path(name).rglob("*.png"))
        for i, (kind, options) in enumerate(KINDS.items()):
            path = OUT / f"{kind}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            picture = Image.open(painted[i]).crop((i, i, 140 - 5 * i % 17, 110 - 3 * i % 13))  # no multiples of 8 or 16
            picture.convert(options.get("mode", "RGB")).save(path, **{k: v for k, v in options.items() if k != "mode"})
            print(f"{path.relative_to(ROOT)}: {picture.width}x{picture.height}, {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
