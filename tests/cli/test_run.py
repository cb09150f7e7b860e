# SPDX-License-Identifier: Apache-2.0
"""leat run: the same bytes however they are made, sinks, state, and what bad input leads to."""
import json
import os
import re
import signal
import subprocess
import tempfile
from pathlib import Path

import numpy
import pytest
from PIL import Image

from conftest import paint
import tfrecord

AUGMENT = "random_flip_left_right | random_flip_up_down | random_brightness 0.2"
EPOCHS = 2


@pytest.fixture
def specs(pictures, records):
    raw = [{"image": paint(16, 12, i).tobytes(), "label": i % 5, "x": [i / 7, -i / 3], "ids": list(range(i % 4))} for i in range(41)]
    records("raw-0.tfrecord", raw[:20])
    records("raw-1.tfrecord", raw[20:])
    packed = records("raw.tfrecord.gz", raw, "gzip")
    parse = "parse image:bytes label:int64 x:float[2] ids:int64[*8] | decode_raw image u8 | reshape image 16 12 3"
    return {
        "folder": f"folder {pictures} | shuffle seed=3 | decode | resize 24 20 | {AUGMENT} | normalize imagenet layout=nchw | batch 5",
        "pil": f"folder {pictures} | shuffle | decode | resize 16 16 flavour=pil | {AUGMENT} | batch 4 drop_remainder=true",
        "records": f"tfrecord {pictures.parent}/raw-*.tfrecord | shuffle | {parse} | cast image f32 scale=1/255 | {AUGMENT} | batch 7",
        "stream": f"tfrecord {packed} | shuffle 16 | {parse} | {AUGMENT} | batch 6",
        "synth": f"synth 50 20 20 | skip 3 | shard 1/2 | repeat 3 | cast f32 layout=nchw | {AUGMENT} | batch 8",
    }


NAMES = ["folder", "pil", "records", "stream", "synth"]


def digest(done) -> str:
    last = done.stdout.splitlines()[-1]
    assert re.fullmatch(r"digest [0-9a-f]{32}", last)
    return last


# --------------------------------------------------------------------------------------- the same bytes


@pytest.mark.parametrize("name", NAMES)
def test_digest_does_not_depend_on_threads(leat, specs, name):
    run = lambda *words: digest(leat("run", specs[name], "-e", EPOCHS, "--sink", "digest", *words))
    one = run("--threads", 1)
    assert run("--synchronous") == one
    for threads in (2, 3, 8):
        assert run("--threads", threads) == one
    assert run("--slots", 2, "--threads", 3) == one
    assert run("--no-side-files") == one
    assert run("--seed", 1) != one


@pytest.mark.parametrize("name", NAMES)
def test_digest_does_not_depend_on_prefetch(leat, specs, name):
    run = lambda text: digest(leat("run", text, "-e", EPOCHS, "--sink", "digest"))
    one = run(specs[name])
    for count in (1, 2, 3, 4, "auto"):
        assert run(f"{specs[name]} | prefetch {count}") == one
    assert run(f"{specs[name]} | options fuse=off") == one


