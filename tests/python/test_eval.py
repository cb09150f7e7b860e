# SPDX-License-Identifier: Apache-2.0
"""eval against NumPy: every function, types, shapes, random expressions, random numbers, and what is refused."""
import random

import leat
import numpy
import pytest

RNG = numpy.random.default_rng(7)
N = 5
FIELDS = {
    "f": RNG.normal(0, 3, (N, 6, 5, 3)).astype("f4"),
    "g": RNG.uniform(0.5, 4, (N, 6, 5, 3)).astype("f4"),
    "d": RNG.normal(0, 2, (N, 4, 7)).astype("f8"),
    "u": RNG.integers(0, 256, (N, 6, 5, 3)).astype("u1"),
    "i": RNG.integers(-50, 50, (N, 4, 7)).astype("i4"),
    "l": RNG.integers(-2**40, 2**40, (N, 4)).astype("i8"),
    "h": RNG.normal(0, 1, (N, 9)).astype("f2"),
    "s": RNG.integers(-30000, 30000, (N, 8)).astype("i2"),
    "b": RNG.integers(0, 2, (N, 6, 5, 3)).astype("?"),
    "label": RNG.integers(0, 10, (N,)).astype("i8"),
    "table": RNG.normal(0, 1, (N, 10, 2)).astype("f4"),
}


def evaluate(**fields):
    """The new fields, all samples of FIELDS at once."""
    return first(leat.from_arrays(FIELDS).eval(**fields).select(*fields).batch(N))


def first(ds):
    """The fields of the first batch, as copies."""
    batch = next(iter(ds.batches()))
    return {name: numpy.array(batch[name]) for name in batch.tensors}


def one(expression):
    return evaluate(out=expression)["out"]


def each(function):
    """NumPy's answer: of each sample by itself."""
    return numpy.stack([numpy.asarray(function(**{name: value[k] for name, value in FIELDS.items()})) for k in range(N)])


