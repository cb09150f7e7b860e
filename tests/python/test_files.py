# SPDX-License-Identifier: Apache-2.0
"""from_files, with_path, class_names: pictures that the program lists itself, and what tells one from the other."""
import inspect
import warnings

import numpy
import pytest
from PIL import Image

import leat


@pytest.fixture(scope="module")
def listed(pictures):
    paths = sorted(path for path in pictures.rglob("*") if path.is_file())
    return paths, [path.parent.name for path in paths]


def png(path):
    return numpy.asarray(Image.open(path).convert("RGB"))


def test_files_are_decoded_in_order(listed):
    paths, words = listed
    paths = [path for path in paths if path.suffix == ".png"][::-1]
    ds = leat.from_files(paths, list(range(len(paths))))
    assert len(ds) == 12 and ds.text == "list | decode"
    for (image, label), path in zip(ds.padded_batch(1, max="64x64x3"), paths):
        assert numpy.array_equal(image[0], png(path)) and paths[int(label[0])] == path
    raw = leat.from_files([str(path) for path in paths], decode=False, check=True).batch(3)
    assert next(iter(raw))[1] == paths[1].read_bytes()


def test_the_same_as_a_directory(pictures, listed):
    paths, words = listed
    folder = leat.from_directory(pictures).shuffle(seed=3).resize(8, 8).batch(5)
    files = leat.from_files(paths, words).shuffle(seed=3).resize(8, 8).batch(5)
    assert files.class_names == folder.class_names == ["ant", "bee", "big cat"]
    for (a, x), (b, y) in zip(folder, files, strict=True):
        assert numpy.array_equal(a, b) and numpy.array_equal(x, y)


def test_kinds_of_labels(listed):
    paths, words = listed
    n = len(paths)

    def labels(given, **more):
        batch = next(iter(leat.from_files(numpy.array(paths), given, **more).resize(4, 4).batch(n).as_dict()))
        return batch["label"]

    assert labels(numpy.arange(n, dtype="uint8")).dtype == "int64"
    assert labels([i / 2 for i in range(n)]).dtype == "float32"
    several = numpy.arange(2 * n * 3).reshape(2 * n, 3)[::2]
    assert numpy.array_equal(labels(several), several) and labels(several).shape == (n, 3)
    assert labels(several > 5).dtype == "float32"
    assert labels(numpy.array(words)).tolist() == [("ant", "bee", "big cat").index(word) for word in words]
    both = next(iter(leat.from_files(paths, {"age": list(range(n)), "breed": words}, weights=[0.5] * n).resize(4, 4)
                     .batch(n)))
    assert set(both) == {"image", "age", "breed", "weight"} and both["weight"].tolist() == [0.5] * n
    assert isinstance(next(iter(leat.from_files(paths).resize(4, 4).batch(2))), numpy.ndarray)


def test_class_names(pictures, listed):
    paths, words = listed
    order = ["big cat", "bee", "ant"]
    ds = leat.from_files(paths, words, class_names=order).resize(4, 4).batch(24)
    assert ds.class_names == order and next(iter(ds))[1].tolist() == [order.index(word) for word in words]
    ds = leat.from_files(paths, [0] * 24, class_names=["it, the; thing"])
    assert ds.class_names == ["it, the; thing"]
    with pytest.raises(leat.NotFoundError, match=r"label\[8\] is 'bee', which is none of the given classes"):
        leat.from_files(paths, words, class_names=["ant", "big cat"]).samples
    with pytest.raises(leat.NotFoundError, match=r"label\[1\] is 3, but the given classes are 0 to 2"):
        leat.from_files(paths[:2], [0, 3], class_names=order).samples
    with pytest.raises(leat.ArgumentError, match="'a' is there twice"):
        leat.from_files(paths, words, class_names=["a", "a"]).samples
    with pytest.raises(TypeError, match="class_names must be a list of names, not 'ant'"):
        leat.from_files(paths, words, class_names="ant")
    # Keras's image_dataset_from_directory: these folders, in this order.
    ds = leat.from_directory(pictures, class_names=["big cat", "ant"], with_path=True).resize(4, 4).batch(16)
    batch = next(iter(ds))
    assert ds.samples == 16 and ds.class_names == ["big cat", "ant"]
    assert all((b"big cat" in path) == (label == 0) for path, label in zip(batch["path"], batch["label"]))
    with pytest.raises(leat.NotFoundError, match="no sub-directory 'cow', which classes names: there are 3, such as 'ant'"):
        leat.from_directory(pictures, class_names=["ant", "cow"]).samples
    with pytest.raises(leat.ArgumentError, match="names of sub-directories"):
        leat.from_directory(pictures, labels="none", class_names=["ant"]).samples


def test_class_names_do_not_reach_the_index(pictures):
    """The index of the folder is kept in a side file: what one dataset leaves out, the next one must find again."""
    for _ in range(2):
        assert leat.from_directory(pictures, class_names=["bee"]).samples == 8
        assert leat.from_directory(pictures).samples == 24


