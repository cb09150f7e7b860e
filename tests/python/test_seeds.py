# SPDX-License-Identifier: Apache-2.0
"""Operations with a seed of their own: equal seeds draw equally."""
import re

import leat
import numpy
import pytest
from leat._data.ops import OPS

RANDOM = numpy.random.RandomState(6)
IMAGES = RANDOM.randint(0, 255, (40, 12, 12, 3), "uint8")
LEADING = {"shuffle", "balance", "rejection_resample"}


def pair() -> leat.Dataset:
    return leat.from_arrays({"image": IMAGES, "mask": IMAGES.copy()})


def fields(ds: leat.Dataset, epochs: int = 1) -> tuple[numpy.ndarray, numpy.ndarray]:
    found = [batch for _ in range(epochs) for batch in ds]
    return tuple(numpy.concatenate([numpy.array(batch[name]) for batch in found]) for name in ("image", "mask"))


@pytest.mark.parametrize("name, args", [
    ("random_flip_left_right", ()), ("random_brightness", (0.3,)), ("random_crop", (7, 7)), ("random_rotation", (0.2,)),
    ("rand_augment", ()), ("random_erasing", (1,)), ("gaussian_noise", (0.2,)), ("random_contrast", (0.4, 1.6)),
    ("color_jitter", (0.3, 0.3))])
def test_two_fields_of_a_sample(name, args):
    def both(first, second):
        ds = getattr(pair().options(seed=3), name)(*args, **first)
        return fields(getattr(ds, name)(*args, field="mask", **second).batch(8), epochs=2)

    image, mask = both({"seed": 5}, {"seed": 5})
    assert numpy.array_equal(image, mask)
    assert not numpy.array_equal(image[:40], image[40:]), "an epoch has its own draws"
    image, mask = both({"seed": 5}, {"seed": 6})
    assert not numpy.array_equal(image, mask)
    assert not numpy.array_equal(*both({}, {}))


def test_zipped_data_sets_shuffled_and_turned_alike():
    """The texts differ in length, so that numbers of operations differ."""
    a = leat.from_arrays({"image": IMAGES}).adjust_brightness(0).shuffle(seed=4).random_flip_left_right(seed=9)
    b = leat.from_arrays({"mask": IMAGES.copy()}).shuffle(seed=4).random_flip_left_right(field="mask", seed=9)
    image, mask = fields(leat.zip(image=a, mask=b).batch(8))
    assert numpy.array_equal(image, mask) and not numpy.array_equal(image, IMAGES)
    with pytest.raises(leat.TextError, match="seed="):
        next(iter(leat.zip(image=a, mask=b.random_flip_up_down(field="mask")).batch(8)))


def test_inside_of_choices():
    def both(seed):
        ds = pair().random_apply(0.5, "random_brightness 0.3 | random_flip_left_right", seed=seed)
        ds = ds.random_apply(0.5, "random_brightness 0.3 field=mask | random_flip_left_right field=mask", seed=seed)
        ds = ds.random_choice(["random_gamma 0.5 2", "invert"], seed=seed and seed + 1)
        return fields(ds.random_choice(["random_gamma 0.5 2 field=mask", "invert field=mask"], seed=seed and seed + 1).batch(8))

    assert numpy.array_equal(*both(7))
    assert not numpy.array_equal(*both(None))


def test_a_seed_stays_when_operations_are_added_in_front():
    def drawn(ds):
        return fields(ds.random_brightness(0.3, seed=2).batch(8))[0]

    plain = drawn(pair().options(seed=1))
    assert numpy.array_equal(plain, drawn(pair().options(seed=1).adjust_brightness(0).random_flip_up_down(p=0)))
    assert not numpy.array_equal(plain, drawn(pair().options(seed=2))), "the seed of the pipeline counts"


def test_the_seed_of_others_is_not_changed():
    """random_flip(seed=3) fixes neither the order of shuffle nor the draws of other operations."""
    ds = pair().random_flip(seed=3).random_apply(0.5, "random_gamma 0.5 2", seed=4)
    assert ds._given_seed() is None
    assert ds.shuffle(seed=3)._given_seed() == 0
    assert len({pair().random_flip(seed=3).seed for _ in range(4)}) > 1


def test_mixed_samples():
    def mixed(**named):
        return fields(pair().cast("f32").batch(8).options(seed=1).mixup(labels="none", **named))[0]

    assert numpy.array_equal(mixed(seed=2), mixed(seed=2)) and not numpy.array_equal(mixed(seed=2), mixed())


def test_every_operation_that_draws_has_it():
    have = {name for name, op in OPS.items() if "seed" in [arg.name for arg in op.args]}
    assert {name for name in OPS if re.match("random_|rand_|trivial|auto_aug|augmix|mixup|cutmix", name)} <= have
    assert LEADING <= have and "enumerate" not in have and "resize" not in have
