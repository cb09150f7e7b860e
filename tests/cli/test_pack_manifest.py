# SPDX-License-Identifier: Apache-2.0
"""What lies beside the shards of a pack: the manifest, rejects and duplicates; presets of features; the policy for odd
pictures; verifying."""
import json
import os
import random
import re
import shutil
import subprocess

import pytest
from PIL import Image

from packs import content, examples, leat, shards


def picture(seed, width=40, height=30, mode="RGB"):
    rng = random.Random(seed)
    return Image.frombytes(mode, (width, height), rng.randbytes(width * height * len(mode)))


@pytest.fixture
def photos(tmp_path):
    root = tmp_path / "photos"
    for name in ("ant", "bee"):
        (root / name).mkdir(parents=True)
    for i in range(6):
        picture(i).save(root / "ant" / f"{i}.jpg")
        picture(10 + i).save(root / "bee" / f"{i}.jpg")
    return root


def manifest(out, prefix=""):
    return json.loads((out / f"{prefix}manifest.json").read_text())


def rows(path):
    lines = path.read_text().splitlines()
    return [line.split("\t") for line in lines[1:]]


def test_manifest(photos, tmp_path):
    leat("pack", photos, tmp_path / "out", "--shards", 3, "--shuffle", "--seed", 4, cache=tmp_path)
    told = manifest(tmp_path / "out")
    assert told["samples"] == 12 and told["rejected"] == told["duplicates"] == told["copies"] == 0
    assert told["classes"] == [{"label": 0, "name": "ant", "samples": [6]}, {"label": 1, "name": "bee", "samples": [6]}]
    recipe = told["recipe"]
    assert recipe["store"] == "original" and recipe["shuffle"] and recipe["seed"] == 4 and recipe["leat"]
    assert recipe["from"] == str(photos) and recipe["text"] == "folder"
    assert {name: one["type"] for name, one in recipe["features"].items()} == {"image": "bytes", "label": "int64"}
    (one,) = told["sets"]
    assert [shard["file"] for shard in one["shards"]] == [path.name for path in shards(tmp_path / "out")]
    assert [shard["bytes"] for shard in one["shards"]] == [path.stat().st_size for path in shards(tmp_path / "out")]
    assert sum(shard["samples"] for shard in one["shards"]) == one["samples"] == 12
    assert told["source_bytes"] == sum(path.stat().st_size for path in photos.rglob("*.jpg"))
    if shutil.which("xxhsum"):
        for shard, path in zip(one["shards"], shards(tmp_path / "out")):
            said = subprocess.run(["xxhsum", "-H2", str(path)], capture_output=True, text=True, check=True).stdout
            assert said.split()[0] == shard["xxh128"]
    done = leat("pack", photos, tmp_path / "json", "--json", cache=tmp_path)
    assert json.loads(done.stdout)["samples"] == 12
    leat("pack", photos, tmp_path / "out", "--prefix", "other", cache=tmp_path)
    assert manifest(tmp_path / "out", "other-")["samples"] == 12


@pytest.mark.parametrize("preset", ["tfds", "slim"])
def test_presets(photos, tmp_path, preset):
    leat("pack", photos, tmp_path / "out", "--features", preset, cache=tmp_path)
    found = examples(tmp_path / "out")
    for sample, path in zip(found, sorted(photos.rglob("*.jpg"))):
        assert sample == {
            "image/encoded": [path.read_bytes()], "image/format": [b"jpeg"], "image/height": [30], "image/width": [40],
            "image/class/label": [["ant", "bee"].index(path.parent.name)], "image/class/text": [path.parent.name.encode()],
            "image/filename": [str(path.relative_to(photos)).encode()]}
    leat("pack", photos, tmp_path / "raw", "--features", preset, "--raw", "--size", "8x9", cache=tmp_path)
    sample = examples(tmp_path / "raw")[0]
    assert sample["image/format"] == [b"raw"] and sample["image/channels"] == [3]
    assert len(sample["image/encoded"][0]) == 8 * 9 * 3 and (sample["image/height"], sample["image/width"]) == ([8], [9])


def test_names_of_features(photos, tmp_path):
    leat("pack", photos, tmp_path / "out", "--features", "simple image=jpg filename=path,text=name", cache=tmp_path)
    assert {tuple(sorted(sample)) for sample in examples(tmp_path / "out")} == {("jpg", "label", "name", "path")}
    leat("pack", photos, tmp_path / "slim", "--features", "slim", "--label-key", "y", cache=tmp_path)
    assert examples(tmp_path / "slim")[0]["y"] == [0]


