# SPDX-License-Identifier: Apache-2.0
"""The package itself: methods come from the table, types are right, importing is quick, NumPy is optional."""
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import leat
import pytest
from leat._data.bind import quote, split_text, split_words
from leat._data.ops import OPS

ROOT = Path(__file__).resolve().parents[2]


def test_methods_are_those_of_the_table(command):
    done = subprocess.run([sys.executable, ROOT / "scripts/python_ops.py"], capture_output=True, text=True,
                          env={**os.environ, "LEAT": command})
    assert done.returncode == 0, done.stdout + done.stderr
    for name, op in OPS.items():
        if op.kind != "source":
            assert getattr(leat.Dataset, name).__doc__


def test_version(command):
    assert subprocess.run([command, "--version"], capture_output=True, text=True).stdout.split()[-1] == leat.__version__


@pytest.mark.parametrize("call, error, words", [
    (lambda ds: ds.resize(hieght=3), TypeError, "resize.. has no argument 'hieght'; did you mean 'height'"),
    (lambda ds: ds.resize("a"), TypeError, "height must be a whole number, not str 'a'"),
    (lambda ds: ds.resize(2.5), TypeError, "height must be a whole number, not float"),
    (lambda ds: ds.resize(True), TypeError, "height"),
    (lambda ds: ds.resize(), TypeError, "needs height"),
    (lambda ds: ds.resize(3, 3, 3, 3, 3), TypeError, "takes 2 arguments"),
    (lambda ds: ds.resize(3, height=4), TypeError, "twice"),
    (lambda ds: ds.resize(3, method="aera"), ValueError, "did you mean 'area'"),
    (lambda ds: ds.resize(-1), ValueError, "between 1 and"),
    (lambda ds: ds.batch(0), ValueError, "between"),
    (lambda ds: ds.shuffle(reshuffle="yes"), TypeError, "True or False"),
    (lambda ds: ds.cast(7), TypeError, "a type such as"),
    (lambda ds: ds.cast("flot32"), ValueError, "not 'flot32'; did you mean 'float32'"),
    (lambda ds: ds.cast("pixels", "f33"), ValueError, "not 'f33'; did you mean 'f"),
    (lambda ds: ds.resize((1, 2, 3)), TypeError, "a size is .height, width."),
    (lambda ds: ds.resize((1, 2), width=3), TypeError, "width is given twice"),
    (lambda ds: ds.batch(3, batch_size=4), TypeError, "size is given twice"),
    (lambda ds: ds.select("image", fields=["label"]), TypeError, "fields is given twice"),
    (lambda ds: ds.batch(4, num_parallel_calls=-1), TypeError, "leat uses all cores"),
    (lambda ds: ds.random_brightness("much").batch(2).length, leat.TextError, "must be a number"),
    (lambda ds: ds.rezise(3), AttributeError, "did you mean 'resize'"),
    (lambda ds: ds.configure(thread=3), TypeError, "did you mean 'threads'"),
    (lambda ds: ds.configure(threads="3"), TypeError, "threads must be int"),
    (lambda ds: ds.normalize("imagnet"), ValueError, "did you mean 'imagenet'"),
    (lambda ds: ds.normalize("fit", mean=3), TypeError, "finds mean itself"),
    (lambda ds: ds.shard(4, 0), ValueError, r"shard\(0, 4\); tf.data has it the other way round"),
    (lambda ds: ds.shard(4), TypeError, "both numbers"),
    (lambda ds: ds.as_tuple(), TypeError, "names of fields"),
    (lambda ds: ds.state(-1), ValueError, "from 0"),
    (lambda ds: ds.show(0), ValueError, "from 1 to"),
    (lambda ds: ds.filter(callback="x"), TypeError, "function itself"),
    (lambda ds: leat.from_directry("x"), AttributeError, "did you mean 'from_directory'"),
    (lambda ds: leat.from_directory(3), TypeError, "path"),
    (lambda ds: leat.from_directory("x", labels="dirs"), ValueError, "did you mean 'dir'"),
    (lambda ds: leat.from_tfrecord([]), TypeError, "a path"),
    (lambda ds: leat.from_npy(), TypeError, "needs a file"),
    (lambda ds: leat.from_directory("a\0b"), ValueError, "NUL"),
])
def test_wrong_arguments(call, error, words):
    with pytest.raises(error, match=words):
        call(leat.synthetic(10, 8, 8))


