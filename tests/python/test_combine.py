# SPDX-License-Identifier: Apache-2.0
"""Datasets combined to one: concatenate, zip, sample_from_datasets, choose_from_datasets."""
import pickle
import random
import subprocess

import leat
import numpy
import pytest
from children import children
from test_python import Squares

X = numpy.random.RandomState(2).randint(0, 255, (12, 8, 6, 3), "uint8")
Y = numpy.arange(12)


def arrays(n: int = 12) -> leat.Dataset:
    return leat.from_arrays((X[:n], Y[:n]))


def labels(ds) -> list[int]:
    return [int(item["label"] if isinstance(item, dict) else item[1]) for item in ds]


def same(a, b) -> None:
    """The same items: arrays, tuples or dicts of them."""
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        a, b = list(a.values()), list(b.values())
    if isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for left, right in zip(a, b):
            same(left, right)
    else:
        numpy.testing.assert_array_equal(a, b)


def test_concatenate_takes_any_source(pictures):
    sources = [
        arrays().shuffle(seed=3).take(5),
        leat.from_directory(pictures).take(4).resize(8, 6).cast("u8"),
        leat.from_generator(lambda: ((X[i], 100 + i) for i in range(6))),
        leat.from_python(Squares(5), workers=2).skip(1),
        leat.from_text("synth 7 8 6 seed=1 | filter 'label < 5'"),
        arrays().map(lambda sample: {"image": 255 - sample["image"]}, image=("u8", (8, 6, 3))),
        arrays().filter(lambda sample: sample["label"] % 2 == 0).label_map("0=7", default=8),
    ]
    wanted = [item for ds in sources for item in ds]
    both = leat.concatenate(*sources)
    same(list(both), wanted)
    assert len(both) == len(wanted)
    same(both[-1], wanted[-1])
    same(list(leat.concatenate(sources)), wanted)
    chain = sources[0].concatenate(sources[1]).concatenate(*sources[2:])
    same(list(chain), wanted)
    batched = [item for images, numbers in both.batch(4) for item in zip(images, numbers)]
    same(batched, wanted)


def test_states_go_on_in_the_middle(pictures):
    def make():
        return leat.sample_from_datasets([
            arrays().shuffle().repeat(2),
            leat.from_directory(pictures).shuffle().resize(8, 6).cast("u8"),
            leat.from_python(Squares(9), workers=2),
            leat.from_generator(lambda: ((X[i], i) for i in range(6))).map(
                lambda sample: {"label": sample["label"] * 2}, label="i64"),
        ], weights=[2, 1, 1, 1], seed=5).random_flip_left_right().batch(4)

    ds = make()
    wanted = [list(ds), list(ds)]
    first, second = make(), make()
    iterator = iter(first)
    for taken in range(3):
        second.restore(first.state())
        same(list(second), wanted[0][taken:])
        same(list(second), wanted[1])
        next(iterator)
    other = leat.sample_from_datasets([arrays(), arrays(11)], seed=5).batch(4)
    with pytest.raises(leat.StateError):
        other.restore(make().state())


def test_zip_by_names(pictures):
    images = leat.from_directory(pictures)
    masks = leat.from_directory(pictures, labels="none")
    ds = leat.zip(image=images, mask=masks)
    assert ds.text.startswith("zip image=") and ds.text.endswith(" | decode | decode field=mask")
    cropped = ds.random_crop(16, 20, field="image,mask").batch(4)
    for item in cropped:
        assert list(item) == ["image", "label", "mask"]
        same(item["image"], item["mask"])
    assert list(cropped.element_spec) == ["image", "label", "mask"]
    same(next(iter(leat.zip({"image": images, "mask": masks}).resize(8, 8, field="image,mask").batch(2))),
         next(iter(ds.resize(8, 8, field="image,mask").batch(2))))
    # Decoding that is asked for is not done twice; what select() leaves out is not decoded.
    assert ds.decode(field="mask", channels=1).text.count("decode") == 2
    assert "mask" not in ds.select("image", "label").operations[-1]
    # A part that has a field of the name gives that one.
    small = images.resize(8, 8)
    same(next(iter(leat.zip(x=small.select("image"), label=images)))["label"], next(iter(small))[1])
    # image and label are a tuple, as everywhere.
    x, y = next(iter(leat.zip(image=leat.from_arrays(X), label=leat.from_arrays(Y))))
    same((x, y), (X[0], Y[0]))