def test_rejects(photos, tmp_path):
    good = (photos / "ant/1.jpg").read_bytes()
    (photos / "ant/1.jpg").write_bytes(good[:-200])  # its end is missing: a training run refuses it
    (photos / "bee/2.jpg").write_text("no picture")
    done = leat("pack", photos, tmp_path / "out", code=1, cache=tmp_path)
    assert "ant/1.jpg" in done.stderr and not (tmp_path / "out").exists()
    done = leat("pack", photos, tmp_path / "out", "--on-error", "skip", "--shards", 2, cache=tmp_path)
    listed = rows(tmp_path / "out/rejects.tsv")
    assert [row[0] for row in listed] == ["ant/1.jpg", "bee/2.jpg"]
    assert all(row[1] and str(photos) not in row[1] for row in listed)
    assert manifest(tmp_path / "out")["rejected"] == 2 and "rejects.tsv" in done.stdout
    again = leat("pack", photos, tmp_path / "out", "--on-error", "skip", "--shards", 2, cache=tmp_path)
    assert rows(tmp_path / "out/rejects.tsv") == listed and "already" in again.stdout
    leat("pack", photos, tmp_path / "aside", "--quarantine", tmp_path / "bad", cache=tmp_path)
    assert (tmp_path / "bad/ant/1.jpg").read_bytes() == good[:-200]
    assert (tmp_path / "bad/bee/2.jpg").read_text() == "no picture" and (photos / "bee/2.jpg").exists()
    assert len(examples(tmp_path / "aside")) == 10


