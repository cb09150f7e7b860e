#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs to hand a batch to a framework, beyond an empty generator of the same framework.

    PYTHONPATH=build/package bench/python/deliver.py [--frameworks tensorflow torch jax] [--rounds 15]

A batch has 64x224x224x3 f32 and 64 labels. All slots are filled before the clock starts, and what was taken is kept, so
that the engine rests: the time of each `next` is that of the handing over. The empty generator does what any generator
of the framework has to: two scalars for from_generator in TensorFlow, two tensors that are there already for a
DataLoader in PyTorch, device_put of two scalars in JAX. Both run in turns, and the medians are compared. Addresses show
whether anything was copied. Lines of a Markdown table."""
import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

BATCH = (64, 224, 224, 3)
SLOTS = 12
TAKEN = 8  # of them in a round
WANTED_MS = 0.2


def row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def times(batches: Iterable[Any]) -> tuple[list[float], list[Any]]:
    """Seconds of each `next` but the first, which opens; and what came."""
    source = iter(batches)
    kept = [next(source)]
    time.sleep(1)  # the engine fills its slots meanwhile
    taken = []
    for _ in range(TAKEN):
        begun = time.perf_counter()
        kept.append(next(source))
        taken.append(time.perf_counter() - begun)
    return taken, kept


def tensorflow_ways(dataset: Any) -> tuple[Any, Any, Callable[[Any], int]]:
    import numpy
    import tensorflow as tf

    def empty() -> Iterator[Any]:
        while True:
            yield numpy.float32(0), numpy.int64(0)

    signature = tf.TensorSpec((), tf.float32), tf.TensorSpec((), tf.int64)
    return (tf.data.Dataset.from_generator(empty, output_signature=signature), dataset.to_tf(),
            lambda tensor: numpy.asarray(memoryview(tensor)).ctypes.data)


def torch_ways(dataset: Any) -> tuple[Any, Any, Callable[[Any], int]]:
    import torch

    class Empty(torch.utils.data.IterableDataset):
        def __iter__(self) -> Iterator[Any]:
            pair = torch.zeros(()), torch.zeros(())
            while True:
                yield pair

    loader = torch.utils.data.DataLoader
    return (loader(Empty(), batch_size=None), loader(dataset.to_torch(), batch_size=None),
            lambda tensor: int(tensor.data_ptr()))


def jax_ways(dataset: Any) -> tuple[Any, Any, Callable[[Any], int]]:
    import jax
    import numpy

    def empty() -> Iterator[Any]:
        while True:
            yield jax.device_put((numpy.float32(0), numpy.int32(0)))

    class Empty:
        def __iter__(self) -> Iterator[Any]:
            return empty()

    return Empty(), dataset.to_jax(), lambda array: int(array.unsafe_buffer_pointer())


WAYS = {"tensorflow": tensorflow_ways, "torch": torch_ways, "jax": jax_ways}


def measure(name: str, rounds: int) -> None:
    import leat
    import numpy
    from leat import _run

    samples = numpy.broadcast_to(numpy.zeros(BATCH[1:], "f4"), (1 << 20, *BATCH[1:]))  # one picture, again and again
    dataset = (leat.from_arrays((samples, numpy.zeros(1 << 20, "i8"))).batch(BATCH[0])
               .configure(slots=SLOTS, memory=SLOTS * BATCH[0] * samples[0].nbytes * 3 // 2))
    written = []
    original = _run.Iterator._accept

    def recorded(self: Any, batch: Any) -> Any:
        found = original(self, batch)
        written.append(found.tensors()[0][0].address)
        self._quick = None  # every batch shall pass here
        return found

    empty, ours, address = WAYS[name](dataset)
    _run.Iterator._accept = recorded  # type: ignore[method-assign]
    _, kept = times(ours)
    _run.Iterator._accept = original  # type: ignore[method-assign]
    same = sum(address(images) in written for images, _ in kept)
    copies = f"{same} of {len(kept)} lie where the engine wrote"
    del kept
    baseline, delivered = [], []
    for _ in range(rounds):
        baseline += times(empty)[0]
        seconds, kept = times(ours)
        delivered += seconds
        del kept
    low, high = 1000 * statistics.median(baseline), 1000 * statistics.median(delivered)
    row(name, f"{low:.3f} ms", f"{high:.3f} ms", f"**{high - low:.3f} ms**", f"at most {WANTED_MS} ms", copies)


def main() -> int:
    parser = argparse.ArgumentParser(description="Delivery of a batch against an empty generator.")
    parser.add_argument("--frameworks", nargs="+", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", choices=list(WAYS), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        measure(options.only, options.rounds)
        return 0
    row("framework", "empty generator", "leat", "beyond it", "wanted", "memory")
    print("|---|---|---|---|---|---|", flush=True)
    failed = 0
    for name in options.frameworks:  # a process each: their thread pools would disturb each other
        done = subprocess.run([sys.executable, __file__, "--only", name, "--rounds", str(options.rounds)],
                              stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            failed += 1
            row(name, done.stderr.strip().splitlines()[-1], "", "", "", "")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
