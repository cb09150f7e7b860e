# SPDX-License-Identifier: Apache-2.0
"""repeat, batch and shuffle in several orders, as the guide explains epochs."""

import tensorflow as tf

lines = tf.data.Dataset.range(100)
across = [len(batch) for batch in lines.repeat(3).batch(32)]
apart = [len(batch) for batch in lines.batch(32).repeat(3)]

epochs = 2
per_epoch = []
dataset = lines.shuffle(buffer_size=100).batch(32)
for epoch in range(epochs):
    seen = []
    for batch in dataset:
        seen.extend(batch.numpy())
    per_epoch.append(seen)
    print("End of epoch: ", epoch)

counter = lines.enumerate().shuffle(buffer_size=20).batch(10)
first_batch = next(iter(counter))[0].numpy()
shuffle_repeat = [n.numpy() for n in lines.shuffle(100).repeat(2)]
repeat_shuffle = [n.numpy() for n in lines.repeat(2).shuffle(100)]
endless = list(lines.repeat().shuffle(25).batch(10).take(10).as_numpy_iterator())
fixed = lines.shuffle(100, reshuffle_each_iteration=False)

results = {
    "exact.across": across,
    "exact.apart": apart,
    "exact.complete": [sorted(seen) for seen in per_epoch],
    "exact.reshuffled": per_epoch[0] != per_epoch[1],
    "exact.first_batch": [first_batch.shape, first_batch.dtype.name],
    "exact.epochs_apart": sorted(shuffle_repeat[:100]) == list(range(100))
    and sorted(shuffle_repeat[100:]) == list(range(100)),
    "exact.twice": sorted(repeat_shuffle),
    "exact.endless_within_buffer": all(batch.max() < 10 * (i + 1) + 25 for i, batch in enumerate(endless)),
    "exact.fixed": list(fixed.as_numpy_iterator()) == list(fixed.as_numpy_iterator()),
    "exact.sharded": [list(lines.shard(4, i).take(3).as_numpy_iterator()) for i in range(4)],
}
