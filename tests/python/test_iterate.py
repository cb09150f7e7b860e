# SPDX-License-Identifier: Apache-2.0
"""Iterating: epochs, positions, states, several iterators."""
import gc
import random
import subprocess
import threading
import time

import leat
import numpy
import pytest


def everything(dataset) -> bytes:
    return b"".join(array.tobytes() for batch in dataset for array in batch)


def small(n: int = 50, batch: int = 8, seed: int = 3):
    return leat.synthetic(n, 8, 8).shuffle(seed=seed).random_flip_left_right().batch(batch)


def test_a_loop_over_a_folder(pictures):
    ds = (leat.from_directory(pictures).shuffle(seed=7).random_resized_crop(16).random_flip_left_right()
          .normalize("imagenet").batch(10))
    assert len(ds) == 3 and ds.samples == 24 and ds.class_names == ["ant", "bee", "big cat"]
    seen = 0
    for images, labels in ds:
        assert images.dtype == numpy.float32 and images.shape[1:] == (16, 16, 3) and images.flags.writeable
        assert labels.dtype == numpy.int64 and labels.shape == images.shape[:1]
        seen += len(images)
    assert seen == 24


def test_same_bytes_as_the_command(pictures, command, tmp_path):
    ds = leat.from_directory(pictures).shuffle(seed=7).resize(12, 12).random_brightness(20).batch(7)
    subprocess.run([command, "run", ds.text, "--sink", f"npy:{tmp_path}", "-q", "-e", "2"], check=True)
    files = sorted(tmp_path.glob("*_image.npy"))
    assert len(files) == 8
    for file, images in zip(files, [images for _ in range(2) for images, _ in ds]):
        assert numpy.array_equal(numpy.load(file), images)


def test_each_iteration_is_the_next_epoch():
    ds = small()
    first, second, third = everything(ds), everything(ds), everything(ds)
    assert first != second != third
    again = small()
    assert [everything(again) for _ in range(3)] == [first, second, third]


def test_a_broken_loop_begins_the_next_epoch():
    whole = small()
    epochs = [everything(whole) for _ in range(3)]
    ds = small()
    for _ in ds:
        break
    assert everything(ds) == epochs[1]
    iterator = iter(ds)
    next(iterator)
    del iterator
    gc.collect()
    assert ds.state().partition(" epoch=")[2].startswith("2 position=8 step=1 ")


def test_one_pipeline_for_all_epochs():
    ds = small()
    for _ in range(4):
        everything(ds)
    assert ds.stats()["samples"] == 200  # one and the same has made them all
    ds.close()
    assert len(everything(ds)) > 0


def test_two_iterators_at_once():
    epochs = small()
    wanted = [everything(epochs) for _ in range(2)]
    ds = small()
    one, two = iter(ds), iter(ds)
    parts = [b"", b""]
    for a, b in zip(one, two):
        parts[0] += b"".join(x.tobytes() for x in a)
        parts[1] += b"".join(x.tobytes() for x in b)
    assert parts == wanted
    assert next(one, None) is None and next(two, None) is None


def test_threads_share_an_iterator():
    ds = leat.synthetic(1000, 8, 8).shuffle(seed=1).batch(7)
    iterator = ds.batches()
    seen: list[int] = []

    def take() -> None:
        for batch in iterator:
            seen.extend(batch.samples)

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(seen) == list(range(1000))


def test_samples_without_batch():
    ds = leat.synthetic(5, 4, 6)
    samples = list(ds)
    assert len(ds) == 5 and len(samples) == 5 and not ds.batched
    assert samples[2][0].shape == (4, 6, 3) and samples[2][1] == 2
    assert ds.element_spec[0].shape == (4, 6, 3) and ds.element_spec[1].shape == ()


def test_one_sample():
    ds = small(50, 8)
    images, labels = next(iter(ds))
    image, label = ds.sample(3)
    assert numpy.array_equal(image, images[3]) and label == labels[3]
    assert numpy.array_equal(ds.sample(-50)[0], images[0])
    second = [images for images, _ in ds][1]
    assert numpy.array_equal(ds.sample(10, epoch=1)[0], second[2])
    for wrong in (50, -51):
        with pytest.raises(IndexError):
            ds.sample(wrong)


