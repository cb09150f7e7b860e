# SPDX-License-Identifier: Apache-2.0
"""Where datasets come from."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from .._base.advice import advised, refuse_file_list
from .._base.arrays import from_user
from .._base.layout import layout_number, with_layout
from .._data.bind import _dtype_text, bind, name_elsewhere, near, quote, split_text
from .._data.dataset import Dataset, Origin
from .._data.ops import OPS
from .files import name_list

if TYPE_CHECKING:
    from .spool import Spool

Path: TypeAlias = str | os.PathLike[str]
NAMES = ("image", "label", "weight")


def _paths(files: Path | Iterable[Path], where: str) -> list[str]:
    many = [files] if isinstance(files, (str, os.PathLike)) else list(files) if isinstance(files, Iterable) else []
    if not many or not all(isinstance(file, (str, os.PathLike)) for file in many):
        raise TypeError(f"{where} needs a path, a pattern, or a list of them, not {files!r:.60}")
    return [os.fspath(file) for file in many]


def _feature(kind: object) -> str:
    """"float", also of tf.float32 and numpy.float32."""
    text = _dtype_text(kind)
    if text is None:
        raise TypeError(f"from_tfrecord(): a feature is a text such as 'bytes', 'int64' or 'float[8]', not {kind!r:.60}")
    return {"float32": "float", "string": "bytes"}.get(text, text)


def from_text(text: str) -> Dataset:
    """A dataset from pipeline text, as the command takes it; further operations may follow.

        leat.from_text("folder photos | shuffle seed=7 | decode | resize 224 224").batch(64)
    """
    if not isinstance(text, str):
        raise TypeError(f"from_text(): the text must be a str, not {type(text).__name__}")
    operations = split_text(text)
    for operation in operations:
        name = operation.split(None, 1)[0] if operation else ""
        if name not in OPS:
            raise ValueError(f"from_text(): unknown operation '{name}'{name_elsewhere(name) or near(name, OPS)}")
    first = operations[0].split(None, 1)[0]
    remedy = {"arrays": "from_arrays", "source": "from_python", "stream": "from_generator"}.get(first)
    if remedy:
        raise ValueError(f"from_text(): '{first}' takes what text cannot carry: use leat.{remedy}")
    return Dataset(tuple(operations), Origin())


@advised
def from_directory(path: Path, *, labels: str | None = None, follow_links: bool | None = None,
                   class_names: Sequence[str] | None = None, with_path: bool = False, decode: bool = True) -> Dataset:
    """Pictures in a directory tree; the label is the number of the top-level sub-directory in sorted order.

        leat.from_directory("photos/train").shuffle().resize(224, 224).batch(64)

    path: of the directory. labels: "auto", "dir" or "none". follow_links: enter directories that are links.
    class_names: these sub-directories, in the order of their labels, as in Keras's image_dataset_from_directory; each must
    be there. with_path adds the path of the file to every sample, see Dataset.with_path. Pictures are decoded (RGB, 8
    bits) in front of the first operation that needs pixels, or where decode() stands; decode=False leaves the bytes of
    the files.
    """
    _paths(path, "from_directory()")
    operation = bind("folder", (path,), {"labels": labels, "follow_links": follow_links,
                                         "classes": name_list(class_names, "from_directory()")})
    dataset = Dataset((operation,), Origin(decode=decode, path=os.fspath(path)))
    return dataset.with_path() if with_path else dataset


@advised
def from_tfrecord(files: Path | Iterable[Path], features: Mapping[str, Any] | Iterable[str] | None = None, *,
                  max_bytes: int | None = None) -> Dataset:
    """Records of TFRecord files (names, patterns, lists of them), parsed as tf.train.Example if features are given.

        leat.from_tfrecord("train-*.tfrecord", {"image": "bytes", "label": "int64"}).decode().resize(224, 224).batch(64)
        leat.from_tfrecord(files, ["x:float[8]", "y:int64"]).batch(256)

    features: names and types. Types: bytes, int64, float, with a shape as in "float[8]" or "int64[*]" (ragged), a default
    after "=". max_bytes: of the largest record, for compressed files whose undecoded bytes go into the batch.
    """
    operation = bind("tfrecord", tuple(_paths(files, "from_tfrecord()")), {"max_bytes": max_bytes})
    dataset = Dataset((operation,), Origin(path=_paths(files, "from_tfrecord()")[0]))
    if features is None:
        return dataset
    if isinstance(features, Mapping):
        return dataset.parse(*[f"{name}:{_feature(kind)}" for name, kind in features.items()])
    return dataset.parse(*([features] if isinstance(features, str) else features))


def from_npy(*files: Path, layout: str | None = None, **fields: Path) -> Dataset:
    """Slices along the first axis of arrays in .npy and .npz files; large ones are read slice by slice.

    fields: names and their files; files without a name are .npz, whose arrays have names. layout="nchw": slices of three
    axes are pictures (channels, height, width).

        leat.from_npy(image="x.npy", label="y.npy").shuffle().cast("f32", scale=1 / 255).batch(128)
        leat.from_npy("mnist.npz")
    """
    words = [quote(os.fspath(file)) for file in files]
    words += [f"{name}={quote(os.fspath(file))}" for name, file in fields.items()]
    if not words:
        raise TypeError("from_npy() needs a file: from_npy('data.npz') or from_npy(image='x.npy', label='y.npy')")
    number = layout_number(layout, "from_npy()")
    words += [f"layout={('nhwc', 'nchw')[number - 1]}"] if number else []
    return Dataset((" ".join(["npy", *words]),), Origin())


def synthetic(n: int = 1000, height: int = 64, width: int = 64, channels: int = 3, *, classes: int = 10,
              seed: int = 0) -> Dataset:
    """Pictures made up on the spot, with labels, the same everywhere: for tests and measurements.

        leat.synthetic(100, 32, 32).batch(10)

    n: how many; height, width, channels: of a picture; classes: how many labels; seed: another one gives other pictures
    """
    given = {"classes": classes, "seed": seed}
    return Dataset((bind("synth", (n, height, width, channels), given),), Origin())


def name_fields(given: Any, where: str) -> dict[str, Any]:
    """Arrays with names: a dict has them, (x, y, w) are image, label and weight, one array is image."""
    if hasattr(given, "columns") and hasattr(given, "to_numpy"):  # a DataFrame
        return {str(name): given[name] for name in given.columns}
    if isinstance(given, Mapping):
        return {str(name): value for name, value in given.items()}
    if isinstance(given, tuple):
        if not 1 <= len(given) <= len(NAMES):
            raise ValueError(f"{where}: a tuple is (image, label, weight); for {len(given)} values give a dict")
        return dict(zip(NAMES, given))
    return {"image": given}


def from_arrays(arrays: Any, *, layout: str | None = None, **more: Any) -> Dataset:
    """Slices along the first axis of arrays: a dict, a tuple (x, y) or (x, y, weight), one array, or a DataFrame.

        leat.from_arrays((x_train, y_train)).shuffle().random_flip_left_right().batch(128)
        leat.from_arrays({"pixels": x, "age": ages, "name": ["ant", "bee"]}).batch(2)

    Memory is used where it lies, also if it is not contiguous: do not change it meanwhile. Lists and strings are
    converted once; strings come out as a Ragged of bytes.

        leat.from_arrays((x, y), layout="nchw")       # pictures (n, channels, height, width), as torch has them

    more: further fields by name. With layout="nchw" the same memory is read as (height, width, channels), as all
    operations take pictures.
    """
    fields = {**name_fields(arrays, "from_arrays()"), **more}
    if not fields:
        raise ValueError("from_arrays(): there is no array")
    for name, value in fields.items():
        refuse_file_list(name, value)
    taken = tuple(from_user(name, value) for name, value in fields.items())
    lengths = {entry[0]: len(entry[3]) - 1 if len(entry) > 3 else len(entry[2]) for entry in taken}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise ValueError(f"from_arrays(): all arrays must have the same number of samples: {listed}")
    return Dataset(("arrays",), Origin(arrays=with_layout(taken, layout_number(layout, "from_arrays()"))))


def from_generator(generator: Callable[[], Iterable[Any]] | Iterable[Any], *, take: int | None = None,
                   max_bytes: int = 16 << 30, layout: str | None = None) -> Dataset:
    """What a generator yields, one sample at a time: an array, (image, label), or a dict of arrays.

        leat.from_generator(lambda: ((render(i), i % 10) for i in range(5000))).shuffle().batch(64)

    The generator is run once, when the dataset is first used, and what it gives is kept: in memory if it is little, in
    a temporary file beyond that, up to max_bytes. So everything works as on arrays: a shuffle of all samples, len,
    states, any number of epochs. Of a generator without end, take=n takes n samples. layout="nchw": arrays of three axes
    are pictures (channels, height, width).
    """
    from .spool import Spool

    spool, number = Spool(generator, take, max_bytes), layout_number(layout, "from_generator()")
    return Dataset(("arrays",), Origin(lazy_arrays=partial(_laid_out, spool, number)))


def _laid_out(spool: Spool, number: int) -> tuple[tuple[Any, ...], ...]:
    return with_layout(spool.arrays(), number)
