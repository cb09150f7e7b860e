# SPDX-License-Identifier: Apache-2.0
"""The iterators of ImageDataGenerator against Keras's: attributes, pixels of files, labels, subsets, errors, warnings."""
import os
import pickle
import warnings

import numpy
import pandas
import pytest
from keras.src.legacy.preprocessing import image as theirs
from leat import LeatWarning
from leat import _idg as ours
from PIL import Image

random = numpy.random.RandomState(7)
SHARED = ("n", "samples", "batch_size", "shuffle", "seed", "num_classes", "class_indices", "classes", "labels", "filenames",
          "filepaths", "image_shape", "target_size", "color_mode", "class_mode", "data_format", "subset", "split", "directory",
          "interpolation", "keep_aspect_ratio", "save_to_dir", "save_prefix", "save_format", "sample_weight", "dtype",
          "batch_index", "total_batches_seen", "index_array", "white_list_formats")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three classes, with folders inside, names in upper case, gray, palette and alpha, and files that are no pictures."""
    root = tmp_path_factory.mktemp("photos")
    number = 0
    for name in ("b", "a", "c"):
        for inside in ("", "x", "x/y"):
            os.makedirs(root / name / inside, exist_ok=True)
            for ending, mode in (("png", "RGB"), ("jpg", "RGB"), ("PNG", "L"), ("png", "RGBA"), ("jpeg", "L"), ("bmp", "RGB"),
                                 ("png", "P"), ("png", "1"), ("png", "LA")):
                height, width = random.randint(9, 40, 2)
                picture = Image.fromarray((random.rand(height, width, 4) * 255).astype("uint8"))
                picture.convert("RGB").convert(mode).save(root / name / inside / f"f{number:03}.{ending}")
                number += 1
        (root / name / "readme.txt").write_text("no picture")
    (root / ".hidden").mkdir()
    return root


def same(one, other, names=SHARED) -> None:
    for name in names:
        if hasattr(other, name):
            mine, wanted = getattr(one, name), getattr(other, name)
            assert type(mine) is type(wanted) and (numpy.array_equal(mine, wanted) if isinstance(wanted, numpy.ndarray)
                                                   else mine == wanted), name
    assert len(one) == len(other)


def flows(method: str, *arguments, settings=None, **more):
    """The same flow of Keras and of leat, leat's first."""
    return [getattr(library.ImageDataGenerator(**(settings or {})), method)(*arguments, **more) for library in (ours, theirs)]


def equal_batches(mine, other, count: int, atol: float = 0) -> None:
    for _ in range(count):
        for a, b in zip(*(batch if isinstance(batch, (tuple, list)) else [batch] for batch in (next(mine), next(other)))):
            for one, two in zip(*(part if isinstance(part, list) else [part] for part in (a, b))):
                assert one.dtype == two.dtype and one.shape == two.shape
                if atol:
                    numpy.testing.assert_allclose(one, two, atol=atol, rtol=0)
                else:
                    numpy.testing.assert_array_equal(one, two)
        assert (mine.batch_index, mine.total_batches_seen) == (other.batch_index, other.total_batches_seen)


# -------------------------------------------------------------------------------------------------- folders

FOLDERS = [{}, {"class_mode": "binary"}, {"class_mode": "sparse", "color_mode": "grayscale"}, {"class_mode": "input"},
           {"class_mode": None, "color_mode": "rgba"}, {"classes": ["c", "a"]}, {"batch_size": 7, "shuffle": False},
           {"target_size": (40, 31), "interpolation": "bilinear"}, {"target_size": (41, 20), "interpolation": "bicubic"},
           {"target_size": (40, 24), "interpolation": "lanczos"}, {"target_size": (50, 7), "interpolation": "hamming"},
           {"target_size": (40, 9), "interpolation": "box"}, {"target_size": (25, 40), "keep_aspect_ratio": True},
           {"keep_aspect_ratio": True, "interpolation": "bilinear"}, {"color_mode": "rgba", "interpolation": "bilinear"},
           {"target_size": (40, 20), "color_mode": "grayscale", "interpolation": "bilinear"}]


