# SPDX-License-Identifier: Apache-2.0
"""Side files are per user and safe to share: what others can have written is not used unless asked for, and several ranks write
positions together."""
import os
import subprocess
import time

import pytest
from PIL import Image

from conftest import paint

NOT_USED = "others may write to it: it is not used unless asked for by trust_cache (--trust-cache)"
CROP = "shuffle | decode | random_resized_crop 24 | batch 4"


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos/a"
    folder.mkdir(parents=True)
    for number in range(8):
        Image.fromarray(paint(150, 190, number)).save(folder / f"{number}.jpg")
    time.sleep(0.03)
    return folder.parent


def run(leat, spec, *more):
    """The digest, and how often it was said that something is not trusted."""
    done = leat("run", spec, "--sink", "digest", "--epochs", "2", *more)
    return done.stdout.splitlines()[-1], done.stderr.count(NOT_USED)


def spoil(paths, how):
    for path in paths:
        if how == "other user":
            os.chown(path, 12345, 12345)
        else:
            path.chmod(0o664 if how == "group" else 0o646)


@pytest.mark.parametrize("how", ["group", "others", "other user"])
def test_not_trusted(leat, photos, records, tmp_path, how):
    if how == "other user" and os.geteuid() != 0:
        pytest.skip("only root can give files away")
    shard = records("a.tfrecord", [{"label": i} for i in range(5)])
    time.sleep(0.03)
    specs = {f"folder {photos} | decode | resize 9 9 | batch 3": ".leatidx",
             f"tfrecord {shard} | parse label:int64 | batch 2": ".leatidx",
             f"folder {photos} | {CROP}": ".leatseg",
             f"synth n=20 height=8 width=8 | cache {tmp_path}/kept | batch 4": ".leatseg"}
    for number, (spec, suffix) in enumerate(specs.items()):
        cache = tmp_path / f"cache{number}"
        wanted, n = run(leat, spec, "--cache-dir", cache)
        assert n == 0
        places = [path for folder in (cache, tmp_path / "kept") if folder.exists() for path in folder.rglob("*" + suffix)]
        spoil(places, how)
        before = [path.stat().st_mtime_ns for path in places]
        assert places and run(leat, spec, "--cache-dir", cache, "--trust-cache") == (wanted, 0)
        assert [path.stat().st_mtime_ns for path in places] == before
        assert run(leat, spec, "--cache-dir", cache) == (wanted, 1)
        if "kept" not in spec:  # one of its own is in that place now
            assert run(leat, spec, "--cache-dir", cache) == (wanted, 0)


def test_beside_the_data(leat, photos, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    leat("index", "--beside", "-p", photos)
    sides = sorted(tmp_path.glob(".photos.*"))
    assert len(sides) == 2
    spec = f"folder {photos} | {CROP}"
    wanted, n = run(leat, spec)
    assert n == 0 and not list((tmp_path / "cache").rglob("*.leatidx"))
    spoil(sides, "other user")
    assert run(leat, spec) == (wanted, 2)  # the index and the positions
    os.chown(photos, 12345, 12345)  # whose data it is chooses what is learned anyway
    assert run(leat, spec) == (wanted, 0)


def test_what_leat_writes_is_trusted_under_any_umask(leat, photos, tmp_path):
    spec = f"folder {photos} | {CROP.replace('decode', f'decode | cache {tmp_path}/kept')}"
    for _ in range(2):
        done = leat("run", spec, preexec_fn=lambda: os.umask(0))
        assert NOT_USED not in done.stderr
    made = [path for folder in ("cache", "kept") for path in (tmp_path / folder).rglob("*.leat*")]
    assert len(made) >= 2 and not any(path.stat().st_mode & 0o022 for path in made)


def test_ranks_write_positions_together(leat, command, environment, photos, tmp_path):
    """Each has half of the photos; all of them are there afterwards, and a run over all of them writes nothing."""
    spec = f"folder {photos} | {CROP}"
    leat("index", photos)
    processes = [subprocess.Popen([command, "run", spec, "--rank", f"{rank}/2", "-q"], env=environment, cwd=tmp_path) for rank in range(2)]
    assert [process.wait(timeout=100) for process in processes] == [0, 0]
    assert "positions of 8 files are there" in leat("plan", spec).stdout
    leat("index", "-p", photos)
    (place,) = (tmp_path / "cache").rglob("positions.leatseg")
    before = place.stat()
    leat("run", spec, "--epochs", "3")
    after = place.stat()
    assert (before.st_mtime_ns, before.st_ctime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ctime_ns, after.st_ino)
