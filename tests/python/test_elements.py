# SPDX-License-Identifier: Apache-2.0
"""ds[i] is element i of the first iteration, and len(ds) counts the same things."""
import gzip
import random
import struct

import leat
import numpy
import pytest


def same(a, b):
    return all(numpy.array_equal(x, y) and x.dtype == y.dtype for x, y in zip(a, b, strict=True))


def made(n=50, size=8):
    return leat.synthetic(n, 6, 5).shuffle(seed=3).random_flip_left_right().random_brightness(0.2).batch(size)


def test_a_batched_dataset_has_batches_as_elements():
    ds = made()
    batches = list(made())
    assert len(ds) == len(batches) == 7
    assert all(same(ds[i], batches[i]) for i in (0, 6, 3, 4, 0))
    assert same(ds[-1], batches[6]) and ds[-1][0].shape == (2, 6, 5, 3)
    assert all(same(a, b) for a, b in zip(reversed(ds), reversed(batches), strict=True))
    assert all(same(a, b) for a, b in zip([ds[i] for i in range(len(ds))], batches, strict=True))
    random.seed(1)
    chosen = random.choice(ds)
    random.seed(1)
    assert same(chosen, random.choice(batches))
    for wrong in (7, -8, 100):
        with pytest.raises(IndexError, match="of 7"):
            ds[wrong]
    with pytest.raises(AttributeError):
        ds["image"]


def test_a_dataset_without_batch_has_samples():
    ds = leat.synthetic(9, 4, 4).shuffle(seed=1)
    items = list(leat.synthetic(9, 4, 4).shuffle(seed=1))
    assert len(ds) == 9 and all(same(ds[i], items[i]) for i in range(9)) and same(ds[-2], items[-2])
    with pytest.raises(IndexError):
        ds[9]


def test_a_slice_is_a_sequence_that_reads_when_it_is_asked():
    ds, batches = made(), list(made())
    part = ds[1:6:2]
    assert len(part) == 3 and same(part[1], batches[3]) and same(part[-1], batches[5])
    assert all(same(a, b) for a, b in zip(part, batches[1:6:2], strict=True))
    assert all(same(a, b) for a, b in zip(ds[::-1], batches[::-1], strict=True))
    assert same(part[1:][0], batches[3]) and len(ds[5:100]) == 2 and "elements 1:6:2" in repr(part)
    with pytest.raises(IndexError):
        part[3]


def test_elements_do_not_move_the_iteration():
    ds, plain = made(), made()
    epochs = [list(plain), list(plain)]
    it = iter(ds)
    first = next(it)
    assert same(ds[5], epochs[0][5])
    state = ds.state()
    rest = list(it)
    assert all(same(a, b) for a, b in zip([first, *rest], epochs[0], strict=True))
    assert same(ds[2], epochs[0][2])  # of the first iteration, also now
    assert all(same(a, b) for a, b in zip(ds, epochs[1], strict=True))
    ds.restore(state)
    assert same(ds[0], epochs[0][0])
    assert all(same(a, b) for a, b in zip(ds, epochs[0][1:], strict=True))


def test_repeat_behind_batch_and_without_end():
    """Elements of one iteration, which has several epochs of the engine."""
    ds = leat.synthetic(10, 4, 4).shuffle(seed=1).batch(4).repeat(3)
    items = list(leat.synthetic(10, 4, 4).shuffle(seed=1).batch(4).repeat(3))
    assert len(ds) == 9 and all(same(ds[i], items[i]) for i in (8, 0, 4, -1))
    endless = leat.synthetic(10, 4, 4).shuffle(seed=1).batch(4).repeat()
    assert same(endless[7], items[7])
    with pytest.raises(TypeError, match="no length"):
        endless[-1]


def test_batches_by_shape(pictures):
    """Buckets make batches that differ in number."""
    ds = (leat.from_directory(pictures).bucket_by_aspect_ratio("0.8,1.2", sizes="32x16,24x24,16x32").decode()
          .resize_to_bucket().batch(5))
    batches = list(ds)
    assert len(ds) == len(batches) and all(same(ds[i], batches[i]) for i in range(len(ds)))


def test_a_stream_is_read_from_its_beginning(tmp_path):
    """Forwards it goes on where it is, backwards it begins again; its end is an IndexError."""
    records = tmp_path / "a.tfrecord.gz"
    payload = b"".join(_record(struct.pack("<2f", i, -i)) for i in range(20))
    records.write_bytes(gzip.compress(payload))
    ds = leat.from_tfrecord(records).decode_raw("f32", field="record").reshape(2, field="record").batch(6)
    batches = list(ds)
    for i in (0, 1, 3, 2, 0):
        assert numpy.array_equal(ds[i], batches[i])
    with pytest.raises(IndexError):
        ds[4]
    with pytest.raises(IndexError):
        ds[40]


def _crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _record(data):
    length = struct.pack("<Q", len(data))
    return length + _crc(length) + data + _crc(data)