MASKS = [{"LEAT_CPU_MASK": str(mask)} for mask in (0, 1, 2, 3, 5, 7)] + [
    {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX2_Usable,-AVX512F,-AVX_Fast_Unaligned_Load,-ERMS,-FSRM,-SSSE3,-SSE4_1,-SSE4_2,-FMA,-BMI2"},
    {"JSIMD_FORCENONE": "1"},
    {"LEAT_CPU_MASK": "0", "JSIMD_FORCENONE": "1", "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX2_Usable,-SSE4_2"},
]


@pytest.mark.parametrize("name", NAMES)
def test_digest_does_not_depend_on_the_processor(leat, specs, name):
    run = lambda env: digest(leat("run", specs[name], "-e", EPOCHS, "--sink", "digest", env=env))
    one = run({})
    for env in MASKS:
        assert run(env) == one, env


@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_bad_samples_are_left_out_the_same_way(leat, damaged, policy):
    spec = f"folder {damaged} | shuffle | decode | resize 8 8 | batch 4"
    seen = set()
    for threads in (1, 2, 8):
        done = leat("run", spec, "-e", 3, "--sink", "digest", "--on-error", policy, "--threads", threads)
        report = done.stderr[done.stderr.index("bad samples:"):]
        seen.add(digest(done) + report)
    assert len(seen) == 1


# ------------------------------------------------------------------------------------------------ sinks


def test_ids(leat):
    out = leat("run", "synth 10 4 4 | batch 4", "-e", 2, "--sink", "ids").stdout
    assert out == "0 0: 0 1 2 3\n0 1: 4 5 6 7\n0 2: 8 9\n1 0: 0 1 2 3\n1 1: 4 5 6 7\n1 2: 8 9\n"


def test_batches_and_the_report(leat):
    done = leat("run", "synth 10 4 4 | batch 4", "-n", 2, "--sink", "ids")
    assert done.stdout.count("\n") == 2
    assert re.search(r"^8 samples in 2 batches, .*: [\d,.]+ images/s$", done.stderr, re.M)
    assert leat("run", "synth 10 4 4 | batch 4", "-q").stderr == ""


def test_counters_as_json(leat):
    done = json.loads(leat("run", "synth 50 8 8 | batch 4", "--json", "--quiet").stdout)
    assert done["samples"] == done["counters"]["samples_made"] == 50 and done["batches"] == 13
    assert done["counters"]["slots_full_s"] >= 0 and done["counters"]["latency"]["max_s"] <= done["wall_s"]
    said = json.loads(leat("run", "synth 50 8 8 | batch 4", "--json", "--tune", "threads=3 slots=5", "--quiet").stdout)
    assert said["counters"]["tuning"] == "threads=3 slots=5 read_ahead=0" and said["counters"]["slots_max"] == 5
    assert (leat("run", "synth 50 8 8 | batch 4", "--sink", "digest", "--threads", "auto", "--slots", "auto").stdout
            == leat("run", "synth 50 8 8 | batch 4", "--sink", "digest", "--tune", "threads=3 slots=2").stdout)
    assert "--sink null" in leat("run", "synth 50 8 8 | batch 4", "--json", "--sink", "digest", code=2).stderr


def test_null_prints_nothing_on_stdout(leat):
    assert leat("run", "synth 10 4 4 | batch 4").stdout == ""


def test_npy(leat, tmp_path):
    pixels = [paint(6, 5, i) for i in range(5)]
    (tmp_path / "png").mkdir()
    for i, image in enumerate(pixels):
        Image.fromarray(image).save(tmp_path / f"png/{i}.png")
    leat("run", "folder png | decode | batch 2", "-e", 2, "--sink", "npy:out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [f"{i:06}_image.npy" for i in range(6)]
    for i in range(6):
        image = numpy.load(tmp_path / f"out/{i:06}_image.npy")
        assert image.dtype == "uint8" and image.flags.c_contiguous
        numpy.testing.assert_array_equal(image, pixels[i % 3 * 2:i % 3 * 2 + 2])


def test_npy_of_every_kind(leat, tmp_path, records):
    examples = [{"a/b": [1.5, -2.5], "n": i, "ids": list(range(i)), "text": b"x" * i} for i in range(5)]
    path = records("a.tfrecord", examples)
    leat("run", f"tfrecord {path} | parse a/b:float[2] n:int64 ids:int64[*9] text:bytes | cast n i16 | batch 3", "--sink", "npy:out")
    load = lambda name: numpy.load(tmp_path / f"out/{name}.npy")
    assert load("000000_a_b").shape == (3, 2) and load("000000_a_b").dtype == "<f4"
    assert load("000001_n").tolist() == [3, 4] and load("000001_n").dtype == "<i2"
    assert load("000001_ids_offsets").tolist() == [0, 3, 7] and load("000001_ids").tolist() == [0, 1, 2, 0, 1, 2, 3]
    assert load("000000_text_offsets").tolist() == [0, 0, 1, 3] and load("000000_text").tobytes() == b"xxx"


def test_sinks_that_cannot_be_written(leat, tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot be made" in leat("run", "synth 4 4 4", "--sink", "npy:file/x", code=1).stderr
    assert "--sink must be" in leat("run", "synth 4 4 4", "--sink", "tape", code=2).stderr


def test_a_full_disk(command, environment):
    with open("/dev/full", "w") as full:
        done = subprocess.run([command, "run", "synth 4 4 4", "--sink", "digest"], stdout=full, stderr=subprocess.PIPE, text=True,
                              env=environment)
    assert done.returncode == 1 and "stdout cannot be written" in done.stderr


# ------------------------------------------------------------------------------------------------ state


@pytest.mark.parametrize("name", NAMES)
def test_a_run_in_pieces_is_the_whole_run(leat, specs, name, tmp_path):
    whole = leat("run", specs[name], "-e", EPOCHS, "--sink", "ids").stdout.splitlines()
    pieces = []
    for piece in range(100):
        out = leat("run", specs[name], "-e", EPOCHS, "--sink", "ids", "--state", "s", "-n", 1 + piece % 3, "--threads", 1 + piece % 2).stdout
        pieces += out.splitlines()
        if not out:
            break
    assert pieces == whole


@pytest.mark.parametrize("name", NAMES)
def test_the_tail_is_equal_byte_for_byte(leat, specs, name, tmp_path):
    leat("run", specs[name], "-e", EPOCHS, "--sink", "npy:whole")
    batches = lambda folder: sorted({path.name.split("_")[0] for path in (tmp_path / folder).iterdir()})
    whole = batches("whole")
    for at in range(1, len(whole), 3):
        leat("run", specs[name], "-e", EPOCHS, "--state", f"state{at}", "-n", at)
        leat("run", specs[name], "-e", EPOCHS, "--state", f"state{at}", "--sink", f"npy:tail{at}", "-n", 2)
        tail = batches(f"tail{at}")
        assert len(tail) == min(2, len(whole) - at)
        for was, now in zip(whole[at:], tail):
            files = sorted((tmp_path / "whole").glob(f"{was}_*"))
            assert len(files) >= 2
            for path in files:
                other = tmp_path / f"tail{at}" / path.name.replace(was, now)
                assert path.read_bytes() == other.read_bytes(), path


def start(command, environment, tmp_path, *words):
    process = subprocess.Popen([command, *map(str, words)], stdout=open(tmp_path / "out.txt", "w"), stderr=subprocess.PIPE,
                               text=True, env=environment, cwd=tmp_path, stdin=subprocess.DEVNULL)
    assert "pictures" in process.stderr.readline()  # it is open and listens to signals
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stop_and_go_on(leat, command, environment, tmp_path, number):
    spec = "synth 60 24 24 | shuffle | batch 7"
    process = start(command, environment, tmp_path, "run", spec, "-e", -1, "--sink", "ids", "--state", "s", "--threads", 2)
    try:
        process.send_signal(number)
        assert process.wait(60) == 130
    finally:
        process.kill()
        process.wait()
    assert re.search(r"stopped after [\d,]+ batches; the position is in s", process.stderr.read())
    first = (tmp_path / "out.txt").read_text().splitlines()
    then = leat("run", spec, "-e", -1, "--sink", "ids", "--state", "s", "-n", 20).stdout.splitlines()
    assert first + then == leat("run", spec, "-e", -1, "--sink", "ids", "-n", len(first) + 20).stdout.splitlines()
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("verb", ["run", "bench"])
def test_one_signal_ends_a_long_wait(leat, command, environment, tmp_path, verb):
    """The first batch takes a minute and more: the command does not wait for it."""
    words = ["-e", -1] if verb == "run" else []
    process = subprocess.Popen([command, verb, "synth 4096 1500 1500 | gaussian_blur 31 9 | resize 8 8 | batch 2048", "-t", "1",
                                *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment,
                               cwd=tmp_path, stdin=subprocess.DEVNULL)
    try:
        assert "pictures" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    finally:
        process.kill()
        process.wait()


def test_a_kill_leaves_the_old_state(leat, command, environment, tmp_path):
    spec = "synth 60 24 24 | shuffle | batch 7"
    leat("run", spec, "-e", -1, "-n", 5, "--state", "s")
    before = (tmp_path / "s").read_bytes()
    process = start(command, environment, tmp_path, "run", spec, "-e", -1, "--state", "s")
    process.kill()
    process.wait()
    assert (tmp_path / "s").read_bytes() == before
    assert leat("run", spec, "-e", -1, "-n", 1, "--sink", "ids", "--state", "s").stdout.startswith("0 5:")


def test_states_that_do_not_fit(leat, tmp_path, pictures):
    spec = f"folder {pictures} | decode | resize 8 8 | batch 4"
    leat("run", spec, "--state", "s", "-n", 1)
    saved = (tmp_path / "s").read_bytes()
    assert len(saved) < 1024
    assert "seed" in leat("run", spec, "--state", "s", "--seed", 5, code=1).stderr
    assert "another pipeline" in leat("run", spec.replace("8 8", "8 9"), "--state", "s", code=1).stderr
    Image.fromarray(paint(9, 9, 9)).save(pictures / "ant/new.png")
    assert "other data" in leat("run", spec, "--state", "s", code=1).stderr
    assert (tmp_path / "s").read_bytes() == saved
    (tmp_path / "junk").write_text("no state\n")
    assert "not the state of a pipeline" in leat("run", spec, "--state", "junk", code=1).stderr
    assert (tmp_path / "junk").read_text() == "no state\n"
    assert "cannot be written" in leat("run", spec, "--state", "nowhere/s", code=1).stderr


@pytest.mark.parametrize("order", ["", "shuffle | ", "repeat | shuffle 10 | "])
def test_an_endless_run_of_bad_samples_ends(leat, tmp_path, order):
    (tmp_path / "texts").mkdir()
    for name in "abc":
        (tmp_path / "texts" / f"{name}.jpg").write_text("a text")
    spec = f"folder {tmp_path / 'texts'} labels=none | {order}decode | resize 8 8 | batch 2 | options on_error=skip"
    said = leat("run", spec, "-e", -1, code=1).stderr
    assert re.search(r"\d samples in a row were bad, more than the data set has: .*[abc]\.jpg: decode: .*'leat check' finds", said)


def test_the_end_is_said(leat):
    leat("run", "synth 8 4 4 | batch 4", "--state", "s")
    assert "nothing is left" in leat("run", "synth 8 4 4 | batch 4", "--state", "s").stderr
    assert leat("run", "synth 8 4 4 | batch 4", "--state", "s", "-e", 2, "--sink", "ids").stdout == "1 0: 0 1 2 3\n1 1: 4 5 6 7\n"


# -------------------------------------------------------------------------------------------- bad input


@pytest.fixture
def damaged(tmp_path) -> Path:
    folder = tmp_path / "damaged"
    for number in range(24):
        (folder / "ab"[number % 2]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(paint(20, 24, number)).save(folder / "ab"[number % 2] / f"{number:02}.jpg")
    cut = folder / "a/04.jpg"
    cut.write_bytes(cut.read_bytes()[:-300])
    (folder / "b/07.jpg").write_bytes(b"this is no picture")
    (folder / "b/09.jpg").write_bytes(b"")
    return folder


def complaint(done) -> str:
    """The one line that says what is wrong."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("leat")]
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_unknown_verb(leat):
    assert "there is no verb 'frobnicate'" in leat("frobnicate", code=2).stderr


def test_the_command_line(leat):
    assert "put it in quotes" in leat("run", "synth", "batch", code=2).stderr
    assert "is missing" in leat("run", code=2).stderr
    assert "no option" in leat("run", "synth", "--foo", code=2).stderr
    assert "--on-error must be" in leat("run", "synth", "--on-error", "cry", code=2).stderr
    assert "is called --tune off" in leat("run", "synth", "--no-tune", code=2).stderr
    assert "tune must be auto, off" in leat("run", "synth 4 4 4 | batch 2", "--tune", "slots=1", code=1).stderr
    assert "must be a whole number" in leat("run", "synth", "--epochs", "auto", code=2).stderr
    assert "Example:" in leat("run", "--help").stdout


@pytest.mark.parametrize("verb", ["run", "bench", "plan"])
@pytest.mark.parametrize("text, column, words", [
    ("synth 4 | shufle", 11, "unknown operation 'shufle'; did you mean 'shuffle'?"),
    ("synth 4 | batch", 11, "size"),
    ("synth 4 4 4 | cast image f33", 26, "f33"),
    ("synth 4 4 4 | batch 2 | decode", 25, "write it before batch"),
    ("shuffle | synth", 1, "begins with a source"),
])
def test_mistakes_in_the_text(leat, verb, text, column, words):
    done = leat(verb, text, code=2)
    assert words in complaint(done)
    lines = done.stderr.splitlines()
    assert lines[1] == "  " + text and lines[2] == " " * (column + 1) + "^"


def test_missing_and_empty(leat, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other/a.txt").write_text("x")
    assert "nowhere" in complaint(leat("run", "folder nowhere | decode | batch 2", code=1))
    line = complaint(leat("run", "folder empty | decode | batch 2", code=1))
    assert "folder empty has no images" in line and ".jpg" in line
    assert "1 other files seen" in complaint(leat("run", "folder other | decode | batch 2", code=1))
    assert "no file matches x-*.tfrecord" in complaint(leat("run", "tfrecord x-*.tfrecord | batch 2", code=1))
    assert "gone.tfrecord" in complaint(leat("run", "tfrecord gone.tfrecord | batch 2", code=1))


def test_an_unreadable_file(command):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        for i in range(3):
            Image.fromarray(paint(8, 8, i)).save(folder / f"{i}.png")
            (folder / f"{i}.png").chmod(0o644)
        (folder / "1.png").chmod(0)
        user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        try:
            run = lambda *words: subprocess.run([command, "run", f"folder {folder} | decode | batch 2", "--no-side-files", *words],
                                                capture_output=True, text=True, cwd="/", timeout=120, **user)
            done = run()
        except OSError:
            pytest.skip("the command cannot be run as another user")
        assert done.returncode == 1 and "1.png" in complaint(done) and "Permission denied" in complaint(done)
        done = run("--on-error", "skip", "--sink", "ids")
        assert done.returncode == 0 and done.stdout == "0 0: 0\n0 1: 2\n" and "1 bad sample:" in done.stderr


def test_images_that_do_not_decode(leat, damaged):
    spec = f"folder {damaged} | decode | resize 8 8 | batch 5"
    line = complaint(leat("run", spec, code=1))
    assert "a/04.jpg" in line and "decode" in line and "truncated" in line and "--on-error skip" in line
    done = leat("run", spec, "--on-error", "skip", "--sink", "ids")
    assert [len(line.split(":")[1].split()) for line in done.stdout.splitlines()] == [4, 5, 5, 3, 4]
    assert re.search(r"^3 bad samples:\n  a/04.jpg: decode: .*\n  b/07.jpg: decode: .*\n  b/09.jpg: decode: .*empty", done.stderr, re.M)
    done = leat("run", spec, "--on-error", "replace", "--sink", "ids")
    assert [len(line.split(":")[1].split()) for line in done.stdout.splitlines()] == [5, 5, 5, 5, 4]
    assert "3 bad samples:" in done.stderr
    done = leat("run", f"{spec} | options on_error=skip", "-e", 5)
    assert "15 bad samples:" in done.stderr and done.stderr.rstrip().endswith("and 5 more")


def test_the_error_comes_when_its_batch_is_due(leat, damaged):
    done = leat("run", f"folder {damaged} | decode | resize 8 8 | batch 2", "--sink", "ids", code=1)
    assert done.stdout == "0 0: 0 1\n"


def test_a_run_that_failed_goes_on_without_the_bad_sample(leat, damaged):
    spec = f"folder {damaged} | decode | resize 8 8 | batch 2"
    whole = leat("run", spec, "--on-error", "skip", "--sink", "ids").stdout
    before = leat("run", spec, "--sink", "ids", "--state", "s", code=1).stdout
    after = leat("run", spec, "--on-error", "skip", "--sink", "ids", "--state", "s").stdout
    assert before and after and before + after == whole


@pytest.fixture
def rows() -> list[bytes]:
    return [tfrecord.record(tfrecord.example({"image": bytes(range(12)), "label": i})) for i in range(6)]


@pytest.mark.parametrize("what, words", [
    ("truncated", "record 5 at byte {last} is cut off"),
    ("data", "record 1 at byte {first}: the checksum of its .* bytes is wrong"),
    ("length", "record 1 at byte {first}: the checksum of its length is wrong"),
])
def test_damaged_records(leat, tmp_path, rows, what, words):
    data = bytearray(b"".join(rows))
    if what == "truncated":
        data = data[:-10]
    else:
        data[len(rows[0]) + (20 if what == "data" else 1)] ^= 1
    (tmp_path / "bad.tfrecord").write_bytes(data)
    words = words.format(first=len(rows[0]), last=len(rows[0]) * 5)
    spec = "tfrecord bad.tfrecord | parse label:int64 | batch 2"
    line = complaint(leat("run", spec, code=1))
    assert re.search("bad.tfrecord: " + words, line)
    for policy, n in (("skip", 5), ("replace", 6)):
        done = leat("run", spec, "--on-error", policy, "--sink", "ids")
        assert sum(len(line.split()) - 2 for line in done.stdout.splitlines()) == n
        assert re.search(r"1 bad sample:\n  bad.tfrecord: " + words, done.stderr)


def test_a_damaged_stream(leat, tmp_path, rows):
    data = tfrecord.compress(b"".join(rows), "gzip")
    (tmp_path / "bad.tfrecord.gz").write_bytes(data[:-20])
    spec = "tfrecord bad.tfrecord.gz | parse label:int64 | batch 2"
    assert "bad.tfrecord.gz" in complaint(leat("run", spec, code=1))
    assert "bad.tfrecord.gz" in leat("run", spec, "--on-error", "skip").stderr


def test_no_tfrecord_at_all(leat, tmp_path):
    (tmp_path / "text.tfrecord").write_text("these are words, not records\n" * 9)
    assert "text.tfrecord" in complaint(leat("run", "tfrecord text.tfrecord | batch 2", code=1))


def test_wrong_features(leat, tmp_path, rows):
    (tmp_path / "a.tfrecord").write_bytes(b"".join(rows))
    run = lambda features, code=1: leat("run", f"tfrecord a.tfrecord | parse {features} | batch 2", code=code)
    line = complaint(run("lable:int64"))
    assert "a.tfrecord: record 0 at byte 0: parse: feature lable is required" in line and "leat show" in line
    assert "feature label holds int64, not float" in complaint(run("label:float"))
    assert "feature label has 1 values, not 2" in complaint(run("label:int64[2]"))
    assert "label" in complaint(run("label:int99"))
    run("lable:int64=7", 0)


def test_images_of_different_sizes(leat, pictures):
    line = complaint(leat("run", f"folder {pictures} | decode | batch 4", code=1))
    assert "in ant/00.jpg it is 20x50x3" in line and "write resize 224 224 before batch" in line
    assert "padded_batch 4 max=image:" in line
    leat("run", f"folder {pictures} | decode | batch 4", "--on-error", "skip")


def test_one_by_one_each_has_its_own_size(leat, pictures, tmp_path):
    text = f"folder {pictures} | decode"
    done = leat("run", text)
    assert "23 samples in 23 batches" in done.stderr
    leat("run", text, "--sink", f"npy:{tmp_path}/a", "-q")
    leat("run", text + " | batch 1 | options fuse=off", "--sink", f"npy:{tmp_path}/b", "-q", "--threads", 1)
    files = sorted((tmp_path / "a").glob("*_image.npy"))
    shapes = {numpy.load(file).shape for file in files}
    assert shapes == {(1, 20 + i, 50 - i, 3) for i in range(23)}
    for file in files:
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()
    leat("run", text, "--sample", "0:7", "--sink", f"npy:{tmp_path}/c", "-q")
    (only,) = (tmp_path / "c").glob("*_image.npy")
    assert only.read_bytes() == files[7].read_bytes()
    plan = leat("plan", text).stdout
    assert "image u8 (any, any, 3)" in plan and "1 sample, with its own size, up to" in plan


def test_a_budget_that_is_too_small(leat):
    assert "--memory" in complaint(leat("run", "synth 100 64 64 | batch 32", "--memory", "1MB", code=1))


def test_colours_only_on_a_terminal(leat):
    assert "\033" not in leat("run", "synth 4 4 4").stderr + leat("ops").stdout
