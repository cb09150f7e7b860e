# SPDX-License-Identifier: Apache-2.0
"""A pipeline of tf.data is judged by what runs.

    found = judge(dataset)                       # it runs alone for some seconds
    watch = Watch(iterator)                      # or an iterator is watched while a program trains:
    watch.took(iterator)                         # after every batch
    tell_pipeline(found, watch.seen())           # adds to the diagnosis of the program

The known mistakes are named: maps that run one call after the other because they draw random numbers or are written in
Python, caches that freeze random numbers or save nothing, a shuffle buffer smaller than the runs of a class, pictures that
are decoded whole and then cropped, batches of one, GZIP, files read one after the other, storage that is far away.
"""
from __future__ import annotations

import os
from dataclasses import dataclass
from shlex import quote
from typing import Any
from weakref import ref

from .class_runs import longest_run
from .clocks import cores, now
from .findings import Diagnosis, Finding, Remedy, Table, duration, percent
from .tfdata_chain import Link, chain_of, files_of, remote
from .tfdata_tree import KEEPS, Node, Part, lay_beside, look, parts_of, tree_of

MUCH = 0.05  # a share of the time from which on it is told
LITTLE = 0.10  # a cache that saves less of the work than this saves nothing
WARMUP = 2  # batches before the first look: buffers are filled, files opened
COPIED = 4e9  # bytes a second of a cache in memory, with a copy
AUTO = "num_parallel_calls=tf.data.AUTOTUNE"


@dataclass
class Seen:
    """Two looks at an iterator, and what lies between them."""

    dataset: Any
    before: Any
    after: Any
    seconds: float
    batches: int


class Watch:
    """Looks at an iterator of a program: after its first batches, and then less and less often. The program owns the iterator."""

    def __init__(self, iterator: Any, dataset: Any = None) -> None:
        self._iterator = ref(iterator)
        self.dataset = dataset if dataset is not None else getattr(iterator, "_dataset", None)
        self._batches, self._begun = 0, 0.0
        self._before: Any = None
        self._seen: Seen | None = None

    def took(self, iterator: Any) -> None:
        """The program has taken a batch. Only the first iterator counts: a later epoch has another one."""
        if self._iterator() is not iterator:
            return
        self._batches += 1
        n = self._batches - WARMUP
        if n == 0:
            self._before, self._begun = look(self._iterator()), now()
        elif n in (1, 3) or n > 4 and n & (n - 1) == 0:
            self._look()

    def _look(self) -> None:
        after = look(self._iterator()) if self._before is not None and self._batches > WARMUP else None
        if after is not None:
            self._seen = Seen(self.dataset, self._before, after, now() - self._begun, self._batches - WARMUP)

    def seen(self) -> Seen | None:
        """What was seen; up to now, if the iterator is still there."""
        self._look()
        return self._seen


def run_alone(dataset: Any, seconds: float = 2.0) -> Seen | None:
    """Runs a data set as fast as it can."""
    iterator = iter(dataset)
    watch, end = Watch(iterator, dataset), now() + seconds
    for n, _ in enumerate(iterator):
        watch.took(iterator)
        if now() > end and n > WARMUP + 2:
            break
    return watch.seen()


def judge(dataset: Any, seconds: float = 2.0) -> Diagnosis:
    """A diagnosis of a data set alone."""
    seen = run_alone(dataset, seconds)
    found = Diagnosis(0, 0.0, 0.0, 0.0)
    if seen is not None and seen.batches:
        pace = seen.seconds / seen.batches
        found = Diagnosis(seen.batches, pace, pace, 0.0)
    tell_pipeline(found, seen, dataset)
    return found


def tell_pipeline(found: Diagnosis, seen: Seen | None, dataset: Any = None) -> None:
    """Adds to a diagnosis what a pipeline of tf.data does wrong, and its stages."""
    dataset = seen.dataset if seen is not None else dataset
    if dataset is None:
        return
    chain = chain_of(dataset)
    case = Case(found, chain)
    if seen is None or not seen.batches:
        found.notes.append("TensorFlow gives no times for this pipeline: AUTOTUNE is off (options.autotune.enabled), or fewer than "
                           f"{WARMUP + 1} batches were taken.")
    else:
        case.read(seen)
        _tell_serial(case)
        _tell_reading(case)
        _tell_caches(case)
        _offer_cache(case)
        _show_stages(case)
        if case.ahead:  # TensorFlow has seen to that
            found.remedies[:] = [each for each in found.remedies if ".prefetch(" not in each.change]
    _tell_order(case)
    _tell_random_cache(case)
    _tell_decode(case)
    _tell_shuffle(case)
    _tell_batch(case)
    _tell_remote(case)