def test_states():
    whole = small()
    epochs = [[images.tobytes() for images, _ in whole] for _ in range(3)]
    ds = small()
    list(ds)
    iterator = iter(ds)
    for _ in range(3):
        next(iterator)
    state = ds.state()
    assert state == ds.state(1, 3) and len(state) < 1024
    del iterator
    for other in (small(), ds):
        other.restore(state)
        assert [images.tobytes() for images, _ in other] == epochs[1][3:]
        assert [images.tobytes() for images, _ in other] == epochs[2]
    assert small().state() == small().state(0, 0)
    at_end = small()
    at_end.restore(ds.state(1, 7))
    assert [images.tobytes() for images, _ in at_end] == epochs[2]


def test_states_of_others_are_refused():
    state = small().state()
    with pytest.raises(leat.StateError, match="batch"):
        small(batch=9).restore(state)
    with pytest.raises(leat.StateError):
        small().restore("leat-state 3")
    with pytest.raises(TypeError):
        small().restore(7)


def test_a_drawn_seed_is_restored():
    random.seed(5)
    ds = leat.synthetic(40, 4, 4).shuffle().batch(8)
    state, wanted = ds.state(0, 2), [labels.tolist() for _, labels in ds][2:]
    random.seed(6)
    other = leat.synthetic(40, 4, 4).shuffle().batch(8)
    assert other.seed != ds.seed
    other.restore(state)
    assert [labels.tolist() for _, labels in other] == wanted


def test_the_seed_comes_from_random():
    seeds = []
    for value in (1, 1, 2):
        random.seed(value)
        seeds.append(leat.synthetic(10, 4, 4).shuffle().batch(2).seed)
    assert seeds[0] == seeds[1] != seeds[2]
    ds = leat.synthetic(10, 4, 4).shuffle()
    assert ds.batch(2).seed == ds.batch(5).seed  # one for the whole chain
    assert f"seed {ds.seed}" in repr(ds) and f"seed {ds.seed}" in str(ds)
    assert leat.synthetic(10).shuffle(seed=4).batch(2).seed == 0  # as the text means everywhere
    assert leat.synthetic(10).shuffle().options(seed=9).seed == 9


def test_turns_and_no_end():
    ds = leat.synthetic(10, 4, 4).shuffle(seed=1).batch(4).repeat(3)
    assert len(ds) == 9 and len(list(ds)) == 9
    assert ds.state(1, 4).partition(" epoch=")[2].startswith("4 position=4 step=1 ")
    plain = leat.synthetic(10, 4, 4).shuffle(seed=1).batch(4)
    epochs = [[labels.tolist() for _, labels in plain] for _ in range(6)]
    assert [labels.tolist() for _, labels in ds] == sum(epochs[3:6], [])
    for endless in (leat.synthetic(10, 4, 4).batch(4).repeat(), leat.synthetic(10, 4, 4).repeat().batch(4)):
        assert endless.length is None
        with pytest.raises(TypeError, match="without end"):
            len(endless)
        assert bool(endless)
        assert sum(1 for _ in zip(endless, range(30))) == 30


def test_streams(tmp_path):
    from test_sources import write_records

    write_records(tmp_path / "a.tfrecord.gz", [{"x": [float(i), 0.0], "label": i} for i in range(21)], gz=True)
    ds = leat.from_tfrecord(tmp_path / "a.tfrecord.gz", ["x:float[2]", "label:int64"]).batch(4)
    assert ds.length is None
    for _ in range(3):
        assert sum((batch["label"].tolist() for batch in ds), []) == list(range(21))
    iterator = iter(ds)
    next(iterator)
    state = ds.state()
    ds.restore(state)
    assert [len(batch["label"]) for batch in ds] == [4, 4, 4, 4, 1]


