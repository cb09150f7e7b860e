# SPDX-License-Identifier: Apache-2.0
"""What the data come from, why a program waits for them, and the lines that change it."""
from __future__ import annotations

import types
from typing import Any

from .clocks import SLOWER, Record, Shape, cores, mean
from .findings import Diagnosis, Finding, Remedy, duration, percent
from .tfdata import tell_pipeline

MUCH = 0.05  # a share of the time from which on it is told
LITTLE = 100_000  # bytes of a batch; a copy of fewer costs a call
TICK = 0.001  # seconds a step; less is noise
BOUND = 0.20  # from here on the program is bound by its input


def kind_of(source: Any) -> str:
    """What makes the data: "leat", "tf.data", "torch", "pydataset", "imagedatagenerator", "generator", "arrays", "other"."""
    names = [f"{cls.__module__}.{cls.__name__}" for cls in type(source).__mro__]
    if any(name.startswith("leat.") and name.endswith("Dataset") for name in names):
        return "leat"
    if any(name.startswith("tensorflow.") and name.endswith(("Dataset", "DatasetV2", "DatasetV1")) for name in names):
        return "tf.data"
    if any(name.startswith("torch.utils.data") and name.endswith(".DataLoader") for name in names):
        return "leat" if kind_of(source.dataset) == "leat" else "torch"
    if any("legacy.preprocessing.image" in name or name.startswith("keras_preprocessing") for name in names):
        return "imagedatagenerator"
    if any(name.endswith((".PyDataset", ".Sequence")) and "keras" in name for name in names):
        return "pydataset"
    if isinstance(source, types.GeneratorType) or hasattr(source, "__next__"):
        return "generator"
    if hasattr(source, "shape") or isinstance(source, (list, tuple, dict)):
        return "arrays"
    return "other"


WORDS = {"leat": "leat's data set", "tf.data": "the tf.data pipeline", "torch": "the DataLoader", "pydataset": "the PyDataset",
         "imagedatagenerator": "ImageDataGenerator", "generator": "the Python generator", "arrays": "the arrays",
         "other": "the iterable"}


def serial(source: Any, kind: str) -> bool:
    """Whether one thread of Python makes the data, while the program waits or beside it."""
    if kind == "torch":
        return int(getattr(source, "num_workers", 0)) == 0
    if kind in ("pydataset", "imagedatagenerator"):
        return int(getattr(source, "workers", 1)) <= 1
    return kind == "generator"


def tell_waiting(found: Diagnosis, record: Record, source: Any, shape: Shape) -> None:
    """Findings about the wait for data, and what helps; and mistakes of a pipeline of tf.data, also where they cost no time yet."""
    _tell_wait(found, record, source, shape)
    tell_stall(found, record)
    if record.pipeline is not None:
        tell_pipeline(found, record.pipeline.seen())


def tell_stall(found: Diagnosis, record: Record) -> None:
    stall = record.stall()
    if stall is None:
        return
    what, seconds = max(("waiting for data", stall.wait), ("the work on the batch", stall.work), ("callbacks", stall.between),
                        key=lambda part: part[1])
    found.notes.append(f"One step took {duration(stall.all)}, longer than the other {found.steps} together, and does not count: "
                       f"{what}, {duration(seconds)}.")


def _tell_wait(found: Diagnosis, record: Record, source: Any, shape: Shape) -> None:
    share = found.wait_s / found.step_s if found.step_s > 0 else 0.0
    if share < MUCH or (share < BOUND and found.wait_s < TICK):
        return
    kind = kind_of(source)
    load, n = record.load, cores()
    how = f"{WORDS[kind]} gave a batch after {duration(found.wait_s)} of waiting"
    if load.known:
        how += f"; the process used {load.total:.1f} of {n} cores" if n > 1 else ""
        if load.total + load.queued < 0.3 and found.wait_s > 5 * TICK:
            how += ": the processor was idle, so the data wait for storage, the network or a lock"
        if load.queued > 0.5:
            found.notes.append("The cores are shared with other programs: in every second, threads of this one waited "
                               f"{load.queued:.1f} seconds for a core.")
    word = "Waiting for data takes" if share >= BOUND else "Some waiting for data:"
    found.add(Finding("input", f"{word} {percent(share)} of a step: {duration(found.wait_s)} of {duration(found.step_s)}.", share,
                      how))
    # The thread that computes is busy too, but not while it waits.
    enough = 1 - 0.4 * share if load.name == "the main thread" else 0.75
    if load.known and n > 1 and share >= BOUND and found.wait_s >= TICK and kind != "arrays" and load.busiest >= enough and load.total <= max(1.5, 0.6 * n):
        found.add(Finding("one thread", f"One thread is busy all the time and {n - 1} of {n} cores have little to do: "
                          f"{load.name}.", share * 0.99, f"it ran or wanted to run {percent(load.busiest)} of the time; "
                          f"all threads and processes together used {load.total:.1f} cores"))
    offer_input(found, source, kind, shape)


def faster(found: Diagnosis, ways: float, together: bool = False) -> float:
    """The gain if the wait becomes 1/ways of itself, or lies behind the rest of the step (together)."""
    rest = found.step_s - found.wait_s
    after = max(rest, found.wait_s / ways) if together else rest + found.wait_s / ways
    return found.step_s / after if after > 0 else 0.0


