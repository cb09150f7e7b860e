# SPDX-License-Identifier: Apache-2.0
"""A GAN: every step draws noise in a compiled function, and the noise differs."""

import numpy as np
import tensorflow as tf

BUFFER_SIZE, BATCH_SIZE, NOISE_DIM = 480, 32, 8
with np.load("mnist.npz") as data:
    train_images = data["x_train"]
train_images = train_images.reshape(train_images.shape[0], 28, 28, 1).astype("float32")
train_images = (train_images - 127.5) / 127.5
train_dataset = tf.data.Dataset.from_tensor_slices(train_images).shuffle(BUFFER_SIZE).batch(BATCH_SIZE)

generator = tf.keras.Sequential(
    [tf.keras.layers.Dense(28 * 28, activation="tanh"), tf.keras.layers.Reshape((28, 28, 1))]
)
discriminator = tf.keras.Sequential(
    [tf.keras.layers.Flatten(), tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(1)]
)
cross_entropy = tf.keras.losses.BinaryCrossentropy(from_logits=True)
generator_optimizer = tf.keras.optimizers.Adam(1e-3)
discriminator_optimizer = tf.keras.optimizers.Adam(1e-3)
traces = []


@tf.function
def train_step(images):
    traces.append(1)
    noise = tf.random.normal([BATCH_SIZE, NOISE_DIM])
    with tf.GradientTape() as gen_tape, tf.GradientTape() as disc_tape:
        generated_images = generator(noise, training=True)
        real_output = discriminator(images, training=True)
        fake_output = discriminator(generated_images, training=True)
        gen_loss = cross_entropy(tf.ones_like(fake_output), fake_output)
        disc_loss = cross_entropy(tf.ones_like(real_output), real_output) + cross_entropy(
            tf.zeros_like(fake_output), fake_output
        )
    gen_gradients = gen_tape.gradient(gen_loss, generator.trainable_variables)
    disc_gradients = disc_tape.gradient(disc_loss, discriminator.trainable_variables)
    generator_optimizer.apply_gradients(zip(gen_gradients, generator.trainable_variables))
    discriminator_optimizer.apply_gradients(zip(disc_gradients, discriminator.trainable_variables))
    return noise, gen_loss, disc_loss


noises, losses = [], []
for epoch in range(2):
    for image_batch in train_dataset:
        noise, gen_loss, disc_loss = train_step(image_batch)
        noises.append(noise.numpy())
        losses.append((gen_loss.numpy(), disc_loss.numpy()))

noises = np.stack(noises)
results = {
    "exact.steps": len(losses),
    "exact.different": len({noise.tobytes() for noise in noises}),
    "exact.traces": len(traces),
    "stat.noise": ([noises.mean(), noises.std()], 0.05),
    "exact.finite": bool(np.isfinite(losses).all()),
    "exact.spec": str(train_dataset.element_spec),
}
