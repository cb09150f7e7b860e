# SPDX-License-Identifier: Apache-2.0
"""leat.tf.data against tf.data: the same program runs on both, and elements, types, shapes and lengths are compared."""
import gc
import gzip
import os
import random
import zlib

import leat
import numpy
import pytest
import tensorflow as tf

from leat._tfdata.dataset import Dataset
from leat._tfdata.readers import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset

Real = tf.data.Dataset


def flat(element):
    """An element as values that can be compared and sorted."""
    return tuple((value.dtype.name, tuple(value.shape), value.numpy().tobytes() if value.dtype != tf.string
                  else tuple(value.numpy().ravel().tolist()) if value.shape.rank else value.numpy())
                 for value in tf.nest.flatten(element))


def elements(dataset, limit=40):
    return [flat(element) for element, _ in zip(dataset, range(limit))]


def is_lowered(dataset):
    return getattr(dataset, "_chain", None) is not None and dataset._engine() is not None


def same(make, lowered=True, order=True, limit=40):
    """make(Dataset class) on both: the same elements, in the same order or as a multiset."""
    ours, theirs = make(Dataset), make(Real)
    assert is_lowered(ours) == lowered
    assert ours.element_spec == theirs.element_spec
    assert int(ours.cardinality()) == int(theirs.cardinality())
    found, wanted = elements(ours, limit), elements(theirs, limit)
    assert (found == wanted) if order else (sorted(map(str, found)) == sorted(map(str, wanted)))
    for element, _ in zip(ours, range(1)):
        tf.nest.assert_same_structure(element, ours.element_spec)
        tf.nest.map_structure(lambda value, spec: spec.is_compatible_with(value) or pytest.fail(f"{value} {spec}"), element,
                              ours.element_spec)
    return ours


X = numpy.random.default_rng(1).integers(0, 255, (23, 4, 3), dtype=numpy.uint8)
Y = numpy.arange(23)
WORDS = [f"word{i}" * (i % 3) for i in range(23)]


# ------------------------------------------------------------------------------------------------ sources


@pytest.mark.parametrize("tensors", [
    X, (X, Y), {"b": X, "a": (Y, WORDS)}, ((X, Y), {"w": Y.astype("float16")}), [1, 2, 3], ([1.5, 2.5], ["a", "b"]),
    (numpy.array([True, False]), numpy.ones((2, 0x10), "float64")), tf.constant([[1, 2], [3, 4]]),
    (X[:, ::2], X.astype(">i4")[::-1])])
def test_from_tensor_slices(tensors):
    same(lambda kind: kind.from_tensor_slices(tensors))
    same(lambda kind: kind.from_tensor_slices(tensors).batch(2))
    assert list(map(str, Dataset.from_tensor_slices(tensors).as_numpy_iterator())) == \
        list(map(str, Real.from_tensor_slices(tensors).as_numpy_iterator()))


def test_from_tensors_and_range():
    same(lambda kind: kind.from_tensors((X, "word", 3)))
    same(lambda kind: kind.from_tensors({"a": 1.5}).repeat(3).batch(2))
    same(lambda kind: kind.range(7))
    same(lambda kind: kind.range(2, 20, 3).batch(4))
    same(lambda kind: kind.range(9, 2, -2, output_type=tf.int32))


def test_later_changes_of_an_array_do_not_count():
    given = numpy.arange(4)
    ours = Dataset.from_tensor_slices(given)
    given[:] = 9
    assert [int(value) for value in ours] == [0, 1, 2, 3]
    assert [int(value) for value in ours.window(1).flat_map(lambda each: each)] == [0, 1, 2, 3]


def test_sources_that_tensorflow_keeps():
    ragged = tf.ragged.constant([[1], [2, 3]])
    same(lambda kind: kind.from_generator(lambda: iter([1, 2]), output_signature=tf.TensorSpec([], tf.int32)), lowered=False)
    assert [row.numpy().tolist() for row in Dataset.from_tensor_slices(ragged)] == [[1], [2, 3]]
    assert not is_lowered(Dataset.from_tensor_slices(ragged))
    assert len(list(Dataset.random(seed=3).take(2))) == 2
    with pytest.raises(ValueError):
        Dataset.from_tensor_slices((X, Y[:3]))
    assert len(Dataset.from_tensor_slices(X[:0])) == 0


