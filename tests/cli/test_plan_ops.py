# SPDX-License-Identifier: Apache-2.0
"""leat plan and leat ops."""
import json
import re

KINDS = ["source", "order", "sample", "image", "batch"]
TYPES = {"int", "number", "bool", "word", "text", "field", "dtype", "texts", "ints"}


def test_plan(leat, pictures):
    out = leat("plan", f"folder {pictures} | shuffle | decode | resize 224 224 | normalize imagenet layout=nchw | batch 8",
               "--threads", 3, "--seed", 42, "--on-error", "skip").stdout
    assert re.search(r"^source +folder .*: 23 images in 3 classes$", out, re.M)
    assert re.search(r"^order +shuffle of all .*, seed 42; 23 samples an epoch$", out, re.M)
    assert "decode, resize, normalize" in out and "channels first" in out
    assert re.search(r"^sample +image f32 \(3, 224, 224\)\n +label i64 \(\)$", out, re.M)
    assert re.search(r"^batch +8 samples, ", out, re.M)
    assert re.search(r"^memory .*budget", out, re.M)
    assert re.search(r"^work +3 threads", out, re.M)
    assert re.search(r"^seed +42, bad samples: skip$", out, re.M)


def test_plan_depends_on_the_processor_only_where_it_says_so(leat):
    one = leat("plan", "synth 9 8 8 | batch 2", "-t", 2, "-m", "1GB", env={"LEAT_CPU_MASK": "0"}).stdout
    assert "plain C kernels" in one
    assert one == leat("plan", "synth 9 8 8 | batch 2", "-t", 2, "-m", "1GB").stdout.replace("AVX2", "plain C")


def test_plan_names_an_operation_as_often_as_it_is_written(leat):
    out = leat("plan", "synth 9 8 8 | random_flip_left_right | random_flip_left_right | batch 2").stdout
    assert "one pass: random_flip_left_right, random_flip_left_right\n" in out
    out = leat("plan", "synth 9 8 8 | random_resized_crop 4 | batch 2").stdout  # a crop and a resize of one operation
    assert "one pass: random_resized_crop\n" in out


def test_plan_of_nothing(leat):
    assert leat("plan", code=2).stderr
    assert leat("plan", "folder nowhere", code=1).stderr
    assert "Example:" in leat("plan", "--help").stdout


def test_ops_json(leat):
    ops = json.loads(leat("ops", "--json").stdout)
    names = [op["name"] for op in ops]
    assert len(set(names)) == len(names)
    assert {"folder", "tfrecord", "arrays", "synth", "shuffle", "repeat", "take", "skip", "shard", "parse", "decode_raw",
            "reshape", "cast", "decode", "resize", "random_flip_left_right", "random_flip_up_down", "random_brightness",
            "normalize", "batch", "prefetch"} <= set(names)
    for op in ops:
        assert set(op) == {"name", "kind", "help", "like", "random", "args"}
        assert op["kind"] in KINDS and op["help"].endswith(".") and isinstance(op["random"], bool)
        for arg in op["args"]:
            assert set(arg) == {"name", "type", "default", "words", "min", "max", "named", "also", "help"}
            assert arg["type"] in TYPES and arg["help"] and isinstance(arg["named"], bool)
            assert (arg["words"] is not None) == (arg["type"] == "word")
            if arg["words"] and arg["default"]:
                assert arg["default"] in arg["words"]
    assert json.loads(leat("ops", "resize", "--json").stdout) == [op for op in ops if op["name"] == "resize"]


def test_ops_table(leat):
    out = leat("ops").stdout
    for op in json.loads(leat("ops", "--json").stdout):
        found = re.search(rf"^  {op['name']}\b(.*)\n((?: {{6,}}.*\n)+)", out, re.M)
        assert found, op["name"]
        signature = found[1] + found[2]
        for arg in op["args"]:
            assert arg["name"] in signature or arg["name"].upper() in signature
            if arg["default"]:
                assert f"[{arg['name']}={arg['default']}]" in signature
        assert op["help"] in re.sub(r"\s+", " ", found[2])
    assert all(len(line) <= 100 for line in out.splitlines())
    heads = [line.split(":")[0] for line in out.splitlines() if re.match(r"[A-Z]\w+\b.*:|Batches", line)]
    assert heads[:4] == ["Sources", "Order", "Fields", "Images"]


def test_ops_of_one(leat):
    for op in json.loads(leat("ops", "--json").stdout):
        out = leat("ops", op["name"]).stdout
        assert out.startswith(op["name"]) and op["like"] in out
        for arg in op["args"]:
            line = re.search(rf"^  {arg['name']}\b(.*(?:\n {{18}}.*)*)", out, re.M)
            assert line, f"{op['name']}: {arg['name']}"
            words = " ".join(line[1].split())
            assert (arg["default"] is not None) == ("must be given" not in words)
            assert arg["named"] == ("only as" in words)


def test_ops_that_do_not_exist(leat):
    assert "did you mean 'resize'?" in leat("ops", "resise", code=2).stderr
    assert "there is no operation 'zzzzzz': 'leat ops' lists them" in leat("ops", "zzzzzz", code=2).stderr
    assert leat("ops", "a", "b", code=2).stderr


def test_names_of_other_libraries_are_known(leat):
    for text, words in (
            ("synth | RandomHorizontalFlip", "unknown operation 'RandomHorizontalFlip': leat calls it 'random_flip_left_right'"),
            ("synth | rotation_range 20", "leat has it as an argument, 'image_data_generator rotation=...'"),
            ("synth | Rescaling 1/255", "leat calls it 'rescale'"),
            ("synth | cast flot32", "column 14: cast: dtype must be a type such as u8, f32 or i64, not 'flot32'; did you mean 'float32'?"),
            ("synth | cast image flot32", "column 20: cast: dtype must be"),
            ("synth | cast field=image", "cast needs dtype")):
        assert words in leat("plan", text, code=2).stderr


def test_arguments_have_the_names_of_other_libraries_too(leat):
    for own, theirs in (
            ("batch 32 drop_remainder=true", "batch batch_size=32 drop_remainder=true"), ("batch 32 true", "batch size=32 drop_remainder=true"),
            ("shuffle seed=3 | batch 4", "shuffle buffer_size=10 seed=3 | batch 4"),
            ("image_data_generator rotation=20 zoom=0.2 | batch 4", "image_data_generator rotation_range=20 zoom_range=0.2 | batch 4"),
            ("one_hot classes=12 | batch 4", "one_hot depth=12 | batch 4"), ("batch 4 | prefetch auto", "batch 4 | prefetch -1")):
        found = [leat("run", f"synth 100 8 8 | {text}", "--sink", "digest").stdout for text in (own, theirs)]
        assert found[0] == found[1], own
    assert "also called batch_size)" in " ".join(leat("ops", "batch").stdout.split())
