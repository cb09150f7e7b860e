# SPDX-License-Identifier: Apache-2.0
"""Functions of map() behind batch()."""
import pickle
import threading

import leat
import numpy
import pytest


def synthetic(n: int = 20):
    return leat.synthetic(n, 6, 5).shuffle(seed=1)


PLAIN = [(images.copy(), labels.copy()) for images, labels in synthetic().batch(8)]


def mix(image, label, rng):
    """Mixup, as people write it."""
    part, order = rng.beta(0.2, 0.2), rng.permutation(len(image))
    return {"image": part * image + (1 - part) * image[order], "label": numpy.eye(10, dtype="f4")[label], "part": part}


def test_a_function_gets_a_batch():
    ds = synthetic().batch(8).map(lambda image: image[:, ::-1].astype("f4"))
    for (images, labels), (plain, numbers) in zip(ds, PLAIN):
        assert numpy.array_equal(images, plain[:, ::-1]) and images.dtype == "float32" and images.flags.c_contiguous
        assert numpy.array_equal(labels, numbers)
    assert len(ds) == 3 and ds.batch_size == 8 and "batch size=8 | map <lambda>" in repr(ds)
    image, label = ds.element_spec
    assert image.shape == (None, 6, 5, 3) and image.dtype == "float32" and label.dtype == "int64"
    even = synthetic(16).batch(8).map(lambda image: image.mean((1, 2)))
    assert even.element_spec[0].shape == (8, 3)
    # A second function sees what the first has made; operations that change no batch may follow.
    ds = synthetic().batch(8).map(mix).map(lambda image, part: image * 0 + part).prefetch(2).take(2)
    found = list(ds)
    assert len(found) == 2 and (found[0]["image"] == found[0]["part"]).all() and found[0]["label"].shape == (8, 10)


def test_types_and_forms():
    ds = synthetic().batch(8).map(mix)
    spec = ds.element_spec
    assert spec["image"].dtype == "float64" and spec["label"].shape == (None, 10) and spec["part"].shape == ()
    assert ds.as_tuple("image", "part").element_spec[1].name == "part"
    images, part = next(iter(ds.as_tuple("image", "part")))
    assert images.shape == (8, 6, 5, 3) and part.shape == ()
    declared = synthetic().batch(8).map(mix, image=("f32", (6, 5, 3)), label=("f32", (None,)), part=None)
    assert declared.element_spec["image"].dtype == "float32"
    assert declared.element_spec["label"].shape == (None, None)
    assert next(iter(declared))["image"].dtype == "float32"
    batch = next(ds.batches())
    assert batch.keys() == ["image", "label", "part"] and batch["image"].shape == (8, 6, 5, 3) and batch.n == 8
    assert numpy.array_equal(numpy.from_dlpack(batch.tensors["image"]), batch["image"])
    ragged = leat.from_arrays({"text": ["a", "bcd", ""], "x": [1, 2, 3]}).batch(3)
    ragged = next(iter(ragged.map(lambda text, x: {"n": [len(each) for each in text], "x": x * 2})))
    assert ragged["n"].tolist() == [1, 3, 0] and ragged["x"].tolist() == [2, 4, 6] and ragged["text"][1] == b"bcd"


def test_rng_is_a_function_of_seed_epoch_and_step():
    ds = synthetic().batch(8).map(mix)
    epochs = [[batch["image"].copy() for batch in ds] for _ in range(2)]
    assert not numpy.array_equal(epochs[0][0], epochs[1][0])
    again = synthetic().batch(8).map(mix).configure(threads=3)
    again.restore(again.state(1, 1))
    rest = [batch["image"] for batch in again]
    assert len(rest) == 2 and all(numpy.array_equal(a, b) for a, b in zip(rest, epochs[1][1:]))
    copy = pickle.loads(pickle.dumps(synthetic().batch(8).map(mix)))
    assert numpy.array_equal(next(iter(copy))["image"], epochs[0][0])
    part = numpy.random.default_rng((0, 0, 0, 0)).beta(0.2, 0.2)
    assert next(iter(synthetic().batch(8).map(mix)))["part"] == numpy.float32(part)


def test_items_of_a_source_that_are_batches():
    class Batches:
        def __len__(self):
            return 3

        def __getitem__(self, i):
            n = 2 if i == 2 else 4
            return numpy.full((n, 3), i, "f4"), numpy.arange(n)

    ds = leat.from_python(Batches(), workers=1, items="batch").map(lambda image: numpy.hstack([image, image + 1]))
    found = list(ds)
    assert [images.shape for images, _ in found] == [(4, 6), (4, 6), (2, 6)] and found[2][0].tolist()[0] == [2] * 3 + [3] * 3
    assert [labels.tolist() for _, labels in found] == [[0, 1, 2, 3], [0, 1, 2, 3], [0, 1]]
    assert ds.element_spec[0].shape == (None, 6)
    halves = leat.from_python(Batches(), workers=1, items="batch").map(lambda image, label: (image[:1], label[:1]))
    assert [images.shape for images, _ in halves] == [(1, 3)] * 3


def test_several_threads_share_an_iterator():
    within, most = [0], [0]

    def alone(image):
        within[0] += 1
        most[0] = max(most[0], within[0])
        result = image.sum((1, 2, 3))
        within[0] -= 1
        return result

    ds = leat.synthetic(400, 4, 4).batch(2).map(alone)
    it, seen = iter(ds), []
    threads = [threading.Thread(target=lambda: seen.extend(images.sum() for images, _ in it)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 200 and most[0] == 1


def test_mistakes():
    ds = synthetic().batch(8).map(mix)
    for make, message in [(lambda: ds.sample(1), "whole batches"), (lambda: ds.show(2), "whole batches"),
                          (lambda: ds.statistics(), "whole batches"), (lambda: ds.unbatch(), "write unbatch before map"),
                          (lambda: ds.batch(4), "write batch before map"),
                          (lambda: ds.save_tfrecord("x"), "whole batches"),
                          (lambda: ds.class_weights(), "makes label"),
                          (lambda: synthetic().batch(8).map(mix, workers=2), "leave workers out")]:
        with pytest.raises(leat.ArgumentError, match=message):
            make()
    assert set(synthetic().batch(8).map(lambda image: image * 2).class_weights()) == set(range(10))

    def third(image, label):
        if len(image) == 4:
            raise KeyError("the last one")
        return image

    with pytest.raises(KeyError, match="the last one") as caught:
        list(synthetic().batch(8).map(third))
    assert "batch 2 of epoch 0" in "".join(caught.value.__notes__)
    with pytest.raises(leat.DTypeError, match="image is float64 .* was uint8 with 4 axes in the first call"):
        list(synthetic().batch(8).map(lambda image: image if len(image) == 8 else image / 2))
    with pytest.raises(leat.ArgumentError, match="parameter 'x'"):
        list(synthetic().batch(8).map(lambda x: x))


def test_elements_by_number_go_through_the_function():
    ds = leat.from_arrays((numpy.arange(24, dtype="f4").reshape(8, 3), numpy.arange(8))).batch(3)
    ds = ds.map(lambda image, rng: image + rng.integers(100))
    batches = list(ds)
    for i in (0, 2, 1, -1):
        assert all(numpy.array_equal(a, b) for a, b in zip(ds[i], batches[i], strict=True))
