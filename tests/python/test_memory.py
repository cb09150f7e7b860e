# SPDX-License-Identifier: Apache-2.0
"""A batch is the user's to keep: leases, copies, the buffer protocol, DLPack."""
import ctypes
import gc
import os
import threading
import time

import leat
import numpy
import pytest
from leat._leat import Tensor


def big(n: int = 400, memory: int = 1_500_000):
    return leat.synthetic(n, 64, 64).configure(memory=memory, threads=2).batch(10)  # 120 KB a batch


def test_keeping_everything_works_and_is_counted():
    plain = [(images.copy(), labels.copy()) for images, labels in big(memory=1 << 28)]
    ds = big()
    began = time.monotonic()
    kept = list(ds)
    assert time.monotonic() - began < 30
    stats = ds.stats()
    assert len(kept) == 40 and stats["copies"] > 20 and stats["batches"] >= 40
    assert stats["memory_max_bytes"] == 1_500_000
    for (images, labels), (wanted, wanted_labels) in zip(kept, plain):
        assert numpy.array_equal(images, wanted) and numpy.array_equal(labels, wanted_labels)
        assert images.ctypes.data % 256 == 0 and labels.ctypes.data % 256 == 0
    del images, kept
    gc.collect()
    before = ds.stats()["copies"]
    for images, _ in ds:
        del images
    assert ds.stats()["copies"] == before  # who lets go gets the slots themselves


def test_copies_know_all_that_batches_know():
    ds = big().configure(params=True)
    kept = list(ds.batches())
    copied = [batch for batch in kept if batch.copied]
    assert copied
    for number, batch in enumerate(kept):
        assert batch.step == number and batch.samples == list(range(10 * number, 10 * number + 10))
        assert batch.positions == batch.samples and batch.params == [""] * 10
    words = leat.from_arrays({"word": [f"w{i}" * (i % 5) for i in range(400)], "x": numpy.zeros((400, 8192), "f4")})
    batches = list(words.configure(memory=3_000_000).batch(10))
    assert [word for batch in batches for word in batch["word"].tolist()] == [
        (f"w{i}" * (i % 5)).encode() for i in range(400)]


def test_arrays_hold_the_memory():
    ds = leat.synthetic(1000, 16, 16).configure(threads=1, slots=2).batch(10)
    iterator = iter(ds)
    images, labels = next(iterator)
    view, address = images[3:5, ::2], images.ctypes.data
    wanted = view.copy()
    del images, labels
    seen = set()
    for images, _ in iterator:
        seen.add(images.ctypes.data)
        del images
    assert address not in seen  # the view kept it
    iterator.close()
    ds.close()
    assert numpy.array_equal(view, wanted)
    del view, iterator, ds
    gc.collect()


def test_slots_come_back_from_any_thread():
    ds = leat.synthetic(2000, 16, 16).configure(threads=2, slots=3).batch(10)
    waiting: list = []

    def let_go() -> None:
        while True:
            if waiting:
                item = waiting.pop()
                if item is None:
                    return
                del item
            else:
                time.sleep(0.0005)

    thread = threading.Thread(target=let_go)
    thread.start()
    for batch in ds:
        waiting.insert(0, batch)
    waiting.insert(0, None)
    thread.join(30)
    assert not thread.is_alive() and ds.stats()["copies"] == 0


def tensor(dtype: str = "f32") -> Tensor:
    ds = leat.synthetic(10, 4, 5).cast(dtype).batch(4)
    return next(iter(ds.batches())).tensors["image"]


def test_the_buffer_protocol():
    for dtype, letter in (("u8", "B"), ("f32", "f"), ("f16", "e"), ("bf16", "H")):
        field = tensor(dtype)
        view = memoryview(field)
        assert view.shape == field.shape == (4, 4, 5, 3) and view.format == letter and not view.readonly
        assert view.c_contiguous and view.nbytes == field.nbytes and view.strides == field.strides
        assert bytes(view) == numpy.asarray(field).tobytes()
        assert field.address == numpy.asarray(field).ctypes.data
    part = tensor()[2]
    assert part.shape == (4, 5, 3) and part[1][2][0].shape == ()
    with pytest.raises(IndexError):
        tensor()[4]
    with pytest.raises(TypeError):
        Tensor()


def test_dlpack():
    field = tensor()
    assert field.__dlpack_device__() == (1, 0)
    array = numpy.from_dlpack(field)
    assert array.ctypes.data == field.address and array.shape == (4, 4, 5, 3)
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    assert name(field.__dlpack__()) == b"dltensor"
    assert name(field.__dlpack__(max_version=(0, 8))) == b"dltensor"
    assert name(field.__dlpack__(max_version=(1, 1), stream=None)) == b"dltensor_versioned"
    assert name(field.__dlpack__(max_version=(1, 0), copy=True, dl_device=(1, 0))) == b"dltensor_versioned"
    with pytest.raises(BufferError):
        field.__dlpack__(dl_device=(2, 0))
    with pytest.raises(TypeError):
        field.__dlpack__(maximum=1)


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", DLTensor)]


