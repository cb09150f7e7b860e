# SPDX-License-Identifier: Apache-2.0
"""Verbs in any order mean what they mean in tf.data: the same samples in batches of the same sizes, or a refusal."""
import itertools
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import leat
import numpy
import pytest
import tensorflow as tf

N, BATCH, ENDLESS = 23, 5, 40
VERBS = {
    "shuffle": lambda ds: ds.shuffle(7, seed=1), "repeat": lambda ds: ds.repeat(3), "endless": lambda ds: ds.repeat(),
    "batch": lambda ds: ds.batch(BATCH), "drop": lambda ds: ds.batch(BATCH, drop_remainder=True), "take": lambda ds: ds.take(3),
    "skip": lambda ds: ds.skip(2), "cache": lambda ds: ds.cache(),
    "shard": lambda ds: ds.shard(2, 1) if isinstance(ds, tf.data.Dataset) else ds.shard("1/2")}


def chains(most: int):
    for length in range(1, most + 1):
        for chain in itertools.permutations(VERBS, length):
            if len({"batch", "drop"} & set(chain)) == 1 and not {"repeat", "endless"} <= set(chain):
                yield chain


def refused(chain: tuple[str, ...]) -> bool:
    """What leat leaves to TensorFlow."""
    behind = chain[[verb in ("batch", "drop") for verb in chain].index(True) + 1:]
    if "shard" in behind:
        return True  # whole batches dealt out
    repeats = [i for i, verb in enumerate(behind) if verb in ("repeat", "endless")]
    return bool(repeats) and bool({"take", "skip", "shuffle"} & set(behind[repeats[0]:]))


def run(ds, chain=()) -> list[list[int]]:
    for verb in chain:
        ds = VERBS[verb](ds)
    return [numpy.asarray(batch).tolist() for batch in itertools.islice(iter(ds), ENDLESS)]


@pytest.mark.parametrize("batched", [False, True])
def test_like_tf_data(batched):
    """Without shuffle the same batches; with it the same sizes, and the same samples unless a part of them is taken."""
    x = numpy.arange(N)
    n_compared = 0
    for chain in chains(3):
        if batched == (chain[-1] in ("batch", "drop")):
            continue
        want = run(tf.data.Dataset.from_tensor_slices(x), chain)
        if refused(chain):
            with pytest.raises(leat.TextError):
                run(leat.from_arrays(x), chain)
            continue
        if not want:
            continue
        got = run(leat.from_arrays(x), chain)
        n_compared += 1
        if "shuffle" not in chain:
            assert got == want, chain
            continue
        assert len(got) == len(want), chain
        if {"take", "skip"}.isdisjoint(chain):  # a smaller batch among shuffled ones comes last in leat, anywhere in TensorFlow
            assert sorted(map(len, got)) == sorted(map(len, want)), chain
        if set(chain) <= {"shuffle", "repeat", "batch", "cache"}:
            assert sorted(sum(got, [])) == sorted(sum(want, [])), chain
    assert n_compared > 60


def test_repeat_before_shuffle():
    """ds.repeat().shuffle(2048).batch(64): batches cross epochs, a window holds every sample equally often but one."""
    ds = leat.from_arrays(numpy.arange(100)).repeat().shuffle(250, seed=3).batch(64)
    got = run(ds)
    assert {len(batch) for batch in got} == {64}
    first, second = sum(got, [])[:250], sum(got, [])[250:500]
    assert first != second
    assert sorted(set(numpy.bincount(first))) == [2, 3] and sorted(set(numpy.bincount(first + second))) == [5]
    assert ds.endless


def test_batches_are_shuffled_whole():
    x = numpy.arange(N)
    ds = leat.from_arrays(x).batch(BATCH).cache().shuffle(1000, seed=2)
    epochs = [run(ds) for _ in range(3)]
    for epoch in epochs:
        assert sorted(epoch[:-1]) == [list(range(i, i + BATCH)) for i in range(0, N - BATCH + 1, BATCH)]
        assert epoch[-1] == [20, 21, 22]
    assert len({str(epoch) for epoch in epochs}) == 3
