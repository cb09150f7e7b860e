#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Computes an exact metric with several processes, of a number of samples that they cannot share out evenly.

    torchrun --nproc-per-node 2 examples/evaluate_two_ranks.py

Each rank has its part of every batch, and all have batches of one size: the last one is filled up with repeated samples.
batch(valid="valid") adds a field that is False for these. Without it some samples would count twice.
"""
import leat
import torch
import torch.distributed as dist

SAMPLES = 103


def main() -> None:
    dist.init_process_group("gloo")
    test = leat.synthetic(SAMPLES, 16, 16, seed=3).batch(8, valid="valid").to_torch()
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(16 * 16 * 3, 10))
    sums = torch.zeros(3, dtype=torch.float64)  # correct answers, losses, samples
    with torch.no_grad():
        for images, labels, valid in test:
            answers = model(images)
            losses = torch.nn.functional.cross_entropy(answers, labels, reduction="none")
            sums += torch.stack([(answers.argmax(1) == labels)[valid].sum(), losses[valid].sum(), valid.sum()])
    dist.all_reduce(sums)
    if dist.get_rank() == 0:
        correct, loss, n = sums.tolist()
        print(f"{n:.0f} samples, accuracy {correct / n:.6f}, loss {loss / n:.6f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
