# SPDX-License-Identifier: Apache-2.0
"""Verbs of tf.data in the engine's words. Each function has the name and the parameters of a method of tf.data.Dataset, with
a chain in place of the data set, and gives another chain. Refused: TensorFlow does it.

`name` of any verb, and what says how parallel or how far ahead it runs, change no element and are left out.
"""
from __future__ import annotations

import os
from builtins import enumerate as numbered
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

from .._base.arrays import optional
from .._base.notices import tell
from .chain import TRANSPARENT, Built, Chain, Columns, Operation, Refused, mapped, numbered_names

INFINITE, UNKNOWN = -1, -2
DRAWING = {"affine", "color_jitter", "channel_shift", "gaussian_blur", "gaussian_noise", "cutout", "rand_augment",
           "trivial_augment_wide", "auto_augment", "augmix", "image_data_generator", "sample_distorted_bounding_box",
           "random_apply", "random_choice", "mixup", "cutmix"}
# Methods of a data set that are one function here, with and without TensorFlow.
PLAIN_VERBS = ("batch", "padded_batch", "unbatch", "repeat", "take", "skip", "shard", "enumerate", "cache", "prefetch")
REMOTE = ("://",)


def whole(value: Any, what: str, low: int = -1) -> int:
    """A number that is known now. A tensor that is evaluated counts, a symbol does not."""
    if isinstance(value, bool) or value is None:
        raise Refused(f"{what} is {value!r}")
    if hasattr(value, "numpy"):
        value = value.numpy()
    try:
        number = value.__index__() if getattr(value, "ndim", 0) == 0 else None
    except (AttributeError, TypeError):
        number = None
    if number is None or not low <= number < 1 << 62:
        raise Refused(f"{what} is {value!r:.60}")
    return int(number)


def tensorflow_or_less() -> Any:
    """TensorFlow, or the little of it that sources and verbs need."""
    found = optional("tensorflow")
    return found if found is not None else import_module(".stand_in", __package__)


def flag(value: Any, what: str) -> bool:
    if hasattr(value, "numpy"):
        value = value.numpy()
    if value is None or isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    raise Refused(f"{what} is {value!r:.60}")


def draws(operation: Operation) -> bool:
    """Whether an operation draws random numbers, or calls a function that may."""
    return operation.name.startswith("random_") or operation.name in DRAWING or (
        operation.name == "eval" and "random" in str((operation.args, dict(operation.kwargs))))


def _has(chain: Chain, *names: str) -> bool:
    return any(each.name in names for each in chain.operations)


def behind_batch(chain: Chain) -> tuple[Operation, ...]:
    at = max(i for i, each in numbered(chain.operations) if each.name in ("batch", "padded_batch"))
    return chain.operations[at + 1:]


def _unlimited(chain: Chain, verb: str) -> None:
    if chain.limit is not None:
        raise Refused(f"{verb}() behind take() behind repeat() behind batch()")


# ----------------------------------------------------------------------------------------------- batches


def batch(chain: Chain, batch_size: Any, drop_remainder: Any = False, num_parallel_calls: Any = None,
          deterministic: Any = None, name: Any = None) -> Chain:
    size, drop = whole(batch_size, "batch_size", 1), flag(drop_remainder, "drop_remainder")
    if chain.batched:
        raise Refused("batch() behind batch()")
    _unlimited(chain, "batch")
    for field in chain.fields:
        if chain.specs[field].shape.rank is None:
            raise Refused(f"the rank of {field} is not known")
    made = chain.then("batch", size, drop_remainder=drop) if drop else chain.then("batch", size)
    return made.with_(batched=True, batch_size=size, drop_remainder=drop,
                      cardinality=_batches(chain.cardinality, size, drop))


def _batches(n: int, size: int, drop: bool) -> int:
    return n if n < 0 else n // size if drop else -(-n // size)


