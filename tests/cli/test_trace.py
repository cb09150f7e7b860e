# SPDX-License-Identifier: Apache-2.0
"""--trace FILE: JSON that Chrome's and Perfetto's viewers open, whose slices nest and follow one another."""
import json
import os
from collections import defaultdict

import pytest

STAGES = ["read", "parse", "decode", "transform", "store", "call"]


def load(path) -> tuple[dict[str, list[dict]], list[dict]]:
    """(slices of each thread by its name, counters); checks what holds for every trace."""
    events = json.loads(path.read_text())["traceEvents"]
    assert {event["ph"] for event in events} <= {"M", "X", "C"} and len({event["pid"] for event in events}) == 1
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    threads = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            threads[names[event["tid"]]].append(event)
    for slices in threads.values():
        check_nesting(slices)
    return threads, [event for event in events if event["ph"] == "C"]


def ns(event: dict) -> tuple[int, int]:
    begin = round(event["ts"] * 1000)
    return begin, begin + round(event["dur"] * 1000)


def check_nesting(slices: list[dict]) -> None:
    """In the order of time; stages lie inside of their sample, in the order in which a sample lives; nothing else overlaps."""
    outer_end, stage_end, stage = 0, 0, -1
    for event in slices:
        begin, end = ns(event)
        if "args" not in event:
            assert stage_end <= begin <= end <= outer_end and STAGES.index(event["name"]) > stage
            stage_end, stage = end, STAGES.index(event["name"])
        else:
            assert outer_end <= begin <= end
            outer_end, stage_end, stage = end, begin, -1


def test_run(leat, pictures, tmp_path):
    path = tmp_path / "trace.json"
    text = f"folder {pictures} | shuffle | decode | resize 16 16 | batch 4"
    digest = leat("run", text, "--threads", 2, "--sink", "digest", "--epochs", 2).stdout
    assert leat("run", text, "--threads", 2, "--sink", "digest", "--epochs", 2, "--trace", path).stdout == digest
    threads, counters = load(path)
    assert "consumer" in threads and len(threads) > 1 and set(threads) <= {"consumer", "worker 0", "worker 1"}
    made = [event for slices in threads.values() for event in slices if event["name"] == "sample"]
    assert sorted((event["args"]["epoch"], event["args"]["sample"]) for event in made) == \
        [(epoch, sample) for epoch in range(2) for sample in range(23)]
    assert {event["args"]["batch"] for event in made} == set(range(6))
    waits = [event for event in threads["consumer"] if event["name"] == "wait for a batch"]
    assert [(event["args"]["epoch"], event["args"]["batch"]) for event in waits] == [(e, b) for e in range(2) for b in range(6)]
    assert len(counters) == len(waits) and all(event["args"]["ready"] >= 0 for event in counters)
    stages = {event["name"] for slices in threads.values() for event in slices if "args" not in event}
    assert {"read", "decode", "transform"} <= stages
    assert "pictures" not in path.read_text() and ".jpg" not in path.read_text()  # a trace is passed around


def test_bench_keeps_the_newest(leat, tmp_path):
    path = tmp_path / "trace.json"
    leat("bench", "synth 50 4 4 | batch 10", "--seconds", 0.2, "--threads", 2, "--trace", path)
    threads, _ = load(path)
    made = [event for slices in threads.values() for event in slices if event["name"] == "sample"]
    assert 1000 < len(made) <= 32768 and path.stat().st_size < 30e6
    first = {name: slices[0]["ts"] for name, slices in threads.items()}
    if len(made) > 30000:  # the warm-up is forgotten, by all threads
        assert min(first.values()) > 100_000
    leat("bench", "synth 50 4 4 | batch 10", "--seconds", 0.1, "--synchronous", "--trace", path)
    assert set(load(path)[0]) == {"consumer", "worker 0"}


def test_a_run_that_fails_has_its_trace(leat, pictures, tmp_path):
    (pictures / "bee/00.jpg").write_bytes(b"no picture")
    text = f"folder {pictures} | decode | resize 16 16 | batch 4"
    assert "bee/00.jpg" in leat("run", text, "--trace", tmp_path / "t.json", code=1).stderr
    assert any(track.startswith("worker ") for track in load(tmp_path / "t.json")[0])


@pytest.mark.parametrize("path, part", [("none/t.json", "No such file"), (".", "directory"), ("/dev/null", "Invalid")])
@pytest.mark.parametrize("verb", ["run", "bench", "doctor"])
def test_files_that_cannot_be_written(leat, tmp_path, path, part, verb):
    line = leat(verb, "synth 4 4 4 | batch 2", "--trace", path, code=1).stderr
    assert line.startswith(f"leat {verb}: cannot write {path}: ") and part in line and line.count("\n") == 1
    assert not [name for name in os.listdir(tmp_path) if "json" in name]


def test_a_file_that_cannot_be_written_at_the_end(leat):
    line = leat("run", "synth 4 4 4 | batch 2", "--trace", "/proc/t.json", "--quiet", code=1).stderr.splitlines()[-1]
    assert line.startswith("leat run: ") and "/proc/" in line


def test_doctor(leat, tmp_path):
    leat("doctor", "synth 50 8 8 | batch 4", "--step-ms", 3, "--seconds", 0.2, "--trace", tmp_path / "t.json")
    threads, _ = load(tmp_path / "t.json")
    steps = [event["dur"] for event in threads["consumer"] if event["name"] == "step"]
    assert len(steps) > 20 and sorted(steps)[2] > 2900  # those that filled the ring before the run are left out