def test_arguments_become_text():
    ds = leat.synthetic(10, 8, 8)

    def last(made) -> str:
        return made.operations[-1]

    import numpy

    assert last(ds.resize(224)) == "resize height=224"
    assert last(ds.resize(numpy.int64(4), width=5, method=None)) == "resize height=4 width=5"
    assert last(ds.random_resized_crop(8, scale=(0.5, 1))) == "random_resized_crop height=8 scale=0.5,1"
    assert last(ds.resize((224, 225))) == last(ds.resize(size=(224, 225))) == "resize height=224 width=225"
    assert last(ds.resize(height=[4, 5], method="area")) == "resize height=4 width=5 method=area"
    assert last(ds.random_crop(numpy.array([4, 5]))) == "random_crop height=4 width=5"
    assert last(ds.decode("mask")) == "decode field=mask" and last(ds.boxes("box")) == "boxes field=box"
    assert last(ds.cast("pixels", "f32")) == last(ds.cast("pixels", dtype="f32")) == "cast field=pixels dtype=f32"
    assert last(ds.one_hot("label", 10)) == last(ds.one_hot(num_classes=10, field="label")) == (
        "one_hot field=label classes=10")
    assert last(ds.random_flip(field=["image", "mask"])) == "random_flip field=image,mask"
    assert last(ds.normalize((0.5, 0.5), [2, 3])) == "normalize mean=0.5,0.5 std=2,3"
    assert last(ds.shard(num_shards=4, index=1)) == "shard part=1/4"
    assert last(ds.reshape("x", 4, 4)) == "reshape field=x 4 4" and last(ds.one_hot(10)) == "one_hot classes=10"
    assert last(ds.padded_batch(4, max={"boxes": (10, 4), "ids": 7})) == "padded_batch size=4 max=boxes:10x4,ids:7"
    assert last(ds.padded_batch(4, max=(9, 9, 3))) == "padded_batch size=4 max=9x9x3"
    assert last(ds.padded_batch(4, padded_shapes={"image": (None, 8, 3)}, padding_values={"image": 1})) == (
        'padded_batch size=4 "image=*x8x3" padding=image:1')
    assert last(ds.batch(batch_size=32)) == "batch size=32" and ds.batch(batch_size=32).batch_size == 32
    assert last(ds.batch(32, True)) == "batch size=32 drop_remainder=true"
    assert last(ds.shuffle(1000, 42, reshuffle_each_iteration=False)) == (
        "shuffle buffer_size=1000 seed=42 reshuffle=false")
    assert last(ds.image_data_generator(rotation_range=20)) == "image_data_generator rotation=20"
    assert last(ds.label_map({"ant": 1, "bee": 0})) == 'label_map map="ant=1,bee=0"'
    assert last(ds.cast(numpy.float32, scale=1 / 255)) == f"cast dtype=float32 scale={1 / 255!r}"
    assert last(ds.cast(numpy.dtype("f2"), field="label")) == "cast field=label dtype=float16"
    assert last(ds.reshape(4, 16, 3)) == "reshape 4 16 3"
    assert last(ds.reshape((4, 16, 3), field="image")) == "reshape field=image 4 16 3"
    assert last(ds.select("image", "label")) == "select image label"
    assert last(ds.shard(1, 4)) == last(ds.shard("1/4")) == "shard part=1/4"
    assert last(ds.batch(4, drop_remainder=True)) == "batch size=4 drop_remainder=true"
    assert last(ds.parse("x:float[8]", from_="record")) == "parse x:float[8] from=record"
    assert "random_flip_left_right" in inspect.getsource(leat.Dataset) and ds.batch(3).batch_size == 3


def test_a_buffer_size_is_taken_and_the_shuffle_is_a_full_one():
    def order(ds) -> list[int]:
        return [label for batch in ds.select("index").batch(50) for label in batch.tolist()]

    ds = leat.synthetic(200, 4, 4).enumerate(of="sample")
    assert order(ds.shuffle(10, seed=1)) == order(ds.shuffle(buffer_size=10, seed=1)) == order(ds.shuffle(seed=1))
    assert order(ds.shuffle(window=10, seed=1)) != order(ds.shuffle(seed=1))