@pytest.mark.parametrize("more", FOLDERS)
def test_flow_from_directory(folder, more, capfd):
    """Where the height shrinks much more than the width, Pillow 13 resizes in another order than versions before and leat, so
    sizes here are higher than the pictures."""
    mine, other = flows("flow_from_directory", folder, **{"target_size": (24, 24), **more})
    same(mine, other)
    out = capfd.readouterr().out.split("\n")
    assert out[0] == out[1] and out[0].startswith("Found ")
    more = {**more, "shuffle": False}
    equal_batches(*flows("flow_from_directory", folder, **{"target_size": (24, 24), **more}), 5)


def test_the_order_of_files(folder):
    """index_array, classes and filepaths belong to the pictures that come."""
    flow = ours.ImageDataGenerator().flow_from_directory(folder, (24, 24), class_mode="sparse", batch_size=8)
    plain = ours.ImageDataGenerator().flow_from_directory(folder, (24, 24), class_mode=None, batch_size=100, shuffle=False)
    wanted = next(plain)
    for i in range(2 * len(flow)):
        images, labels = next(flow)
        begin = i % len(flow) * 8
        numbers = flow.index_array[begin:begin + 8]
        numpy.testing.assert_array_equal(labels, flow.classes[numbers])
        numpy.testing.assert_array_equal(images, wanted[numbers])
    assert sorted(flow.index_array) == list(range(flow.n))


def test_channels_first_folder(folder):
    mine, other = flows("flow_from_directory", folder, (20, 30), settings={"data_format": "channels_first"}, shuffle=False)
    same(mine, other)
    equal_batches(mine, other, 4)


@pytest.mark.parametrize("subset", ["training", "validation"])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.77])
def test_subsets_of_a_folder(folder, subset, share):
    same(*flows("flow_from_directory", folder, settings={"validation_split": share}, subset=subset))


def test_an_empty_folder(tmp_path):
    (tmp_path / "a").mkdir()
    mine, other = flows("flow_from_directory", tmp_path)
    same(mine, other)
    for one, two in zip(next(mine), next(other)):
        assert one.shape == two.shape


def test_files_that_only_pillow_reads(tmp_path):
    """TIFF, PPM, gray of 16 bits, CMYK: the same pixels, one notice."""
    (tmp_path / "a").mkdir()
    Image.fromarray((random.rand(9, 9) * 65535).astype("uint16")).save(tmp_path / "a/deep.png")
    Image.fromarray((random.rand(9, 9, 3) * 255).astype("uint8")).save(tmp_path / "a/p.ppm")
    Image.fromarray((random.rand(9, 9, 3) * 255).astype("uint8")).save(tmp_path / "a/t.tif")
    for mode in ("rgb", "grayscale"):
        with pytest.warns(LeatWarning, match="Pillow") if mode == "rgb" else warnings.catch_warnings():
            equal_batches(*flows("flow_from_directory", tmp_path, (12, 12), color_mode=mode, shuffle=False), 2)


def test_a_file_that_the_engine_cannot_decode_goes_to_pillow(tmp_path):
    """A picture of another kind behind the name of a PNG. Bytes that nobody can read have Pillow's error."""
    (tmp_path / "a").mkdir()
    for i in range(5):
        Image.fromarray((random.rand(9, 9, 3) * 255).astype("uint8")).save(tmp_path / f"a/{i}.png")
    Image.fromarray((random.rand(9, 9, 3) * 255).astype("uint8")).save(tmp_path / "a/3.png", format="TIFF")
    with pytest.warns(LeatWarning, match="Pillow"):
        equal_batches(*flows("flow_from_directory", tmp_path, (9, 9), shuffle=False, batch_size=2), 4)
    mine, _ = flows("flow_from_directory", tmp_path, (9, 9), shuffle=False, batch_size=2)
    assert mine[1][0].shape == (2, 9, 9, 3)
    (tmp_path / "a/3.png").write_bytes(b"no picture at all")
    mine, other = flows("flow_from_directory", tmp_path, (9, 9), shuffle=False, batch_size=6)
    for flow in (other, mine):
        with pytest.raises(OSError):
            next(flow)


