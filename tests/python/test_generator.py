# SPDX-License-Identifier: Apache-2.0
"""ImageDataGenerator without any framework: order, epochs, seeds, lockstep, access by number. tests/frameworks compares it
with Keras."""
import subprocess
import sys
import threading

import leat
import numpy
import pytest
from leat import _idg

random = numpy.random.RandomState(5)
X = (random.rand(23, 12, 14, 3) * 255).astype("uint8")
Y = numpy.arange(23)
MOVES = {"rotation_range": 30, "width_shift_range": 0.2, "height_shift_range": 0.1, "shear_range": 10, "zoom_range": 0.2,
         "horizontal_flip": True}


def generator(**more) -> _idg.ImageDataGenerator:
    return _idg.ImageDataGenerator(**{**MOVES, **more})


def test_epochs_have_every_sample_once():
    flow = generator().flow(X, Y, batch_size=5, seed=1)
    assert len(flow) == 5 and flow.index_array is None
    orders = []
    for epoch in range(3):
        seen = []
        for step in range(5):
            assert flow.batch_index == step and flow.total_batches_seen == 5 * epoch + step
            images, labels = next(flow)
            assert images.shape == (len(labels), 12, 14, 3) and images.dtype == "float32" and images.flags.writeable
            seen += labels.tolist()
        assert sorted(seen) == Y.tolist() and seen == flow.index_array.tolist()
        orders.append(seen)
    assert orders[0] != orders[1] != orders[2]


def test_without_shuffle():
    flow = generator().flow(X, Y, batch_size=5, shuffle=False)
    assert sum([next(flow)[1].tolist() for _ in range(10)], []) == Y.tolist() * 2


def test_a_seed_gives_the_same_batches_and_numpys_seed_too():
    one, two = (generator().flow(X, seed=3) for _ in range(2))
    for _ in range(3):
        numpy.testing.assert_array_equal(next(one), next(two))
    batches = []
    for seed in (7, 7, 8):
        numpy.random.seed(seed)
        batches.append(next(generator().flow(X)))
    numpy.testing.assert_array_equal(batches[0], batches[1])
    assert numpy.abs(batches[0] - batches[2]).max() > 1


def test_pictures_and_masks_go_in_step():
    """Two flows with one seed: the same order and the same moves, whatever else the generators do."""
    masks = (X[..., :1] > 127).astype("float32") * 255
    settings = {**MOVES, "interpolation_order": 0, "fill_mode": "constant"}
    one = _idg.ImageDataGenerator(**settings).flow(masks, Y, seed=9, batch_size=6)
    two = _idg.ImageDataGenerator(**settings, rescale=1 / 255, brightness_range=(1, 1)).flow(masks, Y, seed=9, batch_size=6)
    for _ in range(8):
        (a, labels), (b, others) = next(one), next(two)
        assert labels.tolist() == others.tolist()
        numpy.testing.assert_allclose(a / 255, b, atol=1e-6)
    for i in (2, 0, 1, 2, 3, 0):
        numpy.testing.assert_allclose(one[i][0] / 255, two[i][0], atol=1e-6)


def test_files_and_arrays_go_in_step(tmp_path):
    """The order and the moves of a flow from files are those of a flow from an array with the same seed."""
    image = pytest.importorskip("PIL.Image")
    (tmp_path / "a").mkdir()
    for i, pixels in enumerate(X):
        image.fromarray(pixels).save(tmp_path / f"a/{i:02}.png")
    files = generator().flow_from_directory(str(tmp_path), (12, 14), class_mode=None, batch_size=6, seed=9)
    arrays = generator().flow(X, batch_size=6, seed=9)
    for i in range(6):
        numpy.testing.assert_array_equal(next(files), next(arrays))
        assert files.index_array.tolist() == arrays.index_array.tolist()
    numpy.testing.assert_array_equal(files[3], arrays[3])


def test_a_loop_over_numbers_reads_ahead():
    """From some batches on a loop reads a pipeline; each batch has its samples, and draws that no other has."""
    flow = generator().flow(X, Y, batch_size=1, seed=1)
    first, second = ([flow[i] for i in range(23)] for _ in range(2))
    assert flow._indexed[1] is not None
    assert [int(labels[0]) for _, labels in first] == flow.index_array.tolist() == [int(labels[0]) for _, labels in second]
    assert all(numpy.abs(one - two).max() > 1 for (one, _), (two, _) in zip(first, second))


