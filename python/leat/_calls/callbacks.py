# SPDX-License-Identifier: Apache-2.0
"""Functions of the user that the engine calls: what `filter` and `map` get and give.

    Parameters      which fields a function takes, by the names of its parameters
    Job             a function with its parameters and the fields that it makes: all that a worker process needs
    FilterFunction, MapFunction    what the engine calls
"""
from __future__ import annotations

import functools
import inspect
import os
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._base.arrays import FORMATS, LEAT_NAMES, NUMPY_NAMES, optional
from .._base.errors import ArgumentError, DTypeError, ReadError, ShapeError, StoppedError
from .._data.bind import _dtype_text, near, quote
from .._frameworks.hook import HOOKS
from .worker import as_memory, copy_into

Described = list[tuple[str, str, tuple[int, ...], memoryview]]
Wanted = list[tuple[str, str, tuple[int, ...]]]
Info = tuple[int, int, int, int]  # seed, epoch, position (behind batch: step), number of the operation
Declared = dict[str, tuple[str, tuple[int | None, ...]] | None]
LETTERS = {dtype: letter for letter, dtype in reversed(list(FORMATS.items()))}


def value_of(dtype: str, shape: tuple[int, ...], data: memoryview) -> Any:
    """What a function sees of one field: an array of its own, a number, or bytes."""
    numpy = optional("numpy")
    if dtype == "bytes":
        return bytes(data)
    types = optional("ml_dtypes") if dtype == "bf16" else None
    if numpy is not None and (dtype != "bf16" or types is not None):
        values = numpy.frombuffer(data, types.bfloat16 if types is not None else NUMPY_NAMES[dtype])
        return values[0] if not shape else values.reshape(shape).copy()
    view: Any = memoryview(bytes(data)).cast(LETTERS.get(dtype, "B"))  # type: ignore[call-overload]
    return view[0] if not shape else view


def generator(info: Info) -> Any:
    """The random numbers of one call: a function of seed, epoch, position and operation alone."""
    numpy = optional("numpy")
    if numpy is None:
        raise ImportError("a parameter called rng needs NumPy: pip install numpy")
    return numpy.random.default_rng(info)


def seed_globals(info: Info) -> None:
    """In a worker process, where no other code uses them: what libraries draw without being asked which generator."""
    import random

    numpy = optional("numpy")
    if numpy is not None:
        first, second, third = numpy.random.SeedSequence((*info, 1)).generate_state(3).tolist()
        numpy.random.seed(first)
        random.seed(second)
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.manual_seed(third)
        else:  # this call may be the one that imports torch
            HOOKS["torch"] = lambda imported: imported.manual_seed(third)


def find_generators(function: Callable[..., Any]) -> list[Any]:
    """What a function uses that draws from a generator of its own and can be seeded, as Albumentations' transforms: the
    function itself, its object, and what it mentions by name."""
    looked: list[Any] = [function]
    while isinstance(function, functools.partial):
        function = function.func
        looked.append(function)
    own = getattr(function, "__self__", function)
    looked += [own, *getattr(own, "__dict__", {}).values()]
    code = function if inspect.isroutine(function) else getattr(type(function), "__call__", None)
    if inspect.isfunction(code) or inspect.ismethod(code):
        used = inspect.getclosurevars(code)
        looked += [*used.nonlocals.values(), *used.globals.values()]
    found: dict[int, Any] = {}
    for each in looked:
        if not inspect.ismodule(each) and not inspect.isclass(each) and callable(getattr(each, "set_random_seed", None)):
            found[id(each)] = each
    return list(found.values())


# -------------------------------------------------------------------------------------------- parameters


class Parameters:
    """Which fields a function takes: a parameter gets the field of its name.

    `rng` gets random numbers, `sample` a dict of all fields, **kwargs the fields that have no parameter of their own. A
    parameter with a default value need not be a field.
    """

    def __init__(self, function: Callable[..., Any], what: str) -> None:
        self.what = what
        self.title = getattr(function, "__name__", type(function).__name__)
        if not callable(function):
            raise TypeError(f"{what}() needs a function, not {type(function).__name__} {function!r:.60}")
        try:
            found = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            raise TypeError(f"{what}(): the parameters of {self.title} cannot be read: write "
                            f"{what}(lambda image: {self.title}(image))") from None
        bound = function.keywords if isinstance(function, functools.partial) else {}
        self.rest = any(each.kind is each.VAR_KEYWORD for each in found)
        taken = [each for each in found if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
                 and each.name not in bound]
        self.names = [each.name for each in taken]
        self.required = {each.name for each in taken if each.default is each.empty}
        self.positional = {each.name for each in taken if each.kind is each.POSITIONAL_ONLY}

    def fields(self, present: Sequence[str]) -> list[str]:
        """Parameters that are fields, in order."""
        return [name for name in self.names if name in present and name != "rng"]

    def needs(self, present: Sequence[str]) -> list[str]:
        """The fields that the function gets; all of them for the message about one that is missing."""
        everything = self.rest or "sample" in self.names or not self.required <= {*present, "rng"}
        return list(present) if everything else self.fields(present)

    def arguments(self, values: Mapping[str, Any], info: Info) -> tuple[list[Any], dict[str, Any]]:
        args, kwargs = [], {}
        for name in self.names:
            if name == "rng":
                value: Any = generator(info)
            elif name in values:
                value = values[name]
            elif name == "sample":
                value = dict(values)
            elif name in self.required:
                raise ArgumentError(
                    f"{self.what}(): {self.title}() has a parameter '{name}', and there is no field of that name"
                    f"{near(name, values)}: a parameter gets the field of its name, there are {', '.join(values)}; "
                    "'sample' gets all of them")
            else:
                continue
            if name in self.positional:
                args.append(value)
            else:
                kwargs[name] = value
        if self.rest:
            kwargs.update((name, value) for name, value in values.items() if name not in self.names)
        return args, kwargs


