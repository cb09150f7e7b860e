# SPDX-License-Identifier: Apache-2.0
"""examples/slow: the doctor names the cause of each program, and its remedies are lines that the program has."""
# leat-test: timeout=300
import os
import runpy
import sys
from pathlib import Path

import pytest
import tensorflow as tf
from leat._doctor.script import Observer
from leat._doctor.script_hooks import install

tf.config.set_visible_devices([], "GPU")
FOLDER = Path(__file__).resolve().parents[2] / "examples/slow"
sys.path.insert(0, str(FOLDER))
import measure  # noqa: E402
import practice  # noqa: E402

CAUSES = {
    "augment_in_model": {"augmentation"},
    "augment_by_generator": {"input"},
    "sequence_on_one_core": {"input", "dominant layer"},
    "hours_an_epoch": {"input", "serial random map"},
    "device_waits": {"input", "python generator", "overhead"},
    "records_in_order": {"serial random map", "small shuffle", "sequential read"},
}
REMEDIES = {
    "augment_in_model": "leat.keras.lift(model, ds)",
    "augment_by_generator": "import leat.auto",
    "sequence_on_one_core": "leat.from_python(dataset",
    "hours_an_epoch": "dataset.map(load, num_parallel_calls=tf.data.AUTOTUNE)",
    "device_waits": ".batch(64)",
    "records_in_order": "dataset.map(augment, num_parallel_calls=tf.data.AUTOTUNE)",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the programs keep the pictures that they make."""
    os.environ["LEAT_SLOW"] = str(tmp_path_factory.mktemp("slow"))
    yield
    del os.environ["LEAT_SLOW"]


@pytest.mark.parametrize("name", CAUSES)
def test_the_cause_is_named(name, folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "320" if name == "records_in_order" else "160", "2"])
    observer = Observer()
    install(observer)
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    found, *_ = observer.answer()
    assert CAUSES[name] <= {each.cause for each in found.findings}, found.text()
    assert any(REMEDIES[name] in each.change for each in found.remedies), found.text()
    assert capsys.readouterr().out.count("epoch ") == 2


def test_every_program_is_measured_and_described():
    programs = {path.stem for path in FOLDER.glob("*.py")} - {"measure", "practice"}
    assert programs == set(measure.PROGRAMS) == set(CAUSES)
    page = measure.PAGE.read_text()
    for name in programs:
        steps = measure.texts(name)  # each line that is changed is there once
        assert len(steps) > 1 and compile(steps[-1][1], name, "exec")
        assert measure.diff(name) in page and f"<!-- {name}: end -->" in page


@pytest.mark.parametrize("name", CAUSES)
def test_the_changed_program_runs(name, folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "160", "1"])
    program = tmp_path / "program.py"
    program.write_text(measure.texts(name)[-1][1])
    runpy.run_path(str(program), run_name="__main__")
    assert capsys.readouterr().out.count("epoch ") == 1


def test_the_command_asks_and_writes(folder, tmp_path):
    practice.photos(32)  # on a busy machine the loop that makes them could take longer than the one that is meant
    answer, found = measure.ask("device_waits", 32, 2)
    assert answer.startswith("leat doctor: Waiting for data") and found["watched"].startswith("the loop over a tf.data.Dataset at device")
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- device_waits: begin. x -->\nold\n<!-- device_waits: end -->\nb\n")
    measure.write([measure.Result("device_waits", answer, found, [("as it is", 4.0), ("changed", 1.0)], 32)], page)
    text = page.read_text()
    assert text.startswith("a\n<!-- device_waits: begin. x -->\n") and text.endswith("<!-- device_waits: end -->\nb\n")
    assert answer in text and "| changed | 1.00 s | 32 | x4.0 |" in text and "old" not in text
    assert "+train = leat.from_directory" in text and measure.arithmetic(found)[2].endswith(" h |")
