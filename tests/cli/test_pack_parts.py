# SPDX-License-Identifier: Apache-2.0
"""leat pack --part and --join: the parts of a pack, made in any order, twice, at once, killed, or under mpirun, come to what
one process makes, byte for byte."""
import json
import random
import shutil
import subprocess
import time

import pytest

from packs import LEAT, content, environment, leat, leftovers

ARGS = ["--size", "40", "--shards", "7", "--shuffle", "--split", "0.7,0.3", "--augment", "random_flip_left_right", "--copies", "1",
        "--on-error", "skip"]


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    root = tmp_path_factory.mktemp("parts")
    leat("synth", root / "in", "--images", 50, "--size", "120x90", "-q", cache=root)
    (root / "in/class_03/bad.jpg").write_text("no picture")
    leat("pack", root / "in", root / "whole", *ARGS, cache=root)
    return root


def part(root, out, i, n, **more):
    return leat("pack", root / "in", out, *ARGS, "--part", f"{i}/{n}", cache=root, **more)


def test_any_order(photos, tmp_path):
    out = tmp_path / "out"
    for i in (2, 0, 2):
        part(photos, out, i, 3)
    done = leat("pack", "--join", out, code=1, cache=photos)
    assert "not there yet" in done.stderr and "-of-" in done.stderr and done.stderr.count("\n") == 1
    assert not (out / "manifest.json").exists() and not leftovers(out)
    said = part(photos, out, 1, 3).stdout
    assert "--join" in said
    leat("pack", "--join", out, cache=photos)
    assert content(out) == content(photos / "whole")
    leat("pack", "--verify", out, cache=photos)
    # One process finds everything done.
    assert "already" in leat("pack", photos / "in", out, *ARGS, cache=photos).stdout
    assert content(out) == content(photos / "whole")


def test_at_once_and_twice(photos, tmp_path):
    out = tmp_path / "out"
    running = [subprocess.Popen([LEAT, "pack", str(photos / "in"), str(out), *ARGS, "--part", f"{i % 3}/3", "-q"],
                                env=environment(photos)) for i in range(6)]
    assert [process.wait(timeout=120) for process in running] == [0] * 6
    leat("pack", "--join", out, cache=photos)
    assert content(out) == content(photos / "whole") and not leftovers(out)


def test_killed_parts(photos, tmp_path):
    out = tmp_path / "out"
    rng = random.Random(5)
    began = time.monotonic()
    part(photos, tmp_path / "timed", 0, 2)
    seconds = time.monotonic() - began
    for _ in range(12):
        i = rng.randrange(2)
        process = subprocess.Popen([LEAT, "pack", str(photos / "in"), str(out), *ARGS, "--part", f"{i}/2", "-q"],
                                   env=environment(photos), stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=rng.uniform(0, seconds))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for i in range(2):
        part(photos, out, i, 2)
    leat("pack", "--join", out, cache=photos)
    assert content(out) == content(photos / "whole") and not leftovers(out)


def test_refusals(photos, tmp_path):
    out = tmp_path / "out"
    part(photos, out, 0, 2)
    done = leat("pack", photos / "in", out, "--size", "41", "--part", "1/2", code=1, cache=photos)
    assert "other options" in done.stderr
    done = leat("pack", photos / "in", out, *ARGS, "--part", "1/2", "--force", code=1, cache=photos)
    assert "force" in done.stderr
    for wrong in ("2/2", "-1/2", "0/0", "x", "1/2/3"):
        assert "--part" in leat("pack", photos / "in", out, "--part", wrong, code=2, cache=photos).stderr
    assert "no pack" in leat("pack", "--join", tmp_path, code=1, cache=photos).stderr


def test_parts_follow_what_was_decided(photos, tmp_path):
    """--store auto is decided once, by whichever part is first."""
    args = ["--store", "auto", "--size", "32", "--target-rate", "1", "--shards", "4", "--on-error", "skip", "-q"]
    out = tmp_path / "out"
    running = [subprocess.Popen([LEAT, "pack", str(photos / "in"), str(out), *args, "--part", f"{i}/4"], env=environment(photos))
               for i in range(4)]
    assert [process.wait(timeout=120) for process in running] == [0] * 4
    leat("pack", "--join", out, cache=photos)
    recipe = json.loads((out / "manifest.json").read_text())["recipe"]
    assert [way["chosen"] for way in recipe["decided"]["ways"]].count(True) == 1
    leat("pack", "--verify", out, cache=photos)


def test_second_process_is_told_the_first(photos, tmp_path):
    leat("synth", tmp_path / "in", "--images", 300, "--size", "500x400", "-q", cache=tmp_path)
    command = ["pack", str(tmp_path / "in"), str(tmp_path / "out"), "--size", "64"]
    with subprocess.Popen([LEAT, *command, "-q", "--threads", "1"], env=environment(tmp_path)) as first:
        while first.poll() is None and not (tmp_path / "out/.data.leatrecord").exists():
            time.sleep(0.002)
        done = leat(*command, code=None, cache=tmp_path)
        if done.returncode:  # else the first one was done already
            assert f"process {first.pid} on " in done.stderr or first.poll() is not None or "another process" in done.stderr
        first.kill()


def test_mpirun(photos, tmp_path):
    if not shutil.which("mpirun"):
        pytest.skip("needs mpirun")
    out = tmp_path / "out"
    script = tmp_path / "part.sh"
    script.write_text(f"#!/bin/sh\nexec {LEAT} pack {photos}/in {out} {' '.join(ARGS)} "
                      "--part $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE -q\n")
    script.chmod(0o755)
    env = {**environment(photos), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "TMPDIR": str(tmp_path)}
    done = subprocess.run(["mpirun", "--oversubscribe", "-n", "4", str(script)], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    leat("pack", "--join", out, cache=photos)
    assert content(out) == content(photos / "whole")