def offer_input(found: Diagnosis, source: Any, kind: str, shape: Shape) -> None:
    n = max(2, cores())
    most = faster(found, 1e6)
    if kind == "torch":
        size = getattr(source, "batch_size", None) or shape.samples or 64
        if serial(source, kind):
            found.offer(Remedy(f"{n} worker processes", faster(found, n, True), f"memory of {n} processes",
                               f"DataLoader(dataset, batch_size={size}, num_workers={n}, persistent_workers=True)"))
        found.offer(Remedy("leat's workers and memory", most, "",
                           f"loader = leat.from_python(dataset, workers={n}).shuffle().batch({size}).to_torch(loader=True)", True))
        root = getattr(getattr(source, "dataset", None), "root", None)
        if isinstance(root, str):
            offer_folder(found, root, most)
    elif kind == "pydataset":
        if serial(source, kind):
            found.offer(Remedy(f"{n} worker processes", faster(found, n, True), f"memory of {n} processes",
                               f"{type(source).__name__}(..., workers={n}, use_multiprocessing=True)"))
        found.offer(Remedy("leat's worker processes", faster(found, n, True), "a dataset that can be pickled",
                           f"model.fit(leat.from_python(dataset, workers={n}))"))
    elif kind == "imagedatagenerator":
        found.offer(Remedy("ImageDataGenerator in leat's engine", most, "", "import leat.auto  # first line of the script", True))
        folder = getattr(source, "directory", None)
        if isinstance(folder, str):
            offer_folder(found, folder, most)
    elif kind == "generator":
        found.offer(Remedy("items by number, in worker processes", faster(found, n, True),
                           "a class with __len__ and __getitem__ in place of the generator",
                           f"leat.from_python(MyItems(), workers={n}).shuffle().batch({shape.samples or 64})"))
        found.offer(Remedy("keep what the generator gives", most, "the same samples in every epoch; memory or a temporary file",
                           f"leat.from_generator(lambda: samples()).shuffle().batch({shape.samples or 64})", True))
    elif kind == "tf.data":
        found.offer(Remedy("leat's engine under tf.data's names", most, "", "import leat.auto  # first line of the script", True))
        found.offer(Remedy("data ahead of the step", faster(found, 1, True), "memory for some batches",
                           "dataset = dataset.prefetch(tf.data.AUTOTUNE)  # the last call"))
    elif kind not in ("arrays", "leat"):  # the engine has its own for leat
        found.offer(Remedy("worker processes", faster(found, n, True), "__len__ and __getitem__ in the dataset",
                           f"leat.from_python(dataset, workers={n})"))


def offer_folder(found: Diagnosis, folder: str, most: float) -> None:
    found.offer(Remedy("pictures made small once", most, "disk space, pixels above 256 x 256",
                       f"leat pack {folder} packed --size 256x256", True))


def tell_copies(found: Diagnosis, shape: Shape, seconds: float, device: bool) -> None:
    """seconds: the time to bring a batch from the program's memory to where the model computes."""
    share = seconds / found.step_s if found.step_s > 0 else 0.0
    small = shape.floats and shape.picture
    if shape.bytes < LITTLE:
        return
    if share < MUCH and not (small and device):
        return
    size = f"{shape.bytes / 1e6:,.1f} MB"
    found.add(Finding("copies", f"A copy of a batch of {size} takes {duration(seconds)}, {percent(share)} of a step.", share,
                      f"a batch of {shape.dtype} {shape.shape} was copied to the model's device, three times"))
    if small:
        width = 4 if shape.dtype == "float32" else 8
        found.offer(Remedy("pictures as u8, floats on the device", 1 / (1 - min(0.9, share * (1 - 1 / width))), "",
                           "keras.layers.Rescaling(1 / 255)  # first layer of the model; the data stay uint8"))


def tell_epochs(found: Diagnosis, record: Record, source: Any) -> None:
    """The beginnings of epochs, and later epochs beside the first."""
    times = record.epochs()
    if len(times) > 1:
        first, *later = sorted(times)
        after = mean([times[epoch] for epoch in later])
        if after > SLOWER * times[first] and after - times[first] > TICK:
            found.add(Finding("later epochs", f"The first epoch is fast and later ones are slow: {duration(times[first])} a step, then "
                              f"{duration(after)}.", 1 - times[first] / after, "means of steps; those in which an epoch begins do "
                              "not count. Data that no longer fit into memory, a cache that is written and read again, lists or "
                              "logs that grow, and a device that gets hot and slow do that"))
            found.offer(Remedy("look for what grows", after / times[first], "", "free -h  # in the first epoch and in a later one", True))
    full = [record.starts[i] for i in range(1, len(record.starts))]
    epoch = mean([seconds for seconds in record.totals.values()])
    late = mean(full) - found.wait_s
    if full and epoch > 0 and late / epoch >= MUCH:
        found.add(Finding("epoch start", f"Every epoch begins with {duration(mean(full))} of waiting, {percent(late / epoch)} of it.",
                          late / epoch, "the wait for the first batch of later epochs, beside that for others: processes are "
                          "started, or a shuffle buffer is filled"))
        if kind_of(source) == "torch":
            found.offer(Remedy("workers that stay", epoch / max(1e-9, epoch - late), "", "DataLoader(..., persistent_workers=True)"))
