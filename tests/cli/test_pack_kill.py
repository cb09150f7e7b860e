# SPDX-License-Identifier: Apache-2.0
"""leat pack may be killed at any instant and run again: the result is byte-identical to that of a run that nobody
interrupted, no temporary file is left, and at no time is there a shard that is not whole.

First at random times, LEAT_KILLS=100 of them; then systematically, before every call of the C library that changes
something on disk, and in the middle of every write."""
import itertools
import os
import random
import shutil
import subprocess
import time

import pytest

from packs import LEAT, content, environment, leat, leftovers

KILLS = int(os.environ.get("LEAT_KILLS", "100"))

# Counts the calls that change something and dies at one of them; a write that is chosen writes half of it first.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

static long counter;

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}
static int chosen(void) {
    const char *at = getenv("SHIM_AT");
    return at && ++counter == atol(at);
}
#define REAL(name) __typeof__(name) *real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

ssize_t write(int fd, const void *bytes, size_t n) {
    REAL(write);
    if (fd > 2 && chosen()) {
        real(fd, bytes, n / 2);
        die();
    }
    return real(fd, bytes, n);
}
#define ONE_PATH(name, ...) int name(__VA_ARGS__) { REAL(name); if (chosen()) die();
ONE_PATH(fsync, int fd) return real(fd); }
ONE_PATH(fdatasync, int fd) return real(fd); }
ONE_PATH(rename, const char *a, const char *b) return real(a, b); }
ONE_PATH(link, const char *a, const char *b) return real(a, b); }
ONE_PATH(unlink, const char *a) return real(a); }
ONE_PATH(mkdir, const char *a, mode_t mode) return real(a, mode); }
ONE_PATH(ftruncate, int fd, off_t n) return real(fd, n); }
#define OPEN(name) int name(const char *path, int flags, ...) { \
    REAL(name); va_list args; va_start(args, flags); const int mode = flags & O_CREAT ? va_arg(args, int) : 0; va_end(args); \
    if (flags & O_CREAT && chosen()) die(); \
    return real(path, flags, mode); }
OPEN(open)
OPEN(open64)
"""


def check_between(out, whole):
    """After a kill: what has the name of a shard is a whole shard."""
    for path in out.glob("*.tfrecord") if out.exists() else ():
        assert path.read_bytes() == whole[path.name], f"{path.name} is not whole"


def check_after(out, whole, files):
    assert content(out) == whole
    assert not leftovers(out)
    assert sorted(path.name for path in out.iterdir()) == files


@pytest.mark.parametrize("args", [["--size", "48", "--threads", "2"], ["--shuffle", "--threads", "3"]], ids=["resized", "as-is"])
def test_random_times(tmp_path, args):
    leat("synth", tmp_path / "in", "--images", 60, "--size", "200x150", "-q", cache=tmp_path)
    command = ["pack", tmp_path / "in", "--shards", 5, *args]
    leat(*command, tmp_path / "whole", cache=tmp_path)
    began = time.monotonic()
    leat(*command, tmp_path / "timed", cache=tmp_path)
    seconds = time.monotonic() - began
    whole, files = content(tmp_path / "whole"), sorted(path.name for path in (tmp_path / "whole").iterdir())
    rng = random.Random(7)
    # A machine does not keep its speed, and a run that goes on takes less time than the one that was timed. So the longest wait
    # before a kill follows the runs, shorter after one that ended in time, longer after a kill: kills come at all parts of a run.
    killed = finished = 0
    while killed < KILLS // 2 and finished < 10 * KILLS:
        out = tmp_path / "out"
        for _ in range(rng.randint(1, 6)):
            process = subprocess.Popen([LEAT, *map(str, command), str(out)], env=environment(tmp_path),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                assert process.wait(timeout=rng.uniform(0, seconds)) == 0
                finished += 1
                seconds *= 0.95
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                killed += 1
                seconds *= 1.02
            check_between(out, whole)
        leat(*command, out, cache=tmp_path)
        check_after(out, whole, files)
        shutil.rmtree(out)
    print(f"{' '.join(args)}: {killed} kills, {finished} runs ended before theirs")  # for pytest -s
    assert killed >= KILLS // 2, f"only {killed} kills came in time"


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    if "asan" in LEAT:
        pytest.skip("needs a command without sanitizers")
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.c").write_text(SHIM)
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-w", "-o", folder / "shim.so", folder / "shim.c", "-ldl"], check=True)
    return folder / "shim.so"


def run_at(shim, at, command, cache):
    env = {**environment(cache), "LD_PRELOAD": str(shim), "SHIM_AT": str(at)}
    return subprocess.run([LEAT, *map(str, command)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).returncode


RICH = ["--split", "0.6,0.4", "--split-by", "order", "--features", "tfds", "--augment", "random_flip_left_right", "--copies", "1",
        "--on-error", "skip", "--shuffle", "--size", "20"]


@pytest.mark.parametrize("begin", ["fresh", "force", "rich"])
def test_every_call(tmp_path, shim, begin):
    """Also when another pack is being replaced: what is left of the two is never mixed up. And with every option that adds files
    or lines to them."""
    leat("synth", tmp_path / "in", "--images", 7, "--classes", 2, "--size", "40x30", "-q", cache=tmp_path)
    leat("pack", tmp_path / "in", tmp_path / "other", "--size", "9", "--shards", 2, cache=tmp_path)
    if begin == "rich":
        (tmp_path / "in/class_00/bad.jpg").write_text("no picture")
        shutil.copy(tmp_path / "in/class_00/000000.jpg", tmp_path / "in/class_01/same.jpg")
    out = tmp_path / "out"
    command = ["pack", tmp_path / "in", out, "--shards", 3, "--threads", 1, *(RICH if begin == "rich" else [])]
    first = command + (["--force"] if begin == "force" else [])

    def prepare():
        shutil.rmtree(out, ignore_errors=True)
        if begin == "force":
            shutil.copytree(tmp_path / "other", out)

    prepare()
    leat(*first, cache=tmp_path)
    whole, files = content(out), sorted(path.name for path in out.iterdir())
    for at in itertools.count(1):
        prepare()
        code = run_at(shim, at, first, tmp_path)
        if code == 0:  # it needs no more calls than that
            break
        assert code == -9
        if begin != "force":
            check_between(out, whole)
            assert run_at(shim, at, command, tmp_path) in (0, -9)  # and again, somewhere else
            check_between(out, whole)
            leat(*command, cache=tmp_path)
        else:
            again = leat(*command, code=None, cache=tmp_path)
            if again.returncode:  # still the other one, or what is left of it: only force replaces it
                assert "force" in again.stderr
                leat(*first, cache=tmp_path)
        check_after(out, whole, files)
    assert at > 30
