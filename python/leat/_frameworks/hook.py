# SPDX-License-Identifier: Apache-2.0
"""Makes Keras take a leat dataset: `model.fit(ds)`. Works in either order of imports, and imports neither.

If Keras is there already, its function is wrapped at once. If not, a finder waits for the one module of Keras that
counts, wraps what is in it as soon as it has run, and never answers for any other.
"""
from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from functools import wraps
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .._base.errors import UnsupportedError
from .._data.dataset import Dataset


def _hook_keras(module: ModuleType) -> None:
    """Keras 3: get_data_adapter chooses by type. EpochIterator.reset is where a batch that was read to build the model
    is given up, and where an adapter learns which loop reads it; Keras tells that in no other way. Around each loop is
    EpochIterator.catch_stop_iteration: there an error of TensorFlow about a bad sample becomes leat's own again."""
    adapters: Any = getattr(module, "data_adapters", None)
    iterator: Any = getattr(module, "EpochIterator", None)
    choose, reset = getattr(adapters, "get_data_adapter", None), getattr(iterator, "reset", None)
    if choose is None or reset is None or hasattr(choose, "leat"):
        return  # another version: to_keras() says so

    @wraps(choose)
    def get_data_adapter(x: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(x, "is_leat_generator", False):
            from .._idg.keras_adapter import adapter_of_generator

            return adapter_of_generator(choose, x, *args, **kwargs)
        if not isinstance(x, Dataset) and not getattr(x, "is_leat_adapter", False):
            return choose(x, *args, **kwargs)
        from .keras import adapter_for

        return adapter_for(x, *args, **kwargs)

    @wraps(reset)
    def reset_and_tell(self: Any) -> None:
        tell = sys.modules.get(f"{__package__}.keras")  # without it there is no adapter of ours
        if tell is not None:
            tell.before_reset(self)
        reset(self)

    catch = getattr(iterator, "catch_stop_iteration", None)
    if catch is not None:
        from contextlib import contextmanager

        @wraps(catch)
        @contextmanager
        def catch_and_translate(self: Any) -> Generator[None, None, None]:
            with catch(self):
                try:
                    yield
                except Exception as error:
                    told = sys.modules.get(f"{__package__}.tf")
                    ours = told.own_error(error) if told is not None else None
                    if ours is None:
                        raise
                    raise ours from None

        iterator.catch_stop_iteration = catch_and_translate
    get_data_adapter.leat = True  # type: ignore[attr-defined]
    adapters.get_data_adapter = get_data_adapter
    iterator.reset = reset_and_tell


def _hook_legacy(module: ModuleType) -> None:
    """tf_keras and Keras 2 are told what to use instead; their own message names no remedy."""
    choose: Any = getattr(module, "select_data_adapter", None)
    if choose is None or hasattr(choose, "leat"):
        return

    @wraps(choose)
    def select_data_adapter(x: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(x, Dataset) or getattr(x, "is_leat_adapter", False):
            raise UnsupportedError("this is tf_keras or Keras 2, which takes no leat dataset: give it ds.to_tf(), "
                                   "or use Keras 3")
        return choose(x, *args, **kwargs)

    select_data_adapter.leat = True  # type: ignore[attr-defined]
    module.select_data_adapter = select_data_adapter  # type: ignore[attr-defined]


HOOKS: dict[str, Callable[[ModuleType], None]] = {
    "keras.src.trainers.epoch_iterator": _hook_keras,
    "keras.src.engine.data_adapter": _hook_legacy,
    "tf_keras.src.engine.data_adapter": _hook_legacy,
}


class Watch:
    """Stands in sys.meta_path and lets the others find; only what it waits for gets one more thing to do."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        hook = HOOKS.get(name)
        if hook is None:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(name, path, target) if find is not None and finder is not self else None
            if spec is not None:
                self._extend(spec, hook)
                return spec
        return None

    @staticmethod
    def _extend(spec: ModuleSpec, hook: Callable[[ModuleType], None]) -> None:
        loader: Any = spec.loader
        if not hasattr(loader, "exec_module"):
            return
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            if module.__name__ == spec.name:  # a loader may serve several modules
                hook(module)

        loader.exec_module = exec_module


def install() -> None:
    for name, hook in HOOKS.items():
        module = sys.modules.get(name)
        if module is not None:
            hook(module)
    if not any(type(finder).__name__ == "Watch" and type(finder).__module__ == __name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, Watch())


install()
