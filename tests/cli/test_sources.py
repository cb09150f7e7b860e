# SPDX-License-Identifier: Apache-2.0
"""Sources in files: tables of files (list), CIFAR, records of one length, .npy and .npz, compared with what Python reads."""
import csv
import io
import json
import re
import zipfile
from pathlib import Path

import numpy
import pytest
from PIL import Image

from conftest import paint


@pytest.fixture
def run(leat, tmp_path):
    """The fields of a run, joined over its batches; ragged ones as a list of bytes."""

    def run(text: str, *more) -> dict:
        out = tmp_path / "out"
        for old in out.glob("*.npy"):
            old.unlink()
        leat("run", text, "--sink", f"npy:{out}", *more)
        fields: dict = {}
        for path in sorted(out.glob("*.npy")):
            if not path.stem.endswith("_offsets"):
                fields.setdefault(path.stem.split("_", 1)[1], []).append(path)
        result = {}
        for name, paths in fields.items():
            parts = [numpy.load(path) for path in paths]
            offsets = [path.with_name(path.stem + "_offsets.npy") for path in paths]
            if offsets[0].exists():
                result[name] = [part[a:b].tobytes() for part, where in zip(parts, map(numpy.load, offsets))
                                for a, b in zip(where, where[1:])]
            else:
                result[name] = numpy.concatenate(parts)
        return result

    return run


def complaint(done) -> str:
    lines = [line for line in done.stderr.splitlines() if re.match("leat [a-z]+: ", line)]
    assert len(lines) == 1, done.stderr
    return lines[0]


# ------------------------------------------------------------------------------------------------ list


@pytest.fixture
def table(tmp_path):
    """Twelve pictures with labels of every kind, as rows; table(rows) writes them as a CSV file and gives its path."""
    folder = tmp_path / "data"
    rows = []
    for i in range(12):
        path = folder / f"p{i % 3}" / f"picture {i}, no 1.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(paint(8, 9, i)).save(path)
        rows.append({"id": i, "path": path.relative_to(folder).as_posix(), "label": ("dog", "cat", 'b"e,e')[i % 3],
                     "number": i - 5, "age": i / 4, "w": 1 + i / 8, "note": "two\nlines" if i % 2 else ""})

    def write(name: str = "list.csv", rows: list = rows, header: bool = True, newline: str = "\r\n",
              separator: str = ",", bom: bytes = b"", columns: tuple = tuple(rows[0]), quoting=csv.QUOTE_MINIMAL) -> Path:
        out = io.StringIO(newline="")
        writer = csv.DictWriter(out, columns, lineterminator=newline, delimiter=separator, extrasaction="ignore",
                                quoting=quoting)
        if header:
            writer.writeheader()
        writer.writerows(rows)
        path = folder / name
        path.write_bytes(bom + out.getvalue().encode())
        return path

    write.rows, write.folder = rows, folder
    return write


def pixels(folder: Path, row: dict) -> numpy.ndarray:
    return numpy.asarray(Image.open(folder / row["path"]))


CLASSES = ['b"e,e', "cat", "dog"]


@pytest.mark.parametrize("form", [{}, {"newline": "\n"}, {"newline": "\r", "quoting": csv.QUOTE_ALL}, {"bom": b"\xef\xbb\xbf"}, {"separator": ";"},
                                  {"separator": "\t"}, {"quoting": csv.QUOTE_ALL}], ids=str)
def test_list(run, table, form):
    path = table(**form)
    given = {";": " separator=';'", "\t": " separator=tab"}.get(form.get("separator"), "")
    got = run(f"list {path} label=label weight=w{given} | decode | batch 5")
    assert set(got) == {"image", "label", "weight"}
    assert numpy.array_equal(got["image"], [pixels(table.folder, row) for row in table.rows])
    assert got["label"].dtype == "int64" and got["weight"].dtype == "float32"
    assert got["label"].tolist() == [CLASSES.index(row["label"]) for row in table.rows]
    assert got["weight"].tolist() == [row["w"] for row in table.rows]


def test_list_of_several_labels(run, table):
    got = run(f"list {table()} label=number,age,label,id | decode | batch 12")
    assert list(got) == sorted(["image", "number", "age", "label", "id"])
    assert got["number"].tolist() == [row["number"] for row in table.rows] and got["number"].dtype == "int64"
    assert got["age"].tolist() == [row["age"] for row in table.rows] and got["age"].dtype == "float32"
    assert got["label"].tolist() == [CLASSES.index(row["label"]) for row in table.rows]


