# SPDX-License-Identifier: Apache-2.0
"""What to_torch() makes of pictures, and the ways to take it that are refused, with the real PyTorch."""
import itertools
import re
from pathlib import Path

import leat
import numpy
import pytest
import torch
from torch.utils.data import DataLoader, Subset


def first(images):
    return images.transpose(0, 3, 1, 2)


def to_tensor(images):
    """torchvision's ToTensor, for a batch."""
    return torch.from_numpy(images).permute(0, 3, 1, 2).to(torch.float32).div(255)


def test_u8_pictures_come_as_to_tensor_gives_them():
    ds = leat.synthetic(20, 9, 7).shuffle(seed=1).random_flip_left_right().batch(8)
    same = leat.synthetic(20, 9, 7).shuffle(seed=1).random_flip_left_right().batch(8)
    for (images, labels), (tensor, numbers) in zip(ds, same.to_torch(), strict=True):
        assert tensor.shape[1:] == (3, 9, 7) and tensor.is_contiguous() and tensor.dtype == torch.float32
        torch.testing.assert_close(tensor, to_tensor(images), rtol=0, atol=1e-7)
        assert numbers.dtype == torch.int64 and (numbers.numpy() == labels).all()
    one, _ = next(iter(leat.synthetic(20, 9, 7).to_torch()))
    assert one.shape == (3, 9, 7) and 0 <= float(one.min()) and float(one.max()) <= 1


def test_resizing_does_not_change_the_range():
    """TensorFlow's resize makes f32 from 0 to 255 of bytes; what cast and normalize make stays as it is."""
    def pictures(chain):
        return next(iter(chain(leat.synthetic(8, 9, 7)).batch(8).to_torch()))[0]

    for chain in (lambda ds: ds.resize(5, 5), lambda ds: ds.random_rotation(0.1), lambda ds: ds.resize(5, 5, flavour="pil"),
                  lambda ds: ds.image_data_generator(rotation=5), lambda ds: ds.random_brightness(0.1)):
        images = pictures(chain)
        assert images.dtype == torch.float32 and 0.3 < float(images.max()) <= 1.0001 and float(images.min()) >= -1e-4
    for chain in (lambda ds: ds.resize(5, 5).cast("f32"), lambda ds: ds.rescale(2), lambda ds: ds.cast("f32"),
                  lambda ds: ds.image_data_generator(rescale=2)):
        assert float(pictures(chain).max()) > 100
    floats = numpy.random.default_rng(1).random((4, 6, 6, 3), "f4") * 200
    images, _ = next(iter(leat.from_arrays((floats, numpy.arange(4))).resize(6, 6).batch(4).to_torch()))
    assert float(images.max()) > 100  # the values of floats are their own


def test_what_the_text_and_the_arguments_say():
    ds = leat.synthetic(8, 6, 4).batch(4)
    images, _ = next(iter(ds))
    same, _ = next(iter(ds.to_torch(layout="nhwc", dtype="u8")))
    assert same.dtype == torch.uint8 and (same.numpy() == images).all()
    bytes_first, _ = next(iter(leat.synthetic(8, 6, 4).batch(4).to_torch(dtype=torch.uint8)))
    assert bytes_first.dtype == torch.uint8 and (bytes_first.numpy() == first(images)).all()
    half, _ = next(iter(leat.synthetic(8, 6, 4).batch(4).to_torch(dtype="bf16")))
    assert half.dtype == torch.bfloat16 and float(half.max()) <= 1
    kept, _ = next(iter(leat.synthetic(8, 6, 4).cast("u8").batch(4).to_torch()))
    assert kept.dtype == torch.uint8
    normal, _ = next(iter(leat.synthetic(8, 6, 4).normalize("imagenet").batch(4).to_torch()))
    plain, _ = next(iter(leat.synthetic(8, 6, 4).normalize("imagenet").batch(4)))
    assert normal.dtype == torch.float32 and (normal.numpy() == first(plain)).all()
    with pytest.raises(leat.ArgumentError, match=r"makes image f32.*cast\('f16'\)"):
        next(iter(leat.synthetic(8, 6, 4).normalize("imagenet").batch(4).to_torch(dtype="f16")))
    for wrong in ({"layout": "hwc"}, {"dtype": "i64"}):
        with pytest.raises(leat.ArgumentError, match="to_torch"):
            ds.to_torch(**wrong)


