# SPDX-License-Identifier: Apache-2.0
"""from_csv for tables of numbers and words. tests/frameworks/test_pandas.py compares with pandas."""
import math

import numpy
import pytest

import leat

TABLE = """age,city,income,label
31,Rome,1.5,cat
,Oslo,,dog
7,"Oslo",-2e3,cat
"""


@pytest.fixture
def table(tmp_path):
    def write(text: str = TABLE):
        path = tmp_path / "table.csv"
        path.write_text(text)
        return path

    return write


def read(ds):
    return next(iter(ds.batch(100).as_dict()))


def test_every_column_is_a_field(table):
    ds = leat.from_csv(table())
    got = read(ds)
    assert ds.samples == 3 and ds.class_names == ["cat", "dog"]
    assert got["age"].dtype == "float32" and got["age"][[0, 2]].tolist() == [31, 7] and math.isnan(got["age"][1])
    assert got["city"].dtype == "int64" and got["city"].tolist() == [1, 0, 0]
    assert got["income"][[0, 2]].tolist() == [1.5, -2000] and got["label"].tolist() == [0, 1, 0]


def test_columns(table):
    got = read(leat.from_csv(table(), columns=["label", "age"], missing={"age": 0}))
    assert list(got) == ["label", "age"] and got["age"].dtype == "int64" and got["age"].tolist() == [31, 0, 7]
    got = read(leat.from_csv(table(), columns={"who": "city", "x": ["age", "income"]}, missing=-1))
    assert got["who"].tolist() == [1, 0, 0] and got["x"].tolist() == [[31, 1.5], [-1, -1], [7, -2000]]
    assert read(leat.from_csv(table(), columns={"x": ["label"]}))["x"].tolist() == [[0], [1], [0]]
    text = read(leat.from_text(f"csv {table()} city:bytes income:f64"))
    assert text["city"].tolist() == [b"Rome", b"Oslo", b"Oslo"] and text["income"].dtype == "float64"


def test_features_and_label(table):
    ds = leat.from_csv(table(), features="x", label="label", missing=0).batch(3)
    x, y = next(iter(ds))
    assert x.dtype == "float32" and x.tolist() == [[31, 1, 1.5], [0, 0, 0], [7, 0, -2000]] and y.tolist() == [0, 1, 0]
    x, y = next(iter(leat.from_csv(table(), features=["income"], label="city").batch(1)))
    assert x.tolist() == [[1.5]] and y.tolist() == [1]
    x, y, w = next(iter(leat.from_csv(table(), features={"x": ["age"]}, label="label", weight="income").batch(1)))
    assert x.tolist() == [[31]] and w.tolist() == [1.5]


def test_orders_of_words(table):
    ds = leat.from_csv(table(), label="label", class_names=["dog", "cat"], categories={"city": ["Rome", "Oslo"]})
    got = read(ds)
    assert got["label"].tolist() == [1, 0, 1] and got["city"].tolist() == [0, 1, 1] and ds.class_names == ["dog", "cat"]
    with pytest.raises(leat.NotFoundError, match=r"row 3 \(line 3\) has the city 'Oslo', which is none of the 1 given"):
        leat.from_csv(table(), categories={"city": ["Rome"]}).samples
    with pytest.raises(leat.NotFoundError, match="categories: no field has a column 'town'"):
        leat.from_csv(table(), categories={"town": ["Rome"]}).samples


def test_several_labels_are_one_vector(pictures, table):
    path = table("path,cat,dog,x\n" + "".join(f"{path},{i % 2},{(i + 1) % 2},{i / 4}\n" for i, path in
                                            enumerate(sorted(pictures.rglob("*.png")))))
    images, labels = next(iter(leat.from_csv(path, label=["cat", "dog"]).resize(4, 4).batch(4)))
    assert images.shape == (4, 4, 4, 3) and labels.dtype == "int64"
    assert labels.tolist() == [[0, 1], [1, 0], [0, 1], [1, 0]]
    labels = next(iter(leat.from_csv(path, label=["cat", "x"]).resize(4, 4).batch(4)))[1]
    assert labels.dtype == "float32" and labels.tolist() == [[0, 0], [1, 0.25], [0, 0.5], [1, 0.75]]
    got = next(iter(leat.from_csv(path, label="cat,x", with_path=True).resize(4, 4).batch(4)))
    assert set(got) == {"image", "cat", "x", "path"}


