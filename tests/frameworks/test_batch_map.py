# SPDX-License-Identifier: Apache-2.0
"""Functions behind batch(), handed to TensorFlow, PyTorch and JAX: the same values as in a plain loop."""
import leat
import numpy
import pytest


def mix(image, label, rng):
    part, order = rng.beta(0.2, 0.2), rng.permutation(len(image))
    mixed = part * image + (1 - part) * image[order]
    return {"image": mixed.astype("f4")[:, ::-1], "label": numpy.eye(10, dtype="f4")[label]}


def mixed() -> leat.Dataset:
    return leat.synthetic(20, 6, 5).shuffle(seed=1).batch(8).map(mix)


def taken(batches) -> list:
    return [[numpy.array(images), numpy.array(labels)] for images, labels in batches]


@pytest.mark.parametrize("outlet", ["to_tf", "to_torch", "to_jax"])
def test_frameworks_get_what_the_function_makes(outlet):
    ds = mixed()
    want = [taken(ds) for _ in range(2)]
    theirs = getattr(mixed(), outlet)()
    for epoch in range(2):
        found = taken(theirs)
        assert len(found) == 3
        for batch, wanted in zip(found, want[epoch]):
            assert all(numpy.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(batch, wanted))


def test_specs_of_tensorflow():
    specs = mixed().to_tf().element_spec
    assert specs[0].shape.as_list() == [None, 6, 5, 3] and specs[0].dtype.name == "float32"
    assert specs[1].shape.as_list() == [None, 10]
