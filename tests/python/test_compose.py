# SPDX-License-Identifier: Apache-2.0
"""Datasets out of one dataset, and operations that some samples get by chance."""
import collections
import re

import leat
import numpy
import pytest

RANDOM = numpy.random.RandomState(4)
IMAGES = RANDOM.randint(0, 255, (90, 12, 12, 3), "uint8")
LABELS = numpy.repeat(numpy.arange(3), (45, 30, 15)).astype("int64")


def numbers(ds: leat.Dataset) -> list[int]:
    return [number for batch in ds.batch(16).batches() for number in batch.samples]


def test_split_by_shares():
    ds = leat.from_arrays((IMAGES, LABELS))
    train, val = ds.split(0.8)
    assert len(train) == 72 and len(val) == 18
    assert sorted(numbers(train) + numbers(val)) == list(range(90))
    assert numbers(train) == numbers(ds.split(0.8)[0]), "a split has its own seed, which is 0"
    assert numbers(train) == sorted(numbers(train)), "samples keep their order"
    assert numbers(ds.split(0.8, seed=5)[0]) != numbers(train)
    three = ds.split(0.7, 0.2, 0.1)
    assert [len(part) for part in three] == [63, 18, 9]
    assert sorted(sum(map(numbers, three), [])) == list(range(90))
    assert [len(part) for part in ds.split(0.5, 0.25)] == [45, 23], "the rest is left out"
    assert numbers(ds.split(0.8, by="order")[1]) == list(range(72, 90))


def test_split_stratified():
    train, val = leat.from_arrays((IMAGES, LABELS)).split(0.8, stratify=True)
    for part, share in ((train, 0.8), (val, 0.2)):
        counts = collections.Counter(LABELS[numbers(part)])
        assert counts == {0: 45 * share, 1: 30 * share, 2: 15 * share}


def test_split_as_the_text_says_it():
    ds = leat.from_arrays((IMAGES, LABELS))
    one = ds.split("validation", fractions=(0.8, 0.2), stratify=True)
    assert isinstance(one, leat.Dataset) and one.text == ds.split(0.8, stratify=True)[1].text
    assert numbers(ds.split(part="train")) == numbers(ds.split(0.8)[0])


def test_a_seed_of_a_split_is_no_seed_of_others():
    ds = leat.from_arrays((IMAGES, LABELS)).shuffle()
    train, val = ds.split(0.8, seed=3)
    assert train.seed == val.seed == ds.seed
    assert ds.shuffle(seed=1).split(0.8, seed=3)[0].seed == 0


def test_kfold():
    ds = leat.from_arrays((IMAGES[:88], LABELS[:88]))
    for more in ({}, {"stratify": True}, {"seed": 9}, {"by": "order"}):
        seen = []
        pairs = ds.kfold(5, **more)
        assert len(pairs) == 5
        for train, val in pairs:
            assert not set(numbers(train)) & set(numbers(val))
            assert sorted(numbers(train) + numbers(val)) == list(range(88))
            assert len(val) in (17, 18)
            if "stratify" in more:
                counts = collections.Counter(LABELS[numbers(val)])
                assert counts[0] == 9 and counts[1] == 6 and counts[2] in (2, 3)
            seen += numbers(val)
        assert sorted(seen) == list(range(88))


@pytest.mark.parametrize("call, message", [
    (lambda ds: ds.split(), "two or three parts"),
    (lambda ds: ds.split(0.2, 0.2, 0.2, 0.2), "two or three parts"),
    (lambda ds: ds.split(80), "from 0 to 1"),
    (lambda ds: ds.split(0.8, fractions=(0.5, 0.5)), "not both"),
    (lambda ds: ds.split(0.8, straify=True), "did you mean 'stratify'"),
    (lambda ds: ds.split("trian"), "train"),
    (lambda ds: ds.batch(4).split(0.8), "before batch"),
    (lambda ds: ds.kfold(1), "2 folds or more"),
    (lambda ds: ds.batch(4).kfold(5), "before batch"),
    (lambda ds: ds.random_apply(0.5, lambda d: d.batch(4)), "not an operation on pictures"),
    (lambda ds: ds.random_apply(0.5, lambda d: d.gausian_blur(3)), "did you mean 'gaussian_blur'"),
    (lambda ds: ds.random_apply(0.5, lambda d: None), "must return"),
    (lambda ds: ds.random_apply(0.5, lambda d: d), "adds no operation"),
    (lambda ds: ds.random_apply(0.5, 3), "a function such as"),
    (lambda ds: ds.random_apply(1.5, lambda d: d.invert()), "between 0 and 1"),
    (lambda ds: ds.random_choice(lambda d: d.invert()), "takes a list"),
])
def test_mistakes(call, message):
    with pytest.raises((TypeError, ValueError, AttributeError), match=re.escape(message)):
        call(leat.from_arrays((IMAGES, LABELS)))