def test_list_guesses_header_and_columns(leat, run, table):
    two = ("path", "label")
    for header in (True, False):
        got = run(f"list {table(columns=two, header=header)} | decode | batch 12")
        assert got["label"].tolist() == [CLASSES.index(row["label"]) for row in table.rows]
    got = run(f"list {table(columns=('path', 'age'))} | decode | batch 12")
    assert set(got) == {"image"}
    got = run(f"list {table(header=False)} path=1 label=3,0 | decode | batch 12")
    assert got["column3"].tolist() == [row["number"] for row in table.rows] and "column0" in got
    got = run(f"list {table(header=False)} path=1 label=none header=false | decode | batch 12")
    assert set(got) == {"image"}
    leat("run", f"list {table(columns=two)} header=false | decode | batch 4", code=1)  # then the header is a row


def test_list_paths(run, table, tmp_path, leat):
    expected = [pixels(table.folder, row) for row in table.rows]
    elsewhere = tmp_path / "lists"
    elsewhere.mkdir()
    (elsewhere / "a.csv").write_bytes(table().read_bytes())
    assert numpy.array_equal(run(f"list lists/a.csv root={table.folder} | decode | batch 12")["image"], expected)
    absolute = [{**row, "path": table.folder / row["path"]} for row in table.rows]
    (elsewhere / "b.csv").write_bytes(table("b.csv", absolute).read_bytes())
    assert numpy.array_equal(run("list lists/b.csv | decode | batch 12")["image"], expected)
    leat("run", "list lists/a.csv | decode | batch 12", code=1)
    one = run(f"list {table()} check=true | take 3 | batch 3")["image"]
    assert one == [(table.folder / row["path"]).read_bytes() for row in table.rows[:3]]
    assert one == run(f"list {table()} max_bytes=1MiB | take 3 | batch 3")["image"]
    assert "max_bytes" in complaint(leat("run", f"list {table()} | batch 3", code=1))


def test_list_classes(leat, run, table):
    got = run(f"list {table()} | decode | one_hot | batch 12")
    assert got["label"].argmax(1).tolist() == [CLASSES.index(row["label"]) for row in table.rows]
    assert "12 files in 3 classes" in leat("plan", f"list {table()} | decode | batch 4").stdout
    # Numbers are no classes, and of two columns of words nobody could tell whose the classes are.
    assert "one_hot label N" in complaint(leat("run", f"list {table()} label=number | decode | one_hot", code=1))
    assert "one_hot label N" in complaint(leat("run", f"list {table()} label=label,path | decode | one_hot", code=1))


def test_list_of_missing_files(leat, table, run):
    path = table()
    (table.folder / table.rows[7]["path"]).unlink()
    message = complaint(leat("run", f"list {path} | decode | batch 4", code=1))
    assert re.search(r"list\.csv row 9: cannot open .*picture 7, no 1\.png: No such file", message)
    skipped = leat("run", f"list {path} | decode | batch 4", "--on-error", "skip", "--sink", "ids").stdout
    assert "7" not in skipped.replace(":", " ").split()[2:] and "11" in skipped
    message = complaint(leat("plan", f"list {path} check=true | decode | batch 4", code=1))
    assert "1 of 12 files cannot be used, the first one is" in message and "row 9" in message and "picture 7" in message


BAD_TABLES = [
    (b"", "the file is empty"),
    (b"path,label\n", "nothing but a header"),
    (b"path,label\na.jpg\n", r"row 2 \(line 2\) has 1 cells, the first one has 2"),
    (b"path,label\n\n\na.jpg,1,2\n", r"row 2 \(line 4\) has 3 cells"),
    (b"path,label\na.jpg,\n", r"row 2 \(line 2\) has a label that is empty"),
    (b"path,label\n,1\n", r"row 2 \(line 2\) has no path"),
    (b'path,label\n"a.jpg,1\nb.jpg,2\n', "line 2: a quote in this row is never closed"),
    (b'path,label\n"a.jpg"x,1\n', "line 2: text follows a closing quote"),
    (b"path,label\na.jpg,1.5\nb.jpg,x\n", r"words \(row 3\) and numbers with a fraction \(row 2\)"),
    (b"path,label\na.jpg,99999999999999999999\n", "too large a number"),
    (b"\xff\xfep\0a\0", "UTF-16"),
    (b"path,label\na.jpg,\0\n", "zero byte"),
    (b"path,label\n" + b'"' + b"x" * (1 << 20) + b'",1\n', "more than a megabyte"),
    (b"," * 5000, "more than 4096 cells"),
]


