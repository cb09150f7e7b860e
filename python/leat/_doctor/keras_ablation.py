# SPDX-License-Identifier: Apache-2.0
"""Parts of a step of Keras, measured alone: smaller batches, layers that augment, copies. Everything that a step changes is
put back, bit for bit: weights, state of the optimizer, seeds, metrics, and the random numbers of Python, NumPy and torch."""
from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from .._kerasdata.lift import _inner, _is_preprocessing
from .clocks import leaves, median, now, settle
from .keras_steps import Steps, handed_over

TIMES = 4
LONG = 0.08  # seconds of a step from which on its fixed costs cannot matter
PATIENCE = 15.0  # seconds of the first step, which is compiled: a further compilation must not take longer
# Operations of TensorFlow with a state that is in no variable, or that run code of the user's.
HIDDEN = ("RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal", "ParameterizedTruncatedNormal",
          "RandomGamma", "RandomPoissonV2", "RandomShuffle", "Multinomial", "PyFunc", "PyFuncStateless", "EagerPyFunc")
HIDDEN_FAMILIES = ("StatefulUniform", "StatefulStandard", "StatefulTruncated", "StatefulRandom", "Rng")


def _nodes(graph: Any) -> Iterator[str]:
    definition = graph.as_graph_def()
    for node in definition.node:
        yield node.op
    for function in definition.library.function:
        for node in function.node_def:
            yield node.op


def why_not(model: Any, steps: Steps) -> str:
    """Why a step of this model must not be repeated; "" if it may."""
    if not type(model).train_step.__module__.startswith(("keras.", "tf_keras.")):
        return "the model has a train_step of its own, whose effects are not known"
    if steps.distributed:
        return "the model is distributed"
    if any(op in HIDDEN or op.startswith(HIDDEN_FAMILIES) for graph in steps.graphs() for op in _nodes(graph)):
        return "the step draws random numbers outside of Keras, or runs Python"
    return ""


def _variables(model: Any, steps: Steps) -> list[Any]:
    """All that a step may change."""
    found = [*model.variables, *(model.optimizer.variables if model.optimizer is not None else ()), *model.metrics_variables]
    state = import_module("keras.src.backend.common.global_state").get_global_attribute("global_seed_generator")
    found += [state.state] if state is not None else []
    known = {id(variable.value) for variable in found}
    found += [variable for graph in steps.graphs() for variable in graph.variables if id(variable) not in known]
    seen: set[int] = set()
    return [variable for variable in found if not (id(variable) in seen or seen.add(id(variable)))]  # type: ignore[func-returns-value]


def _numbers(variable: Any) -> Any:
    if not hasattr(variable, "path"):
        return variable.numpy()  # of TensorFlow itself
    return import_module("numpy").array(import_module("keras").ops.convert_to_numpy(variable))


@contextmanager
def restored(model: Any, steps: Steps) -> Iterator[None]:
    """What is trained inside is forgotten."""
    numpy, torch = import_module("numpy"), sys.modules.get("torch") if steps.backend == "torch" else None
    if hasattr(model, "jax_state_sync"):
        model.jax_state_sync()
    variables = _variables(model, steps)
    values = [_numbers(variable) for variable in variables]
    python, arrays = random.getstate(), numpy.random.get_state()
    states = [torch.get_rng_state(), *(torch.cuda.get_rng_state_all() if torch.cuda.is_available() else ())] if torch else []
    try:
        yield
    finally:
        for variable, value in zip(variables, values):
            variable.assign(value)
        random.setstate(python)
        numpy.random.set_state(arrays)
        if torch is not None:
            torch.set_rng_state(states[0])
            if len(states) > 1:
                torch.cuda.set_rng_state_all(states[1:])


# ------------------------------------------------------------------------------------------------ batches of other sizes


