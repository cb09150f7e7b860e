# SPDX-License-Identifier: Apache-2.0
"""The virtual environments of the peers, in build/. A peer that cannot be installed costs itself alone.

    python3 bench/peers/environment.py          PEERS=all in the environment: torchvision and CUDA's torch too
"""
from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"

# The packages of each environment, one attempt a line: a line that fails leaves the others. PyTorch stands first: what asks for it later
# takes the one that is there. Its number is exact: that of the build without CUDA, where an index has one.
PLACES = {
    "peers": ["torch==2.13.0", "tensorflow keras pillow scipy", "opencv-python-headless", "albumentations", "webdataset", "grain",
              "nvidia-dali-cuda120"],
    # FFCV is compiled here, with OpenCV and libjpeg-turbo of the system.
    "peers-ffcv": ["torch==2.13.0 'numpy<2' 'setuptools<80' wheel pillow numba", "'opencv-python-headless<4.12'",
                   "--no-build-isolation ffcv"],
    # torchvision's compiled part is made for the CUDA build of torch: several gigabytes.
    "peers-torchvision": ["torch torchvision pillow numpy"],
}

REMEDIES = {"peers-ffcv": "; it needs libopencv-dev and libturbojpeg0-dev (scripts/install-deps peers)"}


def chosen() -> list[str]:
    return [place for place in PLACES if place != "peers-torchvision" or os.environ.get("PEERS") == "all"]


def reason(log: str) -> str:
    """The line of pip's output that says why."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    wanted = ("RuntimeError:", "ModuleNotFoundError:", "ERROR:", "error:", "fatal error")
    return next((line for word in wanted for line in lines if word in line), lines[-1] if lines else "no reason was given")[:150]


def make(place: str) -> dict[str, str]:
    """Installs what is missing, and tries again what failed before. Which lines failed, and why."""
    folder = BUILD / place
    stamp = folder / "installed.json"
    lines = PLACES[place]
    known = json.loads(stamp.read_text()) if stamp.exists() else {}
    if list(known) == lines and not any(known.values()):
        return {}
    if not (folder / "bin/pip").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    told: dict[str, str] = {}
    for number, line in enumerate(lines):
        if known.get(line) == "":
            told[line] = ""
            continue
        print(f"peers: {place}, {number + 1} of {len(lines)}: {line}", file=sys.stderr, flush=True)
        done = subprocess.run(f"{folder}/bin/pip install -q --no-input --disable-pip-version-check {line}", shell=True, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        told[line] = reason(done.stdout) if done.returncode else ""
    stamp.write_text(json.dumps(told, indent=1))
    return {line: why for line, why in told.items() if why}


def python(place: str) -> str:
    """leat runs where NumPy is: in the environment of most peers, or with the system's Python."""
    own = BUILD / ("peers" if place == "leat" else place) / "bin/python"
    return str(own) if own.exists() or place != "leat" else sys.executable


@functools.cache
def versions(place: str) -> dict[str, str]:
    """What is installed there, of those that are compared."""
    code = ("import importlib.metadata as m, json; print(json.dumps({d.metadata['Name']: d.version for d in m.distributions()}))")
    if not Path(python(place)).exists():
        return {}
    done = subprocess.run([python(place), "-c", code], capture_output=True, text=True)
    wanted = {word.split("=")[0].split("<")[0].strip("'") for line in PLACES.get(place, []) for word in line.split()} | {"numpy"}
    found = json.loads(done.stdout) if done.returncode == 0 else {}
    return {name: version for name, version in sorted(found.items()) if name.lower() in wanted}


def main() -> int:
    for place in chosen():
        for line, why in make(place).items():
            print(f"peers: could not install {line}: {why}{REMEDIES.get(place, '')}")
    if os.environ.get("PEERS") != "all":
        print("peers: torchvision is left out: its compiled part needs the CUDA build of torch, several gigabytes (PEERS=all)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
