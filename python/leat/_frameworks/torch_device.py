# SPDX-License-Identifier: Apache-2.0
"""Batches on the device that trains: copied there one batch ahead, by a stream of their own, from pinned memory.

The copy of the next batch runs while the model works on this one. The memory of a batch on the host is given back when
its copy is complete.
"""
from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable
from typing import Any

from .._base.arrays import Ragged
from .._base.errors import UnsupportedError

torch: Any = importlib.import_module("torch")


def find_device(device: Any, pin_memory: bool) -> Any:
    """The torch.device, or an error that says what is missing."""
    found = None if device is None else torch.device(device)
    if not torch.cuda.is_available() and (pin_memory or (found is not None and found.type == "cuda")):
        what = f"device={str(device)!r}" if found is not None and found.type == "cuda" else "pin_memory=True"
        raise UnsupportedError(f"to_torch({what}): this PyTorch finds no CUDA device; leave it out, or check "
                               "torch.cuda.is_available()")
    return found


def pinned(n: int) -> Any:
    """Memory for a batch that a device can read by itself."""
    return torch.empty(n, dtype=torch.uint8, pin_memory=True).numpy()


class Stream:
    """What copies run on: a stream of their own on CUDA; other devices copy while the caller waits."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self.stream = torch.cuda.Stream(device) if device.type == "cuda" else None

    def copy(self, tensors: list[Any]) -> tuple[list[Any], Any]:
        """The tensors on the device, and an event that comes when they are complete."""
        with torch.cuda.stream(self.stream) if self.stream is not None else contextlib.nullcontext():
            moved = [tensor.to(self.device, non_blocking=True) for tensor in tensors]
            return moved, self.stream.record_event() if self.stream is not None else None

    def hand_over(self, moved: list[Any], event: Any) -> None:
        """What the caller's stream does from here on waits for the copies."""
        if self.stream is not None:
            current = torch.cuda.current_stream(self.device)
            current.wait_event(event)
            for tensor in moved:
                tensor.record_stream(current)

    def wait(self, event: Any) -> None:
        """Until the copies are complete, and the host's memory may be used again."""
        if event is not None:
            event.synchronize()


def _leaves(item: Any, found: list[Any]) -> list[Any]:
    """The tensors of an item, in order."""
    if isinstance(item, torch.Tensor):
        found.append(item)
    elif isinstance(item, Ragged):
        _leaves(item.values, found)
        _leaves(item.offsets, found)
    elif isinstance(item, (tuple, dict)):
        for part in item.values() if isinstance(item, dict) else item:
            _leaves(part, found)
    return found


def _replaced(item: Any, moved: Any) -> Any:
    """The item with other tensors in the same places; strings stay."""
    if isinstance(item, torch.Tensor):
        return next(moved)
    if isinstance(item, Ragged):
        return Ragged(_replaced(item.values, moved), _replaced(item.offsets, moved), item.text)
    if isinstance(item, tuple):
        return tuple(_replaced(part, moved) for part in item)
    if isinstance(item, dict):
        return {key: _replaced(part, moved) for key, part in item.items()}
    return item


class Ahead:
    """An iteration whose batches are on the device; one is on its way there. state is the place after the batch that was
    handed over last: the iterator below has taken one more."""

    def __init__(self, batches: Any, stream: Any, state: Callable[[], str]) -> None:
        self._batches, self._stream, self._state = batches, stream, state
        self._coming: tuple[Any, list[Any], Any] | None = None
        self._copied: tuple[Any, Any] | None = None  # the last batch on the host, and the event of its copy
        self.state = state()
        self._fetch()

    def _fetch(self) -> None:
        host = next(self._batches, None)
        if host is None:
            self._coming = None
            return
        moved, event = self._stream.copy(_leaves(host, []))
        self._coming = host, moved, event

    def __iter__(self) -> Ahead:
        return self

    def __next__(self) -> Any:
        if self._copied is not None:
            self._stream.wait(self._copied[1])
            self._copied = None
        if self._coming is None:
            raise StopIteration
        host, moved, event = self._coming
        self.state = self._state()
        self._fetch()
        self._stream.hand_over(moved, event)
        self._copied = host, event
        return _replaced(host, iter(moved))

    def __del__(self) -> None:
        for event in (self._coming and self._coming[2], self._copied and self._copied[1]):
            self._stream.wait(event)