def test_access_by_number_draws_anew():
    flow = generator().flow(X, Y, batch_size=5, seed=1)
    first = [flow[0] for _ in range(3)]
    assert first[0][1].tolist() == first[1][1].tolist() == flow.index_array[:5].tolist()
    assert numpy.abs(first[0][0] - first[1][0]).max() > 1 and numpy.abs(first[1][0] - first[2][0]).max() > 1
    passes = [[flow[i] for i in range(5)] for _ in range(2)]  # the same order, other draws
    for one, two in zip(*passes):
        assert one[1].tolist() == two[1].tolist() and numpy.abs(one[0] - two[0]).max() > 1
    before = flow.index_array.tolist()
    flow.on_epoch_end()
    assert flow.index_array.tolist() != before and sorted(flow.index_array) == sorted(before)
    assert flow[4][1].tolist() == flow.index_array[20:].tolist()
    with pytest.raises(ValueError, match="length 5"):
        flow[5]


def test_reset_begins_a_new_epoch():
    flow = generator().flow(X, Y, batch_size=5, seed=1)
    first = [next(flow)[1].tolist() for _ in range(2)]
    flow.reset()
    again = [next(flow)[1].tolist() for _ in range(5)]
    assert sorted(sum(again, [])) == Y.tolist() and again[:2] != first


def test_an_order_of_the_users():
    flow = generator().flow(X, Y, batch_size=5)
    flow.index_array = numpy.arange(23)[::-1]
    assert flow[0][1].tolist() == [22, 21, 20, 19, 18]
    images, labels = flow._get_batches_of_transformed_samples(numpy.array([4, 4, 1]))
    assert labels.tolist() == [4, 4, 1] and numpy.abs(images[0] - images[1]).max() > 1


def test_a_generator_that_changes():
    """Settings are those of the moment, as in Keras."""
    plain = _idg.ImageDataGenerator()
    flow = plain.flow(X, shuffle=False, batch_size=23)
    numpy.testing.assert_array_equal(next(flow), X)
    plain.rescale = 0.5
    numpy.testing.assert_array_equal(next(flow), X * 0.5)
    plain.rescale, plain.horizontal_flip = None, True
    flipped = (next(flow) == X[:, :, ::-1]).all(axis=(1, 2, 3))
    assert 0 < flipped.sum() < 23


def test_threads_share_an_iterator():
    flow = generator().flow(X, Y, batch_size=5, seed=1)
    seen: list[int] = []

    def take() -> None:
        for _ in range(5):
            seen.extend(next(flow)[1].tolist())

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == sorted(Y.tolist() * 4) and flow.total_batches_seen == 20


def test_batches_may_be_kept_and_changed():
    flow = generator().flow(X, batch_size=5, seed=1)
    kept = [next(flow) for _ in range(12)]
    copies = [batch.copy() for batch in kept]
    for batch in kept[::2]:
        batch *= 0
    for _ in range(5):
        next(flow)
    for batch, copy in zip(kept[1::2], copies[1::2]):
        numpy.testing.assert_array_equal(batch, copy)


def test_what_the_engine_does_not_do_is_told_once():
    x = X.astype("float32")
    flow = _idg.ImageDataGenerator(fill_mode="mirror", width_shift_range=0.1).flow(x, batch_size=5)
    with pytest.warns(leat.LeatWarning, match="mirror.*one by one"):
        try:
            next(flow)
        except ImportError as error:  # without SciPy
            assert "pip install scipy" in str(error)


def test_a_function_that_fails_is_named():
    def broken(image):
        raise ZeroDivisionError("of the user")

    flow = _idg.ImageDataGenerator(preprocessing_function=broken).flow(X)
    with pytest.warns(leat.LeatWarning, match="broken"), pytest.raises(ZeroDivisionError, match="of the user"):
        next(flow)


def test_a_missing_file(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/x.png").write_bytes(b"")
    flow = _idg.ImageDataGenerator().flow_from_directory(str(tmp_path))
    (tmp_path / "a/x.png").unlink()
    with pytest.raises(FileNotFoundError, match="x.png"):
        next(flow)


def test_neither_keras_nor_tensorflow_is_imported():
    script = ("import sys, numpy; from leat._idg import ImageDataGenerator as G; next(G(rotation_range=9).flow(numpy.zeros("
              "(4, 6, 6, 3)))); assert not {'keras', 'tensorflow', 'scipy', 'PIL', 'pandas'} & set(sys.modules)")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