# --------------------------------------------------------------------------------------------------- tables


def table(folder) -> pandas.DataFrame:
    paths = sorted(str(path.relative_to(folder)) for path in folder.rglob("f*.*"))
    words = [path.split(os.sep)[0] for path in paths]
    return pandas.DataFrame({"filename": paths, "class": words, "two": [word if word == "a" else "z" for word in words],
                             "many": [[word] if i % 2 else [word, "q"] for i, word in enumerate(words)],
                             "x": random.rand(len(paths)), "y": random.randint(0, 9, len(paths)),
                             "weight": random.rand(len(paths)), "vector": [random.rand(4) for _ in paths]})


TABLES = [{}, {"class_mode": "sparse"}, {"y_col": "two", "class_mode": "binary"}, {"y_col": "many"}, {"class_mode": None},
          {"y_col": "x", "class_mode": "raw"}, {"y_col": ["x", "y"], "class_mode": "raw"}, {"class_mode": "input"},
          {"y_col": ["x", "vector"], "class_mode": "multi_output"}, {"weight_col": "weight"}, {"classes": ["c", "a"]},
          {"y_col": "many", "classes": ["q", "b"]}, {"weight_col": "y", "class_mode": "sparse"}]


@pytest.mark.parametrize("more", TABLES)
def test_flow_from_dataframe(folder, more, capfd):
    frame = table(folder)
    mine, other = flows("flow_from_dataframe", frame, str(folder), target_size=(18, 18), **more)
    out = capfd.readouterr().out.split("\n")
    assert out[0] == out[1] and out[0].startswith("Found ")
    names = [name for name in SHARED if name not in ("labels", "classes")]
    same(mine, other, names)
    if more.get("class_mode") != "multi_output" and hasattr(other, "classes"):
        assert mine.classes == other.classes
    equal_batches(*flows("flow_from_dataframe", frame, str(folder), target_size=(18, 18), shuffle=False, **more), 4)


def test_subsets_of_a_table(folder):
    frame = table(folder)
    for subset in ("training", "validation"):
        same(*flows("flow_from_dataframe", frame, str(folder), settings={"validation_split": 0.3}, subset=subset),
             ("n", "filenames", "class_indices", "split"))


def test_missing_files_are_left_out_with_a_warning(folder):
    frame = pandas.concat([table(folder), pandas.DataFrame({"filename": ["none.png", "a.txt"], "class": ["a", "b"]})])
    counts = []
    for library in (ours, theirs):
        with pytest.warns(UserWarning, match="Found 2 invalid image filename"):
            counts.append(library.ImageDataGenerator().flow_from_dataframe(frame, str(folder)).n)
    assert counts[0] == counts[1]


# --------------------------------------------------------------------------------------------------- arrays

X = (random.rand(21, 8, 10, 3) * 255).astype("uint8")
Y = random.randint(0, 3, 21)
ARRAYS = [((X,), {}), ((X, Y), {}), ((X, Y), {"sample_weight": random.rand(21)}), ((X.astype("float64"), Y), {}),
          ((X, Y.tolist()), {}), (((X, random.rand(21, 2)), Y), {}), (([X, [random.rand(21), random.rand(21, 2, 2)]], Y), {}),
          ((X, random.rand(21, 5)), {}), ((X, numpy.array([f"w{i}" for i in Y])), {}), ((X.astype("int64"), Y), {}),
          (((X, random.rand(21)),), {}), ((X[:, ::-1, ::2], Y), {})]


@pytest.mark.parametrize("arguments, more", ARRAYS)
def test_flow(arguments, more):
    mine, other = flows("flow", *arguments, batch_size=4, shuffle=False, settings={"rescale": 1 / 255}, **more)
    same(mine, other)
    numpy.testing.assert_array_equal(mine.x, other.x)
    equal_batches(mine, other, 13)


