# SPDX-License-Identifier: Apache-2.0
"""leat.ray.pack on a real Ray: what its tasks make is what one process makes, byte for byte, also when a worker is killed in
the middle of its part."""
import os
import signal
import threading
from pathlib import Path

import leat
import numpy
import pytest
from leat._base.notices import forget
from PIL import Image
from ray_cluster import begin, ray

OPTIONS = {"size": 48, "shards": 9, "shuffle": True, "split": (0.7, 0.3), "features": "tfds", "on_error": "skip"}


@pytest.fixture(scope="module", autouse=True)
def cluster():
    begin(4)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    root = tmp_path_factory.mktemp("ray") / "photos"
    rng = numpy.random.default_rng(2)
    for i in range(48):
        path = root / f"class_{i % 3}/{i:02d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        small = rng.integers(0, 256, (24, 32, 3), dtype="uint8")
        Image.fromarray(small).resize((200, 150)).save(path, quality=90)
    (root / "class_1/bad.jpg").write_text("no picture")
    return root


@pytest.fixture(scope="module")
def whole(photos, tmp_path_factory):
    forget()
    with pytest.warns(leat.LeatWarning, match="left out"):
        return leat.pack(photos, tmp_path_factory.mktemp("whole") / "out", **OPTIONS)


def content(packed):
    return {path.name: path.read_bytes() for path in Path(packed.out).iterdir() if not path.name.startswith(".")}


def check_like(packed, whole):
    assert content(packed) == content(whole)
    assert not [name for name in os.listdir(packed.out) if ".tmp-" in name]
    for field in ("samples", "rejected", "duplicates", "shards", "bytes", "source_bytes"):
        assert getattr(packed, field) == getattr(whole, field), field
    assert leat.pack_verify(packed.out) == []


def test_tasks(photos, whole, tmp_path):
    said = []
    packed = leat.ray.pack(photos, tmp_path / "out", tasks=12, progress=lambda *state: said.append(state), **OPTIONS)
    check_like(packed, whole)
    assert said == [("packing parts", i + 1, 12) for i in range(12)]
    assert packed.kept_shards == 0 and len(packed.slowest) == len(packed.largest) == 5
    again = leat.ray.pack(photos, tmp_path / "out", tasks=2, **OPTIONS)  # another number of parts: all is there
    assert again.kept_shards == again.shards
    check_like(again, whole)


def test_relative_paths_and_datasets(photos, tmp_path, monkeypatch):
    monkeypatch.chdir(photos.parent)
    dataset = leat.from_directory("photos").filter("label != 1").shuffle(seed=5)
    whole = dataset.pack(tmp_path / "whole", shards=4, shuffle=True)
    check_like(leat.ray.pack(dataset, os.path.relpath(tmp_path / "out"), tasks=3, shards=4, shuffle=True), whole)


def process_of(title):
    """The process that runs the task of that name now, or None: Ray makes it the title of the process."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes().startswith(f"ray::{title}".encode()):
                return int(folder.name)
        except OSError:
            pass  # it has just ended
    return None


class Executioner(threading.Thread):
    """Kills the worker of part 2 of 4 when it has finished a shard and not all; `killed` says whether it came in time."""

    def __init__(self, out, shards):
        super().__init__()
        self.out, self.shards, self.killed, self.over = out, shards, False, threading.Event()

    def finished(self, k):
        return (self.out / f".data-{k:05d}-of-{self.shards:05d}.tfrecord.leatnote").exists()

    def run(self):
        while not self.finished(2) and not self.over.wait(0.001):
            pass
        pid = process_of("leat.ray.pack 2/4")
        if pid is None:
            return
        os.kill(pid, signal.SIGSTOP)  # so that nothing moves while it is looked at
        if process_of("leat.ray.pack 2/4") == pid and not self.finished(self.shards - 2):
            os.kill(pid, signal.SIGKILL)
            self.killed = True
        else:
            os.kill(pid, signal.SIGCONT)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Pictures that take long enough to be caught at."""
    root = tmp_path_factory.mktemp("large") / "photos"
    picture = Image.effect_noise((900, 700), 60).convert("RGB")
    for i in range(96):
        path = root / f"{i % 3}/{i:02d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        picture.rotate(i).save(path)
    return root


def test_a_worker_is_killed(large, tmp_path):
    options = {"size": 64, "shards": 24}
    whole = leat.pack(large, tmp_path / "whole", **options)
    for attempt in range(20):
        out = tmp_path / f"out{attempt}"
        killer = Executioner(out, 24)
        killer.start()
        packed = leat.ray.pack(large, out, tasks=4, **options)
        killer.over.set()
        killer.join()
        check_like(packed, whole)
        if killer.killed:
            assert packed.kept_shards >= 1  # what the dead worker had finished
            return
    pytest.fail("no kill came in time")


def test_a_worker_is_killed_for_good(large, tmp_path):
    options = {"size": 64, "shards": 24}
    for attempt in range(20):
        out = tmp_path / f"out{attempt}"
        killer = Executioner(out, 24)
        killer.start()
        try:
            leat.ray.pack(large, out, tasks=4, retries=0, **options)
        except leat.StoppedError as error:
            assert "part 2/4" in str(error) and "the same call goes on" in str(error) and "\n" not in str(error)
        killer.over.set()
        killer.join()
        check_like(leat.ray.pack(large, out, tasks=4, **options), leat.pack(large, tmp_path / "whole", **options))
        if killer.killed:
            return
    pytest.fail("no kill came in time")


def test_errors(photos, tmp_path):
    with pytest.raises(leat.DecodeError, match=r"bad\.jpg") as caught:
        leat.ray.pack(photos, tmp_path / "out", tasks=3, size=48)
    assert type(caught.value) is leat.DecodeError and "leat.ray.pack" in caught.value.__notes__[0]
    with pytest.raises(leat.NotFoundError, match="nowhere"):
        leat.ray.pack(tmp_path / "nowhere", tmp_path / "out", tasks=2)
    forget()
    with pytest.warns(leat.LeatWarning, match=r"left out: .*bad\.jpg: "):
        leat.ray.pack(photos, tmp_path / "skipped", tasks=3, size=40, on_error="skip")
