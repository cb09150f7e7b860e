# SPDX-License-Identifier: Apache-2.0
"""Augmentation on the device with the real frameworks, against the engine's kernels on the same pictures.

The tolerances are in tests/python/device_chains.py; every chain runs there with NumPy, here a choice of them."""
import sys
from pathlib import Path

import leat
import numpy
import pytest

sys.path.append(str(Path(__file__).resolve().parent.parent / "python"))
from device_chains import CHAINS, difference, pictures  # noqa: E402

CHOICE = ["flips", "normalize", "perspective", "rotation constant bilinear", "zoom reflect bilinear",
          "translation wrap nearest", "shear nearest bilinear", "affine reflect bilinear", "affine constant nearest",
          "saturation tf", "hue keras", "contrast of f32", "jitter", "jitter keras", "everything"]
FRAMEWORKS = ["torch", "jax", "keras"]


def trained_on():
    return (leat.from_arrays((pictures(16), numpy.arange(16))).options(seed=3).on_device().random_flip()
            .random_rotation(0.1).random_contrast(0.8, 1.2).normalize("imagenet").batch(8))


def plainly():
    return (leat.from_arrays((pictures(16), numpy.arange(16))).options(seed=3).random_flip()
            .random_rotation(0.1).random_contrast(0.8, 1.2).normalize("imagenet").batch(8))


@pytest.fixture(params=FRAMEWORKS)
def library(request):
    """The namespace, how arrays get into it and how they come back."""
    if request.param == "torch":
        import torch

        return torch, torch.from_numpy, lambda x: x.numpy()
    if request.param == "jax":
        import jax.numpy

        return jax.numpy, jax.numpy.asarray, numpy.asarray
    from keras import ops

    return ops, ops.convert_to_tensor, ops.convert_to_numpy


def test_chains(library):
    """A whole number may be the next one where floats are rounded differently, and hues of 8 bits some more."""
    xp, convert, back = library
    for name in CHOICE:
        chain, limit, share = CHAINS[name]
        found = difference(chain, xp, lambda x: convert(numpy.array(x)), back)
        assert numpy.quantile(found, 1 - share) <= limit, f"{name}: {numpy.quantile(found, 1 - share)}"
        assert found.max() <= max(limit, 8 * (share > 0)) or "nearest" in name, f"{name}: {found.max()}"


def test_torch_module():
    import torch

    ds = trained_on()
    augment = leat.device.torch_module(ds)
    assert list(augment.parameters()) == []
    for (inputs, _), (wanted, _) in zip(ds, plainly(), strict=True):
        made = augment({name: torch.tensor(x) for name, x in inputs.items()})
        assert made.shape == (8, 3, 40, 36) and made.dtype == torch.float32 and made.is_contiguous()
        assert abs(made.permute(0, 2, 3, 1).numpy() - wanted).max() < 1e-3


def test_jax_function():
    import jax

    ds = trained_on()
    augment = jax.jit(leat.device.jax_function(ds))
    for (inputs, _), (wanted, _) in zip(ds, plainly(), strict=True):
        assert abs(numpy.asarray(augment(inputs)) - wanted).max() < 1e-3


def test_keras_layer(tmp_path):
    """In a model of the functional API, through fit, saved and loaded."""
    import keras

    ds = trained_on()
    inputs = {name: keras.Input(spec.shape[1:], dtype=spec.dtype, name=name)
              for name, spec in ds.element_spec[0].items()}
    images = leat.device.keras_layer(ds)(inputs)
    assert images.shape == (None, 40, 36, 3)
    model = keras.Model(inputs, keras.layers.Dense(16)(keras.layers.Flatten()(images)))
    front = keras.Model(inputs, images)
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    batches = [({name: numpy.array(x) for name, x in given.items()}, numpy.array(labels)) for given, labels in ds]
    for (given, _), (wanted, _) in zip(batches, plainly(), strict=True):
        assert abs(front.predict_on_batch(given) - wanted).max() < 1e-3
    assert numpy.isfinite(model.fit(ds, epochs=2, verbose=0).history["loss"]).all()
    front.save(tmp_path / "front.keras")
    again = keras.saving.load_model(tmp_path / "front.keras")
    assert (again.predict_on_batch(batches[0][0]) == front.predict_on_batch(batches[0][0])).all()
