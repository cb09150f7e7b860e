# SPDX-License-Identifier: Apache-2.0
"""leat.ray.feed on several raylets of one machine: a node that is lost, a trainer that is killed."""
import signal
import subprocess
import sys

import leat
import leat.ray
import pytest
from ray_cluster import LIMIT, SMALL, crew_of, facts, pids, ray, runs, taken, wait_until

Cluster = pytest.importorskip("ray.cluster_utils").Cluster


@pytest.fixture(scope="module")
def cluster():
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, **SMALL})
    yield made
    ray.shutdown()
    made.shutdown()


def data() -> leat.Dataset:
    return leat.synthetic(64, 96, 96).shuffle(seed=5).random_flip_left_right().batch(8)


def test_a_lost_node(cluster):
    nodes = [cluster.add_node(num_cpus=4, resources={"feeding": 4}, object_store_memory=SMALL["object_store_memory"])
             for _ in range(2)]
    cluster.wait_for_nodes(timeout=LIMIT)
    ray.init(address=cluster.address, logging_level="warning")
    wanted = [facts(batch) for batch in data().batches()]
    several = leat.ray.feed(data(), 4, num_cpus=1, ahead=2, resources={"feeding": 1})
    iterator = several.batches()
    found = [facts(next(iterator)) for _ in range(3)]
    crew = crew_of(iterator)
    where = ray.get([actor.__ray_call__.remote(lambda feeder: ray.get_runtime_context().get_node_id())
                     for actor in crew.actors], timeout=LIMIT)
    assert len(set(where)) == 2  # feeders are spread over nodes
    cluster.remove_node(nodes[0], allow_graceful=False)  # with batches that were made and not fetched
    assert found + taken(iterator) == wanted
    assert crew.deaths >= 1
    several.close()


TRAINER = """
import sys
import leat, leat.ray
from ray_cluster import crew_of, pids, ray
ray.init(address=sys.argv[1], logging_level="warning", log_to_driver=False)
several = leat.ray.feed(leat.synthetic(64, 96, 96).batch(8), 2, num_cpus=0.1)
iterator = several.batches()
next(iterator)
print(*pids(crew_of(iterator).actors), flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("how", ["killed", "ended"])
def test_a_trainer_that_stops_leaves_no_feeders(cluster, how):
    trainer = subprocess.Popen([sys.executable, "-c", TRAINER, cluster.address], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               text=True, cwd=__file__.rpartition("/")[0])
    assert trainer.stdin is not None and trainer.stdout is not None
    feeders = [int(word) for word in trainer.stdout.readline().split()]
    assert len(feeders) == 2 and all(map(runs, feeders))
    if how == "killed":
        trainer.send_signal(signal.SIGKILL)
    else:
        trainer.stdin.write("\n")
        trainer.stdin.flush()
    trainer.wait(timeout=LIMIT)
    if how == "ended":
        assert trainer.returncode == 0
    wait_until(lambda: not any(map(runs, feeders)), "feeders run on without their trainer")
