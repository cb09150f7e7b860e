#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small convolutional network with JAX alone: the layers and Adam are written out below.

    python examples/train_jax.py

The engine augments and normalizes; batches come as jax.Arrays on its memory. The pictures are made up, landscapes with
one of ten figures in them: for your own, put leat.from_directory("photos/train") in place of leat.synthetic(...).
"""
import sys
from typing import Any

import jax
import jax.numpy as jnp
import leat

CLASSES, SIDE, EPOCHS, PATIENCE, WANTED, ENOUGH = 10, 32, 10, 4, 0.95, 0.97
WIDTHS, DROPOUT, L2, KEPT = (3, 16, 32, 64), 0.3, 1e-5, 0.9
STEPS = EPOCHS * (4800 // 64)
Tree = Any  # parameters, running statistics and Adam's memory are dicts and lists of arrays


def datasets() -> tuple[leat.Dataset, leat.Dataset]:
    """What is learned from, drawn anew in every epoch, and what is tested with."""
    train = (leat.synthetic(4800, SIDE + 4, SIDE + 4, classes=CLASSES, seed=1).shuffle(seed=7).random_crop(SIDE)
             .random_flip_left_right().color_jitter(0.1, 0.1).normalize("imagenet").batch(64, drop_remainder=True))
    test = (leat.synthetic(500, SIDE + 4, SIDE + 4, classes=CLASSES, seed=2).center_crop(SIDE)
            .normalize("imagenet").batch(100))
    return train, test


def begin(key: jax.Array) -> tuple[Tree, Tree]:
    """Parameters, and the running statistics of batch normalization."""
    blocks, running = [], []
    for before, after in zip(WIDTHS, WIDTHS[1:]):
        key, use = jax.random.split(key)
        blocks.append({"kernel": jax.random.normal(use, (3, 3, before, after)) * (2 / (9 * before)) ** 0.5,
                       "scale": jnp.ones(after), "shift": jnp.zeros(after)})
        running.append({"mean": jnp.zeros(after), "var": jnp.ones(after)})
    inputs = (SIDE // 8) ** 2 * WIDTHS[-1]
    dense = {"kernel": jax.random.normal(key, (inputs, CLASSES)) * inputs ** -0.5, "bias": jnp.zeros(CLASSES)}
    return {"blocks": blocks, "dense": dense}, running


def network(params: Tree, running: Tree, x: jax.Array, key: jax.Array | None) -> tuple[jax.Array, Tree]:
    """Convolution, batch normalization and pooling three times, dropout, the classes. With a key it learns."""
    seen = []
    for block, known in zip(params["blocks"], running):
        x = jax.lax.conv_general_dilated(x, block["kernel"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        if key is not None:
            now = {"mean": x.mean((0, 1, 2)), "var": x.var((0, 1, 2))}
            seen.append(jax.tree.map(lambda old, new: KEPT * old + (1 - KEPT) * new, known, now))
        else:
            now = known
        x = (x - now["mean"]) * jax.lax.rsqrt(now["var"] + 1e-5) * block["scale"] + block["shift"]
        x = jax.lax.reduce_window(jax.nn.relu(x), -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = x.reshape(len(x), -1)
    if key is not None:
        x = jnp.where(jax.random.bernoulli(key, 1 - DROPOUT, x.shape), x / (1 - DROPOUT), 0)
    return x @ params["dense"]["kernel"] + params["dense"]["bias"], seen


def loss_of(params: Tree, running: Tree, images: jax.Array, labels: jax.Array,
            key: jax.Array) -> tuple[jax.Array, Tree]:
    logits, seen = network(params, running, images, key)
    found = -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()
    kernels = [block["kernel"] for block in params["blocks"]] + [params["dense"]["kernel"]]
    return found + L2 * sum((kernel ** 2).sum() for kernel in kernels), seen


@jax.jit
def learn(params: Tree, running: Tree, adam: Tree, step: jax.Array, images: jax.Array, labels: jax.Array,
          key: jax.Array) -> tuple[Tree, Tree, Tree, jax.Array]:
    """One step of Adam, smaller towards the end."""
    (loss, seen), slopes = jax.value_and_grad(loss_of, has_aux=True)(params, running, images, labels, key)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, adam[0], slopes)
    second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, adam[1], slopes)
    rate = 4e-3 * 0.5 * (1 + jnp.cos(jnp.pi * step / STEPS)) * jnp.sqrt(1 - 0.99 ** step) / (1 - 0.9 ** step)
    params = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), params, first, second)
    return params, seen, (first, second), loss


@jax.jit
def count_right(params: Tree, running: Tree, images: jax.Array, labels: jax.Array) -> jax.Array:
    return (network(params, running, images, None)[0].argmax(1) == labels).sum()


def main() -> int:
    key = jax.random.key(0)
    train, test = datasets()
    params, running = begin(key)
    adam, step = (jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params)), 0
    learned, tested = train.to_jax(), test.to_jax()
    best, best_model, waited = 0.0, (params, running), 0
    for epoch in range(EPOCHS):
        total = 0.0
        for images, labels in learned:
            step += 1
            params, running, adam, loss = learn(params, running, adam, jnp.float32(step), images, labels,
                                                jax.random.fold_in(key, step))
            total += float(loss)
        reached = sum(int(count_right(params, running, *batch)) for batch in tested) / 500
        print(f"epoch {epoch + 1:2}: loss {total / len(train):.3f}, accuracy {reached:.1%}", flush=True)
        waited = 0 if reached > best else waited + 1
        if reached > best:
            best, best_model = reached, (params, running)
        if waited == PATIENCE or best >= ENOUGH:  # early stopping
            break
    best = sum(int(count_right(*best_model, *batch)) for batch in tested) / 500
    print(f"accuracy {best:.1%}")
    return 0 if best >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