def padded_batch(chain: Chain, batch_size: Any, padded_shapes: Any = None, padding_values: Any = None,
                 drop_remainder: Any = False, name: Any = None) -> Chain:
    """What has one shape is batched as it is. Of other fields the first axis is filled up to the longest of the batch."""
    from .chain import leaves

    size, drop = whole(batch_size, "batch_size", 1), flag(drop_remainder, "drop_remainder")
    if chain.batched or len(set(chain.fields)) != len(chain.fields):
        raise Refused("padded_batch() behind batch(), or of a field twice")
    _unlimited(chain, "padded_batch")
    names = list(chain.fields)
    shapes = _per_field(chain, padded_shapes)
    values = [None] * len(names) if padding_values is None else list(leaves(padding_values))
    if len(values) == 1:
        values *= len(names)
    if len(values) != len(names):
        raise Refused("padding_values of another structure")
    filled, specs = {}, dict(chain.specs)
    for field, shape, value in zip(names, shapes, values):
        spec = chain.specs[field]
        own = spec.shape
        if own.rank is None:
            raise Refused(f"the rank of {field} is not known")
        wanted = list(own) if shape is None else shape
        if len(wanted) != own.rank or any(have is not None and n not in (None, have) for n, have in zip(wanted, own)):
            raise Refused(f"{field} is filled up to a size of its own")
        if own.is_fully_defined():
            specs[field] = type(spec)(type(own)(wanted), spec.dtype)  # an axis that may differ, as far as TensorFlow knows
            continue
        if any(n is None for n in list(own)[1:]) or wanted[0] is not None or spec.dtype.name == "string":
            raise Refused(f"more than the first axis of {field} differs")
        filled[field] = 0 if value is None else value
    if not filled:
        return batch(chain, size, drop).with_(specs=specs)
    padding = ",".join(f"{field}:{float(value):g}" for field, value in filled.items())
    return chain.then("padded_batch", size, padding=padding, drop_remainder=drop).with_(
        batched=True, batch_size=size, drop_remainder=drop, cardinality=_batches(chain.cardinality, size, drop))


def _per_field(chain: Chain, shapes: Any) -> list[list[int | None] | None]:
    """padded_shapes for each field: numbers, None for the longest of the batch."""
    def one(structure: Any, shape: Any) -> list[list[int | None] | None]:
        if isinstance(structure, tuple) and isinstance(shape, tuple) and len(shape) == len(structure):
            return [each for part, its in zip(structure, shape) for each in one(part, its)]
        if isinstance(structure, dict) and isinstance(shape, dict) and shape.keys() == structure.keys():
            return [each for key in sorted(structure) for each in one(structure[key], shape[key])]
        if isinstance(structure, str) and isinstance(shape, (list, tuple)) or hasattr(shape, "as_list"):
            sizes = shape.as_list() if hasattr(shape, "as_list") else shape
            return [[None if n is None or int(n) < 0 else int(n) for n in sizes]]
        raise Refused("padded_shapes of another structure")
    return [None] * len(chain.fields) if shapes is None else one(chain.structure, shapes)


def unbatch(chain: Chain, name: Any = None) -> Chain:
    if not chain.batched:
        raise Refused("unbatch() of what is not batched")
    if any(each.name not in TRANSPARENT - {"repeat"} for each in behind_batch(chain)):
        raise Refused("unbatch() behind other verbs behind batch()")
    _unlimited(chain, "unbatch")
    size, n = chain.batch_size or 0, chain.cardinality
    known = n * size if chain.drop_remainder and n >= 0 else n if n == INFINITE and chain.drop_remainder else UNKNOWN
    return chain.then("unbatch").with_(batched=False, batch_size=None, drop_remainder=False, cardinality=known)


# ------------------------------------------------------------------------------------------------- order


def shuffle(chain: Chain, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: Any = True,
            name: Any = None, *, seeder: Callable[[Any], int]) -> Chain:
    size = whole(buffer_size, "buffer_size", 1)
    again = True if reshuffle_each_iteration is None else flag(reshuffle_each_iteration, "reshuffle_each_iteration")
    if chain.batched and any(each.name == "repeat" for each in behind_batch(chain)):
        raise Refused("shuffle() behind repeat() behind batch()")
    _unlimited(chain, "shuffle")
    if seed is not None:
        whole(seed, "seed", -(1 << 62))
    given: dict[str, Any] = {"seed": seeder(seed)}
    if not again:
        given["reshuffle"] = False
    if size == 1:
        return chain
    if not chain.batched and _has(chain, "repeat"):  # elements of one round stay together, as with a buffer of that size
        return chain.then("shuffle", window=size, **given)
    return chain.then("shuffle", size, **given)