# --------------------------------------------------------------------------------------------- results


def _leat_dtype(name: str, dtype: object) -> str:
    text = _dtype_text(dtype) or ""
    short = LEAT_NAMES.get(text, text)
    if short not in NUMPY_NAMES or short == "bytes":
        raise TypeError(f"map(): {name} must have a type such as 'f32' or 'uint8', not {dtype!r}"
                        f"{near(text, [*NUMPY_NAMES, *NUMPY_NAMES.values()])}")
    return short


def declarations(fields: Mapping[str, Any]) -> Declared:
    """What the user says of the fields that a map makes: dtype, (dtype, shape), or None for what one call shows."""
    declared: Declared = {}
    for name, given in fields.items():
        if given is None:
            declared[name] = None
            continue
        dtype, shape = given if isinstance(given, tuple) else (given, ())
        sizes = (shape,) if shape is None or isinstance(shape, int) else tuple(shape)
        for size in sizes:
            if size is not None and (not isinstance(size, int) or isinstance(size, bool) or size < 1):
                raise TypeError(f"map(): {name}: sizes are numbers above 0, or None for one that differs, "
                                f"not {size!r}")
        declared[name] = (_leat_dtype(name, dtype), sizes)
    return declared


def declared_text(declared: Declared) -> list[str]:
    """The fields as the text has them."""
    texts = []
    for name, given in declared.items():
        if given is not None:
            sizes = ",".join("*" if size is None else str(size) for size in given[1])
            texts.append(quote(f"{name}:{given[0]}" + (f"[{sizes}]" if sizes else "")))
    if None in declared.values() or not declared:
        texts.append("*")
    return texts


def _without_numpy(value: Any, dtype: str | None) -> tuple[str, Any]:
    import array

    if isinstance(value, (bool, int, float)):
        dtype = dtype or ("bool" if isinstance(value, bool) else "i64" if isinstance(value, int) else "f32")
        view = memoryview(array.array(LETTERS[dtype].replace("?", "b"), [value])).cast("B")
        return dtype, view.cast(LETTERS[dtype], ())  # type: ignore[call-overload]
    view = memoryview(value)
    return dtype or FORMATS[view.format], view


class Alone:
    """A lock for one call at a time: a function of the user's need not be ready for several threads."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._lock, self._pid = threading.Lock(), os.getpid()

    def enter(self, stopping: Callable[[], bool]) -> None:
        """Waits for other calls, without the interpreter's lock."""
        if self._pid != os.getpid():  # a thread of the parent may have held it when this process was forked
            self._reset()
        while not self._lock.acquire(timeout=0.1):
            if stopping():
                raise StoppedError("the pipeline was closed")

    def leave(self) -> None:
        self._lock.release()


_using: weakref.WeakKeyDictionary[Any, Alone] = weakref.WeakKeyDictionary()


def _alone_with(generators: list[Any]) -> list[Alone]:
    """Locks for objects that are seeded for a call: functions of several datasets may use the same one, and seeding and
    drawing belong together."""
    return [_using.setdefault(each, Alone()) for each in sorted(generators, key=id)]


