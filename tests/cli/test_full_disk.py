# SPDX-License-Identifier: Apache-2.0
"""Side files on a disk that is full, or that tells so only when a file is synced or closed; a limit on the size of files; readers
of stdout that go. Nothing is killed: the file is given up, it is said once, and the data goes through."""
import os
import resource
import signal
import subprocess
import time

import pytest
from PIL import Image

from conftest import paint

# Calls that fail with ENOSPC for files whose names contain a word.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int full(const char *call, int fd) {
    char link[64], path[4200];
    const char *calls = getenv("FULL_CALLS"), *name = getenv("FULL_NAME");
    if (!calls || !name || !strstr(calls, call)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    return strstr(path, name) != NULL;
}
#define REAL(name) __typeof__(name) *real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)
ssize_t write(int fd, const void *bytes, size_t n) {
    REAL(write);
    return full(" write", fd) ? errno = ENOSPC, -1 : real(fd, bytes, n);
}
ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at) {
    REAL(pwrite64);
    return full(" write", fd) ? errno = ENOSPC, -1 : real(fd, bytes, n, at);
}
ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at) { return pwrite64(fd, bytes, n, at); }
int fsync(int fd) {
    REAL(fsync);
    return full(" fsync", fd) ? errno = ENOSPC, -1 : real(fd);
}
int close(int fd) {
    REAL(close);
    const int lost = full(" close", fd);
    const int rc = real(fd);
    return lost ? errno = ENOSPC, -1 : rc;
}
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    if "asan" in os.environ.get("LEAT", ""):
        pytest.skip("needs a command without sanitizers")
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.c").write_text(SHIM)
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-w", "-o", folder / "shim.so", folder / "shim.c", "-ldl"], check=True)
    return folder / "shim.so"


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos/a"
    folder.mkdir(parents=True)
    for number in range(6):
        Image.fromarray(paint(150, 190, number)).save(folder / f"{number}.jpg")
    for path in (folder, folder.parent):
        os.utime(path, (10**9, 10**9))
    time.sleep(0.03)
    return folder.parent


CROP = "shuffle | decode | random_resized_crop 24 | batch 3"
CALLS = [" write", " fsync", " close"]


def digest(leat, spec, cache="cache", **more):
    """Of two epochs, and the lines that tell of the disk."""
    done = leat("run", spec, "--sink", "digest", "--epochs", "2", "--cache-dir", cache, **more)
    return done.stdout.splitlines()[-1], [line for line in done.stderr.splitlines() if "No space left" in line or "too large" in line]


@pytest.mark.parametrize("call", CALLS)
def test_indexes(leat, shim, photos, records, tmp_path, call):
    env = {"LD_PRELOAD": str(shim), "FULL_CALLS": call, "FULL_NAME": ".leatidx"}
    path = records("a.tfrecord", [{"label": i} for i in range(5)])
    os.utime(path, (10**9, 10**9))
    time.sleep(0.03)
    for spec in (f"folder {photos} | decode | resize 9 9 | batch 3", f"tfrecord {path} | parse label:int64 | batch 2"):
        wanted, _ = digest(leat, spec, cache="good")
        found, said = digest(leat, spec, env=env)
        assert found == wanted and len(said) == 1 and "kept" in said[0]
    assert not list((tmp_path / "cache").rglob("*leatidx*"))
    assert "No space left" in leat("index", photos, path, code=1, env=env).stderr
    assert "No space left" in leat("index", "--beside", photos, code=1, env=env).stderr
    assert not list(tmp_path.glob(".*leatidx*"))


@pytest.mark.parametrize("call", [" write", " close"])
def test_positions(leat, shim, photos, call):
    spec = f"folder {photos} | {CROP}"
    wanted, _ = digest(leat, spec, cache="good")
    found, said = digest(leat, spec, env={"LD_PRELOAD": str(shim), "FULL_CALLS": call, "FULL_NAME": "positions.leatseg"})
    assert found == wanted and len(said) == 1 and "positions in JPEG files are not kept" in said[0]