EXACT = {
    "f + g": lambda f, g, **_: f + g,
    "f - g * 2": lambda f, g, **_: f - g * numpy.float32(2),
    "2 * f / 3": lambda f, **_: numpy.float32(2) * f / numpy.float32(3),
    "1 - f": lambda f, **_: numpy.float32(1) - f,
    "-f": lambda f, **_: -f,
    "f // g": lambda f, g, **_: numpy.floor(f / g),
    "f % g": lambda f, g, **_: numpy.mod(f, g),
    "d % 0.7": lambda d, **_: numpy.mod(d, 0.7),
    "f ** 2": lambda f, **_: f * f,
    "square(d)": lambda d, **_: d * d,
    "u / 255": lambda u, **_: u.astype("f4") / numpy.float32(255),
    "(u / 127.5 - 1) * 0.5": lambda u, **_: (u.astype("f4") / numpy.float32(127.5) - numpy.float32(1)) * numpy.float32(0.5),
    "255 - u": lambda u, **_: numpy.uint8(255) - u,
    "u * 2 + u": lambda u, **_: u * numpy.uint8(2) + u,
    "u // 7 + u % 7": lambda u, **_: u // numpy.uint8(7) + u % numpy.uint8(7),
    "i // 7": lambda i, **_: i // 7,
    "i % -7": lambda i, **_: i % -7,
    "i / 4": lambda i, **_: i / 4,
    "l * 1000000": lambda l, **_: l * 1000000,
    "s * s": lambda s, **_: s * s,
    "s // -300": lambda s, **_: s // numpy.int16(-300),
    "-s": lambda s, **_: -s,
    "i ** 3": lambda i, **_: i ** 3,
    "h * h + h": lambda h, **_: h * h + h,
    "h < 0": lambda h, **_: h < 0,
    "min(f, g)": lambda f, g, **_: numpy.minimum(f, g),
    "max(f, g, 1)": lambda f, g, **_: numpy.maximum(numpy.maximum(f, g), 1),
    "clip(f, -1, 1.5)": lambda f, **_: numpy.clip(f, -1, 1.5),
    "clip(u, 10, 200)": lambda u, **_: numpy.clip(u, 10, 200),
    "abs(f)": lambda f, **_: abs(f),
    "abs(i)": lambda i, **_: abs(i),
    "abs(u)": lambda u, **_: u,
    "abs(s)": lambda s, **_: abs(s),
    "sign(f)": lambda f, **_: numpy.sign(f),
    "sign(u)": lambda u, **_: numpy.sign(u),
    "sign(i)": lambda i, **_: numpy.sign(i),
    "floor(f * 10)": lambda f, **_: numpy.floor(f * 10),
    "ceil(d)": lambda d, **_: numpy.ceil(d),
    "round(f * 2 / 4)": lambda f, **_: numpy.round(f * 2 / 4),
    "round(cast(i, f64) / 2)": lambda i, **_: numpy.round(i / 2),
    "sqrt(g)": lambda g, **_: numpy.sqrt(g),
    "f == f": lambda f, **_: f == f,
    "f != g": lambda f, g, **_: f != g,
    "u > 100": lambda u, **_: u > 100,
    "u >= 100": lambda u, **_: u >= 100,
    "u <= 100": lambda u, **_: u <= 100,
    "i < 3": lambda i, **_: i < 3,
    "l == l[0]": lambda l, **_: l == l[0],
    "b & (f > 0) | (u == 3)": lambda b, f, u, **_: b & (f > 0) | (u == 3),
    "~b ^ (f < 1)": lambda b, f, **_: ~b ^ (f < 1),
    "u & 15 | 32": lambda u, **_: u & 15 | 32,
    "~u": lambda u, **_: ~u,
    "~i ^ 5": lambda i, **_: ~i ^ 5,
    "cast(u, f32)": lambda u, **_: u.astype("f4"),
    "cast(f * 100, i32)": lambda f, **_: (f * numpy.float32(100)).astype("i4"),
    "cast(cast(f * 100, i32), u8)": lambda f, **_: (f * numpy.float32(100)).astype("i4").astype("u1"),
    "cast(i, i64)": lambda i, **_: i.astype("i8"),
    "cast(l, i32)": lambda l, **_: l.astype("i4"),
    "cast(f, f16)": lambda f, **_: f.astype("f2"),
    "cast(h, f64)": lambda h, **_: h.astype("f8"),
    "cast(d, bool)": lambda d, **_: d.astype("?"),
    "cast(b, u16)": lambda b, **_: b.astype("u2"),
    "cast(label == 3, i32)": lambda label, **_: numpy.int32(label == 3),
    "select(b, f, g)": lambda b, f, g, **_: numpy.where(b, f, g),
    "select(f > 0, 1, -1)": lambda f, **_: numpy.where(f > 0, 1, -1).astype("i4"),
    "select(f[..., :1] > 0, u, 7)": lambda f, u, **_: numpy.where(f[..., :1] > 0, u, 7).astype("u1"),
    "f * [1, 2, 3]": lambda f, **_: f * numpy.float32([1, 2, 3]),
    "f + g[0] + g[:, 0:1] + g[..., 1][..., None]": lambda f, g, **_: f + g[0] + g[:, 0:1] + g[..., 1][..., None],
    "[[1], [2], [3], [4]] + i": lambda i, **_: numpy.int32([[1], [2], [3], [4]]) + i,
    "f[1:4, ::2]": lambda f, **_: f[1:4, ::2],
    "f[::-1, -2:, ::-2]": lambda f, **_: f[::-1, -2:, ::-2],
    "f[-1, 2]": lambda f, **_: f[-1, 2],
    "f[..., 0] + 1": lambda f, **_: f[..., 0] + 1,
    "i[:, None, 1:]": lambda i, **_: i[:, None, 1:],
    "slice(u, 1, 1, 4)": lambda u, **_: u[:, 1:4],
    "slice(u, 0, -1, -6, -2)": lambda u, **_: u[-1:-6:-2],
    "reverse(u, 1)": lambda u, **_: u[:, ::-1],
    "transpose(u, 2, 0, 1)": lambda u, **_: u.transpose(2, 0, 1),
    "transpose(i) * 2": lambda i, **_: i.T * 2,
    "reshape(u, -1, 3)": lambda u, **_: u.reshape(-1, 3),
    "reshape(transpose(i), 4, 7) + i": lambda i, **_: i.T.reshape(4, 7) + i,
    "expand(i, -1) * [1, 2]": lambda i, **_: i[..., None] * numpy.int32([1, 2]),
    "squeeze(f[:, :1])": lambda f, **_: f[:, 0],
    "broadcast(i[0], 3, 7)": lambda i, **_: numpy.broadcast_to(i[0], (3, 7)),
    "broadcast(1.5, like=i) * 2": lambda i, **_: numpy.full(i.shape, 3, "f4"),
    "size(u, 0) + 1": lambda u, **_: numpy.int32(7),
    "sum(i)": lambda i, **_: i.sum(dtype="i4"),
    "sum(u)": lambda u, **_: u.sum(dtype="u1"),
    "sum(i, 0)": lambda i, **_: i.sum(0, dtype="i4"),
    "sum(i, -1, keep=true)": lambda i, **_: i.sum(-1, dtype="i4", keepdims=True),
    "sum(u, 0, 2)": lambda u, **_: u.sum((0, 2), dtype="u1"),
    "reduce_min(f)": lambda f, **_: f.min(),
    "reduce_max(f, 1)": lambda f, **_: f.max(1),
    "reduce_max(transpose(u, 2, 1, 0), 0, 1)": lambda u, **_: u.transpose(2, 1, 0).max((0, 1)),
    "reduce_min(i, axis=0)": lambda i, **_: i.min(0),
    "any(u == 3, 2)": lambda u, **_: (u == 3).any(2),
    "all(f > -9)": lambda f, **_: (f > -9).all(),
    "mean(i)": lambda i, **_: numpy.int32(int(i.sum() / i.size)),
    "argmax(f, 2)": lambda f, **_: f.argmax(2),
    "argmax(i)": lambda i, **_: i.argmax(0),
    "argmin(u, 1)": lambda u, **_: u.argmin(1),
    "concat(1, i, i * 2)": lambda i, **_: numpy.concatenate([i, i * 2], 1),
    "concat(0, f, g[:2], transpose(g, 1, 0, 2)[:1, :5])":
        lambda f, g, **_: numpy.concatenate([f, g[:2], g.transpose(1, 0, 2)[:1, :5]], 0),
    "stack(-1, i, i[::-1], 5 - i)": lambda i, **_: numpy.stack([i, i[::-1], 5 - i], -1),
    "stack(0, label, 3)": lambda label, **_: numpy.stack([label, 3]),
    "gather(table, label)": lambda table, label, **_: table[label],
    "gather([2.5, 1, 0.5, 3, 4, 5, 6, 7, 8, 9], label)":
        lambda label, **_: numpy.float32([2.5, 1, 0.5, 3, 4, 5, 6, 7, 8, 9])[label],
    "gather(i, [3, 0])": lambda i, **_: i[[3, 0]],
    "one_hot(label, 10)": lambda label, **_: numpy.eye(10, dtype="f4")[label],
    "one_hot(label, 3)": lambda label, **_: (numpy.arange(3) == label).astype("f4"),
    "one_hot(i, 4, 0.9, 0.1)": lambda i, **_: numpy.where(i[..., None] == numpy.arange(4), 0.9, 0.1).astype("f4"),
    "1": lambda **_: numpy.int32(1),
    "2 ** 3 / 5": lambda **_: numpy.float32(8 / 5),
    "-7 // 2 + 7 % -3": lambda **_: numpy.int32(-7 // 2 + 7 % -3),
    "true": lambda **_: numpy.bool_(True),
    "[1, 2.5]": lambda **_: numpy.float32([1, 2.5]),
    "f": lambda f, **_: f,
}
NEAR = {
    "f ** 3": (lambda f, **_: f.astype("f8") ** 3, 1e-6),
    "g ** 0.37": (lambda g, **_: g.astype("f8") ** 0.37, 1e-6),
    "d ** 3": (lambda d, **_: d ** 3, 1e-14),
    "2 ** d": (lambda d, **_: 2 ** d, 1e-14),
    "exp(f)": (lambda f, **_: numpy.exp(f.astype("f8")), 1e-6),
    "log(g)": (lambda g, **_: numpy.log(g.astype("f8")), 1e-6),
    "sin(d) + cos(d)": (lambda d, **_: numpy.sin(d) + numpy.cos(d), 1e-13),
    "mean(f)": (lambda f, **_: f.mean(dtype="f8"), 1e-6),
    "mean(u / 255, 0, 1)": (lambda u, **_: (u.astype("f4") / numpy.float32(255)).mean((0, 1), dtype="f8"), 1e-6),
    "sum(f, 2)": (lambda f, **_: f.sum(2, dtype="f8"), 1e-5),
    "sum(f[::2, 1:], 0, keep=true)": (lambda f, **_: f[::2, 1:].sum(0, dtype="f8", keepdims=True), 1e-5),
    "(f - mean(f)) / sqrt(mean(square(f - mean(f))))": (lambda f, **_: (f - f.mean()) / f.std(), 1e-5),
}


@pytest.mark.parametrize("expression", EXACT)
def test_the_same_as_numpy(expression):
    with numpy.errstate(over="ignore"):
        want = each(EXACT[expression])
    got = one(expression)
    assert got.dtype == want.dtype and got.shape == want.shape
    numpy.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("expression", NEAR)
def test_near_numpy(expression):
    function, bound = NEAR[expression]
    want, got = each(function), one(expression)
    assert got.shape == want.shape
    numpy.testing.assert_allclose(got, want, rtol=bound, atol=bound)


def test_a_table_of_all_bytes_gives_what_is_computed():
    """Long expressions of u8 are looked up: the same bits as in f32, where they are not."""
    for text in ("exp(X / 100) * [1, 2, 3] - sqrt(X)", "X ** 0.8 + cos(X)", "cast(round(exp(X / 50)), u8)"):
        got = evaluate(a=text.replace("X", "cast(u, f32)"), b=text.replace("X", "(cast(u, f32) + 0 * f)"))
        numpy.testing.assert_array_equal(got["a"], got["b"])


@pytest.mark.parametrize("side", [7, 64, 300])
def test_long_chains_are_their_operations_one_by_one(side):
    """More links than one chain has, operands of all kinds on either side, values that are used again."""
    rng = numpy.random.default_rng(side)
    u, f = rng.integers(0, 256, (2, side, side, 3)).astype("u1"), rng.normal(0, 3, (2, side, side, 3)).astype("f4")
    channels = numpy.array([0.5, 1.5, 2.5], "f4")
    ds = leat.from_arrays({"u": u, "f": f}).eval(
        a="min(3 - (2 / (cast(u, f32) + [0.5, 1.5, 2.5]) * f - 1) * 0.25 + f, 2) / 3 - [0.5, 1.5, 2.5] * 2 + max(1 - f, 0) * 7 - 1",
        b="(u / 127.5 - 1) * (u / 127.5 - 1) + (f - 1) * f", c="cast(f * 20 + 100, u8) / 255 - 0.5").select("a", "b", "c")
    x, one = u.astype("f4"), numpy.float32
    scaled = x / one(127.5) - one(1)
    begin = numpy.minimum(one(3) - (one(2) / (x + channels) * f - one(1)) * one(0.25) + f, one(2))
    wanted = {"a": begin / one(3) - channels * one(2) + numpy.maximum(one(1) - f, one(0)) * one(7) - one(1),
              "b": scaled * scaled + (f - one(1)) * f,
              "c": (f * one(20) + one(100)).astype("i4").astype("u1").astype("f4") / one(255) - one(0.5)}
    got = first(ds.batch(2))
    for name, values in wanted.items():
        numpy.testing.assert_array_equal(got[name], values, err_msg=name)


def test_special_values():
    x = numpy.float32([numpy.nan, numpy.inf, -numpy.inf, 0, -0.0, -1, 3e38])
    ds = leat.from_arrays({"x": x}).eval(low="min(x, 1)", high="max(1, x)", root="sqrt(x)", log="log(x)", half="x ** 0.5",
                                         power="x ** -2", whole="cast(x, i32)", same="x == x").batch(7)
    got = first(ds)
    with numpy.errstate(all="ignore"):
        for name, want in {"low": numpy.minimum(x, 1), "high": numpy.maximum(1, x), "root": numpy.sqrt(x),
                           "log": numpy.log(x), "half": numpy.float_power(x, 0.5), "power": numpy.float_power(x, -2),
                           "same": x == x}.items():
            numpy.testing.assert_allclose(got[name], want.astype(got[name].dtype), rtol=1e-6, err_msg=name)
    lowest = -2**31
    assert got["whole"].tolist() == [lowest, lowest, lowest, 0, 0, -1, lowest]


def test_all_expressions_see_the_fields_as_they_were():
    got = first(leat.from_arrays({"a": numpy.arange(4), "b": numpy.arange(4) * 10})
                .eval(a="b", b="a", c="a + b", d="a + b").batch(4))
    assert got["a"].tolist() == [0, 10, 20, 30] and got["b"].tolist() == [0, 1, 2, 3]
    assert got["c"].tolist() == got["d"].tolist() == [0, 11, 22, 33]


# -------------------------------------------------------------------------------------- random expressions


class Maker:
    """Random expressions in both languages; numbers are small so that both give the same floats."""

    BINARY = {"+": numpy.add, "-": numpy.subtract, "*": numpy.multiply}
    FIELDS = {"f4": ("f", "g"), "u1": ("u",), "i4": ("i",), "f8": ("d",)}

    def __init__(self, seed):
        self.random = random.Random(seed)

    def number(self, kind):
        value = self.random.randint(0, 9) if kind in ("u1", "i4") else self.random.choice((0.5, 1, 2, 3.25))
        return str(value), numpy.dtype(kind).type(value)

    def make(self, kind, sample, depth):
        pick = self.random.random()
        if depth == 0 or pick < 0.15:
            name = self.random.choice(self.FIELDS[kind])
            return name, sample[name]
        if pick < 0.25:
            return self.number(kind)
        if pick < 0.55:
            sign = self.random.choice(list(self.BINARY))
            (a, x), (b, y) = self.make(kind, sample, depth - 1), self.make(kind, sample, depth - 1)
            return f"({a} {sign} {b})", self.BINARY[sign](x, y)
        if pick < 0.65:
            (a, x), (b, y) = self.make(kind, sample, depth - 1), self.make(kind, sample, depth - 1)
            return f"max({a}, min({b}, {a}))", numpy.maximum(x, numpy.minimum(y, x))
        if pick < 0.75:
            (a, x), (b, y), (c, z) = (self.make(kind, sample, depth - 1) for _ in range(3))
            if self.random.random() < 0.5 or x.ndim == 0 or y.ndim == 0:
                return f"select({a} < {b}, {c}, {a})", numpy.where(x < y, z, x)
            return f"select(reduce_max({a}) < reduce_max({b}), {c}, {a})", numpy.where(x.max() < y.max(), z, x)
        a, x = self.make(kind, sample, depth - 1)
        if x.ndim == 0:
            return a, x
        if pick < 0.83:
            return f"({a})[::-1]", x[::-1]
        if pick < 0.9:
            return f"reduce_max({a}, 0, keep=true)", x.max(0, keepdims=True)
        if pick < 0.95:
            return f"concat(0, {a}, {a})[:{x.shape[0]}]", x
        return f"reshape({a}, {', '.join(map(str, x.shape))})", x


@pytest.mark.parametrize("seed", range(120))
def test_random_expressions(seed):
    made = []
    while not made or made[0][1].ndim == 0:  # only numbers have no type of their own
        kind = Maker(seed).random.choice(list(Maker.FIELDS))
        made = [Maker(seed).make(kind, {name: value[k] for name, value in FIELDS.items()}, 4) for k in range(N)]
        seed += 120
    text = made[0][0]
    with numpy.errstate(over="ignore"):
        want = numpy.stack([value for _, value in made])
    got = one(text)
    assert got.shape == want.shape, text
    numpy.testing.assert_array_equal(got, want.astype(got.dtype), err_msg=text)


# ------------------------------------------------------------------------------------------- unknown sizes


def test_pictures_of_many_sizes():
    sizes = [(3, 4), (700, 5), (1, 1), (33, 40)]
    pictures = [RNG.integers(0, 256, (h, w, 3)).astype("u1") for h, w in sizes]

    class Pictures:
        def __len__(self):
            return len(sizes)

        def __getitem__(self, k):
            return {"image": pictures[k], "n": k}

    def ds():
        return leat.from_python(Pictures())

    for k, got in enumerate(ds().eval(image="image / 255 * [1, 2, 3]", mean="mean(cast(image, f32), 0, 1)", h="size(image, 0)",
                                      part="image[::2, :-1]", turned="transpose(image, 2, 0, 1)",
                                      noise="uniform(0, 1, like=image)", twice="concat(0, image, image)").batch(1).batches()):
        x = pictures[k]
        numpy.testing.assert_array_equal(got["image"][0], x.astype("f4") / numpy.float32(255) * numpy.float32([1, 2, 3]))
        numpy.testing.assert_allclose(got["mean"][0], x.mean((0, 1)), rtol=1e-6)
        assert got["h"][0] == x.shape[0]
        numpy.testing.assert_array_equal(got["part"][0], x[::2, :-1])
        numpy.testing.assert_array_equal(got["turned"][0], x.transpose(2, 0, 1))
        numpy.testing.assert_array_equal(got["twice"][0], numpy.concatenate([x, x]))
        assert got["noise"][0].shape == x.shape
    got = first(ds().eval(image="image * 2").padded_batch(4, max="image:700x40x3"))
    numpy.testing.assert_array_equal(got["image"][3, :33, :40], pictures[3] * numpy.uint8(2))


# ------------------------------------------------------------------------------------------------- random


def draws(seed=1, threads=1, **fields):
    ds = leat.from_arrays({"x": numpy.zeros((64, 40, 30), "f4")}).options(seed=seed).eval(**fields).select(*fields)
    return first(ds.batch(64).configure(threads=threads))


def test_random_numbers_have_their_distribution():
    got = draws(u="uniform(-2, 3, like=x)", n="normal(1, 2, like=x)", r="randint(-3, 4, 1000)", one="uniform(0, 1)")
    assert got["u"].min() >= -2 and got["u"].max() < 3 and abs(got["u"].mean() - 0.5) < 0.02
    assert abs(got["u"].std() - 5 / 12 ** 0.5) < 0.02
    assert abs(got["n"].mean() - 1) < 0.03 and abs(got["n"].std() - 2) < 0.03
    assert sorted(set(got["r"].flat)) == list(range(-3, 4)) and got["r"].dtype == "i4"
    assert got["one"].shape == (64,) and len(set(got["one"])) == 64


def test_random_numbers_are_a_function_of_the_seed():
    fields = {"a": "uniform(0, 1, 5)", "b": "uniform(0, 1, 5)", "c": "uniform(0, 1, 5, seed=9)",
              "d": "uniform(0, 1, 5, seed=9)", "e": "normal(0, 1, 5, seed=-8000000000000)"}
    one, two, other = draws(**fields), draws(threads=2, **fields), draws(seed=2, **fields)
    for name in fields:
        numpy.testing.assert_array_equal(one[name], two[name])
        assert not numpy.array_equal(one[name], other[name])
    assert not numpy.array_equal(one["a"], one["b"])
    numpy.testing.assert_array_equal(one["c"], one["d"])
    later = draws(first="1.0", c="uniform(0, 1, 5, seed=9)")
    numpy.testing.assert_array_equal(one["c"], later["c"])
    assert draws(x="uniform(0, 1) + 0 * x")["x"].ptp(axis=(1, 2)).max() == 0  # one number for the whole picture


def test_a_cache_behind_draws_is_refused():
    ds = leat.from_arrays({"x": numpy.zeros((4, 2), "f4")})
    with pytest.raises(leat.Error, match="what eval draws would stay the same"):
        first(ds.eval(x="x + uniform(0, 1)").cache().batch(2))
    assert len(list(ds.eval(x="x + 1").cache().batch(2))) == 2


# ------------------------------------------------------------------------------------------------ refused

WRONG = {
    "": "a value is missing at the end",
    "f +": "a value is missing at the end",
    "f + * g": "a value must stand here",
    "(f": r"'\)' is missing at the end",
    "f g": "an operator or the end must stand here",
    "fo + 1": "there is no field 'fo' here; did you mean 'f'",
    "meen(f)": "there is no function 'meen'; did you mean 'mean'",
    "mean": "a function is called as",
    "f + u": r"f32 and u8: cast one of them",
    "u * 0.5": r"0.5 is no u8: cast the other operand first",
    "u + 300": "u8 cannot hold 300",
    "b + b": "true and false are no numbers",
    "f & f": "work on bool and whole numbers",
    "f + i": "f32 and i32",
    "f + d": "f32 and f64",
    "f + g[:4]": r"the shapes \(6, 5, 3\) and \(4, 5, 3\) do not fit",
    "1 < f < 2": "comparisons do not chain",
    "cast(f, f33)": "there is no field 'f33'",
    "cast(f)": "cast has 2 arguments, not 1",
    "f32 + 1": "a type is no value",
    "sqrt(u)": "works on floats",
    "sum(f, 3)": "there is no axis 3 of 3",
    "sum(f, g)": "an axis must be one whole number",
    "sum(b)": "true and false are no numbers",
    "any(f)": "any and all are about true and false",
    "f[9]": "element 9 of axis 0, which has 6",
    "f[0, 0, 0, 0]": "4 indices for 3 axes",
    "f[::0]": "the step of a slice is not 0",
    "reshape(f, 7, -1)": "has 90 values, the new one a multiple of 7",
    "transpose(f, 0, 0, 1)": "axis 0 is named twice",
    "select(f, f, f)": "the condition is f32, not bool",
    "concat(0, f, i)": "f32 and i32",
    "concat(0, f, f[:, :4])": "do not fit",
    "uniform(0, 1, seed=f)": "seed must be one whole number",
    "f + uniform(0, 1, kep=3)": "there is no argument 'kep'",
    "sum(f, seed=3)": "sum has no argument 'seed'",
    "[1, f]": "a list has numbers only",
    "[[1, 2], [3]]": "one size",
    "1e999": "is no number",
    "3x": "is no number",
    "f ? g": "an operator or the end",
    "gather(f, g)": "numbers are whole",
    "(" * 100 + "f" + ")" * 100: "more than 64 levels",
    "+".join(f"f*{k}" for k in range(400)): "more than 256 operations",
}


@pytest.mark.parametrize("expression", WRONG)
def test_a_wrong_expression_is_told_with_its_place(expression):
    with pytest.raises((leat.Error, ValueError), match=WRONG[expression]) as caught:
        one(expression)
    assert "eval: out:" in str(caught.value) and "column" in str(caught.value)


def test_errors_of_a_sample():
    ds = leat.from_arrays({"a": numpy.int32([1, 2, 0, 4])})
    with pytest.raises(leat.Error, match="divided by zero"):
        list(ds.eval(a="12 // a").batch(2))
    with pytest.raises(leat.Error, match="gather: number 4 of 3 rows"):
        list(ds.eval(a="gather([5, 6, 7], a)").batch(2))
    with pytest.raises(leat.Error, match="power below 0"):
        list(ds.eval(a="2 ** (a - 3)").batch(2))


def test_how_the_method_is_called():
    ds = leat.from_arrays({"a/b": numpy.arange(4), "c": numpy.arange(4)})
    got = first(ds.eval({"a/b": '"a/b" * 2'}, "d=c + 1", e="'a/b' - c").batch(4))
    assert got["a/b"].tolist() == [0, 2, 4, 6] and got["d"].tolist() == [1, 2, 3, 4] and got["e"].tolist() == [0] * 4
    with pytest.raises(TypeError, match="must be a field and an expression"):
        ds.eval("c + 1")
    with pytest.raises(TypeError, match="given twice"):
        ds.eval("c=1", c="2")
    with pytest.raises(TypeError, match="needs a field"):
        ds.eval()
