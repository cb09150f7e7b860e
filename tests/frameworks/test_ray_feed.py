# SPDX-License-Identifier: Apache-2.0
"""leat.ray.feed with a real Ray: batches of feeders are those of one process, whatever happens to feeders."""
import os
import pickle
import re
import signal
import subprocess
import sys

import leat
import leat.ray
import numpy
import pytest
from PIL import Image
from ray_cluster import SMALL, LIMIT, begin, crew_of, facts, pids, ray, runs, taken, wait_until

N = 61


@pytest.fixture(scope="module", autouse=True)
def cluster():
    begin()
    yield
    ray.shutdown()


def pictures() -> leat.Dataset:
    return leat.synthetic(N, 12, 10).shuffle(seed=3).random_brightness(0.3).random_flip_left_right()


def data(size: int = 4, **more) -> leat.Dataset:
    return pictures().batch(size, **more)


def fed(ds: leat.Dataset, feeders: int = 3, ahead: int = 2, **more) -> leat.Dataset:
    return leat.ray.feed(ds, feeders, num_cpus=1, ahead=ahead, **more)


@pytest.mark.parametrize("feeders", [1, 3])
def test_batches_are_those_of_one_process(feeders):
    ds, several = data(), fed(data(), feeders)
    assert len(several) == len(ds) and several.element_spec == ds.element_spec
    for _ in range(2):
        assert taken(several.batches()) == taken(ds.batches())
    assert several.state() == ds.state() and several.state(1, 7) == ds.state(1, 7)
    stats = several.stats()
    assert stats["batches"] == 2 * len(ds) and stats["feeders"]["deaths"] == 0
    several.close()


def test_back_pressure():
    several = fed(data(), 3, ahead=2)
    iterator = several.batches()
    for _ in range(5):
        next(iterator)
        merged = iterator._feed.pipeline
        under_way = [request.feeder for request in merged._due]
        assert len(under_way) <= 6 and all(under_way.count(feeder) <= 2 for feeder in range(3))
    iterator.close()


def test_a_full_object_store():
    """A trainer that keeps more batches than the store has room for gets all of them: Ray writes to disk."""
    ds = leat.synthetic(24 * 64, 96, 96).shuffle(seed=3).cast("f32").batch(64)
    several = fed(ds, 2)
    held = list(several.batches())
    assert sum(batch["image"].nbytes for batch in held) > 1.5 * SMALL["object_store_memory"]
    assert taken(iter(held)) == taken(ds.batches())
    several.close()


def test_states_and_ranks():
    ranks = [data(drop_remainder=True).configure(rank=rank, world_size=2) for rank in range(2)]
    wanted = taken(ranks[1].batches())
    several = fed(ranks[1], 2)
    first = taken(several.batches(), 3)
    state = several.state()
    assert first == wanted[:3] and state == ranks[1].state(0, 3)
    several.restore(state)  # in the same pipelines
    assert taken(several.batches()) == wanted[3:]
    several.close()
    another = fed(ranks[1], 3)
    another.restore(state)  # with another number of feeders
    assert taken(another.batches()) == wanted[3:]
    another.close()


def test_another_size_of_batches_in_the_middle():
    before = data().state(0, 3)
    ds, several = data(5), fed(data(5), 3)
    for each in (ds, several):
        each.restore(before, resize_batch=True)
    for _ in range(2):
        assert taken(several.batches()) == taken(ds.batches())
    several.close()


@pytest.mark.parametrize("how", ["ray.kill", "SIGKILL"])
def test_a_feeder_that_dies_is_replaced(how):
    wanted, several = taken(data().batches()), fed(data(), 3)
    iterator = several.batches()
    found = [facts(next(iterator)) for _ in range(3)]
    victim = crew_of(iterator).actors[1]
    if how == "ray.kill":
        ray.kill(victim)
    else:
        os.kill(pids([victim])[0], signal.SIGKILL)
    crew = crew_of(iterator)
    assert found + taken(iterator) == wanted
    assert crew.deaths >= 1
    several.close()


def named(image, label):
    return {"image": image * 2}


def test_a_feeder_that_cannot_begin():
    several = fed(leat.synthetic(8, 4, 4).batch(2).map(named), 1)
    with pytest.raises(leat.StoppedError, match=r"^feeder 0 could not begin \(ModuleNotFoundError: No module named .*runtime_env="):
        next(iter(several))


def test_three_deaths_on_one_batch_are_an_error():
    def deadly(image, label):
        if label[0] == 20:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"image": image * 2}

    ds = leat.from_arrays((numpy.zeros((32, 4), "f4"), numpy.arange(32))).batch(4).map(deadly)
    several = fed(ds, 2)
    found = []
    with pytest.raises(leat.StoppedError, match=r"^batch 5 of epoch 0: 3 feeders that were to make it died .*leat check"):
        for batch in several.batches():
            found.append(batch.step)
    assert found == [0, 1, 2, 3, 4]


