# SPDX-License-Identifier: Apache-2.0
"""Dataset.to_torch() with the real PyTorch: loops, DataLoader, states, ranks, and what trainers do with a loader."""
import copy
import itertools
import os
import pickle
import random
import socket
import subprocess
import sys

import leat
import numpy
import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset
from ends import LIMIT, check_ctrl_c, check_end
from mixed_sizes import mixed


def numbers(n=40, size=8):
    """Samples that say which they are."""
    images = numpy.arange(n * 12, dtype="float32").reshape(n, 2, 2, 3)
    return leat.from_arrays((images, numpy.arange(n))).shuffle(seed=5).batch(size)


def first(images):
    """NumPy pictures with channels first."""
    return images.transpose(0, 3, 1, 2)


def labels_of(batches):
    return [labels.tolist() for _, labels in batches]


def test_a_plain_loop_gives_the_epochs_in_order():
    ds, theirs = numbers(), numbers().to_torch()
    assert isinstance(theirs, IterableDataset) and len(theirs) == 5
    for _ in range(3):
        for (images, labels), (tensor, numbers_of) in itertools.zip_longest(ds, theirs):
            assert tensor.dtype == torch.float32 and numbers_of.dtype == torch.int64
            assert (tensor.numpy() == first(images)).all() and (numbers_of.numpy() == labels).all()


def test_nothing_is_copied(monkeypatch):
    """The tensors lie where the engine wrote; they are the reader's, to write to and to keep."""
    addresses = []
    original = torch.from_dlpack
    monkeypatch.setattr(torch, "from_dlpack", lambda tensor: addresses.append(tensor.address) or original(tensor))
    ds = leat.synthetic(64, 32, 32).cast("f32", scale=1 / 255).batch(8)
    kept = list(itertools.chain.from_iterable(ds.to_torch()))
    assert [tensor.data_ptr() for tensor in kept] == addresses and ds.stats()["copies"] == 0
    before = kept[2].clone()
    kept[0].add_(1)
    assert torch.equal(kept[2], before)
    del ds
    assert float(kept[0].mean()) > 1


def test_more_batches_than_memory_has_slots():
    ds = leat.synthetic(800, 64, 64).shuffle(seed=1).cast("f32").batch(8)
    tight = ds.configure(memory=8 << 20)
    kept = list(tight.to_torch())
    assert tight.stats()["copies"] > 0 and len({tensor.data_ptr() for tensor, _ in kept}) == 100
    for (images, labels), (tensor, numbers_of) in zip(ds, kept):
        assert (tensor.numpy() == first(images)).all() and (numbers_of.numpy() == labels).all()


@pytest.mark.parametrize(("ours", "theirs"), [("bf16", torch.bfloat16), ("f16", torch.float16), ("f32", torch.float32),
                                              ("u8", torch.uint8), ("i32", torch.int32), ("f64", torch.float64)])
def test_types(ours, theirs):
    images, _ = next(iter(leat.synthetic(8, 4, 4).cast(ours).batch(4).to_torch()))
    expected, _ = next(iter(leat.synthetic(8, 4, 4).batch(4)))
    assert images.dtype == theirs and (images.to(torch.float64).numpy() == first(expected)).all()


