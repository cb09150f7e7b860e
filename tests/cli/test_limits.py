# SPDX-License-Identifier: Apache-2.0
"""The budget follows the limits of the process: of a real child cgroup where the machine allows one, and of ulimit."""
import os
import re
import resource

import pytest
from PIL import Image

TEXT = "synth n=100 height=8 width=8 | batch 4"


def own_memory_cgroups():
    """The folders of this process's memory cgroups, version 1 and 2."""
    paths = {}
    for line in open("/proc/self/cgroup", encoding="utf-8"):
        _, controllers, path = line.rstrip("\n").split(":", 2)
        paths[controllers] = path
    for line in open("/proc/self/mountinfo", encoding="utf-8"):
        words, _, rest = line.partition(" - ")
        root, mount = words.split()[3:5]
        kind, _, options = rest.split()[:3]
        version_1 = kind == "cgroup" and "memory" in options.split(",")
        if version_1 or kind == "cgroup2":
            path = paths.get("memory" if version_1 else "", "/")
            yield os.path.normpath(mount + "/" + path.removeprefix(root if root != "/" else "")), version_1


@pytest.fixture
def child_cgroup():
    for parent, version_1 in own_memory_cgroups():
        child = f"{parent}/leat-test-{os.getpid()}"
        limit = f"{child}/memory.limit_in_bytes" if version_1 else f"{child}/memory.max"
        try:
            os.mkdir(child)
        except OSError:
            continue
        try:
            inner = f"{child}/inner"
            with open(limit, "w", encoding="utf-8") as file:
                file.write(str(100 << 20))
            os.mkdir(inner)
            yield inner
            os.rmdir(inner)
            return
        except OSError:
            continue  # this hierarchy does not have the controller
        finally:
            os.rmdir(child)
    pytest.skip("this user may not make a memory cgroup here")


def budget(leat, before):
    return float(re.search(r"the budget is ([0-9.]+) MB", leat("plan", TEXT, preexec_fn=before).stdout)[1])


def test_a_cgroup_above_the_process_limits_the_budget(leat, child_cgroup):
    def enter():
        with open(f"{child_cgroup}/cgroup.procs", "w", encoding="utf-8") as file:
            file.write("0")

    assert 5 < budget(leat, enter) <= (100 << 20) / 4e6


def test_the_address_space_limits_the_budget(leat, command):
    if re.search("asan|tsan", command):
        pytest.skip("needs a command without sanitizers")

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))

    assert 5 < budget(leat, limit) <= (400 << 20) / 4e6


def test_very_large_pictures_are_decoded_one_at_a_time(command, environment, tmp_path):
    """Four progressive JPEGs, of which each takes 84 MB while it is decoded, on four threads: the peak is that of one."""
    if re.search("asan|tsan", command):
        pytest.skip("sanitizers keep memory that was given back")
    large = tmp_path / "large.jpg"
    Image.new("L", (6500, 6500), 90).save(large, progressive=True, quality=30)
    for folder, pictures in (("one", 1), ("four", 4)):
        (tmp_path / folder).mkdir()
        for i in range(pictures):
            os.link(large, tmp_path / folder / f"{i}.jpg")

    def peak(folder: str) -> int:
        text = f"folder {tmp_path}/{folder} | decode | resize 8 8 | batch 1"
        child = os.posix_spawn(command, [command, "run", text, "--threads", "4", "-q", "--no-side-files"], environment)
        _, status, used = os.wait4(child, 0)
        assert status == 0
        return used.ru_maxrss * 1024

    assert peak("one") > 84e6 and peak("four") < peak("one") + 42e6
