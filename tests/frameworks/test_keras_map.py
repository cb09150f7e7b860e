# SPDX-License-Identifier: Apache-2.0
"""model.fit on datasets with functions of Python, before and behind batch(), on the backend that KERAS_BACKEND names."""
import keras
import leat
import numpy


def smooth(label, rng):
    return (numpy.eye(3, dtype="f4")[label] * 0.9 + rng.random() * 0.01).astype("f4")


def darker(image, rng):
    return (image * rng.uniform(0.5, 1)).astype("f4")


def test_fit():
    images = numpy.random.RandomState(1).randint(0, 255, (24, 6, 4, 3), "uint8")
    seen: list[float] = []

    class Watch(keras.layers.Layer):
        def call(self, x, training=False):
            if training:
                seen.append(float(keras.ops.sum(x)))
            return x

    def dataset():
        return (leat.from_arrays((images, numpy.arange(24) % 3)).shuffle(seed=3).map(darker).normalize(mean=0.0, std=255.0)
                .batch(8).map(smooth))

    model = keras.Sequential([Watch(), keras.layers.Flatten(), keras.layers.Dense(3, activation="softmax")])
    model.compile("sgd", "categorical_crossentropy", run_eagerly=True)
    ds = dataset()
    model.fit(dataset(), epochs=2, verbose=0)
    want = [float(numpy.sum(x)) for _ in range(2) for x, _ in ds]
    assert numpy.allclose(seen[-6:], want, rtol=1e-5)
    assert model.predict(dataset().as_tuple("image"), verbose=0).shape == (24, 3)
