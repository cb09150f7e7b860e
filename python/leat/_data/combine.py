# SPDX-License-Identifier: Apache-2.0
"""Several datasets as one. Each is a part of the new one, with its own source, order, functions and operations."""
from __future__ import annotations

import re
from builtins import zip as pairs
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._base.errors import ArgumentError
from .bind import bind, quote
from .dataset import Dataset, Origin
from .ops import OPS

# Operations that change which fields a sample has: behind them only the engine knows.
CHANGE_FIELDS = {"parse", "select", "map", "enumerate"}
NAMES = ("image", "label", "weight")


class Combination:
    """The parts of a dataset, and what its first operation calls them."""

    def __init__(self, name: str, parts: Sequence[Dataset], given: Sequence[str] = (), more: str = "") -> None:
        self.name, self.parts, self.more = name, tuple(parts), more
        self._keys: tuple[str, ...] | None = tuple(given) or (None if name == "zip" else ("",) * len(parts))
        self._layout: Any = None

    # ------------------------------------------------------------------------------------------- names

    @property
    def keys(self) -> tuple[str, ...]:
        """What zip calls the parts, "" = their fields keep their names. Fields of unnamed parts are looked at once."""
        if self._keys is None:
            self._keys = self._find_keys()
        return self._keys

    def _find_keys(self) -> tuple[str, ...]:
        fields = [_field_names(part) for part in self.parts]
        every = [name for names in fields for name in names]
        twice = sorted({name for name in every if every.count(name) > 1})
        single = len(every) == len(fields)
        if twice and not single:
            raise ArgumentError(f"zip(): several datasets have a field '{twice[0]}': name the datasets, as in "
                                "zip(image=a, mask=b), or choose fields with select()")
        if twice:
            every = list(NAMES[:len(every)]) if len(every) <= len(NAMES) else [f"x{i}" for i in range(len(every))]
        self._layout = tuple(every) if single else None
        return tuple(every) if twice else ("",) * len(fields)

    def layout(self) -> Any:
        """The form of an item: that of the first part; of a zip of unnamed datasets with one field each a tuple."""
        if self.name == "zip":
            return self._layout if self.keys else None
        first = self.parts[0]._origin.layout
        return first() if first else None

    # -------------------------------------------------------------------------------------------- text

    def undecoded(self) -> tuple[str, ...]:
        """Fields that are decoded when samples are together: so that a crop and its decoding are one step."""
        found = [part._undecoded() for part in self.parts]
        if self.name != "zip":
            return found[0] if all(fields == found[0] for fields in found) else ()
        return tuple(key or "image" for key, part in pairs(self.keys, self.parts) if not self._decodes_itself(key, part))

    def _decodes_itself(self, key: str, part: Dataset) -> bool:
        """Whether a part decodes its pictures, not the whole. zip gives a field of the part's that has the name key."""
        if self.name == "zip":
            return part._undecoded() != ("image",) or key in NAMES[1:]
        return not self.undecoded()

    def _words(self, texts: Iterable[str]) -> str:
        words = [f"{key}={text}" if key else text for key, text in pairs(self.keys, texts)]
        return " ".join([self.name, *words, *([self.more] if self.more else [])])

    def spelled(self) -> str:
        """The operation with its parts as texts in quotes."""
        return self._words(quote(" | ".join(part._listed(self._decodes_itself(key, part))))
                           for key, part in pairs(self.keys, self.parts))

    def named(self) -> str:
        """The operation with the names that described() has."""
        return self._words(f"@{key or f'part{number}'}" for number, key in enumerate(self.keys, 1))

    def described(self) -> list[tuple[str, str, Any, Any, Any, Any]]:
        """What Pipeline takes as parts."""
        return [(key or f"part{number}", *part._described(self._decodes_itself(key, part)))
                for number, (key, part) in enumerate(pairs(self.keys, self.parts), 1)]


def _field_names(part: Dataset) -> list[str]:
    names = {operation.split(None, 1)[0] for operation in part._operations}
    if part._origin.arrays is not None and not names & CHANGE_FIELDS:
        return [entry[0] for entry in part._origin.arrays]
    feed = part._open(synchronous=True)
    try:
        return [field.name for field in feed.fields]
    finally:
        feed.close()


def _checked(where: str, datasets: Iterable[Any]) -> tuple[Dataset, ...]:
    parts = tuple(datasets)
    if not parts:
        raise TypeError(f"{where}() needs datasets, such as {where}(a, b)")
    for number, part in enumerate(parts, 1):
        if not isinstance(part, Dataset):
            raise TypeError(f"{where}(): part {number} is {type(part).__name__}, not a leat.Dataset; "
                            "leat.from_arrays(x) makes one of arrays, leat.from_python(d) of other datasets")
        if part._items_are_batches:
            raise ArgumentError(f"{where}(): the items of part {number} are batches; "
                                "from_python(..., items='sample') gives single samples")
        for operation in part._operations:
            name = operation.split(None, 1)[0]
            if OPS[name].kind == "batch":
                raise ArgumentError(f"{where}(): part {number} has {name}(), which is about the whole: "
                                    f"write it behind, {where}(...).{name}(...)")
    return parts


def _config(where: str, parts: Sequence[Dataset]) -> dict[str, Any]:
    """How to run, if parts say it: all that say something must say the same."""
    config: dict[str, Any] = {}
    for part in parts:
        for name, value in part._config.items():
            if config.setdefault(name, value) != value:
                raise ArgumentError(f"{where}(): parts are configured with {name}={config[name]!r} and {name}={value!r}; "
                                    f"leave it out there and write {where}(...).configure({name}=...)")
    return config


