# SPDX-License-Identifier: Apache-2.0
"""The time of a step of Keras's fit, split into waiting and compute on each backend.

fit asks `model.train_function` for every step, so a function in its place sees what a callback does not. torch's fit has the
batch before the step begins. On JAX the iterator is asked inside the function, and an iterator in its place reads the clock.
On TensorFlow the iterator is asked inside a compiled graph: here the batch is taken first, and the same compiled function
gets it in an iterator of one element. It computes the same numbers, because it is the same graph.
"""
from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

from .clocks import now, settle
from .tfdata import Watch


@dataclass
class Split:
    """What one call of the train function took. wait is None where it cannot be told apart."""

    wait: float | None
    work: float
    batch: Any = None


class Timed:
    """An iterator that notes how long it was waited for, and the last batch."""

    def __init__(self, iterator: Any) -> None:
        self.iterator, self.wait, self.batch = iterator, 0.0, None

    def __iter__(self) -> Timed:
        return self

    def __next__(self) -> Any:
        begun = now()
        try:
            self.batch = next(self.iterator)
        finally:
            self.wait += now() - begun
        return self.batch


def handed_over(batches: list[Any], spec: Any) -> tuple[Any, Any]:
    """An iterator of TensorFlow over batches that have been taken, of the type that the train function was traced for;
    and what must live as long as it."""
    tf: Any = sys.modules["tensorflow"]
    dataset = tf.data.Dataset.from_tensors(batches[0])
    for batch in batches[1:]:
        dataset = dataset.concatenate(tf.data.Dataset.from_tensors(batch))
    owner = iter(dataset)
    return tf.data.IteratorSpec(spec)._from_components((owner._iterator_resource,)), owner


class Steps:
    """Stands in the place of a model's train function."""

    def __init__(self, model: Any, seen: Callable[[Split], None], fit: Any) -> None:
        """fit: an object of the fit that is watched; when it is gone, so is this."""
        self.model, self.seen, self.fit = model, seen, weakref.ref(fit) if fit is not None else None
        function = model.train_function
        self.function: Any = function.function if isinstance(function, Steps) else function  # left by a fit that failed
        self.backend = import_module("keras").backend.backend()
        self.splitting = True
        self.distributed = False
        self.spec: Any = None  # of TensorFlow's iterator
        self.pipeline: Watch | None = None  # and what it runs
        model.train_function = self

    def remove(self) -> None:
        if self.model.train_function is self:
            self.model.train_function = self.function

    def __call__(self, *args: Any) -> Any:
        if self.fit is not None and self.fit() is None:
            self.remove()
            return self.function(*args)
        begun = now()
        if self.backend == "jax":
            timed = Timed(args[1])
            result = self.function(args[0], timed)
            if self.splitting:
                settle(result)
            self.seen(Split(timed.wait, now() - begun - timed.wait, timed.batch))
        elif not self.splitting:
            result = self.function(*args)
            self.seen(Split(None, now() - begun))
        elif self.backend == "tensorflow":
            return self._tensorflow(*args)
        else:
            result = self.function(*args)
            settle(result)
            self.seen(Split(0.0, now() - begun, args[0][0]))  # the caller adds what lies in front of the step
        return result

    def _tensorflow(self, iterator: Any) -> Any:
        tf: Any = sys.modules["tensorflow"]
        begun = now()
        if not isinstance(iterator, tf.data.Iterator):
            self.distributed = isinstance(iterator, tf.distribute.DistributedIterator)
            result = self.function(iterator)
            self.seen(Split(None, now() - begun))
            return result
        batches: list[Any] = []
        if self.pipeline is None:
            self.pipeline = Watch(iterator)
        try:
            while len(batches) < self.model.steps_per_execution:
                batches.append(next(iterator))
                self.pipeline.took(iterator)
        except StopIteration:
            if not batches:
                return self.function(iterator)  # which meets the end as it always does
        wait = now() - begun
        self.spec = iterator.element_spec
        try:
            given, owner = handed_over(batches, iterator.element_spec)
        except Exception:  # an element that tf.data cannot hold: Keras takes the batches from any iterator
            given, owner = iter(batches), None
        begun = now()
        result = self.function(given)
        settle(result)
        self.seen(Split(wait, now() - begun, batches[-1]))
        del owner
        return result

    # ------------------------------------------------------------------------------------- tracing

    @cached_property
    def compiled(self) -> list[Any]:
        """The compiled functions inside the train function."""
        found: list[Any] = []
        waiting, known = [self.function], set()
        while waiting:
            function = waiting.pop()
            if id(function) in known:
                continue
            known.add(id(function))
            if hasattr(function, "experimental_get_tracing_count") or hasattr(function, "_cache_size"):
                found.append(function)
            inside = [getattr(function, "__wrapped__", None), *(cell.cell_contents for cell in
                      getattr(function, "__closure__", None) or () if _filled(cell))]
            waiting += [each for each in inside if callable(each) and not isinstance(each, type) and each is not self.model]
        return found

    def traces(self) -> int:
        """How often the step was traced or compiled."""
        counts = [int(function._cache_size()) if hasattr(function, "_cache_size")
                  else int(function.experimental_get_tracing_count()) for function in self.compiled]
        return max(counts, default=0)

    def graphs(self) -> list[Any]:
        """Graphs of TensorFlow that a step runs."""
        return [concrete.graph for function in self.compiled if hasattr(function, "_list_all_concrete_functions")
                for concrete in function._list_all_concrete_functions()]


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True
