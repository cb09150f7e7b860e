# SPDX-License-Identifier: Apache-2.0
"""Data sets of other libraries: what the webdataset package and Hugging Face datasets give, leat gives too."""
import io
import pickle
import random

import datasets
import leat
import numpy
import pyarrow
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


# ------------------------------------------------------------------------------------------ Hugging Face


def rows(n: int = 40) -> dict:
    return {"image": [{"bytes": picture(i), "path": None} for i in range(n)], "label": [i % 3 for i in range(n)],
            "text": [f"größe {i}" for i in range(n)], "score": [i / 4 for i in range(n)],
            "ids": [list(range(i % 5)) for i in range(n)], "box": [[i, 1.0, 2.0, 3.0] for i in range(n)]}


FEATURES = datasets.Features({
    "image": datasets.Image(), "label": datasets.ClassLabel(names=["ant", "bee", "cat"]), "text": datasets.Value("string"),
    "score": datasets.Value("float32"), "ids": datasets.Sequence(datasets.Value("int32")),
    "box": datasets.Sequence(datasets.Value("float32"), length=4)})
FIELDS = {"text": "text", "score": "score", "ids": "ids", "box": "box"}


def made(n: int = 40) -> datasets.Dataset:
    return datasets.Dataset.from_dict(rows(n), features=FEATURES)


def check(dataset: datasets.Dataset, numbers: list[int]) -> None:
    """Every field of every sample is that of the row with that number."""
    ds = leat.from_huggingface(dataset, decode=False, **FIELDS)
    assert ds.samples == len(numbers) and ds.class_names == ["ant", "bee", "cat"]
    at = 0
    for batch in ds.batch(6):
        for k in range(len(batch["label"])):
            i = numbers[at]
            at += 1
            assert batch["image"][k] == picture(i) and batch["label"][k] == i % 3 and batch["text"][k].decode() == f"größe {i}"
            assert batch["score"][k] == i / 4 and batch["ids"][k].tolist() == list(range(i % 5))
            assert batch["box"][k].tolist() == [i, 1, 2, 3]
    assert at == len(numbers)


def test_every_row():
    check(made(), list(range(40)))


def test_chunks_and_rows_that_were_chosen(tmp_path):
    whole = made()
    check(datasets.concatenate_datasets([whole.select(range(10)), whole.select(range(25, 40)), whole.select(range(3))]),
          [*range(10), *range(25, 40), *range(3)])
    order = random.Random(1).sample(range(40), 20)
    check(whole.select(order), order)
    check(whole.select(range(7, 23)), list(range(7, 23)))
    check(whole.filter(lambda row: row["label"] == 1), [i for i in range(40) if i % 3 == 1])
    assert sorted(whole.shuffle(seed=2)["score"]) == [i / 4 for i in range(40)]
    shuffled = whole.shuffle(seed=2)
    check(shuffled, [round(4 * score) for score in shuffled["score"]])
    whole.save_to_disk(tmp_path / "kept", num_shards=3)  # memory that is mapped from files
    check(datasets.load_from_disk(str(tmp_path / "kept")), list(range(40)))


def test_pictures_are_decoded():
    ds = leat.from_huggingface(made()).resize(8, 8).batch(5)
    images, labels = next(iter(ds))
    assert images.shape == (5, 8, 8, 3) and labels.tolist() == [0, 1, 2, 0, 1]
    single = leat.from_huggingface(made().select([11])).batch(1)
    assert (next(iter(single))[0][0] == pixels(picture(11))).all()
    names = made().rename_columns({"image": "img", "label": "breed"})  # the only columns of their kinds
    assert [field.name for field in leat.from_huggingface(names).resize(8, 8).batch(5).element_spec] == ["image", "label"]


def test_a_row_without_a_picture_is_a_bad_sample():
    features = datasets.Features({"image": datasets.Image(), "label": datasets.Value("int64")})
    rows = {"image": [None, {"bytes": picture(1), "path": "a.png"}], "label": [0, 1]}
    ds = leat.from_huggingface(datasets.Dataset.from_dict(rows, features=features)).resize(4, 4).batch(2)
    with pytest.raises(leat.DecodeError, match="slice 0: decode: not an image: the file is empty"):
        list(ds)
    assert [labels.tolist() for _, labels in ds.options(on_error="skip")] == [[1]]


def test_memory_is_not_copied():
    dataset = made()
    column = dataset.data.column("image").chunk(0).field("bytes")
    buffer = column.buffers()[2]
    taken = leat.from_huggingface(dataset)._origin.lazy_arrays()
    assert numpy.frombuffer(taken[0][2], "uint8").__array_interface__["data"][0] == buffer.address


def test_memory_outlives_the_dataset():
    ds = leat.from_huggingface(made(), decode=False).batch(40)
    again = pickle.loads(pickle.dumps(ds))
    for one in (ds, again):
        images, _ = next(iter(one))
        assert images.tolist() == [picture(i) for i in range(40)]


def test_wide_offsets_and_missing_values():
    table = pyarrow.table({"x": pyarrow.array([b"a", None, b"ccc"], pyarrow.large_binary()),
                           "y": pyarrow.array([1, 2, 3], pyarrow.int16()),
                           "z": pyarrow.array([[1.0], None, [2.0, 3.0]], pyarrow.large_list(pyarrow.float64()))})
    dataset = datasets.Dataset(table.slice(0, 3))
    batch = next(iter(leat.from_huggingface(dataset, x="x", y="y", z="z").batch(3)))
    assert batch["x"].tolist() == [b"a", b"", b"ccc"] and batch["y"].tolist() == [1, 2, 3]
    assert batch["z"].tolist() == [[1.0], [], [2.0, 3.0]]
    part = datasets.Dataset(table.slice(1, 2))  # chunks that begin inside of their buffers
    batch = next(iter(leat.from_huggingface(part, x="x", y="y", z="z").batch(3)))
    assert batch["x"].tolist() == [b"", b"ccc"] and batch["y"].tolist() == [2, 3] and batch["z"].tolist() == [[], [2.0, 3.0]]


def test_what_is_refused(tmp_path):
    with pytest.raises(ValueError, match="label='nose': there is no such column; there are image, label"):
        leat.from_huggingface(made(), label="nose")
    with pytest.raises(TypeError, match=r"choose one, such as dataset\['train'\]"):
        leat.from_huggingface(datasets.DatasetDict(train=made()))
    with pytest.raises(TypeError, match="needs a datasets.Dataset, not IterableDataset"):
        leat.from_huggingface(made().to_iterable_dataset())
    empty = datasets.Dataset.from_dict({"label": [1, None, 2]})
    with pytest.raises(ValueError, match="column label has 1 empty values"):
        leat.from_huggingface(empty)
    nested = datasets.Dataset.from_dict({"x": [[[1, 2], [3]]]})
    with pytest.raises(ValueError, match="column x is of list"):
        leat.from_huggingface(nested, x="x")
    (tmp_path / "a.png").write_bytes(picture(1))
    files = datasets.Dataset.from_dict({"image": [str(tmp_path / "a.png")]}).cast_column("image", datasets.Image())
    with pytest.raises(ValueError, match=r"column image has no bytes in row 0, only the path '.*a\.png'"):
        leat.from_huggingface(files)
