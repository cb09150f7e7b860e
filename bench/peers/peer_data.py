# SPDX-License-Identifier: Apache-2.0
"""The data of the workloads, each made once and kept in build/bench/peers. Photographs come from --photos, or leat synth makes some."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Runs with Pillow of the peers' environment: converts a folder to another format, class by class.
CONVERT = """
import sys
from pathlib import Path
from PIL import Image
source, target, form, most = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
files = sorted(p for p in source.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))
for k, path in enumerate(files[:most]):
    place = (target / path.relative_to(source)).with_suffix({"png": ".png", "webp": ".webp"}.get(form, ".jpg"))
    place.parent.mkdir(parents=True, exist_ok=True)
    image = Image.open(path).convert("RGB")
    if form == "large":  # four by three photographs to one of 4000x3000
        sheet = Image.new("RGB", (4000, 3000))
        for i in range(48):
            with Image.open(files[(k * 48 + i) % len(files)]) as part:
                sheet.paste(part.convert("RGB").resize((500, 500)), (i % 8 * 500, i // 8 * 500))
        image = sheet
    if form == "small":
        image = image.resize((64, 48))
    image.save(place, **{"png": {}, "webp": {"quality": 85}, "progressive": {"quality": 90, "progressive": True},
                         "large": {"quality": 92}, "small": {"quality": 85}}[form])
"""
ARRAYS = """
import sys
import numpy
n, side = int(sys.argv[2]), int(sys.argv[3])
random = numpy.random.default_rng(1)
numpy.savez(sys.argv[1], x=random.integers(0, 256, (n, side, side, 3), dtype="u1"), y=random.integers(0, 10, n))
"""
SQUARES = """
import sys
from pathlib import Path
import numpy
from PIL import Image
files = sorted(Path(sys.argv[2]).rglob("*.jpg"))[:64]
numpy.save(sys.argv[1], numpy.stack([numpy.array(Image.open(path).convert("RGB").resize((256, 256))) for path in files]))
"""
TARS = """
import io, sys, tarfile
from pathlib import Path
source, target = Path(sys.argv[1]), Path(sys.argv[2])
target.mkdir(parents=True)
classes = sorted(p for p in source.iterdir() if p.is_dir())
files = [(p, label) for label, folder in enumerate(classes) for p in sorted(folder.iterdir())]
for shard in range(8):
    with tarfile.open(target / f"{shard:03}.tar", "w") as tar:
        for i, (path, label) in list(enumerate(files))[shard * len(files) // 8:(shard + 1) * len(files) // 8]:
            for name, data in ((f"{i:06}.jpg", path.read_bytes()), (f"{i:06}.cls", str(label).encode())):
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
"""


class Data:
    def __init__(self, folder: Path, photos: Path | None, count: int, leat: str, python: str) -> None:
        self.photos, self.count, self.leat, self.python = photos, count, leat, python
        what = "of-" + str(photos.resolve()).strip("/").replace("/", "-") if photos else "synth"
        self.folder = folder / f"{what}-{count}"
        self.folder.mkdir(parents=True, exist_ok=True)

    def once(self, name: str, make: Callable[[Path], None]) -> Path:
        """Makes a folder or file unless it is there whole."""
        place, mark = self.folder / name, self.folder / f"{name}.done"
        if not mark.exists():
            shutil.rmtree(place, ignore_errors=True)
            print(f"peers: making {place}", file=sys.stderr, flush=True)
            make(place)
            mark.touch()
        return place

    def run(self, *words: object) -> None:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"peers: data could not be made: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}")

    def jpeg(self) -> Path:
        """So many photographs; where there are fewer, the same files under several names."""
        def make(place: Path) -> None:
            source = self.photos
            if source is None:
                source = self.folder / "painted"
                self.run(self.leat, "synth", source, "--images", min(self.count, 200), "--classes", 10, "--seed", 1)
            files = sorted(path for path in source.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg"))
            if not files:
                sys.exit(f"peers: {source} has no JPEGs")
            for i in range(self.count):
                path = files[i % len(files)]
                target = place / path.parent.name / f"{i:06}.jpg"
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
        return self.once("jpeg", make)

    def pack(self, *words: object, gzip: bool = False) -> Callable[[Path], None]:
        def make(place: Path) -> None:
            self.run(self.leat, "pack", "-q", self.jpeg(), place, "--shards", 8, "--no-side-files", *words)
            if gzip:
                for shard in place.glob("*-of-*.tfrecord"):
                    self.run("gzip", "-6", shard)
                    os.rename(f"{shard}.gz", shard)
                for path in place.glob(".*"):  # an index of what was there before
                    path.unlink()
        return make

    def converted(self, form: str, most: int) -> Path:
        return self.once(form, lambda place: self.run(self.python, "-c", CONVERT, self.jpeg(), place, form, most))

    def arrays(self, n: int, side: int) -> Path:
        return self.once(f"arrays{side}.npz", lambda place: self.run(self.python, "-c", ARRAYS, place, n, side))

    def get(self, name: str) -> Path:
        make: dict[str, Callable[[], Path]] = {
            "jpeg": self.jpeg,
            "records": lambda: self.once("records", self.pack()),
            "raw": lambda: self.once("raw", self.pack("--raw", "--size", "256x256")),
            "gzip": lambda: self.once("gzip", self.pack(gzip=True)),
            "arrays32": lambda: self.arrays(self.length("arrays32"), 32),
            "arrays224": lambda: self.arrays(self.count, 224),
            "small": self.small,
            "long": self.long,
        }
        return make[name]() if name in make else self.converted(name, self.length(name))

    def length(self, name: str) -> int:
        """Samples of a data set."""
        many = self.count >= 200
        return {"arrays32": 50000 if many else 1000, "small": 100000 if many else self.count * 125, "long": self.count * 10,
                "large": min(self.count, 48), "png": min(self.count, 200), "progressive": min(self.count, 200),
                "webp": min(self.count, 200)}.get(name, self.count)

    def long(self) -> Path:
        """Ten times as many names of the same files: half an epoch takes long enough to be seen."""
        def make(place: Path) -> None:
            for path in sorted(self.jpeg().rglob("*.jpg")):
                (place / path.parent.name).mkdir(parents=True, exist_ok=True)
                for i in range(10):
                    os.link(path, place / path.parent.name / f"{path.stem}-{i}.jpg")
        return self.once("long", make)

    def small(self) -> Path:
        """100,000 files, or fewer if there are few photographs: copies of small ones."""
        def make(place: Path) -> None:
            files = sorted(self.converted("small", min(self.count, 200)).rglob("*.jpg"))
            for i in range(self.length("small")):
                folder = place / f"{i % 100:03}"
                folder.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(files[i % len(files)], folder / f"{i:06}.jpg")
        return self.once("many", make)

    def squares(self) -> Path:
        """64 pictures of 256x256, for single transforms."""
        return self.once("squares.npy", lambda place: self.run(self.python, "-c", SQUARES, place, self.jpeg()))

    def tars(self) -> Path:
        return self.once("tars", lambda place: self.run(self.python, "-c", TARS, self.jpeg(), place))

    def about(self) -> str:
        return json.dumps({"photos": self.photos.name if self.photos else "leat synth", "count": self.count})
