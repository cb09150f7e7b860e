# SPDX-License-Identifier: Apache-2.0
"""Tar archives with samples, made by Python's tarfile: the same fields in any order, and what the verbs say about them."""
import gzip
import io
import re
import tarfile
from pathlib import Path

import numpy
import pytest
from PIL import Image

from conftest import paint

FORMATS = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)
SHARDS, EACH = 3, 10


def write_tar(path: Path, members: list[tuple[str, bytes]], kind: int = tarfile.PAX_FORMAT) -> None:
    with tarfile.open(path, "w", format=kind) as archive:
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


def picture(number: int) -> bytes:
    file = io.BytesIO()
    Image.fromarray(paint(16, 16, number)).save(file, "JPEG" if number % 2 else "PNG")
    return file.getvalue()


def members_of(number: int) -> list[tuple[str, bytes]]:
    key = f"folder/{'n' * (number * 7 % 150)}/{number:05d}"
    if number < EACH:
        key = f"folder/{number:05d}"
    return [(f"{key}.{'jpg' if number % 2 else 'png'}", picture(number)), (f"{key}.cls", b"%d" % (number * 3)),
            (f"{key}.json", b'{"id": %d}' % number)]


@pytest.fixture
def archives(tmp_path) -> Path:
    for shard, kind in enumerate(FORMATS):
        numbers = range(shard * EACH, (shard + 1) * EACH)
        write_tar(tmp_path / f"train-{shard}.tar", [member for i in numbers for member in members_of(i)], kind)
    return tmp_path


def labels(leat, folder: Path, text: str, *more) -> list[int]:
    out = folder / "out"
    for old in out.glob("*"):
        old.unlink()
    leat("run", text, "--sink", f"npy:{out}", *more)
    return numpy.concatenate([numpy.load(path) for path in sorted(out.glob("*_label.npy"))]).tolist()


def test_samples_come_in_any_order(leat, archives):
    text = "webdataset train-*.tar"
    everything = [3 * i for i in range(SHARDS * EACH)]
    assert labels(leat, archives, f"{text} | decode | resize 8 8 | batch 7") == everything
    shuffled = labels(leat, archives, f"{text} | shuffle seed=5 | decode | resize 8 8 | batch 7")
    assert shuffled != everything and sorted(shuffled) == everything
    assert labels(leat, archives, f"{text} | shard 1/3 | select label | batch 4") == everything[1::3]
    assert labels(leat, archives, f"{text} | filter label>=60 | select label | batch 4") == everything[20:]
    assert labels(leat, archives, f"{text} | interleave cycle=3 | select label | take 4 | batch 4") == [0, 30, 60, 3]


def test_pictures_are_those_of_a_folder(leat, archives):
    (archives / "flat").mkdir()
    for i in range(SHARDS * EACH):
        (archives / f"flat/{i:05d}.png").write_bytes(picture(i))
    for text in ("decode | resize 8 8 | batch 4", "shuffle seed=3 | decode | random_crop 8 8 | random_flip_left_right | batch 4"):
        assert (leat("run", f"webdataset train-*.tar image=jpg,png | {text}", "--sink", "digest").stdout.splitlines()[-1]
                == leat("run", f"folder flat labels=none | {text}", "--sink", "digest").stdout.splitlines()[-1])


def test_a_missing_member(leat, archives):
    write_tar(archives / "train-3.tar", [("a.jpg", picture(1)), ("b.jpg", picture(2)), ("b.cls", b"7")])
    text = "webdataset train-*.tar | select label | batch 100"
    done = leat("run", text, code=1)
    assert "train-3.tar: sample 0 at byte 0: the sample 'a' has no member cls for the field label: it has jpg" in done.stderr
    assert labels(leat, archives, text, "--on-error", "skip")[-2:] == [3 * (SHARDS * EACH - 1), 7]


def test_a_shard_that_is_cut_off(leat, archives):
    path = archives / "train-2.tar"
    path.write_bytes(path.read_bytes().rstrip(b"\0")[:-3000])
    text = "webdataset train-*.tar | select label | batch 100"
    found = labels(leat, archives, text, "--on-error", "skip")
    assert found == [3 * i for i in range(len(found))] and 2 * EACH < len(found) < SHARDS * EACH
    done = leat("check", "train-2.tar", code=1)
    assert "it is cut off" in done.stdout + done.stderr


def test_compressed_archives_are_refused(leat, archives):
    (archives / "x.tar.gz").write_bytes(gzip.compress((archives / "train-0.tar").read_bytes()))
    done = leat("run", "webdataset x.tar.gz | decode | resize 8 8 | batch 4", code=1)
    assert re.search(r"x\.tar\.gz is compressed by gzip.*: unpack it \(gunzip\)", done.stderr)


def test_the_other_verbs(leat, archives):
    assert re.search(r"webdataset\n +images +30\n", leat("info", "train-*.tar").stdout)
    assert "all 30 good" in leat("check", "train-*.tar").stdout
    assert re.search(r"30 samples indexed, with positions of \d+ JPEGs", leat("index", "--positions", "train-*.tar").stdout)
    assert "webdataset: 30 samples in 3 shards" in leat("plan", "webdataset train-*.tar | decode | resize 8 8 | batch 4").stdout
    done = leat("show", "train-0.tar", code=1)
    assert "is a tar archive" in done.stderr
