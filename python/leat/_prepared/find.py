# SPDX-License-Identifier: Apache-2.0
"""Where a data set lies: what TFDS has prepared first, then Keras's cache, then raw files."""
from __future__ import annotations

import json
import os
import re
from typing import Any

from .._base.errors import ArgumentError
from .arrays import Arrays, Folders
from .raw import CIFAR10, FASHION, read_cifar, read_mnist, read_npz
from .shards import Prepared

_NAME = re.compile(r"(\w+)(?:/([\w.-]+))?(?::([\w.*]+))?")
DIGITS = [str(digit) for digit in range(10)]
NAMES = {"mnist": DIGITS, "fashion_mnist": FASHION}
# Folders of raw files, as archives and other libraries name them, below a place that is searched.
MNIST_FOLDERS = {"mnist": ("mnist", "MNIST/raw", "MNIST"),
                 "fashion_mnist": ("fashion-mnist", "fashion_mnist", "FashionMNIST/raw", "FashionMNIST"),
                 "kmnist": ("kmnist", "KMNIST/raw", "KMNIST")}
CIFAR_FOLDERS = {"cifar10": (("cifar-10-batches-bin", True), ("cifar-10-batches-py", False),
                             ("cifar-10-batches-py-target/cifar-10-batches-py", False)),
                 "cifar100": (("cifar-100-binary", True), ("cifar-100-python", False),
                              ("cifar-100-python-target/cifar-100-python", False))}


def split_name(name: str) -> tuple[str, str | None, str | None]:
    """"mnist", "photos/small:1.0.0": name, config and version."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise ArgumentError(f"{name!r} is no name of a data set: 'mnist', 'name/config' or 'name:1.0.0'")
    return found[1], found[2], found[3]


def _home(*names: str) -> str:
    return os.path.join(os.path.expanduser("~"), *names)


def tfds_places(data_dir: str | None) -> list[str]:
    if data_dir is not None:
        return [data_dir]
    return [place for place in (os.environ.get("TFDS_DATA_DIR"), _home("tensorflow_datasets")) if place]


def raw_places(data_dir: str | None) -> list[str]:
    """Keras's cache, and folders of the user's."""
    if data_dir is not None:
        return [data_dir]
    keras = os.path.join(os.environ.get("KERAS_HOME") or _home(".keras"), "datasets")
    return [keras, ".", "data", "datasets", _home("data"), _home("datasets")]


def _version(name: str) -> tuple[int, ...] | None:
    return tuple(int(part) for part in name.split(".")) if re.fullmatch(r"\d+\.\d+\.\d+", name) else None


def _newest(folder: str, wanted: str | None) -> str | None:
    """The folder of the newest version, or of the newest that fits "1.*.*"."""
    if not os.path.isdir(folder):
        return None
    names = [entry for entry in os.listdir(folder) if os.path.isfile(os.path.join(folder, entry, "dataset_info.json"))]
    pattern = re.compile((wanted or "*.*.*").replace(".", r"\.").replace("*", r"\d+"))
    fitting = [entry for entry in names if _version(entry) and (pattern.fullmatch(entry))]
    return os.path.join(folder, max(fitting, key=lambda entry: _version(entry) or ())) if fitting else None


def find_prepared(name: str, data_dir: str | None) -> str | None:
    """The folder with dataset_info.json, if TFDS has prepared this data set."""
    base, config, version = split_name(name)
    for place in tfds_places(data_dir):
        top = os.path.join(place, base)
        if config is None:
            try:
                with open(os.path.join(top, ".config", "metadata.json"), encoding="utf-8") as file:
                    config = json.load(file).get("default_config_name")
            except (OSError, ValueError, AttributeError):
                config = None
        found = _newest(os.path.join(top, config) if config else top, version)
        if found is not None:
            return found
        if data_dir is not None and os.path.isfile(os.path.join(place, "dataset_info.json")):
            return place
    return None


def _find_raw(base: str, place: str) -> Any:
    if base == "mnist" and os.path.isfile(os.path.join(place, "mnist.npz")):
        return Arrays(base, place, read_npz(os.path.join(place, "mnist.npz")), {"label": DIGITS})
    for folder, binary in CIFAR_FOLDERS.get(base, ()):
        for inside in (folder, os.path.join(base, folder), ""):
            columns = read_cifar(os.path.join(place, inside), base == "cifar100", binary)
            if columns is not None:
                names = {"label": CIFAR10} if base == "cifar10" else {}
                return Arrays(base, os.path.join(place, inside), columns, names)
    for folder in (*MNIST_FOLDERS.get(base, (base,)), ""):
        if folder == "" and base in CIFAR_FOLDERS:
            continue
        columns = read_mnist(os.path.join(place, folder))
        if columns is not None:
            names = {"label": NAMES[base]} if base in NAMES else {}
            return Arrays(base, os.path.join(place, folder), columns, names)
    return None


def find(name: str, data_dir: str | None) -> Any:
    """A store that load() can ask, or None."""
    folder = find_prepared(name, data_dir)
    if folder is not None:
        return Prepared(folder)
    base, config, version = split_name(name)
    if config is not None or version is not None:
        return None
    for place in raw_places(data_dir):
        found = _find_raw(base, place) or Folders.find(base, os.path.join(place, base))
        if found is not None:
            return found
    return Folders.find(base, data_dir) if data_dir is not None else None


def expected(name: str, data_dir: str | None) -> str:
    """Files that would have been found."""
    base, _, _ = split_name(name)
    lines = [f"{place}/{base}/VERSION/dataset_info.json, prepared by TFDS" for place in tfds_places(data_dir)]
    places = ", ".join(raw_places(data_dir))
    if base == "mnist":
        lines.append(f"mnist.npz in {places}")
    if base in CIFAR_FOLDERS:
        lines.append(f"{' or '.join(folder for folder, _ in CIFAR_FOLDERS[base][:2])} in {places}")
    elif base in MNIST_FOLDERS:
        lines.append(f"{MNIST_FOLDERS[base][0]}/train-images-idx3-ubyte.gz and its like in {places}")
    else:
        lines.append(f"{base}/SPLIT/CLASS/*.jpg in {places}")
    return "; ".join(lines)
