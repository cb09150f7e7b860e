# SPDX-License-Identifier: Apache-2.0
"""lift: preprocessing layers at the beginning of a model become a part of the pipeline, where the engine does their work."""
from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

from .._base.errors import ArgumentError
from .._data.dataset import Dataset, TensorSpec
from .._tfdata.chain import Built, Chain, Operation, Refused

# Layers for single pictures; besides these, all whose names begin with Random.
PLAIN = {"Rescaling", "Normalization", "Resizing", "CenterCrop", "AutoContrast", "AugMix", "Equalization", "RandAugment",
         "Solarization", "CLAHE"}


def _inner(layer: Any, keras: Any) -> list[Any]:
    """The layers that a layer is made of: of a Sequential those inside, else the layer itself."""
    if isinstance(layer, (keras.Sequential, getattr(keras.layers, "Pipeline", keras.Sequential))):
        return [each for part in layer.layers for each in _inner(part, keras)]
    return [layer]


def _is_preprocessing(layer: Any, keras: Any) -> bool:
    """Whether a layer is Keras's own, not a subclass of it, and works on pictures before a model does."""
    found = _inner(layer, keras)
    return bool(found) and all(
        type(each) is getattr(keras.layers, type(each).__name__, None)
        and (type(each).__name__ in PLAIN or type(each).__name__.startswith("Random")) for each in found)


def _split_sequential(model: Any, keras: Any) -> tuple[list[Any], Any]:
    layers = list(model.layers)
    n = next((i for i, layer in enumerate(layers) if not _is_preprocessing(layer, keras)), 0)
    if n == 0:
        return [], model
    inputs, given = getattr(model, "inputs", None), []  # there are none before it is built
    if inputs:
        shape = inputs[0].shape
        for layer in layers[:n]:
            shape = layer.compute_output_shape(shape)
        given = [keras.Input(batch_shape=shape, dtype=layers[n - 1].compute_dtype)]
    return layers[:n], keras.Sequential([*given, *layers[n:]], name=model.name)


def _split_functional(model: Any, keras: Any) -> tuple[list[Any], Any]:
    if len(model.inputs) != 1:
        raise ArgumentError(f"lift(): the model has {len(model.inputs)} inputs; layers are lifted from models with one")
    tensor, lifted = model.inputs[0], []
    while all(tensor is not output for output in model.outputs):
        users = [(layer, node) for layer in model.layers for node in layer._inbound_nodes
                 if any(given is tensor for given in node.input_tensors)]
        if len(users) != 1 or not _is_preprocessing(users[0][0], keras) or len(users[0][1].outputs) != 1:
            break
        lifted.append(users[0][0])
        tensor = users[0][1].outputs[0]
    return (lifted, keras.Model(tensor, model.outputs, name=model.name)) if lifted else ([], model)


def _without_xla(layers: list[Any], keras: Any) -> list[str]:
    return sorted({type(each).__name__ for layer in layers for each in _inner(layer, keras)
                   if not getattr(each, "supports_jit", True)})


def lift(model: Any, dataset: Any, training: bool = True) -> tuple[Any, Any]:
    """The model without its leading preprocessing layers, and the data set with them: the engine does their work.

        _, val_ds = leat.keras.lift(model, val_ds, training=False)
        fast, train_ds = leat.keras.lift(model, train_ds)
        fast.compile("adam", "sparse_categorical_crossentropy")
        fast.fit(train_ds, validation_data=val_ds, epochs=10)

    model: a Sequential model, or a functional one with one input. Rescaling, Normalization, Resizing, CenterCrop, Random*
    and the like are lifted, also from a Sequential of them; the first other layer ends it. dataset: a tf.data.Dataset or a
    leat.Dataset of batches, x, (x, y) or (x, y, weights). training: whether random layers act, as in fit; False for data to
    validate or to predict, as in evaluate and predict.

    Both models share their weights: train the new one, save the old one, which takes pictures as they are. The new one is
    not compiled. The distribution of pictures is the same. RandomRotation, RandomZoom, RandomTranslation, RandomCrop, RandomShear and
    RandomPerspective switch XLA off for a whole model on a GPU; without them, Keras compiles the model with XLA.
    """
    keras: Any = import_module("keras")
    if not isinstance(model, keras.Model) or not (isinstance(model, keras.Sequential) or hasattr(model, "operations")):
        raise ArgumentError("lift(): the model must be Sequential or functional, not "
                            f"{type(model).__name__}, whose order of layers only its code knows")
    split = _split_sequential if isinstance(model, keras.Sequential) else _split_functional
    layers, made = split(model, keras)
    if not layers:
        return model, dataset
    off = _without_xla(layers, keras)
    notes = [f"lifted {', '.join(layer.name for layer in layers)} out of {model.name}"]
    notes += [f"with {', '.join(off)} in it, Keras does not compile the model with XLA on a GPU"] if off else []
    notes += ["call compile() on the new model"] if model.compiled else []
    print("leat: " + "; ".join(notes), file=sys.stderr)
    return made, mapped(dataset, keras.Sequential(layers, name="lifted"), training)


def mapped(dataset: Any, before: Any, training: bool) -> Any:
    """The data set with the layers applied to x."""
    def lifted(x: Any, *rest: Any) -> Any:
        x = before(x, training=training)
        return (x, *rest) if rest else x

    if isinstance(dataset, Dataset):
        return _in_text(dataset, lifted)
    return dataset.map(lifted, num_parallel_calls=import_module("tensorflow").data.AUTOTUNE)


def _in_text(dataset: Dataset, lifted: Callable[..., Any]) -> Dataset:
    """A leat.Dataset with the operations of the layers in front of its batch."""
    at = next((i for i, text in enumerate(dataset._operations) if text.split(None, 1)[0] == "batch"), None)
    if at is None or dataset._after:
        raise ArgumentError("lift(): the data set must end in batch(), without a function behind it")
    tf, structure = import_module("tensorflow"), dataset._layout_of([spec.name for spec in _specs(dataset.element_spec)])
    specs = {spec.name: tf.TensorSpec(spec.shape[1:], spec.dtype) for spec in _specs(dataset.element_spec)}
    chain = Chain(Built(dataset._with(operations=dataset._operations[:at])), structure, specs, (Operation("batch"),), True)
    lower = import_module("leat._tftrace.lower").lower_map
    try:
        found = lower(chain, lifted)
    except Refused as refused:
        raise ArgumentError(f"lift(): the engine does not do this: {refused.reason}; lift(model, ds.to_tf()) leaves it to "
                            "TensorFlow") from None
    made: Dataset = replace(found, operations=tuple(each for each in found.operations if each.name != "batch")).build()
    return made._with(operations=(*made._operations, *dataset._operations[at:]))


def _specs(element: Any) -> list[TensorSpec]:
    if isinstance(element, TensorSpec):
        return [element]
    return [spec for part in (element.values() if isinstance(element, dict) else element) for spec in _specs(part)]
