# SPDX-License-Identifier: Apache-2.0
"""`cache` from the outside: what is printed, several processes on one directory, full disks, and kill -9 at any time."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time

KILLS = int(os.environ.get("LEAT_CACHE_KILLS", "12"))


def digest(leat, text, *words) -> str:
    return leat("run", text, "--sink", "digest", *words).stdout


def test_plan_says_where_and_how_much(leat, tmp_path):
    out = leat("plan", "synth 1000 32 32 | cache | random_flip_left_right | batch 8").stdout
    assert re.search(r"^cache +in memory, [\d.]+ MB at most: all 1000 samples need 3\.[0-9] MB$", out, re.M)
    out = leat("plan", "synth 1000 32 32 | cache max=1MiB | batch 8").stdout
    assert re.search(r"^cache .*: \d+ of 1000 samples fit, the others are made anew each time", out, re.M)
    out = leat("plan", f"synth 1000 32 32 | cache {tmp_path}/kept | batch 8").stdout
    assert re.search(rf"^cache +on disk in {tmp_path}/kept/[0-9a-f]{{32}}: 0 of 1000 samples are there$", out, re.M)
    out = leat("plan", "synth 50 | random_flip_left_right | cache freeze=true | batch 8").stdout
    assert "drawn once for each sample" in out
    line = leat("plan", "synth 50 | random_flip_left_right | cache | batch 8", code=2).stderr
    assert "cache freeze=true" in line


def test_equal_with_and_without(leat, pictures, tmp_path):
    head, tail = f"folder {pictures} | decode | resize 16 16", "shuffle | random_flip_left_right | batch 4"
    want = digest(leat, f"{head} | {tail}", "--epochs", 3)
    for cache in ("cache", "cache max=2k", f"cache {tmp_path}/kept", f"cache {tmp_path}/kept", f"cache {tmp_path}/part max=9k"):
        for threads in (1, 3):
            assert digest(leat, f"{head} | {cache} | {tail}", "--epochs", 3, "--threads", threads) == want, cache


def test_bench_counts(leat, tmp_path):
    for cache in ("cache", f"cache {tmp_path}/kept"):
        text = f"synth 200 16 16 | {cache} | batch 8"
        result = json.loads(leat("bench", text, "--seconds", 0.2, "--json", "--roofline").stdout)
        assert result["cache_hits"] > 0 and result["cache_misses"] >= 200 and result["cache_bad"] == 0
        assert 200 * 16 * 16 * 3 < result["cache_bytes"] < 250000
        assert result["roofline_what"].startswith("memcpy of 776 bytes a sample out of 0.2 MB")
    assert re.search(r"^  cache +had [\d,]+ of [\d,]+ samples", leat("bench", text, "--seconds", 0.1).stdout, re.M)


def test_a_changed_file_is_never_served_from_the_cache(leat, pictures, tmp_path):
    text = f"folder {pictures} | decode | resize 8 8 | cache {tmp_path}/kept | batch 4"
    plain = text.replace(f" | cache {tmp_path}/kept", "")
    assert digest(leat, text) == digest(leat, plain)
    bees = sorted(pictures.glob("bee/*.bmp"))
    before = bees[0].read_bytes()
    bees[0].write_bytes(before[:-100] + bytes(100))  # the same name and size, no folder has changed
    changed = digest(leat, plain)
    assert digest(leat, text) == changed
    assert len(list((tmp_path / "kept").iterdir())) == 2, "the old one stays"
    out = leat("plan", text).stdout
    assert "23 of 23 samples are there" in out and "1 of other data, pipelines or versions beside it" in out


def test_a_directory_that_cannot_be_written(leat, tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = leat("run", f"synth 64 16 16 | cache {tmp_path}/file/kept | batch 8", "--sink", "digest")
    assert done.stdout == digest(leat, "synth 64 16 16 | batch 8")
    assert len(re.findall("the run goes on without keeping more", done.stderr)) == 1


def test_a_full_disk(leat, tmp_path, command, environment):
    """The limit on the size of files stands for a disk that is full: writing fails in the midst of it."""
    text = f"synth 200 64 64 | cache {tmp_path}/kept | batch 8"
    limited = ["sh", "-c", f'trap "" XFSZ; ulimit -f 1500; exec "{command}" run "{text}" --sink digest']
    done = subprocess.run(limited, capture_output=True, text=True, env=environment, timeout=60)
    want = digest(leat, "synth 200 64 64 | batch 8")
    assert done.returncode == 0 and done.stdout == want
    assert len(re.findall("the run goes on without keeping more", done.stderr)) == 1, done.stderr
    assert digest(leat, text) == want, "what is there is used, and the rest is added"
    assert "200 of 200 samples are there" in leat("plan", text).stdout


def test_several_processes(leat, command, environment, tmp_path):
    text = f"synth 300 64 64 | cache {tmp_path}/kept | shuffle | batch 8"
    want = digest(leat, "synth 300 64 64 | shuffle | batch 8", "--epochs", 2)
    running = [subprocess.Popen([command, "run", text, "--sink", "digest", "--epochs", "2"], stdout=subprocess.PIPE, text=True,
                                env=environment) for _ in range(4)]
    for process in running:
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0 and out == want
    assert digest(leat, text, "--epochs", 2) == want
    assert not list(tmp_path.glob("kept/*/*.open"))
    assert "300 of 300 samples are there" in leat("plan", text).stdout


def ranks(command, environment, text: str, world: int, epochs: int = 2) -> list[subprocess.Popen]:
    return [subprocess.Popen([command, "run", text, "--sink", "null", "--epochs", str(epochs), "--rank", f"{rank}/{world}"],
                             stdout=subprocess.DEVNULL, env=environment) for rank in range(world)]


def test_ranks_write_into_one_directory(leat, command, environment, tmp_path):
    """Each has segments of its own; a killed one leaves what it has written, and the rest is added by the next run."""
    text = f"synth 3000 64 64 | cache {tmp_path}/kept | shuffle | batch 8"
    killed = ranks(command, environment, text, 3, 10**9)
    try:
        end = time.monotonic() + 60
        while len(list(tmp_path.glob("kept/*/segment-*.open"))) < 3 and time.monotonic() < end:
            time.sleep(0.005)
    finally:
        for process in killed:
            process.kill()
            process.wait()
    assert len(list(tmp_path.glob("kept/*/segment-*.open"))) == 3
    for _ in range(2):
        assert [process.wait(timeout=60) for process in ranks(command, environment, text, 2)] == [0, 0]
    assert not list(tmp_path.glob("kept/*/*.open"))
    assert "3000 of 3000 samples are there" in leat("plan", text).stdout
    assert digest(leat, text, "--epochs", 2) == digest(leat, "synth 3000 64 64 | shuffle | batch 8", "--epochs", 2)


def test_ranks_keep_to_one_limit(leat, command, environment, tmp_path):
    """All segments together, with what was reserved and not used, stay below it, and most of it is used."""
    limit = 2 << 20
    text = f"synth 400 64 64 | cache {tmp_path}/kept max={limit} | shuffle | batch 8"
    running = ranks(command, environment, text, 4)
    while any(process.poll() is None for process in running):
        assert sum(path.stat().st_size for path in tmp_path.glob("kept/*/segment-*")) <= limit
        time.sleep(0.01)
    assert all(process.returncode == 0 for process in running)
    assert limit * 0.7 < sum(path.stat().st_size for path in tmp_path.glob("kept/*/segment-*")) <= limit
    assert digest(leat, text) == digest(leat, "synth 400 64 64 | shuffle | batch 8")


def test_kill(leat, command, environment, tmp_path):
    """Whenever it is killed: the next one is right, and in the end everything is there."""
    text = f"synth 1500 96 96 | cache {tmp_path}/kept | shuffle | batch 16"
    begin = time.monotonic()
    want = digest(leat, "synth 1500 96 96 | shuffle | batch 16")
    whole = time.monotonic() - begin
    rng = random.Random(5)
    for number in range(KILLS):
        if number % 4 == 0:  # killed four times, each time begun where the last one was
            shutil.rmtree(tmp_path / "kept", ignore_errors=True)
            kept = 0
        process = subprocess.Popen([command, "run", text, "--sink", "digest", "--epochs", "3"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env=environment)
        time.sleep(rng.uniform(0, whole))
        process.send_signal(signal.SIGKILL)
        process.wait()
        there = int(re.search(r"(\d+) of 1500 samples are there", leat("plan", text).stdout).group(1))
        assert there >= kept, "what is in a complete file stays"
        kept = there
        if number % 4 == 3:
            assert digest(leat, text) == want
            assert "1500 of 1500 samples are there" in leat("plan", text).stdout
            assert not list(tmp_path.glob("kept/*/*.open"))
