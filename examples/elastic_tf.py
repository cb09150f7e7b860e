#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains under tf.distribute.MultiWorkerMirroredStrategy, and goes on exactly with another number of workers.

    TF_CONFIG='{"cluster": {"worker": ["a:2222", "b:2222"]}, "task": {"type": "worker", "index": 0}}' python examples/elastic_tf.py run.npz

leat reads its rank from TF_CONFIG too (`world_size=-1`) and gives each worker its part of the global batch. The first worker saves
weights and one line of text for the data. LEAT_STOP_AT=5 ends all workers at step 5.
"""
import os
import sys

import leat
import numpy
import tensorflow as tf

EPOCHS, SAVE_EVERY = 2, 3


def save(path: str, weights: list, state: str) -> None:
    with open(path + ".new", "wb") as file:
        numpy.savez(file, kernel=weights[0].numpy(), bias=weights[1].numpy(), state=state)
    os.replace(path + ".new", path)


def main(path: str) -> None:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()  # before any other operation
    rank, workers = strategy.cluster_resolver.task_id or 0, strategy.num_replicas_in_sync
    ds = (leat.synthetic(500, 16, 16, seed=3).shuffle(seed=7).random_flip_left_right().cast("f32", scale=1 / 255)
          .batch(global_size=60, valid="valid").configure(world_size=-1, threads=1))
    with strategy.scope():
        weights = [tf.Variable(tf.random.stateless_uniform((768, 10), (1, 2), -0.05, 0.05)), tf.Variable(tf.zeros(10))]
    if os.path.exists(path):
        saved = numpy.load(path)
        for variable, name in zip(weights, ("kernel", "bias")):
            variable.assign(saved[name])
        ds.restore(str(saved["state"]), resize_batch=True)

    def step(images, labels, valid):
        n = tf.distribute.get_replica_context().all_reduce("sum", tf.reduce_sum(tf.cast(valid, tf.float32)))
        with tf.GradientTape() as tape:
            answers = tf.reshape(images, (-1, 768)) @ weights[0] + weights[1]
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, answers)
            loss = tf.reduce_sum(tf.where(valid, losses, 0.0)) / n
        gradients = tape.gradient(loss, weights)
        return tf.distribute.get_replica_context().all_reduce("sum", gradients)

    @tf.function
    def train(batch):
        gradients = strategy.run(step, args=batch)
        for variable, gradient in zip(weights, gradients):
            variable.assign_sub(0.05 * gradient)

    steps = 0
    while ds.epoch < EPOCHS:
        epoch, done = ds.epoch, int(ds.state().partition(" step=")[2].split()[0])  # of this epoch, by an earlier run
        for batch in strategy.distribute_datasets_from_function(lambda _: ds.to_tf()):
            train(batch)
            steps, done = steps + 1, done + 1
            if rank == 0 and steps % SAVE_EVERY == 0:
                save(path, weights, ds.state(epoch, done))  # TensorFlow has taken batches ahead of this one
            if steps == int(os.environ.get("LEAT_STOP_AT", "0")):
                return
    if rank == 0:
        save(path, weights, ds.state(EPOCHS))
        print(f"{workers} workers, {steps} steps, weights {sum(tf.reduce_sum(tf.cast(w, tf.float64) ** 2) for w in weights):.6f}")


if __name__ == "__main__":
    main(sys.argv[1])