def described(capsule, kind, name: bytes):
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return kind.from_address(pointer(capsule, name))


def test_what_capsules_say():
    codes = {"u8": (1, 8), "f32": (2, 32), "f16": (2, 16), "bf16": (4, 16)}
    for dtype, wanted in codes.items():
        field = tensor(dtype)
        plain, versioned = field.__dlpack__(), field.__dlpack__(max_version=(1, 0))
        for managed in (described(plain, Managed, b"dltensor"), described(versioned, Versioned, b"dltensor_versioned")):
            inner = managed.tensor
            assert (inner.code, inner.bits, inner.lanes) == (*wanted, 1) and inner.data == field.address
            assert list(inner.shape[:4]) == [4, 4, 5, 3] and list(inner.strides[:4]) == [60, 15, 3, 1]
            assert inner.byte_offset == 0 and inner.data % 256 == 0
    copy = field.__dlpack__(max_version=(1, 0), copy=True)
    inner = described(copy, Versioned, b"dltensor_versioned")
    assert inner.flags == 2 and inner.tensor.data != field.address


def test_a_capsule_lets_go_without_the_interpreter():
    """As frameworks do: the deleter is called in a thread that Python does not know."""
    ds = leat.synthetic(100, 16, 16).configure(threads=1, slots=2).batch(10)
    iterator = ds.batches()
    pthread = ctypes.CDLL(None)
    for batch in iterator:
        capsule = batch.tensors["image"].__dlpack__()
        managed = described(capsule, Managed, b"dltensor")
        rename = ctypes.pythonapi.PyCapsule_SetName
        rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
        rename(capsule, b"used_dltensor")
        number = ctypes.c_ulong()
        assert pthread.pthread_create(ctypes.byref(number), None, ctypes.c_void_p(managed.deleter),
                                      ctypes.byref(managed)) == 0
        assert pthread.pthread_join(number, None) == 0
        del batch, capsule, managed
    stats = ds.stats()
    assert stats["copies"] == 0 and stats["slots_added"] == 0


def test_bfloat16():
    images, _ = next(iter(leat.synthetic(4, 4, 4).cast("bf16").batch(2)))
    try:
        import ml_dtypes
    except ImportError:
        assert isinstance(images, Tensor) and images.dtype == "bf16"
    else:
        assert images.dtype == ml_dtypes.bfloat16


@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer keeps memory that was freed")
def test_no_growth():
    """Memory stays flat over many epochs, iterators and kept batches."""
    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    ds = leat.synthetic(200, 32, 32).shuffle(seed=1).batch(10)

    def work(times: int) -> None:
        for _ in range(times):
            list(ds)
            next(iter(ds))
            leat.from_arrays(numpy.zeros((10, 3))).batch(5)[1]
            numpy.from_dlpack(next(ds.batches()).tensors["image"])
        gc.collect()

    work(20)
    threads = threading.active_count(), len(os.listdir("/proc/self/task"))
    before = resident()
    work(60)
    assert resident() - before < 8 << 20
    assert (threading.active_count(), len(os.listdir("/proc/self/task"))) == threads


def test_counters():
    ds = leat.from_arrays({"x": numpy.arange(64, dtype="f4")}).map(lambda x: {"x": x + 1}).batch(8)
    for _ in range(2):
        for _ in ds:
            pass
    stats = ds.stats()
    assert stats["samples"] == 128 <= stats["samples_made"]
    assert stats["stages"]["call"] > 0 and set(stats["stages"]) == {"read", "parse", "decode", "transform", "store", "call"}
    assert len(stats["workers"]) == stats["threads"] and sum(each["cpu_s"] for each in stats["workers"]) > 0
    assert sum(n for _, n in stats["latency"]["below_s"]) == stats["batches"]
    plain = ds.prefetch(leat.AUTOTUNE).options(read_ahead=leat.AUTOTUNE).configure(threads=leat.AUTOTUNE, slots=leat.AUTOTUNE)
    assert [batch.tolist() for batch in plain] == [batch.tolist() for batch in ds]
    assert plain.stats()["threads"] == stats["threads"] and plain.stats()["slots"] == stats["slots"]
    tuning = stats["tuning"]
    again = ds.options(tune=tuning)
    assert [batch.tolist() for batch in again] == [batch.tolist() for batch in ds]
    assert again.stats()["tuning"] == tuning and again.stats()["tuned"] == 0
