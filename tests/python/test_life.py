# SPDX-License-Identifier: Apache-2.0
"""Ends of all kinds: no crash, no hang, no leak, and a message that says what to do."""
import concurrent.futures
import os
import signal
import subprocess
import sys
import time

import leat
import pytest

LIMIT = 60  # seconds for one process, on a machine that is busy with other things
PACKAGE = os.path.dirname(os.path.dirname(leat.__file__))
BEGIN = f"""
import sys
sys.path.insert(0, {PACKAGE!r})
import leat
ds = leat.synthetic(100000, 32, 32).shuffle(seed=1).random_brightness(10).batch(16)
it = ds.batches()
kept = [next(it) for _ in range(3)]
"""
ENDS = {
    "normal": ("", 0),
    "exception": ("raise ValueError('in the loop')", 1),
    "sys.exit": ("sys.exit(7)", 7),
    "daemon": ("import threading, time\nthreading.Thread(target=lambda: list(it), daemon=True).start()\n"
               "time.sleep(0.05)", 0),
    "generator": ("it2 = (b.n for b in ds.batches()); next(it2); globals()['x'] = (it2, it, ds)", 0),
}


def finish(code: str, interrupt: bool = False) -> tuple[int, str, float]:
    process = subprocess.Popen([sys.executable, "-E", "-S", "-c", code], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = ""
    if interrupt:
        said = process.stdout.readline()
        time.sleep(0.02)
        process.send_signal(signal.SIGINT)
    began = time.monotonic()
    try:
        said += process.communicate(timeout=LIMIT)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"it hangs: {process.communicate()[0]}") from None
    return process.returncode, said, time.monotonic() - began


def test_a_hundred_ends_in_mid_epoch():
    """Normal ends, exceptions and Ctrl-C, each in a process of its own under a time limit."""
    jobs = [(BEGIN + code, False, wanted) for code, wanted in ENDS.values()] * 14
    loop = BEGIN + "print('ready', flush=True)\nfor batch in it: kept = kept[-2:] + [batch]"
    jobs += [(loop, True, -signal.SIGINT)] * 30
    with concurrent.futures.ThreadPoolExecutor(max(2, os.cpu_count() or 2)) as pool:
        results = list(pool.map(lambda job: finish(job[0], job[1]), jobs))
    assert len(results) == 100
    for (_, interrupt, wanted), (code, said, _) in zip(jobs, results):
        assert code == wanted or (interrupt and code in (1, 130)), said
        assert "Fatal" not in said and "Segmentation" not in said, said


def test_ctrl_c_in_a_wait_is_prompt():
    """A slow source: next waits for long, and Ctrl-C must not."""
    code = f"""
import sys, time
sys.path.insert(0, {PACKAGE!r})
import leat
def slow(sample):
    time.sleep(0.5)
    return 0
ds = leat.synthetic(100, 4, 4).map(slow, x="f32").configure(threads=1).batch(50)
print("ready", flush=True)
try:
    for batch in ds.batches(): pass
except KeyboardInterrupt:
    print("interrupted")
"""
    code, said, seconds = finish(code, interrupt=True)
    assert code == 0 and "interrupted" in said and seconds < 10


def test_going_on_after_ctrl_c(run):
    said = run("""
import signal, leat, time
def slow(sample):
    time.sleep(0.02)
    return 0
ds = leat.synthetic(40, 4, 4).map(slow, x="f32").configure(threads=1).batch(20)
it = ds.batches()
signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    next(it)
except KeyboardInterrupt:
    print([batch.samples[0] for batch in it])
""")
    assert said.strip() == "[0, 20]"


def test_close_in_a_handler(run):
    """Of a signal that comes while this thread waits for a batch: it cannot wait for itself."""
    said = run("""
import signal, leat, time
def slow(sample):
    time.sleep(0.05)
    return 0
it = leat.synthetic(400, 4, 4).map(slow, x="f32").configure(threads=1).batch(200).batches()
signal.signal(signal.SIGALRM, lambda *_: it.close())
signal.setitimer(signal.ITIMER_REAL, 0.3)
print(next(it, "closed"))
it.close()
print("end")
""")
    assert said == "closed\nend\n"


def test_ctrl_c_while_another_thread_waits(run):
    assert "interrupted" in run("""
import signal, leat, time, threading
def slow(sample):
    time.sleep(1)
    return 0
it = leat.synthetic(40, 4, 4).map(slow, x="f32").configure(threads=1).batch(20).batches()
threading.Thread(target=lambda: next(it, None), daemon=True).start()
time.sleep(0.3)
signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
signal.setitimer(signal.ITIMER_REAL, 0.2)
try:
    next(it)
except KeyboardInterrupt:
    print("interrupted", flush=True)
import os; os._exit(0)
""")


