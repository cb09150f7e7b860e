# SPDX-License-Identifier: Apache-2.0
"""The layers of a model, with parameters and floating point operations from their shapes; those that dominate first."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .findings import Diagnosis, Finding, Remedy, Table, percent

SHOWN = 8
UPDATE = 20  # what the update of a parameter costs, in operations: an optimizer reads and writes it several times
TRAINING = 3  # a step of training has this times the operations of a forward pass
DOMINANT = 0.5
SLOW = 3e8  # operations a second; a model that does fewer is not slow because of its arithmetic
USUAL = 2e9  # what an ordinary core does


@dataclass
class Row:
    """One layer. flops: of a forward pass for one sample; -1 if its shapes are not known."""

    name: str
    kind: str
    shape: tuple[Any, ...]
    params: int
    flops: float
    before: str = ""  # what kind of layer stands in front of it
    spots: int = 1  # of a Dense behind a Flatten: places of the picture that it had

    def cost(self, batch: int) -> float:
        """Of a step, in operations: an estimate that ranks layers."""
        return TRAINING * max(0.0, self.flops) * max(1, batch) + UPDATE * self.params


def _elements(shape: tuple[Any, ...]) -> float:
    return math.nan if any(n is None for n in shape) else float(math.prod(shape))


def count_flops(kind: str, kernels: list[tuple[int, ...]], given: tuple[Any, ...], out: tuple[Any, ...],
                pool: tuple[int, ...] = (), channels_first: bool = False) -> float:
    """Operations of a layer for one sample. given, out: shapes without the batch; kernels: those of its weights."""
    weights = float(sum(math.prod(kernel) for kernel in kernels))
    if "Embedding" in kind:
        return 0.0
    if any(word in kind for word in ("LSTM", "GRU", "SimpleRNN")):
        return 2 * weights * _elements(given[:1])
    if kind == "MultiHeadAttention":
        length = _elements(given[:1])
        return 2 * weights * length + 4 * length * length * _elements(given[1:])
    if "Conv" in kind:
        places = given if "Transpose" in kind else out
        return 2 * weights * _elements(places[1:] if channels_first else places[:-1])
    if weights:
        return 2 * weights * _elements(out[:-1])
    return _elements(out) * max(1, math.prod(pool))


# ------------------------------------------------------------------------------------------------ Keras


def flat(layer: Any) -> list[Any]:
    """The layers of a model, those of models inside it too."""
    inner = [each for each in getattr(layer, "layers", []) if type(each).__name__ != "InputLayer"]
    return [leaf for each in inner for leaf in flat(each)] if inner else [layer]


def _shapes(layer: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
    """What a layer of Keras takes and gives, without the batch."""
    for node in getattr(layer, "_inbound_nodes", []):
        given, out = node.input_tensors, node.outputs
        if given and out:
            return tuple(given[0].shape[1:]), tuple(out[0].shape[1:])
    built = getattr(layer, "_build_shapes_dict", None) or {}
    shape: Any = next(iter(built.values()), None)
    try:
        out = layer.compute_output_shape(shape)
        return tuple(shape[1:]), tuple(out[1:])
    except Exception:  # a layer of the user's may do anything here
        return None


def keras_rows(model: Any) -> list[Row]:
    rows: list[Row] = []
    given: tuple[Any, ...] = ()  # what the layer in front took
    for layer in flat(model):
        kind = type(layer).__name__
        shapes = _shapes(layer)
        kernels = [tuple(int(n) for n in weight.shape) for weight in layer.weights
                   if len(weight.shape) >= 2 and "seed" not in weight.path]
        pool = getattr(layer, "pool_size", ())
        flops = -1.0 if shapes is None else count_flops(
            kind, kernels, *shapes, pool=tuple(pool) if isinstance(pool, (tuple, list)) else (pool,),
            channels_first=getattr(layer, "data_format", "") == "channels_first")
        params = sum(math.prod(int(n) for n in weight.shape) for weight in layer.weights if "seed" not in weight.path)
        front = rows[-1].kind if rows else ""
        spots = 1
        if front == "Flatten" and kind == "Dense" and len(given) == 3 and None not in given:
            spots = math.prod(given[:2])
        rows.append(Row(layer.name, kind, shapes[1] if shapes else (), params, -1.0 if math.isnan(flops) else flops, front, spots))
        given = shapes[0] if shapes else ()
    return rows


# ------------------------------------------------------------------------------------------------ torch


def torch_hooks(model: Any, rows: list[Row]) -> list[Any]:
    """Hooks that note the layers of one forward pass in rows; the caller removes them after it."""
    def note(name: str) -> Any:
        def seen(module: Any, given: Any, out: Any) -> None:
            if any(row.name == name for row in rows) or not given or not hasattr(out, "shape"):
                return
            kind = type(module).__name__
            kernels = [tuple(weight.shape) for weight in module.parameters(recurse=False) if weight.dim() >= 2]
            shape, taken = tuple(out.shape[1:]), tuple(given[0].shape[1:])
            flops = count_flops(kind, kernels, taken, shape, channels_first=True)
            rows.append(Row(name, kind, shape, sum(weight.numel() for weight in module.parameters(recurse=False)), flops))
        return seen

    return [module.register_forward_hook(note(name)) for name, module in model.named_modules()
            if next(module.children(), None) is None]


# ------------------------------------------------------------------------------------------------ the table


def _count(value: float) -> str:
    if value < 0:
        return "?"
    for limit, word in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= limit:
            return f"{value / limit:.1f}{word}"
    return f"{value:.0f}"


def operations(rows: list[Row], batch: int) -> float:
    """Of a step, all layers together."""
    return sum(row.cost(batch) for row in rows)


def tell_layers(found: Diagnosis, rows: list[Row], apart: float = 0.0) -> None:
    """Adds the table of layers, and the layer that dominates. apart: seconds of compute that were measured elsewhere."""
    rows = [row for row in rows if row.cost(found.batch) > 0]
    total = operations(rows, found.batch)
    if not total:
        return
    ranked = sorted(rows, key=lambda row: -row.cost(found.batch))
    all_params, all_flops = sum(row.params for row in rows), sum(max(0.0, row.flops) for row in rows)
    cells: list[tuple[str, ...]] = [
        (row.name, row.kind, "x".join("?" if n is None else str(n) for n in row.shape), _count(row.params), _count(row.flops),
         percent(row.cost(found.batch) / total)) for row in ranked[:SHOWN]]
    rest = ranked[SHOWN:]
    if rest:
        cells.append((f"{len(rest)} more", "", "", _count(sum(row.params for row in rest)),
                      _count(sum(max(0.0, row.flops) for row in rest)), percent(sum(row.cost(found.batch) for row in rest) / total)))
    cells.append(("all", "", "", _count(all_params), _count(all_flops), ""))
    found.tables.append(Table("Layers of the model, the costly first (operations of a forward pass for a sample; the last column is "
                              "estimated from shapes)", ("layer", "kind", "gives", "parameters", "FLOPs", "of a step"), cells))
    top, share = ranked[0], ranked[0].cost(found.batch) / total
    part = max(0.0, found.compute_s - apart) / found.step_s if found.step_s > 0 else 0.0
    if share < DOMINANT or len(rows) < 3 or part < 0.3 or total < SLOW * found.compute_s:
        return
    found.add(Finding("dominant layer", f"{top.name} ({top.kind}) is {percent(share)} of the model's work, with "
                      f"{percent(top.params / max(1, all_params))} of its parameters.", share * part,
                      f"{_count(top.params)} parameters and {_count(top.flops)} operations a sample, from its shapes"))
    if top.kind == "Dense":
        less = 1 - 1 / top.spots if top.spots > 1 else 0.5
        title, change = (("an average in place of Flatten", "keras.layers.GlobalAveragePooling2D()  # in place of Flatten()")
                         if top.spots > 1 else ("half the width", f"keras.layers.Dense({top.shape[-1] // 2})  # was {top.shape[-1]}"))
        found.offer(Remedy(title, 1 / (1 - share * part * less), "another model: compare its accuracy", change, True))
