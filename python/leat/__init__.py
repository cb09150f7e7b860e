# SPDX-License-Identifier: Apache-2.0
"""leat feeds training: it reads, decodes and augments at the speed of the machine, and hands over batches.

    import leat

    ds = (leat.from_directory("photos/train").shuffle(seed=7).random_resized_crop(224)
          .random_flip_left_right().normalize("imagenet").batch(64))
    for images, labels in ds:
        ...

docs/python.md is the guide; help(leat.Dataset.resize) explains an operation.
"""
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ._base.arrays import Ragged
from ._base.errors import (
    ArgumentError,
    CorruptError,
    DecodeError,
    DTypeError,
    Error,
    ForkedError,
    FormatError,
    LimitError,
    MemoryLimitError,
    NotFoundError,
    ReadError,
    ShapeError,
    StateError,
    StoppedError,
    TextError,
    UnsupportedError,
)
from ._base.notices import LeatWarning
from ._data.combine import choose_from_datasets, concatenate, sample_from_datasets, zip
from ._data.dataset import Dataset, TensorSpec
from ._data.packing import Packed, pack, pack_join, pack_verify
from ._data.records import TFRecordWriter, example
from ._data.run import Batch, Iterator
from ._frameworks import hook as _hook
from ._leat import version as __version__
from ._sources.coco import from_coco
from ._sources.files import from_files
from ._sources.sources import (
    from_arrays,
    from_directory,
    from_generator,
    from_npy,
    from_text,
    from_tfrecord,
    synthetic,
)
from ._sources.tables import from_csv
from ._sources.webdataset import from_webdataset

if TYPE_CHECKING:
    from ._doctor.findings import Diagnosis

AUTOTUNE = -1  # leat finds the number itself: prefetch(leat.AUTOTUNE), configure(threads=leat.AUTOTUNE); TensorFlow's number

__all__ = [
    "AUTOTUNE", "ArgumentError", "Batch", "CorruptError", "DTypeError", "Dataset", "DecodeError", "Error", "ForkedError",
    "FormatError", "Iterator", "LeatWarning", "LimitError", "MemoryLimitError", "NotFoundError", "Packed", "Ragged", "ReadError",
    "ShapeError", "StateError", "StoppedError", "TFRecordWriter", "TensorSpec", "TextError", "UnsupportedError", "__version__",
    "choose_from_datasets", "concatenate", "doctor", "example", "from_arrays", "from_coco", "from_csv", "from_directory",
    "from_files", "from_generator", "from_huggingface", "from_npy", "from_python", "from_text", "from_tfrecord", "from_webdataset",
    "pack", "pack_join", "pack_verify", "sample_from_datasets", "synthetic", "zip",
]


def from_python(dataset: Any, workers: int | str = "auto", items: str | None = None, *, layout: str | None = None,
                ragged: Mapping[str, int] | None = None) -> Dataset:
    """A dataset that exists already: a Keras PyDataset, a torch dataset, anything with __len__ and __getitem__.

        leat.from_python(my_torch_dataset, workers=4).shuffle(seed=1).batch(64)
        leat.from_python(my_keras_sequence)                # its items are batches already
        leat.from_python(my_detection_dataset, ragged={"boxes": 100}).padded_batch(16)

    Its code runs in worker processes; docs/python.md tells how. layout="nchw": pictures are (channels, height, width).
    ragged: parts whose first axis differs from item to item, boxes (n, 4) or tokens (n), and the most entries that an item
    has.
    """
    from ._sources.python import from_python as make  # what it needs takes time to import

    return make(dataset, workers, items, layout=layout, ragged=ragged)


def from_huggingface(dataset: Any, *, image: str | None = "image", label: str | None = "label", decode: bool = True,
                     **fields: str) -> Dataset:
    """A datasets.Dataset of Hugging Face, on the memory of its Arrow table: nothing is copied, no Python runs for a sample.

        leat.from_huggingface(load_dataset("cifar10", split="train")).shuffle().resize(224, 224).batch(64)
        leat.from_huggingface(dataset, image="photo", label="breed", caption="text")

    image, label and further names are fields; their values are columns. Without a choice, image is the column of that
    name or the only one with pictures, label the column of that name or the only one with classes; None leaves it
    out. Pictures are decoded (RGB, 8 bits) in front of the first operation that needs pixels; decode=False leaves their
    bytes. Numbers are arrays, strings are bytes, lists of numbers are ragged.
    """
    from ._sources.huggingface import from_huggingface as make

    return make(dataset, image, label, decode, fields)


def doctor(iterable: Any, step: Callable[[Any], Any] | None = None, *, steps: int | None = None,
           seconds: float = 5.0) -> "Diagnosis":
    """Why a training loop is slow: waits for its data and work on them, of any iterable of batches.

        print(leat.doctor(loader, step=train_step))          # a DataLoader, a tf.data.Dataset, a Keras Sequence, a generator
        print(leat.doctor(loader))                           # the data alone: how fast they come

    step is called with each batch, as the loop would do; it trains, if it is a training step. steps or seconds end it. The
    first steps do not count. The result is a text with a verdict, numbers and remedies; to_json() gives it to programs.
    """
    from ._doctor.watch import examine

    return examine(iterable, step, steps, seconds)


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext leat` in a notebook: from now on its imports of TensorFlow and Keras are those of leat, see leat.auto.

    ipython: the shell, which IPython gives.
    """
    import os

    from ._dropin.aliases import begin

    begin(os.getcwd(), how="%load_ext leat")


def unload_ipython_extension(ipython: Any) -> None:
    """`%unload_ext leat`: imports are those of Python again.

    ipython: the shell, which IPython gives.
    """
    from ._dropin.aliases import end

    end()


def __getattr__(name: str) -> Any:
    if name in ("datasets", "device", "keras", "ray", "tf", "torch"):  # modules that are imported when they are asked for
        from importlib import import_module

        return import_module(f".{name}", __name__)
    from ._data.bind import name_elsewhere, near

    found = name_elsewhere(name) or near(name, __all__)
    raise AttributeError(f"leat has no '{name}'{found}", name=name)