def test_subsets_of_arrays():
    """Weights are those of all samples, as in Keras."""
    y = numpy.arange(21) % 2
    for subset in ("training", "validation"):
        mine, other = flows("flow", X, y, settings={"validation_split": 0.3}, shuffle=False, subset=subset, batch_size=4,
                            sample_weight=numpy.arange(21.0))
        same(mine, other)
        equal_batches(mine, other, 5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "uint8", "int32"])
def test_types(dtype):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeatWarning)
        equal_batches(*flows("flow", X, settings={"dtype": dtype}, shuffle=False), 2)


def test_channels_that_are_no_picture():
    """Two channels, or five: a warning as in Keras, and batches."""
    for channels in (2, 5):
        x = random.rand(6, 5, 5, channels).astype("float32")
        made = []
        for library in (ours, theirs):
            with pytest.warns(UserWarning, match="channels"):
                made.append(library.ImageDataGenerator(samplewise_center=True).flow(x, shuffle=False))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeatWarning)
            equal_batches(*made, 2, 1e-6)


# ------------------------------------------------------------------------------------------ errors and warnings

WRONG = [({"data_format": "channels"}, ValueError), ({"validation_split": 2}, ValueError), ({"zoom_range": (1, 2, 3)}, ValueError),
         ({"zoom_range": ("a", 1)}, ValueError), ({"brightness_range": 1}, TypeError), ({"brightness_range": (1,)}, ValueError),
         ({"validation_split": -0.1}, ValueError), ({"nonsense": 1}, TypeError), ({"zoom_range": None}, TypeError)]


@pytest.mark.parametrize("settings, kind", WRONG)
def test_wrong_settings(settings, kind):
    found = []
    for library in (theirs, ours):
        with pytest.raises((ValueError, TypeError)) as info:
            library.ImageDataGenerator(**settings)
        found.append(info.type)
    assert found[0] is found[1]


WARNED = [{"zca_whitening": True}, {"zca_whitening": True, "featurewise_std_normalization": True},
          {"featurewise_std_normalization": True}, {"samplewise_std_normalization": True}]


@pytest.mark.parametrize("settings", WARNED)
def test_settings_that_override_others(settings):
    told = []
    for library in (theirs, ours):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            generator = library.ImageDataGenerator(**settings)
        told.append((len(caught), generator.featurewise_center, generator.samplewise_center,
                     generator.featurewise_std_normalization, {warning.category for warning in caught}))
    assert told[0] == told[1]


def test_not_fitted():
    for library in (theirs, ours):
        generator = library.ImageDataGenerator(featurewise_center=True)
        with pytest.warns(UserWarning, match="hasn't been fit"):
            next(generator.flow(X))
        with pytest.warns(UserWarning, match="hasn't been fit"):
            generator.standardize(X[0].astype("float32"))


FLOWS = [("flow", (X[:, 0], Y), {}), ("flow", (X, Y[:4]), {}), ("flow", (X, Y), {"sample_weight": [1]}),
         ("flow", ((X, Y[:2]), Y), {}), ("flow", (X, Y), {"subset": "test"}), ("flow", (X, numpy.arange(21)), {"subset": "training"}),
         ("flow_from_directory", ("/nowhere",), {}), ("flow_from_directory", (".",), {"color_mode": "cmyk"}),
         ("flow_from_directory", (".",), {"class_mode": "raw"}), ("flow_from_directory", (".",), {"subset": "x"})]


@pytest.mark.parametrize("method, arguments, more", FLOWS)
def test_wrong_flows(method, arguments, more):
    kinds = []
    for library in (theirs, ours):
        with pytest.raises(Exception) as info:
            getattr(library.ImageDataGenerator(validation_split=0.3), method)(*arguments, **more)
        kinds.append(info.type)
    assert kinds[0] is kinds[1]


FRAMES = [{"class_mode": "multi_output"}, {"x_col": "y"}, {"y_col": "y"}, {"y_col": "x", "class_mode": "sparse"},
          {"class_mode": "binary"}, {"class_mode": "nonsense"}, {"weight_col": "class"}, {"x_col": "gone"},
          {"class_mode": "binary", "classes": ["a"]}]


