# SPDX-License-Identifier: Apache-2.0
"""Data sets of other libraries: what the webdataset package gives, leat gives too."""
import io

import leat
import numpy
import pytest
import webdataset
from PIL import Image


def picture(number: int, kind: str = "PNG") -> bytes:
    pixels = numpy.random.RandomState(number).randint(0, 256, (9 + number % 5, 12, 3), "uint8")
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    return file.getvalue()


def pixels(data: bytes) -> numpy.ndarray:
    return numpy.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


# ------------------------------------------------------------------------------------------- webdataset


@pytest.fixture
def shards(tmp_path):
    """Written by the package itself: names of every length, keys with folders, one sample without a caption."""
    for shard in range(3):
        with webdataset.TarWriter(str(tmp_path / f"train-{shard:03d}.tar")) as writer:
            for i in range(shard * 20, shard * 20 + 20):
                sample = {"__key__": f"part{i % 3}/{'n' * (7 * i % 140)}{i:05d}", "jpg": picture(i, "JPEG"), "cls": i % 7,
                          "json": {"id": i}, "caption.txt": f"größe {i}"}
                writer.write(sample)
    return tmp_path


def test_the_same_samples(shards):
    theirs = list(webdataset.WebDataset(sorted(map(str, shards.glob("*.tar"))), shardshuffle=False))
    ds = leat.from_webdataset(shards / "train-*.tar", image="jpg", label="cls", json="json", caption="caption.txt",
                              key="__key__", decode=False).batch(7)
    ours = [dict(zip(batch, values)) for batch in ds for values in zip(*(
        value.tolist() if hasattr(value, "tolist") else value for value in batch.values()))]
    assert len(ours) == len(theirs) == 60
    for mine, other in zip(ours, theirs):
        assert mine["key"].decode() == other["__key__"]
        assert mine["image"] == other["jpg"] and mine["json"] == other["json"] and mine["caption"] == other["caption.txt"]
        assert mine["label"] == int(other["cls"])


def test_names_that_are_no_samples(tmp_path):
    import tarfile

    names = ["a.txt", "__meta__", "__index__/x.txt", "b/c.d.txt", "b/c.CLS", "noext", "b/c.txt", "e.f/g.txt", "a.txt"]
    with tarfile.open(tmp_path / "odd.tar", "w") as archive:
        folder = tarfile.TarInfo("b.d")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for i, name in enumerate(names):
            member = tarfile.TarInfo(name)
            member.size = i + 1
            archive.addfile(member, io.BytesIO(b"%d" % i * (i + 1)))
    theirs = list(webdataset.WebDataset(str(tmp_path / "odd.tar"), shardshuffle=False))
    ours = leat.from_webdataset(tmp_path / "odd.tar", text="txt", key="__key__").batch(10)
    batch = next(iter(ours))
    assert [key.decode() for key in batch["key"].tolist()] == [sample["__key__"] for sample in theirs]
    assert batch["text"].tolist() == [sample["txt"] for sample in theirs]


def test_pictures_ranges_and_defaults(shards):
    ds = leat.from_webdataset(str(shards / "train-{000..002}.tar")).shuffle(seed=1).resize(8, 8).batch(8)
    batches = list(ds)
    assert sum(len(labels) for _, labels in batches) == 60 and batches[0][0].shape == (8, 8, 8, 3)
    only = leat.from_webdataset([shards / "train-001.tar"], image=["png", "jpg"]).as_dict()
    assert (next(iter(only.batch(1)))["image"][0] == pixels(picture(20, "JPEG"))).all()
    with pytest.raises(leat.NotFoundError):
        list(leat.from_webdataset(str(shards / "train-{000..003}.tar")).resize(8, 8).batch(8))
    with pytest.raises(TypeError, match="image needs an extension"):
        leat.from_webdataset(shards / "train-*.tar", image=3)
    with pytest.raises(leat.FormatError, match="has no member npy for the field mask: it has caption.txt, cls, jpg"):
        list(leat.from_webdataset(shards / "train-*.tar", mask="npy").batch(8))


def test_resuming(shards):
    ds = leat.from_webdataset(shards / "*.tar").shuffle(seed=3).resize(8, 8).random_flip_left_right().batch(8)
    iterator = iter(ds)
    for _ in range(3):
        next(iterator)
    state = ds.state()
    rest = [(images.tobytes(), labels.tolist()) for images, labels in iterator]
    again = leat.from_webdataset(shards / "*.tar").shuffle(seed=3).resize(8, 8).random_flip_left_right().batch(8)
    again.restore(state)
    assert rest and [(images.tobytes(), labels.tolist()) for images, labels in again] == rest