def test_functions_behind_batch_run_in_feeders():
    ds = data().map(lambda image, label: {"image": image.astype("f4") / 2, "place": numpy.full(len(label), os.getpid())})
    several = fed(ds, 2)
    batches = list(several.batches())
    assert {int(batch["place"][0]) for batch in batches}.isdisjoint({os.getpid()})
    assert all(numpy.array_equal(batch["image"], other["image"]) for batch, other in zip(batches, ds.batches(), strict=True))
    assert several.element_spec == ds.element_spec
    several.close()


def test_errors_are_those_of_the_pipeline(tmp_path):
    (tmp_path / "a").mkdir()
    for i in range(12):
        if i in (2, 3, 7):  # the whole batch 1, and half of batch 3
            (tmp_path / "a" / f"{i:02}.jpg").write_bytes(b"no picture")
        else:
            Image.new("RGB", (5, 4), (i, 9, 9)).save(tmp_path / "a" / f"{i:02}.jpg")
    ds = leat.from_directory(tmp_path).resize(4, 4).batch(2)
    with pytest.raises(leat.FormatError, match="02.jpg"):
        list(fed(ds, 2, timeout=60))
    skipping = ds.options(on_error="skip")
    several = fed(skipping, 2, timeout=60)
    assert taken(several.batches()) == taken(skipping.batches()) and [sample for sample, *_ in several.bad_samples()] == [2, 3, 7]
    several.close()


def test_refusals():
    with pytest.raises(leat.ArgumentError, match="feeders is a number from 1"):
        fed(data(), 0)
    with pytest.raises(TypeError, match="takes a leat dataset"):
        fed([1, 2])
    with pytest.raises(leat.ArgumentError, match=r"configure\(rank=\.\.\., world_size=\.\.\.\)"):
        fed(leat.synthetic(9).shard("auto").batch(2))
    with pytest.raises(leat.UnsupportedError, match="bucket_by_aspect_ratio"):
        fed(leat.synthetic(9).bucket_by_aspect_ratio([1.0]).batch(2))


def test_a_cluster_without_room_is_said():
    several = fed(data(), 1, timeout=1.0, resources={"no such thing": 1})
    with pytest.raises(leat.StoppedError, match=r"batch 0 of epoch 0 did not come within timeout=1 s: 1 feeders want num_cpus=1"):
        next(iter(several))


def test_close_frees_actors():
    several = fed(data(), 2)
    iterator = several.batches()
    next(iterator)
    running = pids(crew_of(iterator).actors)
    del iterator
    several.close()
    wait_until(lambda: not any(map(runs, running)), "feeders run on behind close()")
    iterator = several.batches()  # it can be used again
    next(iterator)
    running = pids(crew_of(iterator).actors)
    del iterator, several  # what nobody holds
    wait_until(lambda: not any(map(runs, running)), "feeders of a dataset that is gone run on")


def test_frameworks_take_it():
    torch = pytest.importorskip("torch")
    jax = pytest.importorskip("jax")
    ds = pictures().cast("f32", scale=1 / 255).batch(8)
    wanted = [(numpy.array(images), numpy.array(labels)) for images, labels in ds]
    several = fed(ds, 2)

    def same(found) -> None:
        assert all(numpy.array_equal(a, x) and numpy.array_equal(b, y) for (a, b), (x, y) in zip(found, wanted, strict=True))

    theirs = several.to_torch(layout="nhwc")
    found = []
    for images, labels in theirs:
        assert isinstance(images, torch.Tensor)
        found.append((images.numpy().copy(), labels.numpy().copy()))
        images.mul_(0)  # it is the reader's alone
    same(found)
    several.restore(several.state(0))
    same((numpy.asarray(images), numpy.asarray(labels)) for images, labels in several.to_jax() if isinstance(images, jax.Array))
    several.restore(several.state(0))
    tf = pytest.importorskip("tensorflow")
    same((images.numpy(), labels.numpy()) for images, labels in several.to_tf().prefetch(tf.data.AUTOTUNE))
    names = leat.from_arrays({"text": ["a", "bc", "", "def"], "x": numpy.arange(4)}).batch(2)
    assert [list(batch["text"]) for batch in fed(names, 2).to_torch()] == [[b"a", b"bc"], [b"", b"def"]]
    several.close()


def test_keras_fits_it():
    keras = pytest.importorskip("keras")
    weights = []
    for make in (lambda ds: ds, lambda ds: fed(ds, 2)):
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(10)])
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        model.fit(make(pictures().cast("f32", scale=1 / 255).batch(8)), epochs=2, verbose=0)
        weights.append(model.get_weights())
    assert all(numpy.array_equal(a, b) for a, b in zip(*weights))


def test_copies_and_pickles():
    several = fed(data(), 2)
    again = pickle.loads(pickle.dumps(several))
    assert repr(again) == repr(several) and re.match(r"<leat\.ray\.feed\(feeders=2, num_cpus=1, ahead=2\) of <leat\.D", repr(again))
    assert taken(again.take(20).batches()) == taken(data().take(20).batches())  # operations may follow
    again.close()


def test_without_ray():
    program = "import sys; sys.modules['ray'] = None\nimport leat\nleat.ray.feed(leat.synthetic(4).batch(2))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=LIMIT)
    assert re.search(r"^ImportError: leat\.ray\.feed\(\) needs Ray: pip install 'ray>=2\.9'", done.stderr.splitlines()[-1])
