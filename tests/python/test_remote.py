# SPDX-License-Identifier: Apache-2.0
"""Addresses in place of files, in every constructor that takes files; and a pipeline on a server that hangs is closed at once."""
import subprocess
import sys
import time
from pathlib import Path

import leat
import numpy
import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests/remote"))
from server import Fault, Server  # noqa: E402


@pytest.fixture
def data(pictures, command, tmp_path_factory):
    folder = tmp_path_factory.mktemp("remote")
    subprocess.run([command, "pack", pictures, folder / "records", "--shards", "2", "-q"], check=True)
    (folder / "pictures").symlink_to(pictures)
    subprocess.run(["tar", "cf", folder / "set.tar", "-C", sorted(path for path in pictures.iterdir() if path.is_dir())[0], "--sort=name", "."],
                   check=True)
    subprocess.run([command, "index", "--beside", folder / "set.tar"], check=True, capture_output=True)
    return folder


@pytest.fixture
def served(data):
    with Server(data) as server:
        yield server


def values(ds):
    return [numpy.asarray(part).tolist() for batch in ds.decode().resize(16, 16).batch(4) for part in (batch if isinstance(batch, tuple) else (batch,))]


def threads() -> list[str]:
    return [name for task in Path("/proc/self/task").iterdir() if (name := (task / "comm").read_text().strip()).startswith("leat-")]


def test_constructors(served, data):
    files = sorted(str(path.relative_to(data)) for path in (data / "pictures").rglob("*") if path.suffix in (".jpg", ".png"))
    assert len(files) == 24
    labels = list(range(len(files)))
    near, far = ([f"{root}/{name}" for name in files] for root in (data, served.url))
    assert values(leat.from_files(far, labels)) == values(leat.from_files(near, labels))
    for root in (data, served.url):
        table = data / f"list-{'far' if root == served.url else 'near'}.csv"
        table.write_text("path,label\n" + "".join(f"{root}/{name},{label}\n" for name, label in zip(files, labels)))
    assert values(leat.from_csv(f"{served.url}/list-far.csv")) == values(leat.from_csv(data / "list-near.csv"))
    assert values(leat.from_webdataset(f"{served.url}/set.tar")) == values(leat.from_webdataset(data / "set.tar"))
    shards = sorted(path.name for path in (data / "records").glob("*.tfrecord"))
    near, far = (leat.from_tfrecord([f"{root}/records/{name}" for name in shards], {"image": "bytes", "label": "int64"}) for root in (data, served.url))
    assert values(far.shuffle(seed=1)) == values(near.shuffle(seed=1))


def test_ranks_share_one_cache(served, data, tmp_path):
    """Each keeps its part, and reads what all have kept: a second epoch, in which the parts are others, asks for nothing."""
    shards = sorted(path.name for path in (data / "records").glob("*.tfrecord"))

    def open_rank(rank: int, root, world: int = 3):
        ds = leat.from_tfrecord([f"{root}/records/{name}" for name in shards], {"image": "bytes", "label": "int64"})
        if root == served.url:
            ds = ds.cache(str(tmp_path / "kept"))
        return ds.shuffle(seed=1).decode().resize(16, 16).batch(2).configure(rank=rank, world_size=world)

    near, far = ([open_rank(rank, root) for rank in range(3)] for root in (data, served.url))
    for epoch in range(3):
        served.requests.clear()
        for one, other in zip(near, far):
            for batch, remote in zip(one, other, strict=True):
                assert all(numpy.array_equal(a, b) for a, b in zip(batch, remote, strict=True))
        assert epoch == 0 or not served.requests
        time.sleep(0.6)  # ranks look twice a second for what others have kept
    folder = next((tmp_path / "kept").iterdir())
    assert len(list(folder.glob("segment-*.open"))) == 3, "a segment of its own for each rank"
    for ds in far:
        ds.close()
    assert len(list(folder.glob("segment-*.leatseg"))) == 3 and not list(folder.glob("segment-*.open"))


def test_retries_are_in_the_stats(served, data):
    served.fail(Fault("status", 503, times=1, path=".jpg"))
    ds = leat.from_files([f"{served.url}/{path.relative_to(data)}" for path in sorted((data / "pictures").rglob("*.jpg"))])
    ds = ds.decode().resize(8, 8).batch(4)
    for _ in ds:
        pass
    assert ds.stats()["retries"] == 1


def test_closing_does_not_wait_for_a_server_that_hangs(served, data):
    """It has ten seconds before it leaves threads behind that wait for answers that never come."""
    files = [f"{served.url}/{path.relative_to(data)}" for path in sorted((data / "pictures").rglob("*.jpg"))]
    ds = leat.from_files(files * 20).decode().resize(8, 8).batch(2)
    batches = iter(ds)
    next(batches)
    served.fail(Fault("hang"))
    time.sleep(0.3)
    assert threads()
    del batches
    ds.close()
    assert not threads()
