# SPDX-License-Identifier: Apache-2.0
"""Augmentation by stateless functions: seeds from a counter beside the photos, then from a generator; both give the same again."""
import tensorflow as tf

AUTOTUNE, SIZE = tf.data.AUTOTUNE, 48
photos = tf.keras.utils.image_dataset_from_directory("flowers", image_size=(SIZE, SIZE), batch_size=None, shuffle=False)


def resize_and_rescale(image, label):
    image = tf.cast(image, tf.float32)
    return tf.image.resize(image, [SIZE, SIZE]) / 255.0, label


def augment(image_label, seed):
    image, label = resize_and_rescale(*image_label)
    image = tf.image.resize_with_crop_or_pad(image, SIZE + 6, SIZE + 6)
    new_seed = tf.random.split(seed, num=1)[0, :]
    image = tf.image.stateless_random_crop(image, size=[SIZE, SIZE, 3], seed=seed)
    image = tf.image.stateless_random_flip_left_right(image, seed=new_seed)
    image = tf.image.stateless_random_brightness(image, max_delta=0.5, seed=new_seed)
    return tf.clip_by_value(image, 0, 1), label


counter = tf.data.Dataset.counter()
train = tf.data.Dataset.zip((photos, (counter, counter))).map(augment, num_parallel_calls=AUTOTUNE).batch(16).prefetch(AUTOTUNE)
first = [(images.numpy(), labels.numpy()) for images, labels in train]
again = [images.numpy() for images, _ in train]

rng = tf.random.Generator.from_seed(123, alg="philox")


def by_generator(image, label):
    seed = rng.make_seeds(1)[:, 0]
    return augment((image, label), seed)


drawn = photos.take(20).map(by_generator).batch(10)
plain = photos.map(resize_and_rescale, num_parallel_calls=AUTOTUNE).batch(16)

results = {
    "exact.spec": str(train.element_spec),
    "close.pictures": [images for images, _ in first],
    "exact.labels": [labels for _, labels in first],
    "exact.again": [bool((a[0] == b).all()) for a, b in zip(first, again)],
    "close.by generator": [images.numpy() for images, _ in drawn],
    "close.plain": [images.numpy() for images, _ in plain.take(2)],
}
