#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains in workers of Ray Train, a fixed number of them or as many as the cluster has room for, and goes on exactly when they are
started again.

    python examples/elastic_ray_train.py /shared/run 2          # static: two workers
    python examples/elastic_ray_train.py /shared/run 1-4        # elastic: Ray Train changes their number when nodes come and go

Ray Train starts the workers, makes the process group, and gives them the last checkpoint after a failure. leat divides the batch of all
workers by their number. LEAT_DIE_AT=5 lets the first worker die at step 5, once.
"""
import os
import sys
import tempfile

import leat
import ray
import torch
import torch.distributed as dist
from ray import train
from ray.train.torch import TorchTrainer

EPOCHS, SAVE_EVERY = 2, 3


def work(config: dict) -> None:
    rank, checkpoint, died = train.get_context().get_world_rank(), train.get_checkpoint(), os.path.join(config["folder"], "died")
    data = (leat.synthetic(500, 16, 16, seed=3).shuffle(seed=7).random_flip_left_right()
            .batch(global_size=60, valid="valid").configure(threads=1).to_torch())
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16 * 16 * 3, 10))
    if checkpoint:
        with checkpoint.as_directory() as folder:
            saved = torch.load(os.path.join(folder, "run.pt"))
        model.load_state_dict(saved["model"])
        data.load_state_dict(saved["data"])  # the line of any other number of workers
    steps = 0
    while data.epoch < EPOCHS:
        for images, labels, valid in data:
            losses = torch.nn.functional.cross_entropy(model(images), labels, reduction="none")[valid].sum()
            n = valid.sum()
            model.zero_grad()
            losses.backward()
            dist.all_reduce(n)
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
                parameter.data -= 0.05 * parameter.grad / n
            steps += 1
            if steps % SAVE_EVERY == 0:
                report(rank, model, data)
            if rank == 0 and steps == config["die_at"] and not os.path.exists(died):
                open(died, "w").close()
                os._exit(1)
    report(rank, model, data)


def report(rank: int, model: torch.nn.Module, data) -> None:
    """All workers report, the first one with a checkpoint."""
    weights = {"weights": sum((p.detach().double() ** 2).sum().item() for p in model.parameters()), "workers": dist.get_world_size()}
    with tempfile.TemporaryDirectory() as folder:
        if rank == 0:
            torch.save({"model": model.state_dict(), "data": data.state_dict()}, os.path.join(folder, "run.pt"))
        train.report(weights, checkpoint=train.Checkpoint.from_directory(folder) if rank == 0 else None)


def main(folder: str, workers: str) -> None:
    least, _, most = workers.partition("-")
    ray.init(logging_level="warning")
    trainer = TorchTrainer(work, train_loop_config={"folder": folder, "die_at": int(os.environ.get("LEAT_DIE_AT", "0"))},
                           scaling_config=train.ScalingConfig(num_workers=(int(least), int(most)) if most else int(least)),
                           run_config=train.RunConfig(name="run", storage_path=folder,
                                                      failure_config=train.FailureConfig(max_failures=3)))
    result = trainer.fit()
    print(f"{result.metrics['workers']} workers, weights {result.metrics['weights']:.6f}")


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    main(os.path.abspath(sys.argv[1]), sys.argv[2])
