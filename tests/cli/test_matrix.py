# SPDX-License-Identifier: Apache-2.0
"""The matrix: threads x prefetch x batch x source x instruction set x restart x world.

Every text has one plain run: one thread, plain C, one process. Then the same text is run in other settings, a fixed
random choice of all combinations, and each of its samples must have the same bytes at the same place of the epoch.
With several ranks their parts are put together; with restarts a run is stopped and gone on with in other settings.
"""
import io
import json
import os
import random
import re
import subprocess
import tarfile
from pathlib import Path

import numpy
import pytest

import tfrecord
from conftest import ROOT, paint
from PIL import Image

LEAT = os.environ.get("LEAT", str(ROOT / "build/release/cli/leat"))
SETTINGS = {"threads": [1, 2, 3, 8], "prefetch": ["", "prefetch 1", "prefetch 7"], "batch": [12, 24], "world": [1, 1, 2, 3, 4],
            "mask": [None, "0", "1", "3"], "stop": [None, None, 1, 2, 3]}
RUNS_OF_EACH = 12
AUGMENT = "random_flip_left_right | random_brightness 0.2 | cast f32 scale=1/255"
PARSE = "parse image:bytes label:int64 | decode_raw u8 | reshape 6 7 3"


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("matrix")
    rows, examples = [], []
    for number in range(47):
        name = ("ant", "bee", "cat")[number % 3]
        pixels = paint(20, 21, number)
        for kind, extension in (("photos", (".jpg", ".png")[number % 2]), ("masks", ".png")):
            (folder / kind / name).mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels if kind == "photos" else pixels[..., 0] // 64).save(folder / kind / name / f"{number:02}{extension}")
        rows.append(f"photos/{name}/{number:02}{('.jpg', '.png')[number % 2]},{number % 4}")
        examples.append({"image": paint(6, 7, number).tobytes(), "label": number % 5})
    (folder / "list.csv").write_text("path,label\n" + "\n".join(rows) + "\n")
    for shard, (begin, end) in enumerate(((0, 9), (9, 30), (30, 47))):
        bytes_ = b"".join(tfrecord.record(tfrecord.example(e)) for e in examples[begin:end])
        (folder / f"a-{shard}.tfrecord").write_bytes(bytes_)
        (folder / f"a-{shard}.gz").write_bytes(tfrecord.compress(bytes_, "gzip"))
    numbers = numpy.random.RandomState(1)
    (folder / "cifar.bin").write_bytes(b"".join(bytes([i % 10]) + numbers.bytes(3072) for i in range(47)))
    with tarfile.open(folder / "a.tar", "w") as tar:
        for number in range(47):
            for extension, content in (("png", (folder / "photos/bee/01.png").read_bytes()), ("cls", b"%d" % (number % 5))):
                member = tarfile.TarInfo(f"{number:03}.{extension}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    numpy.save(folder / "x.npy", numbers.randint(0, 255, (47, 6, 7, 3), "uint8"))
    numpy.save(folder / "y.npy", numpy.arange(47) % 6)
    return folder


TEXTS = {
    "synth": f"synth 47 9 8 | shuffle seed=3 | {AUGMENT}",
    "folder": f"folder photos | shuffle | decode | random_resized_crop 8 | {AUGMENT}",
    "list": f"list list.csv | shuffle 10 | decode | random_crop 7 | {AUGMENT} | one_hot label 4",
    "tfrecord": f"tfrecord a-*.tfrecord | {PARSE} | shuffle reshuffle=false | {AUGMENT}",
    "stream": f"tfrecord a-*.gz | shuffle 8 | {PARSE} | {AUGMENT}",
    "csv": "csv list.csv label:i64 path | shuffle",
    "webdataset": f"webdataset a.tar | shuffle | decode | random_resized_crop 8 | {AUGMENT}",
    "cifar": "cifar cifar.bin | random_crop 32 padding=4 | random_contrast 0.5 1.5",
    "fixed": "fixed cifar.bin bytes=3073 | shuffle | decode_raw record u8",
    "npy": f"npy image=x.npy label=y.npy | shuffle | {AUGMENT}",
    "take, skip, shard": f"synth 99 5 6 | skip 5 | shard 1/2 | shuffle | take 41 | {AUGMENT}",
    "repeat": f"npy image=x.npy label=y.npy | shuffle | repeat 2 | {AUGMENT}",
    "repeat, shuffle": f"npy image=x.npy label=y.npy | repeat | shuffle buffer_size=60 | take 200 | {AUGMENT}",
    "stream, repeat, shuffle": f"tfrecord a-*.gz | repeat | shuffle 8 | take 110 | {PARSE} | {AUGMENT}",
    "filter": f"folder photos | filter 'label != bee' | shuffle | decode | resize 6 7 | {AUGMENT}",
    "split": f"folder photos | split train seed=4 stratify=true | shuffle | decode | random_crop 7 | {AUGMENT}",
    "balance": f"tfrecord a-*.tfrecord | {PARSE} | balance | {AUGMENT}",
    "oversample": f"tfrecord a-*.tfrecord | {PARSE} | oversample | shuffle | {AUGMENT}",
    "rejection_resample": f"tfrecord a-*.tfrecord | {PARSE} | rejection_resample | {AUGMENT}",
    "rejection_resample of a stream": f"tfrecord a-*.gz | {PARSE} | rejection_resample initial=1,1,1,1,1 target=9,9,9,9,8 | {AUGMENT}",
    "enumerate, label_map": f"folder photos | enumerate | label_map 'ant=2,bee=0,cat=1' | shuffle | decode | resize 5 5 | {AUGMENT}",
    "cache": f"folder photos | shuffle | decode | resize 9 9 method=nearest | cache | {AUGMENT}",
    "frozen cache": f"folder photos | shuffle | decode | random_crop 9 | cache freeze=true kept | {AUGMENT}",
    "interleave": f"tfrecord a-*.tfrecord | interleave cycle=2 block=3 | {PARSE} | shuffle 9 | {AUGMENT}",
    "stream in turn": f"tfrecord a-*.gz | interleave cycle=2 block=3 | {PARSE} | shuffle 9 | {AUGMENT}",
    "flat_map": f"tfrecord a-*.tfrecord | flat_map | {PARSE} | {AUGMENT}",
    "concatenate": f"concatenate 'folder photos | shuffle' 'list list.csv | take 20' | decode | random_crop 7 | {AUGMENT}",
    "sample_from": f"sample_from 'synth 60 5 6 | shuffle' 'synth 9 5 6 seed=4 | repeat 3' weights=2,1 | {AUGMENT}",
    "choose_from": f"choose_from 'synth 60 5 6' 'synth 30 5 6 seed=4 | shuffle' pattern=0,1,0 | shuffle 10 | {AUGMENT}",
    "concatenate streams": f"concatenate 'tfrecord a-*.gz | shuffle 9' 'tfrecord a-*.tfrecord | take 20' | {PARSE} | {AUGMENT}",
    "sample_from streams": f"sample_from 'tfrecord a-*.gz | shuffle 8' 'tfrecord a-*.gz | interleave 2 | take 9 | repeat 2' "
                           f"weights=2,1 | shuffle 10 | {PARSE} | {AUGMENT}",
    "choose_from streams": f"choose_from 'tfrecord a-*.gz | {PARSE} | filter label!=1' 'tfrecord a-*.gz | {PARSE} | shuffle 5' "
                           f"pattern=0,1,0 stop_on_empty=false | {AUGMENT}",
    "zip streams": f"zip image='tfrecord a-*.gz | {PARSE} | shuffle 20' x='npy x=x.npy | shuffle' | {AUGMENT}",
    "zip": f"zip image='folder photos' mask='folder masks' | shuffle | decode | decode mask channels=1 | resize 8 8 | {AUGMENT} "
           "| resize 8 8 method=nearest field=mask",
    "zip by seed": "zip image='npy image=x.npy | shuffle seed=4 | random_flip_left_right seed=9 | random_crop 5 seed=2' mask='npy mask=x.npy | "
                   "cast mask f32 | shuffle seed=4 | random_flip_left_right field=mask seed=9 | random_crop 5 field=mask seed=2'",
    "mask": "zip image='folder photos' mask='folder masks' | shuffle | decode field=image,mask | mask mask | random_resized_crop 8 "
            f"| random_rotation 0.1 | {AUGMENT}",
    "warp": "synth 47 16 16 | shuffle | rand_augment | random_rotation 0.2 | random_zoom 0.3",
    "chance": "synth 47 16 16 | shuffle | random_apply 0.4 'gaussian_blur 3 sigma=0.2,2 | random_flip' | random_choice 'random_gamma 0.5 2' "
              f"'cast f32 | random_rotation 0.1 | cast u8' 'invert' weights=2,1,1 | {AUGMENT}",
    "seeds": "synth 47 16 16 | random_apply 0.4 'gaussian_blur 3 sigma=0.2,2 | random_flip seed=2' seed=8 | random_brightness 0.3 seed=-1",
    "eval": "folder photos | shuffle | decode | random_crop 9 | eval image='(image / 127.5 - mean(image / 127.5)) * uniform(0.5, 1.5)' "
            "row='stack(0, sum(cast(image, i32)), cast(label, i32), randint(0, 9, seed=3))' noise='normal(0, 1, like=image)'",
    "copy": "synth 47 16 16 | shuffle | random_crop 12 | copy image other | random_flip_left_right | random_brightness 0.3 field=other",
    "window": "npy x=x.npy y=y.npy | skip 2 | window 5 shift=1 stride=3 targets=y at=1 | shuffle | cast x f32",
    "bad samples": f"options on_error=skip | tfrecord a-*.tfrecord | {PARSE} | filter label!=1 | shuffle | {AUGMENT}",
}
# Made by programs, not by texts; tests/unit/test_state.c has them.
BY_PROGRAM = {"arrays", "source", "stream", "map"}
# What comes where depends on the batch; tests/cli/test_bucket.py has it in many settings.
BY_BATCH = {"bucket_by_aspect_ratio"}


def run(data: Path, text: str, threads: int, mask: str | None, *words) -> list[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(data / "cache")}
    environment.pop("LEAT_CPU_MASK", None)
    if mask is not None:
        environment["LEAT_CPU_MASK"] = mask
    done = subprocess.run([LEAT, "run", text, "--sink", "samples", "--epochs", "2", "--quiet", "--threads", str(threads),
                           *map(str, words)], capture_output=True, text=True, cwd=data, env=environment, timeout=120)
    assert done.returncode == 0, f"{text}\n{done.stderr}"
    return done.stdout.splitlines()


def in_setting(data: Path, text: str, number: int, setting: dict, tmp_path: Path) -> list[str]:
    """All ranks together; gone on with in other numbers of threads after a stop."""
    lines, world = [], setting["world"]
    whole = f"{text} | batch {setting['batch'] // world} {'| ' if setting['prefetch'] else ''}{setting['prefetch']}"
    for rank in range(world):
        words = ["--rank", f"{rank}/{world}"] if world > 1 else []
        if setting["stop"]:
            words += ["--state", tmp_path / f"{number}-{rank}"]
            lines += run(data, whole, setting["threads"], setting["mask"], *words, "--batches", setting["stop"])
        lines += run(data, whole, setting["threads"] % 3 + 1, setting["mask"], *words)
    return lines


def places(lines: list[str]) -> dict:
    found = {}
    for line in lines:
        place, rest = line.split(" ", 1)
        assert place not in found, f"{place} comes twice"
        found[place] = rest
    return found


@pytest.mark.parametrize("name", TEXTS)
def test_same_bytes_in_every_setting(data, name, tmp_path):
    text = TEXTS[name]
    want = places(run(data, f"{text} | batch 12", 1, "0"))
    assert len(want) > 40
    draw = random.Random(name)
    for number in range(RUNS_OF_EACH // 3 if re.search("asan|tsan", LEAT) else RUNS_OF_EACH):
        setting = {key: draw.choice(values) for key, values in SETTINGS.items()}
        got = places(in_setting(data, text, number, setting, tmp_path))
        assert got == want, f"{text}: {setting}"


def test_at_least_300_runs():
    runs = len(TEXTS)
    for name in TEXTS:
        draw = random.Random(name)
        for _ in range(RUNS_OF_EACH):
            setting = {key: draw.choice(values) for key, values in SETTINGS.items()}
            runs += setting["world"] * (2 if setting["stop"] else 1)
    assert runs >= 300


def test_every_source_and_verb_is_in_the_matrix():
    ops = json.loads(subprocess.run([LEAT, "ops", "--json"], capture_output=True, text=True, check=True).stdout)
    there = {word for text in TEXTS.values() for word in re.findall(r"(?:^|\| )(\w+)", text)}
    wanted = {op["name"] for op in ops if op["kind"] in ("source", "order")}
    assert wanted - there - BY_PROGRAM - BY_BATCH == set()
