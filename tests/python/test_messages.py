# SPDX-License-Identifier: Apache-2.0
"""What people meet first when something is not as they think: the message names the remedy."""
import copy
import pathlib
import pickle

import leat
import numpy
import pytest

PICTURES = numpy.zeros((4, 8, 8, 3), "uint8")


def positive(sample) -> bool:
    return sample["label"] > 1


@pytest.mark.parametrize("given, error, words", [
    (["a.jpg", "b.jpg"], TypeError, r"list of file names \(a.jpg\).*from_files\(paths, labels\).*from_directory"),
    ((["a/b.PNG"], [1]), TypeError, "list of file names"),
    (([pathlib.Path("photos/1.webp")], [0]), TypeError, "list of file names"),
    ((numpy.array(["a.jpeg", "b.jpeg"]), [0, 1]), TypeError, "list of file names"),
    ((PICTURES, [0, 1]), ValueError, "same number of samples: image has 4, label has 2"),
    ([PICTURES, numpy.arange(4)], ValueError, r"a list of arrays is one array.*give a tuple, \(x, y\)"),
    ({"a": [[1, 2], [3]]}, ValueError, r"array a: row 0 has 2 values, row 1 has 1 value: pad them.*leat.Ragged"),
    (([numpy.zeros((4, 4, 3)), numpy.zeros((5, 4, 3))], [0, 1]), ValueError,
     r"picture 0 is \(4, 4, 3\), picture 1 is \(5, 4, 3\): resize them"),
], ids=["paths", "with labels", "Path", "strings of NumPy", "unequal", "list for tuple", "rows", "pictures"])
def test_what_is_no_array(given, error, words):
    with pytest.raises(error, match=words):
        leat.from_arrays(given)


@pytest.mark.parametrize("call, error, words", [
    (lambda: leat.from_directory("x", image_size=(8, 8)), TypeError, r"no argument 'image_size': write .resize\(height"),
    (lambda: leat.from_directory("x", batch_size=8), TypeError, r"write .batch\(32\) behind it"),
    (lambda: leat.from_directory("x", validation_split=0.2), TypeError, r"write .split\('train'"),
    (lambda: leat.from_tfrecord("x", {"a": 3}), TypeError, "a feature is a text such as"),
    (lambda: leat.synthetic().image_data_generator(featurewise_center=True), TypeError, "of its own, 'featurewise'"),
    (lambda: leat.synthetic().image_data_generator(preprocessing_function=abs), TypeError, "of its own, 'map'"),
    (lambda: leat.synthetic().resize("224x224"), TypeError, "a whole number, not str '224x224'"),
    (lambda: leat.synthetic().as_numpy_iterator(), AttributeError, "iterate over the dataset itself"),
    (lambda: leat.synthetic().train_test_split(), AttributeError, "split"),
    (lambda: leat.DataLoader, AttributeError, "to_torch"),
    (lambda: leat.synthetic(9, 8, 8).resize(4, 4).color_jitter(0.1).batch(2).length, leat.DTypeError,
     "before cast, normalize and resize; resize flavour=pil keeps u8"),
])
def test_habits_of_other_libraries(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_arguments_of_other_libraries_that_are_taken():
    ds = leat.synthetic(20, 4, 4, classes=2)
    assert ds.batch(6, drop_last=True).length == 3
    assert ds.balance(weights={1: 3, 0: 1}).operations[-1] == "balance weights=1,3"
    assert leat.from_tfrecord("x", {"a": "string", "b": numpy.float32}).operations[-1] == "parse a:bytes b:float"


def test_names_of_files_may_be_a_field_beside_the_pictures():
    batch = next(iter(leat.from_arrays({"image": PICTURES[:2], "name": ["a.jpg", "b.jpg"]}).batch(2)))
    assert batch["name"].tolist() == [b"a.jpg", b"b.jpg"]


def test_a_dataset_with_functions_goes_into_a_pickle():
    pytest.importorskip("cloudpickle")
    ds = leat.from_arrays((PICTURES, numpy.arange(4)))
    for chosen in (ds.filter(lambda sample: sample["label"] > 1), ds.filter(positive)):
        again = pickle.loads(pickle.dumps(chosen))
        assert [int(label) for _, label in again] == [2, 3] and again.seed == chosen.seed
        assert copy.deepcopy(chosen).length == copy.copy(chosen).length == 2
    made = leat.from_generator(lambda: iter([1, 2, 3]))
    assert made.length == 3
    assert [int(n) for n in pickle.loads(pickle.dumps(made))] == [1, 2, 3]  # runs the generator anew


def test_without_cloudpickle_a_lambda_in_a_pickle_is_told(run):
    said = run("""
import sys
sys.modules["cloudpickle"] = None
import leat, pickle
try:
    pickle.dumps(leat.synthetic(4).filter(lambda sample: True))
except pickle.PicklingError as error:
    print(error)
""")
    assert "such as a lambda" in said and "pip install cloudpickle" in said and "top of a module" in said


def test_what_cannot_be_pickled_is_made_anew():
    pytest.importorskip("cloudpickle")
    with pytest.raises(pickle.PicklingError, match="make it anew in the other process"):
        pickle.dumps(leat.from_generator(n for n in [1, 2]))
