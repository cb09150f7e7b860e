# SPDX-License-Identifier: Apache-2.0
"""leat pack of lists, records, CIFAR, arrays and pipelines; splits, copies, and what is stored."""
import gzip
import io
import json
import random
import shutil
import struct

import numpy as np
import pytest
from PIL import Image

from packs import content, example, examples, leat, masked_crc, records, shards


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    root = tmp_path_factory.mktemp("inputs") / "photos"
    rng = random.Random(1)
    for i in range(40):
        path = root / f"c{i % 4}" / f"{i:02d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.frombytes("RGB", (30, 20), rng.randbytes(1800)).save(path)
    return root


def manifest(out):
    return json.loads((out / "manifest.json").read_text())


def read(folder):
    """Examples with floats too."""
    return [example(payload) for path in shards(folder) for payload in records(path)]


# --------------------------------------------------------------------------------------------------- inputs


def test_list(photos, tmp_path):
    lines = ["path,label"] + [f"{path},{i % 3}" for i, path in enumerate(sorted(photos.rglob("*.jpg")))]
    (tmp_path / "list.csv").write_text("\n".join(lines) + "\n")
    leat("pack", tmp_path / "list.csv", tmp_path / "out", "--features", "simple filename=path", cache=tmp_path)
    found = examples(tmp_path / "out")
    assert [sample["label"][0] for sample in found] == [i % 3 for i in range(40)]
    assert [sample["image"][0] for sample in found] == [path.read_bytes() for path in sorted(photos.rglob("*.jpg"))]


def test_records_again(photos, tmp_path):
    """A pack of a pack: features are found in the records, the picture and the label by what they are."""
    leat("pack", photos, tmp_path / "a", "--features", "tfds", "--shards", 3, cache=tmp_path)
    leat("pack", tmp_path / "a", tmp_path / "b", "--size", "16", "--raw", cache=tmp_path)
    first, second = examples(tmp_path / "a"), examples(tmp_path / "b")
    assert [s["label"] for s in second] == [s["image/class/label"] for s in first]
    assert all(len(s["image"][0]) == 768 and s["image/filename"] == t["image/filename"] for s, t in zip(second, first))
    leat("pack", tmp_path / "a/data-*.tfrecord", tmp_path / "c", "--features", "tfds", "--shards", 2, cache=tmp_path)
    assert examples(tmp_path / "c") == first


def test_compressed_records(photos, tmp_path):
    leat("pack", photos, tmp_path / "a", "--shards", 3, cache=tmp_path)
    (tmp_path / "gz").mkdir()
    for path in shards(tmp_path / "a"):
        (tmp_path / "gz" / (path.name + ".gz")).write_bytes(gzip.compress(path.read_bytes()))
    leat("pack", tmp_path / "gz", tmp_path / "b", "--shuffle", "--seed", 2, "--shards", 2, cache=tmp_path)
    leat("pack", tmp_path / "a", tmp_path / "c", "--shuffle", "--seed", 2, "--shards", 2, cache=tmp_path)
    assert examples(tmp_path / "b") == examples(tmp_path / "c")
    assert not [path for path in (tmp_path / "b").iterdir() if "inflated" in path.name]
    assert "already" in leat("pack", tmp_path / "gz", tmp_path / "b", "--shuffle", "--seed", 2, "--shards", 2, cache=tmp_path).stdout
    victim = next((tmp_path / "gz").iterdir())
    victim.write_bytes(victim.read_bytes()[:-500])
    done = leat("pack", tmp_path / "gz", tmp_path / "no", code=1, cache=tmp_path)
    assert victim.name in done.stderr and done.stderr.count("\n") == 1 and not (tmp_path / "no").exists()
    assert "left out" in leat("pack", tmp_path / "gz", tmp_path / "d", "--on-error", "skip", cache=tmp_path).stderr
    done = leat("pack", f"tfrecord {tmp_path}/gz/*.gz | parse image:bytes", tmp_path / "no", code=1, cache=tmp_path)
    assert "pack the compressed files" in done.stderr and not (tmp_path / "no").exists()


def test_pipeline_text(photos, tmp_path):
    leat("pack", f"folder {photos} | filter label!=2 | take 7 | decode | resize 12 10 | cast image u8", tmp_path / "out",
         "--shards", 2, cache=tmp_path)
    found = examples(tmp_path / "out")
    assert len(found) == 7 and all(s["label"] != [2] for s in found)
    assert {(s["height"][0], s["width"][0], s["channels"][0], len(s["image"][0])) for s in found} == {(12, 10, 3, 360)}
    for text, word in (("| batch 4", "batch"), ("| repeat", "without end"), ("| wat", "wat")):
        done = leat("pack", f"folder {photos} {text}", tmp_path / "no", code=None, cache=tmp_path)
        assert done.returncode and word in done.stderr


