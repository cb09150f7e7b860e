# SPDX-License-Identifier: Apache-2.0
"""Read-ahead, shuffling by blocks and compressed shards from the command line: the same bytes however they are read."""
import re

import pytest

import tfrecord


@pytest.fixture
def shards(tmp_path):
    for number in range(6):
        data = b"".join(tfrecord.record(tfrecord.example({"x": bytes([number, i]) * 40, "label": 100 * number + i}))
                        for i in range(5 + 7 * number))
        (tmp_path / f"s{number}.tfrecord").write_bytes(data)
        (tmp_path / f"s{number}.gz").write_bytes(tfrecord.compress(data, "gzip"))
    return "s*.tfrecord"


def digest(leat, text: str, *words: str) -> str:
    return leat("run", text, "--sink", "digest", "--quiet", *words).stdout


@pytest.mark.parametrize("order", ["", "shuffle | ", "shuffle block=1KiB group=3 | ", "shuffle block=300 seed=4 | take 50 | "])
def test_read_ahead_changes_nothing(leat, shards, order):
    text = f"tfrecord {shards} | {order}parse x:bytes label:int64 | batch 7"
    want = digest(leat, text + " | options read_ahead=off", "--epochs", "2")
    for mode in ("auto", "1", "5"):
        assert digest(leat, f"{text} | options read_ahead={mode}", "--epochs", "2", "--threads", "3") == want


def test_a_block_is_a_run_of_records(leat, shards):
    """Numbers of samples in a group of two blocks are at most two runs."""
    plan = leat("plan", f"tfrecord {shards} | shuffle block=1KiB group=2 | parse label:int64 | batch 1").stdout
    blocks = int(re.search(r"shuffle of (\d+) blocks in groups of 2", plan)[1])
    assert 10 < blocks < 40


@pytest.mark.parametrize("text, says", [
    ("shuffle 5 block=1k", "window and block"),
    ("shuffle group=3", "write block= too"),
    ("shuffle | shuffle block=1k", "write this one first"),
    ("repeat | shuffle block=1k", "no end"),
])
def test_refusals(leat, shards, text, says):
    assert says in leat("plan", f"tfrecord {shards} | {text} | parse label:int64 | batch 2", code=2).stderr


def test_a_stream_has_no_blocks(leat, shards):
    assert "window" in leat("plan", "tfrecord s*.gz | shuffle block=1k | parse label:int64 | batch 2", code=1).stderr


def test_a_stream_goes_on_in_its_shard(leat, shards, tmp_path):
    text = "tfrecord s*.gz | shuffle 10 | parse label:int64 | batch 5"
    whole = leat("run", text, "-e", 2, "--sink", "samples").stdout
    assert whole == leat("run", text.replace("s*.gz", shards), "-e", 2, "--sink", "samples", "--threads", 4).stdout
    parts = ""
    for piece in range(6):
        parts += leat("run", text, "-e", 2, "--sink", "samples", "--state", "state", "-n", 13, "--threads", 1 + piece % 3).stdout
        saved = (tmp_path / "state").read_text()
        assert " stream=" in saved and len(saved) < 1024
    assert parts == whole


def test_messages_name_the_record_of_a_stream(leat, tmp_path):
    good = [tfrecord.record(tfrecord.example({"label": i})) for i in range(9)]
    (tmp_path / "a.gz").write_bytes(tfrecord.compress(b"".join(good), "gzip"))
    (tmp_path / "b.gz").write_bytes(tfrecord.compress(b"".join(good[:4]) + tfrecord.record(b"nonsense"), "zlib"))
    text = "tfrecord a.gz b.gz | parse label:int64 | batch 4"
    assert "b.gz: record 4: parse:" in leat("run", text, code=1).stderr
