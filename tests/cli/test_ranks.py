# SPDX-License-Identifier: Apache-2.0
"""Several processes share every batch: under mpirun, by the variables of other launchers, and by --rank."""
import json
import os
import re
import shutil
import subprocess

import numpy
import pytest
from PIL import Image

from conftest import paint

MPIRUN = shutil.which("mpirun") or "mpirun"  # scripts/install-deps installs it: without it the test fails


def ids(text: str) -> dict[tuple[int, int], list[int]]:
    """(epoch, step) -> numbers, from what the sink `ids` prints."""
    lines = re.findall(r"^(\d+) (\d+):((?: \d+)*)$", text, re.M)
    return {(int(epoch), int(step)): [int(n) for n in numbers.split()] for epoch, step, numbers in lines}


def together(texts: list[str]) -> dict[tuple[int, int], list[int]]:
    """What ranks 0, 1, ... have printed, as one run; each has as many batches as the others."""
    parts = [ids(text) for text in texts]
    assert all(part.keys() == parts[0].keys() for part in parts)
    return {key: sum((part[key] for part in parts), []) for key in parts[0]}


@pytest.fixture
def alone(environment) -> dict:
    """No variable of a launcher, should the tests themselves run under one."""
    prefixes = ("SLURM_", "OMPI_", "PMI", "JAX_", "TF_CONFIG", "RANK", "WORLD_SIZE", "LOCAL_")
    return {key: value for key, value in environment.items() if not key.startswith(prefixes)}


@pytest.mark.parametrize("more", ["", " drop_remainder=true"])
def test_under_mpirun(leat, command, alone, pictures, more):
    text = f"folder {pictures} | shuffle seed=3 | shard auto | decode | resize 8 8 | random_flip_left_right | "
    one = ids(leat("run", text + f"batch 8{more}", "-e", 2, "--sink", "ids", "-q").stdout)
    done = subprocess.run([MPIRUN, "--allow-run-as-root", "--oversubscribe", "--tag-output", "-n", "4", command, "run",
                           text + f"batch 2{more}", "-e", "2", "--sink", "ids", "-q"],
                          capture_output=True, text=True, timeout=120, env=alone)
    assert done.returncode == 0, done.stdout + done.stderr
    of = [[], [], [], []]
    for rank, line in re.findall(r"^\[\d+,(\d+)\]<stdout>: ?(.*)$", done.stdout, re.M):
        of[int(rank)].append(line)
    assert together(["\n".join(lines) + "\n" for lines in of]) == one
    assert sorted(sum(one.values(), [])) == sorted(list(range(23)) * 2) or more