def test_cifar(tmp_path):
    rng = random.Random(3)
    folder = tmp_path / "cifar"
    folder.mkdir()
    pixels = [(i % 10, rng.randbytes(3072)) for i in range(20)]
    for k in (1, 2):
        (folder / f"data_batch_{k}.bin").write_bytes(b"".join(bytes([label]) + data for label, data in pixels[10 * k - 10:10 * k]))
    leat("pack", folder, tmp_path / "out", cache=tmp_path)
    for sample, (label, data) in zip(examples(tmp_path / "out"), pixels):
        picture = np.frombuffer(data, np.uint8).reshape(3, 32, 32).transpose(1, 2, 0)
        assert sample["image"][0] == picture.tobytes() and sample["label"] == [label] and sample["height"] == [32]
    leat("pack", folder, tmp_path / "jpeg", "--store", "jpeg", cache=tmp_path)
    assert Image.open(io.BytesIO(examples(tmp_path / "jpeg")[0]["image"][0])).size == (32, 32)


def test_arrays(tmp_path):
    x = np.random.default_rng(1).integers(0, 255, (9, 8, 6, 3), np.uint8)
    np.save(tmp_path / "x.npy", x)
    leat("pack", tmp_path / "x.npy", tmp_path / "out", cache=tmp_path)
    assert [s["image"][0] for s in examples(tmp_path / "out")] == [one.tobytes() for one in x]
    np.save(tmp_path / "w.npy", np.arange(18, dtype=np.float64).reshape(9, 2))
    np.save(tmp_path / "y.npy", np.arange(9, dtype=np.int32))
    leat("pack", f"npy image={tmp_path}/x.npy weights={tmp_path}/w.npy label={tmp_path}/y.npy", tmp_path / "more", cache=tmp_path)
    done = leat("run", f"tfrecord {tmp_path}/more/data-*.tfrecord | parse weights:float[2] label:int64 | batch 9", "--sink",
                f"npy:{tmp_path}/back", cache=tmp_path)
    assert np.array_equal(np.load(tmp_path / "back/000000_weights.npy"), np.arange(18, dtype=np.float32).reshape(9, 2)), done
    assert manifest(tmp_path / "more")["recipe"]["features"]["weights"] == {
        "type": "float", "holds": "field", "dtype": "f64", "shape": [2]}


def test_tables_without_pictures(tmp_path):
    """Features of records that are no pictures are kept as they are."""
    def one(i):
        feature = lambda key, body: b"\x0a" + bytes([len(key) + len(body) + 4]) + b"\x0a" + bytes([len(key)]) + key + b"\x12" + bytes([len(body)]) + body
        floats = struct.pack("<2f", i, i / 2)
        entry = feature(b"x", b"\x12" + bytes([len(floats) + 2]) + b"\x0a" + bytes([len(floats)]) + floats)
        return b"\x0a" + bytes([len(entry)]) + entry
    with open(tmp_path / "t.tfrecord", "wb") as file:
        for i in range(5):
            payload = one(i)
            head = struct.pack("<Q", len(payload))
            file.write(head + struct.pack("<I", masked_crc(head)) + payload + struct.pack("<I", masked_crc(payload)))
    leat("pack", tmp_path / "t.tfrecord", tmp_path / "out", cache=tmp_path)
    assert [payload for path in shards(tmp_path / "out") for payload in records(path)] == [one(i) for i in range(5)]
    done = leat("pack", tmp_path / "t.tfrecord", tmp_path / "no", "--size", "8", code=1, cache=tmp_path)
    assert "no pictures" in done.stderr and done.stderr.count("\n") == 1


# --------------------------------------------------------------------------------------------------- splits


def split_names(out):
    return {name: [e for path in sorted(out.glob(f"data-{name}-*.tfrecord")) for e in map(example, records(path))]
            for name in ("train", "validation", "test")}


