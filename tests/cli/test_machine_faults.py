# SPDX-License-Identifier: Apache-2.0
"""A fault of the machine is no bad sample: with on_error=skip and replace a run has all its data, or stops with an error."""
import os
import re
import resource
import subprocess
from pathlib import Path

import pytest
import tfrecord

TORTURE = Path(__file__).resolve().parents[1] / "torture"


def ending(command, environment, words, before):
    return subprocess.run([command, *map(str, words)], capture_output=True, text=True, timeout=120, env=environment,
                          preexec_fn=before, check=False)


def limit(what, value):
    return lambda: resource.setrlimit(what, (value, value))


@pytest.mark.parametrize("policy", ("skip", "replace"))
def test_few_descriptors(policy, command, environment, pictures):
    words = ["run", f"folder {pictures} | repeat 30 | decode | resize 8 8 | batch 4", "--sink", "digest", "--on-error", policy, "-t", 16,
             "--no-side-files"]
    whole = ending(command, environment, words, None)
    assert whole.returncode == 0, whole.stderr
    stopped = 0
    for descriptors in range(4, 20):
        done = ending(command, environment, words, limit(resource.RLIMIT_NOFILE, descriptors))
        if done.returncode == 0:
            assert done.stdout == whole.stdout, descriptors
        else:
            assert done.returncode in (1, 127), descriptors  # 127: not even the libraries can be opened
            assert done.stderr.count("\n") >= 1 and "bad sample" not in done.stderr
            stopped += 1
    assert stopped < 16  # with enough of them it runs


@pytest.mark.parametrize("policy", ("skip", "replace"))
def test_little_address_space(policy, command, environment, pictures):
    if re.search("asan|tsan|coverage", command):
        pytest.skip("needs a command without sanitizers and counters of lines, which need memory before the command begins")
    words = ["run", f"folder {pictures} | decode | resize 8 8 | batch 4", "--sink", "digest", "--on-error", policy, "-t", 4,
             "--no-side-files"]
    whole = ending(command, environment, words, None)
    endings = set()
    for megabytes in range(4, 64, 4):
        done = ending(command, environment, words, limit(resource.RLIMIT_AS, megabytes << 20))
        endings.add(done.returncode)
        assert done.returncode in (0, 1, 127)  # 127: not even the libraries fit
        assert done.returncode != 0 or done.stdout == whole.stdout, megabytes
    assert 0 in endings and len(endings) > 1


def test_a_picture_too_large_for_the_budget_is_no_bad_sample(leat, tmp_path):
    """Its size is judged by fixed numbers: it is used, or the run stops and says what to give."""
    from PIL import Image

    (tmp_path / "in").mkdir()
    Image.new("RGB", (6000, 5000)).save(tmp_path / "in/large.jpg", progressive=True)
    Image.new("RGB", (20, 20)).save(tmp_path / "in/small.png")
    text = f"folder {tmp_path / 'in'} | decode | resize 8 8 | batch 1"
    said = leat("plan", text).stdout
    assert "pictures  of up to 134 million pixels, and 1074 MB" in said
    for policy in ("raise", "skip", "replace"):
        done = leat("run", text, "--on-error", policy, "--memory", "80MB", "--no-side-files", code=None)
        if done.returncode == 0:
            assert "2 samples" in done.stdout and "bad" not in done.stdout
        else:
            assert "budget" in done.stderr and "large.jpg" in done.stderr


def test_a_disk_that_fails_in_the_middle_of_a_stream(command, environment, tmp_path):
    """The rest of the shard is not lost to skip: the run stops."""
    if re.search("asan|tsan", command):
        pytest.skip("a library in front of the sanitizer's")
    library = tmp_path / "disk.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, TORTURE / "shim_disk.c", "-ldl"], check=True)
    records = b"".join(tfrecord.record(tfrecord.example({"x": os.urandom(30000)})) for _ in range(200))
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.gz").write_bytes(tfrecord.compress(records, "gzip"))
    words = ["run", f"tfrecord {tmp_path}/in/a.gz | parse x:bytes | decode_raw x u8 | reshape x 30000 | batch 8", "--on-error", "skip"]
    shim = {**environment, "LD_PRELOAD": str(library), "DISK_BELOW": str(tmp_path / "in"), "DISK_KIND": "eio", "DISK_MORE": "1"}
    endings = []
    for at in range(1, 12):
        done = ending(command, {**shim, "DISK_AT": str(at)}, words, None)
        endings.append(done.returncode)
        assert (done.returncode == 0 and "200 samples" in done.stderr) or (done.returncode == 1 and "Input/output" in done.stderr)
    assert 1 in endings
