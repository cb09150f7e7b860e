# SPDX-License-Identifier: Apache-2.0
"""What a program wrote: the data sets of tf.data behind one another, and what their functions do.

The executed tree (tfdata_tree.py) has times and no functions; the data sets have functions and no times. Both are
listed from the end of the pipeline to its source, so that one can be laid beside the other.
"""
from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

KINDS = {  # class of tf.data -> what it does
    "_MapDataset": "map", "_ParallelMapDataset": "map", "_BatchDataset": "batch", "_ParallelBatchDataset": "batch",
    "_PaddedBatchDataset": "batch", "_ShuffleDataset": "shuffle", "CacheDataset": "cache", "_FilterDataset": "filter",
    "_FlatMapDataset": "flat_map", "_InterleaveDataset": "flat_map", "_ParallelInterleaveDataset": "flat_map",
    "TFRecordDatasetV2": "records", "_TensorSliceDataset": "slices", "_PrefetchDataset": "prefetch",
}
PYTHON = frozenset(("PyFunc", "EagerPyFunc", "PyFuncStateless"))
DECODES = frozenset(("DecodeJpeg", "DecodePng", "DecodeImage", "DecodeBmp", "DecodeGif", "DecodeWebP"))
CROPS = frozenset(("Slice", "StridedSlice", "CropAndResize", "CropAndResizeGradImage", "ExtractGlimpseV2"))
RESIZES = frozenset(("ResizeBilinear", "ResizeArea", "ResizeBicubic", "ResizeNearestNeighbor", "ScaleAndTranslate"))
SHAPES = frozenset(("Shape", "ShapeN", "Size", "Rank"))  # behind these there are no pixels


@dataclass
class Function:
    """What a function of map, filter or interleave contains."""

    name: str = ""
    where: str = ""  # file and line
    random: bool = False
    python: bool = False
    decodes: bool = False
    reads: bool = False
    resizes: bool = False
    crops: bool = False  # something is cut out of a tensor that has pixels
    crops_decoded: bool = False  # and these come from a decoder, whole
    stateful: list[str] = field(default_factory=list)  # operations that keep TensorFlow from running calls side by side


@dataclass
class Link:
    """One data set of the chain."""

    kind: str
    dataset: Any
    function: Function | None = None
    size: int = 0  # of a batch, or of a shuffle buffer


def chain_of(dataset: Any) -> list[Link]:
    """The data sets from the end to the source; with several inputs, one input after the other."""
    found: list[Link] = []
    for each in _walk(dataset, set()):
        kind = KINDS.get(type(each).__name__, "")
        if kind:
            found.append(Link(kind, each, _function(each), _size(each)))
    return found


def _walk(dataset: Any, seen: set[int]) -> Iterator[Any]:
    if id(dataset) in seen:
        return
    seen.add(id(dataset))
    yield dataset
    try:
        inputs = dataset._inputs()
    except (AttributeError, NotImplementedError):
        return
    for each in inputs:
        yield from _walk(each, seen)


def _size(dataset: Any) -> int:
    tensor = getattr(dataset, "_batch_size", None)
    tensor = tensor if tensor is not None else getattr(dataset, "_buffer_size", None)
    try:
        return int(tensor.numpy())  # type: ignore[union-attr]
    except (AttributeError, NotImplementedError, TypeError, ValueError):
        return 0


def _function(dataset: Any) -> Function | None:
    wrapper = getattr(dataset, "_map_func", None) or getattr(dataset, "_predicate", None)
    if wrapper is None:
        return None
    found = Function()
    own = getattr(wrapper, "_func", None)
    code = getattr(own, "__code__", None)
    found.name = str(getattr(own, "__name__", "") or type(own).__name__).replace("<lambda>", "lambda")
    if code is not None and "tensorflow" not in code.co_filename:
        found.where = f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"
    try:
        graph = wrapper.function.graph.as_graph_def()
    except (AttributeError, NotImplementedError, RuntimeError, ValueError):
        return found
    nested = {each.signature.name: list(each.node_def) for each in graph.library.function}
    _look(found, list(graph.node), nested)
    for nodes in nested.values():
        _look(found, nodes, nested)
    return found


def _look(found: Function, nodes: list[Any], nested: dict[str, list[Any]]) -> None:
    for node in nodes:
        op = node.op
        found.python |= op in PYTHON
        found.random |= "Random" in op or op in ("RngReadAndSkip", "RngSkip", "Multinomial", "TruncatedNormal") or (
            "SampleDistortedBoundingBox" in op)
        found.decodes |= op in DECODES
        found.reads |= op == "ReadFile"
        found.resizes |= op in RESIZES
        if _stateful(op) and op not in found.stateful:
            found.stateful.append(op)
    _follow(found, nodes)


def _stateful(op: str) -> bool:
    definition = import_module("tensorflow.python.framework.op_def_registry").get(op)
    return definition is not None and definition.is_stateful and op not in ("Assert", "Placeholder", "PlaceholderWithDefault")


def _follow(found: Function, nodes: list[Any]) -> None:
    """Where pixels go: from decoders and from what the function is given to the first crop or resize."""
    after: dict[str, list[Any]] = {}
    for node in nodes:
        for name in node.input:
            if not name.startswith("^"):
                after.setdefault(name.split(":")[0], []).append(node)
    for begin, decoded in [(node, True) for node in nodes if node.op in DECODES] + [
            (node, False) for node in nodes if node.op == "Placeholder"]:
        if decoded and begin.op == "DecodeJpeg" and begin.attr["ratio"].i > 1:
            continue  # scaled while it is decoded: not whole
        seen, todo = {begin.name}, [begin.name]
        while todo:
            for node in after.get(todo.pop(), []):
                if node.name in seen or node.op in SHAPES or node.op in RESIZES or (not decoded and node.op in DECODES):
                    continue
                seen.add(node.name)
                if node.op in CROPS and node.input[0].split(":")[0] in seen:
                    found.crops, found.crops_decoded = True, found.crops_decoded or decoded
                else:
                    todo.append(node.name)


def files_of(chain: list[Link]) -> list[str]:
    """Names of files that the source has: the first thousand."""
    for link in reversed(chain):
        if link.kind != "slices":
            continue
        for tensor in link.dataset._tensors:
            if tensor.dtype.name == "string" and tensor.shape.rank == 1:
                names = [os.fsdecode(name) for name in tensor[:1000].numpy()]
                if names and all("://" in name or os.path.isabs(name) or os.path.exists(name) for name in names[:5]):
                    return names
    return []


REMOTE = ("gs://", "s3://", "s3a://", "hdfs://", "http://", "https://", "abfs://", "az://", "oss://")
FAR = frozenset(("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "lustre", "glusterfs", "afs", "beegfs", "gpfs", "drvfs"))


def remote(name: str, mounts: str = "/proc/mounts") -> str:
    """What a file lies on, if that is not in this machine: "gs://", "nfs4"; otherwise ""."""
    for scheme in REMOTE:
        if name.startswith(scheme):
            return scheme
    path, best, kind = os.path.realpath(name), "", ""
    try:
        with open(mounts, encoding="utf-8", errors="replace") as file:
            for line in file:
                words = line.split()
                if len(words) < 3:
                    continue
                place = words[1].replace("\\040", " ")
                below = path == place or path.startswith(place.rstrip("/") + "/")
                if below and len(place) >= len(best):
                    best, kind = place, words[2]
    except OSError:
        return ""
    return kind if kind in FAR or kind.startswith("fuse.") and kind not in ("fuse.overlayfs", "fuse.fuse-overlayfs") else ""
