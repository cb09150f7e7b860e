# SPDX-License-Identifier: Apache-2.0
"""leat.pack and Dataset.pack: the same options, bytes and errors as the command."""
import os
import sys

import leat
import numpy
import pytest
from leat import _leat


@pytest.fixture
def photos(tmp_path):
    _leat.synth(tmp_path / "photos", 24, 3, 30, 40, False, 1)
    return tmp_path / "photos"


def shards(folder):
    return {name: (folder / name).read_bytes() for name in sorted(os.listdir(folder)) if name.endswith(".tfrecord")}


def test_pack(photos, tmp_path):
    said = []
    packed = leat.pack(photos, tmp_path / "out", features="tfds", shards=3, split=(0.5, 0.5), stratify=True, shuffle=True, seed=3,
                       progress=lambda *state: said.append(state))
    assert packed.samples == 24 and packed.rejected == packed.duplicates == 0 and packed.shards == len(packed.files) == 4 - 1
    assert said and said[-1][1] == said[-1][2] == 24 and packed.slowest and packed.largest
    assert [one["samples"] for one in packed.manifest["classes"]] == [[4, 4]] * 3
    assert leat.pack_verify(tmp_path / "out") == []
    again = leat.pack(photos, tmp_path / "out", features="tfds", shards=3, split="0.5,0.5", stratify=True, shuffle=True, seed=3)
    assert again.kept_shards == 3
    read = leat.from_tfrecord(f"{tmp_path}/out/data-train-*.tfrecord", ["image/encoded:bytes", "image/class/label:int64"])
    assert len(list(read)) == 12


def test_dataset(photos, tmp_path):
    """Files stay as they are if nothing needs their pixels."""
    leat.pack(photos, tmp_path / "a")
    leat.from_directory(photos).pack(tmp_path / "b")
    assert shards(tmp_path / "a") == shards(tmp_path / "b")
    packed = leat.from_directory(photos).filter("label != 1").resize(8, 6).cast("u8").pack(tmp_path / "c")
    assert packed.samples == 16 and packed.manifest["recipe"]["features"]["image"]["holds"] == "u8 pixels"
    with pytest.raises(leat.ArgumentError, match="batch"):
        leat.from_directory(photos).batch(4).pack(tmp_path / "d")
    with pytest.raises(leat.UnsupportedError, match="save_tfrecord"):
        leat.from_arrays(numpy.zeros((3, 4, 4, 3), "uint8")).pack(tmp_path / "d")


def test_parts(photos, tmp_path):
    leat.pack(photos, tmp_path / "whole", size=16, store="raw", shards=5)
    leat.pack(photos, tmp_path / "out", size=16, store="raw", shards=5, part="1/2")
    with pytest.raises(leat.StateError, match="not there yet"):
        leat.pack_join(tmp_path / "out")
    leat.pack(photos, tmp_path / "out", size=16, store="raw", shards=5, part=(0, 2))
    assert leat.pack_join(tmp_path / "out").samples == 24
    assert shards(tmp_path / "out") == shards(tmp_path / "whole")
    assert (tmp_path / "out/manifest.json").read_bytes() == (tmp_path / "whole/manifest.json").read_bytes()


def test_errors(photos, tmp_path):
    (photos / "class_00/bad.jpg").write_text("no picture")
    with pytest.raises(leat.DecodeError, match=r"bad\.jpg"):
        leat.pack(photos, tmp_path / "out")
    with pytest.warns(leat.LeatWarning, match=r"left out: .*bad\.jpg"):
        packed = leat.pack(photos, tmp_path / "out", quarantine=tmp_path / "bad")
    assert packed.rejected == 1 and packed.rejects[0][0] == "class_00/bad.jpg" and (tmp_path / "bad/class_00/bad.jpg").exists()
    with pytest.raises(leat.StateError, match="other options"):
        leat.pack(photos, tmp_path / "out", size=8, on_error="skip")
    for wrong in ({"on_error": "replace"}, {"target_rate": 5}, {"quality": 200, "size": 8}, {"store": "wat"}):
        with pytest.raises(leat.ArgumentError):
            leat.pack(photos, tmp_path / "no", **wrong)
    with pytest.raises(TypeError, match="data set"):
        leat.pack(3, tmp_path / "no")

    def stop(*state):
        raise KeyError("enough")
    with pytest.raises(KeyError, match="enough"):
        leat.pack(photos, tmp_path / "no", on_error="skip", progress=stop)


def test_ray(photos, tmp_path, monkeypatch):
    """What leat.ray.pack refuses before it asks for Ray, and what it says where there is none."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match="leat.ray.pack.. needs Ray: pip install 'ray"):
        leat.ray.pack(photos, tmp_path / "out")
    for wrong in ({"part": "0/2"}, {"force": True}, {"threads": 3}, {"tasks": 0}, {"cpus": 0}):
        with pytest.raises(leat.ArgumentError, match="leat.ray.pack"):
            leat.ray.pack(photos, tmp_path / "out", **wrong)
    with pytest.raises(TypeError, match="sized"):
        leat.ray.pack(photos, tmp_path / "out", sized=3)