def repeat(chain: Chain, count: Any = None, name: Any = None) -> Chain:
    n = -1 if count is None else whole(count, "count")
    _unlimited(chain, "repeat")
    if n == 0 or chain.cardinality == 0:
        raise Refused("no element is left")
    if chain.batched and any(each.name in ("repeat",) for each in behind_batch(chain)):
        raise Refused("repeat() behind repeat() behind batch()")
    if _has(chain, "repeat") and chain.cardinality == INFINITE:
        return chain
    total = INFINITE if n < 0 or chain.cardinality == INFINITE else UNKNOWN if chain.cardinality < 0 else chain.cardinality * n
    if n == 1:
        return chain
    return (chain.then("repeat") if n < 0 else chain.then("repeat", n)).with_(cardinality=total)


def take(chain: Chain, count: Any, name: Any = None) -> Chain:
    n = whole(count, "count")
    if n == 0 or chain.cardinality == 0:
        raise Refused("no element is left")
    if n < 0:
        return chain
    known = n if chain.cardinality == INFINITE else UNKNOWN if chain.cardinality < 0 else min(n, chain.cardinality)
    if chain.limit is not None or (chain.batched and any(each.name == "repeat" for each in behind_batch(chain))):
        return chain.with_(limit=min(n, chain.limit or n), cardinality=known)
    return (_rows(chain, None, n) or chain.then("take", n)).with_(cardinality=known)


def skip(chain: Chain, count: Any, name: Any = None) -> Chain:
    n = whole(count, "count")
    if n < 0 or 0 <= chain.cardinality <= n:
        raise Refused("no element is left")
    _unlimited(chain, "skip")
    if chain.batched and any(each.name == "repeat" for each in behind_batch(chain)):
        raise Refused("skip() behind repeat() behind batch()")
    known = max(chain.cardinality - n, 0) if chain.cardinality >= 0 else chain.cardinality
    return chain if n == 0 else (_rows(chain, n, None) or chain.then("skip", n)).with_(cardinality=known)


def _rows(chain: Chain, begin: int | None, end: int | None, step: int = 1) -> Chain | None:
    """The chain of some rows, if its elements are the rows of arrays: what is left out is never looked at by functions that
    TensorFlow computes for all rows, such as the head of a table."""
    source = chain.source
    if chain.operations or not isinstance(source, Columns) or source.keep:
        return None
    part = source.sliced(begin, end, step)
    return chain.with_(source=part) if part.rows else None


def shard(chain: Chain, num_shards: Any, index: Any, name: Any = None) -> Chain:
    n, i = whole(num_shards, "num_shards", 1), whole(index, "index", 0)
    if i >= n or 0 <= chain.cardinality <= i:
        raise Refused("no element is left")
    if chain.batched:
        raise Refused("shard() behind batch()")
    known = chain.cardinality if chain.cardinality < 0 else chain.cardinality // n + (i < chain.cardinality % n)
    return chain if n == 1 else (_rows(chain, i, None, n) or chain.then("shard", i, n)).with_(cardinality=known)


def enumerate(chain: Chain, start: Any = 0, name: Any = None) -> Chain:
    first = whole(start, "start", -(1 << 62))
    if not isinstance(chain.source, Columns) or chain.batched or chain.source.keep:
        raise Refused("enumerate() of what has no numbered rows")
    if any(each.name not in ("take", "prefetch", "configure") and each.name in ORDER for each in chain.operations):
        raise Refused("enumerate() behind a verb that changes the order")
    numpy = __import__("numpy")
    field = chain.fresh("index")
    source = replace(chain.source, arrays={**chain.source.arrays, field: numpy.arange(
        first, first + chain.source.rows, dtype="int64")})
    return chain.with_(source=source, structure=(field, chain.structure),
                       specs={**chain.specs, field: tensorflow_or_less().TensorSpec([], "int64")})


ORDER = {"shuffle", "take", "skip", "shard", "repeat", "filter", "interleave", "batch", "unbatch", "rejection_resample"}


# ----------------------------------------------------------------------------------------- keeping, running


