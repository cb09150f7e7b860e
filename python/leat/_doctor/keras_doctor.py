# SPDX-License-Identifier: Apache-2.0
"""leat.keras.Doctor: a callback of Keras 3 that tells why training is slow. Importing this module imports Keras."""
from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from .clocks import Record, Shape, Step, now, shape_of
from .findings import Diagnosis
from .keras_judge import Seen, judge
from .keras_steps import Split, Steps
from .remedies import kind_of

keras: Any = import_module("keras")
Callback: Any = keras.callbacks.Callback
PATIENT = 4  # times the number of steps, while waits still grow
EVERY_STEP = ("on_train_batch_begin", "on_train_batch_end", "on_batch_begin", "on_batch_end")


class Proxy:
    """A callback whose calls are timed; it stands in Keras's list for the time of one fit."""

    def __init__(self, callback: Any, seen: Seen) -> None:
        self._callback, self._seen = callback, seen

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._callback, name)
        if not name.startswith("on_"):
            return found
        seen, word = self._seen, type(self._callback).__name__
        times = seen.callbacks if name in EVERY_STEP else seen.epoch_callbacks

        def timed(*args: Any, **kwargs: Any) -> Any:
            begun = now()
            try:
                return found(*args, **kwargs)
            finally:
                times[word] = times.get(word, 0.0) + now() - begun

        self.__dict__[name] = timed
        return timed


