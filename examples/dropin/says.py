# SPDX-License-Identifier: Apache-2.0
"""A callback of the scripts here: one line an epoch, which compare.py reads."""
import time
from typing import Any

import keras


class Says(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self.begin = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        print(f"epoch {epoch + 1}: loss {(logs or {})['loss']:.4f}, {time.perf_counter() - self.begin:.3f} s", flush=True)
