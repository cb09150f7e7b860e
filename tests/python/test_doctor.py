# SPDX-License-Identifier: Apache-2.0
"""What a diagnosis looks like, and leat.doctor on iterables without a framework."""
import json
import os
import re
import subprocess
import sys
import time

import leat
import numpy
import pytest
from clock import Clock
from leat._doctor import clocks, devices, watch
from leat._doctor.clocks import Shape
from leat._doctor.findings import Diagnosis, Finding, Remedy, Table, duration
from leat._doctor.remedies import tell_copies


def a_diagnosis() -> Diagnosis:
    found = Diagnosis(steps=40, step_s=0.1, wait_s=0.08, compute_s=0.015, batch=32, parts={"callbacks": 0.005})
    found.add(Finding("callback", "A callback takes 5 ms at every step.", 0.05))
    found.add(Finding("input", "Waiting for data takes 80 % of a step.", 0.8, "next() was timed"))
    found.offer(Remedy("remove the callback", 1.05, "", "callbacks=[]"))
    found.offer(Remedy("worker processes", 3.2, "memory", "DataLoader(dataset, batch_size=32, num_workers=4, pin_memory=True)"))
    found.offer(Remedy("worker processes", 3.2, "memory", "DataLoader(dataset, batch_size=32, num_workers=4, pin_memory=True)"))
    found.tables.append(Table("Layers", ("layer", "parameters"), [("dense", "1,000")]))
    return found


@pytest.mark.parametrize("width", (40, 80, 120))
def test_text_is_a_verdict_numbers_and_ranked_remedies(width):
    text = a_diagnosis().text(width)
    lines = text.splitlines()
    assert lines[0].startswith("Waiting for data takes 80 %")
    assert "320 samples/s" in " ".join(lines) and "#####" in text
    assert text.index("1. worker processes: x3.2") < text.index("2. remove the callback: x1.1")
    assert text.count("worker processes") == 1  # offered twice
    for line in lines:
        assert len(line) < width or "num_workers=4, pin_memory=True" in line  # a line to copy is not broken


def test_other_forms():
    found = a_diagnosis()
    read = json.loads(found.to_json())
    assert read["findings"][0]["cause"] == "input" and read["verdict"] == found.verdict and read["rate"] == pytest.approx(320)
    found.add(Finding("device", "A <GPU> is there and not used.", first=True))
    assert found.verdict.startswith("A <GPU>") and "A &lt;GPU&gt;" in found._repr_html_()
    assert found.find("callback").share == 0.05 and found.find("compute") is None
    with pytest.raises(ValueError, match="is no cause"):
        Finding("weather", "It rains.")


def test_nothing_watched():
    assert str(Diagnosis(0, 0, 0, 0)) == "Nothing was watched." and Diagnosis(0, 0, 0, 0)._repr_html_()


def test_durations():
    assert [duration(s) for s in (0, 2e-5, 0.0012, 0.05, 1.44, 42, 600, 36000)] == [
        "0 ms", "20 us", "1.2 ms", "50 ms", "1.4 s", "42 s", "10 min", "10.0 h"]


# ------------------------------------------------------------------------------------------------ iterables

BATCH = numpy.zeros((8, 4, 4, 3), "f4"), numpy.zeros(8, "i8")


@pytest.fixture
def clock(monkeypatch) -> Clock:
    made = Clock()
    for module in (clocks, watch):
        monkeypatch.setattr(module, "now", made)
    return made


def slow(seconds: float, n: int = 10**6, sleep=time.sleep):
    for _ in range(n):
        sleep(seconds)
        yield BATCH


def test_waiting_is_told_from_work():
    found = leat.doctor(slow(0.06), step=lambda batch: time.sleep(0.02), steps=13)
    assert found.findings[0].cause == "input" and found.batch == 8, str(found)
    assert found.wait_s >= 0.06 and found.compute_s >= 0.02
    assert found.remedies and "leat.from_python" in str(found) and "13 batches were taken" in str(found)


def test_waiting_and_work_on_a_clock(clock):
    found = leat.doctor(slow(0.06, sleep=clock.sleep), step=lambda batch: clock.sleep(0.02), steps=13)
    assert found.findings[0].cause == "input" and found.steps == 7 and not any("does not count" in note for note in found.notes)
    assert found.findings[0].share == pytest.approx(0.75)
    assert (found.wait_s, found.compute_s) == (pytest.approx(0.06), pytest.approx(0.02))
    assert "the processor was idle" in found.findings[0].evidence


def test_one_stall_does_not_hide_the_cause(clock):
    """A machine that stood still for seconds in one step made its work the cause, and in one wait the data."""
    def batches(wait, stall):
        for n in range(13):
            clock.sleep(stall if n == 9 else wait)
            yield n

    def step(stall):
        return lambda n: clock.sleep(stall if n == 9 else 0.02)

    for data, work, wait, cause in ((batches(0.06, 0.06), step(3), 0.06, "input"), (batches(0, 3), step(0.02), 0, "compute")):
        found = leat.doctor(data, step=work, steps=13)
        assert found.findings[0].cause == cause and found.steps == 6, str(found)
        assert found.compute_s == pytest.approx(0.02) and found.wait_s == pytest.approx(wait)
        assert re.search(r"One step took 3\.[01] s, longer than the other 6 together", " ".join(str(found).split())), str(found)


