# SPDX-License-Identifier: Apache-2.0
"""Elastic training: the number of ranks and the batch of all of them change in the middle of an epoch, ranks are killed, and
every sample of the epoch comes once, in the order of one process."""
import random

import leat
import pytest

SAMPLES = 103


def dataset(size, rank=0, world=1, **more):
    return (leat.synthetic(SAMPLES, 4, 4).shuffle(seed=3).random_flip_left_right()
            .batch(global_size=size, valid="valid", **more).configure(rank=rank, world_size=world, threads=1))


def order(epochs):
    """Numbers of the samples, of one process."""
    ds = leat.synthetic(SAMPLES, 4, 4).shuffle(seed=3).batch(1)
    return [[batch.samples[0] for batch in ds.batches()] for _ in range(epochs)]


def take(datasets, steps):
    """So many batches of every rank; their samples in the order of the global batches, and the state behind them. None: the
    epoch is over."""
    iterators = [ds.batches() for ds in datasets]
    seen = []
    for _ in range(steps):
        batches = [next(each, None) for each in iterators]
        if batches[0] is None:
            assert batches == [None] * len(datasets)
            return seen, None
        assert len({(batch.epoch, batch.step, batch.n) for batch in batches}) == 1
        for batch in batches:
            assert batch["valid"].tolist() == [i < batch.n_valid for i in range(batch.n)]
            seen += batch.samples[:batch.n_valid]
    states = {ds.state() for ds in datasets}
    assert len(states) == 1  # one state serves all ranks
    return seen, states.pop()


