# SPDX-License-Identifier: Apache-2.0
"""Photos and masks: both are resized and flipped together, the mask without new values; a small network."""

import numpy as np
import tensorflow as tf

SIZE = 48
image_paths = sorted(tf.io.gfile.glob("pets/images/*.jpg"))
mask_paths = sorted(tf.io.gfile.glob("pets/masks/*.png"))


def load(image_path, mask_path):
    image = tf.io.decode_jpeg(tf.io.read_file(image_path), channels=3)
    mask = tf.io.decode_png(tf.io.read_file(mask_path), channels=1)
    image = tf.image.resize(image, (SIZE, SIZE))
    mask = tf.image.resize(mask, (SIZE, SIZE), method=tf.image.ResizeMethod.NEAREST_NEIGHBOR)
    image = tf.cast(image, tf.float32) / 255.0
    mask -= 1
    return image, mask


@tf.function
def load_train(image_path, mask_path):
    image, mask = load(image_path, mask_path)
    if tf.random.uniform(()) > 0.5:
        image = tf.image.flip_left_right(image)
        mask = tf.image.flip_left_right(mask)
    return image, mask


paths = tf.data.Dataset.from_tensor_slices((image_paths, mask_paths))
test = paths.map(load).batch(8)
train = (
    paths.map(load_train, num_parallel_calls=tf.data.AUTOTUNE)
    .cache()
    .shuffle(100)
    .batch(8)
    .repeat()
    .prefetch(tf.data.AUTOTUNE)
)
model = tf.keras.Sequential(
    [tf.keras.layers.Conv2D(8, 3, padding="same", activation="relu"), tf.keras.layers.Conv2D(3, 1)]
)
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
history = model.fit(train, epochs=2, steps_per_epoch=2, validation_data=test, verbose=0)
predicted = tf.argmax(model.predict(test, verbose=0), axis=-1)[..., tf.newaxis]

augmented = paths.map(load_train).batch(len(image_paths))
plain = next(iter(paths.map(load).batch(len(image_paths))))
together, flips = [], []
for _ in range(4):
    image, mask = next(iter(augmented))
    turned = np.array([not np.allclose(a, b, atol=1e-3) for a, b in zip(image, plain[0])])
    together.append(
        all(np.array_equal(m, p[:, ::-1] if t else p) for m, p, t in zip(mask.numpy(), plain[1].numpy(), turned))
    )
    flips += turned.tolist()

results = {
    "exact.spec": str(test.element_spec),
    "close.images": plain[0],
    "exact.masks": plain[1],
    "exact.together": together,
    "stat.flips": (np.mean(flips), 0.35),
    "exact.predicted": predicted.shape,
    "exact.finite": bool(np.isfinite(history.history["val_loss"]).all()),
}