def test_fork_after_start(run):
    said = run("""
import os, leat
ds = leat.synthetic(1000, 8, 8).shuffle(seed=1).batch(10)
it = iter(ds); first = next(it)
child = os.fork()
if child == 0:
    try:
        next(it)
    except leat.ForkedError as error:
        print("child:", error, flush=True)
    fresh = [labels.tolist() for _, labels in ds]       # a new iteration opens a pipeline of its own
    print("child iterates", len(fresh), flush=True)
    del it, first, ds
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("parent goes on", len(list(it)))
""")
    assert "before fork()" in said and "spawn" in said and "child iterates 100" in said and "parent goes on 99" in said


def test_closing_while_others_wait(run):
    said = run("""
import leat, threading, time
def slow(sample):
    time.sleep(0.3)
    return 0
ds = leat.synthetic(40, 4, 4).map(slow, x="f32").configure(threads=1).batch(20)
it = ds.batches()
seen = []
def wait():
    try:
        next(it)
    except Exception as error:
        seen.append(type(error).__name__)
threads = [threading.Thread(target=wait) for _ in range(3)]
[thread.start() for thread in threads]
time.sleep(0.2)
it.close()
[thread.join(20) for thread in threads]
print(sorted(seen), [thread.is_alive() for thread in threads])
""")
    assert "[False, False, False]" in said


def test_exceptions_in_a_loop_let_go():
    ds = leat.synthetic(1000, 8, 8).shuffle(seed=1).batch(10)
    for _ in range(20):
        with pytest.raises(ZeroDivisionError):
            for number, _ in enumerate(ds):
                1 / (3 - number)
    assert len(os.listdir("/proc/self/task")) < 60


def test_sub_interpreters_are_refused(run):
    said = run("""
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
import os
number = interpreters.create()
code = "try:\\n    import leat\\nexcept ImportError as error:\\n    print('refused:', error, flush=True)"
interpreters.run_string(number, code)
interpreters.destroy(number)
import leat
print(len(leat.synthetic(4).batch(2)))
""")
    assert "main interpreter only" in said and said.strip().endswith("2")


def test_errors_survive_pickling():
    import pickle

    with pytest.raises(leat.NotFoundError) as caught:
        len(leat.from_directory("/nowhere").batch(2))
    assert isinstance(caught.value, FileNotFoundError) and "/nowhere" in str(caught.value)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is leat.NotFoundError and again.code == "NOT_FOUND" and str(again) == str(caught.value)


@pytest.mark.parametrize("what", ["gc.collect()", "iterator.close()"])
def test_an_end_in_a_callback_of_its_own(run, what):
    """The collector of garbage runs in any thread. A worker waited ten seconds for its own end, and used freed memory then."""
    assert run(f"""
import gc, os, threading, time, numpy, leat
gc.disable()
main, go, seen = threading.get_ident(), threading.Event(), []
def shorten(image):
    if go.is_set() and not seen:
        seen.append(threading.get_ident() != main)
        {what}
        seen.append("ended")
    time.sleep(0.001)
    return image[:3]
class Knot: pass
knot = Knot()
iterator = knot.iterator = iter(leat.from_arrays(numpy.zeros((4000, 6), "f4")).map(shorten).configure(threads=2, slots=8).batch(7))
knot.knot = knot
next(iterator)
del knot
{"del iterator" if "gc" in what else ""}
began = time.monotonic()
go.set()
while "ended" not in seen and time.monotonic() - began < 20:
    time.sleep(0.01)
iterator = None
while len(os.listdir("/proc/self/task")) > 1 and time.monotonic() - began < 20:
    gc.collect()
    time.sleep(0.01)
print(seen, time.monotonic() - began < 8)
""") == "[True, 'ended'] True\n"


def test_a_cycle_through_a_function_is_collected(run):
    """The functions of a pipeline were hidden from the collector: an object with a pipeline on its own method stayed for ever."""
    assert run("""
import gc, os, time, weakref, numpy, leat
class Trainer:
    def __init__(self):
        data = leat.from_arrays(numpy.zeros((400, 6), "f4")).map(self.shorten).configure(threads=2, slots=3)
        self.iterator = iter(data.batch(7))
    def shorten(self, image):
        return image[:3]
alive = []
for _ in range(3):
    trainer = Trainer()
    next(trainer.iterator)
    alive.append(weakref.ref(trainer))
    del trainer
began = time.monotonic()
while len(os.listdir("/proc/self/task")) > 1 and time.monotonic() - began < 20:
    gc.collect()  # it must wait for workers that are in the method
    time.sleep(0.01)
print([each() for each in alive], time.monotonic() - began < 8)
""") == "[None, None, None] True\n"