class Case:
    """One pipeline that is judged: its diagnosis, what was written, and what ran."""

    def __init__(self, found: Diagnosis, chain: list[Link]) -> None:
        self.found, self.chain = found, chain
        self.root: Node | None = None
        self.parts: list[Part] = []
        self.batches = 1
        self.samples = found.batch or next((link.size for link in chain if link.kind == "batch"), 0) or 1

    def read(self, seen: Seen) -> None:
        self.root, self.batches = tree_of(seen.before, seen.after), seen.batches
        lay_beside(self.root, self.chain)
        self.parts = parts_of(self.root)
        if not self.found.batch:
            self.found.batch = self.samples

    def nodes(self) -> list[Node]:
        return self.root.below() if self.root is not None else []

    def part(self, node: Node) -> Part:
        return next(part for part in self.parts if node in part.nodes)

    @property
    def ahead(self) -> bool:
        """Whether batches are made while the program works on another."""
        return self.root is not None and any(node.ahead for node in self.root.inputs)

    def work(self) -> float:
        """Seconds of work for a batch, of all threads."""
        return max(1e-9, sum(node.seconds for node in self.nodes()) / self.batches)

    def pace(self, without: tuple[Node, ...] = (), shared: dict[int, int] | None = None) -> float:
        """Seconds for a batch, if some nodes cost nothing and others (by id) run on so many threads."""
        shared = shared or {}
        slowest, total = 0.0, 0.0
        for part in self.parts:
            alone = tuple(node for node in part.nodes if node.id in shared and shared[node.id] > part.threads)
            slowest = max(slowest, part.seconds((*without, *alone)),
                          *(node.seconds / shared[node.id] for node in alone if node not in without))
            total += sum(node.seconds for node in part.nodes if node not in without)
        return max(slowest, total / cores()) / self.batches

    def step_with(self, pace: float) -> float:
        """The time of a step, if the pipeline needs so long for a batch."""
        found = self.found
        rest = found.step_s - found.wait_s
        now_s = max(self.pace(), 1e-9)
        after = found.wait_s * min(1.0, pace / now_s)  # as much of the wait as the pipeline still has
        return max(rest, pace) if self.ahead and found.wait_s > MUCH * found.step_s else rest + after

    def gain(self, pace: float) -> float:
        after = self.step_with(pace)
        return max(1.0, self.found.step_s / after) if after > 0 else 1.0

    def share(self, node: Node) -> float:
        """How much of the waiting for data this node causes."""
        if self.found.step_s <= 0:
            return 0.0
        part = self.part(node)
        slowest = max(each.seconds() for each in self.parts)
        if slowest <= 0 or part.seconds() < 0.5 * slowest:
            return 0.0
        return self.found.wait_s / self.found.step_s * node.seconds / sum(each.seconds for each in part.nodes)


def named(node: Node) -> str:
    """map(augment) of train.py:12"""
    link = node.link
    word = link.kind if link is not None else node.name
    function = link.function if link is not None else None
    if function is None:
        return str(word)
    where = f" ({function.where})" if function.where else ""
    return f"{word}({function.name}){where}"


def _evidence(case: Case, node: Node) -> str:
    each = node.seconds / case.batches
    return (f"get_model_proto: {node.name} runs on {node.parallelism} thread{'s' if node.parallelism > 1 else ''} and works "
            f"{duration(each)} for a batch, {case.samples / each if each > 0 else 0:,.0f} samples/s at most")


def _tell_serial(case: Case) -> None:
    """Maps, filters and generators that run one call after the other."""
    for node in case.nodes():
        link = node.link
        function = link.function if link is not None else None
        if function is None or link.kind not in ("map", "flat_map", "filter"):
            continue
        python = function.python
        cost = node.seconds + sum(each.seconds for each in node.inputs if each.name == "Generator")
        share = max(case.share(each) for each in (node, *(each for each in node.inputs if each.name == "Generator")))
        if share < MUCH or cost / case.batches < 0.1 * case.work() or (node.parallelism > 1 and not python):
            continue
        n = cores()
        if link.kind == "flat_map" and python:
            _tell_generator(case, node, share)
        elif python:
            _tell_python(case, node, share, n)
        elif node.parallelism == 1 and link.kind == "map":
            _tell_serial_map(case, node, share, n)


