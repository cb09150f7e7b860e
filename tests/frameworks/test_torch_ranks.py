# SPDX-License-Identifier: Apache-2.0
"""The end of an epoch on several ranks: batch(valid=), and the example that computes a metric with it."""
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import leat
import pytest
import torch
from ends import LIMIT

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
EXAMPLE, ELASTIC = EXAMPLES / "evaluate_two_ranks.py", EXAMPLES / "elastic_torchrun.py"


def start(program, world, *words, **environment):
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port = place.getsockname()[1]
    return [subprocess.Popen([sys.executable, program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(world), "OMP_NUM_THREADS": "1",
                                  "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), **environment}) for rank in range(world)]


def run_ranks(world):
    processes = start(EXAMPLE, world)
    said = []
    for process in processes:
        out, errors = process.communicate(timeout=LIMIT)
        assert process.returncode == 0, errors
        said.append(out)
    return said


@pytest.mark.parametrize("world", [1, 2])
def test_the_metric_is_that_of_every_sample_once(world):
    said = run_ranks(world)[0]
    n, accuracy, loss = map(float, re.fullmatch(r"(\d+) samples, accuracy ([\d.]+), loss ([\d.]+)\n", said).groups())
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16 * 16 * 3, 10))
    images, labels = next(iter(leat.synthetic(103, 16, 16, seed=3).batch(103).to_torch()))
    with torch.no_grad():
        answers = model(images)
        expected = torch.nn.functional.cross_entropy(answers, labels).item()
    assert n == 103 and abs(accuracy - (answers.argmax(1) == labels).double().mean().item()) < 2e-6
    assert abs(loss - expected) < 1e-5


def train(folder, ranks, dies=False, **environment):
    """The ranks of the example as torchrun starts them, and ends them if one has died."""
    processes = start(ELASTIC, ranks, folder / "run.pt", TORCHELASTIC_RESTART_COUNT="0", **environment)
    if dies:
        assert processes[0].wait(timeout=LIMIT) == 1
        for process in processes:
            process.kill()
    said = [process.communicate(timeout=LIMIT) for process in processes]
    if dies:
        return None
    assert all(process.returncode == 0 for process in processes), "".join(errors for _, errors in said)[-3000:]
    return re.search(r"(\d+) ranks, (\d+) steps, weights (-?[\d.]+)", said[0][0]).groups()


def test_elastic(tmp_path):
    """500 samples in batches of 60: 9 steps an epoch. A rank dies behind step 5, and with it the others; as many go on from step 3, then
    one dies again, and with another number of ranks the rest is trained."""
    for name in ("whole", "broken"):
        (tmp_path / name).mkdir()
    ranks, steps, weights = train(tmp_path / "whole", 1)
    assert (ranks, steps) == ("1", "18")
    train(tmp_path / "broken", 3, dies=True, LEAT_DIE_AT="5")
    train(tmp_path / "broken", 3, dies=True, LEAT_DIE_AT="8")  # 3 steps were saved, now 9
    ranks, steps, same = train(tmp_path / "broken", 2)
    assert (ranks, steps) == ("2", "9") and abs(float(weights) - float(same)) < 1e-4


def test_elastic_with_another_batch(tmp_path):
    train(tmp_path, 2, EPOCHS="1")
    _, steps, _ = train(tmp_path, 1, GLOBAL_BATCH="100")
    assert steps == "5"
    saved = torch.load(tmp_path / "run.pt")["data"]["leat"]
    assert " epoch=2 position=0 step=0 " in saved and " batch=100 " in saved


def test_valid_in_every_form():
    ds = leat.synthetic(10, 4, 4).batch(4, pad_remainder=True, valid="real")
    for batches in (list(ds), list(ds.to_torch())):
        assert [len(batch) for batch in batches] == [3, 3, 3]
        assert [batch[2].tolist() for batch in batches] == [[True] * 4, [True] * 4, [True, True, False, False]]
    assert next(iter(ds.to_torch()))[2].dtype == torch.bool and ds.element_spec[2].dtype == "bool"
    assert [batch.n_valid for batch in ds.batches()] == [4, 4, 2]
    assert ds.as_dict()[2]["real"].tolist() == [True, True, False, False] and bool(ds.sample(9)[2])
    one = leat.from_arrays(torch.arange(5).numpy()).batch(4, pad_remainder=True, valid="ok")[1]
    assert one[0].tolist()[0] == 4 and one[1].tolist() == [True, False, False, False]
    plain = leat.synthetic(10, 4, 4).batch(4, valid="real")
    assert [batch[2].tolist() for batch in plain] == [[True] * 4, [True] * 4, [True, True]]
