# SPDX-License-Identifier: Apache-2.0
"""What is in the data: means, deviations, classes, sizes. One pass of the engine; sums are doubles, in order."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from .._base.errors import ArgumentError, Error
from .._base.progress import Progress
from .._leat import Tensor, channel_sums, info
from .ops import OPS

if TYPE_CHECKING:
    from .dataset import Dataset

LABEL_OPERATIONS = {"parse", "label_map", "options"}


class Statistics(NamedTuple):
    """What Dataset.statistics() found.

    mean, std      of each channel, of the values as they are at this point of the pipeline
    class_counts   label -> number of samples; empty without labels of one whole number
    height, width  (smallest, mean, largest) of the pictures on disk, or of the arrays if there are no files
    """

    samples: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    class_counts: dict[int, int]
    height: tuple[int, float, int] | None
    width: tuple[int, float, int] | None


def _channel_axis(dataset: Dataset, tensor: Tensor) -> int:
    """Which axis counts channels; -1 = none does."""
    ndim = len(tensor.shape)
    if ndim == 4:
        return 1 if any("layout=nchw" in operation for operation in dataset.operations) else 3
    return 1 if ndim == 2 and tensor.shape[1] <= 64 else -1


def _count(counts: dict[int, int], tensor: Tensor, rows: int) -> None:
    if tensor.dtype not in ("i64", "i32", "u8", "u16", "i8", "i16", "u32", "u64") or len(tensor.shape) != 1:
        return
    for label in memoryview(tensor)[:rows]:
        counts[label] = counts.get(label, 0) + 1


def _sizes(dataset: Dataset) -> dict[str, Any] | None:
    path = dataset._origin.path
    if not path:
        return None
    try:
        found = info(path, -1)
    except Error:
        return None
    return found if found["height"][1] > 0 else None


def _in_batches(dataset: Dataset, found: dict[str, Any] | None) -> Dataset:
    """The dataset with batches that any pictures fit into."""
    if dataset.batched or dataset._items_are_batches:
        return dataset
    names = {operation.split(None, 1)[0] for operation in dataset.operations}
    changed = any((OPS[name].kind == "image" and name != "decode") or name == "map" for name in names)
    if found and "decode" in names and not changed:
        return dataset.padded_batch(1, max=f"{found['height'][1]}x{found['width'][1]}")
    return dataset.batch(16)


def measure(dataset: Dataset, field: str, max_samples: int | None) -> Statistics:
    dataset._refuse_after("statistics")
    found = _sizes(dataset)
    batched = _in_batches(dataset, found)
    total = batched.samples
    if max_samples is None and (batched.length is None and total is None):
        repeats = any(operation.startswith("repeat") for operation in dataset._operations)
        is_stream = (dataset._origin.path or dataset._origin.combination) and not repeats and not dataset.endless
        if not is_stream:
            raise ArgumentError("statistics(): the dataset is without end: statistics(max_samples=10000)")
    samples, n = 0, 0
    sums: list[list[float]] = []
    counts: dict[int, int] = {}
    shapes: list[tuple[int, int]] = []
    progress = Progress("statistics", max_samples or total)
    iterator = batched.batches()
    try:
        for batch in iterator:
            tensor = batch.tensors.get(field)
            if not isinstance(tensor, Tensor):
                raise ArgumentError(f"statistics(): there is no field {field} of one shape, there are "
                                    f"{', '.join(batch.keys())}")
            rows = batch.n
            label = batch.tensors.get("label")
            if dataset._items_are_batches:  # (1, rows, ...), of which the first n are there
                rows = memoryview(batch.tensors["_n"]).tolist()[0]
                tensor, label = tensor[0], label[0] if isinstance(label, Tensor) else None
            axis = _channel_axis(batched, tensor)
            for part in [tensor[i] for i in range(rows)] if rows < tensor.shape[0] else [tensor]:
                more, found_sums = channel_sums(part, axis if part is tensor or axis < 0 else axis - 1)
                sums = sums or [[0.0, 0.0] for _ in found_sums]
                for total_sums, new in zip(sums, found_sums):
                    total_sums[0] += new[0]
                    total_sums[1] += new[1]
                n += more
            samples += rows
            if isinstance(label, Tensor):
                _count(counts, label, rows)
            if len(tensor.shape) == 4:
                shapes.append((tensor.shape[2 if axis == 1 else 1], tensor.shape[3 if axis == 1 else 2]))
            progress.say(samples)
            if max_samples is not None and samples >= max_samples:
                break
    finally:
        progress.end()
        iterator.close()
        batched.close()
    if n == 0:
        raise ArgumentError("statistics(): there is no sample")
    means = [total_sums[0] / n for total_sums in sums]
    stds = [math.sqrt(max(total_sums[1] / n - mean * mean, 0.0)) for total_sums, mean in zip(sums, means)]
    height = width = None
    if found:
        height = (found["height"][0], found["mean_size"][0], found["height"][1])
        width = (found["width"][0], found["mean_size"][1], found["width"][1])
    elif shapes:
        heights, widths = [shape[0] for shape in shapes], [shape[1] for shape in shapes]
        height = (min(heights), sum(heights) / len(heights), max(heights))
        width = (min(widths), sum(widths) / len(widths), max(widths))
    return Statistics(samples, tuple(means), tuple(stds), dict(sorted(counts.items())), height, width)


def _made_by_maps(dataset: Dataset) -> dict[str, set[str]]:
    """The fields that each function of map() makes, by its name in the text; opening the dataset shows them."""
    maps: dict[str, Any] = {name: function for name, is_map, function in dataset._callbacks if is_map}
    if any(" *" in operation for operation in dataset.operations if operation.startswith("map ")):
        dataset._plan()
    return {name: function.made | set(function.job.declared) for name, function in maps.items()}


def class_weights(dataset: Dataset, field: str) -> dict[int, float]:
    if field in dataset._made_after():
        raise ArgumentError(f"class_weights(): a function behind batch() makes {field}: write map before batch")
    made = _made_by_maps(dataset)
    kept: list[str] = []
    operations = dataset._listed(decode=True, spelled=False)
    for i, operation in enumerate(operations):
        name = operation.split(None, 1)[0]
        kind = OPS[name].kind
        wanted = kind == "source" or name in LABEL_OPERATIONS or (kind == "order" and name not in ("shuffle", "repeat"))
        if name == "map" and field in made.get(operation.rsplit("callback=", 1)[1], ()):  # it sees what stands before it
            kept = [each for each in operations[:i + 1] if each.split(None, 1)[0] not in ("shuffle", "repeat")]
        elif wanted:
            kept.append(operation)
    labels = dataset._with(operations=(*kept, f"select {field}", "batch 4096"), layout=None, after=())
    labels._origin = dataset._origin._replace(decode=False)
    counts: dict[int, int] = {}
    iterator = labels.batches()
    progress = Progress("counting classes", labels.samples)
    done = 0
    try:
        for batch in iterator:
            tensor = batch.tensors.get(field)
            if isinstance(tensor, Tensor):
                _count(counts, tensor, batch.n)
            done += batch.n
            progress.say(done)
    finally:
        progress.end()
        iterator.close()
        labels.close()
    if not counts:
        raise ArgumentError(f"class_weights(): {field} is not one whole number for each sample")
    samples = sum(counts.values())
    return {label: samples / (len(counts) * n) for label, n in sorted(counts.items())}
