# SPDX-License-Identifier: Apache-2.0
"""What the real libraries made of small pictures (tests/golden/*.npz, written by tests/golden/make), made by leat.

Every case also runs with fuse=off in plain C, and among other operations with several threads in plain C, and with fuse=off: equal
bytes.
"""
import json
import os
import re
import subprocess
from pathlib import Path

import numpy
import pytest

import tfrecord

ROOT = Path(__file__).resolve().parents[2]
LEAT = os.environ.get("LEAT", str(ROOT / "build/release/cli/leat"))
# Proven elsewhere, against the real libraries too.
PROVEN = {
    "decode": "tests/unit/test_decode.c", "resize": "tests/unit/test_golden_resize.c",
    "resize_to_bucket": "tests/cli/test_bucket.py",  # the same as resize
    "random_apply": "tests/unit/test_chance.c", "random_choice": "tests/unit/test_chance.c",  # of other operations
}
TYPES = {"uint8": "u8", "uint16": "u16", "float32": "f32"}


def load():
    for path in sorted((ROOT / "tests/golden").glob("*.npz")):
        arrays = numpy.load(path)
        for case in json.loads(str(arrays["cases"])):
            case["text"] = case["text"].replace("GOLDEN/", f"{ROOT}/tests/golden/")  # files beside the cases
            yield f"{path.stem}-{case['name']}", case, arrays[case["name"] + ".in"], arrays[case["name"] + ".out"]


CASES = list(load())
# Each case starts the command anew, which takes long with a sanitizer: then it has every third of them.
RUN = CASES[::3] if re.search("asan|tsan", LEAT) else CASES


def source(folder: Path, pictures: list) -> str:
    """A file of raw pictures, and the text that reads them."""
    shape = " ".join(map(str, pictures[0].shape))
    records = [tfrecord.record(tfrecord.example({"image": p.tobytes()})) for p in pictures]
    (folder / "raw.tfrecord").write_bytes(b"".join(records))
    return (f"tfrecord {folder}/raw.tfrecord | parse image:bytes | decode_raw image {TYPES[pictures[0].dtype.name]} "
            f"| reshape image {shape}")


def run(text: str, *words: str, mask: str | None = None) -> str:
    env = {**os.environ, "XDG_CACHE_HOME": "/nonexistent", **({"LEAT_CPU_MASK": mask} if mask else {})}
    done = subprocess.run([LEAT, "run", text, *words], capture_output=True, text=True, timeout=60, env=env)
    assert done.returncode == 0, f"{text}\n{done.stderr}"
    return done.stdout


def picture(folder: Path):
    return numpy.load(sorted(folder.glob("*image*.npy"))[0])[0]


@pytest.mark.parametrize("case, given, expected", [c[1:] for c in RUN], ids=[c[0] for c in RUN])
def test_case(case, given, expected, tmp_path):
    text = f"{source(tmp_path, [given])} | {case['text']} | batch 1"
    run(text, "--sink", f"npy:{tmp_path}/out", "--threads", "1")
    made = picture(tmp_path / "out")
    assert made.shape == expected.shape and made.dtype == expected.dtype, (made.shape, made.dtype, expected.dtype)
    if case["max"] == 0:
        bits = f"u{made.dtype.itemsize}"
        differ = int((made.view(bits) != expected.view(bits)).sum())
        assert differ == 0, f"{differ} of {made.size} values differ from {case['library']}: {case['text']}"
    else:
        away = numpy.abs(made.astype("f8") - expected.astype("f8"))
        assert away.max() <= case["max"] and (not case["mean"] or away.mean() <= case["mean"]), (
            f"up to {away.max():.3g}, mean {away.mean():.3g} away from {case['library']}: {case['text']}")
    run(text + " | options fuse=off", "--sink", f"npy:{tmp_path}/plain", mask="0")
    assert picture(tmp_path / "plain").tobytes() == made.tobytes(), "fusing or a vector kernel changes the result"


@pytest.mark.parametrize("case, given", [c[1:3] for c in RUN], ids=[c[0] for c in RUN])
def test_among_others(case, given, tmp_path):
    """In the middle of a pipeline, with flips and point operations around it."""
    before = " | random_flip_left_right" if given.dtype.name != "uint16" else ""
    after = (" | random_flip_up_down | random_brightness 0.3 | cast image f32 scale=0.5 offset=1"
             if given.dtype.name != "uint16" and "f16" not in case["text"] else "")
    text = f"{source(tmp_path, [numpy.roll(given, k, 0) for k in range(9)])}{before} | {case['text']}{after} | batch 4"
    digest = run(text, "--sink", "digest", "--epochs", "2", "--threads", "1").splitlines()[-1]
    assert run(text, "--sink", "digest", "--epochs", "2", "--threads", "3", mask="0").splitlines()[-1] == digest
    unfused = run(text + " | options fuse=off", "--sink", "digest", "--epochs", "2", "--threads", "2")
    assert unfused.splitlines()[-1] == digest, "fusing changes the result"


def test_every_image_operation_has_a_case():
    ops = json.loads(subprocess.run([LEAT, "ops", "--json"], capture_output=True, text=True).stdout)
    tried = {word.split()[0] for _, case, *_ in CASES for word in case["text"].split("|") if word.split()}
    for op in ops:
        if op["kind"] == "image":
            assert op["name"] in tried or op["name"] in PROVEN, f"{op['name']}: no case in tests/golden/make"
