# SPDX-License-Identifier: Apache-2.0
"""leat.datasets.load: tfds.load for data sets that are on this machine."""
from __future__ import annotations

import os
from typing import Any

from .._base.errors import ArgumentError, NotFoundError, UnsupportedError
from .._base.notices import tell
from .find import expected, find
from .frameworks import tensorflow, tfds
from .splits import parts_of


def load(name: str, *, split: Any = None, data_dir: str | os.PathLike[str] | None = None, batch_size: int | None = None,
         shuffle_files: bool = False, download: bool = True, as_supervised: bool = False, with_info: bool = False,
         **more: Any) -> Any:
    """A data set by its name, as tfds.load gives it: a tf.data.Dataset, without TensorFlow a leat.Dataset.

        train, test = leat.datasets.load("mnist", split=["train[:90%]", "test"], as_supervised=True)
        ds, info = leat.datasets.load("cifar10", split="train", with_info=True, data_dir="/data")

    name: "mnist", with config and version "photos/small:1.0.0". split: a text, or lists and dicts of texts; without it,
    a dict of all splits. data_dir: where to look; without it, $TFDS_DATA_DIR, ~/tensorflow_datasets, Keras's cache, and
    the folders data and datasets. batch_size: samples of a batch, -1 for one batch of all. shuffle_files: shards in
    another order. download: the installed tensorflow_datasets prepares what is not there. as_supervised: (image, label)
    in place of a dict. with_info: also what is known of the data set. more: other arguments of tfds.load, which then is
    called itself.
    """
    folder = None if data_dir is None else os.path.expanduser(os.fspath(data_dir))
    given = {"split": split, "data_dir": folder, "batch_size": batch_size, "shuffle_files": shuffle_files,
             "download": download, "as_supervised": as_supervised, "with_info": with_info}
    more = {key: value for key, value in more.items() if value}
    if more:
        return _theirs(name, {**given, **more}, f"load() with {', '.join(more)}")
    if folder is not None and "://" in folder:
        return _theirs(name, given, f"{folder} is remote")
    try:
        store = find(name, folder)
        if store is None:
            store = _prepare(name, folder, download)
        made = _made(store, split, as_supervised, shuffle_files, batch_size)
    except UnsupportedError as error:
        return _theirs(name, given, str(error))
    return (made, _info(store)) if with_info else made


def _theirs(name: str, given: dict[str, Any], reason: str) -> Any:
    """The data set of the installed tensorflow_datasets."""
    library = tfds()
    if library is None:
        raise UnsupportedError(f"{name}: {reason}; leat does not read this without tensorflow_datasets: pip install "
                               "tensorflow tensorflow-datasets")
    tell(f"{name} is read by tensorflow_datasets itself: {reason}")
    return library.load(name, **given)


def _prepare(name: str, folder: str | None, download: bool) -> Any:
    library = tfds()
    if library is None:
        raise NotFoundError(f"data set '{name}' is not on this machine. Looked for: {expected(name, folder)}. "
                            "tensorflow_datasets can prepare it: pip install tensorflow tensorflow-datasets")
    builder = library.builder(name, data_dir=folder)
    if download:
        builder.download_and_prepare()
    from .shards import Prepared

    place = os.fspath(builder.data_dir)
    if not os.path.isfile(os.path.join(place, "dataset_info.json")):
        raise UnsupportedError(f"{place} is remote, or not prepared")
    return Prepared(place)


def _made(store: Any, split: Any, as_supervised: bool, shuffle_files: bool, batch_size: int | None) -> Any:
    keys = store.info.supervised_keys if as_supervised else None
    if as_supervised and keys is None:
        raise ArgumentError(f"as_supervised=True, and {store.info.name} does not say what is input and output")
    tf = tensorflow()

    def one(text: Any) -> Any:
        if isinstance(text, (list, tuple)):
            return type(text)(one(each) for each in text)
        if isinstance(text, dict):
            return {key: one(each) for key, each in text.items()}
        parts = parts_of(text, store.lengths)
        count = sum(part.end - part.begin for part in parts)
        if tf is None:
            return _batched(store.dataset(parts, keys), batch_size, count)
        made = store.tensors(tf, parts, keys, shuffle_files)
        if batch_size:
            made = made.padded_batch(count if batch_size == -1 else batch_size)
        made = made.prefetch(tf.data.AUTOTUNE)
        return made.get_single_element() if batch_size == -1 else made

    return {name: one(name) for name in store.lengths} if split is None else one(split)


def _batched(made: Any, batch_size: int | None, count: int) -> Any:
    if not batch_size:
        return made
    if batch_size == -1:
        return next(iter(made.padded_batch(count)))
    return made.padded_batch(batch_size)


def _info(store: Any) -> Any:
    """Of the installed tensorflow_datasets, whose functions want its own; else leat's."""
    library = tfds()
    if library is None or not os.path.isfile(os.path.join(store.info.data_dir, "dataset_info.json")):
        return store.info
    return library.builder_from_directory(store.info.data_dir).info


def as_numpy(dataset: Any) -> Any:
    """Samples as NumPy arrays: of a data set an iterator, of tensors arrays; lists, tuples and dicts of them stay so.

        for image, label in leat.datasets.as_numpy(ds): ...

    dataset: what load() gives.
    """
    if isinstance(dataset, (list, tuple)):
        return type(dataset)(as_numpy(each) for each in dataset)
    if isinstance(dataset, dict):
        return {key: as_numpy(each) for key, each in dataset.items()}
    if hasattr(dataset, "as_numpy_iterator"):
        return dataset.as_numpy_iterator()
    return dataset.numpy() if hasattr(dataset, "numpy") else dataset
