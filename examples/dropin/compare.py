#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the scripts of this folder as they are and with one line changed, and puts times and losses side by side.

    python examples/dropin/compare.py                      # all scripts, 6 epochs each
    python examples/dropin/compare.py photos --epochs 10

The line is the import: `import leat.tf as tf` in place of `import tensorflow as tf`. For the script whose model has augmentation layers,
a second change moves these into the pipeline (leat.keras.lift). Pictures are made up. The losses go into losses.svg.
"""
from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ONE_LINE = ("import tensorflow as tf\n", "import leat.tf as tf\n")
LIFT = ("model.compile(", "import leat.keras\nmodel, train = leat.keras.lift(model, train)\nmodel.compile(")
COLOURS = ("#888888", "#d6604d", "#2166ac")


class Run(NamedTuple):
    name: str
    seconds: list[float]
    cpu: list[float]
    losses: list[float]


def make_photos(folder: Path, count: int) -> Path:
    """JPEGs of 480x360 in ten folders."""
    import leat
    import tensorflow as tf

    for i, (image, label) in enumerate(leat.synthetic(count, 360, 480, seed=3)):
        place = folder / f"class{int(label)}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{i}.jpg").write_bytes(tf.io.encode_jpeg(image, quality=90).numpy())
    return folder


def make_records(folder: Path, count: int) -> Path:
    """tf.train.Examples with raw pictures of 64x64."""
    import leat

    with leat.TFRecordWriter(folder / "train.tfrecord") as writer:
        for image, label in leat.synthetic(count, 64, 64, seed=4):
            writer.write(leat.example({"image": image.tobytes(), "label": int(label)}))
    return folder / "train.tfrecord"


def make_arrays(folder: Path, count: int) -> Path:
    """Pictures of 32x32 and their labels, as arrays."""
    import leat
    import numpy

    images, labels = next(iter(leat.synthetic(count, 32, 32, seed=5).batch(count)))
    numpy.savez(folder / "train.npz", x=images, y=labels)
    return folder / "train.npz"


class Script(NamedTuple):
    make: Callable[[Path, int], Path]  # gives the script's first argument
    count: int
    changes: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


SCRIPTS = {
    "arrays": Script(make_arrays, 10000, (("one line", (ONE_LINE,)),)),
    "photos": Script(make_photos, 1500, (("one line", (ONE_LINE,)), ("and lift", (ONE_LINE, LIFT)))),
    "records": Script(make_records, 12000, (("one line", (ONE_LINE,)),)),
}


def run(name: str, text: str, data: Path, epochs: int) -> Run:
    """Runs a text as a script of this folder."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.py"
        script.write_text(text)
        path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run([sys.executable, script, data, str(epochs)], text=True, capture_output=True,
                              env={"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ, "PYTHONPATH": path})
    found = re.findall(r"^epoch \d+: loss ([\d.]+), ([\d.]+) s, CPU ([\d.]+) s$", done.stdout, re.M)
    if done.returncode or len(found) != epochs:
        sys.exit(f"{name} failed:\n{done.stdout}{done.stderr}")
    losses, seconds, cpu = ([float(each[i]) for each in found] for i in range(3))
    return Run(name, seconds, cpu, losses)


def compare(name: str, epochs: int, count: int | None) -> list[Run]:
    script, text = SCRIPTS[name], (HERE / f"{name}.py").read_text()
    with tempfile.TemporaryDirectory() as folder:
        data = script.make(Path(folder), count or script.count)
        runs = [run("before", text, data, epochs)]
        for title, changes in script.changes:
            changed = text
            for old, new in changes:
                assert changed.count(old) == 1, old
                changed = changed.replace(old, new)
            runs.append(run(title, changed, data, epochs))
    return runs


def table(name: str, runs: list[Run]) -> None:
    """Seconds of each epoch; the first one has the compilation of the model in it. CPU counts all cores, and says more than
    seconds where other programs run beside."""
    print(f"\n{name:10}" + "".join(f"{each.name:>30}" for each in runs))
    for i in range(len(runs[0].seconds)):
        print(f"epoch {i + 1:<4}" + "".join(f"{each.seconds[i]:8.2f} s CPU {each.cpu[i]:5.2f} loss {each.losses[i]:.3f}"
                                          for each in runs))
    print("fastest   " + "".join(f"{min(each.seconds):8.2f} s CPU {min(each.cpu):5.2f}" + " " * 11 for each in runs), flush=True)


def plot(results: dict[str, list[Run]], path: Path) -> None:
    """The losses of all runs, a panel for each script."""
    parts, width, height = [], 300, 200
    for number, (name, runs) in enumerate(results.items()):
        left, top, most = 50 + number * (width + 60), 40, max(max(each.losses) for each in runs)
        parts.append(f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none" stroke="#cccccc"/>'
                     f'<text x="{left}" y="{top - 12}">{name}.py: loss by epoch</text>'
                     f'<text x="{left - 8}" y="{top + 8}" text-anchor="end">{most:.1f}</text>'
                     f'<text x="{left - 8}" y="{top + height}" text-anchor="end">0</text>')
        for place, each in enumerate(runs):
            step = width / max(len(each.losses) - 1, 1)
            points = " ".join(f"{left + i * step:.1f},{top + height * (1 - loss / most):.1f}" for i, loss in enumerate(each.losses))
            parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[place]}" stroke-width="2"/>'
                         f'<text x="{left + width - 8}" y="{top + 18 + 16 * place}" text-anchor="end" '
                         f'fill="{COLOURS[place]}">{each.name}</text>')
    size = f"{50 + len(results) * (width + 60)} {height + 60}"
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="sans-serif" font-size="12">'
                    f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n')


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scripts", nargs="*", metavar="SCRIPT", help=f"of {', '.join(SCRIPTS)}; else all")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--count", type=int, help="pictures, instead of each script's own number")
    parser.add_argument("--plot", type=Path, default=Path("losses.svg"), help="where the plot goes")
    given = parser.parse_args()
    if unknown := set(given.scripts) - set(SCRIPTS):
        parser.error(f"no such script: {', '.join(sorted(unknown))}")
    results = {}
    for name in given.scripts or SCRIPTS:
        results[name] = compare(name, given.epochs, given.count)
        table(name, results[name])
    plot(results, given.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