def test_list_files(tmp_path):
    for name in ("b.txt", "a.txt", "c.bin"):
        (tmp_path / name).write_text(name)
    same(lambda kind: kind.list_files(str(tmp_path / "*.txt"), shuffle=False))
    same(lambda kind: kind.list_files([str(tmp_path / "*.txt"), str(tmp_path / "*.bin")]), order=False)
    with pytest.raises(tf.errors.InvalidArgumentError):
        Dataset.list_files(str(tmp_path / "*.none"))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Four TFRecord files of 3, 5, 1 and 4 records."""
    folder = tmp_path_factory.mktemp("records")
    made = []
    for number, n in enumerate((3, 5, 1, 4)):
        path = str(folder / f"part-{number}.tfrecord")
        with tf.io.TFRecordWriter(path) as writer:
            for i in range(n):
                writer.write(f"{number}:{i}".encode() * (i + 1))
        made.append(path)
    return made


KINDS = {Dataset: TFRecordDataset, Real: tf.data.TFRecordDataset}


def test_tfrecords(files):
    same(lambda kind: KINDS[kind](files[0]))
    same(lambda kind: KINDS[kind](files).batch(4))
    same(lambda kind: KINDS[kind](tf.constant(files), buffer_size=1000))
    same(lambda kind: KINDS[kind](files[::-1]))
    for reads in (1, 2, 3, 4, tf.data.AUTOTUNE):
        same(lambda kind: KINDS[kind](files, num_parallel_reads=reads))
    same(lambda kind: KINDS[kind](kind.from_tensor_slices(files)))
    same(lambda kind: KINDS[kind](kind.list_files(files), num_parallel_reads=2), order=False)
    assert isinstance(TFRecordDataset(files), tf.data.TFRecordDataset)
    assert isinstance(tf.data.TFRecordDataset(files), TFRecordDataset)
    assert not isinstance(Dataset.range(3), TFRecordDataset)


@pytest.mark.parametrize("cycle, block, calls", [(1, 1, None), (2, 1, None), (3, 2, tf.data.AUTOTUNE), (None, None, None),
                                                 (9, 1, 2), (None, 2, 1), (None, 1, tf.data.AUTOTUNE)])
def test_interleave_over_files(files, cycle, block, calls):
    def make(kind):
        return kind.from_tensor_slices(files).interleave(lambda name: KINDS[kind](name), cycle_length=cycle,
                                                         block_length=block, num_parallel_calls=calls)
    same(make)
    same(lambda kind: make(kind).batch(4))
    same(lambda kind: kind.list_files(files).interleave(KINDS[kind], cycle), order=False)
    same(lambda kind: kind.from_tensor_slices(files).flat_map(KINDS[kind]))


def test_a_function_that_does_more_than_open_a_file_is_tensorflows(files):
    same(lambda kind: kind.from_tensor_slices(files).interleave(lambda name: KINDS[kind](name).take(1), 2), lowered=False)
    same(lambda kind: kind.from_tensor_slices(files).interleave(lambda name: KINDS[kind](files[0]), 2), lowered=False)
    same(lambda kind: kind.range(3).interleave(lambda n: Real.range(n + 1), 2), lowered=False)


def test_a_pattern_is_expanded_when_no_file_has_the_name(files):
    pattern = os.path.join(os.path.dirname(files[0]), "part-*.tfrecord")
    assert elements(TFRecordDataset(pattern)) == elements(tf.data.TFRecordDataset(files))
    odd = os.path.join(os.path.dirname(files[0]), "odd[1].tfrecord")
    os.link(files[0], odd)
    same(lambda kind: KINDS[kind](odd))
    os.unlink(odd)


def test_compressed_records(files, tmp_path):
    data = open(files[1], "rb").read()
    (tmp_path / "a.gz").write_bytes(gzip.compress(data))
    (tmp_path / "a.zz").write_bytes(zlib.compress(data))
    for name, kind in (("a.gz", "GZIP"), ("a.zz", "ZLIB")):
        theirs = elements(tf.data.TFRecordDataset(str(tmp_path / name), compression_type=kind))
        assert elements(TFRecordDataset(str(tmp_path / name), compression_type=kind)) == theirs
    with pytest.raises(tf.errors.DataLossError):
        list(TFRecordDataset(str(tmp_path / "a.gz")))  # TensorFlow's own error: it was not told


def test_text_and_fixed_length(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\n\nlast")
    (tmp_path / "b.txt").write_bytes(b"x\n")
    paths = [str(tmp_path / "b.txt"), str(tmp_path / "a.txt")]
    same(lambda kind: (TextLineDataset if kind is Dataset else tf.data.TextLineDataset)(paths).skip(1))
    (tmp_path / "c.bin").write_bytes(b"hh" + bytes(range(30)) + b"f")
    same(lambda kind: (FixedLengthRecordDataset if kind is Dataset else tf.data.FixedLengthRecordDataset)(
        str(tmp_path / "c.bin"), 5, header_bytes=2, footer_bytes=1).batch(4))


# ------------------------------------------------------------------------------------------- generated chains


def draw_chain(seed):
    """A random chain of verbs, as a function of the Dataset class, and whether order is fixed and all is lowered."""
    draw = random.Random(seed)
    steps, state = [], {"batched": False, "shuffled": False, "endless": False}

    def add(name, *args, **kwargs):
        steps.append((name, args, kwargs))

    for _ in range(draw.randint(1, 6)):
        verb = draw.choice(["take", "skip", "shard", "repeat", "batch", "prefetch", "cache", "unbatch", "shuffle", "options"])
        if verb == "take":
            add("take", draw.choice([1, 3, 8, 50, -1]))
            state["endless"] = state["endless"] and steps[-1][1][0] < 0
        elif verb == "skip" and not state["shuffled"]:
            add("skip", draw.choice([0, 1, 2]))
        elif verb == "shard" and not state["shuffled"]:
            add("shard", 2, draw.randint(0, 1))
        elif verb == "repeat":
            count = draw.choice([1, 2, 3, None])
            add("repeat", count)
            state["endless"] = state["endless"] or count is None
        elif verb == "batch" and not state["batched"]:
            add("batch", draw.choice([1, 2, 5]), drop_remainder=draw.random() < 0.4)
            state["batched"] = True
        elif verb == "unbatch" and state["batched"]:
            add("unbatch")
            state["batched"] = False
        elif verb == "prefetch":
            add("prefetch", draw.choice([1, tf.data.AUTOTUNE]))
        elif verb == "cache" and not state["endless"]:
            add("cache")
        elif verb == "shuffle" and not state["endless"] and not any(name in ("take", "batch", "repeat") for name, *_ in steps):
            add("shuffle", 100, seed=draw.choice([None, 3]))
            state["shuffled"] = True
        elif verb == "options":
            options = tf.data.Options()
            options.deterministic = draw.random() < 0.5
            options.threading.private_threadpool_size = draw.choice([0, 1])
            add("with_options", options)
    if state["shuffled"] and any(name == "take" for name, *_ in steps):
        steps = [step for step in steps if step[0] != "take"]
    return steps, not state["shuffled"]


@pytest.mark.parametrize("first", range(0, 240, 40))
def test_generated_chains(first):
    lowered = 0
    for seed in range(first, first + 40):
        steps, ordered = draw_chain(seed)

        def make(kind, steps=steps):
            made = kind.from_tensor_slices((X, {"n": Y, "w": WORDS}))
            for name, args, kwargs in steps:
                made = getattr(made, name)(*args, **kwargs)
            return made
        shown = " ".join(f"{name}{args}{kwargs or ''}" for name, args, kwargs in steps)
        ours, theirs = make(Dataset), make(Real)
        assert ours.element_spec == theirs.element_spec, shown
        assert int(ours.cardinality()) == int(theirs.cardinality()), shown
        for _ in range(2):  # the second epoch too
            found, wanted = elements(ours, 210), elements(theirs, 210)
            if ordered:
                assert found == wanted, shown
            elif any(name == "batch" for name, *_ in steps):
                assert [[part[:2] for part in each] for each in found] == [[part[:2] for part in each] for each in wanted], shown
            elif int(theirs.cardinality()) >= 0:
                assert sorted(map(str, found)) == sorted(map(str, wanted)), shown
        lowered += is_lowered(ours)
    assert lowered >= 20  # most of them


# ------------------------------------------------------------------------------------------------- verbs


def test_order_of_verbs():
    same(lambda kind: kind.range(10).batch(3).repeat(2).take(5))
    same(lambda kind: kind.range(10).batch(3).repeat().take(6))
    same(lambda kind: kind.range(10).repeat().batch(4).take(6))
    same(lambda kind: kind.range(10).batch(3).cache().take(2))
    same(lambda kind: kind.range(10).batch(4, drop_remainder=True).unbatch())
    same(lambda kind: kind.range(10).enumerate(start=5).batch(4))
    same(lambda kind: kind.range(10).take(0), lowered=False)
    same(lambda kind: kind.range(10).batch(2).batch(3), lowered=False)
    same(lambda kind: kind.range(10).batch(2).shuffle(9, seed=1), order=False)
    same(lambda kind: kind.range(10).batch(3).cache().shuffle(9).repeat(2), order=False)
    same(lambda kind: kind.range(10).batch(3).repeat(2).shuffle(9, seed=1), lowered=False, order=False)
    same(lambda kind: kind.range(10).batch(2).enumerate(), lowered=False)
    same(lambda kind: kind.range(10).shard(3, 2).skip(1))
    same(lambda kind: kind.range(10).window(3, drop_remainder=True).flat_map(lambda w: w.batch(3)), lowered=False)
    same(lambda kind: kind.range(10).rebatch(3) if False else kind.range(10).batch(2).rebatch(3), lowered=False)
    same(lambda kind: kind.range(10).apply(lambda given: given.batch(4)))
    same(lambda kind: kind.from_tensor_slices((X, Y)).padded_batch(5))
    same(lambda kind: kind.from_tensor_slices((X, Y)).padded_batch(5, padded_shapes=([None, 3], [])))
    same(lambda kind: kind.from_tensor_slices((X, Y)).padded_batch(5, padded_shapes=([6, 3], [])), lowered=False)


def test_zip_and_concatenate(files):
    def two(kind):
        return kind.from_tensor_slices(X), kind.from_tensor_slices({"n": Y[:9], "w": WORDS[:9]})
    same(lambda kind: kind.zip(two(kind)).batch(4))
    same(lambda kind: kind.zip(*two(kind)))
    same(lambda kind: kind.zip({"a": two(kind)[0], "b": two(kind)[1]}))
    same(lambda kind: kind.zip((two(kind)[0].skip(2), two(kind)[1].take(5))).batch(2))
    same(lambda kind: kind.zip((KINDS[kind](files), kind.range(20))))
    same(lambda kind: kind.zip((two(kind)[0], Real.range(5))), lowered=False)
    same(lambda kind: kind.zip((two(kind)[0].batch(2), two(kind)[1].batch(2))), lowered=False)
    same(lambda kind: kind.range(3).concatenate(kind.range(5)).batch(3))
    same(lambda kind: kind.from_tensor_slices((X, Y)).concatenate(kind.from_tensor_slices((X[::-1], Y))))
    same(lambda kind: KINDS[kind](files[0]).concatenate(KINDS[kind](files[1]).skip(1)))
    same(lambda kind: kind.range(3).concatenate(kind.range(3).take(2)))
    same(lambda kind: kind.range(3).concatenate(kind.range(3).repeat(2)), lowered=False)
    same(lambda kind: kind.from_tensor_slices((X, Y)).shard(3, 1).skip(2).take(4).batch(3))
    with pytest.raises(TypeError):
        Dataset.range(3).concatenate(Dataset.from_tensor_slices([1.5]))


def test_shuffle_is_seeded_as_in_tensorflow():
    def order(seed=None, **kwargs):
        made = Dataset.range(50).shuffle(50, seed=seed, **kwargs)
        return [[int(n) for n in made] for _ in range(2)]
    first, second = order(seed=5)
    assert sorted(first) == sorted(second) == list(range(50)) and first != second
    assert order(seed=5) == [first, second] and order(seed=6)[0] != first
    assert order(seed=5, reshuffle_each_iteration=False)[0] == order(seed=5, reshuffle_each_iteration=False)[1]
    assert order() != order()
    tf.random.set_seed(3)
    one, two = order(), order()
    tf.random.set_seed(3)
    assert [order(), order()] == [one, two] and one != two
    tf.random.set_seed(4)
    assert order() != one
    tf.compat.v1.set_random_seed(None)


def test_what_a_program_draws_is_the_same():
    """A shuffle takes one number of TensorFlow's generator, as tf.data's does."""
    def weights(kind):
        tf.random.set_seed(7)
        kind.range(9).shuffle(9)
        return tf.random.normal([3]).numpy().tolist()
    assert weights(Dataset) == weights(Real)


def test_split_by_take_and_skip():
    made = Dataset.range(40).shuffle(40, reshuffle_each_iteration=False)
    train, rest = made.take(30), made.skip(30)
    assert sorted([int(n) for n in train] + [int(n) for n in rest]) == list(range(40))


def test_shuffle_behind_endless_repeat_uses_the_buffer():
    made = Dataset.range(20).repeat().shuffle(20, seed=1).batch(8).take(10)
    found = [int(n) for batch in made for n in batch]
    assert is_lowered(made) and len(found) == 80
    for begin in range(0, 80, 20):
        assert sorted(found[begin:begin + 20]) == list(range(20))


def test_sample_from_datasets():
    made = Dataset.sample_from_datasets([Dataset.range(100).repeat(), Dataset.range(100, 200).repeat()], [0.25, 0.75], seed=1)
    assert not is_lowered(made)  # two sources have different fields
    parts = Dataset.from_tensor_slices(Y)
    made = Dataset.sample_from_datasets([parts.repeat(), parts.skip(20).repeat()], [0.25, 0.75], seed=1)
    found = [int(n) for n in made.take(400)]
    assert is_lowered(made) and 240 < sum(n >= 20 for n in found) < 360
    assert int(made.cardinality()) == -1


def test_cache_keeps_the_order_of_the_first_epoch(tmp_path):
    made = Dataset.range(30).shuffle(30).cache()
    assert is_lowered(made) and [int(n) for n in made] == [int(n) for n in made]
    twice = Dataset.range(30).cache().shuffle(30).cache()
    first = [int(n) for n in twice]
    assert is_lowered(twice) and first == [int(n) for n in twice] and sorted(first) == list(range(30))
    with_file = Dataset.range(5).cache(str(tmp_path / "kept"))
    assert [int(n) for n in with_file] == [0, 1, 2, 3, 4]


# ------------------------------------------------------------------------------------------- TensorFlow's side


def test_it_is_a_dataset():
    ours = Dataset.range(4).batch(2)
    assert isinstance(ours, Real) and isinstance(Real.range(3), Dataset) and issubclass(type(ours), Real)
    assert not isinstance(3, Dataset) and not isinstance([ours], Dataset)
    assert tf.data.DatasetSpec.from_value(ours) == tf.data.DatasetSpec.from_value(Real.range(4).batch(2))
    assert ours.options().deterministic is None
    options = tf.data.Options()
    options.deterministic = False
    assert ours.with_options(options).options().deterministic is False
    assert ours.with_options(options).take(1).options().deterministic is False


def test_loops_in_graphs_see_the_same():
    ours, traces = Dataset.range(10).batch(3), []

    @tf.function
    def total(dataset):
        traces.append(1)
        found = tf.constant(0, tf.int64)
        for batch in dataset:
            found += tf.reduce_sum(batch)
        return found

    @tf.function
    def closed():
        found = tf.constant(0, tf.int64)
        for batch in ours:
            found += tf.reduce_sum(batch)
        return found

    @tf.function
    def step(iterator):
        traces.append(2)
        return tf.reduce_sum(next(iterator))
    assert int(total(ours)) == int(total(ours)) == int(closed()) == 45 and traces == [1]
    iterator = iter(ours)
    assert [int(step(iterator)), int(step(iterator))] == [3, 12]
    assert int(tf.reduce_sum(next(iterator))) == 21 and traces == [1, 2]
    mixed = iter(ours)
    next(mixed)
    assert int(step(mixed)) == 12 and traces == [1, 2]
    for number, batch in enumerate(ours):  # an eager loop with a function inside never traces anew
        traced = tf.function(tf.reduce_sum) if number == 0 else traced
        traced(batch)
    assert traced.experimental_get_tracing_count() == 2  # the last batch is shorter


def test_noise_in_a_training_step_differs():
    @tf.function
    def step(batch):
        return tf.random.normal([4]) + tf.cast(batch[0], tf.float32) * 0
    found = {tuple(step(batch).numpy().tolist()) for batch in Dataset.range(10).batch(2)}
    assert len(found) == 5


def test_with_data_sets_and_verbs_of_tensorflow():
    ours = Dataset.range(5)
    assert [(int(a), int(b)) for a, b in Real.zip((ours, Real.range(5)))] == [(n, n) for n in range(5)]
    assert int(ours.reduce(numpy.int64(0), lambda a, b: a + b)) == 10
    assert [int(n) for n in ours.scan(numpy.int64(0), lambda a, b: (a + b, a + b))] == [0, 1, 3, 6, 10]
    assert [int(n) for n in ours.take_while(lambda n: n < 3)] == [0, 1, 2]
    assert ours.apply(tf.data.experimental.assert_cardinality(5)).cardinality() == 5
    assert [int(n) for n in ours.apply(tf.data.experimental.ignore_errors())] == [0, 1, 2, 3, 4]
    assert int(tf.data.experimental.cardinality(ours)) == 5
    assert int(Dataset.from_tensors(3).get_single_element()) == 3


def test_inside_a_graph_everything_is_tensorflows():
    @tf.function
    def total():
        made = Dataset.range(6).batch(2).map(tf.reduce_sum)
        return made.reduce(numpy.int64(0), lambda a, b: a + b)
    assert int(total()) == 15


def test_mirrored_strategy():
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    found = [strategy.experimental_local_results(batch)[0].numpy().tolist()
             for batch in strategy.experimental_distribute_dataset(Dataset.range(5).batch(2))]
    assert found == [[0, 1], [2, 3], [4]]


def test_iterators_are_saved_by_tensorflow(tmp_path):
    iterator = iter(Dataset.range(9))
    checkpoint = tf.train.Checkpoint(iterator=iterator)
    assert [int(next(iterator)) for _ in range(3)] == [0, 1, 2]
    path = checkpoint.save(str(tmp_path / "state"))
    assert int(next(iterator)) == 3
    checkpoint.restore(path)
    assert int(next(iterator)) == 3


def test_iterators():
    iterator = iter(Dataset.range(3))
    assert isinstance(iterator, tf.data.Iterator) and iterator.element_spec == tf.TensorSpec([], tf.int64)
    assert int(iterator.get_next()) == 0 and int(iterator.get_next_as_optional().get_value()) == 1
    assert int(next(iterator)) == 2
    assert not iterator.get_next_as_optional().has_value()
    with pytest.raises(tf.errors.OutOfRangeError):
        iterator.get_next()
    with pytest.raises(StopIteration):
        next(iterator)
    arrays = Dataset.range(3).as_numpy_iterator()
    assert isinstance(arrays, tf.data.NumpyIterator) and [arrays.next(), next(arrays)] == [0, 1]
    with pytest.raises(TypeError, match="infinite"):
        len(Dataset.range(3).repeat())


def test_tensors_lie_in_the_engines_memory():
    large = numpy.zeros((8, 64, 64, 3), "float32")
    ours = Dataset.from_tensor_slices(large).batch(4)
    first, second = list(ours)
    stats = ours._engine().stats()
    assert stats["copies"] == 0
    kept = first[0].numpy().sum()
    del ours, second
    gc.collect()
    assert first[0].numpy().sum() == kept == 0  # the tensor keeps its lease


def test_an_iterator_that_is_dropped_reads_no_further():
    def threads():
        return len(os.listdir("/proc/self/task"))
    ours = Dataset.from_tensor_slices(numpy.zeros((4000, 64, 64, 3), "uint8")).batch(8)
    list(ours.take(2))  # threads of TensorFlow's that stay
    before = threads()
    iterator = iter(ours)
    first = next(iterator)
    assert threads() == before  # one batch is made without threads
    assert [float(tf.reduce_sum(next(iterator))) for _ in range(3)] == [0.0] * 3 and first.shape == (8, 64, 64, 3)
    assert threads() > before
    del iterator
    gc.collect()
    assert threads() == before
    assert len(list(ours.take(1))) == 1


def test_errors_are_tensorflows(files, tmp_path):
    with pytest.raises(tf.errors.NotFoundError):
        list(TFRecordDataset(str(tmp_path / "none.tfrecord")))
    data = bytearray(open(files[1], "rb").read())
    data[30] ^= 1
    (tmp_path / "bad.tfrecord").write_bytes(data)
    with pytest.raises(tf.errors.DataLossError):
        list(TFRecordDataset(str(tmp_path / "bad.tfrecord")))
    for wrong in (lambda kind: kind.range(3).batch(0), lambda kind: kind.range(3).shuffle(0),
                  lambda kind: kind.range(3).shard(2, 5), lambda kind: kind.range(3).batch("x"),
                  lambda kind: kind.range(3).batch(), lambda kind: kind.range(3).repeat(1.5),
                  lambda kind: kind.zip(3), lambda kind: kind.range(3).map(3)):
        with pytest.raises(Exception) as theirs:
            list(wrong(Real))
        with pytest.raises(theirs.type):
            list(wrong(Dataset))
    assert leat.Error


# ----------------------------------------------------------------------------------------- leat.tf and Keras


def test_names_of_leat_tf(files):
    import leat.tf as ltf
    from leat.tf.data import Dataset as Named

    assert ltf.data.Dataset is Named is Dataset and ltf.data.TFRecordDataset is TFRecordDataset
    assert ltf.data.AUTOTUNE == tf.data.AUTOTUNE and ltf.data.Options is tf.data.Options
    assert ltf.data.experimental.AUTOTUNE == tf.data.experimental.AUTOTUNE
    assert ltf.data.experimental.prefetch_to_device is tf.data.experimental.prefetch_to_device
    for module, kind in ((ltf, Dataset), (tf, Real)):
        experimental = module.data.experimental
        mixed = kind.range(10).apply(experimental.shuffle_and_repeat(10, 2, seed=1))
        assert sorted(int(n) for n in mixed) == sorted([*range(10)] * 2)
        known = KINDS[kind](files).apply(experimental.assert_cardinality(13)).batch(4)
        assert is_lowered(known) == (kind is Dataset) and len(known) == 4 and len(list(known)) == 4
        with pytest.raises(tf.errors.FailedPreconditionError):
            list(KINDS[kind](files).apply(experimental.assert_cardinality(12)))
        assert int(experimental.cardinality(known)) == 4
        paths = kind.from_tensor_slices(files)
        turns = paths.apply(experimental.parallel_interleave(KINDS[kind], cycle_length=2))
        assert elements(turns) == elements(Real.from_tensor_slices(files).interleave(tf.data.TFRecordDataset, 2))
        assert is_lowered(turns) == (kind is Dataset)


def test_keras_takes_it():
    import keras

    x, y = numpy.random.default_rng(1).random((40, 4), "float32"), numpy.arange(40) % 2

    def losses(kind, steps=None):
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.layers.Dense(2)])
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        ds = kind.from_tensor_slices((x, y)).batch(8)
        history = model.fit(ds.repeat() if steps else ds, epochs=3, steps_per_epoch=steps, verbose=0, validation_data=ds)
        return [*history.history["loss"], model.evaluate(ds, verbose=0), *model.predict(ds, verbose=0).ravel()]
    assert losses(Dataset) == losses(Real)
    assert losses(Dataset, 7) == losses(Real, 7)
    model = keras.Sequential([keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    for kind in (Dataset, Real):
        with pytest.raises(ValueError):
            model.fit(kind.from_tensor_slices((x, y)), verbose=0)  # not batched