CHAINS = [
    lambda ds: ds.batch(4),
    lambda ds: ds.random_crop(8).random_flip_left_right().batch(4),
    lambda ds: ds.color_jitter(0.2, 0.2).resize(10, 7).batch(4),
    lambda ds: ds.random_rotation(0.1).random_erasing(1.0).batch(4),
    lambda ds: ds.gaussian_blur(3).batch(4),
    lambda ds: ds.cast("f32").random_erasing(1.0).batch(4),
    lambda ds: ds.cast("i32").batch(4),
    lambda ds: ds.cast("f64").batch(4),
    lambda ds: ds.cast("f16").batch(4),
    lambda ds: ds.resize(6, 6).cache().random_flip_left_right().batch(4),
    lambda ds: ds.resize(6, 6).cache().batch(4),
    lambda ds: ds.cast("f32").one_hot(10).batch(16).mixup(0.4),
    lambda ds: ds.cast("f32").one_hot(10).batch(16).cutmix(1.0),
    lambda ds: ds.random_crop(9).padded_batch(4, "image=12x11x3", padding="image:7"),
    lambda ds: ds.map(lambda sample: {"image": sample["image"][::-1].copy()}, image=("u8", (12, 12, 3))).batch(4),
    lambda ds: ds.options(fuse=False).resize(5, 9).random_flip_up_down().batch(4),
]


@pytest.mark.parametrize("number", range(len(CHAINS)))
def test_channels_first_is_the_same_picture(number):
    """In every kind of chain, and states go from one layout to the other."""
    chain = CHAINS[number]
    ds = chain(leat.synthetic(32, 12, 12).shuffle(seed=2))
    last = chain(leat.synthetic(32, 12, 12).shuffle(seed=2)).to_torch(layout="nhwc", dtype=None)
    channels_first = ds.to_torch()
    for (a, x), (b, y) in zip(channels_first, last, strict=True):
        assert a.dtype == b.dtype and a.shape[1] == 3 and torch.equal(a, b.permute(0, 3, 1, 2)) and torch.equal(x, y)
    if number not in (6, 7):  # types that no pass stores
        assert a.is_contiguous()
    state = ds.state(0, 1)
    other = chain(leat.synthetic(32, 12, 12).shuffle(seed=2)).to_torch(layout="nhwc", dtype="u8" if number < 5 else None)
    other.load_state_dict({"leat": state})
    again = chain(leat.synthetic(32, 12, 12).shuffle(seed=2))
    again.restore(other.state_dict()["leat"])
    assert again.state() == state == other.state_dict()["leat"]


def test_combined_datasets():
    """Parts that bring pictures, and parts that decode them."""
    text = "concatenate 'synth 6 4 4 seed=1' 'synth 6 4 4 seed=2' | batch 4"
    for (a, _), (b, _) in zip(leat.from_text(text).to_torch(), leat.from_text(text), strict=True):
        torch.testing.assert_close(a, to_tensor(b), rtol=0, atol=1e-7)


def test_masks_keep_their_type():
    """Classes of pixels come as (batch, height, width), as cross_entropy takes them."""
    n = 6
    images = numpy.random.default_rng(1).integers(0, 255, (n, 8, 8, 3), "u1")
    masks = (images[..., :1] > 100).astype("u1") * 7
    ds = leat.from_arrays({"image": images, "mask": masks}).mask(field="mask").random_flip_left_right().shuffle(seed=1).batch(3)
    for theirs in ds.to_torch():
        assert theirs["image"].shape == (3, 3, 8, 8) and theirs["image"].dtype == torch.float32
        assert theirs["mask"].shape == (3, 8, 8) and theirs["mask"].dtype == torch.uint8
        assert set(theirs["mask"].unique().tolist()) <= {0, 7}
    batch = next(iter(ds.to_torch(layout="nhwc")))
    assert batch["mask"].shape == (3, 8, 8, 1)
    unnamed = leat.from_arrays({"left": images, "grey": images[..., :1], "table": images}).random_flip_left_right(
        field="left").random_flip_up_down(field="grey").batch(2).to_torch()
    batch = next(iter(unnamed))
    assert batch["left"].shape == (2, 3, 8, 8) and batch["left"].dtype == torch.float32
    assert batch["grey"].shape == (2, 1, 8, 8) and batch["grey"].dtype == torch.uint8  # may be classes of pixels
    assert batch["table"].shape == (2, 8, 8, 3) and batch["table"].dtype == torch.uint8  # no operation on pictures


def test_what_is_a_picture():
    n = 4
    grey = numpy.random.default_rng(1).integers(0, 255, (n, 28, 28), "u1")
    images, _ = next(iter(leat.from_arrays((grey, numpy.arange(n))).batch(4).to_torch()))
    assert images.shape == (4, 1, 28, 28) and images.dtype == torch.float32
    torch.testing.assert_close(images[:, 0], torch.from_numpy(grey).float() / 255, rtol=0, atol=1e-7)
    for shape in ((n, 5), (n, 50, 6), (n, 16, 16, 16)):  # vectors, series, volumes
        values = numpy.random.default_rng(1).random(shape, "f4")
        got, _ = next(iter(leat.from_arrays((values, numpy.arange(n))).batch(4).to_torch()))
        assert torch.equal(got, torch.from_numpy(values))
    planes = numpy.random.default_rng(1).integers(0, 255, (n, 3, 8, 8), "u1")  # channels are first already
    got, _ = next(iter(leat.from_arrays((planes, numpy.arange(n))).batch(4).to_torch()))
    torch.testing.assert_close(got, torch.from_numpy(planes).float() / 255, rtol=0, atol=1e-7)