@pytest.mark.parametrize("size, world", [(7, 3), (10, 4), (12, 4), (5, 5), (103, 2), (200, 3), (9, 1)])
def test_shares_of_one_batch(size, world):
    ranks = [dataset(size, rank, world) for rank in range(world)]
    seen, _ = take(ranks, SAMPLES)
    assert seen == order(1)[0]
    assert {ds.batch_size for ds in ranks} == {-(-size // world)}
    assert len({len(ds) for ds in ranks}) == 1 and len(ranks[0]) == -(-SAMPLES // size)
    for ds in ranks:
        ds.close()


def test_states_are_those_of_one_process():
    one = leat.synthetic(SAMPLES, 4, 4).shuffle(seed=3).random_flip_left_right().batch(12, valid="valid")
    shared = dataset(12, 1, 5)
    assert one.state(0, 3) == shared.state(0, 3)


@pytest.mark.parametrize("seed", range(12))
def test_random_sequences(seed):
    rng = random.Random(seed)
    expected, seen, state = order(3), [[], [], []], None
    epoch = 0
    for _ in range(40):
        world, size = rng.randint(1, 5), rng.randint(5, 40)
        ranks = [dataset(size, rank, world) for rank in range(world)]
        for ds in ranks:
            if state is not None:
                ds.restore(state, resize_batch=True)
        took, behind = take(ranks, rng.randint(1, 4))
        for ds in ranks:
            ds.close()
        if rng.random() < 0.3:
            continue  # they were killed before the state was saved: what they took comes again
        seen[epoch] += took
        state = behind
        if state is None or f" epoch={epoch + 1} " in state:
            if state is None:
                state = dataset(size).state(epoch + 1)
            epoch += 1
        if epoch == 3:
            break
    for whole, part in zip(expected[:epoch], seen):
        assert part == whole
    assert epoch > 0


def test_steps_go_on_counting():
    ds = dataset(10)
    _, state = take([ds], 4)
    ds = dataset(20)
    ds.restore(state, resize_batch=True)
    batches = list(ds.batches())
    assert [batch.step for batch in batches] == [4, 5, 6, 7]  # 40 samples were seen, 63 are left
    assert [batch.n_valid for batch in batches] == [20, 20, 20, 3]
    assert [batch.step for batch in ds.batches()] == list(range(6))  # the next epoch has one size
    assert "position=80 step=6 " in ds.state(0, 6) and " from=40 from_step=4 " in ds.state(0, 6)
    assert ds.state(0, 8) == ds.state(1, 0) and " from=" not in ds.state(1, 2)
    with pytest.raises(leat.Error, match="before batch 4 they had another size"):
        ds.state(0, 2)


def test_a_state_behind_a_change():
    ds = dataset(10)
    _, state = take([ds], 4)
    ds = dataset(20)
    ds.restore(state, resize_batch=True)
    first, state = take([ds], 1)
    again = dataset(20)
    again.restore(state)  # the size is the same: nothing is to be changed
    rest = [sample for batch in again.batches() for sample in batch.samples]
    assert first + rest == order(1)[0][40:]
    for batches in ([*again.batches()], [*again.batches()]):
        assert sum(batch.n for batch in batches) == SAMPLES
    third = dataset(7)
    third.restore(state, resize_batch=True)
    assert [sample for batch in third.batches() for sample in batch.samples] == order(1)[0][60:]
    third.restore(dataset(7).state(0, 2))  # an earlier place, where all batches had one size
    assert [batch.step for batch in third.batches()][0] == 2


def test_refused():
    _, state = take([dataset(10)], 3)
    with pytest.raises(leat.Error, match="batch size=10 .* resize_batch"):
        dataset(20).restore(state)
    with pytest.raises(leat.Error, match="another pipeline"):
        (leat.synthetic(SAMPLES, 4, 4).shuffle(seed=3).random_flip_up_down()
         .batch(20, valid="valid").restore(state, resize_batch=True))
    with pytest.raises(leat.Error, match="count batches"):
        dataset(20).take(3).restore(state, resize_batch=True)
    mixed = leat.synthetic(SAMPLES, 4, 4).cast("f32").one_hot("label", 10)
    saved = mixed.batch(6).mixup(group=2).state(0, 1)
    mixed.batch(8).mixup(group=2).restore(saved, resize_batch=True)
    with pytest.raises(leat.Error, match="in the middle of a group of 4"):
        mixed.batch(8).mixup(group=4).restore(saved, resize_batch=True)
    with pytest.raises(leat.Error, match="mixed in groups cannot be .* global_size=8"):
        list(leat.synthetic(9, 4, 4).cast("f32").one_hot("label", 10).batch(global_size=7).mixup(group=2)
             .configure(rank=0, world_size=2))
    with pytest.raises(leat.Error, match="must be 3 or more"):
        list(dataset(2, 0, 3))


def test_streams(tmp_path):
    with leat.TFRecordWriter(tmp_path / "a.tfrecord.gz", compression="GZIP") as writer:
        for i in range(40):
            writer.write(leat.example({"x": i}))

    def stream(size, rank=0, world=1):
        return (leat.from_tfrecord(tmp_path / "a.tfrecord.gz", {"x": "int64"}).shuffle(8, seed=1)
                .batch(global_size=size).configure(rank=rank, world_size=world, threads=1))

    whole = [int(x) for batch in stream(1).batches() for x in batch["x"]]
    ds = stream(6)
    iterator = ds.batches()
    seen = [int(x) for _ in range(3) for x in next(iterator)["x"]]
    other = stream(4)
    other.restore(ds.state(), resize_batch=True)
    assert seen + [int(x) for batch in other.batches() for x in batch["x"]] == whole
    with pytest.raises(leat.Error, match="a stream cannot be divided among 3 ranks .* global_size=9"):
        list(stream(7, 0, 3))


def test_endless_repetitions_and_dropped_remainders():
    ds = dataset(10, drop_remainder=True).repeat(2)
    _, state = take([ds], 4)
    ds = dataset(30, drop_remainder=True).repeat(2)
    ds.restore(state, resize_batch=True)
    assert [(batch.epoch, batch.step) for batch in ds.batches()] == [(0, 4), (0, 5), (1, 0), (1, 1), (1, 2)]
    assert [(batch.epoch, batch.step) for batch in ds.batches()][:2] == [(2, 0), (2, 1)]
