# SPDX-License-Identifier: Apache-2.0
"""What functions given to map and filter become: TensorFlow traces them, and leat reads the graph.

    marks.py       functions of TensorFlow that are noted as a whole while leat traces
    graph.py       a trace, and how its tensors are followed through calls and captures
    values.py      what a tensor is to the engine: a constant, a column, a field with operations, a draw
    lower.py       lower_map and lower_filter
    nodes.py       graph nodes; images.py: tf.image; layers.py: Keras layers; records.py: tf.train.Examples; branches.py: tf.cond
    fold.py        what depends on small columns only is computed by TensorFlow, once; columns.py: for all rows at once
    notices.py     one line about a function that TensorFlow runs
"""
from .lower import lower_filter, lower_map

__all__ = ["lower_filter", "lower_map"]
