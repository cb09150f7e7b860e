# SPDX-License-Identifier: Apache-2.0
"""Batches of the engine as tf.Tensors that lie in the engine's memory.

A tensor over DLPack keeps the lease of its batch: the memory is the engine's again when the last tensor on it is gone.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf  # type: ignore[import-not-found, import-untyped, unused-ignore]

from .._base.arrays import to_array
from .reading import stacked, texts

_from_dlpack: Callable[[Any], Any] = tf.experimental.dlpack.from_dlpack


def tensor_of_batch(tensor: Any, offsets: Any) -> Any:
    if offsets is None:
        return _from_dlpack(tensor.__dlpack__())
    if tensor.dtype == "bytes":
        return tf.constant(texts(tensor, offsets), tf.string)
    return tf.constant(stacked(tensor, offsets))


def tensor_of_sample(tensor: Any, offsets: Any) -> Any:
    if offsets is None:
        return _from_dlpack(tensor[0].__dlpack__())
    if tensor.dtype == "bytes":
        return tf.constant(texts(tensor, offsets)[0], tf.string)
    return tf.constant(to_array(tensor))
