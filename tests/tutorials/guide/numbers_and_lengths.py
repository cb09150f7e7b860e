# SPDX-License-Identifier: Apache-2.0
"""The first lines of the guide: elements one by one, reduce, lengths and cardinalities."""

import tensorflow as tf

dataset = tf.data.Dataset.from_tensor_slices([8, 3, 0, 8, 2, 1])
elements = []
for elem in dataset:
    elements.append(elem.numpy())
it = iter(dataset)
first = next(it).numpy()
total = dataset.reduce(0, lambda state, value: state + value).numpy()

ds = tf.data.Dataset.range(20)
even = ds.filter(lambda x: x % 2 == 0)
print(len(ds), tf.data.experimental.cardinality(even))

endless = ds.repeat()
try:
    len(endless)
except TypeError as e:
    error = type(e).__name__

results = {
    "exact.elements": elements,
    "exact.first": first,
    "exact.total": total,
    "exact.lengths": [
        len(ds),
        len(ds.batch(3)),
        len(ds.batch(3, drop_remainder=True)),
        len(ds.repeat(2).skip(5).take(30)),
    ],
    "exact.cardinality": [ds.cardinality().numpy(), even.cardinality().numpy(), endless.cardinality().numpy()],
    "exact.dtype": ds.cardinality().dtype,
    "exact.infinite": bool(endless.cardinality() == tf.data.INFINITE_CARDINALITY),
    "exact.even": list(even.as_numpy_iterator()),
    "exact.squares": [x.tolist() for x in ds.map(lambda x: x**2).batch(7).as_numpy_iterator()],
    "exact.enumerated": [(i.numpy(), x.numpy()) for i, x in ds.enumerate(start=5).take(3)],
    "exact.isinstance": isinstance(even, tf.data.Dataset),
    "raises": error,
}
