# SPDX-License-Identifier: Apache-2.0
"""Decodes the same pictures with leat and with other packages that carry their own codecs, in one process, once for
each order of importing. `scripts/wheel --check` runs it on the wheel.

    python tests/python/import_orders.py FOLDER [MODULE...]     default: PIL.Image cv2 tensorflow, those that are there
"""
import importlib.util
import itertools
import subprocess
import sys
from pathlib import Path

CODE = """
import importlib, sys
folder, *order = sys.argv[1:]
for name in order:
    importlib.import_module(name)
import leat, numpy, pathlib

def other(name, path):
    if name == "PIL.Image":
        return numpy.asarray(sys.modules[name].open(path).convert("RGB"))
    if name == "cv2":
        return sys.modules[name].imread(str(path))[:, :, ::-1]
    return sys.modules[name].io.decode_image(path.read_bytes(), dct_method="INTEGER_ACCURATE").numpy()

paths = sorted(pathlib.Path(folder).rglob("*.*"))
for path, (image, _) in zip(paths, leat.from_directory(folder).padded_batch(1, max="2000x2000")):
    for name in order:
        if name != "leat":
            difference = abs(other(name, path).astype(int) - image[0]).max()
            assert difference <= 2, (name, path, difference)
print("equal")
"""


def main() -> int:
    folder, *modules = sys.argv[1:]
    modules = modules or [name for name in ("PIL.Image", "cv2", "tensorflow")
                          if importlib.util.find_spec(name.split(".")[0])]
    bad = 0
    for order in itertools.permutations(["leat", *modules]):
        done = subprocess.run([sys.executable, "-c", CODE, folder, *order], capture_output=True, text=True,
                              cwd=Path("/"))
        bad += done.stdout.strip() != "equal"
        print(" ".join(order) + ":", done.stdout.strip() or done.stderr.strip()[-500:], flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