def _tell_generator(case: Case, node: Node, share: float) -> None:
    case.found.add(Finding("python generator", f"A Python generator makes the samples one after the other: {percent(share)} of a "
                           "step is waiting for it.", share, _evidence(case, max((node, *node.inputs), key=lambda each: each.seconds))))
    nodes = {each.id: cores() for each in (node, *node.inputs)}
    case.found.offer(Remedy("items by number, in worker processes", case.gain(case.pace(shared=nodes)),
                            "a class with __len__ and __getitem__ in place of the generator",
                            f"leat.from_python(MyItems(), workers={cores()}).shuffle().batch({case.samples})"))


def _tell_python(case: Case, node: Node, share: float, n: int) -> None:
    lock = "; calls side by side wait for the interpreter's lock" if node.parallelism > 1 else ""
    case.found.add(Finding("serial python map", f"{named(node)} is Python code and runs one call after the other: {percent(share)} "
                           f"of a step is waiting for it{lock}.", share, _evidence(case, node)))
    case.found.offer(Remedy(f"the same function in {n} processes", case.gain(case.pace(shared={node.id: n})), f"{n} processes",
                            f"leat.from_files(paths, labels).map({_name(node)}, workers={n}).shuffle().batch({case.samples})"))
    case.found.offer(Remedy("operations of TensorFlow instead of Python", 0.0, "the function written anew",
                            f"tf.py_function, tf.numpy_function  ->  tf.io, tf.image; then {AUTO}"))


def _tell_serial_map(case: Case, node: Node, share: float, n: int) -> None:
    function = node.link.function
    gain = case.gain(case.pace(shared={node.id: n}))
    if function.random:
        cause, why = "serial random map", "draws random numbers, so TensorFlow runs"
    else:
        cause = "serial map"
        why = f"contains {', '.join(function.stateful[:3])}, so TensorFlow runs" if function.stateful else "runs"
    case.found.add(Finding(cause, f"{named(node)} {why} one call after the other, on one of {n} cores: {percent(share)} of a step is "
                           "waiting for it.", share, _evidence(case, node)))
    order = "the seed no longer fixes which picture gets which draw" if function.random else ""
    case.found.offer(Remedy("calls side by side", gain, order, f"dataset.map({_name(node)}, {AUTO})"))
    if function.decodes:
        _offer_pack(case, node)


def _name(node: Node) -> str:
    name = node.link.function.name if node.link is not None and node.link.function is not None else "function"
    return name if name.isidentifier() and name != "lambda" else "function"


def _offer_pack(case: Case, node: Node) -> None:
    files = files_of(case.chain)
    if files:
        common = os.path.commonpath(files[:1000]) if "://" not in files[0] else "FOLDER"
        case.found.offer(Remedy("pictures made small once", 0.0, "disk space, pixels above 256 x 256",
                                f"leat pack {quote(common)} packed --size 256x256"))


def _tell_reading(case: Case) -> None:
    """Files that are read by one thread, one after the other."""
    for node in case.nodes():
        if node.link is None or node.link.kind != "records" or node.parallelism > 1:
            continue
        reads = [each for each in node.below() if each.name in ("TFRecord", "FlatMap")]
        seconds, dataset = sum(each.seconds for each in reads), node.link.dataset
        packed = str(getattr(dataset, "_compression_type", None) or "")
        share = sum(case.share(each) for each in reads)
        n = len(files_of(case.chain))
        how = f"get_model_proto: reading works {duration(seconds / case.batches)} for a batch, on one thread"
        if share < MUCH:
            continue
        after = case.pace(shared={each.id: cores() for each in reads})
        if packed:
            case.found.add(Finding("gzip", f"One thread inflates {packed} records: {percent(share)} of a step.", share, how))
            case.found.offer(Remedy(f"records without {packed}", case.gain(case.pace(without=tuple(reads))), "disk space",
                                    "tf.io.TFRecordWriter(path)  # no options; or leat pack, for pictures"))
        if n > 1:
            case.found.add(Finding("sequential read", f"{n} files are read one after the other: {percent(share)} of a step is waiting "
                                   "for the one reader.", share * 0.99, how))
            case.found.offer(Remedy("files side by side", case.gain(after), "records in another order",
                                    "tf.data.TFRecordDataset(files, num_parallel_reads=tf.data.AUTOTUNE)"))
        elif n == 1:
            case.found.add(Finding("sequential read", f"One file has all records, and one thread reads it: {percent(share)} of a step.",
                                   share * 0.99, how))