def cache(chain: Chain, filename: Any = "", name: Any = None) -> Chain:
    if hasattr(filename, "numpy"):
        filename = filename.numpy()
    path = os.fsdecode(os.fspath(filename)) if filename else ""
    if any(word in path for word in REMOTE):
        raise Refused(f"{path} is remote")
    if path and isinstance(chain.source, Columns) and not chain.source.files:
        raise Refused("cache() of arrays in a file")
    if any(each.name == "cache" and "path" in each.kwargs for each in chain.operations):
        raise Refused("cache() behind cache() in a file")
    # Of two in memory the later one has all that the earlier one keeps. Small sets of leat.datasets are cached already.
    chain = replace(chain, operations=tuple(each for each in chain.operations if each.name != "cache"))
    _unlimited(chain, "cache")
    if chain.cardinality == INFINITE:
        raise Refused("cache() of what has no end")
    random = [each for each in chain.operations if draws(each)]
    if random and _has(chain, "repeat"):
        raise Refused("cache() behind random operations and repeat()")
    if random:
        tell(f"cache() stands behind {random[0].name}, which draws: its results of the first epoch are kept for all epochs, as in "
             "tf.data. Write cache() before the function that draws")
    given: dict[str, Any] = {"freeze": True} if random else {}
    if path:
        given["path"] = path
    # As in tf.data, later epochs have the order of the first.
    fixed = tuple(replace(each, kwargs={**each.kwargs, "reshuffle": False}) if each.name == "shuffle" else each
                  for each in chain.operations)
    return replace(chain, operations=fixed).on_samples("cache", **given)


def prefetch(chain: Chain, buffer_size: Any, name: Any = None) -> Chain:
    whole(buffer_size, "buffer_size")
    return chain  # the engine works ahead by itself


def with_options(chain: Chain, options: Any, name: Any = None) -> Chain:
    threads = getattr(getattr(options, "threading", None), "private_threadpool_size", None)
    return chain.then("configure", threads=int(threads)) if threads else chain


# ------------------------------------------------------------------------------------------- combining


def zip_chains(structure: Any, chains: list[Chain]) -> Chain:
    """Chains side by side; structure has their numbers."""
    from .._data.combine import zip_parts

    for chain in chains:
        _unlimited(chain, "zip")
        if chain.batched:
            raise Refused("zip() of batches")
    given = chains
    chains, keys = _apart(given)
    known = [chain.cardinality for chain in chains]
    if UNKNOWN in known:
        cardinality = UNKNOWN
    else:
        cardinality = min([n for n in known if n >= 0], default=INFINITE)
    made: Columns | Built
    sources = [chain.source for chain in chains]
    if all(isinstance(source, Columns) and not source.keep for source in sources) and not any(
            chain.operations for chain in chains):
        columns = [source for source in sources if isinstance(source, Columns)]
        rows = min(source.rows for source in columns)
        made = Columns({name: array[:rows] if not callable(array) else (lambda array=array: array()[:rows])
                        for source in columns for name, array in source.arrays.items()}, rows,
                       {name: path for source in columns for name, path in source.files.items()})
    else:
        if any(draws(each) for chain in chains for each in chain.operations) or any(
                _has(chain, "cache", "enumerate") for chain in chains):
            raise Refused("zip() of data sets with random operations or caches")
        if cardinality == INFINITE:
            raise Refused("zip() of data sets without end")
        made = Built(zip_parts([_part(before if key else chain) for before, chain, key in zip(given, chains, keys)], keys,
                               stop="shortest"))
    return _whole(chains, "zip", Chain(made, mapped(structure, lambda i: chains[i].structure),
                                       {name: spec for chain in chains for name, spec in chain.specs.items()},
                                       cardinality=cardinality))


def _apart(chains: list[Chain]) -> tuple[list[Chain], list[str]]:
    """The chains with names for their fields that no other of them has, and what zip is to call the only field of a part, "": as it is."""
    taken: set[str] = set()
    apart: list[Chain] = []
    keys: list[str] = []
    for chain in chains:
        source, key = chain.source, ""
        movable = isinstance(source, Columns) and not chain.operations
        names = set(chain.fields) | (set(source.arrays) | set(source.files) if isinstance(source, Columns) and movable else set())
        again: dict[str, str] = {}
        for name in sorted(taken & names):
            again[name] = next(word for word in numbered_names(name) if word not in taken | names | set(again.values()))
        if again:
            if isinstance(source, Columns) and movable:
                source = source.renamed(again)
            elif len(chain.fields) == 1:
                key = again[chain.fields[0]]
            else:
                raise Refused("zip() of data sets that share a source and have several fields")
            chain = chain.with_(source=source, structure=mapped(chain.structure, lambda name: again.get(name, name)),
                                specs={again.get(name, name): spec for name, spec in chain.specs.items()})
        taken |= {again.get(name, name) for name in names}
        apart.append(chain)
        keys.append(key)
    return apart, keys


