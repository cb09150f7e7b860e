# SPDX-License-Identifier: Apache-2.0
"""The data of the trials: a few photos, the same as records, compressed records and a tar."""
from __future__ import annotations

import gzip
import io
import tarfile

from trial import Place


def make(place: Place, photos: int = 12) -> None:
    data = place.folder / "data"
    if data.exists():
        return
    place.good("synth", data / "photos", "--images", photos, "--classes", 2, "--size", "120x90", "-q")
    place.good("pack", data / "photos", data / "packed", "--shards", 1, "-q")
    shard, = (data / "packed").glob("*.tfrecord")
    shard.rename(data / "a.tfrecord")
    (data / "a.tfrecord.gz").write_bytes(gzip.compress((data / "a.tfrecord").read_bytes()))
    with tarfile.open(data / "a.tar", "w") as tar:
        for number, path in enumerate(sorted((data / "photos").rglob("*.jpg"))):
            for ending, content in (("jpg", path.read_bytes()), ("cls", str(number % 2).encode())):
                member = tarfile.TarInfo(f"{number:03}.{ending}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