class Doctor(Callback):  # type: ignore[misc]
    """After some steps of fit, prints why training is slow: a sentence, numbers, and remedies with the lines to change.

        model.fit(ds, epochs=10, callbacks=[leat.keras.Doctor()])

    steps     how many steps are watched before the answer; 3 more come first, in which programs are compiled
    ablation  whether parts of a step are measured alone, on one batch, for a second or two. Weights, optimizer, seeds and
              metrics are put back bit for bit
    show      whether the answer is printed, on stderr; .diagnosis has it anyway

    Training gives the same weights as without it, on all backends. At the end of training the answer is printed again if
    epochs, validation or callbacks have shown more.
    """

    def __init__(self, steps: int = 40, *, ablation: bool = True, show: bool = True) -> None:
        super().__init__()
        if steps < 1:
            raise ValueError(f"Doctor: steps is a number from 1, not {steps}")
        self.steps, self.ablation, self.show = steps, ablation, show
        self.diagnosis: Diagnosis | None = None
        self._seen: Seen | None = None
        self._steps: Steps | None = None
        self._list: Any = None
        self._traces = 0  # of all fits that this doctor has seen

    # ------------------------------------------------------------------------------------- what Keras calls

    def on_train_begin(self, logs: Any = None) -> None:
        self._seen = seen = Seen(Record(), Shape())
        seen.earlier_traces = self._traces
        self.diagnosis = None
        self._list = None
        self._find_fit(seen)
        self._steps = Steps(self.model, self._on_step, self._list)
        self._end_of_step = self._begin_of_step = 0.0
        self._epoch, self._answered = 0, False

    def _find_fit(self, seen: Seen) -> None:
        """The list of callbacks and the data, of the fit that calls."""
        frame = sys._getframe(2)
        while frame is not None:
            found = frame.f_locals.get("self")
            if isinstance(found, keras.callbacks.CallbackList) and self._list is None:
                self._list = found
            if frame.f_code.co_name == "fit" and "epoch_iterator" in frame.f_locals:
                seen.source = frame.f_locals.get("x")
                break
            frame = frame.f_back  # type: ignore[assignment]
        if self._list is None:
            return
        seen.asynchronous = bool(getattr(self._list, "_async_train", False))
        # In place: Keras walks through this very list now.
        for i, callback in enumerate(self._list.callbacks):
            if callback is not self and not isinstance(callback, Proxy):
                self._list.callbacks[i] = Proxy(callback, seen)
        begin, end = self._list.on_train_batch_begin, self._list.on_train_batch_end

        def timed_begin(*args: Any, **kwargs: Any) -> None:
            self._begin_of_step = now()
            begin(*args, **kwargs)

        def timed_end(*args: Any, **kwargs: Any) -> None:
            begun = now()
            end(*args, **kwargs)
            self._end_of_step = now()
            seen.listed += self._end_of_step - begun

        self._list.on_train_batch_begin, self._list.on_train_batch_end = timed_begin, timed_end

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        assert self._seen is not None
        self._epoch, self._epoch_begun, self._end_of_step = epoch, now(), 0.0
        self._seen.in_epoch = 0

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        assert self._seen is not None and self._steps is not None
        record = self._seen.record
        n = len(record.steps) - record.warmup
        if not self._answered and n >= self.steps and (record.settled() or n >= PATIENT * self.steps):
            begun = now()
            self._answer()
            self._answered = True
            # What lies before this step is the doctor's, in the time of the epoch too.
            self._end_of_step = 0.0
            self._epoch_begun += now() - begun
        # Later, only the first and the last step of an epoch are looked at: waits at its beginning, short batches at its end.
        last = (self.params or {}).get("steps")
        self._steps.splitting = not self._answered or batch == 0 or batch + 1 == last

    def on_test_begin(self, logs: Any = None) -> None:
        self._test_begun = now()

    def on_test_end(self, logs: Any = None) -> None:
        if self._seen is not None:
            self._seen.tests.append(now() - self._test_begun)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        assert self._seen is not None
        self._seen.epochs.append(now() - self._epoch_begun)
        self._seen.epoch_steps = max(self._seen.epoch_steps, self._seen.in_epoch)

    def on_train_end(self, logs: Any = None) -> None:
        assert self._seen is not None and self._steps is not None
        before = {each.cause for each in self.diagnosis.findings} if self.diagnosis is not None else set()
        self._seen.ended = True
        self._answer(before)
        self._traces = self._steps.traces()
        self._steps.remove()
        if self._list is not None:
            del self._list.on_train_batch_begin, self._list.on_train_batch_end
            for i, callback in enumerate(self._list.callbacks):
                if isinstance(callback, Proxy):
                    self._list.callbacks[i] = callback._callback
        self._list = self._steps = self._seen = None

    # ------------------------------------------------------------------------------------- what is noted

    def _on_step(self, split: Split) -> None:
        """The train function has run once."""
        seen, steps = self._seen, self._steps
        if seen is None or steps is None:
            return
        seen.in_epoch += 1
        if seen.record.pipeline is None and kind_of(seen.source) == "tf.data":
            seen.record.pipeline = steps.pipeline
        first = self._end_of_step == 0.0
        between = 0.0 if first else self._begin_of_step - self._end_of_step
        wait = split.wait
        if wait is not None and steps.backend == "torch" and not first:
            wait, between = between, 0.0  # torch's fit has waited there
        if split.batch is not None:
            seen.batch = split.batch
            shape = shape_of(split.batch)
            seen.sizes.append(shape.samples)
            seen.shape = shape if shape.samples >= seen.shape.samples else seen.shape
        traces = steps.traces()
        compiled = traces > seen.traces and bool(seen.record.steps)
        if compiled:
            short = split.batch is not None and seen.sizes[-1] < seen.shape.samples
            seen.compiled.append((len(seen.record.steps), short))
        seen.traces = traces
        if len(seen.record.steps) == seen.record.warmup:
            seen.callbacks.clear()  # those of the first steps do not count
            seen.listed, seen.listed_steps = 0.0, 0
        seen.listed_steps += 1
        if seen.in_epoch == 1 and wait is not None:
            seen.record.starts.append(wait)
        seen.record.add(Step(self._epoch, wait or 0.0, split.work, max(0.0, between), wait is not None and not self._answered, compiled))

    def _answer(self, told: set[str] = frozenset()) -> None:  # type: ignore[assignment]
        """Makes the diagnosis and prints it, if it has a cause that was not told before. No error of its own ends training."""
        assert self._seen is not None and self._steps is not None
        try:
            if not self._seen.record.load.known:
                self._seen.record.measure_load()
            self.diagnosis = judge(self.model, self._steps, self._seen, self.ablation)
            self._seen.traces = self._steps.traces()  # some are the doctor's own
        except Exception as error:
            print(f"leat doctor: no diagnosis: {type(error).__name__}: {error}", file=sys.stderr)
            return
        if self.show and ({each.cause for each in self.diagnosis.findings} - told or not told):
            print(file=sys.stderr)  # the bar of Keras has not ended its line
            self.diagnosis.show(sys.stderr)
