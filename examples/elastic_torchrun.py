#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains with as many processes as there are, and goes on exactly when their number changes.

    torchrun --nproc-per-node 2 --max-restarts 3 examples/elastic_torchrun.py run.pt
    torchrun --nproc-per-node 3 --max-restarts 3 examples/elastic_torchrun.py run.pt     # goes on with three

The batch of all processes together has one size, which they divide among them: gradients are the same for any number of
them, and so is the loss, but for the order of sums. A checkpoint is the model, the optimizer and one line of text for the data; one
process writes it for all. LEAT_DIE_AT=5 lets rank 0 die at step 5, once, to see that torchrun starts all of them again.
"""
import os
import sys
from datetime import timedelta

import leat
import torch
import torch.distributed as dist

EPOCHS, SAVE_EVERY = int(os.environ.get("EPOCHS", "2")), 3


def save(path: str, model: torch.nn.Module, optimizer: torch.optim.Optimizer, data: dict[str, str]) -> None:
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "data": data}, path + ".new")
    os.replace(path + ".new", path)


def main(path: str) -> None:
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))  # a rank that is gone is noticed, and torchrun begins again
    rank = dist.get_rank()
    data = (leat.synthetic(500, 16, 16, seed=3).shuffle(seed=7).random_flip_left_right()
            .batch(global_size=int(os.environ.get("GLOBAL_BATCH", "60")), valid="valid").to_torch())
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16 * 16 * 3, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    if os.path.exists(path):
        saved = torch.load(path)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        data.load_state_dict(saved["data"], resize_batch=True)  # also if GLOBAL_BATCH is another one now
    steps = 0
    while data.epoch < EPOCHS:
        for images, labels, valid in data:
            losses = torch.nn.functional.cross_entropy(model(images), labels, reduction="none")[valid].sum()
            n = valid.sum()
            optimizer.zero_grad()
            losses.backward()
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
            dist.all_reduce(n)  # samples of all ranks: their shares may differ by one
            for parameter in model.parameters():
                parameter.grad /= n
            optimizer.step()
            steps += 1
            if rank == 0 and steps % SAVE_EVERY == 0:
                save(path, model, optimizer, data.state_dict())
            if rank == 0 and steps == int(os.environ.get("LEAT_DIE_AT", "0")) and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
                os._exit(1)
    if rank == 0:
        save(path, model, optimizer, data.state_dict())
        print(f"{dist.get_world_size()} ranks, {steps} steps, weights {sum((p.double() ** 2).sum() for p in model.parameters()):.6f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
