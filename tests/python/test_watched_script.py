# SPDX-License-Identifier: Apache-2.0
"""python -m leat doctor SCRIPT, for scripts without a framework; tests/frameworks/test_doctor_script.py has those with one."""
import json
import re
import subprocess
import sys

import pytest

LOOP = """
import atexit, sys, time
import leat
atexit.register(print, "atexit")
ds = leat.synthetic(400, 8, 8).batch(4)
print(next(iter(ds))[0].shape, sys.argv)
try:
    for epoch in range(2):
        for images, labels in ds:
            time.sleep(0.002)
        print("epoch", epoch)
finally:
    print("finally")
"""


def doctor(folder, *words, text=LOOP):
    (folder / "train.py").write_text(text)
    return subprocess.run([sys.executable, "-m", "leat", "doctor", *words], capture_output=True, text=True, timeout=60, cwd=folder)


def test_a_script_runs_as_it_is_and_the_answer_comes_at_its_end(tmp_path):
    done = doctor(tmp_path, "--json", "answer.json", "train.py", "--epochs", "2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["(4, 8, 8, 3) ['train.py', '--epochs', '2']", "epoch 0", "epoch 1", "finally", "atexit"]
    assert "leat doctor: The input is not the problem" in done.stderr, done.stderr
    (answer,) = json.loads((tmp_path / "answer.json").read_text())
    assert answer["watched"] == "the loop over a dataset of leat at train.py:9" and answer["steps"] > 20
    assert answer["findings"][0]["cause"] == "compute" and answer["batch"] == 4


def test_steps_end_the_loop_and_nothing_runs_behind_it(tmp_path):
    done = doctor(tmp_path, "--steps", "20", "train.py")
    assert done.returncode == 0 and done.stdout == "(4, 8, 8, 3) ['train.py']\n", done.stderr
    assert 4 < int(re.search(r"(\d+) steps of 4 watched", done.stderr)[1]) < 20  # the first ones are not counted


def test_what_happens_in_the_script_stays_what_it_is(tmp_path):
    failing = LOOP + "\nraise ValueError('mine')\n"
    done = doctor(tmp_path, "train.py", text=failing)
    assert done.returncode == 1 and "ValueError: mine" in done.stderr and "leat doctor: The input" in done.stderr
    done = doctor(tmp_path, "train.py", text="import sys\nassert 'numpy' not in sys.modules\nsys.exit(7)\n")
    assert done.returncode == 7 and "no training was seen" in done.stderr
    done = doctor(tmp_path, "-m", "train", text="print(__name__, __file__)\n")
    assert done.returncode == 0 and done.stdout.startswith("__main__ ") and "train.py" in done.stdout
    few = "import leat\nfor batch in leat.synthetic(4, 8, 8).batch(4): print(len(batch))\n"
    assert "no training was seen" in doctor(tmp_path, "train.py", text=few).stderr


@pytest.mark.parametrize("words, message", [
    (("--steps", "2", "train.py"), "--steps needs a number from 4, not '2'"),
    (("--steps", "many", "train.py"), "not 'many'"),
    (("nothing.py",), "there is no file nothing.py"),
    (("-m",), "-m needs the name of a module"),
    (("--json", "", "train.py"), "--json needs the name of a file"),
])
def test_wrong_words(tmp_path, words, message):
    done = doctor(tmp_path, *words)
    assert done.returncode == 1 and message in done.stderr and "Traceback" not in done.stderr and not done.stdout


def test_help_says_what_is_still_written(tmp_path):
    for words in (("--help",), ()):
        done = doctor(tmp_path, *words)
        assert done.returncode == 0 and "ModelCheckpoint" in done.stdout and "Still written" in done.stdout


def test_a_text_is_for_the_command(tmp_path):
    from leat._doctor.script import takes

    assert not takes(["folder photos | decode | batch 8"]) and not takes(["--seconds", "3", "synth 8 8 8 | batch 2"])
    assert takes(["--steps=9", "train.py"]) and takes(["train.py", "x | y"])
