# SPDX-License-Identifier: Apache-2.0
"""Resume, a callback of Keras 3 that goes on in the middle of an epoch: leat.keras.Resume. fit itself needs no import.

    ds = leat.from_directory("photos/train").shuffle(seed=7).random_resized_crop(224).cast("f32").batch(64)
    model.fit(ds, epochs=10, callbacks=[leat.keras.Resume("run.resume", every=500)])

Importing this module imports Keras.
"""
from __future__ import annotations

import json
import os
import zipfile
from importlib import import_module
from typing import Any

from .._base.arrays import optional
from .._base.errors import ArgumentError, StateError
from .keras import Adapter, current_adapter, keras

Callback: Any = keras.callbacks.Callback
FORM = "leat.keras.Resume 1"


def _torch() -> Any:
    """torch, if it is the backend: there layers without a seed draw from the numbers of the process."""
    return import_module("torch") if keras.backend.backend() == "torch" else None


def _random_states() -> list[Any]:
    torch = _torch()
    if torch is None:
        return []
    return [torch.get_rng_state(), *(torch.cuda.get_rng_state_all() if torch.cuda.is_available() else ())]


def _set_random_states(states: list[Any]) -> None:
    torch = _torch()
    if torch is not None and states:
        torch.set_rng_state(torch.from_numpy(states[0]))
        if len(states) > 1 and torch.cuda.device_count() == len(states) - 1:
            torch.cuda.set_rng_state_all([torch.from_numpy(state) for state in states[1:]])