class Job:
    """A function, what it takes and what it makes."""

    def __init__(self, function: Callable[..., Any], parameters: Parameters, declared: Declared) -> None:
        self.function, self.parameters, self.declared = function, parameters, declared
        self.generators: list[Any] | None = None  # looked for in the process that calls the function

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "generators": None}

    def _call(self, info: Info, args: Any, kwargs: Any) -> Any:
        if self.generators is None:
            self.generators = find_generators(self.function)
        numpy = optional("numpy") if self.generators else None
        if numpy is None:
            return self.function(*args, **kwargs)
        seeds = numpy.random.SeedSequence((*info, 2)).generate_state(len(self.generators)).tolist()
        held = _alone_with(self.generators)
        for lock in held:
            lock.enter(lambda: False)
        try:
            for each, seed in zip(self.generators, seeds):
                each.set_random_seed(seed)
            return self.function(*args, **kwargs)
        finally:
            for lock in held:
                lock.leave()

    def apply(self, info: Info, values: Mapping[str, Any]) -> list[tuple[str, str, Any]]:
        """Calls it: (name, dtype, array) of each field that it makes."""
        args, kwargs = self.parameters.arguments(values, info)
        made = self._named(self._call(info, args, kwargs), self.parameters.fields(list(values)))
        missing = [name for name in self.declared if name not in made]
        if missing:
            raise ArgumentError(f"map(): {self.parameters.title}() gave no {', '.join(missing)}, but "
                                f"{', '.join(map(str, made))}")
        found = [(name, *self._array(name, value)) for name, value in made.items()
                 if not (isinstance(value, bytes) and value is values.get(name))]
        if not found:
            raise DTypeError(f"map(): {self.parameters.title}() gave no field")
        return found

    def _named(self, made: Any, given: list[str]) -> dict[str, Any]:
        """The results by the names of their fields."""
        title, declared = self.parameters.title, list(self.declared)
        names = declared or given
        if isinstance(made, Mapping):
            for name in made:
                if not isinstance(name, str):
                    raise DTypeError(f"map(): {title}() gave a dict with the key {name!r:.60}: keys name fields")
            others = [name for name in made if declared and name not in declared]
            if others:
                raise ArgumentError(f"map(): {title}() gave {', '.join(map(str, others))} too: declare all fields that "
                                    f"it makes, or none; {others[0]}=None is found by one call")
            return dict(made)
        if made is None:
            raise DTypeError(f"map(): {title}() gave None: does it lack a return?")
        if isinstance(made, tuple):
            if not 1 <= len(made) <= len(names):
                raise DTypeError(f"map(): {title}() gave a tuple of {len(made)}, for {len(names)} fields"
                                 f" ({', '.join(names)}): a dict can name others")
            return dict(zip(names, made))
        if not names or len(declared) > 1:
            raise DTypeError(f"map(): {title}() must give a dict that names its fields, not {type(made).__name__}")
        return {names[0]: made}

    def _array(self, name: str, value: Any) -> tuple[str, Any]:
        """dtype and array of one result; numbers, PIL images and tensors of the frameworks become arrays."""
        declared = self.declared.get(name)
        if isinstance(value, (str, bytes, bytearray)):
            raise DTypeError(f"map(): {name} is {type(value).__name__}: a map makes numbers; keep strings as they are")
        numpy = optional("numpy")
        if numpy is None:
            return _without_numpy(value, declared[0] if declared else None)
        if declared is None:
            dtype, _, array = as_memory(value)
            return dtype, array
        if hasattr(value, "detach") or (hasattr(value, "numpy") and not isinstance(value, numpy.ndarray)):
            value = as_memory(value)[2]
        dtype, shape = declared
        type_ = optional("ml_dtypes").bfloat16 if dtype == "bf16" else NUMPY_NAMES[dtype]  # type: ignore[union-attr]
        array = numpy.asarray(value, dtype=type_)
        if shape == () and array.size == 1:
            array = array.reshape(())
        if len(array.shape) != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape)):
            raise ShapeError(f"map(): {name} has the shape {array.shape}, {shape} was declared")
        return dtype, array


# ------------------------------------------------------------------------------------ what the engine calls


class Function:
    """What the engine calls."""

    def __init__(self) -> None:
        self.alone = Alone()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("alone", "pool", "free", "owner")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Function.__init__(self)
        self.__dict__.update(state)


class FilterFunction(Function):
    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self.function, self.parameters = function, Parameters(function, "filter")

    def __call__(self, info: Info, fields: Described, stopping: Callable[[], bool]) -> bool:
        names = self.parameters.needs([name for name, *_ in fields])
        self.alone.enter(stopping)
        try:
            values = {name: value_of(dtype, shape, data) for name, dtype, shape, data in fields if name in names}
            args, kwargs = self.parameters.arguments(values, info)
            return bool(self.function(*args, **kwargs))
        finally:
            self.alone.leave()


