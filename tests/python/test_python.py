# SPDX-License-Identifier: Apache-2.0
"""Datasets of Python in worker processes: from_python."""
import os
import subprocess
import sys
import time
from pathlib import Path

import leat
import numpy
import pytest
from children import children


class Squares:
    """A map-style dataset."""

    def __init__(self, n: int = 40, file: str = "") -> None:
        self.n, self.file = n, file

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int):
        if self.file and i == 7 and not os.path.exists(self.file):
            Path(self.file).touch()
            os.kill(os.getpid(), 9)
        return numpy.full((8, 6, 3), i, "uint8"), i * i


class Batches:
    """As a Keras Sequence is: items are batches, the last one is smaller."""

    def __len__(self) -> int:
        return 5

    def __getitem__(self, i: int):
        n = 3 if i == 4 else 10
        return {"a": numpy.full((n, 4), i, "f4"), "b": numpy.full((n, 2, 2), -i, "f8")}, numpy.arange(n) + 10 * i


class Meeting:
    """Items that wait until as many of them are under way at once as were asked for, and note how many there were."""

    def __init__(self, folder: Path, wanted: int) -> None:
        self.folder, self.wanted = str(folder), wanted

    def __len__(self) -> int:
        return 40

    def __getitem__(self, i: int):
        folder = Path(self.folder)
        if (folder / "go").exists():
            mine = folder / "now" / str(i)
            mine.touch()
            while not (folder / "met").exists():
                if len(list((folder / "now").iterdir())) >= self.wanted:
                    (folder / "met").touch()
                time.sleep(0.001)
            (folder / "seen" / f"{i}-{len(list((folder / 'now').iterdir()))}").touch()
            mine.unlink()
        return numpy.full((4, 4, 3), i, "uint8"), i


@pytest.mark.parametrize("workers", [1, 9])
def test_as_many_requests_at_once_as_workers(tmp_path, workers):
    for name in ("now", "seen"):
        (tmp_path / name).mkdir()
    ds = leat.from_python(Meeting(tmp_path, workers), workers=workers).shuffle(seed=1).batch(8).configure(threads=2)
    assert len(ds) == 5  # it has looked at some items
    (tmp_path / "go").touch()
    labels = [label for _, labels in ds for label in labels.tolist()]
    assert sorted(labels) == list(range(40))
    assert max(int(path.name.partition("-")[2]) for path in (tmp_path / "seen").iterdir()) <= workers
    ds.close()


def test_samples():
    before = children()
    ds = leat.from_python(Squares(), workers=2).shuffle(seed=1).random_flip_left_right().batch(8)
    assert len(ds) == 5
    epochs = []
    for _ in range(2):
        seen = []
        for images, labels in ds:
            assert (images[:, 0, 0, 0].astype(int) ** 2 == labels).all() and images.shape[1:] == (8, 6, 3)
            seen += labels.tolist()
        assert sorted(seen) == [i * i for i in range(40)]
        epochs.append(seen)
    assert epochs[0] != epochs[1]
    assert 1 <= len(children() - before) <= 2
    again = leat.from_python(Squares(), workers=1).shuffle(seed=1).random_flip_left_right().batch(8)
    assert sum((labels.tolist() for _, labels in again), []) == epochs[0]  # whatever the number of workers
    again.restore(ds.state(0, 3))
    assert sum((labels.tolist() for _, labels in again), []) == epochs[0][24:]
    assert ds.sample(5)[1] == epochs[0][5] and ds.statistics().samples == 40
    assert [part.shape for part in ds.element_spec] == [(8, 8, 6, 3), (8,)]
    del ds, again
    deadline = time.monotonic() + 10
    while children() - before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not children() - before  # nothing is left behind


def test_slow_items_start_no_more_processes():
    class Slow(Squares):
        def __getitem__(self, i):
            time.sleep(0.02)
            return super().__getitem__(i)

    before = children()
    most = 0
    ds = leat.from_python(Slow(80), workers=2).filter(lambda sample: int(sample["label"]) % 2 == 0).batch(8)
    for _ in ds:
        most = max(most, len(children() - before))
    assert 1 <= most <= 2  # also while threads that make samples ask for what nobody has read ahead


