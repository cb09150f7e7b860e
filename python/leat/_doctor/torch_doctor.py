# SPDX-License-Identifier: Apache-2.0
"""leat.torch.Doctor: why a loop of torch is slow. It wraps the loader, and reads clocks when a batch is asked for."""
from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from .clocks import Record, Shape, Step, leaves, median, now, settle, shape_of
from .devices import check
from .findings import Diagnosis, Finding, Remedy
from .layers import Row, tell_layers, torch_hooks
from .remedies import tell_copies
from .watch import judge


class Doctor:
    """Watches a loop over a loader, and tells why it is slow.

        doctor = leat.torch.Doctor(model)
        for epoch in range(10):
            for images, labels in doctor(loader):
                ...                                  # the loop as it was
        print(doctor.diagnosis())

    model  for the table of layers and the question which device is used; it may be left out
    steps  after so many steps the doctor prints what it has found; 0: it prints nothing

    The loop gets the loader's own batches. On a GPU the doctor waits for the end of each of these first steps, since otherwise
    the work of the device would look like waiting for data; later steps are not touched.
    """

    def __init__(self, model: Any = None, *, steps: int = 50) -> None:
        self.model, self.steps = model, steps
        self._record, self._shape = Record(), Shape()
        self._loader: Any = None
        self._epoch = -1
        self._batch: Any = None
        self._rows: list[Row] = []
        self._hooks: list[Any] = []
        self._answered = False

    def __call__(self, loader: Any) -> Watched:
        """The loader, watched: iterate over it in the place of the loader."""
        self._loader = loader
        return Watched(self, loader)

    def diagnosis(self) -> Diagnosis:
        """What has been found up to now."""
        if not self._record.steps:
            return Diagnosis(0, 0.0, 0.0, 0.0, notes=["no step has ended; write: for batch in doctor(loader)"])
        if not self._answered:
            self._record.measure_load()
        found = judge(self._record, self._loader, self._shape)
        where = ""
        if self.model is not None:
            parameter = next(iter(self.model.parameters()), None)
            where = str(parameter.device) if parameter is not None else ""
        seen = check(found, "torch", where) if "torch" in sys.modules else []
        tell_copies(found, self._shape, self._copy_seconds(where), bool(seen))
        if seen and where.startswith("cuda"):
            self._tell_cuda(found)
        if 0 < self._shape.samples <= 4:
            found.add(Finding("overhead", f"Batches have {self._shape.samples} samples: most of a step may be its fixed cost.",
                              0.0, "not measured: try a larger batch"))
            found.offer(Remedy("larger batches", 0.0, "memory; the learning rate may have to follow", "DataLoader(..., batch_size=64)"))
        tell_layers(found, self._rows)
        return found

    def _copy_seconds(self, where: str) -> float:
        tensors = [leaf for leaf in leaves(self._batch) if hasattr(leaf, "to")]
        if not where.startswith("cuda") or not tensors:
            return 0.0
        times = []
        for _ in range(3):
            settle()
            begun = now()
            for tensor in tensors:
                tensor.to(where)
            settle()
            times.append(now() - begun)
        return median(times)

    def _tell_cuda(self, found: Diagnosis) -> None:
        torch: Any = sys.modules["torch"]
        if getattr(self._loader, "pin_memory", True) is False:
            found.offer(Remedy("pinned memory", 0.0, "host memory", "DataLoader(..., pin_memory=True)  # and .to(device, non_blocking=True)"))
        if all(each.dtype == torch.float32 for each in self.model.parameters()) and not torch.is_autocast_enabled():
            found.offer(Remedy("mixed precision", 0.0, "16 bits in activations",
                               'with torch.autocast("cuda", dtype=torch.bfloat16): loss = criterion(model(images), labels)'))
        if not hasattr(self.model, "_orig_mod"):
            found.offer(Remedy("a compiled model", 0.0, "a minute at the start", "model = torch.compile(model)"))

    # ------------------------------------------------------------------------------------- what Watched calls

    def _begin(self) -> None:
        self._epoch += 1

    @property
    def _watching(self) -> bool:
        """Whether the end of a step is waited for: the first steps only, later ones run as they would."""
        return len(self._record.steps) < max(self.steps, 50)

    def _got(self, batch: Any, first: float | None) -> None:
        if first is not None:
            self._record.starts.append(first)
        if not self._shape.samples:
            self._shape = shape_of(batch)
        self._batch = batch if self._batch is None else self._batch
        if self.model is not None and not self._rows and not self._hooks and not hasattr(self.model, "_orig_mod"):
            self._hooks = torch_hooks(self.model, self._rows)

    def _unhook(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def _ended(self, wait: float, work: float) -> None:
        self._record.add(Step(self._epoch, wait, work))
        if self.steps and len(self._record.steps) == self.steps:
            self._record.measure_load()
            self._answered = True
            self.diagnosis().show(sys.stderr)


class Watched:
    """A loader whose batches are timed. Everything else is the loader's."""

    def __init__(self, doctor: Doctor, loader: Any) -> None:
        self._doctor, self._loader = doctor, loader

    def __len__(self) -> int:
        return len(self._loader)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def __iter__(self) -> Iterator[Any]:
        doctor = self._doctor
        doctor._begin()
        before = now()
        batches = iter(self._loader)
        first = True
        for batch in batches:
            got = now()
            doctor._got(batch, got - before if first else None)
            begun = now()
            try:
                yield batch
            finally:  # the loop may be left here
                doctor._unhook()
            if doctor._watching:
                settle()
            doctor._ended(got - before, now() - begun)
            first, before = False, now()
