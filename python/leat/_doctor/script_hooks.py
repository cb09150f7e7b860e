# SPDX-License-Identifier: Apache-2.0
"""Where a script is watched: functions of Keras, TensorFlow, torch and leat that read the clock and call what was there.

Each is put in when the module that has it is imported, so nothing is imported that the script does not import.
"""
from __future__ import annotations

from functools import wraps
from importlib import import_module
from inspect import signature
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .._frameworks import hook
from .clocks import Step, now, settle

if TYPE_CHECKING:
    from .script import Fit, Loop, Observer

WRITES = ("ModelCheckpoint", "BackupAndRestore", "Resume")  # callbacks that are taken out if the script is to stop


def install(observer: Observer) -> None:
    """From now on this observer sees what the program trains with."""
    hook.HOOKS.update({
        "keras.src.backend.tensorflow.trainer": lambda module: _keras(module, "TensorFlowTrainer", observer),
        "keras.src.backend.jax.trainer": lambda module: _keras(module, "JAXTrainer", observer),
        "keras.src.backend.torch.trainer": lambda module: _keras(module, "TorchTrainer", observer),
        "tensorflow.python.data.ops.iterator_ops": lambda module: _tensorflow(module, observer),
        "torch.utils.data.dataloader": lambda module: _torch(module, observer),
    })
    hook.install()
    _leat(observer)


# ------------------------------------------------------------------------------------------------ Keras


def _keras(module: ModuleType, name: str, observer: Observer) -> None:
    trainer: Any = getattr(module, name)
    fit, on_batch = trainer.fit, trainer.train_on_batch
    form, form_on_batch = signature(fit), signature(on_batch)

    @wraps(fit)
    def watched_fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not observer.looking:
            return fit(self, *args, **kwargs)
        seen, ours = _begin_fit(observer)
        bound = form.bind(self, *args, **kwargs)
        bound.arguments["callbacks"] = _callbacks(bound.arguments.get("callbacks"), ours, bool(observer.limit))
        observer.depth += 1
        try:
            return fit(*bound.args, **bound.kwargs)
        finally:
            observer.depth -= 1
            seen.ended()

    last = [0.0]  # when the last call returned

    @wraps(on_batch)
    def watched_on_batch(self: Any, *args: Any, **kwargs: Any) -> Any:
        """What lies between two calls is the making of the batch, unless a loop over a data set is watched."""
        loop = observer.loop(BETWEEN, "train_on_batch") if observer.looking and not observer.in_loop else None
        if loop is None:
            return on_batch(self, *args, **kwargs)
        begun = now()
        observer.depth += 1
        try:
            result = on_batch(self, *args, **kwargs)
        finally:
            observer.depth -= 1
        settle(result)
        loop.look(form_on_batch.bind(self, *args, **kwargs).arguments.get("x"))
        loop.record.add(Step(0, begun - last[0] if last[0] else 0.0, now() - begun))
        last[0] = now()
        observer.check(loop)
        return result

    trainer.fit, trainer.train_on_batch = watched_fit, watched_on_batch


class Between:
    """Stands for a source that is not seen: the script makes batches itself between two calls of train_on_batch."""


BETWEEN = Between()


def _begin_fit(observer: Observer) -> tuple[Fit, list[Any]]:
    """A doctor for a fit, and a callback that ends the script after the steps that were asked for."""
    from .keras_doctor import Doctor
    from .script import Fit

    callback: Any = import_module("keras").callbacks.Callback
    doctor = Doctor(steps=max(1, observer.limit - 3) if observer.limit else 40, show=False)
    seen = Fit(doctor)
    observer.watched.append(seen)

    class Stop(callback):  # type: ignore[misc]
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            seen.steps += self.model.steps_per_execution
            observer.check(seen)

    return seen, [doctor, Stop()]


def _callbacks(given: Any, ours: list[Any], stops: bool) -> Any:
    """The callbacks of a fit and ours. A list of the program's stays as it is."""
    keras: Any = import_module("keras")
    if isinstance(given, keras.callbacks.CallbackList):
        given.callbacks[:] = [each for each in given.callbacks if not (stops and _writes(each))]
        for each in ours:
            given.append(each)
            each.set_model(given.model)
            each.set_params(given.params)
        return given
    some = list(given) if isinstance(given, (list, tuple)) else [given] if given is not None else []
    return [*(each for each in some if not (stops and _writes(each))), *ours]


def _writes(callback: Any) -> bool:
    return any(cls.__name__ in WRITES for cls in type(callback).__mro__)


# ------------------------------------------------------------------------------------------------ iterators


def _take(observer: Observer, loop: Loop | None, iterator: Any, following: Any) -> Any:
    """A batch for a loop of the script. StopIteration is an end like any other: the last step was counted when it was asked."""
    if loop is None:
        return following(iterator)
    loop.asked(iterator)
    observer.check(loop)
    begun = now()
    observer.depth += 1
    try:
        batch = following(iterator)
    finally:
        observer.depth -= 1
    loop.got(batch, now() - begun)
    return batch


def _tensorflow(module: ModuleType, observer: Observer) -> None:
    cls, context = module.OwnedIterator, module.context
    following = cls.__next__

    @wraps(following)
    def watched(self: Any) -> Any:
        looking = observer.looking and context.executing_eagerly() and getattr(self, "_dataset", None) is not None
        return _take(observer, observer.loop(self._dataset, "a tf.data.Dataset") if looking else None, self, following)

    cls.__next__ = watched


def _torch(module: ModuleType, observer: Observer) -> None:
    loader, cls = module.DataLoader, module._BaseDataLoaderIter
    begin, following = loader.__iter__, cls.__next__

    @wraps(begin)
    def watched_iter(self: Any) -> Any:
        iterator = begin(self)
        iterator._leat_loader = self
        return iterator

    @wraps(following)
    def watched(self: Any) -> Any:
        source = getattr(self, "_leat_loader", None)
        looking = observer.looking and source is not None
        return _take(observer, observer.loop(source, "a DataLoader") if looking else None, self, following)

    loader.__iter__, cls.__next__ = watched_iter, watched


def _leat(observer: Observer) -> None:
    from .. import Iterator

    made, following = Iterator.__init__, Iterator.__next__

    @wraps(made)
    def watched_init(self: Any, dataset: Any, *args: Any, **kwargs: Any) -> None:
        made(self, dataset, *args, **kwargs)
        self._leat_source = dataset

    @wraps(following)
    def watched(self: Any) -> Any:
        source = getattr(self, "_leat_source", None)
        looking = observer.looking and source is not None
        return _take(observer, observer.loop(source, "a dataset of leat") if looking else None, self, following)

    Iterator.__init__, Iterator.__next__ = watched_init, watched  # type: ignore[method-assign]
