# SPDX-License-Identifier: Apache-2.0
"""decode_and_crop_jpeg, random crops and distorted boxes before resizing, as ImageNet scripts do."""

import numpy as np
import tensorflow as tf

files = tf.data.Dataset.list_files("flowers/*/*.jpg", shuffle=False)
SIZE = 32


def centre(path):
    data = tf.io.read_file(path)
    shape = tf.io.extract_jpeg_shape(data)
    height, width = shape[0], shape[1]
    side = tf.cast(0.8 * tf.cast(tf.minimum(height, width), tf.float32), tf.int32)
    window = tf.stack([(height - side) // 2, (width - side) // 2, side, side])
    image = tf.image.decode_and_crop_jpeg(data, window, channels=3)
    return tf.image.resize([image], [SIZE, SIZE], method=tf.image.ResizeMethod.BICUBIC)[0]


def distorted(path):
    data = tf.io.read_file(path)
    bbox = tf.constant([0.0, 0.0, 1.0, 1.0], dtype=tf.float32, shape=[1, 1, 4])
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.io.extract_jpeg_shape(data),
        bounding_boxes=bbox,
        min_object_covered=0.1,
        aspect_ratio_range=(3.0 / 4, 4.0 / 3.0),
        area_range=(0.3, 1.0),
        max_attempts=10,
        use_image_if_no_bounding_boxes=True,
    )
    offset_y, offset_x, _ = tf.unstack(begin)
    target_height, target_width, _ = tf.unstack(size)
    image = tf.image.decode_and_crop_jpeg(data, tf.stack([offset_y, offset_x, target_height, target_width]), channels=3)
    image = tf.image.resize(image, [SIZE, SIZE])
    return tf.image.random_flip_left_right(image)


test = files.map(centre, num_parallel_calls=tf.data.AUTOTUNE).batch(12)
train = (
    files.map(distorted, num_parallel_calls=tf.data.AUTOTUNE).batch(12, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
)
crops = np.concatenate(list(train.as_numpy_iterator()))
small = files.map(lambda p: tf.image.random_crop(tf.io.decode_jpeg(tf.io.read_file(p), channels=3), [50, 50, 3])).batch(
    12
)

results = {
    "exact.spec": [str(test.element_spec), str(train.element_spec), str(small.element_spec)],
    "close.pixels": next(iter(test)),
    "stat.crops": (crops.mean(), 8.0),
    "stat.deviation": (crops.std(), 8.0),
    "exact.shape": crops.shape,
    "stat.small": (np.mean([batch.mean() for batch in small.as_numpy_iterator()]), 8.0),
}
