# SPDX-License-Identifier: Apache-2.0
"""tf.train.Examples: parsing, and bytes that are values."""
from __future__ import annotations

from typing import Any

from .._tfdata.chain import Refused
from .graph import Ref
from .lower import Lowering, node
from .nodes import reshaped
from .values import Flow, Parsed, Value, leat_dtype

KINDS = {"string": "bytes", "int64": "int64", "float32": "float"}


def _words(low: Lowering, ref: Ref, index: int) -> list[str]:
    return [key.decode() for key in low.known(low.input(ref, index), "the names of features").reshape(-1).tolist()]


@node("ParseExampleV2")
def parse(low: Lowering, ref: Ref) -> Value:
    record = low.flow(low.input(ref, 0), "tf.io.parse_example")
    if record.shape != () or record.steps or record.dtype != "string" or low.record not in ("", record.field):
        raise Refused("tf.io.parse_example of bytes that the function has changed")
    low.record = record.field
    sparse, dense = _words(low, ref, 2), _words(low, ref, 3)
    place, count = ref.tensor.value_index, len(sparse)
    if place < 3 * count:
        part, which = divmod(place, count)
        if part != 1:
            raise Refused("the places of a VarLenFeature")
        kind = ref.tensor.dtype.name
        flow = _feature(low, sparse[which], kind, f"{KINDS[kind]}[*]", (None,))
        return Parsed(flow)
    if place >= 3 * count + len(dense):
        raise Refused("a RaggedFeature")
    which = place - 3 * count
    shape = [dim.size for dim in ref.attr("dense_shapes")[which].dim] if hasattr(ref.attr("dense_shapes")[which], "dim") \
        else ref.attr("dense_shapes")[which].as_list()
    kind = ref.tensor.dtype.name
    default = low.known(low.value(ref.input(5 + which)), "the default of a feature")
    return _dense(low, dense[which], kind, [None if side in (-1, None) else side for side in shape], default)


def _dense(low: Lowering, name: str, kind: str, shape: list[int | None], default: Any) -> Flow:
    text = KINDS[kind]
    if None in shape:  # FixedLenSequenceFeature
        if shape[0] is not None or kind == "string" or default.size and default.reshape(-1)[0] != 0:
            raise Refused(f"the feature {name}: a sequence of strings, or with a default")
        flow = _feature(low, name, kind, f"{text}[*]", (None,))
        return flow if len(shape) == 1 else reshaped(flow, tuple(shape))
    if shape and kind == "string":
        raise Refused(f"the feature {name}: a list of strings")
    if shape:
        text += f"[{','.join(map(str, shape))}]"
    if default.size:
        values = set(default.reshape(-1).tolist())
        if len(values) != 1:
            raise Refused(f"the feature {name}: a default of different numbers")
        value = values.pop()
        word = value.decode("utf-8", "replace") if isinstance(value, bytes) else repr(value)
        if not word or not word.isprintable() or set(word) & set(" |='\"[]:"):
            raise Refused(f"the feature {name}: its default cannot be written")
        text += f"={word}"
    return _feature(low, name, kind, text, tuple(shape))


def _feature(low: Lowering, name: str, kind: str, text: str, shape: tuple[int | None, ...]) -> Flow:
    if set(name) & set(" |='\",\n") or not name:
        raise Refused(f"a feature with the name {name!r}")
    if low.parses.setdefault(name, f"{name}:{text}") != f"{name}:{text}":
        raise Refused(f"the feature {name} parsed in two ways")
    if name in low.chain.specs and name != low.record:
        raise Refused(f"a feature with the name of another field, {name}")
    return Flow(name, kind, shape)


@node("SparseToDense")
def sparse_to_dense(low: Lowering, ref: Ref) -> Value:
    values = low.input(ref, 2)  # of one example; it has no gaps that the default would fill
    if not isinstance(values, Parsed) or low.batched:
        raise Refused("tf.sparse.to_dense")
    whole = low.trace.follow(ref.input(2)).op
    if any(low.trace.follow(ref.input(i)).op is not whole for i in (0, 1)):
        raise Refused("tf.sparse.to_dense of values that the function has changed")
    if values.flow.dtype == "string":
        raise Refused("a list of strings")
    return values.flow


@node("DecodeRaw")
def decode_raw(low: Lowering, ref: Ref) -> Value:
    flow = low.flow(low.input(ref, 0), "tf.io.decode_raw")
    kind = leat_dtype(ref.tensor.dtype.name)
    if flow.shape != () or flow.dtype != "string" or not ref.attr("little_endian") or kind is None:
        raise Refused("tf.io.decode_raw of this type, or big-endian")
    made = flow.then("decode_raw", kind, dtype=ref.tensor.dtype.name, shape=(None,))
    shape = low.sample_shape(ref.tensor)
    return reshaped(made, shape) if shape is not None and None not in shape else made