def test_zip_without_names():
    same(list(leat.zip(leat.from_arrays(X), leat.from_arrays(Y))), list(zip(X, Y)))
    same(list(leat.zip((leat.from_arrays(X), leat.from_arrays(Y), leat.from_arrays(Y / 2)))), list(zip(X, Y, Y / 2)))
    same(list(leat.zip(*[leat.from_arrays(Y + i) for i in range(5)])), list(zip(*[Y + i for i in range(5)])))
    same(list(leat.zip(leat.from_arrays({"a": X}), leat.from_arrays({"b": Y}))), list(zip(X, Y)))
    item = next(iter(leat.zip(arrays(), leat.from_arrays({"mask": X[..., :1]}))))
    same(item, {"image": X[0], "label": Y[0], "mask": X[0, :, :, :1]})
    read = []
    lazy = leat.zip(leat.from_generator(lambda: (read.append(i) or X[i] for i in range(3))), leat.from_arrays(Y[:3]))
    assert not read
    same(list(lazy), list(zip(X[:3], Y[:3])))
    assert read == [0, 1, 2]
    shorter = leat.zip(leat.from_arrays(X), leat.from_arrays(Y[:5]), stop="shortest")
    assert len(shorter) == 5
    with pytest.raises(leat.ShapeError, match="stop=shortest"):
        len(leat.zip(leat.from_arrays(X), leat.from_arrays(Y[:5])))
    with pytest.raises(leat.ArgumentError, match=r"have a field 'image': name the datasets, as in zip\(image=a, mask=b\)"):
        list(leat.zip(arrays(), arrays()))


def test_mixtures():
    a, b = leat.from_arrays((X, Y)), leat.from_arrays((X, Y + 100))
    drawn = labels(leat.sample_from_datasets([a.repeat(), b.repeat()], weights=[0.75, 0.25], seed=1).take(400))
    assert sum(label >= 100 for label in drawn) in range(70, 130)
    assert labels(leat.sample_from_datasets([a, b], weights=[1, 0])) == list(Y)
    assert sorted(labels(leat.sample_from_datasets((a, b)))) == [*Y, *(Y + 100)]
    assert labels(leat.choose_from_datasets([a, b], pattern=[0, 0, 1])) == \
        [0, 1, 100, 2, 3, 101, 4, 5, 102, 6, 7, 103, 8, 9, 104, 10, 11, 105]
    assert labels(leat.choose_from_datasets([a, b], choices=numpy.array([1, 0, 1]))) == [100, 0, 101]
    rest = labels(leat.choose_from_datasets([a.take(2), b], [0, 1], stop_on_empty_dataset=False))
    assert rest == [0, 100, 1, *range(101, 112)]
    epochs = leat.sample_from_datasets([a, b], rerandomize_each_iteration=True)
    assert labels(epochs) != labels(epochs)
    assert leat.sample_from_datasets([a.repeat(), b.repeat()]).endless
    assert not leat.concatenate(a, b).endless


def test_seeds():
    def make(**seed):
        return leat.concatenate(arrays().shuffle(**seed), arrays().shuffle())

    assert make(seed=4).seed == 0 and labels(make(seed=4)) == labels(make(seed=4))
    random.seed(3)
    first = make()
    order = labels(first)
    random.seed(3)
    assert labels(make()) == order and first.seed == first.batch(2).seed
    assert order[:12] != order[12:]
    assert leat.sample_from_datasets([arrays(), arrays()], seed=9).seed == 0


