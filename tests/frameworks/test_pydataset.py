# SPDX-License-Identifier: Apache-2.0
"""keras.utils.Sequence and PyDataset under leat.keras: Keras's own classes, in fit and through leat.from_python."""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import leat
import leat.keras
import leat.tf
import numpy
import pytest

X = numpy.random.RandomState(2).normal(size=(24, 5)).astype("float32")
Y = (X.sum(1, keepdims=True) > 0).astype("float32")


class Batches(leat.tf.keras.utils.Sequence):
    """Six batches; counts epochs as scripts do."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.ends = 0

    def __len__(self):
        return 6

    def __getitem__(self, i):
        return X[4 * i:4 * i + 4], Y[4 * i:4 * i + 4]

    def on_epoch_end(self):
        self.ends += 1


def trained(data):
    keras.utils.set_random_seed(1)
    model = leat.keras.Sequential([keras.Input((5,)), keras.layers.Dense(1, "sigmoid")])
    model.compile("sgd", "binary_crossentropy")
    return model.fit(data, epochs=3, shuffle=False, verbose=0).history["loss"], model.predict(data, verbose=0)


def test_the_classes_are_keras_own():
    assert leat.keras.utils.Sequence is leat.keras.utils.PyDataset is leat.tf.keras.utils.Sequence is keras.utils.PyDataset
    assert isinstance(Batches(), keras.utils.PyDataset)


@pytest.mark.parametrize("how", [{}, {"workers": 2}, {"workers": 2, "use_multiprocessing": True, "max_queue_size": 4}])
def test_fit(how):
    batches = Batches(**how)
    losses, answers = trained(batches)
    wanted, same = trained(leat.from_python(Batches(), workers=1))
    assert numpy.allclose(losses, wanted, atol=1e-6) and numpy.allclose(answers, same, atol=1e-6)
    assert batches.ends >= 3
