# SPDX-License-Identifier: Apache-2.0
"""MirroredStrategy with fit, and a custom loop over experimental_distribute_dataset."""

import numpy as np
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy(devices=["/cpu:0"])
GLOBAL_BATCH_SIZE = 32 * strategy.num_replicas_in_sync


def scale(image, label):
    image = tf.cast(image, tf.float32)
    image /= 255
    return image, label


with np.load("cifar.npz") as data:
    x_train, y_train = data["x_train"], data["y_train"]
train_dataset = (
    tf.data.Dataset.from_tensor_slices((x_train, y_train)).map(scale).cache().shuffle(1000).batch(GLOBAL_BATCH_SIZE)
)
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
    model.compile(
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=tf.keras.optimizers.SGD(0.01),
        metrics=["accuracy"],
    )
    loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")
history = model.fit(train_dataset, epochs=2, verbose=0)

dist_dataset = strategy.experimental_distribute_dataset(train_dataset)


def step_fn(inputs):
    images, labels = inputs
    per_example = loss_object(labels, model(images, training=True))
    return tf.nn.compute_average_loss(per_example, global_batch_size=GLOBAL_BATCH_SIZE), tf.reduce_sum(
        tf.cast(labels, tf.int32)
    )


@tf.function
def distributed_step(inputs):
    loss, labels = strategy.run(step_fn, args=(inputs,))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, loss, axis=None), strategy.reduce(
        tf.distribute.ReduceOp.SUM, labels, axis=None
    )


losses, labels = zip(*[distributed_step(batch) for batch in dist_dataset])

results = {
    "exact.batches": len(losses),
    "exact.labels": int(sum(labels)),
    "exact.finite": bool(
        np.isfinite([float(loss) for loss in losses]).all() and np.isfinite(history.history["loss"]).all()
    ),
    "exact.spec": str(train_dataset.element_spec),
}
