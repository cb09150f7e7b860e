# SPDX-License-Identifier: Apache-2.0
"""The examples for launchers, in several processes as these start them: stopped in the middle of an epoch and continued with another
number of processes, they come to the weights of one process that was not stopped."""
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from ends import LIMIT

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


def ports(n: int) -> list[int]:
    places = [socket.socket() for _ in range(n)]
    for place in places:
        place.bind(("127.0.0.1", 0))
    found = [place.getsockname()[1] for place in places]
    for place in places:
        place.close()
    return found


def start(name: str, *words: object, **environment: str) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, EXAMPLES / name, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env={**os.environ, "OMP_NUM_THREADS": "1", **environment})


def ended(processes: list[subprocess.Popen], code: int = 0) -> str:
    """What the first of them has said."""
    said = [process.communicate(timeout=LIMIT) for process in processes]
    assert [process.returncode for process in processes] == [code] * len(processes), [errors[-2000:] for _, errors in said]
    return said[0][0]


def weights(said: str) -> float:
    return float(re.search(r"weights (-?[\d.]+)$", said, re.M)[1])


def jax(path: Path, n: int, **environment: str) -> list[subprocess.Popen]:
    port = ports(1)[0]
    return [start("elastic_jax.py", path, f"127.0.0.1:{port}", n, rank, JAX_PLATFORMS="cpu", **environment) for rank in range(n)]


def tensorflow(path: Path, n: int, **environment: str) -> list[subprocess.Popen]:
    if n == 1:
        return [start("elastic_tf.py", path, **environment)]
    cluster = {"worker": [f"127.0.0.1:{port}" for port in ports(n)]}
    return [start("elastic_tf.py", path, TF_CONFIG=json.dumps({"cluster": cluster, "task": {"type": "worker", "index": rank}}),
                  **environment) for rank in range(n)]


def slurm(path: Path, n: int, **environment: str) -> list[subprocess.Popen]:
    names = {"SLURM_NTASKS": str(n), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(ports(1)[0])}
    return [start("requeue_slurm.py", path, SLURM_PROCID=str(rank), SLURM_LOCALID=str(rank), **names, **environment)
            for rank in range(n)]


@pytest.mark.parametrize("launch, then", [(jax, 3), (tensorflow, 1)])
def test_continued_with_another_number_of_processes(launch, then, tmp_path):
    whole = weights(ended(launch(tmp_path / "one.npz", 1)))
    ended(launch(tmp_path / "run.npz", 2, LEAT_STOP_AT="5"))  # two steps behind the last save
    said = ended(launch(tmp_path / "run.npz", then))
    assert re.search(rf"^{then} \w+, 15 steps, ", said, re.M)
    assert weights(said) == pytest.approx(whole, abs=1e-4)


def test_requeued_by_slurm(tmp_path):
    """Without Slurm: its variables, and its signal to one of the tasks."""
    whole = weights(ended(slurm(tmp_path / "one.pt", 1, EPOCHS="40")))
    tasks, taken = slurm(tmp_path / "run.pt", 2, EPOCHS="40"), 0
    assert tasks[0].stdout is not None and tasks[0].stdout.readline() == "ready\n"
    tasks[1].send_signal(signal.SIGUSR1)
    said = ended(tasks, 3)
    taken = int(re.match(r"2 tasks, to be continued behind (\d+) steps", said)[1])
    said = ended(slurm(tmp_path / "run.pt", 3, EPOCHS="40"))
    assert f"3 tasks, trained, {40 * 9 - taken} steps" in said
    assert weights(said) == pytest.approx(whole, abs=1e-3)
