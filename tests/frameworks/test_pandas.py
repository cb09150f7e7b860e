# SPDX-License-Identifier: Apache-2.0
"""Tables as pandas reads them."""
import numpy
import pandas

import leat


def written(tmp_path, frame):
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    return path


def test_columns_are_those_of_pandas(tmp_path):
    random = numpy.random.RandomState(1)
    n = 5000
    frame = pandas.DataFrame({
        "whole": random.randint(-10**12, 10**12, n), "real": random.randn(n) * 10.0 ** random.randint(-30, 30, n),
        "gaps": numpy.where(random.rand(n) < 0.2, numpy.nan, random.rand(n)),
        "whole_gaps": pandas.Series(numpy.where(random.rand(n) < 0.1, numpy.nan, random.randint(0, 9, n))).astype("Int64"),
        "word": random.choice(["red", "grün", 'a "b", c', "x y", "NAN"], n), "yes": random.rand(n) < 0.5})
    path = written(tmp_path, frame)
    theirs = pandas.read_csv(path)
    ours = next(iter(leat.from_csv(path, columns=list(frame)).batch(n)))
    assert numpy.array_equal(ours["whole"], theirs["whole"])
    for name in ("real", "gaps", "whole_gaps"):
        assert ours[name].dtype == "float32"
        assert numpy.array_equal(ours[name], theirs[name].to_numpy("float32"), equal_nan=True), name
    categories = theirs["word"].astype("category").cat
    order = sorted(frame["word"].unique(), key=str.encode)
    assert numpy.array_equal(ours["word"], [order.index(word) for word in theirs["word"]]) and len(categories.categories) == 5
    assert numpy.array_equal(ours["yes"], theirs["yes"])
    exact = next(iter(leat.from_text(f"csv {path} gaps:f64").batch(n)))
    assert numpy.allclose(exact, theirs["gaps"], rtol=1e-15, atol=0, equal_nan=True)
    filled = next(iter(leat.from_csv(path, features=["gaps", "whole_gaps"], missing=-1).batch(n)))
    assert numpy.array_equal(filled, theirs[["gaps", "whole_gaps"]].fillna(-1).to_numpy("float32"))


def test_series_of_paths_and_labels(tmp_path):
    from PIL import Image

    for i in range(6):
        Image.fromarray(numpy.full((8, 8, 3), i, "uint8")).save(tmp_path / f"{i}.png")
    frame = pandas.DataFrame({"file": [tmp_path / f"{i}.png" for i in range(6)], "breed": ["pug", "collie"] * 3})
    frame = frame[::-1]
    ds = leat.from_files(frame["file"], frame["breed"], with_path=True).batch(6)
    batch = next(iter(ds))
    assert batch["image"][:, 0, 0, 0].tolist() == [5, 4, 3, 2, 1, 0] and ds.class_names == ["collie", "pug"]
    assert batch["label"].tolist() == frame["breed"].astype("category").cat.codes.tolist()
    assert [path.decode() for path in batch["path"]] == [str(path) for path in frame["file"]]