@pytest.mark.parametrize("name, words", [
    ("horizontal_flip", "leat calls it 'random_flip_left_right'"),
    ("RandomHorizontalFlip", "leat calls it 'random_flip_left_right'"),
    ("HorizontalFlip", "leat calls it 'random_flip_left_right'"),
    ("VerticalFlip", "leat calls it 'random_flip_up_down'"),
    ("rotation_range", r"as an argument, 'image_data_generator\(rotation=...\)'"),
    ("width_shift_range", r"as an argument, 'image_data_generator\(width_shift=...\)'"),
    ("ColorJitter", "leat calls it 'color_jitter'"),
    ("RandomBrightnessContrast", "leat calls it 'color_jitter'"),
    ("RandomResizedCrop", "leat calls it 'random_resized_crop'"),
    ("random_resize_crop", "did you mean 'random_resized_crop'"),
    ("to_tensor", "leat calls it 'cast'"),
    ("ToTensorV2", "leat calls it 'cast'"),
    ("Normalize", "leat calls it 'normalize'"),
    ("Rescaling", "leat calls it 'rescale'"),
    ("CenterCrop", "leat calls it 'center_crop'"),
    ("ImageFolder", "leat calls it 'leat.from_directory'"),
    ("from_tensor_slices", "leat calls it 'leat.from_arrays'"),
])
def test_names_of_other_libraries(name, words):
    with pytest.raises(AttributeError, match=words):
        getattr(leat.synthetic(10), name)
    if "leat.from_" in words:
        with pytest.raises(AttributeError, match=words):
            getattr(leat, name)
    with pytest.raises(ValueError, match=words.split("'")[0]):
        leat.from_text(f"synth | {name} 3")


def test_signatures_and_docstrings():
    """help(), Jupyter and inspect.signature show parameters with defaults; every docstring has an example that works."""
    assert str(inspect.signature(leat.Dataset.resize)).startswith(
        "(self, height, width=None, *, method='bilinear', flavour='tf', antialias=False")
    assert str(inspect.signature(leat.synthetic().batch)) == (
        "(size=None, drop_remainder=False, *, pad_remainder=False, valid=None, global_size=None)")
    assert str(inspect.signature(leat.Dataset.reshape)) == "(self, *shape, field='image', layout=None)"
    assert str(inspect.signature(leat.Dataset.configure)).startswith("(self, *, threads=0, slots=0, memory=0")
    for name, method in inspect.getmembers(leat.Dataset, inspect.isfunction):
        assert name.startswith("_") or "    " in method.__doc__, f"{name}: no example"
    ds = leat.synthetic(10, 8, 8)
    for name, op in OPS.items():
        method = getattr(leat.Dataset, name, None)
        if op.kind == "source" or not hasattr(method, "__wrapped__"):
            continue
        shown = inspect.signature(method).parameters
        words = inspect.getdoc(method)
        for arg in op.args:
            parameter = shown[arg.name + "_" if arg.name == "from" else arg.name]
            assert (parameter.default is parameter.empty) == (arg.default is None or arg.type in ("texts", "ints"))
            assert f"\n{parameter.name}: " in words, f"{name}: {parameter.name}"
        example = re.search(r"^ *(ds\..*)$", words, re.M)
        assert example, name
        made = eval(example[1], {"ds": ds})
        assert made.operations[-1].split()[0] == name


def test_quoting():
    for value in ("", "a", "a b", "a'b", 'a"b', "'\"'\"", "x|y", "k=v", "ü", '"', "\n"):
        assert split_words(f"op {quote(value)} key={quote(value)}")[1:] == [("", value), ("key", value)]
        assert len(split_text(f"a {quote(value)} | b")) == 2


def test_import_is_quick(run):
    said = run("import time; a = time.perf_counter(); import leat; print(time.perf_counter() - a);"
               "import sys; assert 'numpy' not in sys.modules")
    assert float(said) < 1  # bench/python/imports.py measures it; here the machine may be busy


def test_without_numpy(run):
    said = run("""
import sys
sys.modules["numpy"] = None
import leat
ds = leat.synthetic(10, 4, 4).shuffle(seed=1).batch(4)
images, labels = next(iter(ds))
print(type(images).__name__, images.shape, memoryview(labels).tolist())
batch = next(iter(leat.from_arrays({"x": [1, 2, 3], "y": [0.5, 1, 2], "name": ["a", "bb", ""]}).batch(3)))
print(memoryview(batch["x"]).tolist(), memoryview(batch["y"]).tolist(), batch["name"].tolist())
print(leat.from_generator([(1, 2.5), (2, 3.5)]).batch(2).samples, leat.synthetic(10, 4, 4).statistics().samples)
print(memoryview(ds.sample(2)[0]).shape)
""")
    assert "Tensor (4, 4, 4, 3)" in said and "[1, 2, 3] [0.5, 1.0, 2.0] [b'a', b'bb', b'']" in said and "2 10" in said


def test_only_the_entry_is_exported():
    extension = next(Path(leat.__file__).parent.glob("_leat*.so"))
    done = subprocess.run(["nm", "-D", "--defined-only", extension], capture_output=True, text=True, check=True)
    assert [line.split()[-1] for line in done.stdout.splitlines()] == ["PyInit__leat"]


