# SPDX-License-Identifier: Apache-2.0
"""CSV tables: pictures that a table lists, or rows of numbers and words."""
from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from .._base.advice import advised
from .._data.bind import bind, quote
from .._data.dataset import Dataset, Origin
from .files import name_list

Path: TypeAlias = str | os.PathLike[str]
Columns: TypeAlias = str | int | Sequence[str | int]
PATH_NAMES = ("path", "file", "filename", "file_name", "filepath", "image")


def _column(name: object) -> str:
    if isinstance(name, bool) or not isinstance(name, (str, int)):
        raise TypeError(f"from_csv(): a column is a name or a number from 0, not {type(name).__name__} {name!r:.60}")
    return str(name)


def _columns(given: Columns) -> tuple[str, bool]:
    """Columns as the text has them, and whether they are a list."""
    if isinstance(given, (str, int)):
        return _column(given), False
    names = [_column(name) for name in given]
    if not names:
        raise ValueError("from_csv(): a list of columns is empty")
    wrong = next((name for name in names if "," in name), None)
    if wrong is not None and len(names) > 1:
        raise ValueError(f"from_csv(): the name of column {wrong!r} has a comma; give its number, from 0")
    return ",".join(names), True


def _field(name: str, columns: Columns, dtype: str = "") -> str:
    text, many = _columns(columns)
    return quote(f"{name}{dtype}={text}{',' if many and ',' not in text else ''}")


def _entries(given: Mapping[str, Any], what: str) -> str:
    """{"city": ["Rome", "Oslo"]} as city=Rome,Oslo;..."""
    entries = []
    for name, value in given.items():
        words = [str(value)] if isinstance(value, (str, int, float)) else [str(word) for word in value]
        if any(c in word for word in words for c in ";,") or any(c in name for c in "=;"):
            raise ValueError(f"from_csv(): {what} of {name!r}: names hold no '=' and ';', words no ',' and ';'")
        entries.append(f"{name}={','.join(words)}")
    return ";".join(entries)


def _lists_files(file: Path, separator: str, header: bool | None) -> bool:
    """Whether the column where paths would be holds something like paths. What cannot be read, the engine tells."""
    try:
        with open(file, newline="", encoding="utf-8-sig", errors="surrogateescape") as text:
            rows = [row for row, _ in zip(csv.reader(text, delimiter=separator), range(2))]
    except (OSError, csv.Error, ValueError):
        return True
    if not rows or (header is not False and any(name in PATH_NAMES for name in rows[0])):
        return True
    cell = rows[-1][0] if rows[-1] else ""
    tail = cell.rpartition(".")[2]
    number = cell.strip().lstrip("+-").replace(".", "", 1).replace("e", "", 1).replace("-", "", 1).isdigit()
    return not number and ("/" in cell or (tail != cell and tail.isalnum() and len(tail) <= 5))


def _table(file: Path, columns: Any, features: Any, label: Columns | None, weight: str | int | None,
           class_names: Sequence[str] | None, categories: Mapping[str, Sequence[Any]] | None, missing: Any,
           header: bool | None, separator: str | None) -> Dataset:
    words: list[str] = []
    layout: Any = None
    if isinstance(columns, Mapping):
        words += [_field(str(name), value) for name, value in columns.items()]
    elif columns is not None:
        words += [quote(_column(name)) for name in ([columns] if isinstance(columns, (str, int)) else columns)]
    if isinstance(features, str):
        words.append(quote(f"{features}:f32=*"))
    elif isinstance(features, Mapping):
        words += [_field(str(name), value, ":f32") for name, value in features.items()]
    elif features is not None:
        words.append(_field("features", features, ":f32"))
    names = [features] if isinstance(features, str) else list(features) if isinstance(features, Mapping) else \
        ["features"] if features is not None else []
    if label is not None:
        words.append(_field("label", label))
    if weight is not None:
        words.append(_field("weight", weight, ":f32"))
    if columns is None and features is None and words:
        words.append("*")
    if len(names) == 1 and columns is None and label is not None:
        layout = (names[0], "label", *(["weight"] if weight is not None else []))
    given = {"classes": name_list(class_names, "from_csv()"),
             "categories": _entries(categories, "categories") if categories else None,
             "missing": _entries(missing, "missing") if isinstance(missing, Mapping) else
             None if missing is None else str(missing), "header": header, "separator": separator}
    operation = bind("csv", (file,), given)
    return Dataset((" ".join([operation, *words]),), Origin(path=os.fspath(file)), layout=layout)


@advised
def from_csv(file: Path, *, path: str | int | None = None, label: Columns | None = None,
             weight: str | int | None = None, root: Path | None = None, header: bool | None = None,
             separator: str | None = None, check: bool | None = None, decode: bool = True, with_path: bool = False,
             class_names: Sequence[str] | None = None,
             columns: Columns | Mapping[str, Columns] | None = None,
             features: str | Sequence[str | int] | Mapping[str, Sequence[str | int]] | None = None,
             categories: Mapping[str, Sequence[Any]] | None = None,
             missing: str | float | Mapping[str, Any] | None = None) -> Dataset:
    """A CSV table: pictures that it lists, or rows of numbers and words. One row is a sample.

        leat.from_csv("train.csv", path="file", label="breed").resize(224, 224).batch(64)
        leat.from_csv("scenes.csv", path="file", label=["cat", "dog", "bird"])     # one vector of three labels
        leat.from_csv("iris.csv", features="x", label="species").shuffle().batch(32)
        leat.from_csv("people.csv", columns=["age", "city"], missing={"age": 0}).batch(32)

    A table with a column of paths lists pictures; its columns are path, label and weight. Any other table is read as
    numbers and words. columns: which columns, a field each (default: all), or a dict of fields and columns. features: the
    name of one f32 vector of all other columns, a list of columns, or a dict of names and lists. label, weight: the
    columns of these fields; a list of label columns is one vector. Words become numbers in sorted order; class_names
    (of the label) and categories={"size": ["S", "M", "L"]} say another order. missing: what an empty cell or NA counts
    as, for all columns or by column, or "error"; by default a number is NaN, and a word is an error. header, separator:
    as found in the file if they are not given. with_path adds the path of the picture, check looks for all files at once.
    root: where relative paths begin (default: the folder of the table). decode=False leaves the bytes of the files.
    """
    table = not (columns is None and features is None and categories is None and missing is None)
    if not table and path is None and root is None and check is None and not with_path:
        table = not _lists_files(file, "\t" if separator == "tab" else separator or ",", header)
    if table:
        wrong = [name for name, value in (("path", path), ("root", root), ("check", check), ("with_path", with_path or None))
                 if value is not None]
        if wrong:
            raise TypeError(f"from_csv(): {wrong[0]} is for a table of pictures, columns, features, categories and missing "
                            "for one of numbers and words: give the ones or the others")
        return _table(file, columns, features, label, weight, class_names, categories, missing, header, separator)
    text, many = (None, False) if label is None else _columns(label)
    operation = bind("list", (file,), {"path": path, "label": text, "vector": many or None, "weight": weight,
                                       "root": root, "header": header, "separator": separator, "check": check,
                                       "classes": name_list(class_names, "from_csv()")})
    dataset = Dataset((operation,), Origin(decode=decode, path=os.fspath(file)))
    return dataset.with_path() if with_path else dataset
