# SPDX-License-Identifier: Apache-2.0
"""Small programs that are written by chance, each with several results: leat gives what TensorFlow gives.

A program is a list of lines such as `d = b * a`. What leat made of them is compared with TensorFlow's map. Where a program draws, its
draws are results too, and its lines are computed again from them."""
import random
import re
import warnings

import leat
import leat.tf
import numpy
import pytest
import tensorflow as tf

ROWS = 6
RNG = numpy.random.default_rng(0)
DATA = {"f": RNG.normal(0, 2, (ROWS, 4, 5, 3)).astype("f4"), "u": RNG.integers(0, 256, (ROWS, 4, 5, 3)).astype("u1"),
        "i": RNG.integers(-6, 7, ROWS), "s": RNG.normal(0, 2, ROWS).astype("f4"), "v": RNG.normal(0, 2, (ROWS, 3)).astype("f4")}
LINES = ["{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / 127.5", "{a} * 2", "2 - {a}", "1 / (tf.abs({a}) + 1)", "{a} // 3",
         "{a} % 7", "{a} // {b}", "tf.maximum({a}, {b})", "tf.abs({a})", "tf.square({a})", "tf.round({a})",
         "tf.clip_by_value({a}, 0, 1)", "tf.cast({a}, tf.float32)", "tf.cast({a}, tf.int32)",
         "tf.cast(tf.clip_by_value({a}, 0, 255), tf.uint8)", "tf.cast({a} > 1, tf.float32)", "tf.image.flip_left_right({a})",
         "tf.image.rot90({a})", "tf.image.convert_image_dtype({a}, tf.float32)", "tf.image.resize({a}, (3, 4))",
         "tf.image.rgb_to_grayscale({a})", "tf.image.per_image_standardization({a})",
         "tf.pad({a}, [[1, 0], [0, 1], [0, 0]])", "tf.reduce_mean({a})", "tf.reduce_max({a}, -1)", "tf.argmax({a}, -1)",
         "tf.where({a} > 1, {a}, {b})", "tf.where({b} < 0, {a}, {a} * 2)",
         "tf.cond(tf.reduce_sum({b}) < 1, lambda: {a} * 2, lambda: {a})",
         "tf.cond(tf.reduce_max({b}) > 0, lambda: {a}, lambda: {a} + 1)", "{a}[1:3]", "{a}[..., 0]", "{a}[:, ::-1]",
         "{a}[..., None]", "tf.reshape({a}, [-1])", "tf.stack([{a}, {b}])", "tf.concat([{a}, {b}], -1)"]
DRAWS = {"one": lambda: tf.random.uniform([]),
         "signed": lambda: tf.random.uniform([], -1, 1)}


def program(seed, drawing):
    """Names of inputs, (name, expression) of the lines that results need, names of results, names of what is drawn."""
    chance = random.Random(seed)
    inputs = chance.sample(sorted(DATA), chance.choice([1, 2, 3]))
    values = {name: tf.constant(DATA[name][0]) for name in inputs}
    lines = []
    for _ in range(40):
        names = list(values)
        # A draw leaves as a field of the sample, as programs that keep it write it.
        text = f"tf.reduce_mean(tf.cast({inputs[0]}, tf.float32)) * 0 + draw('{chance.choice(sorted(DRAWS))}')" \
            if drawing and chance.random() < 0.15 else chance.choice(LINES).format(a=chance.choice(names[-3:]), b=chance.choice(names))
        try:
            made = eval(text, {"tf": tf, "draw": lambda kind: DRAWS[kind](), **values})
        except Exception:  # noqa: BLE001  TensorFlow has many for lines that do not fit
            continue
        if made.shape.num_elements() <= 400:
            values[f"t{len(lines)}"] = made
            lines.append((f"t{len(lines)}", text))
        if len(lines) == 5 + seed % 3:
            break
    results = list(dict.fromkeys([*chance.sample(list(values), min(3, len(values))), *(name for name, text in lines if "draw(" in text)]))
    needed = set(results)
    for name, text in reversed(lines):
        needed |= set(re.findall(r"\w+", text)) if name in needed else set()
    return inputs, [line for line in lines if line[0] in needed], results


def computed(lines, values, draw):
    for name, text in lines:
        values[name] = eval(text, {"tf": tf, "draw": draw, **values})
    return values


def read(dataset):
    """All results, or the class of the error."""
    try:
        return [numpy.concatenate(parts) for parts in zip(*([each.numpy() for each in batch] for batch in dataset))]
    except tf.errors.OpError as error:
        return type(error)


def same(ours, theirs):
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    if ours.dtype.kind == "f":
        numpy.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5 * max(1, numpy.abs(theirs[numpy.isfinite(theirs)]).max(initial=0)))
    else:
        numpy.testing.assert_array_equal(ours, theirs)


def run(seed, drawing):
    """Whether the engine made the results."""
    inputs, lines, results = program(seed, drawing)

    def function(*given):
        made = computed(lines, dict(zip(inputs, given)), lambda kind: DRAWS[kind]())
        return tuple(made[name] for name in results)
    data = tuple(DATA[name] for name in inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", leat.LeatWarning)
        dataset = leat.tf.data.Dataset.from_tensor_slices(data).map(function).batch(4)
        ours = read(dataset)
    if not drawing:
        theirs = read(tf.data.Dataset.from_tensor_slices(data).map(function).batch(4))
        assert isinstance(ours, list) == isinstance(theirs, list) and (isinstance(ours, list) or ours is theirs)
        for one, other in zip(ours, theirs) if isinstance(ours, list) else ():
            same(one, other)
    for row in range(ROWS) if drawing else ():
        drawn = iter([ours[results.index(name)][row] for name, text in lines if "draw(" in text])
        values = computed(lines, {name: tf.constant(DATA[name][row]) for name in inputs}, lambda _: tf.constant(next(drawn)))
        for one, name in zip(ours, results):
            same(one[row], values[name].numpy())
    return getattr(dataset, "_chain", None) is not None and not dataset._failed


@pytest.mark.parametrize("drawing", [False, True], ids=["values", "draws"])
def test_programs_by_chance(drawing):
    assert sum(run(seed, drawing) for seed in range(40)) >= 15