@pytest.mark.parametrize("content,words", BAD_TABLES, ids=[words for _, words in BAD_TABLES])
def test_bad_tables(leat, tmp_path, content, words):
    (tmp_path / "a.csv").write_bytes(content)
    message = complaint(leat("plan", "list a.csv | decode | resize 8 8 | batch 4", code=1))
    assert re.search(words, message) and "a.csv" in message, message


def test_columns_that_do_not_exist(leat, table):
    def said(arguments: str) -> str:
        return complaint(leat("plan", f"list {table()} {arguments} | decode | batch 4", code=1))

    assert "no column 'lable'; did you mean 'label'?" in said("label=lable")
    assert "no column 'zzzzz': there are id, path, label" in said("weight=zzzzz")
    assert "no column '9'" in said("path=9")
    assert "two fields would have the name 'age'" in said("label=age,age")
    assert "separator must be one character" in said("separator=ab")
    assert "has a weight that is no number" in said("weight=label")
    assert "without a header columns are numbers, 0 to 6" in said("label=number header=false")
    assert "cannot open" in complaint(leat("plan", "list nowhere.csv | decode | batch 4", code=1))


def test_list_info_and_check(leat, table):
    got = json.loads(leat("info", "--json", table()).stdout)
    assert got["kind"] == "list" and got["samples"] == got["files"] == 12 and got["bad"] == 0
    assert got["classes"] == [{"name": name, "n": 4} for name in CLASSES]
    assert got["bytes"] == sum((table.folder / row["path"]).stat().st_size for row in table.rows)
    assert "a list of image files\n  images    12 in 3 classes\n" in leat("info", table()).stdout
    assert "all 12 good" in leat("check", table()).stdout
    (table.folder / table.rows[3]["path"]).unlink()
    (table.folder / table.rows[5]["path"]).write_bytes(b"\x89PNG\r\n\x1a\n")
    done = leat("check", "--json", table(), code=1)
    bad = json.loads(done.stdout)["list"]
    assert [Path(one["path"]).name for one in bad] == ["picture 3, no 1.png", "picture 5, no 1.png"]
    assert "row 5" in bad[0]["reason"] and bad[1]["stage"] == "decode"
    (table.folder / "bad.csv").write_text("path,label\na.jpg\n")
    assert "has 1 cells" in leat("check", table.folder / "bad.csv", code=1).stdout
    assert "has 1 cells" in leat("info", table.folder / "bad.csv", code=1).stderr


def test_a_long_list_is_small(leat, tmp_path):
    with open(tmp_path / "long.csv", "w") as out:
        out.write("path,label,weight\n")
        for i in range(200_000):
            out.write(f"photos/train/class_{i % 1000:04}/picture_{i:09}.jpg,class_{i % 1000:04},{i % 7 + 0.5}\n")
    done = leat("plan", "list long.csv label=label weight=weight max_bytes=1k | select label weight | batch 256")
    assert "200000 files in 1000 classes" in done.stdout


# ----------------------------------------------------------------------------------------------- cifar


@pytest.fixture
def cifar(tmp_path):
    random = numpy.random.RandomState(3)
    for kind, labels in ((10, 1), (100, 2)):
        for batch in range(3):
            limits = numpy.array([[10], [20, 100]][labels - 1])
            label = (random.randint(0, 10 ** 6, (7, labels)) % limits).astype("uint8")
            planes = random.randint(0, 256, (7, 3, 32, 32)).astype("uint8")
            numpy.concatenate([label, planes.reshape(7, -1)], 1).tofile(tmp_path / f"c{kind}_{batch}.bin")
    return tmp_path