def _pack(path: str, about: dict[str, Any], values: list[Any]) -> None:
    """One file with everything, which is there as a whole or not at all."""
    numpy: Any = optional("numpy")
    about["values"] = [[list(value.shape), value.dtype.name] for value in values]
    arrays = {f"v{i}": numpy.frombuffer(value.tobytes(), "uint8") for i, value in enumerate(values)}
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    new = path + ".new"
    with open(new, "wb") as file:
        numpy.savez(file, about=numpy.frombuffer(json.dumps(about).encode(), "uint8"), **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
    handle = os.open(folder, os.O_RDONLY)  # the name too has to survive a loss of power
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _unpack(path: str) -> tuple[dict[str, Any], list[Any]]:
    numpy: Any = optional("numpy")
    try:
        with numpy.load(path) as file:
            about = json.loads(file["about"].tobytes())
            values = [file[f"v{i}"].view(dtype).reshape(shape) for i, (shape, dtype) in enumerate(about["values"])]
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
        about = {}
    if about.get("form") != FORM:
        raise ArgumentError(f"Resume: {path} is not a file of Resume, or not a whole one: delete it to begin anew, "
                            "or give another path")
    return about, values


class Resume(Callback):  # type: ignore[misc]
    """Saves model, optimizer and the place in the data together, and goes on there when fit is started again.

        model.fit(ds, epochs=10, callbacks=[leat.keras.Resume("run.resume", every=500)])

    path    a file; it is replaced as a whole, so that it is never half written
    every   "epoch", or a number of steps
    keep    the file stays after the end of fit; otherwise it is deleted, and the next fit begins anew
    resize_batch    the batch of all ranks together may have another size than when the file was saved: every sample of the
            epoch comes once all the same

    If the file is there when fit begins, the model continues with the step after the one that was saved, with the
    batches that it would have seen. Build and compile the model as before; the seed may be left open.
    """

    def __init__(self, path: str | os.PathLike[str], every: int | str = "epoch", keep: bool = False,
                 resize_batch: bool = False) -> None:
        super().__init__()
        if every != "epoch" and (not isinstance(every, int) or isinstance(every, bool) or every < 1):
            raise ArgumentError(f"Resume: every is \"epoch\" or a number of steps from 1, not {every!r}")
        self.path = os.fspath(path)
        self.every, self.keep, self.resize_batch = every, keep, resize_batch
        self._adapter: Adapter | None = None
        self._begin_run()

    def _begin_run(self) -> None:
        self._epoch = 0
        self._before = 0  # steps of this epoch that an earlier process has done
        self._steps = 0  # steps of this epoch in this process
        self._since = 0  # steps since the last save
        self._metrics: list[Any] = []  # their values in the middle of the epoch, to be set when it begins
        self._random: list[Any] = []  # as well

    def _variables(self) -> tuple[list[Any], list[Any]]:
        """All that training changes: of model and optimizer, and the running metrics."""
        model: Any = self.model
        optimizer = getattr(model, "optimizer", None)
        return ([*model.trainable_variables, *model.non_trainable_variables,
                 *(optimizer.variables if optimizer is not None else ())], list(model.metrics_variables))

    def on_train_begin(self, logs: Any = None) -> None:
        self._begin_run()
        self._adapter = current_adapter()
        if self._adapter is None:
            raise ArgumentError("Resume: fit is not fed by a leat dataset, so there is no place in the data to save; "
                                "use keras.callbacks.BackupAndRestore")
        if not os.path.exists(self.path):
            return
        about, values = _unpack(self.path)
        if about["done"] and about["steps_per_epoch"] != self._adapter.steps:
            raise StateError(f"Resume: {self.path} was saved in the middle of an epoch with steps_per_epoch="
                             f"{about['steps_per_epoch']}, and this fit has {self._adapter.steps}: give the same")
        # On TensorFlow a model may not be built yet, and its metrics never are.
        self.model._symbolic_build(data_batch=self._adapter.symbolic())
        variables, metrics = self._variables()
        wanted = [list(variable.shape) for variable in variables + metrics]
        random = values[len(values) - about["random"]:]
        values = values[:len(values) - about["random"]]
        found = [list(value.shape) for value in values]
        if wanted != found:
            raise StateError(f"Resume: {self.path} is of another model or optimizer ({len(found)} variables, this one "
                             f"has {len(wanted)}, or other shapes): build and compile the same, or delete the file")
        self._adapter.go_on(about["data"], about["done"], self.resize_batch)
        for variable, value in zip(variables, values):
            variable.assign(value)
        self._epoch, self._before = about["epoch"], about["done"]
        self._metrics = values[len(variables):] if about["done"] else []
        self._random = random
        self.model._initial_epoch = about["epoch"]

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.model._initial_epoch = None  # it was for this fit only
        if epoch != self._epoch:
            self._before = 0
        self._epoch, self._steps = epoch, 0
        for variable, value in zip(self._variables()[1], self._metrics):
            variable.assign(value)
        _set_random_states(self._random)
        self._metrics, self._random = [], []

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        assert self._adapter is not None
        last = self._adapter.epoch_steps
        steps = batch + 1 if last is None else min(batch + 1, last)  # several steps at once may go beyond the end
        self._since += steps - self._steps
        self._steps = steps
        if self.every != "epoch" and self._since >= int(self.every) and steps != last:
            self._save(self._epoch, self._before + steps, self._adapter.state(steps))

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        assert self._adapter is not None
        if self.every == "epoch" or self._since >= int(self.every):  # also what was due at the last step
            self._save(epoch + 1, 0, self._adapter.state())

    def on_train_end(self, logs: Any = None) -> None:
        self._adapter = None
        if not self.keep and os.path.exists(self.path):
            os.remove(self.path)

    def _save(self, epoch: int, done: int, data: str) -> None:
        assert self._adapter is not None
        variables, metrics = self._variables()
        numpy: Any = optional("numpy")
        values = [numpy.asarray(keras.ops.convert_to_numpy(variable)) for variable in variables + metrics]
        random = [state.numpy() for state in _random_states()]
        _pack(self.path, {"form": FORM, "epoch": epoch, "done": done, "data": data, "random": len(random),
                          "steps_per_epoch": self._adapter.steps}, values + random)
        self._since = 0
