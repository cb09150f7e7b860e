# SPDX-License-Identifier: Apache-2.0
"""Which thread may call what: the table of docs/python.md, row by row."""
import threading
import time

import numpy

import leat


class Gate:
    """A function for `map` that waits until it is opened, so that a thread in next() waits for certain."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.entered = threading.Event()
        self.threads: set[int] = set()
        self.within = self.together = 0

    def __call__(self, sample: dict) -> int:
        self.within += 1
        self.together = max(self.together, self.within)
        self.threads.add(threading.get_ident())
        self.entered.set()
        self.within -= 1
        self.open.wait(30)
        return int(sample["label"])


def waiting(ds: leat.Dataset, gate: Gate) -> tuple[leat.Iterator, threading.Thread, list]:
    """An iterator, and a thread that waits in next() on it."""
    iterator, got = ds.batches(), []
    thread = threading.Thread(target=lambda: got.extend(iterator))
    thread.start()
    assert gate.entered.wait(30)
    return iterator, thread, got


def gated(n: int = 40) -> tuple[leat.Dataset, Gate]:
    gate = Gate()
    return leat.synthetic(n, 4, 4).map(gate, x="i64").configure(threads=1).batch(20), gate


def test_questions_do_not_wait_for_a_batch():
    ds, gate = gated()
    iterator, thread, got = waiting(ds, gate)
    begin = time.monotonic()
    assert iterator.stats()["batches"] == 0 and ds.stats()["batches"] == 0
    assert ds.bad_samples() == [] and len(ds) == 2 and "map" in str(ds) and ds.name(3)
    assert "step=1 " in ds.state(0, 1)
    assert time.monotonic() - begin < 10 and thread.is_alive()
    gate.open.set()
    thread.join(30)
    assert len(got) == 2


def test_state_waits_for_the_batch():
    ds, gate = gated()
    _, thread, got = waiting(ds, gate)
    states: list[str] = []
    asking = threading.Thread(target=lambda: states.append(ds.state()))
    asking.start()
    asking.join(0.3)
    assert asking.is_alive() and not states
    gate.open.set()
    thread.join(30)
    asking.join(30)
    assert len(got) == 2 and len(states) == 1


def test_functions_are_called_one_at_a_time_by_the_engine():
    ds, gate = gated(200)
    gate.open.set()
    assert sum(batch.n for batch in ds.configure(threads=4).batches()) == 200
    assert threading.get_ident() not in gate.threads and gate.together == 1


def test_closing_ends_the_iteration_of_others():
    ds, gate = gated()
    iterator, thread, got = waiting(ds, gate)
    threading.Timer(0.2, gate.open.set).start()
    iterator.close()
    thread.join(30)
    assert not thread.is_alive() and got == []


def test_samples_from_several_threads():
    ds = leat.synthetic(60, 8, 8).shuffle(seed=3).random_flip_left_right().batch(6)
    wanted = [ds.sample(i)[0].tobytes() for i in range(60)]
    made: dict[int, bytes] = {}

    def take(first: int) -> None:
        for i in range(first, 60, 4):
            made[i] = ds.sample(i)[0].tobytes()

    threads = [threading.Thread(target=take, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [made[i] for i in range(60)] == wanted
    assert numpy.concatenate([images for images, _ in ds]).shape == (60, 8, 8, 3)


def test_questions_while_it_is_closed():
    """A question gets its answer or a ValueError, whatever moment the close comes at."""
    wrong: list[BaseException] = []
    for _ in range(20):
        ds = leat.synthetic(100, 8, 8).batch(5)
        iterator = ds.batches()
        next(iterator)

        def ask() -> None:
            try:
                for _ in range(50):
                    iterator.stats()
                    ds.bad_samples()
            except ValueError:
                pass
            except BaseException as error:  # noqa: BLE001
                wrong.append(error)

        thread = threading.Thread(target=ask)
        thread.start()
        iterator.close()
        thread.join(30)
    assert not wrong