LAUNCHERS = {
    "torchrun": lambda r, n: {"RANK": str(r), "WORLD_SIZE": str(n), "LOCAL_WORLD_SIZE": str(n)},
    "Open MPI": lambda r, n: {"OMPI_COMM_WORLD_RANK": str(r), "OMPI_COMM_WORLD_SIZE": str(n)},
    "Slurm": lambda r, n: {"SLURM_PROCID": str(r), "SLURM_NTASKS": str(n), "SLURM_TASKS_PER_NODE": f"{n}(x1)"},
    "JAX": lambda r, n: {"JAX_PROCESS_ID": str(r), "JAX_NUM_PROCESSES": str(n)},
    "TF_CONFIG": lambda r, n: {"TF_CONFIG": json.dumps({
        "cluster": {"chief": ["h0:1"], "worker": [f"h{i}:1" for i in range(1, n)]},
        "task": {"type": "worker", "index": r - 1} if r else {"type": "chief", "index": 0}})},
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_by_the_environment(leat, launcher):
    text = "synth 29 6 6 | shuffle | batch "
    one = ids(leat("run", text + "12", "--sink", "ids", "-q").stdout)
    by_rank = [leat("run", text + "4", "--sink", "ids", "-q", "--rank", f"{r}/3").stdout for r in range(3)]
    assert together(by_rank) == one
    assert [leat("run", text + "4", "--sink", "ids", "-q", "--rank", "auto", env=LAUNCHERS[launcher](r, 3)).stdout
            for r in range(3)] == by_rank
    assert "rank      2 of 3" in leat("plan", text + "4 | shard auto", env=LAUNCHERS[launcher](2, 3)).stdout


def test_nonsense_is_told(leat):
    text = "synth 29 6 6 | batch 4 | shard auto"
    for env, part in (({"RANK": "5", "WORLD_SIZE": "4"}, "rank 5 of 4"), ({"RANK": "1"}, "WORLD_SIZE"),
                      ({"TF_CONFIG": "{"}, "TF_CONFIG is no JSON"), ({"SLURM_PROCID": "?", "SLURM_NTASKS": "2"}, "'?'")):
        assert part in leat("run", text, env=env, code=1).stderr
    for word in ("4/4", "x", "1/", "-1/2", "0/0"):
        assert "--rank must be" in leat("run", text, "--rank", word, code=2).stderr


def test_bytes_do_not_depend_on_ranks(leat, pictures, tmp_path):
    text = (f"folder {pictures} | shuffle | decode | random_resized_crop 9 | random_brightness 0.3 | "
            "normalize imagenet | batch ")
    leat("run", text + "12", "--sink", "npy:one", "-q")
    for r in range(3):
        leat("run", text + "4", "--sink", f"npy:rank{r}", "-q", "--rank", f"{r}/3")
    for batch in range(2):
        for field in ("image", "label"):
            one = numpy.load(tmp_path / f"one/{batch:06}_{field}.npy")
            parts = [numpy.load(tmp_path / f"rank{r}/{batch:06}_{field}.npy") for r in range(3)]
            assert all(len(part) == 4 for part in parts)
            assert one.tobytes() == numpy.concatenate(parts)[:len(one)].tobytes()


def test_another_number_of_ranks_goes_on(leat, tmp_path):
    text = "synth 50 6 6 | shuffle | batch "
    whole = ids(leat("run", text + "12", "-e", 2, "--sink", "ids", "-q").stdout)
    states = set()
    for r in range(2):
        leat("run", text + "6", "-e", 2, "-n", 3, "--rank", f"{r}/2", "--state", f"saved{r}", "-q")
        states.add((tmp_path / f"saved{r}").read_text())
    assert len(states) == 1
    rest = []
    for r in range(4):
        (tmp_path / f"state{r}").write_text(*states)
        rest.append(leat("run", text + "3", "-e", 2, "--rank", f"{r}/4", "--state", f"state{r}", "--sink", "ids", "-q").stdout)
    assert together(rest) == {key: value for key, value in whole.items() if key >= (0, 3)}
    (tmp_path / "state").write_text(*states)
    refused = leat("run", text + "6", "-e", 2, "--rank", "0/4", "--state", "state", code=1).stderr
    assert "batch size=12 on all ranks together, this pipeline has batch size=24 (6 on each of 4)" in refused


def test_max_bad(leat, pictures):
    for name in ("ant/00.jpg", "cat/05.webp", "bee/16.png"):
        (pictures / name).write_bytes(b"\xff\xd8 no picture")
    text = f"folder {pictures} | decode | resize 8 8 | batch 4"
    leat("run", text, "-e", 3, "--on-error", "skip", "--max-bad", 3)
    told = leat("run", text, "-e", 3, "--on-error", "skip", "--max-bad", 2, code=1).stderr
    assert "3 samples of epoch 0 were bad, max_bad allows 2" in told
    assert "ant/00.jpg" in told and "bee/16.png" in told and "cat/05.webp" in told
    leat("run", text + " | options on_error=replace max_bad=2", code=1)


def test_padded_batches(leat, tmp_path):
    (tmp_path / "png").mkdir()
    pixels = [paint(5 + 3 * i % 7, 9 - 2 * i % 5, i) for i in range(7)]
    for i, image in enumerate(pixels):
        Image.fromarray(image).save(tmp_path / f"png/{i}.png")
    leat("run", "folder png | decode | padded_batch 3 max=20x20 padding=9", "--sink", "npy:out", "-q")
    for batch in range(3):
        mine = pixels[3 * batch:3 * batch + 3]
        got = numpy.load(tmp_path / f"out/{batch:06}_image.npy")
        assert got.shape == (len(mine), *numpy.max([image.shape for image in mine], axis=0))
        for image, padded in zip(mine, got):
            height, width, _ = image.shape
            want = numpy.full(got.shape[1:], 9, "uint8")
            want[:height, :width] = image
            numpy.testing.assert_array_equal(padded, want)


def test_another_batch_in_the_middle_of_an_epoch(leat, tmp_path):
    state = tmp_path / "state"
    text = "synth 50 4 4 | shuffle seed=2 | batch "
    whole = sum(ids(leat("run", text + "1", "--sink", "ids", "-q").stdout).values(), [])
    first = ids(leat("run", text + "8", "--sink", "ids", "-q", "--state", state, "--batches", 3).stdout)
    assert "batch size=8 on all ranks together" in leat("run", text + "6", "--state", state, "-q", code=1).stderr
    before = state.read_text()
    rest = []
    for rank in range(2):
        state.write_text(before)
        rest.append(leat("run", text + "global_size=9", "--sink", "ids", "-q", "--state", state, "--resize-batch", "--rank",
                         f"{rank}/2").stdout)
    assert sum(first.values(), []) + sum(together(rest).values(), []) == whole
    assert list(together(rest)) == [(0, 3), (0, 4), (0, 5)]
    assert "numbered by batches" in leat("run", text + "6", "--sink", f"npy:{tmp_path}/out", "--resize-batch", code=2).stderr