def test_forms():
    """Weights, dicts, booleans, strings, fields of differing length, single samples, batches that came as batches."""
    n = 6
    x, y, w = numpy.ones((n, 2), "f4"), numpy.arange(n), numpy.linspace(0, 1, n, dtype="f4")
    triple = next(iter(leat.from_arrays((x, y, w)).batch(3).to_torch()))
    assert len(triple) == 3 and torch.equal(triple[2], torch.from_numpy(w[:3]))
    fields = {"a": x, "ok": y % 2 == 0, "name": [f"n{i}" for i in range(n)]}
    batch = next(iter(leat.from_arrays(fields).batch(4).to_torch()))
    assert batch["ok"].dtype == torch.bool and batch["name"] == [b"n0", b"n1", b"n2", b"n3"]
    nested = next(iter(leat.from_arrays(fields).as_tuple(["a", "ok"], "name").batch(2).to_torch()))
    assert set(nested[0]) == {"a", "ok"} and nested[1] == [b"n0", b"n1"]
    ragged = leat.Ragged(numpy.arange(10, dtype="f4"), numpy.array([0, 1, 4, 4, 10]))
    row = next(iter(leat.from_arrays({"r": ragged}).batch(4).to_torch()))
    assert row.values.dtype == torch.float32 and row.offsets.tolist() == [0, 1, 4, 4, 10]
    assert row.tolist() == [[0.0], [1.0, 2.0, 3.0], [], [4.0, 5.0, 6.0, 7.0, 8.0, 9.0]]
    nested_tensor = torch.nested.nested_tensor_from_jagged(row.values, row.offsets)
    assert [part.tolist() for part in nested_tensor.unbind()] == row.tolist()
    image, label = next(iter(leat.from_arrays((x, y)).to_torch()))
    assert image.shape == (2,) and label.shape == () and int(label) == 0
    name = next(iter(leat.from_arrays({"name": ["one", "two"]}).to_torch()))
    assert name == b"one"


def test_items_that_are_batches():
    class Batches:
        """Items are batches, the last one is shorter. A local class travels whole: its process imports no framework."""

        def __len__(self):
            return 3

        def __getitem__(self, i):
            n = 4 if i < 2 else 2
            return numpy.full((n, 3), i, "f4"), numpy.arange(n)

    theirs = leat.from_python(Batches(), 1, items="batch").to_torch()
    shapes = [(tuple(x.shape), x.dtype, y.tolist()) for x, y in theirs]
    assert sorted(shapes, key=str) == sorted([((4, 3), torch.float32, [0, 1, 2, 3])] * 2
                                             + [((2, 3), torch.float32, [0, 1])], key=str)


@pytest.mark.parametrize("pin", [False, True])
@pytest.mark.filterwarnings("ignore:'pin_memory'")
def test_data_loader(pin):
    """Several epochs of one loader; without a GPU torch says that it does not pin, and goes on."""
    plain = numbers()
    loader = DataLoader(numbers().to_torch(), batch_size=None, pin_memory=pin)
    assert len(loader) == 5
    for _ in range(3):
        assert labels_of(loader) == labels_of(plain)


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_worker_processes_are_refused(context):
    loader = DataLoader(numbers().to_torch(), batch_size=None, num_workers=1, multiprocessing_context=context)
    with pytest.raises(leat.UnsupportedError, match=r"num_workers=1.*use num_workers=0"):
        next(iter(loader))


def test_what_is_not_known_is_told():
    endless = leat.synthetic(10, 4, 4).repeat().batch(4).to_torch()
    with pytest.raises(TypeError, match="no length"):
        len(endless)
    assert len(list(itertools.islice(endless, 7))) == 7
    with pytest.raises(AttributeError, match="first, then call to_torch"):
        numbers().to_torch().batch(4)


# --------------------------------------------------------------------------------------------- states


def test_states_are_exact():
    """After any number of batches, in a loop and behind a loader, for this process and for another one."""
    ds = numbers().to_torch()
    whole = [labels_of(ds) for _ in range(3)]
    for steps in (0, 1, 4, 5):
        first = numbers().to_torch()
        assert labels_of(first) == whole[0]
        loader = iter(DataLoader(first, batch_size=None))
        seen = labels_of(itertools.islice(loader, steps))
        saved = pickle.loads(pickle.dumps(first.state_dict()))
        second = numbers().to_torch()
        second.load_state_dict(saved)
        if steps in (0, 5):  # at an epoch's end the next one begins
            assert labels_of(second) == whole[1 if steps == 0 else 2]
        else:
            assert seen + labels_of(second) == whole[1]
            assert labels_of(second) == whole[2]


