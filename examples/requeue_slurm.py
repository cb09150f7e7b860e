#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains in a job of Slurm that is put back into the queue when its time is over, and goes on exactly in the next one, on as many
tasks as that has. docs/scaling.md has the script for sbatch.

    srun python examples/requeue_slurm.py run.pt       # exit code 0: trained; 3: saved, to be continued

Slurm sends SIGUSR1 before it ends the job. The ranks agree at the next step that they have been told, so all of them stop behind
the same one, and the first saves model and data.
"""
import os
import signal
import sys

import leat
import torch
import torch.distributed as dist

EPOCHS, CONTINUED = int(os.environ.get("EPOCHS", "2")), 3


def main(path: str) -> int:
    rank, world = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
    told = []
    signal.signal(signal.SIGUSR1, lambda *_: told.append(True))
    dist.init_process_group("gloo", rank=rank, world_size=world)  # MASTER_ADDR and MASTER_PORT: see the script
    ds = (leat.synthetic(500, 16, 16, seed=3).shuffle(seed=7).random_flip_left_right()
          .batch(global_size=60, valid="valid").configure(world_size=-1, threads=1))  # -1: as Slurm says
    data = ds.to_torch()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16 * 16 * 3, 10))
    if os.path.exists(path):
        saved = torch.load(path)
        model.load_state_dict(saved["model"])
        data.load_state_dict(saved["data"])
    if rank == 0:
        print("ready", flush=True)
    steps, stop = 0, False
    while data.epoch < EPOCHS and not stop:
        for images, labels, valid in data:
            losses = torch.nn.functional.cross_entropy(model(images), labels, reduction="none")[valid].sum()
            facts = torch.tensor([int(valid.sum()), len(told)])
            model.zero_grad()
            losses.backward()
            dist.all_reduce(facts)
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
                parameter.data -= 0.05 * parameter.grad / facts[0]
            steps += 1
            if facts[1] > 0:
                stop = True
                break
    if rank == 0:
        torch.save({"model": model.state_dict(), "data": data.state_dict()}, path + ".new")
        os.replace(path + ".new", path)
        weights = sum((p.double() ** 2).sum() for p in model.parameters())
        print(f"{world} tasks, {'to be continued behind' if stop else 'trained,'} {steps} steps, weights {weights:.6f}")
    dist.destroy_process_group()
    return CONTINUED if stop else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