def test_layouts():
    x = numpy.arange(12, dtype="float32").reshape(6, 2)
    ds = leat.from_arrays({"a": x, "b": x + 1, "label": numpy.arange(6)})
    batch = next(iter(ds.batch(3)))
    assert isinstance(batch, dict) and list(batch) == ["a", "b", "label"]
    inputs, label = next(iter(ds.batch(3).as_tuple(["a", "b"], "label")))
    assert set(inputs) == {"a", "b"} and label.tolist() == [0, 1, 2]
    assert set(next(iter(leat.synthetic(4).batch(2).as_dict()))) == {"image", "label"}
    assert next(iter(leat.from_arrays(x).batch(2))).shape == (2, 2)
    with pytest.raises(leat.ArgumentError, match="did you mean 'label'"):
        next(iter(ds.batch(3).as_tuple("a", "labl")))
    weighted = leat.from_arrays((x, numpy.arange(6), numpy.ones(6, "f4"))).batch(2)
    assert len(next(iter(weighted))) == 3
    spec = weighted.element_spec
    assert [part.shape for part in spec] == [(2, 2), (2,), (2,)] and spec[2].dtype == "float32"


def test_batches_tell_about_themselves():
    ds = small().configure(params=True)
    batch = next(iter(ds.batches()))
    assert (batch.epoch, batch.step, batch.n, batch.n_valid) == (0, 0, 8, 8)
    assert batch.positions == list(range(8)) and len(set(batch.samples)) == 8
    assert all("random_flip_left_right" in text for text in batch.params)
    assert batch["label"].tolist() == [sample % 10 for sample in batch.samples]
    with pytest.raises(KeyError):
        batch["lable"]


def test_pickles_and_copies_are_new_datasets():
    import copy
    import pickle

    ds = leat.synthetic(20, 4, 4).shuffle().batch(4)
    first = everything(ds)
    for other in (pickle.loads(pickle.dumps(ds)), copy.copy(ds), copy.deepcopy(ds)):
        assert other.seed == ds.seed and everything(other) == first


def test_a_single_sample_needs_no_slot_of_a_kept_batch():
    ds = leat.synthetic(400, 64, 64).configure(memory=1_500_000).batch(10)
    kept = list(ds)
    assert numpy.array_equal(ds.sample(17)[0], kept[1][0][7])


def test_ranks():
    whole = leat.synthetic(40, 4, 4).shuffle(seed=2).batch(8)
    parts = [leat.synthetic(40, 4, 4).shuffle(seed=2).batch(4).configure(rank=rank, world_size=2) for rank in (0, 1)]
    for (_, all_labels), (_, first), (_, second) in zip(whole, *parts):
        assert all_labels.tolist() == first.tolist() + second.tolist()


def test_an_error_of_a_sample_is_raised_once(pictures, tmp_path):
    folder = tmp_path / "bad" / "x"
    folder.mkdir(parents=True)
    for path in (pictures / "ant").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "05.png").write_bytes(b"\x89PNG\r\n\x1a\nbroken")
    ds = leat.from_directory(tmp_path / "bad").resize(8, 8).batch(4)
    with pytest.raises(leat.DecodeError, match="05.png") as caught:
        list(ds)
    assert caught.value.stage == "decode" and caught.value.sample is not None
    kept = ds.options(on_error="skip")
    assert sum(len(images) for images, _ in kept) == 8
    assert kept.bad_samples()[0][2] == "decode"


def test_few_batches_are_made_ahead_of_the_first():
    """A program that takes one batch does not pay for a full ring; one that goes on gets it."""
    seen: list[int] = []

    def note(sample):
        seen.append(1)
        return {"x": sample["x"]}

    ds = leat.from_arrays({"x": numpy.arange(4000)}).map(note).batch(4)
    iterator = iter(ds)
    next(iterator)
    settled = -1
    while settled != len(seen):
        settled = len(seen)
        time.sleep(0.1)
    few = settled
    for _ in range(20):
        next(iterator)
    while settled != len(seen):
        settled = len(seen)
        time.sleep(0.1)
    assert few <= 40 and settled > 21 * 4 + 40, (few, settled)
    iterator.close()
