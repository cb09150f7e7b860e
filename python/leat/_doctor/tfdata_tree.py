# SPDX-License-Identifier: Apache-2.0
"""What runs: the tree that tf.data.experimental.get_model_proto gives, with times between two looks at it.

TensorFlow rewrites a pipeline before it runs: stateless maps run side by side, batch and map become one, a prefetch is
added. The tree has what became of it, the time that each node was at work, and the values that AUTOTUNE chose.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

KINDS = {  # name of a node -> what it does, as in tfdata_chain.KINDS; a node of two kinds stands for two data sets
    "Map": ("map",), "ParallelMapV2": ("map",), "ParallelMap": ("map",), "MapAndBatch": ("batch", "map"), "BatchV2": ("batch",),
    "ParallelBatch": ("batch",), "PaddedBatchV2": ("batch",), "Shuffle": ("shuffle",), "ShuffleAndRepeat": ("shuffle",),
    "MemoryCache": ("cache",), "FileCache": ("cache",), "Filter": ("filter",), "ParallelFilter": ("filter",),
    "FlatMap": ("flat_map", "records"), "Interleave": ("flat_map", "records"), "ParallelInterleaveV2": ("flat_map", "records"),
    "ParallelInterleaveV3": ("flat_map", "records"), "ParallelInterleaveV4": ("flat_map", "records"),
    "LegacyParallelInterleaveV2": ("records", "flat_map"), "TFRecord": ("records",), "TensorSlice": ("slices",),
    "Prefetch": ("prefetch",),
}
KEEPS = ("MemoryCacheImpl", "FileCacheImpl", "MemoryReader", "MemoryWriter", "FileReader", "FileWriter")


@dataclass
class Node:
    """One node: seconds of work and elements since the first look."""

    id: int
    name: str
    seconds: float
    elements: int
    parallelism: int
    bytes: int  # of one element
    inputs: list[Node] = field(default_factory=list)
    link: Any = None  # the data set that the program wrote
    passed: list[Any] = field(default_factory=list)  # all of them, for a node that stands for two

    @property
    def ahead(self) -> bool:
        """Whether a thread of its own takes from its inputs."""
        return self.name.startswith(("Parallel", "LegacyParallel")) or self.name in ("Prefetch", "MapAndBatch")

    def below(self) -> list[Node]:
        return [self, *(each for node in self.inputs for each in node.below())]


@dataclass
class Part:
    """Nodes that one thread works for, one after the other, or one node whose calls run side by side."""

    nodes: list[Node]
    threads: int

    def seconds(self, without: tuple[Node, ...] = ()) -> float:
        return sum(node.seconds for node in self.nodes if node not in without) / self.threads


def look(iterator: Any) -> Any:
    """The tree now; None if AUTOTUNE is off, for then TensorFlow keeps none, or if the iterator is gone."""
    tf: Any = import_module("tensorflow")
    if iterator is None:
        return None
    try:
        return tf.data.experimental.get_model_proto(iterator)
    except (tf.errors.OpError, AttributeError, TypeError, ValueError):
        return None


def tree_of(before: Any, after: Any) -> Node:
    """The tree of the second look, with what was done since the first."""

    def build(number: int) -> Node:
        now = after.nodes[number]
        then = before.nodes[number] if number in before.nodes else type(now)()
        parallelism = 1
        for each in now.parameters:
            if each.name == "parallelism":
                # MapAndBatch shows no value that AUTOTUNE has chosen; it runs as many calls as it may.
                tuned = each.tunable and now.name == "MapAndBatch"
                parallelism = max(1, int(each.max if tuned else each.value))
            elif each.name == "cycle_length" and now.name.startswith("LegacyParallel"):
                parallelism = max(1, int(each.value))
        size = now.bytes_produced // now.num_elements if now.num_elements > 0 else 0
        return Node(now.id, now.name, max(0, now.processing_time - then.processing_time) / 1e9,
                    max(0, now.num_elements - then.num_elements), parallelism, size, [build(each) for each in now.inputs])

    return build(after.output)


def parts_of(root: Node) -> list[Part]:
    """The parts that can run beside each other; the slowest of them has the pace of the pipeline."""
    found: list[Part] = []

    def collect(node: Node, part: Part) -> None:
        if not node.ahead:
            part.nodes.append(node)
            for each in node.inputs:
                collect(each, part)
            return
        if "Interleave" in node.name:  # files are read side by side, with all that is done to their elements
            found.append(Part(node.below(), node.parallelism))
            return
        if node.name != "Prefetch":
            found.append(Part([node], node.parallelism))
        reader = Part([], 1)
        found.append(reader)
        for each in node.inputs:
            collect(each, reader)

    first = Part([], 1)
    found.append(first)
    collect(root, first)
    return [part for part in found if part.nodes]


def lay_beside(root: Node, chain: list[Any]) -> None:
    """Gives each node the data set that it stands for. Both lists have the same order; each may have more than the other."""
    entries = [(kinds, node) for node in root.below() for kinds in [KINDS.get(node.name, ())] if kinds]
    place = 0
    for link in chain:
        for at in range(place, len(entries)):
            kinds, node = entries[at]
            if link.kind not in kinds or link.kind in [each.kind for each in node.passed]:
                continue
            node.passed.append(link)
            if node.link is None or link.function is not None:
                node.link = link
            place = at if node.name == "MapAndBatch" and link.kind == "batch" else at + 1
            break
