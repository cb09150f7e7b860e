# SPDX-License-Identifier: Apache-2.0
"""Functions of map() that use Albumentations, OpenCV and torch."""
import albumentations as A
import cv2
import leat
import numpy
import pytest
import torch

augment = A.Compose([A.HorizontalFlip(p=0.5), A.RandomBrightnessContrast(p=0.8), A.RandomCrop(9, 8)])


class Augmenter:
    """A transform inside of an object, as people have them."""

    def __init__(self) -> None:
        self.transform = augment

    def __call__(self, image):
        return self.transform(image=image)["image"]


def by_hand(image, rng):
    augment.set_random_seed(int(rng.integers(1 << 31)))
    return augment(image=image)["image"]


@pytest.mark.parametrize("function", [
    augment, lambda image: augment(image=image)["image"], lambda image: augment(image=image), Augmenter(),
    Augmenter().__call__, by_hand,
])
def test_albumentations_draws_by_seed_epoch_and_position(function):
    runs = []
    for workers in (None, 1, 2):
        ds = leat.synthetic(40, 12, 10).shuffle(seed=3).map(function, workers=workers).batch(8)
        runs.append([[numpy.array(images) for images, _ in ds] for _ in range(2)])
        ds.close()
    for run in runs[1:]:
        assert all(numpy.array_equal(a, b) for mine, first in zip(run, runs[0]) for a, b in zip(mine, first))
    first, second = runs[0]
    assert first[0].shape == (8, 9, 8, 3) and not numpy.array_equal(first[0], second[0])
    ds = leat.synthetic(40, 12, 10).shuffle(seed=3).map(function).batch(8)
    ds.restore(ds.state(1, 2))
    assert all(numpy.array_equal(images, b) for (images, _), b in zip(ds, second[2:]))


def test_datasets_may_share_a_transform():
    """Two pipelines call it at the same time, and each seeds it for itself."""
    def made():
        return leat.synthetic(60, 12, 10).shuffle(seed=3).map(lambda image: augment(image=image)["image"]).batch(4)

    alone = [images.copy() for images, _ in made()]
    for (images, _), (others, _), expected in zip(made(), made(), alone):
        assert numpy.array_equal(images, expected) and numpy.array_equal(others, expected)


def test_pictures_and_masks_move_together():
    images = numpy.random.default_rng(1).integers(0, 255, (24, 12, 10, 3), "uint8")
    ds = leat.from_arrays({"image": images, "mask": images[..., :1].copy()})
    moved = A.Compose([A.HorizontalFlip(p=0.5), A.RandomCrop(6, 5)])
    for batch in ds.map(moved, workers=1).batch(8):
        assert batch["image"].shape == (8, 6, 5, 3)
        assert numpy.array_equal(batch["image"][..., :1], batch["mask"])


def test_opencv():
    def blurred(image):
        return cv2.GaussianBlur(image, (3, 3), 0)

    ds = leat.synthetic(16, 12, 10).map(blurred).batch(8)
    plain = leat.synthetic(16, 12, 10).batch(8)
    for (images, _), (before, _) in zip(ds, plain):
        assert all(numpy.array_equal(a, blurred(b)) for a, b in zip(images, before))


def test_torch_tensors_given_back():
    def scaled(image):
        return torch.from_numpy(image).permute(2, 0, 1).float().requires_grad_()

    images, _ = next(iter(leat.synthetic(16, 12, 10).map(scaled).batch(8)))
    assert images.shape == (8, 3, 12, 10) and images.dtype == "float32"


def test_torch_s_generator_is_seeded_in_processes():
    def unaware(image):
        import torch

        return {"x": torch.rand(2)}

    runs = []
    for workers in (1, 2):
        ds = leat.synthetic(16, 4, 4).shuffle(seed=3).map(unaware, workers=workers).batch(8)
        runs.append([batch["x"].tolist() for batch in ds])  # the first call of each process imports torch
        ds.close()
    assert runs[0] == runs[1]
