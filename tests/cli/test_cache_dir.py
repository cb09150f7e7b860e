# SPDX-License-Identifier: Apache-2.0
"""The cache directory from the outside: `leat cache`, its limit, several processes at once, and a disk that does not answer."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

import pytest
from PIL import Image

from conftest import paint

CROP = "shuffle | decode | random_resized_crop 24 | batch 4"


def photos(folder, n=6):
    (folder / "a").mkdir(parents=True)
    for number in range(n):
        Image.fromarray(paint(150, 190, number)).save(folder / f"a/{number}.jpg", quality=70)
    for path in (folder, folder / "a"):
        os.utime(path, (10**9, 10**9))  # what changed just now leaves no index
    return folder


def sets(leat, **more) -> dict:
    """path -> what `leat cache --json` says of it"""
    return {one["path"]: one for one in json.loads(leat("cache", "--json", **more).stdout)["sets"]}


def use(leat, folder, **more):
    return leat("run", f"folder {folder} | {CROP}", "-q", **more)


def age(leat, folder, days):
    """As if it had last been used so long ago."""
    about = os.path.join(sets(leat)[str(folder)]["folder"], "about.txt")
    then = time.time() - 86400 * days
    os.utime(about, (then, then))


def test_list(leat, tmp_path):
    assert leat("cache").stdout.startswith("0 data sets, 0 bytes of at most ")
    a, b = photos(tmp_path / "a photos"), photos(tmp_path / "b")
    use(leat, f"'{a}'")
    use(leat, b)
    age(leat, a, 3)
    lines = leat("cache").stdout.splitlines()
    assert lines[0].endswith(f"  {a}") and lines[1].endswith(f"  {b}")  # least recently used first
    day = time.strftime("%Y-%m-%d", time.localtime(time.time() - 3 * 86400))
    assert f" KB  {day} " in lines[0]
    assert lines[2].startswith("2 data sets, ") and lines[2].endswith(f" in {tmp_path}/cache/leat")
    found = json.loads(leat("cache", "--json").stdout)
    assert found["bytes"] == sum(one["bytes"] for one in found["sets"])
    assert found["bytes_max"] <= 4 << 30 and found["path"] == f"{tmp_path}/cache/leat"
    one = sets(leat)[str(a)]
    assert one["files"] == 2 and not one["in_use"] and one["foreign"] is None  # an index and positions
    on_disk = sum(os.path.getsize(os.path.join(one["folder"], name)) for name in os.listdir(one["folder"]))
    assert one["bytes"] == on_disk


def test_everything_of_a_data_set_is_together(leat, records, tmp_path):
    """Indexes of shards, positions, answers: one folder."""
    (tmp_path / "shards").mkdir()
    files = sorted((photos(tmp_path / "photos") / "a").iterdir())
    for number in range(3):
        path = records(f"shards/{number}.tfrecord", [{"image": f.read_bytes(), "label": number} for f in files[number::3]])
        os.utime(path, (10**9, 10**9))
    time.sleep(0.03)  # what changed just now leaves no index
    leat("run", "tfrecord 'shards/*.tfrecord' | parse image:bytes label:int64 | filter 'label < 2' | " + CROP, "-q")
    (one,) = sets(leat).values()
    assert one["path"] == str(tmp_path / "shards") and one["files"] == 3 + 1 + 1


def test_prune(leat, tmp_path):
    folders = [photos(tmp_path / name) for name in "abc"]
    for number, folder in enumerate(folders):
        use(leat, folder)
        age(leat, folder, (5, 9, 7)[number])
    bytes_of = {path: one["bytes"] for path, one in sets(leat).items()}
    most = sum(bytes_of.values()) - 1
    text = leat("cache", "--prune").stdout
    assert text.startswith("0 data sets removed") and "\n3 data sets, " in text
    done = json.loads(leat("cache", "--prune", "--max-bytes", most, "--json").stdout)
    assert done["removed"] == 1 and done["bytes_removed"] == bytes_of[str(folders[1])] and done["left"] == 2
    assert sorted(sets(leat)) == [str(folders[0]), str(folders[2])]
    use(leat, folders[2])  # and now the other one was not used for longest
    assert leat("cache", "--prune", "--max-bytes", 4000, env={"LEAT_CACHE_BYTES": "1GiB"}).stdout.startswith("1 data set removed")
    assert list(sets(leat)) == [str(folders[2])]
    assert leat("cache", "--prune", env={"LEAT_CACHE_BYTES": "0"}).stdout.startswith("1 data set removed")
    assert sets(leat) == {}


def test_the_limit_holds_by_itself(leat, tmp_path):
    folders = [photos(tmp_path / name) for name in "abcd"]
    use(leat, folders[0])
    each = sets(leat)[str(folders[0])]["bytes"]
    limit = {"LEAT_CACHE_BYTES": str(2 * each + 100)}
    for number, folder in enumerate(folders):
        use(leat, folder, env=limit)
        age(leat, folder, 30 - number)
        found = sets(leat)
        assert str(folder) in found and sum(one["bytes"] for one in found.values()) <= 2 * each + 100
    assert sorted(sets(leat)) == [str(folders[2]), str(folders[3])]
    leat("index", folders[0], env=limit)
    assert str(folders[2]) not in sets(leat) or str(folders[3]) not in sets(leat)


def test_positions_stop_at_the_limit(leat, tmp_path):
    folder = photos(tmp_path / "a", 12)
    done = leat("run", f"folder {folder} | {CROP}", env={"LEAT_CACHE_BYTES": "4KiB"})
    assert done.stderr.count("not kept for later runs: the cache directory has its") == 1
    assert "LEAT_CACHE_BYTES" in done.stderr
    assert sum(one["bytes"] for one in sets(leat).values()) <= 4096


def test_a_wrong_limit_is_an_error(leat, tmp_path):
    folder = photos(tmp_path / "a")
    for text in ("lots", "-1", "4 GiB", "1e9"):
        for words in (["run", f"folder {folder} | {CROP}"], ["cache"], ["cache", "--prune"], ["index", folder]):
            assert f"LEAT_CACHE_BYTES must be a number of bytes such as 4GiB or 500MiB, not '{text}'" in leat(
                *words, code=1, env={"LEAT_CACHE_BYTES": text}).stderr
    leat("run", f"folder {folder} | {CROP}", "--no-side-files", env={"LEAT_CACHE_BYTES": "lots"})


def test_clear(leat, tmp_path):
    use(leat, photos(tmp_path / "a"))
    use(leat, photos(tmp_path / "b"))
    old = tmp_path / "cache/leat/index"  # what older versions left
    old.mkdir()
    (old / ("0" * 32 + ".leatidx")).write_bytes(b"old")
    assert leat("cache", "--clear").stdout.startswith("2 data sets removed")
    assert not old.exists() and list((tmp_path / "cache/leat/sets").iterdir()) == []


def test_what_leat_did_not_make_stays(leat, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "about.txt").write_text("leat data set 1\n/x\n")
    (outside / ("0" * 32 + ".leatidx")).write_bytes(b"mine")
    a, b, c = (photos(tmp_path / name) for name in "abc")
    for folder in (a, b, c):
        use(leat, folder)
    (tmp_path / "cache/leat/sets" / ("f" * 32)).symlink_to(outside)
    in_a, in_b = (sets(leat)[str(folder)]["folder"] for folder in (a, b))
    os.symlink(outside / ("0" * 32 + ".leatidx"), os.path.join(in_a, "1" * 32 + ".leatidx"))
    with open(os.path.join(in_b, "letter.txt"), "w") as file:
        file.write("mine")
    done = leat("cache", "--clear", code=1)
    assert done.stdout.startswith("1 data set removed") and done.stderr.count("leat did not make") == 2
    assert f"letter.txt in {in_b}" in done.stderr and ("1" * 32 + ".leatidx") in done.stderr
    assert sorted(sets(leat)) == [str(a), str(b)] and sets(leat)[str(b)]["foreign"] == "letter.txt"
    assert len(list(outside.iterdir())) == 2 and os.path.exists(os.path.join(in_b, "letter.txt"))
    use(leat, a)  # and they are of use as before
    # The file of positions is a link: what it points to is not written to.
    precious = tmp_path / "precious"
    precious.write_bytes(b"")
    shutil.rmtree(in_a)
    use(leat, a)
    os.unlink(os.path.join(in_a, "positions.leatseg"))
    os.symlink(precious, os.path.join(in_a, "positions.leatseg"))
    assert leat("run", f"folder {a} | {CROP}").stderr.count("not kept for later runs") == 1
    assert precious.read_bytes() == b""


def test_usage(leat, tmp_path):
    assert "Example:" in leat("cache", "--help").stdout
    assert "not both" in leat("cache", "--prune", "--clear", code=2).stderr
    assert "belongs to --prune" in leat("cache", "--max-bytes", 5, code=2).stderr
    assert "takes no path" in leat("cache", "photos", code=2).stderr
    (tmp_path / "file").write_text("")
    assert "cannot open the folder" in leat("cache", "--cache-dir", tmp_path / "file", code=1).stderr
    assert "set HOME or XDG_CACHE_HOME" in leat("cache", code=1, env={"HOME": "", "XDG_CACHE_HOME": ""}).stderr


def test_not_writable(command, leat, environment, tmp_path):
    """What is there is used, nothing is added, and it is said."""
    if "coverage" in command:
        pytest.skip("another user may not write the counters of lines, and that is said too")
    other = ["setpriv", "--reuid", "65534", "--clear-groups", "--inh-caps=-all"] if os.geteuid() == 0 else []
    if other and subprocess.run([*other, command, "--version"], capture_output=True).returncode != 0:
        pytest.skip("root may write anywhere, and another user may not run the command")
    a, b = photos(tmp_path / "a"), photos(tmp_path / "b")
    use(leat, a)
    for path in [tmp_path / "cache", *(tmp_path / "cache").rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents:
        if tempfile.gettempdir() in map(str, parent.parents):  # not what was there before the tests
            parent.chmod(0o755)

    def run(*words):
        return subprocess.run([*other, command, *map(str, words)], env=environment, capture_output=True, text=True, timeout=60)

    try:
        done = run("run", f"folder {b} | {CROP}")
        assert done.returncode == 0 and "is not kept" in done.stderr and "positions in JPEG files are not kept" in done.stderr
        assert "positions of 6 files are there" in run("plan", f"folder {a} | {CROP}").stdout
        done = run("cache", "--clear")
        assert done.returncode == 1 and "cannot remove" in done.stderr and done.stderr.count("\n") == 1
    finally:
        for path in [tmp_path / "cache", *(tmp_path / "cache").rglob("*")]:
            path.chmod(0o755)


# ------------------------------------------------------------------------------------------ at the same time


@pytest.fixture
def running(command, environment, tmp_path):
    """Starts a run that goes on until it is killed, and waits until it is under way."""
    processes = []

    def start(folder, *words):
        log = open(tmp_path / f"log{len(processes)}", "w+")
        process = subprocess.Popen([command, "run", f"folder {folder} | {CROP}", "--epochs", "-1", "-q", *words],
                                   env=environment, stdout=subprocess.DEVNULL, stderr=log)
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()


def wait_for(truth, seconds=30):
    until = time.monotonic() + seconds
    while not truth():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_data_set_in_use_stays(leat, running, tmp_path):
    a, b = photos(tmp_path / "a"), photos(tmp_path / "b")
    use(leat, b)
    process = running(a)
    whole = sets(leat)[str(b)]["bytes"]
    wait_for(lambda: str(a) in sets(leat) and sets(leat)[str(a)]["bytes"] == whole)  # positions are written while it runs
    age(leat, a, 100)
    assert sets(leat)[str(a)]["in_use"] and " in use " in leat("cache").stdout
    assert "1 in use: not removed" in leat("cache", "--clear").stdout
    assert list(sets(leat)) == [str(a)]
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert "positions of 6 files are there" in leat("plan", f"folder {a} | {CROP}").stdout  # a killed run has kept them
    assert leat("cache", "--clear").stdout.startswith("1 data set removed")


def test_removed_under_a_run(leat, running, tmp_path):
    """As on a file system without locks: the run goes on."""
    a = photos(tmp_path / "a")
    process = running(a)
    wait_for(lambda: sets(leat) and sets(leat)[str(a)]["files"] == 2)
    shutil.rmtree(tmp_path / "cache/leat/sets")
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.wait(timeout=20)
    assert process.returncode >= 0
    use(leat, a)
    assert "positions of 6 files are there" in leat("plan", f"folder {a} | {CROP}").stdout


def test_many_processes(command, environment, leat, tmp_path):
    folders = [photos(tmp_path / name) for name in "abc"]
    plain = {folder: leat("run", f"folder {folder} | {CROP}", "--sink", "digest", "-q", "--no-side-files").stdout
             for folder in folders}
    for _ in range(3):
        jobs = []
        for folder in folders:
            for _ in range(3):
                jobs.append((folder, subprocess.Popen([command, "run", f"folder {folder} | {CROP}", "--sink", "digest", "-q"],
                                                      env={**environment, "LEAT_CACHE_BYTES": "6KiB"}, text=True,
                                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE)))
        jobs += [(None, subprocess.Popen([command, "cache", "--clear"], env=environment, text=True, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE)) for _ in range(4)]
        for folder, process in jobs:
            out, err = process.communicate(timeout=60)
            assert process.returncode == 0, err
            assert folder is None or out == plain[folder]
    leat("cache", "--clear")
    assert [p for p in (tmp_path / "cache/leat/sets").iterdir()] == []


# -------------------------------------------------------------------------------------- a disk that does not answer

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static void stick(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
    if (strstr(path, "positions.leatseg")) for (;;) pause();
}
#define WRITE(name) ssize_t name(int fd, const void *src, size_t n, off64_t at) { \
    static ssize_t (*real)(int, const void *, size_t, off64_t); \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name); \
    stick(fd); \
    return real(fd, src, n, at); }
WRITE(pwrite)
WRITE(pwrite64)
"""


def test_a_stuck_disk_holds_up_nothing(command, environment, leat, tmp_path):
    if "asan" in command:
        pytest.skip("tests/stress/stuck_disk.c has it with sanitizers")
    (tmp_path / "shim.c").write_text(SHIM)
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", tmp_path / "shim.so", tmp_path / "shim.c", "-ldl"], check=True)
    folder = photos(tmp_path / "a")
    plain = leat("run", f"folder {folder} | {CROP}", "--sink", "digest", "-q", "--no-side-files").stdout
    began = time.monotonic()
    done = leat("run", f"folder {folder} | {CROP}", "--sink", "digest", env={"LD_PRELOAD": str(tmp_path / "shim.so")})
    assert time.monotonic() - began < 15
    assert plain in done.stdout or done.stdout == plain
    assert done.stderr.count("not kept for later runs: the disk takes too long") == 1
