# SPDX-License-Identifier: Apache-2.0
"""Remote files through a network that fails as a whole: the command runs in a network namespace of its own, behind one link."""
import os
import re
import shutil
import subprocess
import sys
import time

import pytest
from PIL import Image

from conftest import ROOT, paint

sys.path.insert(0, str(ROOT / "tests/remote"))
from server import Server  # noqa: E402

NAME = f"leat{os.getpid()}"
NEAR, FAR = (f"198.18.{os.getpid() % 250}.{end}" for end in (1, 2))  # addresses set aside for tests of networks
N = 40


def ip(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run(["ip", *words], capture_output=True, text=True)


@pytest.fixture(scope="module")
def namespace():
    """Its name; `NAMEa` is the end of the link on this side."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("network namespaces need root and the program ip")
    if (made := ip("netns", "add", NAME)).returncode:
        pytest.skip(f"no network namespaces here: {made.stderr.strip()}")
    try:
        for words in (["link", "add", f"{NAME}a", "type", "veth", "peer", "name", f"{NAME}b", "netns", NAME],
                      ["addr", "add", f"{NEAR}/30", "dev", f"{NAME}a"], ["link", "set", f"{NAME}a", "up"],
                      ["-n", NAME, "addr", "add", f"{FAR}/30", "dev", f"{NAME}b"], ["-n", NAME, "link", "set", f"{NAME}b", "up"]):
            if (done := ip(*words)).returncode:
                pytest.skip(f"no link into a network namespace here: {done.stderr.strip()}")
        yield NAME
    finally:
        ip("link", "del", f"{NAME}a")
        ip("netns", "del", NAME)


@pytest.fixture
def begin(namespace, command, environment):
    """Begins a run behind the link."""
    def begin(text: str, **more: str) -> subprocess.Popen:
        return subprocess.Popen(["ip", "netns", "exec", namespace, command, "run", text, "--sink", "digest"], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env={**environment, **more})

    return begin


@pytest.fixture
def data(tmp_path):
    rows = ["path,label"]
    for number in range(N):
        Image.fromarray(paint(30 + number, 60, number)).save(tmp_path / f"{number:02}.jpg", quality=90)
        rows.append(f"{number:02}.jpg,{number}")
    (tmp_path / "list.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


REST = "| decode | resize 24 24 | batch 4 | options read_ahead=1"


@pytest.fixture
def wanted(data, leat) -> str:
    return leat("run", f"list {data}/list.csv {REST}", "--sink", "digest").stdout


def wait_for(server: Server, n: int) -> None:
    end = time.monotonic() + 60
    while len(server.requests) < n and time.monotonic() < end:
        time.sleep(0.01)
    assert len(server.requests) >= n


def test_a_slow_link(data, begin, namespace, wanted):
    slow = subprocess.run(["tc", "qdisc", "add", "dev", f"{NAME}a", "root", "tbf", "rate", "1mbit", "burst", "8k", "latency", "400ms"],
                          capture_output=True, text=True)
    if slow.returncode:
        pytest.skip(f"no limit of bytes a second here: {slow.stderr.strip()}")
    try:
        with Server(data, host=NEAR) as server:
            out, said = begin(f"list {server.url}/list.csv {REST}").communicate(timeout=100)
    finally:
        subprocess.run(["tc", "qdisc", "del", "dev", f"{NAME}a", "root"], check=True)
    assert out == wanted, said


def test_a_link_that_comes_back(data, begin, wanted):
    with Server(data, latency=0.05, host=NEAR) as server:
        running = begin(f"list {server.url}/list.csv {REST}", LEAT_REMOTE_TIMEOUT="20")
        wait_for(server, N // 2)
        ip("link", "set", f"{NAME}a", "down")
        time.sleep(0.5)
        assert running.poll() is None
        ip("link", "set", f"{NAME}a", "up")
        out, said = running.communicate(timeout=100)
    assert running.returncode == 0 and out == wanted, said


def test_a_link_that_stays_down(data, begin):
    """The run ends within the time-out, with one line."""
    with Server(data, latency=0.05, host=NEAR) as server:
        running = begin(f"list {server.url}/list.csv {REST}", LEAT_REMOTE_TIMEOUT="2")
        wait_for(server, N // 2)
        ip("link", "set", f"{NAME}a", "down")
        try:
            _, said = running.communicate(timeout=60)
        finally:
            ip("link", "set", f"{NAME}a", "up")
    lines = [line for line in said.splitlines() if line.startswith("leat run: ")]
    assert running.returncode > 0 and len(lines) == 1, said
    assert re.search(rf"cannot read {server.url}/[0-9]+.jpg: .*(does not answer|the network).*tried [0-9] times", lines[0]), said


@pytest.mark.parametrize("address, words", [
    ("http://nowhere.example/list.csv", "nowhere.example.*check the name of the host and the network"),
    ("s3://bucket/list.csv", "s3://bucket/list.csv.*check the name of the host and the network"),
    ("http://192.0.2.1/list.csv", "192.0.2.1.*(check host and port, the network|does not answer)"),
])
def test_no_network(begin, address, words):
    """Neither a server for names nor a way to any other machine."""
    running = begin(f"list {address} {REST}", LEAT_REMOTE_TIMEOUT="1", http_proxy="", https_proxy="", all_proxy="")
    _, said = running.communicate(timeout=60)
    lines = [line for line in said.splitlines() if line.startswith("leat run: ")]
    assert running.returncode > 0 and len(lines) == 1 and re.search(words, lines[0]), said
