#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains in several processes of JAX, and goes on exactly with another number of them.

    python examples/elastic_jax.py run.npz localhost:1234 2 0 &      # coordinator, number of processes, number of this one
    python examples/elastic_jax.py run.npz localhost:1234 2 1

Each process reads its part of the global batch, and a sharding over all devices makes one array of the parts. The first process saves
weights and one line of text for the data. LEAT_STOP_AT=5 ends all processes at step 5.
"""
import os
import sys

import jax
import jax.numpy as jnp
import leat
import numpy
from jax.sharding import Mesh, NamedSharding, PartitionSpec

EPOCHS, SAVE_EVERY = 2, 3


def loss_of(weights, images, labels, valid):
    answers = images.reshape(len(images), -1) @ weights[0] + weights[1]
    losses = -jnp.take_along_axis(jax.nn.log_softmax(answers), labels[:, None], 1)[:, 0]
    return jnp.where(valid, losses, 0).sum() / valid.sum()


@jax.jit
def train(weights, batch):
    return jax.tree.map(lambda w, g: w - 0.05 * g, weights, jax.grad(loss_of)(weights, *batch))


def save(path: str, weights, state: str) -> None:
    with open(path + ".new", "wb") as file:
        numpy.savez(file, kernel=weights[0], bias=weights[1], state=state)
    os.replace(path + ".new", path)


def main(path: str, coordinator: str, processes: int, rank: int) -> None:
    if processes > 1:
        jax.distributed.initialize(coordinator, processes, rank)
    ds = (leat.synthetic(500, 16, 16, seed=3).shuffle(seed=7).random_flip_left_right().cast("f32", scale=1 / 255)
          .batch(global_size=60, valid="valid").configure(rank=rank, world_size=processes, threads=1))
    mesh = Mesh(jax.devices(), "data")
    weights = [jax.random.uniform(jax.random.key(1), (768, 10), minval=-0.05, maxval=0.05), jnp.zeros(10)]
    if os.path.exists(path):
        saved = numpy.load(path)
        weights = [jnp.asarray(saved["kernel"]), jnp.asarray(saved["bias"])]
        ds.restore(str(saved["state"]), resize_batch=True)
    weights = [jax.make_array_from_callback(w.shape, NamedSharding(mesh, PartitionSpec()), lambda _, w=w: numpy.asarray(w))
               for w in weights]
    data, steps = ds.to_jax(NamedSharding(mesh, PartitionSpec("data"))), 0
    while ds.epoch < EPOCHS:
        for batch in data:
            weights = train(weights, batch)
            steps += 1
            if rank == 0 and steps % SAVE_EVERY == 0:
                save(path, weights, ds.state())
            if steps == int(os.environ.get("LEAT_STOP_AT", "0")):
                return
    if rank == 0:
        save(path, weights, ds.state())
        print(f"{processes} processes, {steps} steps, weights {sum((numpy.asarray(w, 'f8') ** 2).sum() for w in weights):.6f}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
