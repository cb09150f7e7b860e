# SPDX-License-Identifier: Apache-2.0
"""tf.data without TensorFlow: the same sources and verbs, over the engine alone. Elements are NumPy arrays, and functions of
map and filter run in Python. What only TensorFlow can do says so."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from .._base.errors import UnsupportedError
from . import sources, verbs
from .chain import Chain, Refused, leaves, mapped
from .reading import Reader
from .seeds import fresh, mixed
from .stand_in import TensorSpec, convert_to_tensor


def _seed(seed: Any) -> int:
    return fresh() if seed is None else mixed(int(seed))


def _needs(what: str, reason: str) -> UnsupportedError:
    return UnsupportedError(f"{what}(): {reason}: this needs TensorFlow, pip install tensorflow")


def _try(what: str, lower: Callable[..., Chain], *args: Any, **kwargs: Any) -> Any:
    try:
        return Dataset._over(lower(*args, **kwargs))
    except Refused as refused:
        raise _needs(what, refused.reason) from None


class Dataset:
    """What `leat.tf.data.Dataset` is without TensorFlow.

        ds = Dataset.from_tensor_slices((x, y)).shuffle(1000).map(lambda x, y: (x / 255, y)).batch(32)
    """

    _chain: Chain
    _built: Any

    @classmethod
    def _over(cls, chain: Chain) -> Dataset:
        self = object.__new__(Dataset)
        self._chain, self._built = chain, None
        return self

    def _engine(self) -> Any:
        if self._built is None:
            self._built = self._chain.with_(seed=fresh()).build()
        return self._built

    def __iter__(self) -> Iterator[Any]:
        return Reader(self._chain, self._engine())

    as_numpy_iterator = __iter__

    @property
    def element_spec(self) -> Any:
        return self._chain.element_spec()

    def cardinality(self) -> int:
        return self._chain.cardinality

    def __len__(self) -> int:
        if self._chain.cardinality < 0:
            raise TypeError("The dataset is infinite." if self._chain.cardinality == -1 else "The dataset length is unknown.")
        return self._chain.cardinality

    def __bool__(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(f"{name} of a data set needs TensorFlow: pip install tensorflow", name=name, obj=self)

    # ----------------------------------------------------------------------------------------- sources

    @staticmethod
    def from_tensor_slices(tensors: Any, name: Any = None) -> Any:
        return _try("from_tensor_slices", sources.from_arrays, tensors)

    @staticmethod
    def from_tensors(tensors: Any, name: Any = None) -> Any:
        return _try("from_tensors", sources.from_arrays, tensors, True)

    @staticmethod
    def range(*args: Any, **kwargs: Any) -> Any:
        return _try("range", sources.in_range, *args, **kwargs)

    @staticmethod
    def list_files(file_pattern: Any, shuffle: Any = None, seed: Any = None, name: Any = None) -> Any:
        return _try("list_files", sources.list_files, file_pattern, shuffle, seed, seeder=_seed)

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: Any = None) -> Any:
        chains: list[Chain] = []

        def number(part: Any) -> int:
            chains.append(part._chain)
            return len(chains) - 1
        given = datasets if not args else args[0] if len(args) == 1 else args
        structure = mapped(given, number)
        return _try("zip", verbs.zip_chains, structure, chains)

    # ------------------------------------------------------------------------------------------- verbs

    def shuffle(self, *args: Any, **kwargs: Any) -> Any:
        return _try("shuffle", partial(verbs.shuffle, seeder=_seed), self._chain, *args, **kwargs)

    def concatenate(self, dataset: Any, name: Any = None) -> Any:
        return _try("concatenate", verbs.concatenate, self._chain, dataset._chain)

    def apply(self, transformation_func: Any) -> Any:
        return transformation_func(self)

    def map(self, map_func: Any, num_parallel_calls: Any = None, deterministic: Any = None, **_: Any) -> Any:
        """The function runs in Python. It is called once now, to see what it gives."""
        chain = self._chain
        if chain.limit is not None or (chain.batched and any(each.name not in ("map", "configure")
                                                             for each in verbs.behind_batch(chain))):
            raise _needs("map", "a function behind verbs behind batch()")
        made = mapped(_apply(map_func, next(iter(self))), convert_to_tensor)
        structure = mapped(made, lambda _: sources.new_name())
        specs = {field: TensorSpec(value.array.shape[1:] if chain.batched else value.array.shape, value.dtype)
                 for field, value in zip(leaves(structure), leaves(made))}
        before, fields = chain.structure, list(leaves(structure))

        def call(sample: Any) -> dict[str, Any]:
            found = _apply(map_func, mapped(before, sample.__getitem__))
            return {field: convert_to_tensor(value).numpy() for field, value in zip(fields, leaves(found))}
        return Dataset._over(chain.then("map", call).with_(structure=structure, specs={**chain.specs, **specs}))

    def filter(self, predicate: Any, name: Any = None) -> Any:
        chain = self._chain
        if chain.batched:
            raise _needs("filter", "a function behind batch()")

        def keep(sample: Any) -> bool:
            return bool(_apply(predicate, mapped(chain.structure, sample.__getitem__)))
        return Dataset._over(chain.then("filter", keep).with_(cardinality=verbs.UNKNOWN))


def _apply(function: Any, element: Any) -> Any:
    """As tf.data calls functions: the parts of a tuple are arguments."""
    return function(*element) if isinstance(element, tuple) else function(element)


def _verb(name: str, lower: Callable[..., Chain]) -> Any:
    def method(self: Dataset, *args: Any, **kwargs: Any) -> Any:
        return _try(name, lower, self._chain, *args, **kwargs)
    method.__name__ = name
    return method


for _name in verbs.PLAIN_VERBS:
    setattr(Dataset, _name, _verb(_name, getattr(verbs, _name)))


def TFRecordDataset(filenames: Any, compression_type: Any = None, buffer_size: Any = None, num_parallel_reads: Any = None,
                    name: Any = None) -> Any:
    """tf.data.TFRecordDataset: elements are bytes."""
    return _try("TFRecordDataset", sources.tfrecord, filenames, compression_type, buffer_size, num_parallel_reads)


def TextLineDataset(filenames: Any, *args: Any, **kwargs: Any) -> Any:
    """tf.data.TextLineDataset: elements are bytes."""
    return _try("TextLineDataset", sources.text_lines, filenames, *args, **kwargs)


def FixedLengthRecordDataset(filenames: Any, *args: Any, **kwargs: Any) -> Any:
    """tf.data.FixedLengthRecordDataset: elements are bytes."""
    return _try("FixedLengthRecordDataset", sources.fixed_length, filenames, *args, **kwargs)
