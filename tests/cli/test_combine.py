# SPDX-License-Identifier: Apache-2.0
"""Data sets combined to one (concatenate, sample_from, choose_from, zip) and shards in turn (interleave), by the command."""
import json
import re

import numpy
import pytest
from PIL import Image

from conftest import paint


def numbers(done) -> list[int]:
    """The numbers of samples that --sink ids printed, one after the other."""
    return [int(word) for line in done.stdout.splitlines() if re.match(r"\d+ \d+:", line) for word in line.split(":")[1].split()]


def complaint(done) -> str:
    lines = [line for line in done.stderr.splitlines() if re.match("leat [a-z]+: ", line)]
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.fixture
def masks(pictures, tmp_path):
    """For every picture a mask of the same size and name, in gray, with class numbers as values."""
    folder = tmp_path / "masks"
    for path in sorted(pictures.rglob("*.*")):
        with Image.open(path) as image:
            width, height = image.size
        mask = (numpy.arange(height)[:, None] // 4 + numpy.arange(width)[None] // 6) % 5
        out = folder / path.parent.name / (path.stem + ".png")
        out.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(mask.astype("uint8")).save(out)
    return folder


def load(leat, tmp_path, text: str) -> dict:
    out = tmp_path / "out"
    leat("run", text, "--sink", f"npy:{out}")
    fields: dict = {}
    for path in sorted(out.glob("*.npy")):
        fields.setdefault(path.stem.split("_", 1)[1], []).append(numpy.load(path))
        path.unlink()
    return {name: numpy.concatenate(parts) for name, parts in fields.items()}


def test_pictures_and_masks(leat, pictures, masks, tmp_path):
    text = (f"zip image='folder {pictures}' mask='folder {masks}' | shuffle seed=3 | decode | decode mask channels=1"
            " | resize 24 24 | resize 24 24 method=nearest field=mask | enumerate n of=sample | batch 5")
    got = load(leat, tmp_path, text)
    plain = load(leat, tmp_path, f"folder {pictures} | shuffle seed=3 | decode | resize 24 24 | batch 5")
    assert set(got) == {"image", "label", "mask", "n"} and got["mask"].shape == (23, 24, 24, 1)
    for i, n in enumerate(got["n"]):
        k = list(numpy.argsort(got["n"])).index(i)
        assert k == n
        path = sorted(masks.rglob("*.png"))[n]
        with Image.open(path) as mask:
            wanted = numpy.asarray(mask)
        rows = ((numpy.arange(24) + 0.5) * wanted.shape[0] / 24).astype(int)
        columns = ((numpy.arange(24) + 0.5) * wanted.shape[1] / 24).astype(int)
        assert (got["mask"][i, :, :, 0] == wanted[rows][:, columns]).all()
    # The same pictures as without masks, in an order of the same kind.
    assert sorted(map(bytes, got["image"])) == sorted(map(bytes, plain["image"]))
    (masks / "ant" / "00.png").unlink()
    done = leat("plan", text, code=1)
    assert "has 23 samples" in complaint(done) and "has 22 samples" in complaint(done) and "stop=shortest" in complaint(done)
    leat("plan", text.replace(" | shuffle", " stop=shortest | shuffle", 1))


def test_folders_and_records_together(leat, pictures, records, tmp_path):
    def png(i: int) -> bytes:
        path = tmp_path / "one.png"
        Image.fromarray(paint(12, 14, i + 50)).save(path)
        return path.read_bytes()

    shard = records("more.tfrecord", [{"image": png(i), "label": 100 + i} for i in range(9)])
    text = f"concatenate 'folder {pictures} | take 4' 'tfrecord {shard} | parse image:bytes label:int64'"
    got = load(leat, tmp_path, f"{text} | decode | resize 8 8 | batch 4")
    first = load(leat, tmp_path, f"folder {pictures} | take 4 | decode | resize 8 8 | batch 4")
    assert (got["image"][:4] == first["image"]).all() and list(got["label"][4:]) == list(range(100, 109))
    # One digest for any number of threads, and for what is kept.
    runs = [leat("run", f"{text} | shuffle | decode | {cache}resize 8 8 | random_flip_left_right | batch 4", "--sink", "digest",
                 "-e", 3, "-t", threads).stdout for threads in (1, 3) for cache in ("", "cache | ", f"cache {tmp_path}/kept | ")]
    assert len(set(runs)) == 1
    # The index knows the labels of one part only: the others are read.
    assert numbers(leat("run", f"{text} | filter 'label >= 105' | select label", "--sink", "ids")) == [28, 29, 30, 31]
    bad = f"concatenate 'folder {pictures}' 'tfrecord {shard} | parse label:int64'"
    assert re.search("field image is bytes in 'folder .*' and not there in 'tfrecord", complaint(leat("plan", bad, code=1)))


def test_mixtures(leat):
    text = "sample_from 'synth 4000' 'synth 3000 seed=2' 'synth 50' weights=0.5,0.4,0.1 | select label | batch 100"
    got = numbers(leat("run", text, "--sink", "ids"))
    assert sorted(got) == list(range(7050))
    part = numpy.digitize(got, [4000, 7000])
    for k in range(3):  # each in its own order
        own = numpy.asarray(got)[part == k]
        assert (numpy.diff(own) == 1).all()
    empty = numpy.flatnonzero(part == 2)[-1]  # from here on the first two alone, five to four
    share = (part[empty + 1 : empty + 4001] == 0).mean()
    assert abs(share - 5 / 9) < 0.03 and abs((part[:empty] == 2).mean() - 0.1) < 0.05
    assert numbers(leat("run", text, "--sink", "ids", "-e", 2)) == got * 2
    again = numbers(leat("run", text.replace("weights", "rerandomize=true weights"), "--sink", "ids", "-e", 2))
    assert sorted(again[:7050]) == sorted(again[7050:]) == list(range(7050)) and again[:7050] != again[7050:]
    stopped = numbers(leat("run", text.replace("weights", "stop_on_empty=true weights"), "--sink", "ids"))
    assert stopped == got[: len(stopped)] and sum(7000 <= n for n in stopped) == 50 and len(stopped) < 1200
    pattern = numbers(leat("run", "choose_from 'synth 6' 'synth 9' pattern=0,1,1 | select label", "--sink", "ids"))
    assert pattern == [0, 6, 7, 1, 8, 9, 2, 10, 11, 3, 12, 13, 4, 14, 5][: len(pattern)] and len(pattern) == 14


def deal(lengths: list[int], cycle: int, block: int) -> list[int]:
    """tf.data's interleave, spelled out."""
    first = numpy.cumsum([0, *lengths])
    waiting, open_, out, at = list(range(len(lengths))), [None] * cycle, [], 0
    used = [0] * len(lengths)
    while waiting or any(shard is not None for shard in open_):
        if open_[at] is None and waiting:
            open_[at] = waiting.pop(0)
        shard = open_[at]
        if shard is not None:
            n = min(block, lengths[shard] - used[shard])
            out += range(first[shard] + used[shard], first[shard] + used[shard] + n)
            used[shard] += n
            if n < block:
                open_[at] = None
        at = (at + 1) % cycle
    return [int(n) for n in out]


@pytest.mark.parametrize("cycle,block", [(1, 1), (2, 1), (3, 4), (16, 2), (5, 100)])
def test_shards_in_turn(leat, records, tmp_path, cycle, block):
    lengths = [5, 1, 9, 2, 14, 3]
    for i, n in enumerate(lengths):
        records(f"shard-{i}.tfrecord", [{"label": k} for k in range(n)])
    text = f"tfrecord {tmp_path}/shard-*.tfrecord | interleave {cycle} {block} | parse label:int64"
    assert numbers(leat("run", text, "--sink", "ids")) == deal(lengths, cycle, block)
    flat = numbers(leat("run", text.replace(f"interleave {cycle} {block}", "flat_map"), "--sink", "ids"))
    assert flat == list(range(sum(lengths)))
    assert sorted(numbers(leat("run", f"{text} | shuffle", "--sink", "ids"))) == flat


def test_ranks_and_plans(leat):
    text = "concatenate 'synth 30 | shuffle' 'synth 25 seed=3 | take 11' | batch {}"
    whole = numbers(leat("run", text.format(8), "--sink", "ids"))
    parts = [numbers(leat("run", text.format(4), "--sink", "ids", "--rank", f"{r}/2")) for r in range(2)]
    both = [n for i in range(0, 20, 4) for r in range(2) for n in parts[r][i : i + 4]]
    assert both[:40] == whole[:40]
    plan = leat("plan", text.format(8)).stdout
    assert "concatenate of 2" in plan and "2 parts one after the other (30, 11 samples); 41 samples an epoch" in plan
    names = {op["name"] for op in json.loads(leat("ops", "--json").stdout)}
    assert {"concatenate", "sample_from", "choose_from", "zip", "interleave", "flat_map"} <= names


def test_bad_files_are_named(leat, pictures, tmp_path):
    (pictures / "bee" / "zz.png").write_bytes(b"no picture")
    text = f"concatenate 'synth 3 8 8 | select label' 'folder {pictures} | select label'"
    leat("run", text)
    text = f"concatenate 'folder {pictures} | take 5' 'folder {pictures}' | decode | resize 8 8 | batch 4"
    done = leat("run", text, code=1)
    assert "part 2: bee/zz.png: decode" in done.stderr
    leat("run", f"{text} | options on_error=skip")