def test_batches():
    ds = leat.from_python(Batches(), workers=2, items="batch").shuffle(seed=3)
    assert len(ds) == 5 and ds.batched
    lengths = []
    for inputs, labels in ds:
        number = int(labels[0]) // 10
        lengths.append(len(labels))
        assert set(inputs) == {"a", "b"} and (inputs["a"] == number).all() and (inputs["b"] == -number).all()
        assert inputs["a"].shape == (len(labels), 4) and inputs["b"].shape == (len(labels), 2, 2)
    assert sorted(lengths) == [3, 10, 10, 10, 10] and lengths != [10, 10, 10, 10, 3]
    assert ds.element_spec[0]["b"].shape == (None, 2, 2)
    assert ds.statistics("a").samples == 43
    for operation in (lambda: ds.batch(4), lambda: ds.resize(8, 8)):
        with pytest.raises(leat.ArgumentError, match="items='sample'"):
            operation()


def test_a_dead_worker_is_replaced(tmp_path):
    ds = leat.from_python(Squares(20, str(tmp_path / "died")), workers=2).batch(5)
    assert sum((labels.tolist() for _, labels in ds), []) == [i * i for i in range(20)]
    assert (tmp_path / "died").exists()


def test_what_kills_every_worker_is_named():
    class Deadly(Squares):
        def __getitem__(self, i):
            if i == 3:
                os._exit(11)
            return super().__getitem__(i)

    with pytest.raises(leat.ReadError, match="item 3 has ended its worker process 3 times.*exit code 11"):
        list(leat.from_python(Deadly(8), workers=1).batch(4))


def test_exceptions_come_through():
    class Broken(Squares):
        def __getitem__(self, i):
            if i == 5:
                raise LookupError("no such file: five.png")
            return super().__getitem__(i)

    ds = leat.from_python(Broken(8), workers=1).batch(2)
    with pytest.raises(leat.ReadError, match="five.png") as caught:
        list(ds)
    assert isinstance(caught.value.__cause__, LookupError) and caught.value.sample == 5
    assert "__getitem__" in "".join(caught.value.__cause__.__notes__)
    kept = ds.options(on_error="skip")
    assert sum(len(labels) for _, labels in kept) == 7


def test_pictures_of_different_sizes_and_strings():
    class Mixed(Squares):
        def __getitem__(self, i):
            return {"image": numpy.full((10 + i, 20 - i, 3), i, "uint8"), "name": f"no {i}", "x": 0.5}

    class Words(Squares):
        def __getitem__(self, i):
            return {"x": 0.5 * i, "flag": i % 2 == 0}

    ds = leat.from_python(Mixed(6), workers=1).select("image", "x").resize(4, 4).batch(6)
    batch = next(iter(ds))
    assert batch["image"][:, 0, 0, 0].tolist() == [0, 1, 2, 3, 4, 5] and batch["x"].tolist() == [0.5] * 6
    words = next(iter(leat.from_python(Words(4), workers=1).batch(4)))
    assert words["x"].dtype == numpy.float32 and words["flag"].tolist() == [True, False, True, False]


@pytest.mark.parametrize("make, error, words", [
    (lambda: leat.from_python(iter([1])), TypeError, "from_generator"),
    (lambda: leat.from_python(Squares(), items="batches"), ValueError, "'batch' or 'sample'"),
    (lambda: leat.from_python(Squares(), workers=0), ValueError, "workers"),
    (lambda: len(leat.from_python(Squares(0)).batch(2)), leat.ArgumentError, "no items"),
    (lambda: len(leat.from_python(Squares(4), items="batch")), leat.ArgumentError, "one number"),
])
def test_wrong_use(make, error, words):
    with pytest.raises(error, match=words):
        make()


SCRIPT = """
import sys, os
print("script runs", flush=True)
import numpy, leat
class Mine:
    def __len__(self): return 12
    def __getitem__(self, i): return numpy.full(3, i, "f4"), helper(i)
def helper(i): return i + 100
ds = leat.from_python(Mine(), workers=2).batch(4)
print(sum((labels.tolist() for _, labels in ds), []), flush=True)
print("children", len(os.popen(f"pgrep -P {os.getpid()} python3").read().split()))
END
"""


@pytest.mark.parametrize("end", ["", "iterator = iter(ds); next(iterator)", "raise ValueError",
                                 "os.kill(os.getpid(), 9)"])
def test_a_script_is_not_run_again(tmp_path, end):
    """No guard is needed, and no process survives, however the script ends."""
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.replace("END", end))
    marker = f"LEAT_TEST={tmp_path}".encode()
    env = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(leat.__file__)), "LEAT_TEST": str(tmp_path)}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, env=env)
    assert done.stdout.count("script runs") == 1 and str(list(range(100, 112))) in done.stdout, done.stderr
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        left = [task for task in Path("/proc").glob("[0-9]*/cmdline")
                if b"leat._calls.worker" in _read(task) and marker in _read(task.parent / "environ")]
        if not left:
            break
        time.sleep(0.1)
    assert not left


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