def test_waits_that_come_again_are_no_stall(clock):
    def batches():
        while True:
            for n in range(4):  # four workers, one behind the other
                clock.sleep(0 if n else 1.0)
                yield BATCH

    found = leat.doctor(batches(), step=lambda batch: clock.sleep(0.01), steps=40)
    assert found.findings[0].cause == "input" and found.wait_s == pytest.approx(0.25) and not any("count" in each for each in found.notes)


def test_input_that_is_not_the_problem_is_called_so():
    found = leat.doctor([BATCH] * 5, step=lambda batch: time.sleep(0.02), steps=12)
    assert found.verdict.startswith("The input is not the problem") and found.find("input") is None and not found.remedies


def test_one_busy_thread_is_named():
    def busy():
        while True:
            begun = time.thread_time()
            while time.thread_time() - begun < 0.02:
                pass
            yield BATCH

    for _ in range(3):  # a machine that stands still leaves the thread idle
        found = leat.doctor(busy(), step=lambda batch: None, steps=20)
        one = found.find("one thread")
        if one is not None:
            break
    assert found.findings[0].cause == "input"
    assert (one is None) == (len(os.sched_getaffinity(0)) < 2)
    assert one is None or "the main thread" in one.sentence


def test_slow_later_epochs_are_a_cause_of_their_own(clock):
    class Data:
        epochs = 0

        def __iter__(self):
            self.epochs += 1
            return slow(0.01 if self.epochs == 1 else 0.05, 8, clock.sleep)

    found = leat.doctor(Data(), step=lambda batch: None, steps=24)
    later = found.find("later epochs")
    assert later is not None and later.share == pytest.approx(0.8), str(found)


def test_the_beginning_of_epochs(clock):
    class Data:
        def __iter__(self):
            clock.sleep(0.2)
            return slow(0.005, 8, clock.sleep)

    found = leat.doctor(Data(), step=lambda batch: None, steps=24)
    assert found.find("epoch start").share == pytest.approx(0.2 / 0.24) and found.find("later epochs") is None, str(found)


def test_data_alone(clock):
    found = leat.doctor(slow(0.02, sleep=clock.sleep), steps=10)
    assert found.verdict.startswith("The data alone come at") and found.rate == pytest.approx(400)


def test_leat_datasets_are_examined_by_the_engine():
    pictures = numpy.random.RandomState(1).randint(0, 255, (64, 96, 96, 3), "u1")
    ds = leat.from_arrays((pictures, numpy.arange(64))).random_rotation(0.2).resize(64, 64).batch(8)
    for found in (leat.doctor(ds, seconds=0.3), ds.doctor(step_ms=0.001, seconds=0.3)):
        assert found.batch == 8 and found.rate > 0 and found.findings[0].cause == "engine", str(found)
        assert found.tables[0].title.startswith("Ceilings") and any("transform" in row[0] for row in found.tables[0].rows)
    found = leat.doctor(ds, step=lambda batch: time.sleep(0.05), steps=9)
    assert found.batch == 8 and found.compute_s >= 0.05
    assert ds.doctor(step_ms=500, seconds=0.5).findings[0].cause == "compute"


def test_copies_of_large_batches():
    found = Diagnosis(steps=40, step_s=0.1, wait_s=0.0, compute_s=0.1, batch=64)
    tell_copies(found, Shape(64, 38_535_168, "float32", (64, 224, 224, 3)), 0.03, False)
    assert found.find("copies").share == pytest.approx(0.3) and "38.5 MB takes 30 ms" in found.verdict
    assert found.remedies[0].gain == pytest.approx(1 / (1 - 0.3 * 0.75)) and "Rescaling(1 / 255)" in found.remedies[0].change
    few = Diagnosis(steps=40, step_s=0.1, wait_s=0.0, compute_s=0.1, batch=64)
    tell_copies(few, Shape(64, 2000, "float32", (64, 8)), 0.03, False)
    assert not few.findings


def test_bad_input_is_one_line():
    for wrong, words in (((7,), "cannot be iterated"), (([],), "gave nothing"), ((iter(()),), "used up"),
                         (([1], 3), "step is a function")):
        with pytest.raises(leat.ArgumentError, match=words):
            leat.doctor(*wrong)
    with pytest.raises(leat.ArgumentError, match="steps is a number"):
        leat.doctor([1], steps=0)
    with pytest.raises(RuntimeError, match="of the user"):
        leat.doctor([1], step=lambda batch: (_ for _ in ()).throw(RuntimeError("of the user")))


def test_devices_of_a_machine(tmp_path):
    assert devices.on_machine(str(tmp_path)) == []
    card = tmp_path / "sys/bus/pci/devices/0000:01:00.0"
    card.mkdir(parents=True)
    (card / "class").write_text("0x030200\n")
    (card / "vendor").write_text("0x10de\n")
    assert devices.on_machine(str(tmp_path)) == ["NVIDIA"]
    found = a_diagnosis()
    assert devices.check(found, "tensorflow", "", str(tmp_path)) == []  # TensorFlow is not imported: it sees nothing
    assert found.verdict.startswith("A device is present and not used") and "nvidia-smi proves little" in str(found)
    assert any("tensorflow[and-cuda]" in remedy.change for remedy in found.remedies)


def test_doctors_import_no_framework():
    code = ("import sys, leat; leat.torch.Doctor(); leat.doctor([1], step=print, steps=3);"
            "print([n for n in ('torch', 'tensorflow', 'keras', 'jax') if n in sys.modules])")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.splitlines()[-1] == "[]"