def test_split(photos, tmp_path):
    leat("pack", photos, tmp_path / "out", "--split", "0.5,0.25,0.25", "--stratify", "--shards", 6, cache=tmp_path)
    parts = split_names(tmp_path / "out")
    for name, n in (("train", 20), ("validation", 8), ("test", 8)):
        labels = [s["label"][0] for s in parts[name]]
        assert {labels.count(c) for c in range(4)} <= {n // 4, n // 4 + 1}, name
    everything = [s["image"][0] for part in parts.values() for s in part]
    assert len(everything) == len(set(everything)) == 40
    told = manifest(tmp_path / "out")
    assert [one["name"] for one in told["sets"]] == ["train", "validation", "test"]


def test_split_by_hash_is_stable(photos, tmp_path):
    shutil.copytree(photos, tmp_path / "more")
    leat("pack", tmp_path / "more", tmp_path / "a", "--split", "0.7,0.3", cache=tmp_path)
    for path in sorted((tmp_path / "more/c0").iterdir()):
        shutil.copy(path, path.with_name("new-" + path.name))
    Image.new("RGB", (9, 9)).save(tmp_path / "more/c1/new.png")
    leat("pack", tmp_path / "more", tmp_path / "b", "--split", "0.7,0.3", "--features", "simple filename=path", cache=tmp_path)
    before, after = split_names(tmp_path / "a"), split_names(tmp_path / "b")
    where = {s["image"][0]: name for name, part in after.items() for s in part if b"new" not in s["path"][0]}
    assert all(where[s["image"][0]] == name for name, part in before.items() for s in part)


# --------------------------------------------------------------------------------------------------- copies


def test_copies(photos, tmp_path):
    args = ["pack", photos, "--augment", "random_flip_left_right | random_brightness 0.3", "--copies", 2, "--shards", 4]
    leat(*args, tmp_path / "a", "--threads", 1, cache=tmp_path)
    leat(*args, tmp_path / "b", "--threads", 3, cache=tmp_path)
    leat(*args, tmp_path / "c", "--seed", 5, cache=tmp_path)
    assert content(tmp_path / "a") == content(tmp_path / "b") != content(tmp_path / "c")
    found = examples(tmp_path / "a")
    assert [s["copy"][0] for s in found] == [0, 1, 2] * 40
    for path, (original, first, second) in zip(sorted(photos.rglob("*.jpg")), zip(found[::3], found[1::3], found[2::3])):
        assert original["image"][0] == path.read_bytes() and first["label"] == second["label"] == original["label"]
        assert Image.open(io.BytesIO(first["image"][0])).size == (30, 20)
        assert first["image"] != second["image"]
    assert manifest(tmp_path / "a")["copies"] == 80 and manifest(tmp_path / "a")["duplicates"] == 0
    leat(*args, tmp_path / "d", "--split", "0.5,0.5", cache=tmp_path)  # what scores a model is not augmented
    parts = split_names(tmp_path / "d")
    assert {s["copy"][0] for s in parts["validation"]} == {0} and {s["copy"][0] for s in parts["train"]} == {0, 1, 2}
    for wrong, word in ((["--augment", "normalize imagenet", "--copies", 1], "u8"), (["--copies", 1], "augment"),
                        (["--augment", "wat", "--copies", 1], "augment: unknown operation 'wat'")):
        done = leat("pack", photos, tmp_path / "no", *wrong, code=None, cache=tmp_path)
        assert done.returncode and word in done.stderr and done.stderr.count("\n") == 1 and not (tmp_path / "no").exists()


# ---------------------------------------------------------------------------------------------- store auto


def test_auto(photos, tmp_path):
    done = leat("pack", photos, tmp_path / "fast", "--store", "auto", "--size", "16", "--max-bytes", "1GB", cache=tmp_path)
    decided = manifest(tmp_path / "fast")["recipe"]["decided"]
    assert [way["way"] for way in decided["ways"]] == ["original", "jpeg 16x16 q95", "raw 16x16"]
    assert [way["chosen"] for way in decided["ways"]].count(True) == 1 and "<- chosen" in done.stderr
    done = leat("pack", photos, tmp_path / "small", "--store", "auto", "--size", "16", "--target-rate", 1, cache=tmp_path)
    told = manifest(tmp_path / "small")["recipe"]
    smallest = min(told["decided"]["ways"], key=lambda way: way["bytes"])
    assert smallest["chosen"]
    # Running again goes by the record and measures nothing.
    before = content(tmp_path / "small")
    victim = shards(tmp_path / "small")[0]
    victim.unlink()
    done = leat("pack", photos, tmp_path / "small", "--store", "auto", "--size", "16", "--target-rate", 1, cache=tmp_path)
    assert "<- chosen" not in done.stderr and content(tmp_path / "small") == before
    done = leat("pack", photos, tmp_path / "no", "--store", "auto", code=1, cache=tmp_path)
    assert "--target-rate" in done.stderr and not (tmp_path / "no").exists()


def test_positions(tmp_path):
    leat("synth", tmp_path / "in", "--images", 4, "--size", "640x480", "-q", cache=tmp_path / "cache")
    leat("pack", tmp_path / "in", tmp_path / "out", "--positions", "--shards", 2, cache=tmp_path / "cache")
    assert manifest(tmp_path / "out")["recipe"]["positions"]
    assert (tmp_path / ".out.positions.leatseg").exists()  # beside the folder, as leat index --beside has them
