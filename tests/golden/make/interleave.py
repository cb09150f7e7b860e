# SPDX-License-Identifier: Apache-2.0
"""In which order tf.data deals out records of several shards, and chooses from several data sets, as a C header.

    python tests/golden/make/interleave.py        with tensorflow

Writes tests/golden/interleave_golden.h, which tests/unit/test_interleave.c compares with. Shards of random lengths,
empty ones too, go through Dataset.interleave; serial and parallel runs must agree before they are written down. Data
sets of random lengths go through Dataset.choose_from_datasets with a pattern that is repeated without end. Records are
numbered as if shards came one after the other.
"""
import pathlib
import random

import tensorflow as tf

OUT = pathlib.Path(__file__).resolve().parent.parent / "interleave_golden.h"


def numbers(values) -> str:
    return "{" + ", ".join(map(str, values)) + "}"


def ranges(lengths):
    first = [sum(lengths[:i]) for i in range(len(lengths))]
    return list(zip(first, (a + n for a, n in zip(first, lengths))))


def interleaved(lengths, cycle, block) -> list[int]:
    """The order of tf.data, which is the same however many shards it reads at once."""
    begin, end = (tf.constant(column, tf.int64) for column in zip(*ranges(lengths)))
    shards = tf.data.Dataset.from_tensor_slices((begin, end))
    runs = []
    for parallel in (None, cycle, tf.data.AUTOTUNE):
        dealt = shards.interleave(tf.data.Dataset.range, cycle_length=cycle, block_length=block,
                                  num_parallel_calls=parallel, deterministic=None if parallel is None else True)
        runs.append([int(x) for x in dealt.as_numpy_iterator()])
    assert runs[0] == runs[1] == runs[2], (lengths, cycle, block)
    return runs[0]


def chosen(lengths, pattern, stop) -> list[int]:
    sets = [tf.data.Dataset.range(a, b) for a, b in ranges(lengths)]
    choices = tf.data.Dataset.from_tensor_slices(tf.constant(pattern, tf.int64)).repeat()
    mixed = tf.data.Dataset.choose_from_datasets(sets, choices, stop_on_empty_dataset=stop)
    return [int(x) for x in mixed.as_numpy_iterator()]


def main() -> None:
    draw = random.Random(5)
    rows = []
    for i in range(150):
        few = draw.random() < 0.5
        lengths = [draw.choice([0, 1, 2, 3, 5, 8]) if few else draw.randint(0, 30) for _ in range(draw.randint(1, 9))]
        cycle, block = draw.choice([1, 2, 3, 4, 6, 16]), draw.choice([1, 1, 2, 3, 7])
        if sum(lengths) == 0:
            continue
        order = interleaved(lengths, cycle, block)
        assert sorted(order) == list(range(sum(lengths)))
        rows.append(f"    {{{cycle}, {block}, {len(lengths)}, {numbers(lengths)}, {len(order)},\n     {numbers(order)}}},")
    choices = []
    for i in range(80):
        n = draw.randint(1, 5)
        lengths = [draw.choice([0, 1, 2, 4, 9, 15]) for _ in range(n)]
        pattern = [draw.randrange(n) for _ in range(draw.randint(1, 8))]
        stop = i % 2
        if not stop:
            pattern += [k for k in range(n) if k not in pattern]  # tf.data never ends if one of them never comes
        order = chosen(lengths, pattern, bool(stop))
        choices.append(f"    {{{stop}, {n}, {numbers(lengths)}, {len(pattern)}, {numbers(pattern)}, {len(order)},\n"
                       f"     {numbers(order) if order else '{0}'}}},")
    OUT.write_text(f"""/* SPDX-License-Identifier: Apache-2.0 */
/* Written by tests/golden/make/interleave.py with TensorFlow {tf.__version__}. */
#ifndef LEAT_TESTS_INTERLEAVE_GOLDEN_H
#define LEAT_TESTS_INTERLEAVE_GOLDEN_H

#include <stdint.h>

/* clang-format off */
static const struct {{ /* shards at a time, records of each, lengths of the shards; the order */
    int cycle, block, n_shards;
    uint64_t length[9];
    int n;
    uint16_t record[270];
}} interleave_golden[] = {{
""" + "\n".join(rows) + """
};

static const struct { /* whether it stops at the first that is empty, lengths, the pattern; the order */
    int stop, n_sets;
    uint64_t length[5];
    int n_pattern;
    uint16_t pattern[13];
    int n;
    uint16_t record[80];
} choose_golden[] = {
""" + "\n".join(choices) + """
};
/* clang-format on */

#endif
""")


if __name__ == "__main__":
    main()