def _tell_order(case: Case) -> None:
    """Files one after the other, where that costs little now."""
    link = next((link for link in case.chain if link.kind == "records"), None)
    n = len(files_of(case.chain))
    if link is None or n < 2 or getattr(link.dataset, "_num_parallel_reads", None) is not None or case.found.find("sequential read"):
        return
    case.found.add(Finding("sequential read", f"{n} files are read one after the other. That is little of the work now, when they are in "
                           "memory; from a cold disk or over a network it can be most.", 0.0, "num_parallel_reads was not given"))
    case.found.offer(Remedy("files side by side", 0.0, "records in another order",
                            "tf.data.TFRecordDataset(files, num_parallel_reads=tf.data.AUTOTUNE)"))


def _tell_caches(case: Case) -> None:
    """Caches that keep what costs nothing."""
    for node in case.nodes():
        if node.name not in ("MemoryCache", "FileCache"):
            continue
        below = [each for each in node.below() if each is not node and each.name not in KEEPS]
        filled = sum(each.elements for each in below) == 0  # it is read, not written: the work before it is not seen
        saved = sum(each.seconds for each in below) / case.batches
        dear = [each for each in case.nodes() if each not in below and each.link is not None and each.link.kind == "map"
                and each.link.function is not None and not each.link.function.random
                and each.seconds / case.batches > 0.3 * case.work()]
        if filled or not dear or saved > LITTLE * case.work():
            continue
        worst = max(dear, key=lambda each: each.seconds)
        case.found.add(Finding("useless cache", f"cache() saves {percent(saved / case.work())} of the work: what costs time, "
                               f"{named(worst)}, runs behind it in every epoch.", 0.0,
                               f"get_model_proto: {duration(saved)} of {duration(case.work())} for a batch lie before the cache"))
        _offer_cache_behind(case, worst, tuple(dear))


def _offer_cache_behind(case: Case, node: Node, saved: tuple[Node, ...]) -> None:
    """A cache in memory behind a map, if all samples fit."""
    samples = int(node.link.dataset.cardinality().numpy())
    if samples == -1:
        return  # without an end: the cache would grow for ever
    size = samples * node.bytes // (case.samples if node.name == "MapAndBatch" else 1)
    if size > _free_memory() / 2:
        return
    copied = case.samples * node.bytes / COPIED  # what the cache still costs
    cost = f"{size / 1e6:,.0f} MB of memory" if size > 0 else "memory for all samples"
    case.found.offer(Remedy("samples kept from the second epoch on", case.gain(max(copied, case.pace(without=saved))), cost,
                            f"dataset.map({_name(node)}, {AUTO}).cache()  # random operations come after it", True))


