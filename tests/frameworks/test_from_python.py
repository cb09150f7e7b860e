# SPDX-License-Identifier: Apache-2.0
"""from_python on real datasets of PyTorch and Keras."""
import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
import leat
import numpy
import torch


class Pictures(torch.utils.data.Dataset):
    """Map-style, as people write them: tensors and a number."""

    def __len__(self):
        return 30

    def __getitem__(self, i):
        return torch.full((3, 8, 6), i, dtype=torch.uint8), i % 7


class Rows(keras.utils.PyDataset):
    """Whole batches, the last one smaller."""

    def __len__(self):
        return 4

    def __getitem__(self, i):
        n = 2 if i == 3 else 5
        return numpy.full((n, 3), i, "float32"), numpy.arange(n) + 10 * i


def test_torch_dataset():
    ds = leat.from_python(Pictures(), workers=2).shuffle(seed=3).batch(4)
    seen = []
    for images, labels in ds.to_torch():
        assert isinstance(images, torch.Tensor) and images.shape[1:] == (3, 8, 6) and images.dtype == torch.float32
        numbers = (images[:, 0, 0, 0] * 255).round().long()  # bytes come as 0 to 1
        assert (numbers % 7 == labels).all()
        seen += numbers.tolist()
    assert sorted(seen) == list(range(30)) and seen != sorted(seen)


def test_torch_tensors_and_parts_of_them():
    whole = torch.utils.data.TensorDataset(torch.arange(20).reshape(10, 2).float(), torch.arange(10))
    part = torch.utils.data.Subset(whole, [7, 1, 4])
    rows, numbers = next(iter(leat.from_python(part, workers=1).batch(3)))
    assert numbers.tolist() == [7, 1, 4] and rows.tolist() == [[14, 15], [2, 3], [8, 9]]


def test_keras_pydataset():
    ds = leat.from_python(Rows(), workers=2)  # its items are known to be batches
    found = [(x.shape, y.tolist()) for x, y in ds]
    assert found == [((5, 3), [10 * i + k for k in range(5)]) for i in range(3)] + [((2, 3), [30, 31])]
    shuffled = [y.tolist() for _, y in leat.from_python(Rows(), workers=2).shuffle(seed=1)]
    assert sorted(shuffled) == sorted(y for _, y in found)


def test_keras_fits_one():
    model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    history = model.fit(leat.from_python(Rows(), workers=1), epochs=2, verbose=0)
    assert len(history.history["loss"]) == 2 and numpy.isfinite(history.history["loss"]).all()
