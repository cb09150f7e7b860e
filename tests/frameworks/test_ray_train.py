# SPDX-License-Identifier: Apache-2.0
"""The example for Ray Train, elastic, on two raylets: a worker dies, and a node is lost at the same time; training comes to the
weights of one process."""
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ray_cluster import LIMIT, SMALL, wait_until
from test_launchers import ended, slurm, weights

EXAMPLE = Path(__file__).resolve().parent.parent.parent / "examples" / "elastic_ray_train.py"
Cluster = pytest.importorskip("ray.cluster_utils").Cluster


def test_fewer_workers_after_a_node_is_lost(tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S", "10")  # it may first wait for the node that is gone
    whole = weights(ended(slurm(tmp_path / "one.pt", 1)))  # the same model and data
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, **SMALL})
    try:
        node = cluster.add_node(num_cpus=1, object_store_memory=SMALL["object_store_memory"])
        cluster.wait_for_nodes(timeout=LIMIT)
        with subprocess.Popen([sys.executable, EXAMPLE, tmp_path / "run", "1-2"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, env={**os.environ, "RAY_ADDRESS": cluster.address, "LEAT_DIE_AT": "5"}) as trainer:
            wait_until(lambda: (tmp_path / "run" / "died").exists() or trainer.poll() is not None, "no worker has trained")
            cluster.remove_node(node, allow_graceful=False)
            said, _ = trainer.communicate(timeout=LIMIT)
    finally:
        cluster.shutdown()
    assert trainer.returncode == 0, said[-3000:]
    last = re.search(r"^(\d) workers, weights (-?[\d.]+)$", said, re.M)
    assert last and last[1] == "1" and float(last[2]) == pytest.approx(whole, abs=1e-4), said[-3000:]
