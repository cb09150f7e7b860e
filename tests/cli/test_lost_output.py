# SPDX-License-Identifier: Apache-2.0
"""Output that is lost is an error: every verb, with its output on a device that is full."""
import re
import subprocess

import pytest

SYNTH = "synth n=50 height=8 width=8 | batch 4"
CALLS = {
    "run": ["run", SYNTH, "--sink", "digest"],
    "bench": ["bench", SYNTH],
    "plan": ["plan", SYNTH],
    "ops": ["ops", "--json"],
    "info": ["info", "PICTURES"],
    "show": ["show", "RECORDS"],
    "check": ["check", "PICTURES"],
    "index": ["index", "PICTURES"],
    "synth": ["synth", "OUT", "-n", "4"],
    "pack": ["pack", "PICTURES", "OUT"],
    "view": ["view", "--help"],  # its work goes into a file, and what it says to stderr
    "compare": ["compare", SYNTH, SYNTH],
    "split": ["split", "PICTURES"],
    "cache": ["cache"],
    "doctor": ["doctor", SYNTH, "--seconds", "0.1"],
    "top": ["top", "--once"],
    "help": ["--help"],
    "version": ["--version"],
    "help of a verb": ["run", "--help"],
}


def test_every_verb_is_here(leat):
    verbs = re.findall(r"^  ([a-z]+)  ", leat("--help").stdout, re.M)
    assert len(verbs) > 10 and set(verbs) <= set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_a_full_device(name, command, environment, pictures, records, tmp_path):
    places = {"PICTURES": str(pictures), "OUT": str(tmp_path / "out"),
              "RECORDS": str(records("a.tfrecord", [{"x": [1]}])) if name == "show" else ""}
    words = [re.sub("PICTURES|OUT|RECORDS", lambda found: places[found[0]], word) for word in CALLS[name]]

    def run(stdout):
        return subprocess.run([command, *words], stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=120, cwd=tmp_path,
                              env=environment, check=False)

    good = run(subprocess.PIPE)
    assert good.returncode == 0 and good.stdout, good.stderr
    subprocess.run(["rm", "-rf", tmp_path / "out"], check=True)
    with open("/dev/full", "w", encoding="utf-8") as full:
        lost = run(full)
    assert lost.returncode == 1 and "stdout cannot be written" in lost.stderr
