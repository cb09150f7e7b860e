# SPDX-License-Identifier: Apache-2.0
"""Which files a folder has, in the order of Keras: the same files, labels and parts for the same seed."""
from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import import_module
from operator import itemgetter
from typing import Any

from .._base.arrays import optional

FORMATS = (".bmp", ".gif", ".jpeg", ".jpg", ".png")


@dataclass(frozen=True)
class Files:
    """Paths, a NumPy array of labels or None, and the names of the classes or None."""

    paths: list[str]
    labels: Any
    class_names: list[str] | None

    def shuffled(self, seed: int) -> Files:
        """The permutation that Keras draws: RandomState.shuffle gives the same one for a list and for an array."""
        numpy: Any = optional("numpy")
        order = numpy.arange(len(self.paths))
        numpy.random.RandomState(seed).shuffle(order)
        labels = None if self.labels is None else self.labels[order]
        return replace(self, paths=[self.paths[i] for i in order.tolist()], labels=labels)

    def part(self, validation_split: float, subset: str) -> Files:
        """The files for training or validation. Where no file is left for validation, the slices are Keras's: all files
        validate and none trains."""
        n = int(validation_split * len(self.paths))
        taken = slice(None, -n) if subset == "training" else slice(-n, None)
        tell(f"Using {len(self.paths) - n if subset == 'training' else n} files for {subset}.")
        return replace(self, paths=self.paths[taken], labels=None if self.labels is None else self.labels[taken])


def is_remote(directory: Any) -> bool:
    """Whether Keras reads this path through TensorFlow's file systems."""
    return re.match(r"/(cns|cfs|gcs|hdfs|readahead|placer|tfhub)|.*://", str(directory)) is not None


def tell(message: str) -> None:
    """Prints as Keras does: a program may have sent its messages to the log."""
    keras = sys.modules.get("keras")
    if keras is None or keras.config.is_interactive_logging_enabled():
        print(message, flush=True)
    else:
        import_module("absl.logging").info(message)


def _below(directory: Any, folder: str, follow_links: bool) -> list[str]:
    """Pictures in a folder of the directory and in the folders below, sorted by folder and name."""
    top = os.path.join(directory, folder)
    found: list[str] = []
    for root, _, names in sorted(os.walk(top, followlinks=follow_links), key=itemgetter(0)):
        inside = os.path.relpath(root, top)
        place = top if inside == "." else os.path.join(top, inside)
        found += [os.path.join(place, name) for name in sorted(names) if name.lower().endswith(FORMATS)]
    return found


def _classes(directory: Any, class_names: Sequence[str] | None) -> list[str]:
    folders = [name for name in sorted(os.listdir(directory))
               if not name.startswith(".") and os.path.isdir(os.path.join(directory, name))]
    if class_names is None:
        return folders
    if not set(class_names) <= set(folders):
        raise ValueError("The `class_names` passed did not match the names of the sub-directories: expected "
                         f"{folders} or some of them, received class_names={class_names}")
    return list(class_names)


def list_files(directory: Any, labels: Any, class_names: Sequence[str] | None, follow_links: bool) -> Files:
    """The files in sorted order. labels: "inferred", None, or a list of numbers."""
    numpy: Any = optional("numpy")
    if labels != "inferred":
        if class_names is not None:
            raise ValueError("With `labels=None` there are no labels, and `class_names` cannot be specified.")
        paths = _below(directory, "", follow_links)
        if labels is None:
            return Files(paths, None, None)
        if len(labels) != len(paths):
            raise ValueError("Expected the lengths of `labels` to match the number of files in the target directory: there "
                             f"are {len(labels)} labels and {len(paths)} files in directory {directory}")
        return Files(paths, numpy.asarray(labels), [str(label) for label in sorted(set(labels))])
    folders = _classes(directory, class_names)
    with ThreadPoolExecutor() as pool:  # where listing waits for a server
        found = list(pool.map(lambda folder: _below(directory, folder, follow_links), folders))
    counts = [len(paths) for paths in found]
    return Files([path for paths in found for path in paths],
                 numpy.repeat(numpy.arange(len(folders), dtype="int32"), counts), folders)


def announce(files: Files) -> None:
    belonging = "" if files.class_names is None else f" belonging to {len(files.class_names)} classes"
    tell(f"Found {len(files.paths)} files{belonging}.")


def extensions(paths: Iterable[str]) -> set[str]:
    """Of these files: "jpg" for .jpeg too."""
    found = {path.lower().rpartition(".")[2] for path in paths}
    return {"jpg" if extension == "jpeg" else extension for extension in found}
