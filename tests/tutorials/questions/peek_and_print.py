# SPDX-License-Identifier: Apache-2.0
"""What notebooks do between the lines: take(1), next(iter(ds)), lengths, options, printing, looping by hand."""

import numpy as np
import tensorflow as tf

options = tf.data.Options()
options.experimental_deterministic = False
options.threading.private_threadpool_size = 2
ds = tf.data.Dataset.list_files("flowers/*/*.jpg", shuffle=False)
ds = ds.map(
    lambda p: (
        tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(p), channels=3), (30, 30)),
        tf.strings.split(p, "/")[-2] == "rose",
    )
)
ds = ds.batch(12).with_options(options).prefetch(tf.data.experimental.AUTOTUNE)
for images, labels in ds.take(1):
    print("Image shape: ", images.numpy().shape)
    print("Label: ", labels.numpy())
x, y = next(iter(ds))
it = iter(ds)
shapes = []
while True:
    try:
        batch = next(it)
    except StopIteration:
        break
    shapes.append(batch[0].shape)
shown = [tuple(image.shape) for image, label in ds.unbatch().take(4)]
numpy_batch = next(ds.as_numpy_iterator())
summed = sum(int(tf.math.count_nonzero(label)) for _, label in ds)
print(ds, ds.element_spec)

results = {
    "exact.text": str(ds.element_spec),
    "exact.first": [x.shape, x.dtype, y.dtype],
    "exact.shapes": sorted(map(tuple, shapes)),
    "exact.shown": shown,
    "exact.numpy": [type(numpy_batch[0]).__name__, type(x).__name__],
    "exact.sum": summed,
    "exact.length": [len(ds), int(ds.cardinality()), tf.data.experimental.cardinality(ds).numpy()],
    "exact.options": ds.options().deterministic,
    "exact.instances": [isinstance(ds, tf.data.Dataset), tf.is_tensor(x), isinstance(x, tf.Tensor)],
    "stat.mean": (float(tf.reduce_mean(x)), 30.0),
}
