# SPDX-License-Identifier: Apache-2.0
"""docs/determinism.md, item by item: what may not change a byte does not, and what is part of the key does."""
import gzip
import os
import shutil
import subprocess
from pathlib import Path

import numpy
import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
LEAT = os.environ.get("LEAT", ROOT / "build/release/cli/leat")
AUGMENT = "random_flip_left_right | random_brightness 0.2 | random_flip_up_down"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder of 37 pictures of several formats and sizes, one of them broken, and the sound ones as records."""
    folder = tmp_path_factory.mktemp("data")
    made = numpy.random.default_rng(1)
    for i in range(36):
        place = folder / "photos" / "abc"[i % 3]
        place.mkdir(parents=True, exist_ok=True)
        pixels = made.integers(0, 256, (30 + i, 50 - i // 2, 3), numpy.uint8)
        Image.fromarray(pixels).resize((70 + i, 60)).save(place / f"{i:02}.{('jpg', 'png', 'webp', 'bmp')[i % 4]}")
    shutil.copytree(folder / "photos", folder / "sound")
    packed = folder / "packed"
    run("pack", folder / "photos", packed, "--size", "48x40", "--raw", "--shards", "2", "--no-side-files")
    for path in packed.glob("*.tfrecord"):
        (folder / "gz").mkdir(exist_ok=True)
        (folder / "gz" / path.name).write_bytes(gzip.compress(path.read_bytes()))
    (folder / "photos/b/broken.jpg").write_bytes((folder / "photos/a/00.jpg").read_bytes()[:700])
    return folder


def run(*words, **env: str) -> str:
    done = subprocess.run([LEAT, *map(str, words)], capture_output=True, text=True, timeout=120, env={**os.environ, **env})
    assert done.returncode == 0, done.stderr
    return done.stdout


def digest(text: str, *words, **env: str) -> str:
    return run("run", text, "--sink", "digest", "--epochs", "2", "--no-side-files", "--quiet", *words, **env)


def texts(data: Path) -> dict[str, str]:
    raw = "parse image:bytes label:int64 | decode_raw u8 | reshape 48 40 3"
    return {
        "folder": f"folder '{data}/photos' | shuffle seed=7 | decode | resize 33 31 | cast f32 scale=1/255 | {AUGMENT}"
                  " | normalize mean=0.5,0.4,0.3 std=0.2 layout=nchw | batch 5 | options on_error=skip",
        "pillow": f"folder '{data}/photos' | shuffle | decode | resize 20 24 flavour=pil | {AUGMENT} | batch 4"
                  " | options on_error=replace",
        "crops": f"folder '{data}/sound' | shuffle | decode | random_resized_crop 21 19 | {AUGMENT} | random_crop 16"
                 " | batch 5",
        "planes": f"folder '{data}/sound' | shuffle | decode | random_resized_crop 37 45 | random_flip_left_right"
                  " | normalize imagenet layout=nchw | batch 5",
        "records": f"tfrecord '{data}/packed/*.tfrecord' | shuffle | {raw} | {AUGMENT} | cast f16 scale=1/255 | batch 7",
        "stream": f"tfrecord '{data}/gz/*.tfrecord' | shuffle 10 | {raw} | {AUGMENT} | batch 7 drop_remainder=true",
        "synth": f"synth 100 20 20 | shuffle 33 | repeat 2 | skip 9 | shard 1/3 | {AUGMENT} | cast f32 | batch 8",
    }


NAMES = list(texts(Path()))
SETTINGS = {
    "one thread": (["--threads", "1"], {}),
    "many threads": (["--threads", "9"], {}),
    "no threads": (["--synchronous"], {}),
    "two slots": (["--slots", "2"], {}),
    "many slots": (["--slots", "12", "--tune", "off"], {}),
    "plain C": ([], {"LEAT_CPU_MASK": "0"}),
    "stalled": (["--threads", "5"], {"LEAT_STALL": "3000"}),
}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", NAMES)
def test_settings_change_nothing(data, name, setting):
    words, env = SETTINGS[setting]
    assert digest(texts(data)[name], *words, **env) == digest(texts(data)[name])


@pytest.mark.parametrize("name", NAMES)
def test_fusion_and_prefetch_change_nothing(data, name):
    text = texts(data)[name]
    assert digest(text + " | options fuse=off") == digest(text) == digest(text + " | prefetch 1")


@pytest.mark.parametrize("name", NAMES)
def test_seed_changes_something(data, name):
    text = texts(data)[name]
    assert digest(text, "--seed", "1") != digest(text) == digest(text, "--seed", "0")


@pytest.mark.parametrize("name", NAMES)
def test_restart_goes_on(data, name, tmp_path):
    text = texts(data)[name]

    def ids(*words) -> list[str]:
        return run("run", text, "--sink", "ids", "--epochs", "2", "--no-side-files", "--quiet", *words).splitlines()

    whole, parts = ids(), []
    for _ in range(len(whole)):
        parts += ids("--state", tmp_path / "state", "--batches", "1")
    assert parts == whole


def samples(text: str, place: Path) -> numpy.ndarray:
    run("run", text, "--sink", f"npy:{place}", "--quiet")
    return numpy.concatenate([numpy.load(path) for path in sorted(place.glob("*_image.npy"))])


def test_batch_size_changes_no_sample(tmp_path):
    text = f"synth 50 12 12 | shuffle | {AUGMENT} | batch "
    one = samples(text + "1", tmp_path / "one")
    assert (one == samples(text + "7", tmp_path / "seven")).all()
    assert (one == samples(text + "64", tmp_path / "all")).all()


def test_compression_changes_nothing(data):
    text = texts(data)["stream"]
    assert digest(text) == digest(text.replace("/gz/", "/packed/"))


def test_place_and_index_change_nothing(data, tmp_path):
    text = texts(data)["folder"]
    shutil.copytree(data / "photos", tmp_path / "elsewhere")
    moved = text.replace(f"{data}/photos", f"{tmp_path}/elsewhere")
    assert digest(text) == digest(moved)
    for _ in range(2):  # makes an index, then uses it
        words = ["--sink", "digest", "--epochs", "2", "--quiet", "--cache-dir", tmp_path / "cache"]
        assert run("run", moved, *words) == digest(text)