@pytest.mark.parametrize("call", [" write", " close"])
def test_caches(leat, shim, photos, tmp_path, call):
    spec = f"folder {photos} | decode | resize 9 9 | cache {tmp_path}/kept | batch 3"
    env = {"LD_PRELOAD": str(shim), "FULL_CALLS": call, "FULL_NAME": "segment-"}
    wanted, _ = digest(leat, spec.replace("kept", "good"))
    found, said = digest(leat, spec, env=env)
    assert found == wanted and len(said) == 1 and "the run goes on without keeping more" in said[0]
    assert digest(leat, spec) == (wanted, [])


@pytest.mark.parametrize("call", CALLS)
def test_packing(leat, shim, photos, tmp_path, call):
    """A shard that is lost is an error; its index is not, and is said once."""
    env = {"LD_PRELOAD": str(shim), "FULL_CALLS": call, "FULL_NAME": ".tfrecord.tmp"}
    lost = leat("pack", photos, "out", "--shards", 3, code=1, env=env)
    assert "No space left on device" in lost.stderr
    assert not list((tmp_path / "out").glob("*.tfrecord")) and not list((tmp_path / "out").glob(".*.tmp-*"))
    done = leat("pack", photos, "out", "--shards", 3, env={**env, "FULL_NAME": ".leatidx"})
    assert done.stderr.count("No space left on device") == 1
    assert len(list((tmp_path / "out").glob("*.tfrecord"))) == 3 and not list((tmp_path / "out").glob(".*leatidx*"))


def limited(size):
    def prepare():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)

    return prepare


def test_a_limit_on_the_size_of_files(leat, photos, tmp_path):
    spec = f"folder {photos} | {CROP.replace('decode', f'decode | cache {tmp_path}/kept')}"
    wanted, _ = digest(leat, spec.replace("kept", "good"), cache="good")
    for more in ([], ["--synchronous"]):
        done = leat("run", spec, "--sink", "digest", "--epochs", "2", *more, preexec_fn=limited(200))
        assert done.stdout.splitlines()[-1] == wanted
        assert 1 <= done.stderr.count("File too large") <= 3  # index, positions, cache: each once
    assert "File too large" in leat("index", photos, code=1, preexec_fn=limited(50)).stderr
    lost = leat("pack", photos, "out", code=1, preexec_fn=limited(1000))
    assert "File too large" in lost.stderr and not list((tmp_path / "out").glob("*.tfrecord"))
    with open(tmp_path / "stdout", "w", encoding="utf-8") as out:
        done = subprocess.run([os.environ.get("LEAT", "build/release/cli/leat"), "ops", "--json"], stdout=out, stderr=subprocess.PIPE,
                              text=True, preexec_fn=limited(1000), check=False)
    assert done.returncode == 1 and "stdout cannot be written: File too large" in done.stderr


@pytest.mark.parametrize("words", [["ops", "--json"], ["run", "synth n=50 height=8 width=8 | batch 1", "--sink", "ids", "--epochs", "-1"]],
                         ids=["ops", "run"])
def test_a_reader_that_goes(command, environment, words):
    """No signal ends the command, and it ends by itself."""
    read, write = os.pipe()
    with subprocess.Popen([command, *words], stdout=write, stderr=subprocess.PIPE, env=environment, text=True) as process:
        os.close(write)
        os.read(read, 10)
        os.close(read)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 1 and "rror" not in errors and "stdout" not in errors


def test_what_a_killed_run_has_left(leat, photos, tmp_path):
    """Of another boot of the machine or of another one, it is removed after a day; of this one at once (tests/unit)."""
    spec = f"folder {photos} | decode | resize 9 9 | cache {tmp_path}/kept | batch 3"
    leat("run", spec)
    (index,) = (tmp_path / "cache").rglob("*.leatidx")
    (about,) = (tmp_path / "kept").rglob("about.txt")
    old, young = [], []
    for path in (index, about):
        old += [path.with_name(f".{path.name}.tmp-0badcafe-77-1234-0"), path.with_name(f".{path.name}.tmp-77-0")]
        young += [path.with_name(f".{path.name}.tmp-0badcafe-77-1234-1")]
    for path in old + young:
        path.write_bytes(b"half")
    for path in old:
        os.utime(path, (10**9, 10**9))
    leat("run", spec)
    assert not any(path.exists() for path in old) and all(path.exists() for path in young)
