# SPDX-License-Identifier: Apache-2.0
"""What the steps of a fit say, and what else is to be known about a model of Keras."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .clocks import Record, Shape, mean, median
from .devices import check
from .findings import Diagnosis, Finding, Remedy, duration, percent
from .keras_ablation import LONG, PATIENCE, augmenting, copy_seconds, fixed_cost, time_layers, why_not
from .keras_steps import Steps
from .layers import SLOW, USUAL, keras_rows, operations, tell_layers
from .remedies import MUCH, kind_of, tell_copies, tell_epochs, tell_waiting

MOST = 0.9  # of a step: layers are timed one by one, which takes longer than all of them together
WITHOUT_XLA = "RandomRotation, RandomZoom, RandomTranslation, RandomCrop, RandomShear and RandomPerspective"
QUICK_REMEDY = {
    "ModelCheckpoint": 'ModelCheckpoint(path, save_freq="epoch")',
    "TensorBoard": 'TensorBoard(log_dir, update_freq="epoch")',
    "BackupAndRestore": 'BackupAndRestore(path, save_freq="epoch")',
    "ProgbarLogger": "model.fit(..., verbose=2)",
}


@dataclass
class Seen:
    """What a doctor has noted of one fit."""

    record: Record
    shape: Shape
    source: Any = None  # the x of fit
    batch: Any = None  # the last one
    sizes: list[int] = field(default_factory=list)
    callbacks: dict[str, float] = field(default_factory=dict)  # seconds at steps, by name
    epoch_callbacks: dict[str, float] = field(default_factory=dict)
    listed: float = 0.0  # seconds of Keras's list of callbacks, with what it does itself
    listed_steps: int = 0
    asynchronous: bool = False  # callbacks run in another thread, beside the steps
    tests: list[float] = field(default_factory=list)
    epochs: list[float] = field(default_factory=list)
    epoch_steps: int = 0
    in_epoch: int = 0
    traces: int = 0
    earlier_traces: int = 0
    compiled: list[tuple[int, bool]] = field(default_factory=list)  # steps that were compiled anew, and whether the batch was short
    measured: dict[str, Any] = field(default_factory=dict)  # what was measured alone, once
    ended: bool = False


def judge(model: Any, steps: Steps, seen: Seen, ablation: bool) -> Diagnosis:
    record = seen.record
    counted = record.counted()
    at_step = sum(seen.callbacks.values()) / max(1, seen.listed_steps) if not seen.asynchronous else 0.0
    listed = max(at_step, seen.listed / max(1, seen.listed_steps))
    wait, work, between = (mean([getattr(step, name) for step in counted]) for name in ("wait", "work", "between"))
    per = model.steps_per_execution
    found = Diagnosis(len(counted), (wait + work + between + listed) / per, wait / per, work / per, batch=seen.shape.samples,
                      parts={"callbacks": listed / per, "Keras": between / per})
    framework = {"tensorflow": "tensorflow", "jax": "jax", "torch": "torch"}[steps.backend]
    if not record.steps:
        return found
    gpus = check(found, framework, _place(model, steps.backend))
    if not any(step.split for step in record.steps):
        found.notes.append("The wait for data could not be told from compute: with tf.distribute it happens inside the compiled step.")
    tell_waiting(found, record, seen.source, seen.shape)
    if ablation:
        _measure(model, steps, seen, found)
    _tell_augmentation(found, model, steps, seen, bool(gpus))
    _tell_callbacks(found, seen)
    _tell_compute(found, model, steps, seen, gpus)
    _tell_tracing(found, model, steps, seen)
    if "copy" in seen.measured and (gpus or kind_of(seen.source) not in ("tf.data", "leat")):
        tell_copies(found, seen.shape, seen.measured["copy"], bool(gpus))
    tell_epochs(found, record, seen.source)
    _tell_validation(found, seen)
    tell_layers(found, keras_rows(model), sum(time for _, time in seen.measured.get("layers", [])))
    if "no" in seen.measured:
        found.notes.append(f"Parts of a step were not measured alone: {seen.measured['no']}.")
    return found


def _place(model: Any, backend: str) -> str:
    variable = next(iter(model.variables), None)
    if variable is None or backend != "torch":
        return ""
    return str(getattr(variable.value, "device", ""))


def _measure(model: Any, steps: Steps, seen: Seen, found: Diagnosis) -> None:
    """What is measured alone, once in a fit: it takes a second or two, and more where programs are compiled for it."""
    if "done" in seen.measured or seen.batch is None:
        return
    seen.measured["done"] = True
    no = why_not(model, steps)
    if no:
        seen.measured["no"] = no
        return
    x = seen.batch[0] if isinstance(seen.batch, (tuple, list)) else seen.batch
    seen.measured["copy"] = copy_seconds(seen.batch)
    layers = augmenting(model)
    if layers and hasattr(x, "shape"):
        seen.measured["layers"] = list(zip(layers, time_layers(model, steps, layers, x)))
    first = seen.record.steps[0].work
    if found.compute_s < LONG and first < PATIENCE and model.steps_per_execution == 1 and not steps.model.run_eagerly:
        seen.measured["fixed"] = fixed_cost(model, steps, seen.batch)


def _tell_augmentation(found: Diagnosis, model: Any, steps: Steps, seen: Seen, gpu: bool) -> None:
    layers = augmenting(model)
    if not layers:
        return
    timed = seen.measured.get("layers", [])
    alone = seen.measured.get("fixed")
    slower = max(1.0, found.compute_s / alone[0]) if alone is not None else 1.0  # steps meet other programs, and each other
    seconds = min(slower * sum(time for _, time in timed), MOST * found.compute_s)
    share = seconds / found.step_s if found.step_s > 0 else 0.0
    off = sorted({type(layer).__name__ for layer in layers if not getattr(layer, "supports_jit", True)})
    evidence = ", ".join(f"{layer.name} {duration(time)}" for layer, time in timed) or "their time was not measured"
    if off and steps.backend != "torch":
        where = "On a GPU" if steps.backend == "tensorflow" else "On JAX"
        evidence += (f". {where}, {' and '.join(off)} also {'switch' if len(off) > 1 else 'switches'} XLA off for the whole model; six of "
                     f"Keras's layers do: {WITHOUT_XLA}")
    if share < MUCH and not (gpu and off):
        return
    names = ", ".join(layer.name for layer in layers[:4]) + (f" and {len(layers) - 4} more" if len(layers) > 4 else "")
    what = "Augmentation" if any(type(layer).__name__.startswith("Random") for layer in layers) else "Preprocessing"
    found.add(Finding("augmentation", f"{what} inside the model takes {duration(seconds)}, {percent(share)} of a step: {names}.",
                      share, evidence, share > 0.5))
    found.offer(Remedy("augmentation in leat's engine, beside the step", found.step_s / max(1e-9, found.step_s - seconds),
                       "", "model, ds = leat.keras.lift(model, ds)\nmodel.compile(...)  # as before", True))


def _tell_compute(found: Diagnosis, model: Any, steps: Steps, seen: Seen, gpus: list[str]) -> None:
    step = found.step_s
    share = found.compute_s / step if step > 0 else 0.0
    work = operations(keras_rows(model), found.batch)
    if model.run_eagerly and steps.backend != "torch":
        found.add(Finding("eager", f"Steps run eagerly: every operation is called from Python, {duration(found.compute_s)} a step.", share,
                          "run_eagerly=True was given to compile()"))
        found.offer(Remedy("compiled steps", 0.0, "", "model.compile(..., run_eagerly=False)"))
    elif steps.backend == "jax" and not model.jit_compile:
        off = sorted({layer.name for layer in model._flatten_layers(include_self=False) if not layer.supports_jit})
        found.add(Finding("eager", f"Steps are not compiled: every operation is called from Python, {duration(found.compute_s)} a step.", share,
                          f"Keras does not compile a model with {', '.join(off[:4])} on JAX" if off else "jit_compile=False was given to "
                          "compile()"))
        found.offer(Remedy("compiled steps", 0.0, "", "model, ds = leat.keras.lift(model, ds)\nmodel.compile(...)  # as before" if off else
                           'model.compile(..., jit_compile="auto")'))
    fixed = seen.measured.get("fixed")
    own = sum(total for total in seen.callbacks.values() if total / max(1, seen.listed_steps) >= MUCH * step)  # told by their names
    overhead = found.parts["Keras"] + max(0.0, found.parts["callbacks"] - own / max(1, seen.listed_steps))
    how = "the time between steps"
    if fixed is not None:
        alone, constant, slope = fixed
        overhead += found.compute_s * constant / alone
        how = (f"a step on this batch, alone, was compared with one on a batch of another size: of {duration(alone)}, "
               f"{duration(constant)} do not depend on the number of samples, each of which takes {duration(slope)}")
    elif 0 < work < SLOW * found.compute_s and found.find("augmentation") is None:  # whose work its shapes do not show
        overhead += found.compute_s - work / USUAL
        how = (f"estimated: the model has {work / 1e6:,.1f} million operations a step, which a core does in {duration(work / USUAL)}, and "
               f"computes {duration(found.compute_s)}")
    if step > 0 and overhead / step >= 0.25:
        found.add(Finding("overhead", f"Fixed costs of a step take {duration(overhead)}, {percent(overhead / step)} of it: batches of "
                          f"{found.batch} are too small.", overhead / step, how))
        times = 4 if found.batch >= 16 else max(4, 64 // max(1, found.batch))
        after = overhead + times * max(0.0, step - overhead)
        found.offer(Remedy(f"batches of {found.batch * times}", times * step / after, "memory; the learning rate may have to follow",
                           f"ds.batch({found.batch * times})  # or model.fit(..., batch_size={found.batch * times})"))
    outside = found.parts["Keras"] + found.parts["callbacks"]
    if steps.backend != "torch" and model.steps_per_execution == 1 and step > 0 and outside / step >= MUCH:
        found.offer(Remedy("several steps in one call", step / (step - 0.9 * outside), "callbacks are called for every tenth step",
                           "model.compile(..., steps_per_execution=10)"))
    if share >= 1 - 4 * MUCH:
        found.add(Finding("compute", f"The input is not the problem: the model computes {percent(share)} of a step, "
                          f"{duration(found.compute_s)}.", share * 0.98, "the train function was timed without the wait for its batch"))
    elif share >= MUCH:
        found.add(Finding("compute", f"The model computes {duration(found.compute_s)}, {percent(share)} of a step.", share * 0.98,
                          "the train function was timed without the wait for its batch"))
    _offer_compute(found, model, steps, gpus, share)


def _offer_compute(found: Diagnosis, model: Any, steps: Steps, gpus: list[str], share: float) -> None:
    """What makes a model faster without another model. It was not measured here."""
    if share < 0.3:
        return
    if gpus and model.dtype_policy.compute_dtype == "float32":
        word = "mixed_bfloat16" if steps.backend == "jax" else "mixed_float16"
        found.offer(Remedy("mixed precision", 0.0, "16 bits in activations; the last layer stays float32",
                           f'keras.mixed_precision.set_global_policy("{word}")  # before the model is made'))
    if not model.jit_compile and not model.run_eagerly and steps.backend != "jax":
        off = sorted({layer.name for layer in model._flatten_layers(include_self=False) if not layer.supports_jit})
        if off and gpus:
            found.notes.append(f"XLA is off for the whole model because of {', '.join(off[:4])}.")
        elif not off:
            found.offer(Remedy("XLA" if steps.backend == "tensorflow" else "torch.compile", 0.0, "compilation at the first step",
                               "model.compile(..., jit_compile=True)"))


def _tell_callbacks(found: Diagnosis, seen: Seen) -> None:
    if seen.asynchronous or found.step_s <= 0:
        return
    per = max(1, seen.listed_steps)
    for name, total in seen.callbacks.items():
        share = total / per / found.step_s
        if share < MUCH:
            continue
        found.add(Finding("callback", f"The callback {name} takes {duration(total / per)} at every step, {percent(share)} of it.", share,
                          "its methods for the beginning and the end of a batch were timed"))
        found.offer(Remedy(f"{name} once an epoch", 1 / (1 - min(0.95, share)), "what it does at every step",
                           QUICK_REMEDY.get(name, f"# {name}: the work of on_train_batch_end in on_epoch_end")))


def _tell_tracing(found: Diagnosis, model: Any, steps: Steps, seen: Seen) -> None:
    record = seen.record
    usual = median([step.all for step in record.steps[1:]])
    total = sum(step.all for step in record.steps[1:]) or 1.0
    compiled = list(seen.compiled)
    if steps.backend == "tensorflow" and model.jit_compile:  # XLA compiles for each shape, which no count of traces shows
        compiled += [(i, True) for i, size in enumerate(seen.sizes) if 0 < i < len(record.steps) and size < seen.shape.samples
                     and record.steps[i].all > 3 * usual + 0.05 and (i, True) not in compiled]
    for short, cause in ((True, "last batch"), (False, "retracing")):
        lost = [record.steps[i].all - usual for i, is_short in compiled if is_short == short and i < len(record.steps)]
        if not lost:
            continue
        many = f"{len(lost)} step{'s were' if len(lost) > 1 else ' was'}"
        if short:
            sentence = (f"A short last batch ({min(seen.sizes)} in place of {seen.shape.samples}) is compiled anew: "
                        f"{duration(sum(lost))}.")
            found.offer(Remedy("drop the short batch", total / max(1e-9, total - sum(lost)), "its samples, in this epoch",
                               f"ds.batch({seen.shape.samples}, drop_remainder=True)"))
        else:
            sentence = f"{many} traced and compiled anew, which took {duration(sum(lost))}."
            found.offer(Remedy("one shape for all batches", total / max(1e-9, total - sum(lost)), "padding",
                               "ds.padded_batch(...)  # or pictures of one size: resize before batch"))
        found.add(Finding(cause, sentence, sum(lost) / total, f"{many} compiled after the first; the others took {duration(usual)}"))
    if seen.earlier_traces and seen.traces > seen.earlier_traces and not found.find("retracing"):
        lost_s = max(0.0, record.steps[0].all - usual)
        found.add(Finding("retracing", f"This fit has traced the step anew: {duration(lost_s)}.", lost_s / (total + lost_s),
                          f"{seen.traces} traces so far; an earlier fit had {seen.earlier_traces}: its batches had another shape or type"))
        found.offer(Remedy("the same shapes in every fit", (total + lost_s) / total, "",
                           "ds.batch(64)  # as in the fit before; no drop_remainder in one of them only"))


def _tell_validation(found: Diagnosis, seen: Seen) -> None:
    if not seen.tests or not seen.epochs:
        return
    known = seen.epochs[1:] or seen.epochs  # the first epoch compiles
    tests = seen.tests[1:] or seen.tests
    epoch, test = mean(known), mean(tests) * len(seen.tests) / len(seen.epochs)
    share = test / epoch if epoch > 0 else 0.0
    if share < 2 * MUCH:
        return
    each = "in every epoch" if len(seen.tests) >= len(seen.epochs) else f"in {len(seen.tests)} of {len(seen.epochs)} epochs"
    found.add(Finding("validation", f"Validation {each} takes {duration(mean(tests))}, {percent(share)} of an epoch.", share,
                      "the time between on_test_begin and on_test_end inside fit"))
    found.offer(Remedy("validation in every fifth epoch", epoch / (epoch - 0.8 * test), "fewer points of the curve; EarlyStopping sees less",
                       "model.fit(..., validation_freq=5)  # or validation_steps=50"))