def _made(where: str, combination: Combination) -> Dataset:
    parts = combination.parts
    return Dataset((f"{combination.name} {combination.more}".strip(),), Origin(combination=combination, layout=combination.layout,
                                               threads=max(part._threads for part in parts)),
                   seed=parts[0]._seed, config=_config(where, parts),
                   layout=parts[0]._layout if combination.name != "zip" else None)


def _more(name: str, **given: Any) -> str:
    """The arguments of the operation, as text."""
    return bind(name, ("@",), given).split("@", 1)[1].strip()


def concatenate(*datasets: Dataset | Sequence[Dataset]) -> Dataset:
    """Datasets with the same fields, one after the other.

        leat.concatenate(photos, made_up).shuffle().batch(64)

    datasets: two or more, or a list of them.
    """
    parts = _checked("concatenate", _several(datasets))
    return _made("concatenate", Combination("concatenate", parts))


def _several(datasets: tuple[Any, ...]) -> Iterable[Any]:
    return datasets[0] if len(datasets) == 1 and isinstance(datasets[0], (list, tuple)) else datasets


def zip(*datasets: Any, stop: str | None = None, **named: Dataset) -> Dataset:
    """Samples that have one sample of each dataset, such as pictures and their masks.

        leat.zip(image=photos, mask=masks).shuffle().batch(16)     # {"image": ..., "mask": ...}
        leat.zip(leat.from_arrays(x), leat.from_arrays(y))         # (x, y)

    datasets: those without a name. A named dataset gives its field of that name, or image, or its first field, under
    the name. The other fields of the first dataset stay; those of later ones are left out, unless select() names them.
    Datasets without a name keep the names of their fields; if each has one field, an item is a tuple. Datasets must be
    equally long; stop="shortest" leaves out the rest.
    """
    if len(datasets) == 1 and isinstance(datasets[0], Mapping):
        named, datasets = {**datasets[0], **named}, ()
    datasets = tuple(_several(datasets))
    if datasets and named:
        raise TypeError("zip(): either all datasets have names or none has: zip(image=a, mask=b) or zip(a, b)")
    for name in named:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,62}", str(name)) or name in ("texts", "stop"):
            raise ValueError(f"zip(): {name!r} cannot be the name of a field: letters, digits and _, not texts or stop")
    parts = _checked("zip", named.values() if named else datasets)
    return _made("zip", Combination("zip", parts, tuple(named), _more("zip", stop=stop)))


def zip_parts(datasets: Sequence[Dataset], names: Sequence[str], stop: str) -> Dataset:
    """zip, where some parts have a name and others, with "", keep the names of their fields."""
    return _made("zip", Combination("zip", _checked("zip", datasets), names, _more("zip", stop=stop)))


def sample_from_datasets(datasets: Sequence[Dataset], weights: Sequence[float] | None = None, seed: int | None = None,
                         stop_on_empty_dataset: bool = False,
                         rerandomize_each_iteration: bool | None = None) -> Dataset:
    """Datasets with the same fields, mixed by drawing: each place of an epoch is one dataset's, by its weight.

        leat.sample_from_datasets([real, made_up], weights=[0.7, 0.3]).batch(64)

    datasets, weights: one weight for each dataset; without weights all count alike. seed: of the choices.
    Proportions are exact in blocks of about 4096 samples. A dataset that has no more is passed over; with
    stop_on_empty_dataset=True the epoch ends there. Choices are the same in every epoch, unless
    rerandomize_each_iteration=True.
    """
    parts = _checked("sample_from_datasets", _listed("sample_from_datasets", datasets))
    if weights is not None:
        weights = [float(weight) for weight in weights]
        if len(weights) != len(parts):
            raise ValueError(f"sample_from_datasets(): {len(weights)} weights for {len(parts)} datasets")
    more = _more("sample_from", weights=weights, seed=seed, stop_on_empty=stop_on_empty_dataset or None,
                 rerandomize=rerandomize_each_iteration)
    return _made("sample_from_datasets", Combination("sample_from", parts, more=more))


def choose_from_datasets(datasets: Sequence[Dataset], pattern: Sequence[int] | None = None,
                         stop_on_empty_dataset: bool = True, *, choices: Sequence[int] | None = None) -> Dataset:
    """Datasets with the same fields, mixed by numbers of datasets, from 0 on.

        leat.choose_from_datasets([a, b], pattern=[0, 0, 1])        # two of a, one of b, again and again
        leat.choose_from_datasets([a, b], choices=[0, 1, 1, 0])     # four samples, as tf.data's choice_dataset

    It ends where a dataset that has no more would come; with stop_on_empty_dataset=False that dataset is passed over.
    """
    parts = _checked("choose_from_datasets", _listed("choose_from_datasets", datasets))
    if (pattern is None) == (choices is None):
        raise TypeError("choose_from_datasets() needs pattern=[0, 0, 1], which is repeated, or choices=[0, 1, 1, 0]")
    given = choices if pattern is None else pattern
    if isinstance(given, Dataset):
        raise TypeError("choose_from_datasets(): the choices are numbers, not a dataset: pattern=[0, 0, 1]")
    numbers = [number.__index__() for number in given]  # type: ignore[union-attr]
    if not numbers or not 0 <= min(numbers) <= max(numbers) < len(parts):
        raise ValueError(f"choose_from_datasets(): the numbers of datasets go from 0 to {len(parts) - 1}, not {given!r:.60}")
    more = _more("choose_from", pattern=numbers, stop_on_empty=None if stop_on_empty_dataset else False)
    made = _made("choose_from_datasets", Combination("choose_from", parts, more=more))
    return made if choices is None else made.take(len(numbers))


def _listed(where: str, datasets: Any) -> list[Any]:
    if not isinstance(datasets, (list, tuple)):
        raise TypeError(f"{where}() takes a list of datasets: {where}([a, b])")
    return list(datasets)
