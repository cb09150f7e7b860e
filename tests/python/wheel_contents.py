# SPDX-License-Identifier: Apache-2.0
"""Looks into a wheel: its tag, its size, the licence texts of everything inside, and the metadata that a package index
wants. `scripts/wheel --check` runs it.

    python tests/python/wheel_contents.py dist/leat-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl
"""
import email
import re
import sys
import zipfile
from pathlib import Path

BYTES_MAX = 5 << 20
# What is linked in, and words of its licence.
INSIDE = {"libjpeg-turbo": "Independent JPEG Group", "libpng": "PNG Reference Library", "zlib": "Jean-loup Gailly",
          "libwebp": "Google Inc", "giflib": "Eric S. Raymond|Gershon Elber", "xxHash": "Yann Collet"}


def problems(path: Path) -> list[str]:
    found = []
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        texts = {name: wheel.read(name).decode("utf-8", "replace") for name in names if "/licenses/" in name}
        metadata = email.message_from_bytes(wheel.read(next(name for name in names if name.endswith("/METADATA"))))
    if path.stat().st_size >= BYTES_MAX:
        found.append(f"{path.stat().st_size} bytes, {BYTES_MAX} are the limit")
    if not re.search(r"-cp311-abi3-manylinux_2_(\d+)_", path.name):
        found.append("the tag is not that of a manylinux wheel for the limited API")
    for library, words in INSIDE.items():
        if not any(re.search(words, text) for text in texts.values()):
            found.append(f"no licence text of {library}")
    if not any("Apache License" in text for text in texts.values()):
        found.append("no licence text of leat itself")
    if any(".libs/" in name for name in names):
        found.append("libraries beside the package: " + ", ".join(name for name in names if ".libs/" in name))
    if metadata["License-Expression"] != "Apache-2.0":
        found.append("the metadata has no licence")
    if metadata["Description-Content-Type"] != "text/markdown" or len(str(metadata.get_payload())) < 500:
        found.append("the metadata has no long description")
    for word in ("Operating System :: POSIX :: Linux", "Typing :: Typed", "Programming Language :: Python :: 3.11"):
        if word not in metadata.get_all("Classifier", []):
            found.append(f"the metadata lacks the classifier {word}")
    return found


if __name__ == "__main__":
    wrong = problems(Path(sys.argv[1]))
    for line in wrong:
        print(f"wheel: {line}", file=sys.stderr)
    sys.exit(1 if wrong else 0)