def _free_memory() -> float:
    """Bytes that programs can still take."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            return next(1024.0 * int(line.split()[1]) for line in file if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return 0.0


def _offer_cache(case: Case) -> None:
    """The dearest map without random numbers, where no cache is."""
    if any(link.kind == "cache" for link in case.chain):
        return
    maps = [node for node in case.nodes() if node.link is not None and node.link.kind == "map" and node.link.function is not None]
    order = list(reversed(maps))  # from the source on
    for at, node in enumerate(order):
        if node.link.function.random:
            return
        below = node.below()
        gain = case.gain(case.pace(without=tuple(below)))
        more = any(not each.link.function.random and each.seconds > node.seconds for each in order[at + 1:])
        if not more and gain > 1.2 and node.seconds > 0.2 * sum(each.seconds for each in case.nodes()):
            _offer_cache_behind(case, node, tuple(below))
            return


def _show_stages(case: Case) -> None:
    """Samples a second of each stage; the smallest number is the rate of the pipeline."""
    rows: list[tuple[str, ...]] = []
    for part in case.parts:
        for node in part.nodes:
            each = node.seconds / case.batches
            if each < 0.01 * case.work() or node.name == "Root":  # the end of the pipeline, no work of it
                continue
            rate = case.samples * part.threads / each
            rows.append((named(node), f"{part.threads}", duration(each / case.samples), f"{rate:,.0f}"))
    if rows:
        case.found.tables.append(Table("What runs (tf.data.experimental.get_model_proto)",
                                       ("stage", "threads", "a sample", "samples/s"), rows))


def _tell_random_cache(case: Case) -> None:
    """A cache that keeps what random operations made."""
    chain = case.chain
    for at, link in enumerate(chain):
        if link.kind != "cache":
            continue
        frozen = [each for each in chain[at + 1:] if each.function is not None and each.function.random]
        if frozen:
            name = f"map({frozen[0].function.name})" if frozen[0].function is not None else "map"
            case.found.add(Finding("random cache", f"cache() stands behind {name}, which draws random numbers: all epochs after the first "
                                   "see the same pictures.", 0.0, "the function contains random operations, and the cache keeps "
                                   "their results"))
            case.found.offer(Remedy("cache before the random map", 0.0, "", f"dataset.cache().{name}"))


def _tell_decode(case: Case) -> None:
    """Whole pictures that are decoded for a part of them."""
    decoded = False  # by a map before this one
    for link in reversed(case.chain):
        function = link.function
        if function is None:
            continue
        if function.crops_decoded or (decoded and function.crops and link.kind == "map"):
            case.found.add(Finding("whole decode", f"{link.kind}({function.name}) crops pictures that were decoded whole: the pixels "
                                   "outside of the crop are decoded for nothing.", 0.0,
                                   "its graph has a decoder and behind it a crop, and no decode_and_crop_jpeg"))
            case.found.offer(Remedy("only the crop is decoded", 0.0, "JPEG only; the crop is drawn before decoding",
                                    "tf.io.decode_and_crop_jpeg(data, [top, left, height, width])"))
            return
        decoded = function.decodes and not function.resizes and not function.crops


def _tell_shuffle(case: Case) -> None:
    """A buffer that holds samples of one class only."""
    for at, link in enumerate(case.chain):
        if link.kind != "shuffle" or link.size < 1:
            continue
        before = case.chain[at + 1:]
        if any(each.kind in ("batch", "shuffle") for each in before) or any(
                each.function is not None and (each.function.python or each.function.random) for each in before):
            continue  # reading it would run the program's own code, or move its random numbers
        run = longest_run(link.dataset._input_dataset, 4 * link.size + 2000)
        if run > link.size:
            case.found.add(Finding("small shuffle", f"shuffle({link.size}) is smaller than the runs of one class in the data, {run} "
                                   "samples or more: batches hold one or two classes.", 0.0,
                                   "the labels before the shuffle were read in their order"))
            case.found.offer(Remedy("a buffer as large as the data, or files of mixed classes", 0.0,
                                    "memory of the buffer: shuffle file names or records before decoding",
                                    f"dataset.shuffle({max(10 * run, 10_000)})  # before map(decode)"))
            return


def _tell_batch(case: Case) -> None:
    last = next((link for link in case.chain if link.kind == "batch"), None)
    if last is not None and last.size == 1:
        case.found.add(Finding("batch of one", "batch(1): every step has one sample, and the fixed cost of a step is paid for each.",
                               0.0, "the size of the last batch() of the pipeline"))
        case.found.offer(Remedy("larger batches", 0.0, "memory of the device; perhaps another learning rate", "dataset.batch(32)"))


def _tell_remote(case: Case) -> None:
    files = files_of(case.chain)
    place = remote(files[0]) if files else ""
    if not place:
        return
    share = sum(case.share(node) for node in case.nodes() if node.name == "TFRecord")
    case.found.add(Finding("remote storage", f"The files are not in this machine ({place}): every epoch brings them over the network.",
                           share, f"the first file is {files[0]}"))
    case.found.offer(Remedy("a copy in this machine", 1 / max(0.1, 1 - share) if share else 0.0, "disk space, once over the network",
                            "cp -r ... /local/disk  # or dataset.cache('/local/disk/name') behind the reader"))