class MapFunction(Function):
    """The function of a map: in the engine's threads, or in `workers` processes."""

    def __init__(self, job: Job, workers: int) -> None:
        super().__init__()
        self.job, self.workers = job, workers
        self.made: set[str] = set()  # fields, as far as calls have shown them

    def __call__(self, info: Info, fields: Described, stopping: Callable[[], bool], wanted: Wanted,
                 make: Callable[[str, str, tuple[int, ...]], memoryview]) -> None:
        names = self.job.parameters.needs([name for name, *_ in fields])
        given = [field for field in fields if field[0] in names]
        if self.workers:
            self._in_process(info, given, stopping, wanted, make)
            return
        self.alone.enter(stopping)
        try:
            made = self.job.apply(info, {name: value_of(dtype, shape, data) for name, dtype, shape, data in given})
        finally:
            self.alone.leave()
        self._check([(name, dtype, tuple(array.shape)) for name, dtype, array in made], wanted)
        numpy = optional("numpy")
        for name, dtype, array in made:
            memory = make(name, dtype, tuple(array.shape))
            if numpy is not None:
                copy_into(memory, 0, array)
            else:
                memory[:] = memoryview(array).cast("B")

    def _check(self, made: Wanted, wanted: Wanted) -> None:
        """Tells with a remedy what the engine would refuse; fields that are not wanted yet are being found."""
        self.made.update(name for name, *_ in made)
        types = {name: (dtype, shape) for name, dtype, shape in wanted}
        for name, dtype, shape in made:
            first = types.get(name)
            if first and (first[0] != dtype or len(first[1]) != len(shape)):
                raise (DTypeError if first[0] != dtype else ShapeError)(
                    f"map(): {name} is {NUMPY_NAMES[dtype]} of shape {shape}, and was {NUMPY_NAMES[first[0]]} with "
                    f"{len(first[1])} axes in the first call: convert it in the function, or declare it, such as "
                    f"map(f, {name}=('{dtype}', {shape}))")

    # ------------------------------------------------------------------------------------ in processes

    def _start(self, stopping: Callable[[], bool]) -> Any:
        from .processes import Pool, pickled

        self.alone.enter(stopping)
        try:
            if getattr(self, "owner", None) != os.getpid():  # the first call, or after fork
                pool = Pool("the function of map()")
                function = self.job.function
                pool.begin = (sys.path, pickled(self.job, function, "map(): the function"), None, False)
                self.free = threading.BoundedSemaphore(self.workers)
                self.pool, self.owner = pool, os.getpid()
            return self.pool
        finally:
            self.alone.leave()

    def _in_process(self, info: Info, given: Described, stopping: Callable[[], bool], wanted: Wanted,
                    make: Callable[[str, str, tuple[int, ...]], memoryview]) -> None:
        from .processes import TRIES

        pool, code = self._start(stopping), 0

        def stopped() -> bool:
            return pool.closed or stopping()

        while not self.free.acquire(timeout=0.1):
            if stopped():
                raise StoppedError("the pipeline was closed")
        try:
            for _ in range(TRIES):
                process = pool.take()
                try:
                    places = process.put([data for *_, data in given])
                    fields = [(name, dtype, shape, place, data.nbytes)
                              for place, (name, dtype, shape, data) in zip(places, given)]
                    answer = process.ask(("call", info, fields), stopped)
                except EOFError:
                    code = process.process.wait()
                    pool.drop(process)
                    continue
                except BaseException:  # it is still at work, and would answer a question that was given up
                    pool.drop(process)
                    raise
                try:
                    self._take(process, pool.check(answer)[1], wanted, make)
                finally:
                    pool.give(process)
                return
        finally:
            self.free.release()
        raise ReadError(f"the function of map() has ended its worker process {TRIES} times for the same sample, the "
                        f"last time with exit code {code}; try it in a process of your own")

    def _take(self, process: Any, places: list[tuple[str, str, tuple[int, ...], int, int]], wanted: Wanted,
              make: Callable[[str, str, tuple[int, ...]], memoryview]) -> None:
        self._check([(name, dtype, shape) for name, dtype, shape, *_ in places], wanted)
        memory = memoryview(process.memory(max(offset + n for *_, offset, n in places)))
        for name, dtype, shape, offset, n in places:
            make(name, dtype, shape)[:] = memory[offset:offset + n]


def map_workers(workers: object) -> int:
    """The number of worker processes that map() was asked for; 0 = none."""
    if workers is None:
        return 0
    if workers == "auto":
        return max(1, min(len(os.sched_getaffinity(0)), 16))
    if not isinstance(workers, int) or isinstance(workers, bool) or not 0 <= workers <= 256:
        raise ValueError(f"map(): workers must be 'auto' or a number from 0 to 256, not {workers!r}")
    return workers


def threads_for(callbacks: Sequence[tuple[str, bool, Any]], threads: int, ranks: bool) -> int:
    """Threads of the engine that keep worker processes busy, 0 = as always: each asks one process at a time."""
    workers = max([getattr(function, "workers", 0) for *_, function in callbacks], default=0)
    cores = 0 if ranks or not workers else len(os.sched_getaffinity(0))
    return max(threads, workers, cores)