def test_states_of_what_the_model_has_seen():
    """Somebody takes batches ahead: the place is asked for by consumed steps."""
    whole = labels_of(numbers().to_torch())
    ds = numbers().to_torch()
    ahead = iter(ds)
    for _ in range(4):
        next(ahead)
    other = numbers().to_torch()
    other.load_state_dict(ds.state_dict(epoch=0, step=2))
    assert labels_of(other) == whole[2:]
    with pytest.raises(leat.StateError, match="state_dict"):
        other.load_state_dict({"something": 1})


# --------------------------------------------------------------------------------------------- trainers


def test_set_epoch():
    epochs = [labels_of(ds) for ds in [numbers().to_torch()] for _ in range(4)]
    ds = numbers().to_torch()
    ds.set_epoch(0)
    assert labels_of(ds) == epochs[0]
    ds.set_epoch(1)  # comes anyway
    assert labels_of(ds) == epochs[1]
    ds.set_epoch(0)
    assert labels_of(ds) == epochs[0]
    ds.set_epoch(3)
    assert labels_of(ds) == epochs[3]
    ds.load_state_dict(ds.state_dict(epoch=1, step=3))
    ds.set_epoch(0)  # as trainers do that count from 0 after a restart
    assert labels_of(ds) == epochs[1][3:]


def test_one_batch_ahead_as_accelerate():
    """DataLoaderShard: set_epoch if the dataset has it, then one batch is taken before the last is handed on."""
    epochs = [labels_of(ds) for ds in [numbers().to_torch()] for _ in range(3)]
    dataset = numbers().to_torch()
    loader = DataLoader(dataset, batch_size=None)
    for epoch in range(3):
        assert hasattr(loader.dataset, "set_epoch") and not hasattr(loader.batch_sampler, "sampler")
        loader.dataset.set_epoch(epoch)
        source = iter(loader)
        current, seen = next(source), []
        for following in source:
            seen.append(current)
            current = following
        assert labels_of([*seen, current]) == epochs[epoch]


def test_what_lightning_asks():
    """It looks for a length, replaces samplers of map-style datasets only, and copies loaders."""
    loader = DataLoader(numbers().to_torch(), batch_size=None)
    assert isinstance(loader.dataset, IterableDataset) and len(loader) == 5
    assert not hasattr(loader.sampler, "set_epoch") and loader.batch_sampler is None
    epochs = [labels_of(loader), labels_of(loader)]
    again = copy.deepcopy(loader)
    assert labels_of(again) == epochs[0]  # a copy begins at the beginning
    again = type(loader)(**{key: getattr(loader, key) for key in ("dataset", "batch_size", "num_workers", "collate_fn",
                                                                  "pin_memory", "timeout", "generator")})
    assert labels_of(again)[0] not in (epochs[0][0], epochs[1][0])  # the same dataset: it goes on


def test_a_common_seed_comes_from_random():
    """seed_everything calls random.seed: with no seed given, the order follows from it."""
    def draw():
        random.seed(11)
        return labels_of(leat.from_arrays((numpy.zeros((40, 2)), numpy.arange(40))).shuffle().batch(8).to_torch())

    assert draw() == draw()


RANK = """
import json, os, random, sys, types
import torch, leat, numpy
rank, port, n = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
random.seed(rank)  # ranks would draw different seeds
torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
images = numpy.arange(n, dtype="float32").reshape(n, 1)
ds = leat.from_arrays((images, numpy.arange(n))).shuffle(seed=5).batch(4).to_torch()
loader = torch.utils.data.DataLoader(ds, batch_size=None)
seen = [[labels.tolist() for _, labels in loader] for _ in range(2)]
it = iter(loader)
next(it)
state = ds.state_dict()
tail = [labels.tolist() for _, labels in it]
ds.load_state_dict(state)
again = [labels.tolist() for _, labels in loader]
free = leat.from_arrays((images, numpy.arange(n))).shuffle().batch(4).to_torch()
if rank == 0:
    len(free)  # no rank waits for another
drawn = [labels.tolist() for _, labels in free]
all_of_it = sum(len(labels) for _, labels in leat.from_arrays((images, numpy.arange(n))).batch(4)
                .to_torch(distributed=False))
fake = types.ModuleType("accelerate.data_loader")
sys.modules["accelerate.data_loader"] = fake
exec("def read(loader): return list(loader)", fake.__dict__)
try:
    fake.read(loader)
    refused = ""
except leat.UnsupportedError as error:
    refused = str(error)
torch.distributed.barrier()
print(json.dumps({"length": len(loader), "seen": seen, "state": state, "tail": tail, "again": again, "drawn": drawn,
                  "all": all_of_it, "refused": refused}))
torch.distributed.destroy_process_group()
"""


