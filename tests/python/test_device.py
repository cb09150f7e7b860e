# SPDX-License-Identifier: Apache-2.0
"""What a device makes of sent pictures and numbers, against the engine's kernels on the same pictures, with NumPy.
tests/frameworks/test_device.py does the same with the frameworks."""
from pathlib import Path

import leat
import numpy
import pytest

from device_chains import CHAINS, WARPS, difference, pictures


@pytest.mark.parametrize("name", CHAINS)
def test_chain(name):
    chain, limit, share = CHAINS[name]
    found = difference(chain, numpy)
    assert numpy.quantile(found, 1 - share) <= limit and found.max() <= max(limit, 8 * (share > 0)), found.max()


@pytest.mark.parametrize("name", ["affine reflect bilinear", "affine constant bilinear", "rotation reflect bilinear", "perspective",
                                  "jitter keras", "contrast of f32"])
def test_pictures_as_large_as_photos(name):
    chain, limit, _ = CHAINS[name]
    assert difference(chain, numpy, images=pictures(3, 375, 500)).max() <= limit


def test_the_guide_states_the_bound():
    words = " ".join((Path(__file__).resolve().parents[2] / "docs/python.md").read_text().split())
    assert f"Interpolating warps differ by at most {WARPS} for sides up to 512 pixels" in words


def test_bytes_moved():
    """u8 and a hundred bytes of numbers, instead of f32."""
    images = leat.from_arrays((pictures(8), numpy.arange(8))).options(seed=1)
    plain = next(images.random_flip().random_rotation(0.1).normalize("imagenet").batch(8).batches())
    sent = next(images.on_device().random_flip().random_rotation(0.1).normalize("imagenet").batch(8).batches())
    assert plain["image"].nbytes == 4 * sent["image"].nbytes
    assert sent["drawn"].shape == (8, 18) and sent["drawn"].dtype == numpy.float32


def test_layout():
    ds = leat.from_arrays((pictures(8), numpy.arange(8))).on_device().random_flip().batch(3)
    inputs, labels = next(iter(ds))
    assert list(inputs) == ["image", "drawn"] and labels.tolist() == [0, 1, 2]
    assert ds.element_spec[0]["drawn"].shape == (None, 2)
    alone = leat.from_arrays(pictures(8)).on_device().random_flip().batch(4)
    assert list(next(iter(alone))) == ["image", "drawn"]
    gray = leat.from_arrays((pictures(4)[..., 0], numpy.arange(4))).on_device().random_flip().rescale(2).batch(4)
    inputs, _ = next(iter(gray))
    assert leat.device.Augment(gray)(inputs["image"], inputs["drawn"], numpy).shape == (4, 40, 36, 1)


def test_refused():
    ds = leat.from_arrays((pictures(4), numpy.arange(4)))
    with pytest.raises(leat.ArgumentError, match=r"write on_device\(\) before"):
        leat.device.Augment(ds.random_flip().batch(2))
    with pytest.raises(leat.UnsupportedError, match="write it before on_device"):
        leat.device.Augment(ds.on_device().resize(8, 8).batch(2))
    wide = leat.from_arrays((numpy.zeros((2, 4, 4, 4), "u1"), numpy.arange(2))).on_device()
    with pytest.raises(leat.UnsupportedError, match="4 channels"):
        leat.device.Augment(wide.random_contrast(0.5, 2, flavour="pil").batch(2))
