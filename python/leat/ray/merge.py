# SPDX-License-Identifier: Apache-2.0
"""The trainer's side: batches of several feeders in the order of one process.

Step s of an epoch is made by feeder s modulo their number, so the next batch has one place where it can come from, and no
coordination is needed. Each feeder has at most `ahead` requests or batches that were not handed over; that bounds the
memory in Ray's object store. A feeder that died is replaced, and what it had not delivered is asked for again.
"""
from __future__ import annotations

import collections
import os
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from .._base.arrays import writable
from .._base.errors import StoppedError
from .._base.notices import tell
from .._calls.batch_map import Made
from .._data.run import CURSOR, Cursor, Feed
from .feeder import Answer, Failure, Feeder, Order

if TYPE_CHECKING:
    from .._data.dataset import Dataset

DEATHS_MAX = 3  # of feeders that were to make the same batch
SLICE_S = 0.5  # how long one wait is: between two, others may have closed the pipeline
NOTICE_S = 15.0  # after which a line says what is waited for


class Feeding(NamedTuple):
    """How feeders run."""

    feeders: int = 4
    num_cpus: float = 2
    ahead: int = 3
    timeout: float = 300.0
    options: tuple[tuple[str, Any], ...] = ()  # of Ray's actors


class Received(Made):
    """A field that came through the object store, where it lies: NumPy may read it, frameworks lay their tensors on it."""

    __slots__ = ()

    def __init__(self, name: str, array: Any, dtype: str) -> None:
        self.name, self.array, self.dtype = name, array, dtype

    def __getitem__(self, i: int) -> Received:
        return Received(self.name, self.array[i:i + 1].reshape(self.array.shape[1:]), self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.array if dtype is None and not copy else super().__array__(dtype, copy)

    def __dlpack__(self, **how: Any) -> Any:
        return writable(self.array).__dlpack__(**how)


class Arrived:
    """A batch with the methods of the binding's."""

    copied = False

    def __init__(self, order: Order, answer: Answer) -> None:
        self.epoch, self.step = order.epoch, order.step
        self.n, self.n_valid = answer.n, answer.n_valid
        self._answer = answer

    def tensors(self) -> list[tuple[Received, Received | None]]:
        return [(Received(name, array, dtype), None if offsets is None else Received(name, offsets, "i64"))
                for name, dtype, array, offsets in self._answer.fields]

    def samples(self) -> list[int]:
        return self._answer.samples

    def positions(self) -> list[int]:
        return self._answer.positions

    def params(self) -> list[str]:
        return self._answer.params


class Request:
    """An order, and who has it."""

    __slots__ = ("answer", "feeder", "order", "ref")

    def __init__(self, order: Order, feeder: int) -> None:
        self.order, self.feeder = order, feeder
        self.ref: Any = None
        self.answer: Any = None


class Crew:
    """The actors. Nothing here refers to the pipeline that uses them, so that they end with it."""

    def __init__(self, ray: Any, dataset: Dataset, delivery: str, feeding: Feeding) -> None:
        self.ray, self._feeding, self._delivery = ray, feeding, delivery
        self._dataset = ray.put(dataset)
        self._class = ray.remote(Feeder).options(num_cpus=feeding.num_cpus, max_restarts=0, max_task_retries=0,
                                                 **{"scheduling_strategy": "SPREAD", **dict(feeding.options)})
        self.deaths = 0
        self.actors = [self._start(i) for i in range(feeding.feeders)]

    def _start(self, i: int) -> Any:
        return self._class.remote(self._dataset, self._delivery, i, self._feeding.feeders)

    def ask(self, request: Request) -> None:
        request.ref = self.actors[request.feeder].make.remote(request.order)

    def _end(self, actor: Any) -> None:
        try:
            self.ray.kill(actor)
        except Exception:  # it has ended, or Ray has
            pass

    def replace(self, i: int) -> None:
        self.deaths += 1
        self._end(self.actors[i])
        self.actors[i] = self._start(i)

    def stop(self) -> None:
        actors, self.actors = self.actors, []
        if self.ray.is_initialized():  # otherwise they have ended with it
            for actor in actors:
                self._end(actor)


def _reason(error: BaseException) -> str:
    """One line of the many that Ray's messages have."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if getattr(error, "actor_init_failed", False):
        return lines[-1][:300]  # of a traceback
    return f"{type(error).__name__}: {(lines or ['no reason is known'])[0]}"[:300]


class Merged:
    """What an iteration uses as its pipeline: questions go to one here that does no work, batches come from feeders."""

    def __init__(self, ray: Any, quiet: Feed, dataset: Dataset, feeding: Feeding) -> None:
        self._ray, self._quiet, self._feeding = ray, quiet, feeding
        self._crew: Crew | None = None
        self._hire: Callable[[], Crew] = lambda: Crew(ray, dataset, quiet.delivery.options, feeding)
        self._owner = os.getpid()
        self._stopped = False
        self._turn = 0
        self._due: collections.deque[Request] = collections.deque()
        self._ask = self._behind = Cursor()  # of the next request; behind the last batch that was handed over
        self._before: list[tuple[int, int] | None] = [None] * feeding.feeders
        self._fallen: dict[tuple[int, int], int] = {}  # deaths by batch
        self._bad: list[tuple[int, int, str, str, str]] = []
        self._counts = {"samples": 0, "batches": 0, "wait_s": 0.0}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._quiet.pipeline, name)

    # ------------------------------------------------------------------------------------------- asking

    def _order(self) -> Request:
        """The next request, which is not counted yet."""
        epoch, step = self._ask
        feeder = step % self._feeding.feeders
        state = self._quiet.pipeline.state(epoch, step)
        return Request(Order(self._turn, epoch, step, self._before[feeder], state), feeder)

    def _fill(self, crew: Crew) -> None:
        """As many requests as may be under way."""
        waiting = collections.Counter(request.feeder for request in self._due)
        while waiting[self._ask.step % self._feeding.feeders] < self._feeding.ahead:
            request = self._order()
            crew.ask(request)
            self._due.append(request)
            waiting[request.feeder] += 1
            self._before[request.feeder] = (request.order.epoch, request.order.step)
            self._ask = self._quiet.after(self._ask, 1)

    def _replace(self, crew: Crew, request: Request, error: BaseException) -> None:
        """Its feeder is gone: another one begins with the first batch that has not arrived."""
        if getattr(error, "actor_init_failed", False):
            raise StoppedError(f"feeder {request.feeder} could not begin ({_reason(error)}): every node needs leat and the modules "
                               "of the dataset's functions, by its environment or by runtime_env=") from error
        place = (request.order.epoch, request.order.step)
        self._fallen[place] = self._fallen.get(place, 0) + 1
        if self._fallen[place] >= DEATHS_MAX:
            raise StoppedError(
                f"batch {place[1]} of epoch {place[0]}: {DEATHS_MAX} feeders that were to make it died ({_reason(error)}); if a "
                "sample of it ends the process, `leat check` finds it; `ray logs` has their last words") from error
        crew.replace(request.feeder)
        before: tuple[int, int] | None = None
        for each in self._due:
            if each.feeder != request.feeder or each.answer is not None or (each is not request and self._arrived(each)):
                continue
            each.order = each.order._replace(before=before)
            crew.ask(each)
            before = (each.order.epoch, each.order.step)

    def _arrived(self, request: Request) -> bool:
        """Whether a dead feeder had made it, and it is still there."""
        try:
            request.answer = self._ray.get(request.ref, timeout=0)
        except Exception:
            return False
        return request.answer is not None

    def _await(self, crew: Crew, request: Request) -> Any:
        began, told = time.monotonic(), False
        exceptions = self._ray.exceptions
        while request.answer is None:
            try:
                return self._ray.get(request.ref, timeout=SLICE_S)
            except exceptions.GetTimeoutError:
                waited = time.monotonic() - began
            except exceptions.RayTaskError as error:
                raise StoppedError(f"feeder {request.feeder} could not hand over batch {request.order.step} of epoch "
                                   f"{request.order.epoch}: {_reason(error.cause or error)}") from error
            except exceptions.RayError as error:
                self._replace(crew, request, error)
                continue
            if self.closed:
                raise StoppedError("the feeders were closed")
            if waited > NOTICE_S and not told:
                told = True
                tell(f"batch {request.order.step} of epoch {request.order.epoch} has been waited for {NOTICE_S:.0f} s: "
                     f"{self._cluster()}")
            if waited > self._feeding.timeout:
                raise StoppedError(f"batch {request.order.step} of epoch {request.order.epoch} did not come within timeout="
                                   f"{self._feeding.timeout:.0f} s: {self._cluster()}")
        return request.answer

    def _cluster(self) -> str:
        try:
            free, all_ = self._ray.available_resources(), self._ray.cluster_resources()
        except Exception:
            return "the cluster does not answer"
        return (f"{self._feeding.feeders} feeders want num_cpus={self._feeding.num_cpus:g} each, and {free.get('CPU', 0):g} of "
                f"{all_.get('CPU', 0):g} CPUs of the cluster are free; `ray list actors` tells which of them run")

    # -------------------------------------------------------------------------- what iterations need

    def next(self) -> Arrived | None:
        if self._quiet.pipeline.size()[0] == 0:
            return None
        crew = self._crew
        if crew is None:
            crew = self._crew = self._hire()
            weakref.finalize(self, crew.stop)
        began = time.monotonic()
        while True:
            self._fill(crew)
            request = self._due[0]
            answer = self._await(crew, request)
            self._due.popleft()
            self._fallen.pop((request.order.epoch, request.order.step), None)
            if isinstance(answer, Failure):
                raise answer.error
            self._behind = self._quiet.after(Cursor(request.order.epoch, request.order.step), 1)
            if answer is None:
                continue  # every sample of it was skipped
            self._fill(crew)  # before the trainer works on this one
            self._bad += answer.bad
            self._counts["samples"] += answer.n_valid
            self._counts["batches"] += 1
            self._counts["wait_s"] += time.monotonic() - began
            return Arrived(request.order, answer)

    def next_arrays(self, make: Callable[[Any], Any], epoch: int, step: int) -> Any:
        batch = self.next()
        if batch is None or batch.epoch != epoch or batch.step >= step:
            return batch
        return tuple([array for _, _, array, _ in batch._answer.fields])

    def state(self, *place: int) -> str:
        return self._quiet.pipeline.state(*(place or self._behind))

    def restore(self, state: str) -> None:
        self._quiet.pipeline.restore(state)
        found = CURSOR.search(self._quiet.pipeline.state())
        assert found is not None
        self._turn += 1
        self._due.clear()  # what feeders make of it is dropped when it comes
        self._before = [None] * self._feeding.feeders
        self._ask = self._behind = Cursor(int(found[1]), int(found[2]))

    def stats(self) -> dict[str, Any]:
        crew = self._crew
        return {**self._quiet.pipeline.stats(), **self._counts,
                "feeders": {"running": len(crew.actors) if crew else 0, "deaths": crew.deaths if crew else 0,
                            "requests": len(self._due)}}

    def bad(self) -> list[tuple[int, int, str, str, str]]:
        return list(self._bad)

    @property
    def closed(self) -> bool:
        return self._stopped or self._owner != os.getpid()

    def close(self) -> None:
        self._stopped = True
        if self._owner != os.getpid():
            return
        crew, self._crew = self._crew, None
        if crew is not None:
            crew.stop()
        self._due.clear()
        self._quiet.close()
