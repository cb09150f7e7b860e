# SPDX-License-Identifier: Apache-2.0
"""'How do I make this pipeline faster': TFRecords read one file after the other, an expensive map, a tiny shuffle buffer.

    python records_in_order.py [PICTURES] [EPOCHS]
"""
import tensorflow as tf
from practice import Says, arguments, compiled, records, small_model

COUNT, EPOCHS = arguments(2000)
FILES = records(COUNT)


def parse(record):
    got = tf.io.parse_single_example(record, {"image": tf.io.FixedLenFeature((), tf.string),
                                              "label": tf.io.FixedLenFeature((), tf.int64)})
    return tf.reshape(tf.io.decode_raw(got["image"], tf.uint8), (96, 96, 3)), got["label"]


def augment(image, label):
    image = tf.image.resize(tf.cast(image, tf.float32), (256, 256), method="bicubic")
    image = tf.image.random_crop(image, (224, 224, 3))
    image = tf.image.random_hue(image / 255, 0.1)
    return tf.image.random_contrast(image, 0.8, 1.2) * 255, label


train = tf.data.TFRecordDataset(FILES, compression_type="GZIP")
train = train.shuffle(16).map(parse).map(augment).batch(32)
compiled(small_model(224)).fit(train, epochs=EPOCHS, callbacks=[Says()], verbose=0)