def _part(chain: Chain) -> Any:
    """The chain's data set as a part of another: without what is about the whole."""
    kept = tuple(each for each in chain.operations if each.name != "configure" and not _is_accuracy(each))
    return replace(chain, operations=kept, seed=None).build()._with(layout=None).select(*dict.fromkeys(chain.fields))


def _is_accuracy(operation: Operation) -> bool:
    return operation.name == "options" and set(operation.kwargs) == {"accuracy"}


def _whole(chains: list[Chain], verb: str, made: Chain) -> Chain:
    """A chain that was made of others' parts, with what is about the whole: how JPEG files are decoded."""
    wanted = {each.kwargs["accuracy"] for chain in chains for each in chain.operations if _is_accuracy(each)}
    if len(wanted) > 1:
        raise Refused(f"{verb}() of JPEG files decoded by INTEGER_ACCURATE and of others that are not")
    return made.then("options", accuracy=wanted.pop()) if wanted else made


def _alike(chains: list[Chain], verb: str) -> None:
    first = chains[0]
    for chain in chains:
        _unlimited(chain, verb)
        if chain.batched:
            raise Refused(f"{verb}() of batches")
        if chain.structure != first.structure or any(
                chain.specs[name] != first.specs[name] for name in first.fields):
            raise Refused(f"{verb}() of data sets with other fields or shapes")
        if _has(chain, "cache"):
            raise Refused(f"{verb}() of caches")


def concatenate(chain: Chain, dataset: Chain, name: Any = None) -> Chain:
    from .._data.combine import concatenate as joined

    known = chain.cardinality, dataset.cardinality
    total = INFINITE if INFINITE in known else UNKNOWN if UNKNOWN in known else sum(known)
    one, other = chain.source, dataset.source
    if isinstance(one, Columns) and isinstance(other, Columns) and not (
            one.files or other.files or one.keep or other.keep or chain.operations or dataset.operations):
        return _stacked(chain, dataset, one, other).with_(cardinality=total)
    _alike([chain, dataset], "concatenate")
    if chain.cardinality == INFINITE:
        return chain
    made = Chain(Built(joined(_part(chain), _part(dataset))), chain.structure, chain.specs, cardinality=total)
    return _whole([chain, dataset], "concatenate", made)


def _stacked(chain: Chain, dataset: Chain, one: Columns, other: Columns) -> Chain:
    """Two sources of arrays as one."""
    couples = dict(zip(chain.fields, dataset.fields))
    if mapped(chain.structure, lambda name: 0) != mapped(dataset.structure, lambda name: 0):
        raise Refused("concatenate() of data sets with other structures")
    for mine, theirs in couples.items():
        if chain.specs[mine] != dataset.specs[theirs]:
            raise Refused("concatenate() of data sets with other types or shapes")
    numpy = __import__("numpy")

    def joined(mine: str, theirs: str) -> Callable[[], Any]:
        return lambda: numpy.concatenate([one.array(mine), other.array(theirs)])
    return chain.with_(source=Columns({mine: joined(mine, theirs) for mine, theirs in couples.items()},
                                      one.rows + other.rows))


def sample_from_datasets(chains: list[Chain], weights: Any, seed: int, stop_on_empty_dataset: bool,
                         rerandomize_each_iteration: Any) -> Chain:
    from .._data.combine import sample_from_datasets as drawn

    _alike(chains, "sample_from_datasets")
    stop = flag(stop_on_empty_dataset, "stop_on_empty_dataset")
    again = flag(rerandomize_each_iteration, "rerandomize_each_iteration")
    if stop and again:
        raise Refused("sample_from_datasets() whose epochs have different lengths")
    known = [chain.cardinality for chain in chains]
    total = INFINITE if INFINITE in known else UNKNOWN
    first = chains[0]
    made = drawn([_part(chain) for chain in chains], weights, seed=seed, stop_on_empty_dataset=stop,
                 rerandomize_each_iteration=again or None)
    return _whole(chains, "sample_from_datasets", Chain(Built(made), first.structure, first.specs, cardinality=total))