def applied(ds: leat.Dataset, key: str) -> tuple[numpy.ndarray, list[int]]:
    """All pictures, and what was drawn for each of them."""
    images, drawn = [], []
    for batch in ds.configure(params=True).batch(16).batches():
        images.append(numpy.array(batch["image"]))
        drawn += [int(re.search(key + r"=(\d+)", text)[1]) for text in batch.params]
    return numpy.concatenate(images), drawn


def test_random_apply():
    ds = leat.from_arrays({"image": IMAGES}).options(seed=2)
    plain = numpy.concatenate(list(ds.invert().adjust_gamma(2).batch(16)))
    some, drawn = applied(ds.random_apply(0.4, lambda d: d.invert().adjust_gamma(2)), "random_apply applied")
    assert 20 < sum(drawn) < 55
    for image, on, before, after in zip(some, drawn, IMAGES, plain):
        assert numpy.array_equal(image, after if on else before)
    assert ds.random_apply(0.4, "invert | adjust_gamma gamma=2.0").text == \
        ds.random_apply(0.4, lambda d: d.invert().adjust_gamma(2.0)).text


def test_random_choice():
    ds = leat.from_arrays({"image": numpy.tile(IMAGES, (10, 1, 1, 1))}).options(seed=2)
    texts = [lambda d: d.invert(), "posterize 3", lambda d: d.rot90(2)]
    results = [numpy.concatenate(list(made.batch(16))) for made in (ds.invert(), ds.posterize(3), ds.rot90(2))]
    some, drawn = applied(ds.random_choice(texts, weights=(2, 1, 1)), "random_choice choice")
    counts = collections.Counter(drawn)
    assert 380 < counts[0] < 520 and 170 < counts[1] < 280 and 170 < counts[2] < 280
    for number, (image, which) in enumerate(zip(some, drawn)):
        assert numpy.array_equal(image, results[which][number])


def test_choices_inside_of_one_another():
    ds = leat.from_arrays({"image": IMAGES}).options(seed=2)
    nested = ds.random_apply(0.6, lambda d: d.random_choice([lambda e: e.invert(), lambda e: e.posterize(2)]))
    some, drawn = applied(nested, "random_apply applied")
    inverted, few = 255 - IMAGES, IMAGES & 0xC0
    for image, on, number in zip(some, drawn, range(90)):
        options = (inverted[number], few[number]) if on else (IMAGES[number],)
        assert any(numpy.array_equal(image, option) for option in options)
    again = leat.from_text(leat.synthetic(8, 8, 8).random_apply(0.6, lambda d: d.random_choice(
        [lambda e: e.gaussian_blur(3).invert(), lambda e: e.posterize(2)])).options(seed=1).batch(8).text)
    assert next(iter(again))[0].shape == (8, 8, 8, 3), "quotes inside of quotes are read as they were written"


def test_what_moves_with_a_picture():
    """Masks, boxes and keypoints move for the samples that were flipped, and stay for the others."""
    masks = IMAGES[..., 0] // 64
    boxes = numpy.tile(numpy.array([[[1, 2, 5, 9]]], "float32"), (90, 1, 1))
    points = numpy.tile(numpy.array([[[3, 4]]], "float32"), (90, 1, 1))
    ds = (leat.from_arrays({"image": IMAGES, "m": masks, "b": boxes, "k": points}).options(seed=2)
          .mask(field="m").boxes(field="b").keypoints(field="k")
          .random_apply(0.5, lambda d: d.rot90(2)).random_flip_up_down().random_choice(
              [lambda d: d.pad(2).random_crop(12), lambda d: d.invert()]).configure(params=True))
    seen = collections.Counter()
    for batch in ds.batch(15).batches():
        for i, text in enumerate(batch.params):
            turned = int(re.search(r"applied=(\d)", text)[1])
            flip = int(re.search(r"up_down flip=(\d)", text)[1])
            if re.search(r"choice=(\d)", text)[1] != "1":
                continue
            number = batch.samples[i]
            image, mask = IMAGES[number], masks[number]
            box, point = numpy.array([1, 2, 5, 9]), numpy.array([3, 4])
            if turned:
                image, mask = image[::-1, ::-1], mask[::-1, ::-1]
                box, point = numpy.array([12 - 5, 12 - 9, 12 - 1, 12 - 2]), 12 - point
            if flip:
                image, mask = image[::-1], mask[::-1]
                box = numpy.array([box[0], 12 - box[3], box[2], 12 - box[1]])
                point = numpy.array([point[0], 12 - point[1]])
            assert numpy.array_equal(batch["image"][i], 255 - image) and numpy.array_equal(batch["m"][i], mask)
            assert numpy.array_equal(batch["b"][i][0], box) and numpy.array_equal(batch["k"][i][0], point), text
            seen[turned, flip] += 1
    assert len(seen) == 4
