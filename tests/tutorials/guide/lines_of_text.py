# SPDX-License-Identifier: Apache-2.0
"""Lines of several files, one after the other and in turns; the head of a CSV file is skipped, rows are chosen."""
import tensorflow as tf

file_paths = ["poems/poem%d.txt" % i for i in range(3)]
dataset = tf.data.TextLineDataset(file_paths)
first = [line.numpy() for line in dataset.take(5)]

files_ds = tf.data.Dataset.from_tensor_slices(file_paths)
lines_ds = files_ds.interleave(tf.data.TextLineDataset, cycle_length=3)
mixed = [line.numpy() for i, line in enumerate(lines_ds.take(9))]

titanic_lines = tf.data.TextLineDataset("titanic.csv")


def survived(line):
    return tf.not_equal(tf.strings.substr(line, 0, 1), "0")


survivors = titanic_lines.skip(1).filter(survived)
ages = survivors.map(lambda line: tf.strings.to_number(tf.strings.split(line, ",")[2]))

results = {
    "exact.first": first,
    "exact.mixed": mixed,
    "exact.all": list(dataset.as_numpy_iterator()),
    "exact.survivors": list(survivors.as_numpy_iterator()),
    "exact.ages": [age.numpy() for age in ages],
    "exact.lowered": list(dataset.map(tf.strings.upper).batch(4).take(2).as_numpy_iterator()),
}