def test_repr_and_spec():
    ds = leat.synthetic(8, 6, 4).batch(4)
    theirs = ds.to_torch()
    assert "layout='nchw', pictures of bytes as f32 from 0 to 1" in repr(theirs) and "synth" in repr(theirs)
    assert "layout='nhwc', u8 pictures as they are" in repr(ds.to_torch(layout="nhwc", dtype="u8"))
    next(iter(theirs))
    assert ds.element_spec[0].shape == (4, 6, 4, 3) and ds.element_spec[0].dtype == "uint8"
    assert next(iter(ds))[0].shape == (4, 6, 4, 3)


def test_on_device_sends_what_the_module_takes():
    ds = leat.synthetic(8, 6, 6).on_device().random_flip_left_right().normalize("imagenet").batch(4)
    inputs, _ = next(iter(ds.to_torch()))
    assert inputs["image"].dtype == torch.uint8 and inputs["image"].shape == (4, 6, 6, 3)
    made = leat.device.torch_module(ds)(inputs)
    plain = leat.synthetic(8, 6, 6).random_flip_left_right().normalize("imagenet").batch(4).configure()
    expected = plain._with(seed=ds._seed)
    torch.testing.assert_close(made, next(iter(expected.to_torch()))[0], rtol=0, atol=1e-5)


# --------------------------------------------------------------------------------------------- loaders


def test_a_ready_loader():
    ds = leat.synthetic(20, 4, 4).shuffle(seed=1).batch(8)
    loader = ds.to_torch(loader=True)
    assert isinstance(loader, DataLoader) and len(loader) == 3 and loader.num_workers == 0
    whole = [labels.tolist() for _, labels in loader]
    assert whole == [labels.tolist() for _, labels in leat.synthetic(20, 4, 4).shuffle(seed=1).batch(8)]
    state = loader.dataset.state_dict(0, 1)
    again = leat.synthetic(20, 4, 4).shuffle(seed=1).batch(8).to_torch(loader=True)
    again.dataset.load_state_dict(state)
    assert [labels.tolist() for _, labels in again] == whole[1:]


@pytest.mark.parametrize("options", [{"batch_size": 4}, {"batch_size": None}, {"batch_size": 4, "shuffle": True},
                                     {"batch_size": 4, "num_workers": 1, "multiprocessing_context": "fork"}])
@pytest.mark.parametrize("wrap", [lambda ds: ds, lambda ds: Subset(ds, [0, 1])])
def test_a_loader_over_the_dataset_itself_is_refused(options, wrap):
    batched, single = leat.synthetic(20, 4, 4).batch(8), leat.synthetic(20, 4, 4)
    with pytest.raises(leat.UnsupportedError, match=r"loader = ds\.to_torch\(loader=True\)"):
        next(iter(DataLoader(wrap(batched), **options)))
    with pytest.raises(leat.UnsupportedError, match=r"loader = ds\.batch\(32\)\.to_torch\(loader=True\)"):
        next(iter(DataLoader(wrap(single), **options)))
    assert batched[0][0].shape == (8, 4, 4, 3)


@pytest.mark.parametrize("options", [{"batch_size": 32}, {}])
def test_a_loader_that_puts_batches_together_again_is_refused(options):
    with pytest.raises(leat.UnsupportedError, match=r"loader = ds\.to_torch\(loader=True\).*batch_size=None"):
        next(iter(DataLoader(leat.synthetic(20, 4, 4).batch(8).to_torch(), **options)))
    with pytest.raises(leat.UnsupportedError, match=r"ds\.batch\(32\)"):
        next(iter(DataLoader(leat.synthetic(20, 4, 4).to_torch(), **options)))


# --------------------------------------------------------------------------------------------- devices


def test_without_cuda_there_is_one_clear_line():
    ds = leat.synthetic(20, 4, 4).batch(8)
    for options in ({"device": "cuda"}, {"pin_memory": True}, {"device": "cuda:0", "pin_memory": True}):
        with pytest.raises(leat.UnsupportedError, match="finds no CUDA device") as caught:
            ds.to_torch(**options)
        assert "\n" not in str(caught.value).splitlines()[0] and "leave it out" in str(caught.value)


