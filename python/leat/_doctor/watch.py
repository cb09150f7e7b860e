# SPDX-License-Identifier: Apache-2.0
"""leat.doctor(iterable, step=...): the time of each step is split into waiting for the batch and the work on it."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._base.errors import ArgumentError
from .clocks import Record, Shape, Step, mean, now, settle, shape_of
from .engine import ask, examine_dataset, is_dataset, tell_remedies
from .findings import Diagnosis, Finding, duration, percent
from .remedies import MUCH, kind_of, tell_epochs, tell_stall, tell_waiting
from .tfdata import Watch as Pipeline
from .tfdata import tell_pipeline


def examine(iterable: Any, step: Callable[[Any], Any] | None, steps: int | None, seconds: float) -> Diagnosis:
    if not hasattr(iterable, "__iter__") and not hasattr(iterable, "__getitem__"):
        raise ArgumentError(f"doctor(): {type(iterable).__name__} cannot be iterated: give a data set, a loader or a generator")
    if step is not None and not callable(step):
        raise ArgumentError("doctor(): step is a function of a batch, such as model.train_on_batch or lambda batch: ...")
    if steps is not None and steps < 1:
        raise ArgumentError(f"doctor(): steps is a number from 1, not {steps}")
    if step is None and steps is None and is_dataset(iterable):
        return examine_dataset(iterable, 0.0, seconds)
    record, shape, own = _run(iterable, step, steps, seconds)
    if not record.steps:
        raise ArgumentError(f"doctor(): the iterable gave nothing ({type(iterable).__name__}): is the data set empty, or a "
                            "generator used up?")
    record.measure_load()
    found = judge(record, iterable, shape, alone=step is None)
    if is_dataset(iterable) and found.find("input") is not None:
        tell_remedies(found, ask(iterable, 1000 * found.compute_s, min(3.0, seconds)))
    if own:
        found.notes.append(f"{len(record.steps)} batches were taken from the iterator and are gone.")
    return found


def _items(iterable: Any) -> Any:
    if hasattr(iterable, "__iter__"):
        return iter(iterable)
    return (iterable[i] for i in range(len(iterable)))  # a Sequence of Keras, which has a length


def _run(iterable: Any, step: Callable[[Any], Any] | None, steps: int | None, seconds: float) -> tuple[Record, Shape, bool]:
    record, shape = Record(), Shape()
    epoch, begun, own = 0, now(), False

    def enough() -> bool:
        if steps is not None:
            return len(record.steps) >= steps
        return now() - begun > seconds and len(record.steps) > record.warmup + 2

    while not enough():
        before = now()
        batches = _items(iterable)
        own = batches is iterable
        if record.pipeline is None and kind_of(iterable) == "tf.data":
            record.pipeline = Pipeline(batches)
        n = 0
        while not enough():
            try:
                batch = next(batches)
            except StopIteration:
                break
            got = now()
            if record.pipeline is not None:
                record.pipeline.took(batches)
            if step is not None:
                settle(step(batch))
            done = now()
            if n == 0:
                record.starts.append(got - before)
            record.add(Step(epoch, got - before, done - got))
            shape = shape if shape.samples else shape_of(batch)
            n, before = n + 1, now()
        if own or n == 0:
            break
        epoch += 1
        if hasattr(iterable, "on_epoch_end"):
            iterable.on_epoch_end()  # as Keras does for a Sequence
    return record, shape, own


def judge(record: Record, source: Any, shape: Shape, alone: bool = False) -> Diagnosis:
    """What the steps of a record say."""
    counted = record.counted()
    found = Diagnosis(len(counted), mean([step.all for step in counted]), mean([step.wait for step in counted]),
                      mean([step.work for step in counted]), batch=shape.samples)
    if alone:
        found.step_s, found.compute_s = found.wait_s, 0.0
        found.add(Finding("input", f"The data alone come at {found.rate:,.0f} {'samples' if found.batch else 'batches'}/s: a step that "
                          f"takes less than {duration(found.wait_s)} waits for them.", 1.0,
                          "nothing was done with the batches; give step= to measure with the model"))
        if record.pipeline is not None:
            tell_pipeline(found, record.pipeline.seen())
        tell_stall(found, record)
        tell_epochs(found, record, source)
        return found
    tell_waiting(found, record, source, shape)
    tell_epochs(found, record, source)
    share = found.compute_s / found.step_s if found.step_s > 0 else 0.0
    if share > 1 - MUCH:
        sentence = f"The input is not the problem: {percent(share)} of a step is the work on the batch, {duration(found.compute_s)}."
    else:
        sentence = f"The work on a batch takes {duration(found.compute_s)}, {percent(share)} of a step."
    found.add(Finding("compute", sentence, share, "the step function was timed until the device had finished"))
    return found