def test_check_decodes(photos, tmp_path):
    path = photos / "ant/1.jpg"
    picture(3, 400, 300).save(path, quality=95)
    data = bytearray(path.read_bytes())
    data[len(data) // 2:len(data) // 2 + 400] = b"\xff\xc0" * 200  # markers where there may be none
    path.write_bytes(data)
    leat("pack", photos, tmp_path / "unseen", cache=tmp_path)
    done = leat("pack", photos, tmp_path / "seen", "--check", code=1, cache=tmp_path)
    assert "ant/1.jpg" in done.stderr and ("decode" in done.stderr or "jpeg" in done.stderr)
    bad = leat("pack", "--verify", tmp_path / "unseen", code=1, cache=tmp_path)
    assert "record 1" in bad.stderr


def test_duplicates(photos, tmp_path):
    shutil.copy(photos / "ant/0.jpg", photos / "bee/same.jpg")
    shutil.copy(photos / "ant/0.jpg", photos / "bee/too.jpg")
    done = leat("pack", photos, tmp_path / "out", "--shards", 4, cache=tmp_path)
    assert rows(tmp_path / "out/duplicates.tsv") == [["bee/same.jpg", "ant/0.jpg"], ["bee/too.jpg", "ant/0.jpg"]]
    assert manifest(tmp_path / "out")["duplicates"] == 2 and "duplicates.tsv" in done.stdout


def test_odd_pictures_are_counted(tmp_path):
    root = tmp_path / "odd/a"
    root.mkdir(parents=True)
    picture(1, mode="CMYK").save(root / "cmyk.jpg")
    picture(2, mode="L").save(root / "gray.png")
    picture(3, mode="RGBA").save(root / "alpha.png")
    picture(4, mode="LA").save(root / "both.png")
    Image.frombytes("I;16", (4, 4), bytes(range(32))).save(root / "deep.png")
    turned = Image.Exif()
    turned[0x0112] = 6
    picture(5, 40, 20).save(root / "turned.jpg", exif=turned)
    kinds = {"cmyk": 1, "16-bit": 1, "exif-turned": 1, "gray": 3, "alpha": 2}
    for args in ([], ["--size", "16"], ["--size", "16", "--raw"]):
        leat("pack", tmp_path / "odd", tmp_path / "out", "--force", *args, cache=tmp_path)
        assert manifest(tmp_path / "out")["kinds"] == kinds
    assert all(len(sample["image"][0]) == 16 * 16 * 3 for sample in examples(tmp_path / "out"))
    leat("pack", tmp_path / "odd", tmp_path / "up", "--orient", "--size", "16", "--raw", cache=tmp_path)
    plain, up = ({bytes(s["image"][0]) for s in examples(tmp_path / name)} for name in ("out", "up"))
    assert len(plain - up) == 1  # the turned one alone


def test_verify(photos, tmp_path):
    done = leat("pack", photos, tmp_path / "out", "--shards", 2, "--verify", cache=tmp_path)
    assert "verified 12 samples" in done.stdout
    victim = shards(tmp_path / "out")[1]
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    victim.write_bytes(data)
    done = leat("pack", "--verify", tmp_path / "out", code=1, cache=tmp_path)
    assert victim.name in done.stderr and "digest" in done.stderr and "checksum" in done.stderr
    victim.unlink()
    assert victim.name in leat("pack", "--verify", tmp_path / "out", code=1, cache=tmp_path).stderr
    done = leat("pack", "--verify", tmp_path / "nothing", code=1, cache=tmp_path)
    assert "not finished" in done.stderr and done.stderr.count("\n") == 1


def test_info(photos, tmp_path):
    done = leat("pack", photos, tmp_path / "out", "--size", "16", "--split", "0.5,0.5", "--stratify", cache=tmp_path)
    assert "ant" in done.stdout and "####" in done.stdout and "slowest" in done.stdout and "tf.data" in done.stdout
    said = leat("info", tmp_path / "out", cache=tmp_path).stdout
    for word in ("stored    jpeg 16x16, quality 95", "train: 1 with 6 samples", "validation: 1 with 6 samples", "classes   2", "####",
                 "tf        tf.data", "py        leat.from_tfrecord", "--sheet"):
        assert word in said, said
    assert "stored" not in leat("info", photos, cache=tmp_path).stdout


@pytest.mark.parametrize("args", [
    [], ["--size", "16x20", "--features", "tfds image=a/picture"], ["--size", "12", "--raw", "--features", "slim", "--split", "0.5,0.5"],
    ["--store", "auto", "--max-bytes", "1GB", "--prefix", "x y", "--features", "label=class"]])
def test_told_how_to_read_it(photos, tmp_path, args):
    """The text that is told runs, whatever was asked for or decided, and `leat info` tells the same."""
    out = tmp_path / "out"
    said = leat("pack", photos, out, *args, cache=tmp_path).stdout
    text = re.search(r'^try      leat bench "(.*)"$', said, re.M)[1]
    leat("run", text, "--epochs", 1, cache=tmp_path)
    if "--prefix" not in args:
        assert f"text      {text}\n" in leat("info", out, cache=tmp_path).stdout


def test_sheet(photos, tmp_path):
    for args in ([], ["--size", "20x30", "--raw", "--features", "tfds"]):
        leat("pack", photos, tmp_path / "out", "--force", *args, cache=tmp_path)
        (tmp_path / "sheet.png").unlink(missing_ok=True)
        done = leat("info", tmp_path / "out", "--sheet", tmp_path / "sheet.png", "--json", cache=tmp_path)
        assert json.loads(done.stdout)["samples"] == 12 and "12 samples" in done.stderr
        with Image.open(tmp_path / "sheet.png") as sheet:  # four rows of three
            assert sheet.width < sheet.height and len(sheet.getcolors(1 << 24)) > 10
    done = leat("info", photos, "--sheet", tmp_path / "no.png", code=1, cache=tmp_path)
    assert "leat view" in done.stderr and not (tmp_path / "no.png").exists()


def test_names_of_any_bytes(tmp_path):
    """The manifest is JSON in UTF-8, whatever files and classes are called."""
    names = ["\u00e4\u4e2d\U0001f41c", 'quote"back\\slash', "line\nbreak\ttab"]
    for i, name in enumerate(names):
        (tmp_path / "in" / name).mkdir(parents=True)
        picture(i).save(tmp_path / "in" / name / "1.jpg")
    os.mkdir(os.fsencode(tmp_path / "in") + b"/bad\xff\xe4")
    shutil.copy(tmp_path / "in" / names[0] / "1.jpg", os.fsencode(tmp_path / "in") + b"/bad\xff\xe4/\xc3.jpg")
    leat("pack", tmp_path / "in", tmp_path / "out", cache=tmp_path)
    told = json.loads((tmp_path / "out/manifest.json").read_bytes().decode("utf-8"))
    found = {one["name"] for one in told["classes"]}
    assert {names[0], names[1], "bad\ufffd\ufffd"} <= found and len(found) == 4
    assert told["duplicates"] == 1
    leat("pack", "--verify", tmp_path / "out", cache=tmp_path)


def test_manifest_is_the_same_for_any_threads(photos, tmp_path):
    (photos / "bee/2.jpg").write_text("no picture")
    for threads in (1, 3):
        leat("pack", photos, tmp_path / str(threads), "--on-error", "skip", "--threads", threads, "--shards", 5, cache=tmp_path)
    assert content(tmp_path / "1") == content(tmp_path / "3") and "rejects.tsv" in content(tmp_path / "1")