@pytest.mark.parametrize("kind", (10, 100))
def test_cifar(run, cifar, kind):
    got = run(f"cifar c{kind}_*.bin kind={kind} | batch 5")
    n = 1 if kind == 10 else 2
    raw = numpy.concatenate([numpy.fromfile(cifar / f"c{kind}_{i}.bin", "uint8").reshape(7, n + 3072) for i in range(3)])
    assert numpy.array_equal(got["image"], raw[:, n:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
    names = ["label"] if kind == 10 else ["coarse", "fine"]
    assert set(got) == {"image", *names}
    for i, name in enumerate(names):
        assert got[name].dtype == "int64" and numpy.array_equal(got[name], raw[:, i])


def test_cifar_shuffled_and_turned(run, cifar):
    straight = run("cifar c10_*.bin | cast f32 scale=1/255 layout=nchw | one_hot | batch 21")
    assert straight["label"].shape == (21, 10) and straight["image"].shape == (21, 3, 32, 32)
    mixed = run("cifar c10_*.bin | shuffle seed=3 | cast f32 scale=1/255 layout=nchw | one_hot | batch 4")
    assert sorted(map(float, mixed["image"].sum((1, 2, 3)))) == sorted(map(float, straight["image"].sum((1, 2, 3))))


def test_bad_cifar(leat, cifar):
    (cifar / "short.bin").write_bytes(b"\0" * 3000)
    assert "no whole number of records of 3073" in complaint(leat("run", "cifar short.bin | batch 2", code=1))
    assert "write kind=100" in complaint(leat("run", "cifar c100_0.bin | batch 2", code=1))
    (cifar / "label.bin").write_bytes(b"\0" * 3073 + b"\x0a" + b"\0" * 3072)
    message = complaint(leat("run", "cifar label.bin | batch 1", code=1))
    assert "label.bin: record 1 at byte 3073: its label is 10" in message
    assert "no file matches" in complaint(leat("run", "cifar nowhere*.bin", code=1))


# ----------------------------------------------------------------------------------------------- fixed


def test_fixed(run, leat, tmp_path):
    data = numpy.random.RandomState(1).randint(0, 256, (31, 24)).astype("uint8")
    for i, part in enumerate((data[:10], data[10:10], data[10:])):
        (tmp_path / f"f{i}.bin").write_bytes(b"HEAD!" + part.tobytes() + b"END")
    source = "fixed f*.bin bytes=24 header=5 footer=3"
    got = run(f"{source} | decode_raw record u8 | reshape record 4 6 | batch 7")
    assert numpy.array_equal(got["record"], data.reshape(-1, 4, 6))
    assert run(f"{source} | batch 7")["record"] == [row.tobytes() for row in data]
    floats = run(f"{source} | decode_raw record u16 | cast record f32 | batch 31")
    assert numpy.array_equal(floats["record"], data.view("<u2").astype("f4"))
    message = complaint(leat("run", "fixed f*.bin bytes=23 header=5 footer=3", code=1))
    assert "f0.bin: 240 bytes between header and footer are no whole number of records of 23: 10 are left over" in message
    assert "fewer than its header" in complaint(leat("run", "fixed f1.bin bytes=1 header=100", code=1))
    assert "holds no record" in complaint(leat("run", "fixed f1.bin bytes=24 header=5 footer=3", code=1))
    assert "needs bytes" in complaint(leat("run", "fixed f1.bin", code=2))


def test_more_files_than_stay_open(run, tmp_path):
    for i in range(300):
        (tmp_path / f"m{i:03}.bin").write_bytes(bytes([i % 256, i // 256]) * 2)
    got = run("fixed m*.bin bytes=2 | shuffle | decode_raw record u16 | batch 64")
    assert sorted(got["record"].ravel()) == sorted(list(range(300)) * 2)


# ------------------------------------------------------------------------------------------------- npy

DTYPES = ("u1", "i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", "<f2", "<f4", "<f8", "?")


@pytest.mark.parametrize("dtype", DTYPES)
def test_npy_of_every_type(run, tmp_path, dtype):
    x = numpy.random.RandomState(2).uniform(0, 100, (9, 2, 3)).astype(dtype)
    numpy.save(tmp_path / "x.npy", x)
    got = run("npy x.npy | batch 4")["x"]
    assert got.dtype == x.dtype and numpy.array_equal(got, x)


def test_npy_with_names(run, tmp_path):
    image = numpy.random.RandomState(4).randint(0, 256, (10, 6, 5, 3)).astype("uint8")
    label = numpy.arange(10)[::-1].copy()
    numpy.save(tmp_path / "images of mine.npy", image)
    numpy.save(tmp_path / "y.npy", label)
    got = run("npy image='images of mine.npy' label=y.npy | random_flip_left_right | batch 3")
    assert got["image"].shape == image.shape and numpy.array_equal(got["label"], label)
    plain = run("npy y.npy image='images of mine.npy' | batch 3")
    assert numpy.array_equal(plain["image"], image) and numpy.array_equal(plain["y"], label)


@pytest.mark.parametrize("save", (numpy.savez, numpy.savez_compressed))
def test_npz(run, leat, tmp_path, save):
    x = numpy.random.RandomState(5).randint(0, 9, (20, 4, 4, 1)).astype("uint8")
    y = numpy.arange(20, dtype="i4") * 3
    save(tmp_path / "a.npz", image=x, label=y)
    got = run("npy a.npz | shuffle | batch 6")
    order = got["label"] // 3
    assert sorted(order) == list(range(20)) and numpy.array_equal(got["image"], x[order])
    save(tmp_path / "b.npz", x_train=x, y_train=y, x_test=x[:5], y_test=y[:5])
    message = complaint(leat("run", "npy b.npz", code=1))
    assert "b.npz:x_test has 5 slices, b.npz:x_train has 20: choose arrays" in message
    got = run("npy image=b.npz:x_test label=b.npz:y_test | batch 5")
    assert numpy.array_equal(got["image"], x[:5]) and numpy.array_equal(got["label"], y[:5])
    assert "holds several arrays, name one: image=b.npz:x_train" in complaint(leat("run", "npy image=b.npz", code=1))
    assert "holds no array z: there are x_train, y_train" in complaint(leat("run", "npy b.npz:z", code=1))


def test_large_arrays_stay_in_their_files(run, tmp_path):
    x = numpy.arange(9 * (4 << 20), dtype="u4").view("u1").reshape(36, 4 << 20)[:9].copy()
    numpy.save(tmp_path / "x.npy", x)
    numpy.savez(tmp_path / "x.npz", x=x)
    for name in ("x.npy", "x.npz"):
        got = run(f"npy {name} | shuffle seed=2 | batch 2")["x"]
        assert sorted(int(row.view("u4")[0]) for row in got) == [i << 20 for i in range(9)]


def test_bad_npy(leat, tmp_path):
    def said(text: str) -> str:
        return complaint(leat("run", text, code=1))

    numpy.save(tmp_path / "columns.npy", numpy.asfortranarray(numpy.zeros((3, 4))))
    numpy.save(tmp_path / "objects.npy", numpy.array([1, "a"], object), allow_pickle=True)
    numpy.save(tmp_path / "big.npy", numpy.zeros(3, ">f4"))
    numpy.save(tmp_path / "one.npy", numpy.float32(3))
    numpy.save(tmp_path / "none.npy", numpy.zeros((0, 3)))
    numpy.save(tmp_path / "good.npy", numpy.zeros((4, 3)))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "good.npy").read_bytes()[:-1])
    (tmp_path / "text.npy").write_text("hello")
    assert "Fortran order: save it with np.save(path, np.ascontiguousarray(x))" in said("npy columns.npy")
    assert "objects.npy" in said("npy objects.npy") and "little-endian" in said("npy big.npy")
    assert "single value" in said("npy one.npy") and "has no slices" in said("npy none.npy")
    assert "cut.npy is cut off" in said("npy cut.npy") and "no .npy file" in said("npy text.npy")
    assert "two arrays have the name good" in said("npy good.npy good.npy")
    assert "cannot open" in said("npy x=nowhere.npy") and "cannot open" in said("npy nowhere.npz:x")
    numpy.savez_compressed(tmp_path / "a.npz", x=numpy.arange(4000))
    whole = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(whole[:-30])
    assert "a.npz: zip: " in said("npy a.npz")
    (tmp_path / "a.npz").write_bytes(whole[:900] + bytes([whole[900] ^ 1]) + whole[901:])
    assert "a.npz:x is damaged" in said("npy a.npz")
    with zipfile.ZipFile(tmp_path / "odd.npz", "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("x.npy", (tmp_path / "good.npy").read_bytes())
    assert "packed by method 12" in said("npy odd.npz")
    with zipfile.ZipFile(tmp_path / "nothing.npz", "w"):
        pass
    assert "holds no array" in said("npy nothing.npz")


# -------------------------------------------------------------------------------------- what all promise


@pytest.fixture
def specs(table, cifar, tmp_path):
    numpy.savez_compressed(tmp_path / "z.npz", image=numpy.arange(21 * 48, dtype="u1").reshape(21, 4, 4, 3), label=range(21))
    return {
        "list": f"list {table()} label=number weight=w | shuffle | decode | random_flip_left_right | batch 4",
        "cifar": "cifar c10_*.bin | shuffle | random_brightness 0.2 | batch 4",
        "fixed": "fixed c10_*.bin bytes=3073 | shuffle 9 | batch 4",
        "npy": "npy z.npz | shuffle | random_flip_up_down | batch 4",
    }


@pytest.mark.parametrize("name", ("list", "cifar", "fixed", "npy"))
def test_same_bytes_and_resume(leat, specs, name, tmp_path):
    def digest(*words) -> str:
        return leat("run", specs[name], "--sink", "digest", "-e", 2, *words).stdout.split()[0]

    assert len({digest(), digest("-t", 1), digest("-t", 3), digest("--synchronous"), digest("--slots", 2)}) == 1
    ids = leat("run", specs[name], "-e", 2, "--sink", "ids").stdout
    parts = ""
    for _ in range(40):
        part = leat("run", specs[name], "-e", 2, "--sink", "ids", "--state", "state", "-n", 1).stdout
        parts += part
        if not part:
            break
    assert parts == ids


def test_states_of_other_data_are_refused(leat, table, tmp_path):
    text = f"list {table()} | decode | batch 4"
    leat("run", text, "--state", "s", "-n", 1)
    table(rows=[{**row, "label": "cow"} for row in table.rows])
    assert "other data" in complaint(leat("run", text, "--state", "s", "-n", 1, code=1))


# ------------------------------------------------------------------------------------ numbers and words


def test_csv(run, leat, tmp_path):
    (tmp_path / "t.csv").write_text("age,city,income,label\n31,Rome,1.5,cat\n,Oslo,,dog\n7,Oslo,-2e3,cat\n")
    got = run("csv t.csv x:f32=age,income city label | batch 3")
    assert numpy.array_equal(got["x"], numpy.float32([[31, 1.5], [numpy.nan, numpy.nan], [7, -2000]]), equal_nan=True)
    assert got["city"].tolist() == [1, 0, 0] and got["label"].tolist() == [0, 1, 0]
    got = run("csv t.csv x=* label classes=dog,cat categories='city=Rome,Oslo' missing='age=5;income=0' | batch 3")
    assert got["x"].tolist() == [[31, 0, 1.5], [5, 1, 0], [7, 1, -2000]] and got["label"].tolist() == [1, 0, 1]
    assert "two fields would have the name 'x'" in complaint(leat("plan", "csv t.csv x=age x=city | batch 2", code=1))
    assert "'x=*': no column is left" in complaint(leat("plan", "csv t.csv age city income label x=* | batch 2", code=1))


def test_with_path(run, leat, table):
    got = run(f"list {table()} | with_path | with_path short of=name | decode | batch 12")
    assert got["path"] == [str(table.folder / row["path"]).encode() for row in table.rows]
    assert got["short"] == [str(row["path"]).encode() for row in table.rows]
    assert "have no files of their own" in complaint(leat("plan", "synth | with_path | batch 2", code=1))


def test_classes_of_a_list(run, leat, table):
    order = ["dog", 'b"e,e', "cat"]
    got = run(f"list {table()} classes=';dog;b\"e,e;cat' | decode | batch 12")
    assert got["label"].tolist() == [order.index(row["label"]) for row in table.rows]
    assert "'b\"e,e', which is none of the 2 given classes" in complaint(
        leat("plan", f"list {table()} classes=dog,cat | batch 2", code=1))
    assert "label names several" in complaint(leat("plan", f"list {table()} classes=a label=label,age | batch 2", code=1))
    got = run(f"list {table()} label=number,age vector=true | decode | batch 12")
    assert numpy.array_equal(got["label"], numpy.float32([[row["number"], row["age"]] for row in table.rows]))