def changed(batch: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(batch, dict):
        return {key: changed(part, change) for key, part in batch.items()}
    if isinstance(batch, (tuple, list)):
        return type(batch)(changed(part, change) for part in batch)
    return batch if batch is None else change(batch)


def _resized(array: Any, size: int) -> Any:
    n = int(array.shape[0])
    if size <= n:
        return array[:size]
    ops = import_module("keras").ops
    return ops.concatenate([array] * (size // n), axis=0)


class Repeated:
    """Runs steps on one batch, whose samples are cut or repeated to a size."""

    def __init__(self, model: Any, steps: Steps, batch: Any) -> None:
        self.model, self.steps, self.batch = model, steps, batch
        self.state: Any = None
        if steps.backend == "jax":
            self.state = model._get_jax_state(trainable_variables=True, non_trainable_variables=True, optimizer_variables=True,
                                              metrics_variables=True, purge_model_variables=True)

    def _spec(self, batch: Any) -> Any:
        """The type that the function was traced for, if the batch has it; otherwise that of the batch."""
        tf: Any = sys.modules["tensorflow"]
        flat = tf.nest.flatten(self.steps.spec)
        if all(spec.shape.is_compatible_with(part.shape) for spec, part in zip(flat, tf.nest.flatten(batch))):
            return self.steps.spec
        return tf.nest.map_structure(lambda part: tf.TensorSpec((None, *part.shape[1:]), part.dtype), batch)

    def run(self, size: int) -> float:
        batch = changed(self.batch, lambda array: _resized(array, size))
        owner = None
        if self.steps.backend == "tensorflow":
            given, owner = handed_over([batch], self._spec(batch))
            begun = now()
            settle(self.steps.function(given))
        elif self.steps.backend == "jax":
            begun = now()
            logs, self.state = self.steps.function(self.state, iter([batch]))
            settle((logs, self.state))
        else:
            begun = now()
            settle(self.steps.function([batch]))
        seconds = now() - begun
        del owner
        return seconds


def fixed_cost(model: Any, steps: Steps, batch: Any) -> tuple[float, float, float]:
    """The time of a step, the part of it that does not depend on the samples in a batch, and the time of a sample beyond it.

    A batch is compared with one of a quarter, or of four times as many samples if it is small. No larger batch is tried
    where it could need memory that is not there."""
    samples = int(leaves(batch)[0].shape[0])
    other = samples // 4 if samples >= 8 else samples * 4
    with restored(model, steps):
        repeated = Repeated(model, steps, batch)
        for size in (other, samples):
            repeated.run(size)  # compiles
        times = [(repeated.run(samples), repeated.run(other)) for _ in range(TIMES)]
    now_s, other_s = min(a for a, _ in times), min(b for _, b in times)
    slope = max(0.0, (now_s - other_s) / (samples - other))
    return now_s, max(0.0, now_s - slope * samples), slope


# ------------------------------------------------------------------------------------------------ layers that augment


def augmenting(model: Any) -> list[Any]:
    """Keras's own preprocessing layers at the beginning of a model."""
    keras: Any = import_module("keras")
    found: list[Any] = []
    for layer in getattr(model, "layers", []):
        if type(layer).__name__ == "InputLayer":
            continue
        if not _is_preprocessing(layer, keras):
            break
        found += _inner(layer, keras)
    return found


def time_layers(model: Any, steps: Steps, layers: list[Any], x: Any) -> list[float]:
    """The time of each of these layers, one behind the other, on a batch."""
    times = []
    with restored(model, steps):
        for layer in layers:
            call = _as_in_step(layer, steps.backend, bool(model.jit_compile))
            out = call(x)  # compiles
            settle(out)
            runs = []
            for _ in range(TIMES - 1):
                begun = now()
                out = call(x)
                settle(out)
                runs.append(now() - begun)
            times.append(min(runs))
            x = out
    return times


def _as_in_step(layer: Any, backend: str, jit: bool) -> Callable[[Any], Any]:
    """A call of a layer, compiled if the step is."""
    if backend == "tensorflow":
        function: Any = sys.modules["tensorflow"].function(lambda x: layer(x, training=True))
        return lambda x: function(x)
    if backend == "jax":
        trained = [variable.value for variable in layer.trainable_variables]
        other = [variable.value for variable in layer.non_trainable_variables]

        def stateless(x: Any) -> Any:
            return layer.stateless_call(trained, other, x, training=True)[0]

        return sys.modules["jax"].jit(stateless) if jit else stateless

    def plain(x: Any) -> Any:
        with sys.modules["torch"].no_grad():
            return layer(x, training=True)

    return plain


def copy_seconds(batch: Any) -> float:
    """The time to bring arrays of NumPy to the place where the backend computes."""
    keras, numpy = import_module("keras"), import_module("numpy")
    arrays = [numpy.array(keras.ops.convert_to_numpy(leaf)) for leaf in leaves(batch)]
    times = []
    for _ in range(3):
        begun = now()
        settle([keras.ops.convert_to_tensor(array) for array in arrays])
        times.append(now() - begun)
    return median(times)