def two_ranks(n):
    import json

    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port = place.getsockname()[1]
    processes = [subprocess.Popen([sys.executable, "-c", RANK, str(rank), str(port), str(n)], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) for rank in range(2)]
    results = []
    for process in processes:
        said, errors = process.communicate(timeout=LIMIT)
        assert process.returncode == 0, errors
        results.append(json.loads(said.splitlines()[-1]))
    return results


def test_two_ranks_have_each_sample_once():
    """gloo, two processes: their parts are disjoint and together the epoch, and both have as many batches."""
    ranks = two_ranks(40)
    for epoch in range(2):
        parts = [list(itertools.chain.from_iterable(rank["seen"][epoch])) for rank in ranks]
        assert sorted(parts[0] + parts[1]) == list(range(40))
        assert len(ranks[0]["seen"][epoch]) == len(ranks[1]["seen"][epoch]) == ranks[0]["length"] == 5
    assert ranks[0]["seen"][0] != ranks[0]["seen"][1]
    assert ranks[0]["state"] == ranks[1]["state"]
    for rank in ranks:
        assert rank["again"] == rank["tail"] and len(rank["tail"]) == 4
        assert rank["all"] == 40 and "prepare()" in rank["refused"]
    drawn = [list(itertools.chain.from_iterable(rank["drawn"])) for rank in ranks]
    assert sorted(drawn[0] + drawn[1]) == list(range(40)) and sorted(drawn[0]) != drawn[0]


def test_two_ranks_of_a_number_that_does_not_divide():
    """The last batch is filled up: as many batches of one size on both, and nothing is missing."""
    ranks = two_ranks(37)
    for epoch in range(2):
        parts = [rank["seen"][epoch] for rank in ranks]
        assert [len(part) for part in parts[0]] == [len(part) for part in parts[1]] == [4] * 5
        together = list(itertools.chain.from_iterable(parts[0] + parts[1]))
        assert set(together) == set(range(37)) and len(together) == 40


# ------------------------------------------------------------------------------------------------ ends

LOOP = """
import sys, torch, leat
ds = leat.synthetic(100000, 32, 32).shuffle(seed=1).cast("f32").batch(16).to_torch()
loader = torch.utils.data.DataLoader(ds, batch_size=None)
it = iter(loader)
kept = [next(it) for _ in range(3)]
"""


@pytest.mark.parametrize(("end", "wanted"), [("", 0), ("raise ValueError('in the loop')", 1), ("sys.exit(7)", 7)])
def test_ends_in_mid_epoch(end, wanted):
    check_end(LOOP, end, wanted)


def test_ctrl_c_in_mid_epoch():
    check_ctrl_c(LOOP)


def test_leat_is_quick_to_import_and_takes_no_framework_along():
    code = "import sys, leat\nassert not {'torch', 'tensorflow', 'jax', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=LIMIT, env=dict(os.environ))


def test_photos_of_mixed_sizes(tmp_path):
    ds = mixed(tmp_path)
    sizes = [{5, 9, 3}, {6, 8, 3}, {7, 3}]
    assert [set(image.shape) for image, _ in ds.to_torch()] == sizes
    loader = DataLoader(ds.batch(1).to_torch(), batch_size=None)
    assert [set(images.shape) - {1} for images, _ in loader] == sizes
    assert [images.shape[0] for images, _ in loader] == [1, 1, 1]
