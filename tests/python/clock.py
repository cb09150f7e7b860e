# SPDX-License-Identifier: Apache-2.0
"""A clock for tests of the doctor."""
import threading


class Clock:
    """Time that passes in sleep() only: a machine that is busy does not change what is measured with it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._lock = threading.Lock()

    def __call__(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.seconds += seconds
