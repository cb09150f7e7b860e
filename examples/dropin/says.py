# SPDX-License-Identifier: Apache-2.0
"""A callback of the scripts here: one line an epoch, which compare.py reads."""
import time
from typing import Any

import keras


class Says(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        self.begin = time.perf_counter(), time.process_time()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        seconds, cpu = time.perf_counter() - self.begin[0], time.process_time() - self.begin[1]
        print(f"epoch {epoch + 1}: loss {(logs or {})['loss']:.4f}, {seconds:.3f} s, CPU {cpu:.3f} s", flush=True)
