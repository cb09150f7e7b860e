# SPDX-License-Identifier: Apache-2.0
"""leat doctor: what it prints and refuses. Whether it is right is the subject of tests/long/test_doctor_truth.py."""
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios

import pytest

QUICK = ("--seconds", 0.2)


def examine(leat, text: str, *words, **more) -> dict:
    return json.loads(leat("doctor", text, "--json", *QUICK, *words, **more).stdout)


def names(report: dict, of: str) -> list[str]:
    return [entry["name"] for entry in report[of]]


def test_a_folder(leat, pictures):
    report = examine(leat, f"folder {pictures} | shuffle | decode | resize 16 16 | batch 4")
    assert report["samples_per_s"] > 0 and report["input_binds"]
    assert not report["note"] or report["note"].startswith("Other programs had cores"), report["note"]
    assert {"storage, cold", "storage, warm", "decode", "transform", "memory"} <= set(names(report, "ceilings"))
    assert all(ceiling["rate"] > 0 and ceiling["how"] for ceiling in report["ceilings"])
    assert sum(n for _, n in report["latency"]["below_s"]) > 0
    assert report["moments"] and all(0 <= wait <= 1 and 0 <= idle <= 1 for _, _, wait, idle in report["moments"])
    gains = [remedy["gain"] for remedy in report["remedies"]]
    assert gains == sorted(gains, reverse=True)
    assert all(remedy["command"] and remedy["title"] for remedy in report["remedies"])


def test_a_pack_keeps_what_a_crop_shows(leat, pictures):
    """Behind a crop of a number of pixels a smaller picture is another picture, and without a resize there is no size to pack at."""
    smaller = {"pack-size", "pack-raw"}
    for text in ("decode | random_crop 8 8", "decode | center_crop 8 8 | resize 16 16", "decode | pad 2 | resize 16 16"):
        assert not smaller & set(names(examine(leat, f"folder {pictures} | {text} | batch 4"), "remedies")), text
    report = examine(leat, f"folder {pictures} | decode | random_rotation 0.2 | resize 4 4 | batch 4")
    for remedy in report["remedies"]:
        if remedy["name"] in smaller:
            assert "before the operations that stand in front of the resize" in remedy["cost"]
        if remedy["name"] == "order":
            assert remedy["title"] == "resize first, then the operation in front of it"


def test_bars_of_letters_or_not(leat):
    for locale, block in (("C", "#"), ("C.UTF-8", "█")):
        out = leat("doctor", "synth 50 8 8 | batch 4", "--step-ms", 10, *QUICK, env={"LC_ALL": locale}).stdout
        assert re.search(rf"^  consumer +[\d,.]+ {block}+", out, re.M), out


def test_a_slow_consumer(leat):
    report = examine(leat, "synth 50 8 8 | batch 4", "--step-ms", 80)
    assert report["cause"] == "consumer" and not report["input_binds"] and report["binding"] == "consumer"
    assert names(report, "remedies") == ["lift"] and report["remedies"][0]["kind"] == "advice"
    out = leat("doctor", "synth 50 8 8 | batch 4", "--step-ms", 80, *QUICK).stdout
    assert "The input is not the problem" in out and "<- binds" in out
    said = leat("doctor", "synth 50 8 8 | batch 4", "--step-ms", 80, *QUICK, "--apply", 1, code=1).stderr
    assert "is advice: leat cannot carry it out" in said
    assert "there is no remedy 7" in leat("doctor", "synth 50 8 8 | batch 4", "--step-ms", 80, *QUICK, "--apply", 7, code=1).stderr


def test_no_consumer(leat):
    assert "No consumer was given: --step-ms" in leat("doctor", "synth 50 8 8 | batch 4", *QUICK).stdout


def test_apply_writes_to_the_folder(leat, pictures, tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    text = f"folder {pictures} | decode | resize 8 8 | batch 4"
    report = examine(leat, text, "--folder", place)
    assert not list(place.iterdir())  # trials leave nothing
    written = [n for n, remedy in enumerate(report["remedies"], 1) if remedy["kind"] == "command"]
    if not written:
        pytest.skip("no remedy that writes has shown a gain")
    done = leat("doctor", text, "--folder", place, *QUICK, "--apply", written[0], "--json", code=None)
    if done.returncode == 0 and (folder := json.loads(done.stdout)["applied"]["folder"]):
        assert folder.startswith(str(place)) and list(place.iterdir())
        assert f"tfrecord {folder}/" in json.loads(done.stdout)["applied"]["spec"]


def test_a_folder_that_cannot_be_written(leat, pictures):
    report = examine(leat, f"folder {pictures} | decode | resize 8 8 | batch 4", env={"TMPDIR": "/proc"})
    assert not set(names(report, "remedies")) & {"pack", "pack-size", "pack-raw", "cache"}
    if report["cause"] in ("decode", "files", "storage", "read"):
        assert "were not tried: cannot make a temporary folder in /proc" in report["note"]


def test_bad_input(leat, pictures, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    for text, said in ((f"folder {empty} | decode | batch 4", "no image"),
                       ("synth 10 8 8 | take 0 | batch 4", "no sample is left"),
                       ("synth 10 8 8 | no_such | batch 4", "no_such"),
                       (f"folder {pictures}/nothing | batch 4", "nothing")):
        done = leat("doctor", text, *QUICK, code=None)
        assert done.returncode in (1, 2) and said in done.stderr and done.stdout == "", done
    (pictures / "ant/00.jpg").write_bytes(b"no picture")
    done = leat("doctor", f"folder {pictures} | decode | resize 8 8 | batch 4", *QUICK, code=1)
    assert "ant/00.jpg" in done.stderr and len(done.stderr.splitlines()) == 1
    assert "must be a number" in leat("doctor", "synth", "--step-ms", "slow", code=2).stderr
    assert "must lie between" in leat("doctor", "synth", "--apply", 0, code=2).stderr
    assert "pipeline is missing" in leat("doctor", code=2).stderr


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_a_narrow_terminal(command, environment, term):
    """40 columns: what is not a command fits; without colour where none is wanted."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
    env = {**environment, "TERM": term, **({"NO_COLOR": "1"} if term == "dumb" else {})}
    with subprocess.Popen([command, "doctor", "synth 50 8 8 | batch 4", "--seconds", "0.2", "--step-ms", "10", "-q"],
                          stdout=other, stderr=other, stdin=subprocess.DEVNULL, env=env) as process:
        os.close(other)
        text = b""
        while True:
            try:
                part = os.read(main, 4096)
            except OSError:
                break
            if not part:
                break
            text += part
    os.close(main)
    assert process.returncode == 0
    plain = re.sub(r"\x1b\[[\d;]*m", "", text.decode()).replace("\r", "")
    assert ("\x1b[" in text.decode()) == (term != "dumb")
    wide = [line for line in plain.splitlines() if len(line) > 40 and not line.startswith("     ")]
    assert not wide, wide