@pytest.mark.parametrize("more", FRAMES)
def test_wrong_tables(folder, more):
    kinds = []
    for library in (theirs, ours):
        with pytest.raises(Exception) as info:
            library.ImageDataGenerator().flow_from_dataframe(table(folder), str(folder), **more)
        kinds.append(info.type)
    assert kinds[0] is kinds[1]


@pytest.mark.parametrize("more", [{"has_ext": True}, {"sort": True}, {"drop_duplicates": True},
                                  {"class_mode": "other", "y_col": "x"}])
def test_old_arguments_of_tables(folder, more):
    for library in (theirs, ours):
        with pytest.warns(DeprecationWarning):
            library.ImageDataGenerator().flow_from_dataframe(table(folder), str(folder), **more)


def test_an_index_that_is_too_large():
    for flow in flows("flow", X, Y):
        with pytest.raises(ValueError, match="has length 1"):
            flow[1]


# -------------------------------------------------------------------------------- classes of users, saving, copies


def test_a_generator_with_methods_of_its_own():
    """It is asked for every picture, in Python, and a notice says so."""
    made = []
    for library in (theirs, ours):
        class Noisy(library.ImageDataGenerator):
            def get_random_transform(self, img_shape, seed=None):
                return {"tx": 1}

            def standardize(self, x):
                return super().standardize(x) + 5

        made.append(Noisy(rescale=0.5).flow(X, Y, shuffle=False, batch_size=4))
    with pytest.warns(LeatWarning, match="Noisy"):
        equal_batches(made[1], made[0], 7)


def test_an_iterator_with_methods_of_its_own():
    for library in (theirs, ours):
        class Own(library.Iterator):
            def _get_batches_of_transformed_samples(self, index_array):
                return index_array * 2

        flow = Own(5, 2, False, 0)
        assert [next(flow).tolist() for _ in range(4)] == [[0, 2], [4, 6], [8], [0, 2]]
        assert flow[1].tolist() == [4, 6]


def test_single_batches_where_nothing_is_drawn():
    flow = ours.ImageDataGenerator(rescale=0.5).flow(X, Y, batch_size=4, seed=3)
    for _ in range(2):
        kept = []
        for i in (2, 0, len(flow) - 1, 2):
            x, y = flow[i]
            rows = flow.index_array[4 * i:4 * i + 4]
            numpy.testing.assert_array_equal(x, X[rows].astype("float32") * numpy.float32(0.5))
            numpy.testing.assert_array_equal(y, Y[rows])
            kept.append((x, x.copy()))
        assert all(numpy.array_equal(x, copy) for x, copy in kept)
        kept[0][0][:] = 7  # a batch is the caller's
        assert not numpy.array_equal(flow[2][0], kept[0][0])
        before = flow.index_array.tolist()
        flow.on_epoch_end()
        assert flow.index_array.tolist() != before
    flow.index_array = numpy.arange(len(X))[::-1]
    numpy.testing.assert_array_equal(flow[0][1], Y[::-1][:4])
    flipped = ours.ImageDataGenerator(horizontal_flip=True).flow(X, batch_size=len(X), shuffle=False)
    assert not numpy.array_equal(flipped[0], flipped[0])


def test_save_to_dir(tmp_path):
    names = []
    for library in (theirs, ours):
        place = tmp_path / library.__name__
        place.mkdir()
        next(library.ImageDataGenerator().flow(X, shuffle=False, batch_size=3, save_to_dir=place, save_prefix="p", save_format="png"))
        found = sorted(os.listdir(place))
        names.append([name.rsplit("_", 1)[0] for name in found])
        pixels = numpy.asarray(Image.open(place / found[0]))
        assert pixels.shape == X.shape[1:]
    assert names[0] == names[1]


def test_an_iterator_in_a_pickle():
    flow = ours.ImageDataGenerator(rotation_range=20).flow(X, Y, seed=3, batch_size=5)
    next(flow)
    copy = pickle.loads(pickle.dumps(flow))
    for one, two in zip(next(flow), next(copy)):
        numpy.testing.assert_array_equal(one, two)
