# SPDX-License-Identifier: Apache-2.0
"""A leat dataset is examined by the engine itself, as `leat doctor` does: ceilings, and remedies that it has tried."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .findings import Diagnosis, Finding, Remedy, Table

if TYPE_CHECKING:
    from .._data.dataset import Dataset


def is_dataset(source: Any) -> bool:
    from .._data.dataset import Dataset

    return isinstance(source, Dataset)


def ask(dataset: Dataset, step_ms: float, seconds: float) -> dict[str, Any]:
    """What `leat doctor --json` prints. step_ms: how long a step works on a batch, 0 if the data alone are asked for."""
    pipeline = dataset._plan(plain=True).pipeline
    return pipeline.doctor(seconds, step_ms, 0, None, dataset._threads)


def examine_dataset(dataset: Dataset, step_ms: float, seconds: float) -> Diagnosis:
    told = ask(dataset, step_ms, seconds)
    batch, rate = dataset.batch_size or 1, float(told["samples_per_s"])
    step = batch / rate if rate > 0 else 0.0
    wait = step * float(told["wait"]) if step_ms else step
    found = Diagnosis(max(1, round(rate * float(told["seconds"]) / batch)), step, wait, step - wait, batch=batch)
    cause = "engine" if told["input_binds"] else "compute"
    found.add(Finding(cause, told["sentence"], told["percent"] / 100, told["note"]))
    tell_remedies(found, told)
    return found


def tell_remedies(found: Diagnosis, told: dict[str, Any]) -> None:
    """The engine's ceilings and remedies."""
    rows: list[tuple[str, ...]] = [(each["name"] + (" (binds)" if each["name"] == told["binding"] else ""), f"{each['rate']:,.0f}", each["how"])
                                   for each in told["ceilings"]]
    if rows:
        found.tables.append(Table("Ceilings: samples a second if this were all there is to do", ("part", "samples/s", "how"), rows))
    for each in told["remedies"]:
        found.offer(Remedy(each["title"], each["gain"], each["cost"], each["command"]))
