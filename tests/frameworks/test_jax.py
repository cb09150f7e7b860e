# SPDX-License-Identifier: Apache-2.0
"""Dataset.to_jax() with the real JAX, on two devices of the CPU, and in two processes."""
import itertools
import json
import os
import socket
import subprocess
import sys

os.environ["XLA_FLAGS"] = (os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=2").strip()
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import leat
import numpy
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from ends import LIMIT, check_ctrl_c, check_end
from mixed_sizes import mixed


def numbers(n=40, size=8):
    """Samples that say which they are."""
    images = numpy.arange(n * 12, dtype="float32").reshape(n, 2, 2, 3)
    return leat.from_arrays((images, numpy.arange(n))).shuffle(seed=5).batch(size)


def labels_of(batches):
    return [numpy.asarray(labels).tolist() for _, labels in batches]


def test_a_plain_loop_gives_the_epochs_in_order():
    ds, theirs = numbers(), numbers().to_jax()
    assert len(theirs) == 5
    for _ in range(3):
        for (images, labels), (array, numbers_of) in itertools.zip_longest(ds, theirs):
            assert isinstance(array, jax.Array) and array.dtype == jnp.float32
            assert (numpy.asarray(array) == images).all() and (numpy.asarray(numbers_of) == labels).all()
            assert numbers_of.dtype == jnp.int32  # as everywhere in JAX, unless 64 bits are switched on


@pytest.mark.parametrize("dtype", ["f32", "bf16", "u8", "f16"])
def test_nothing_is_copied(monkeypatch, dtype):
    """The arrays lie where the engine wrote."""
    addresses = []
    original = jax.device_put

    def recorded(array, *args, **kwargs):
        addresses.append(array.ctypes.data)
        return original(array, *args, **kwargs)

    monkeypatch.setattr(jax, "device_put", recorded)
    ds = leat.from_arrays(numpy.arange(64 * 3072, dtype="u4").reshape(64, 32, 32, 3) % 256).cast(dtype).batch(8)
    kept = list(ds.to_jax())
    assert [image.unsafe_buffer_pointer() for image in kept] == addresses and ds.stats()["copies"] == 0
    assert kept[0].dtype == {"f32": "float32", "bf16": "bfloat16", "u8": "uint8", "f16": "float16"}[dtype]
    assert (jnp.concatenate(kept).ravel() == jnp.arange(64 * 3072) % 256).all()


def test_more_batches_than_memory_has_slots():
    ds = leat.synthetic(800, 64, 64).shuffle(seed=1).cast("f32").batch(8)
    tight = ds.configure(memory=8 << 20)
    kept = list(tight.to_jax())
    assert tight.stats()["copies"] > 0
    for (images, labels), (array, numbers_of) in zip(ds, kept):
        assert (numpy.asarray(array) == images).all() and (numpy.asarray(numbers_of) == labels).all()


def test_in_a_compiled_step():
    """An array is tied to no device: it goes together with parameters wherever they are."""
    @jax.jit
    def step(w, images, labels):
        return w + (images.mean((1, 2, 3)) * labels).sum()

    expected = sum(float((images.mean((1, 2, 3)) * labels).sum()) for images, labels in numbers())
    for device in jax.devices():
        w = jax.device_put(jnp.zeros(()), device)
        for given in (None, device):
            total = w
            for images, labels in numbers().to_jax(given):
                total = step(total, images, labels)
            assert numpy.isclose(float(total), expected, rtol=1e-5) and total.devices() == {device}


def test_donated_arrays():
    """What is donated may be reused by XLA: the batches after it are right."""
    step = jax.jit(lambda images: images + 1, donate_argnums=0)
    for (images, _), (array, _) in zip(numbers(400), numbers(400).to_jax()):
        assert (numpy.asarray(step(array)) == images + 1).all()


def test_forms():
    """Weights, dicts, booleans, strings, fields of differing length, single samples."""
    n = 6
    x, y, w = numpy.ones((n, 2), "f4"), numpy.arange(n), numpy.linspace(0, 1, n, dtype="f4")
    triple = next(iter(leat.from_arrays((x, y, w)).batch(3).to_jax()))
    assert len(triple) == 3 and (numpy.asarray(triple[2]) == w[:3]).all()
    fields = {"a": x, "ok": y % 2 == 0, "name": [f"n{i}" for i in range(n)]}
    batch = next(iter(leat.from_arrays(fields).batch(4).to_jax()))
    assert batch["ok"].dtype == jnp.bool_ and batch["name"] == [b"n0", b"n1", b"n2", b"n3"]
    ragged = leat.Ragged(numpy.arange(10, dtype="f4"), numpy.array([0, 1, 4, 4, 10]))
    row = next(iter(leat.from_arrays({"r": ragged}).batch(4).to_jax()))
    assert isinstance(row.values, jax.Array) and row.tolist()[1:3] == [[1.0, 2.0, 3.0], []]
    image, label = next(iter(leat.from_arrays((x, y)).to_jax()))
    assert image.shape == (2,) and label.shape == () and int(label) == 0
    with pytest.raises(TypeError, match="no length"):
        len(leat.synthetic(10, 4, 4).repeat().batch(4).to_jax())


def test_a_device_and_a_sharding():
    """On another device, and spread over two: each has its half of the batch."""
    second = jax.devices()[1]
    for array in next(iter(numbers().to_jax(second))):
        assert array.devices() == {second}
    spread = NamedSharding(Mesh(numpy.array(jax.devices()), ("data",)), PartitionSpec("data"))
    for (images, labels), (array, numbers_of) in zip(numbers(), numbers().to_jax(spread)):
        assert array.sharding == spread and numbers_of.sharding == spread
        assert [shard.data.shape for shard in array.addressable_shards] == [(4, 2, 2, 3)] * 2
        assert (numpy.asarray(array) == images).all() and (numpy.asarray(numbers_of) == labels).all()


def test_states():
    whole = labels_of(numbers().to_jax())
    ds = numbers()
    it = iter(ds.to_jax())
    next(it), next(it)
    other = numbers()
    other.restore(ds.state(0, 1))
    assert labels_of(other.to_jax()) == whole[1:]


PROCESS = """
import json, sys
import jax
rank, port = int(sys.argv[1]), sys.argv[2]
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=2, process_id=rank)
import leat, numpy
from jax.sharding import Mesh, NamedSharding, PartitionSpec
n = 40
images = numpy.arange(n, dtype="float32").reshape(n, 1)
ds = leat.from_arrays((images, numpy.arange(n))).shuffle(seed=5).batch(4)
own = [[int(label) for label in labels] for _, labels in ds.to_jax(jax.local_devices()[0])]
spread = NamedSharding(Mesh(numpy.array(jax.devices()), ("data",)), PartitionSpec("data"))
shapes, sums = [], []
for image, label in leat.from_arrays((images, numpy.arange(n))).shuffle(seed=5).batch(4).to_jax(spread):
    shapes.append(image.shape)
    sums.append(float(jax.jit(lambda x: x.sum())(image)))
try:
    next(iter(leat.from_arrays((images, numpy.arange(n))).shuffle().batch(4).to_jax()))
    refused = ""
except leat.ArgumentError as error:
    refused = str(error)
print(json.dumps({"own": own, "shapes": shapes, "sums": sums, "refused": refused}))
"""


def test_two_processes():
    """Each reads its part; with a sharding over both, the batch is one array of all."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port = place.getsockname()[1]
    env = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=1"}
    processes = [subprocess.Popen([sys.executable, "-c", PROCESS, str(rank), str(port)], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env=env) for rank in range(2)]
    results = []
    for process in processes:
        said, errors = process.communicate(timeout=LIMIT)
        assert process.returncode == 0, errors
        results.append(json.loads(said.splitlines()[-1]))
    parts = [list(itertools.chain.from_iterable(result["own"])) for result in results]
    assert sorted(parts[0] + parts[1]) == list(range(40)) and len(parts[0]) == len(parts[1])
    for result in results:
        assert result["shapes"] == [[8, 1]] * 5 and result["sums"] == results[0]["sums"]
        assert sum(result["sums"]) == sum(range(40)) and "same seed" in result["refused"]


LOOP = """
import sys, jax, leat
it = iter(leat.synthetic(100000, 32, 32).shuffle(seed=1).cast("f32").batch(16).to_jax())
kept = [next(it) for _ in range(3)]
"""


@pytest.mark.parametrize(("end", "wanted"), [("", 0), ("raise ValueError('in the loop')", 1), ("sys.exit(7)", 7)])
def test_ends_in_mid_epoch(end, wanted):
    check_end(LOOP, end, wanted)


def test_ctrl_c_in_mid_epoch():
    check_ctrl_c(LOOP)


def test_photos_of_mixed_sizes(tmp_path):
    ds = mixed(tmp_path)
    for (image, label), (array, number) in itertools.zip_longest(ds, ds.to_jax()):
        assert (numpy.asarray(array) == image).all() and number == label
    assert [images.shape for images, _ in ds.batch(1).to_jax()] == [(1, 5, 9, 3), (1, 6, 8, 3), (1, 7, 7, 3)]