class Recorded:
    """Stands in for a CUDA stream and its events: notes in which order things happen."""

    def __init__(self, device):
        self.device, self.log, self.n = device, [], 0

    def copy(self, tensors):
        self.n += 1
        self.log.append(f"copy {self.n}")
        return [tensor.clone() for tensor in tensors], self.n

    def hand_over(self, moved, event):
        self.log.append(f"hand over {event}")

    def wait(self, event):
        if event is not None:
            self.log.append(f"wait {event}")


def test_batches_go_to_the_device_one_ahead(monkeypatch):
    """The whole way with a stand-in for the stream and for the allocator of pinned memory."""
    from leat._frameworks import torch as _torch, torch_device as _torch_device

    given, streams = [], []

    def memory(n):
        given.append(torch.empty(n, dtype=torch.uint8))
        return given[-1].numpy()

    def stream(device):
        streams.append(Recorded(device))
        return streams[-1]

    monkeypatch.setattr(_torch, "find_device", lambda device, pin: device and torch.device(device))
    monkeypatch.setattr(_torch, "pinned", memory)
    monkeypatch.setattr(_torch, "Stream", stream)
    ds = leat.synthetic(40, 8, 8).shuffle(seed=1).batch(8)
    whole = [labels.tolist() for _, labels in ds.to_torch()]
    ds = leat.synthetic(40, 8, 8).shuffle(seed=1).batch(8)
    theirs = ds.to_torch(device="cpu", pin_memory=True)
    it = iter(theirs)
    seen = [next(it)[1].tolist()]
    assert streams[0].log == ["copy 1", "copy 2", "hand over 1"]
    assert theirs.state_dict()["leat"] == ds.state(0, 1)  # not what is on its way
    seen += [labels.tolist() for _, labels in it]
    assert seen == whole and streams[0].log[3:6] == ["wait 1", "copy 3", "hand over 2"]
    assert theirs.state_dict()["leat"] == ds.state(1, 0)
    address = ds_tensor(theirs).address
    assert any(x.data_ptr() <= address < x.data_ptr() + x.numel() for x in given)
    del it
    theirs.load_state_dict(theirs.state_dict(0, 3))
    assert [labels.tolist() for _, labels in theirs] == whole[3:]
    assert _torch_device.Stream(torch.device("cpu")).copy([torch.ones(2)])[1] is None


def ds_tensor(theirs):
    from leat._data.run import Iterator

    return next(Iterator(theirs.dataset, raw=True, delivery=theirs._delivery)).tensors["image"]


def test_the_cpu_as_device():
    ds = leat.from_arrays({"x": numpy.arange(12.0), "name": [f"n{i}" for i in range(12)],
                           "r": leat.Ragged(numpy.arange(12.0), numpy.arange(13))}).batch(4)
    plain, moved = list(ds.to_torch()), list(ds.to_torch(device="cpu"))
    for a, b in itertools.zip_longest(plain, moved):
        assert torch.equal(a["x"], b["x"]) and a["name"] == b["name"] and a["r"].tolist() == b["r"].tolist()


def test_memory_from_a_function_is_let_go_of():
    """Batches outlive the pipeline, and their memory goes with the last of them."""
    import gc
    import weakref

    from leat._data.run import Delivery, Iterator

    given = []

    def memory(n):
        made = numpy.empty(n, "u1")
        given.append(weakref.ref(made))
        return made

    ds = leat.synthetic(40, 8, 8).batch(8)
    it = Iterator(ds, delivery=Delivery(slot_memory=memory))
    images, _ = next(it)
    it.close()
    assert sum(ref() is not None for ref in given) == len(given) > 1
    total = int(images.sum())
    del it
    assert int(images.sum()) == total
    del images, _
    gc.collect()
    for _ in range(100):
        pass
    assert all(ref() is None for ref in given)
    with pytest.raises(leat.Error, match="memory") as caught:
        next(Iterator(leat.synthetic(40, 8, 8).batch(8), delivery=Delivery(slot_memory=lambda n: 1 / 0)))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


# ------------------------------------------------------------------------------------------------ docs


def test_the_model_of_the_docs_trains():
    """The program of docs/python.md, as it stands there."""
    text = (Path(__file__).resolve().parents[2] / "docs/python.md").read_text()
    program = next(block for block in re.findall(r"```python\n(.*?)```", text, re.S) if "cross_entropy" in block)
    torch.manual_seed(0)
    torch.set_num_threads(1)  # quicker than two, for a model as small as this
    names = {}
    exec(program.replace("        loss.backward()\n", "        loss.backward()\n        losses.append(loss.item())\n"),
         names | {"losses": (losses := [])}, names)
    assert len(losses) == 90 and sum(losses[-10:]) < 0.7 * sum(losses[:10]), losses