def test_with_path(pictures, listed):
    paths, words = listed
    ds = leat.from_directory(pictures, with_path=True).shuffle(seed=1).resize(4, 4).batch(7)
    assert {path for batch in ds for path in batch["path"]} == {str(path).encode() for path in paths}
    for batch in ds:
        assert [path.split(b"/")[-2].decode() for path in batch["path"]] == [ds.class_names[i] for i in batch["label"]]
    short = leat.from_directory(pictures).with_path("name", of="name").resize(4, 4).batch(24)
    assert next(iter(short))["name"].tolist() == [str(path.relative_to(pictures)).encode() for path in paths]
    ds = leat.from_files(paths, words, with_path=True).resize(4, 4).batch(24).as_tuple("image", "path")
    assert next(iter(ds))[1].tolist() == [str(path).encode() for path in paths]
    assert leat.from_files(paths, with_path=True).cache().resize(4, 4).batch(24).as_dict()
    both = leat.from_text(f"concatenate 'folder {pictures} labels=none' 'folder {pictures} labels=none' | with_path"
                          " | decode | resize 4 4 | batch 48")
    assert next(iter(both))["path"].tolist() == 2 * [str(path).encode() for path in paths]
    with pytest.raises(leat.UnsupportedError, match="samples of arrays have no files of their own"):
        leat.from_arrays(numpy.zeros((3, 2))).with_path().samples
    with pytest.raises(leat.Error, match="there is a field path already"):
        leat.from_files(paths, with_path=True).with_path().samples


def test_missing_files(listed, tmp_path):
    paths, _ = listed
    gone = [*paths[:3], tmp_path / "gone.png", tmp_path / "lost.png"]
    with pytest.raises(leat.NotFoundError, match=r"paths\[3\]: cannot open .*gone\.png"):
        list(leat.from_files(gone).resize(4, 4).batch(5))
    with pytest.raises(leat.NotFoundError, match=r"2 of 5 files cannot be used, the first one is paths\[3\]: .*gone\.png"):
        leat.from_files(gone, check=True).samples
    ds = leat.from_files(gone).resize(4, 4).batch(5).options(on_error="skip")
    assert len(next(iter(ds))) == 3 and "gone.png" in ds.bad_samples()[0][4]
    (tmp_path / "gone.png").mkdir()
    with pytest.raises(leat.Error, match="gone.png is no regular file"):
        leat.from_files(gone[3:4], check=True).samples


def test_wrong_arguments(listed):
    paths, words = listed
    with pytest.raises(TypeError, match="needs a list of paths, not 'photos'; leat.from_directory takes a folder"):
        leat.from_files("photos")
    with pytest.raises(TypeError, match=r"paths\[1\] is int 3, not a path"):
        leat.from_files(["a.jpg", 3])
    with pytest.raises(ValueError, match="no path in the list"):
        leat.from_files([])
    with pytest.raises(ValueError, match="24 paths and 23 values of label"):
        leat.from_files(paths, words[1:])
    with pytest.raises(ValueError, match=r"label must have the shape \(n\) or \(n, k\)"):
        leat.from_files(paths, numpy.zeros((24, 2, 2)))
    with pytest.raises(leat.ArgumentError, match=r"paths\[0\] is empty"):
        leat.from_files([""]).samples
    with pytest.raises(leat.ArgumentError, match=r"paths\[0\] is no path: it holds a zero byte"):
        leat.from_files(["a\0b"]).samples
    with pytest.raises(leat.ArgumentError, match="array image has the name of the field"):
        leat.from_files(paths, {"image": words}).samples
    assert "class_names" in inspect.signature(leat.from_files).parameters


def test_states_and_pickles(listed):
    import pickle

    paths, words = listed
    ds = leat.from_files(paths, words).shuffle(seed=1).resize(4, 4).batch(5)
    it = iter(ds)
    next(it)
    state = ds.state()
    rest = [batch[1].tolist() for batch in it]
    again = pickle.loads(pickle.dumps(ds))
    again.restore(state)
    assert [batch[1].tolist() for batch in again] == rest
    with pytest.raises(leat.StateError):
        leat.from_files(paths[::-1], words).shuffle(seed=1).resize(4, 4).batch(5).restore(state)


def test_indexes_that_others_may_write_to(pictures, tmp_path):
    """They are not used unless asked for."""
    dataset = leat.from_directory(pictures).resize(8, 8).batch(5)
    first = [image.copy() for image, _ in dataset.configure(cache_dir=tmp_path)]
    (index,) = tmp_path.rglob("*.leatidx")
    index.chmod(0o664)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trusted = [image.copy() for image, _ in dataset.configure(cache_dir=tmp_path, trust_cache=True)]
    index.chmod(0o664)
    with pytest.warns(leat.LeatWarning, match="others may write to it: it is not used"):
        own = [image.copy() for image, _ in dataset.configure(cache_dir=tmp_path)]
    for other in (trusted, own):
        assert all(numpy.array_equal(a, b) for a, b in zip(first, other, strict=True))