def test_missing(table):
    words = table("a,b\n1,x\n2,NA\nnan,y\n")
    with pytest.raises(leat.FormatError, match="table.csv: row 3: b is missing, in a column of words"):
        leat.from_csv(words).samples
    assert read(leat.from_csv(words, missing={"b": "none"}))["b"].tolist() == [1, 0, 2]
    assert math.isnan(read(leat.from_csv(words, columns=["a"]))["a"][2])
    with pytest.raises(leat.FormatError, match=r"row 4 \(line 4\) has a a that is missing"):
        leat.from_csv(words, columns=["a"], missing="error").samples
    with pytest.raises(leat.FormatError, match="row 4: a is missing, and a whole number has no NaN"):
        leat.from_text(f"csv {words} a:i64").samples
    with pytest.raises(leat.NotFoundError, match="missing: no field has a column 'c'"):
        leat.from_csv(words, missing={"c": 1}).samples


def test_a_table_without_paths_says_so(table):
    with pytest.raises(leat.FormatError, match=r"row 2 \(line 2\) has 31 where a path is expected: this table has no "
                                              r"column of paths; name it .* or read a table of numbers and words"):
        leat.from_text(f"list {table()}").samples
    assert leat.from_csv(table()).text.startswith("csv ")
    assert leat.from_csv(table("x,y\na.jpg,1\n")).text.startswith("list ")
    assert leat.from_csv(table("path,y\nsomething,1\n")).text.startswith("list ")
    with pytest.raises(leat.NotFoundError):
        leat.from_csv(table().parent / "nowhere.csv").samples


BAD = [("a,b\n1\n", r"row 2 \(line 2\) has 1 cells"), ("a\n1.5\nx\n", "column a holds words .row 3. and numbers with a fraction"),
       ("a\n99999999999999999999\n", "too large a number"), ("a,a\n1,2\n", "two fields would have the name 'a'"), ("", "the file is empty"),
       ("a,b\n", "nothing but a header"), (",".join(map(str, range(40))) + "\n", "more than 32 fields: make a vector"),
       ("\0", "zero byte"), ('a\n"1\n', "never closed")]


@pytest.mark.parametrize("text,words", BAD, ids=[words for _, words in BAD])
def test_bad_tables(table, text, words):
    with pytest.raises(leat.Error, match=words) as caught:
        leat.from_csv(table(text), columns=None, missing={}).samples if text else leat.from_text(f"csv {table(text)}").samples
    assert "table.csv" in str(caught.value) and "\n" not in str(caught.value).partition("\n  ")[0]


def test_wrong_arguments(table):
    with pytest.raises(TypeError, match="path is for a table of pictures"):
        leat.from_csv(table(), path="a", columns=["b"])
    with pytest.raises(TypeError, match="a column is a name or a number"):
        leat.from_csv(table(), columns=[1.5])
    with pytest.raises(leat.NotFoundError, match="no column 'incom'; did you mean 'income'"):
        leat.from_csv(table(), columns=["incom"]).samples
    with pytest.raises(leat.DTypeError, match="a column is f32, f64, i64 or bytes"):
        leat.from_text(f"csv {table()} age:u8").samples
    with pytest.raises(ValueError, match="words no ',' and ';'"):
        leat.from_csv(table(), categories={"city": ["a;b"]})


def test_without_a_header_and_with_another_separator(table):
    got = read(leat.from_csv(table("1;2.5;a\n3;4.5;b\n"), separator=";"))
    assert got["column0"].tolist() == [1, 3] and got["column2"].tolist() == [0, 1]
    got = read(leat.from_csv(table("1;2.5;a\n3;4.5;b\n"), separator=";", features=[0, 1], label=2))
    assert got["features"].tolist() == [[1, 2.5], [3, 4.5]] and got["label"].tolist() == [0, 1]


def test_many_columns(table):
    rows = numpy.random.RandomState(0).randint(0, 256, (20, 785))
    path = table("label," + ",".join(f"p{i}" for i in range(784)) + "\n" + "".join(
        ",".join(map(str, row)) + "\n" for row in rows))
    x, y = next(iter(leat.from_csv(path, features="x", label="label").batch(20)))
    assert numpy.array_equal(x, rows[:, 1:]) and numpy.array_equal(y, rows[:, 0])


def test_filter_knows_labels_from_the_table(table):
    ds = leat.from_csv(table(), features="x", label="label").filter("label == cat").batch(5)
    assert next(iter(ds))[1].tolist() == [0, 0]