@pytest.mark.parametrize("first", ["leat", "PIL.Image"])
def test_codecs_of_others_in_one_process(run, pictures, first):
    """Pillow has its own libjpeg and libpng: both decode, in either order of importing."""
    said = run(f"""
import {first}
import leat, PIL.Image, numpy, pathlib
folder = pathlib.Path({str(pictures)!r})
ds = leat.from_directory(folder).resize(8, 8, method="bilinear", flavour="pil").batch(24)
for _ in range(2):
    images, labels = next(iter(ds))
    paths = sorted(path for path in folder.rglob("*.*"))
    for path, image in zip(paths, images):
        other = numpy.asarray(PIL.Image.open(path).convert("RGB").resize((8, 8), PIL.Image.BILINEAR))
        assert abs(other.astype(int) - image).max() <= (0 if path.suffix == ".png" else 2), path
print("equal")
""")
    assert said.strip() == "equal"


def test_statistics(pictures):
    import numpy

    ds = leat.from_directory(pictures)
    found = ds.resize(8, 8).statistics()
    images = numpy.concatenate([images for images, _ in ds.resize(8, 8).batch(24)]).astype("f8")
    assert numpy.allclose(found.mean, images.mean((0, 1, 2))) and numpy.allclose(found.std, images.std((0, 1, 2)))
    assert found.class_counts == {0: 8, 1: 8, 2: 8} and found.samples == 24
    assert found.height == (20, 31.5, 43) and found.width == (27, 38.5, 50)
    assert ds.statistics().samples == 24  # pictures of different sizes
    fitted = numpy.concatenate([images for images, _ in ds.resize(8, 8).normalize("fit").batch(24)])
    assert numpy.allclose(fitted.mean((0, 1, 2)), 0, atol=1e-4) and numpy.allclose(fitted.std((0, 1, 2)), 1, atol=1e-3)
    planar = ds.resize(8, 8).cast("f32", layout="nchw").statistics()
    assert numpy.allclose(planar.mean, found.mean)
    assert ds.shuffle().resize(4, 4).batch(3).class_weights() == {0: 1, 1: 1, 2: 1}
    weights = leat.from_arrays((numpy.zeros((4, 2)), [0, 0, 0, 5])).class_weights()
    assert weights == {0: pytest.approx(4 / 6), 5: 2}
    with pytest.raises(leat.ArgumentError, match="max_samples"):
        leat.synthetic(10).repeat().statistics()
    assert leat.synthetic(10).repeat().statistics(max_samples=20).samples >= 20
    with pytest.raises(leat.ArgumentError, match="no field"):
        ds.resize(8, 8).statistics("imag")


def test_contact_sheet(pictures, tmp_path):
    sheet = leat.from_directory(pictures).resize(16, 16).random_flip_left_right().batch(4).show(2, versions=3, size=40)
    assert sheet._repr_png_().startswith(b"\x89PNG") and sheet.rows == 2 and "2 samples" in repr(sheet)
    sheet.save(tmp_path / "sheet.png")
    assert (tmp_path / "sheet.png").stat().st_size == len(sheet.png)


def test_printing(pictures):
    ds = leat.from_directory(pictures).shuffle(seed=3).resize(8, 8).batch(4)
    assert "24 images in 3 classes" in str(ds) and "shuffle of all" in str(ds)
    assert repr(ds).startswith("<leat.Dataset folder ") and "(seed 0)" in repr(ds)
    assert "cannot be opened" in str(leat.from_directory("/nowhere"))


def test_types():
    """mypy --strict, over the package and over a use of it."""
    folder = ROOT / "build/venv-mypy"
    tool = folder / "bin/mypy"
    if not tool.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True, check=True)
        done = subprocess.run([folder / "bin/pip", "install", "-q", "--timeout", "5", "--retries", "1", "mypy"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip("no package index can be reached: mypy is not here")
    use = ROOT / "tests/python/typed_use.py"
    done = subprocess.run([tool, "--strict", "--python-version", "3.11", "--cache-dir", ROOT / "build/mypy", "-p",
                           "leat", "--no-error-summary"], capture_output=True, text=True, cwd=ROOT / "python")
    assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run([tool, "--strict", "--python-version", "3.11", "--cache-dir", ROOT / "build/mypy", use],
                          capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(ROOT / "python")})
    wrong = list(dict.fromkeys(re.findall(r"typed_use.py:(\d+): error", done.stdout)))
    marked = [str(number) for number, line in enumerate(use.read_text().splitlines(), 1) if "# wrong" in line]
    assert wrong == marked, done.stdout
