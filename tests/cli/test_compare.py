# SPDX-License-Identifier: Apache-2.0
"""leat compare: pipelines and folders of .npy files, equal, near and far."""
import re

import numpy
import pytest

TEXT = "synth 20 8 8 | random_flip_left_right | batch 8"


def test_equal(leat):
    done = leat("compare", TEXT, f"{TEXT} | options fuse=off")
    assert "image  u8  3,840 values, all equal" in done.stdout
    assert "label  i64  20 values, all equal" in done.stdout
    assert done.stdout.splitlines()[-1] == "equal: 20 samples in 3 batches"


def test_what_a_run_wrote(leat, tmp_path, records):
    path = records("a.tfrecord", [{"name": b"x" * k, "ids": list(range(k)), "a/b": 1.5} for k in range(1, 8)])
    text = f"tfrecord {path} | parse name:bytes ids:int64[*] a/b:float | batch 3"
    leat("run", text, "--sink", f"npy:{tmp_path}/out")
    done = leat("compare", text, tmp_path / "out")
    assert re.findall(r"^\w+", done.stdout, re.M) == ["name", "name_offsets", "ids", "ids_offsets", "a_b", "equal"]
    leat("compare", tmp_path / "out", tmp_path / "out")


def test_where_and_how_far(leat, tmp_path):
    leat("run", f"{TEXT} | options", "--sink", f"npy:{tmp_path}/out", "-q")
    path = tmp_path / "out" / "000001_image.npy"
    array = numpy.load(path).astype("f4")
    array[5, 3, 7, 2] += 2.5
    array[0, 0, 0, 0] -= 1
    numpy.save(path, array)
    done = leat("compare", TEXT, tmp_path / "out", code=1)
    value = array[5, 3, 7, 2]
    assert (f"image  u8 and u8  " not in done.stdout) and re.search(
        rf"2 of 3,840 values differ, mean 0\.000911, largest 2\.5 at batch 1, place 5, \(3,7,2\): {value - 2.5:g} and {value:g}",
        done.stdout), done.stdout
    assert "different: 20 samples in 3 batches" in done.stdout
    assert "near enough" in leat("compare", TEXT, tmp_path / "out", "--max", "2.5").stdout
    assert "different" in leat("compare", TEXT, tmp_path / "out", "--max", "2.4", code=1).stdout
    assert "equal: 8 samples in 1 batch" in leat("compare", TEXT, tmp_path / "out", "--batches", 1).stdout
    assert "equal" in leat("compare", TEXT, tmp_path / "out", "--field", "label").stdout


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", "?"])
def test_every_type(leat, tmp_path, dtype):
    for name, add in (("a", 0), ("b", 1)):
        (tmp_path / name).mkdir()
        values = numpy.zeros((4, 3), dtype)
        values[2, 1] = add
        numpy.save(tmp_path / name / "0_x.npy", values)
    leat("compare", tmp_path / "a", tmp_path / "a")
    done = leat("compare", tmp_path / "a", tmp_path / "b", code=1)
    assert "1 of 12 values differ, mean 0.0833, largest 1 at batch 0, place 2, (1): 0 and 1" in done.stdout


def test_special_values(leat, tmp_path):
    def write(name, values):
        (tmp_path / name).mkdir(exist_ok=True)
        numpy.save(tmp_path / name / "000000_x.npy", values)

    nan, inf = numpy.nan, numpy.inf
    write("a", numpy.array([nan, inf, -inf, 0.0, 1]))
    write("b", numpy.array([nan, inf, -inf, -0.0, 1]))
    leat("compare", tmp_path / "a", tmp_path / "b")
    write("b", numpy.array([nan, inf, -inf, -0.0, nan]))
    assert "largest inf at batch 0, place 4: 1 and nan" in leat("compare", tmp_path / "a", tmp_path / "b", code=1).stdout
    write("a", numpy.array([2**63 - 1, 5], "u8"))
    write("b", numpy.array([2**63, 5], "u8"))
    assert "1 of 2 values differ, mean 0.5, largest 1" in leat("compare", tmp_path / "a", tmp_path / "b", code=1).stdout


@pytest.mark.parametrize("b, message", [
    ("synth 20 8 9 | batch 8", "(8, 8, 8, 3) in A and (8, 8, 9, 3) in B"),
    ("synth 20 8 8 | batch 4", "(8, 8, 8, 3) in A and (4, 8, 8, 3) in B"),
    ("synth 8 8 8 | batch 8", "B ends after 1 batches, A goes on"),
    ("synth 20 8 8 | select image | batch 8", "field label is in A only"),
    ("synth 20 8 8 | random_flop | batch 8", "B: column 16: unknown operation 'random_flop'"),
])
def test_what_cannot_be_compared(leat, b, message):
    assert message in leat("compare", "synth 20 8 8 | batch 8", b, code=2 if "unknown" in message else 1).stderr


def test_mistakes(leat, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "holds no file such as 000000_image.npy" in leat("compare", "empty", TEXT, code=1).stderr
    assert "two things are compared, 1" in leat("compare", TEXT, code=2).stderr
    assert "no field 'imgae'" in leat("compare", TEXT, TEXT, "--field", "imgae", code=1).stderr
    (tmp_path / "bad").mkdir()
    for content, message in ((b"not npy", "no .npy file"), (b"", "no .npy file")):
        (tmp_path / "bad" / "000000_image.npy").write_bytes(content)
        assert message in leat("compare", "bad", TEXT, code=1).stderr
    numpy.save(tmp_path / "bad" / "000000_image.npy", numpy.zeros((4, 4)))
    whole = (tmp_path / "bad" / "000000_image.npy").read_bytes()
    (tmp_path / "bad" / "000000_image.npy").write_bytes(whole[:-1])
    assert "127 bytes of values, its shape needs 128" in leat("compare", "bad", TEXT, code=1).stderr
    numpy.save(tmp_path / "bad" / "000000_image.npy", numpy.asfortranarray(numpy.zeros((4, 4))))
    assert "ascontiguousarray" in leat("compare", "bad", TEXT, code=1).stderr