def test_decoding_stands_where_it_must(pictures):
    photos = leat.from_directory(pictures)
    # Together: one step with what follows. Beside arrays, or with work of its own: inside of the part.
    assert leat.concatenate(photos, photos.take(2)).operations[1:] == ("decode",)
    mixed = leat.concatenate(photos.resize(8, 6).cast("u8"), arrays())
    assert len(mixed.operations) == 1 and "| decode | resize" in mixed.text
    assert len(list(mixed.batch(9))) == 4
    assert leat.concatenate(photos, photos.resize(9, 9)).text.count("decode") == 2
    raw = leat.from_directory(pictures, decode=False)
    with pytest.raises(leat.DTypeError, match="field image is u8 .* and bytes in '@part2'"):
        list(leat.concatenate(photos, raw))
    nested = leat.concatenate(leat.zip(image=photos, mask=photos), leat.zip(image=photos, mask=photos).take(2))
    assert nested.operations[1:] == ("decode", "decode field=mask")
    assert len(nested.resize(8, 8, field="image,mask").batch(13)) == 2


def test_text_is_what_the_command_takes(pictures, command):
    ds = leat.concatenate(leat.from_directory(pictures).shuffle(seed=2).take(9),
                          leat.from_text("synth 5 30 30")).resize(16, 16).batch(4)
    done = subprocess.run([command, "plan", ds.text], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "concatenate of 2" in done.stdout, done.stderr
    assert ds.text in repr(ds) and "concatenate of 2" in str(ds)
    same(list(leat.from_text(ds.text)), list(ds))


def test_pickles(pictures):
    ds = leat.concatenate(leat.from_directory(pictures).resize(8, 6).cast("u8"), arrays().shuffle()).batch(5)
    copy = pickle.loads(pickle.dumps(ds))
    assert copy.seed == ds.seed and copy.text == ds.text
    same(list(copy), list(ds))


def test_questions(pictures, tmp_path):
    photos = leat.from_directory(pictures)
    both = photos.concatenate(photos)
    assert both.class_names == photos.class_names and both.class_weights() == photos.class_weights()
    assert both.name(30).startswith("part 2: ")
    assert leat.concatenate(photos.resize(8, 6), arrays().cast("f32")).class_weights() == \
        pytest.approx(leat.concatenate(photos.resize(8, 6), arrays().cast("f32")).class_weights())
    both.resize(8, 8).show(2).save(str(tmp_path / "sheet.png"))
    leat.concatenate(arrays(), arrays()).show(2).save(str(tmp_path / "arrays.png"))
    assert leat.concatenate(arrays(), arrays()).statistics().mean == pytest.approx(arrays().statistics().mean)


def test_compressed_records(tmp_path):
    for name, first in (("a", 0), ("b", 50)):
        with leat.TFRecordWriter(str(tmp_path / f"{name}.gz"), compression="GZIP") as writer:
            for i in range(first, first + 20):
                writer.write(leat.example({"row": numpy.full(3, i, "f4")}))
    a, b = (leat.from_tfrecord(tmp_path / f"{name}.gz", {"row": "float[3]"}) for name in "ab")
    both = leat.concatenate(a.shuffle(8, seed=1), b, leat.from_arrays({"row": numpy.zeros((2, 3), "f4")}))
    rows = [int(row[0]) for row in both]
    assert sorted(rows[:20]) == list(range(20)) and rows[20:] == [*range(50, 70), 0, 0]
    mixed = leat.choose_from_datasets([a, leat.from_arrays({"row": -numpy.ones((9, 3), "f4")})], pattern=[0, 1])
    assert [int(row[0]) for row in mixed][:6] == [0, -1, 1, -1, 2, -1]
    assert both.statistics("row").samples == 42
    with pytest.raises(leat.ArgumentError, match="without end"):
        leat.concatenate(a, b.repeat()).statistics("row")


def test_layouts():
    ds = arrays().as_dict()
    assert isinstance(next(iter(ds.concatenate(arrays()))), dict)
    item = next(iter(leat.concatenate(arrays(), arrays()).as_tuple("label", "image")))
    same(item, (Y[0], X[0]))

    class Dicts(Squares):
        def __getitem__(self, i):
            return {"a": numpy.float32(i), "b": numpy.zeros(2)}, i

    item = next(iter(leat.concatenate(leat.from_python(Dicts(3), workers=1), leat.from_python(Dicts(3), workers=1))))
    assert list(item[0]) == ["a", "b"] and item[1] == 0


def test_processes_end_with_the_dataset():
    before = children()
    ds = leat.zip(image=leat.from_python(Squares(9), workers=2).select("image"), label=leat.from_arrays(Y[:9])).batch(3)
    same([label for _, label in ds], Y[:9].reshape(3, 3))
    assert children() - before
    ds.close()
    del ds
    assert not children() - before


def test_exceptions_come_from_functions_of_parts():
    def fail(sample):
        raise ZeroDivisionError("no such label")

    with pytest.raises(leat.Error, match="no such label") as caught:
        list(leat.concatenate(arrays(), arrays().map(fail, label="i64")))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_configure():
    a, b = arrays().configure(threads=2), arrays().configure(params=True)
    assert leat.concatenate(a, b, a)._config == {"threads": 2, "params": True}
    with pytest.raises(leat.ArgumentError, match=r"threads=2 and threads=3; leave it out there and write concatenate"):
        leat.concatenate(a, arrays().configure(threads=3))


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda: leat.concatenate(), TypeError, "needs datasets"),
    (lambda: leat.concatenate(arrays(), X), TypeError, r"part 2 is ndarray, not a leat.Dataset; leat.from_arrays\(x\)"),
    (lambda: leat.concatenate(arrays().batch(3)), leat.ArgumentError, r"behind, concatenate\(...\).batch\(...\)"),
    (lambda: arrays().concatenate(arrays().cache()), leat.ArgumentError, r"part 2 has cache\(\), which is about the whole"),
    (lambda: leat.zip(a=arrays().options(seed=3)), leat.ArgumentError, r"zip\(...\).options\(...\)"),
    (lambda: leat.zip(arrays(), b=arrays()), TypeError, "either all datasets have names or none"),
    (lambda: leat.zip({"no name": arrays()}), ValueError, "'no name' cannot be the name of a field"),
    (lambda: leat.zip(texts=arrays()), ValueError, "'texts' cannot be the name"),
    (lambda: leat.zip(a=arrays(), stop="longest"), ValueError, "stop must be one of equal, shortest"),
    (lambda: leat.sample_from_datasets(arrays(), arrays()), TypeError, r"takes a list of datasets: "),
    (lambda: leat.sample_from_datasets([arrays()], [1, 2]), ValueError, "2 weights for 1 datasets"),
    (lambda: leat.choose_from_datasets([arrays()]), TypeError, "needs pattern="),
    (lambda: leat.choose_from_datasets([arrays()], arrays()), TypeError, "numbers, not a dataset"),
    (lambda: leat.choose_from_datasets([arrays()], [0, 1]), ValueError, "from 0 to 0"),
    (lambda: list(leat.zip(image=arrays().random_flip_left_right(), mask=arrays())), leat.TextError,
     "part image: column 10: random_flip_left_right: .* write it behind zip"),
    (lambda: list(leat.concatenate(arrays(), arrays().select("image"))), leat.DTypeError,
     "field label is i64 in '@part1' and not there in '@part2'"),
    (lambda: list(leat.concatenate(arrays().repeat(), arrays())), leat.TextError, "has no end"),
])
def test_refusals(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_batches_of_python_are_refused():
    class Batches(Squares):
        def __getitem__(self, i):
            return numpy.zeros((2, 3)), numpy.zeros(2)

    with pytest.raises(leat.ArgumentError, match="items='sample'"):
        leat.concatenate(leat.from_python(Batches(), items="batch"), arrays())
