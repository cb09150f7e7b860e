# SPDX-License-Identifier: Apache-2.0
"""leat top: what runs, once and live, in terminals of several sizes; and what it does not trust."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import stat
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest

TEXT = "synth 100000 16 16 | batch 32"
STYLE = re.compile(r"\033\[\d*m")
ESCAPE = re.compile(r"\033\[[?\d;]*[A-Za-z]")


def wait_for(truth, seconds: float = 60):
    """Its value, as soon as that is true."""
    until = time.monotonic() + seconds
    while not (value := truth()):
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.05)
    return value


def begin(command, environment, folder, text: str = TEXT) -> subprocess.Popen:
    return subprocess.Popen([command, "run", text, "-t", "1", "-e", "-1", "-q"], cwd=folder, env=environment,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def reported(environment, process) -> bool:
    return any(p.stat().st_size for p in Path(environment["LEAT_TOP"]).glob(f"{process.pid}-*.leattop"))


@pytest.fixture
def place(tmp_path, environment) -> Path:
    """The folder of reports; the fixture `environment` has it from here on."""
    environment["LEAT_TOP"] = str(tmp_path / "top")
    return tmp_path / "top"


@pytest.fixture
def start(command, environment, tmp_path, place):
    """start(TEXT) runs a pipeline without end: its process, as soon as that has reported."""
    running = []

    def run(text: str = TEXT) -> subprocess.Popen:
        running.append(begin(command, environment, tmp_path, text))
        wait_for(lambda: reported(environment, running[-1]))
        return running[-1]

    yield run
    for process in running:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Two pipelines for all tests that only look: their environment, and their processes."""
    folder = tmp_path_factory.mktemp("shared")
    command = os.environ.get("LEAT", str(Path(__file__).resolve().parents[2] / "build/release/cli/leat"))
    env = {**os.environ, "LEAT_TOP": str(folder / "top"), "XDG_CACHE_HOME": str(folder), "LC_ALL": "C.UTF-8"}
    env.pop("NO_COLOR", None)
    subprocess.run([command, "synth", "secret/pictures", "--images", "30"], cwd=folder, env=env, check=True, capture_output=True)
    texts = (f"folder {folder}/secret/pictures | shuffle | decode | resize 24 24 | batch 8", TEXT)
    both = [begin(command, env, folder, text) for text in texts]
    for process in both:
        wait_for(lambda: reported(env, process))
    yield env, *both
    for process in both:
        process.kill()
        process.wait()


def test_once_and_json(leat, shared):
    env, one, two = shared
    place = Path(env["LEAT_TOP"])
    shown = leat("top", "--once", env=env).stdout
    assert f"{one.pid}" in shown and f"{two.pid}" in shown and "folder pictures: 30 images in 10 classes" in shown
    assert "decode" in shown and "1 thread" in shown and "waits" in shown and "memory" in shown
    assert "\033" not in shown and max(map(len, shown.splitlines())) <= 80
    assert "bottleneck" in shown and "Try " in shown and "secret" not in shown
    assert leat("top", env=env).stdout.split()[:4] == shown.split()[:4]  # no terminal: the same
    found = json.loads(leat("top", "--json", env=env).stdout)
    assert {row["pid"] for row in found["pipelines"]} == {one.pid, two.pid} and found["path"] == str(place)
    row = json.loads(leat("top", "--json", two.pid, env=env).stdout)["pipelines"][0]
    assert row["pid"] == two.pid and row["name"] == "synth" and row["samples_per_s"] > 0 and row["total"]["threads"] == 1
    assert row["verdict"] and row["recent"]["samples"] <= row["total"]["samples"] and row["program"] == "leat"
    assert row["samples_per_epoch"] == 100000 and 0 <= row["waiting"] <= 1 and "read" in row["total"]["stages"] and "threads=1" in row["tuning"]
    order = [r["pid"] for r in json.loads(leat("top", "--json", "--sort", "pid", env=env).stdout)["pipelines"]]
    assert order == sorted(order)
    # Only the user can read it, and it holds no path.
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    for report in place.iterdir():
        assert stat.S_IMODE(report.stat().st_mode) == 0o600
        assert b"secret" not in report.read_bytes() and report.stat().st_size < 4096


def test_nothing_runs(leat, place, tmp_path):
    assert leat("top", "--once").stdout == "No pipeline runs.\n"
    assert json.loads(leat("top", "--json").stdout)["pipelines"] == []
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert f"there is no process {ended.pid}" in leat("top", ended.pid, code=1).stderr
    line = leat("top", os.getpid(), code=1).stderr
    assert f"process {os.getpid()} has no pipeline" in line and "LEAT_TOP=0" in line and line.count("\n") == 1
    assert "'x' is not the number of a process" in leat("top", "x", code=2).stderr
    assert "takes one process" in leat("top", "1", "2", code=2).stderr
    assert "--sort must be" in leat("top", "--sort", "size", code=2).stderr
    assert not place.exists()  # looking makes nothing
    place.mkdir(mode=0o700)
    place.chmod(0o777)
    assert "nothing in it is trusted" in leat("top", "--once", code=1).stderr


def test_killed_processes_are_swept(leat, start, place):
    killed = start()
    killed.kill()
    killed.wait()
    (report,) = place.iterdir()
    (place / "note.txt").write_text("not leat's")
    found = json.loads(leat("top", "--json").stdout)
    assert found["pipelines"] == [] and found["removed"] == 1 and found["foreign"] == 1
    assert [p.name for p in place.iterdir()] == ["note.txt"]
    report.write_bytes(b"")
    other = start()  # the next pipeline looks too, and leaves what is not yet old
    assert report.exists()
    os.utime(report, (0, 0))
    assert [r["pid"] for r in json.loads(leat("top", "--json").stdout)["pipelines"]] == [other.pid] and not report.exists()


def test_a_stopped_process_is_shown_as_such(leat, start, place):
    process = start()
    process.send_signal(signal.SIGSTOP)
    (report,) = place.iterdir()
    data = bytearray(report.read_bytes())
    assert len(json.loads(leat("top", "--json").stdout)["pipelines"]) == 1
    data[300] ^= 1  # a report that is half written stays so, since its process is stopped
    report.write_bytes(data)
    found = json.loads(leat("top", "--json").stdout)
    assert found["pipelines"] == [] and found["damaged"] == 1 and found["removed"] == 0
    process.send_signal(signal.SIGCONT)
    wait_for(lambda: json.loads(leat("top", "--json").stdout)["pipelines"])
    process.send_signal(signal.SIGINT)
    process.wait()
    assert not list(place.iterdir())  # closed, removed


def test_switched_off_or_refused(command, place, environment, tmp_path):
    """Nothing is printed and nothing changes when a pipeline cannot publish."""
    words = [command, "run", "synth 400 128 128 | resize 96 96 | batch 8", "--sink", "digest", "-t", "1", "-e", "4", "-q"]
    (tmp_path / "file").write_text("")
    runs = [subprocess.Popen(words, env={**environment, "LEAT_TOP": value}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for value in ("0", str(tmp_path / "file" / "x"), str(place))]
    assert len({(*run.communicate(), run.returncode) for run in runs}) == 1 and runs[0].returncode == 0
    assert not place.exists() or not list(place.iterdir())
    # The usual place: a folder of leat's in the user's runtime directory.
    (tmp_path / "run").mkdir(mode=0o700)
    process = subprocess.Popen([command, "run", TEXT, "-e", "-1", "-q"],
                               env={**{k: v for k, v in environment.items() if k != "LEAT_TOP"}, "XDG_RUNTIME_DIR": str(tmp_path / "run")},
                               stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: list((tmp_path / "run" / "leat").glob(f"{process.pid}-*.leattop")))
    finally:
        process.kill()
        process.wait()


class Screen:
    """`leat top` on a terminal of its own."""

    def __init__(self, command, environment, cwd, rows, columns, *words, term="xterm-256color", **more) -> None:
        self.child, self.master = pty.fork()
        if self.child == 0:
            os.chdir(cwd)
            time.sleep(0.1)  # until the parent has set the size
            os.execve(command, [command, "top", *map(str, words)], {**environment, **more, "TERM": term})
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.master)
        self.text, self.code = "", None

    def resize(self, rows, columns) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def read(self, seconds: float = 0) -> str:
        """Everything so far."""
        until = time.monotonic() + seconds
        while select.select([self.master], [], [], max(0, until - time.monotonic()))[0]:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                break
            if not data:
                break
            self.text += data.decode(errors="replace")
        return self.text

    def frames(self) -> list[list[str]]:
        """Each drawing as lines, without colours."""
        return [[ESCAPE.sub("", line) for line in frame.split("\033[?1049l")[0].split("\r\n")]
                for frame in self.read().split("\033[H")[1:]]

    def wait(self, truth) -> list[str]:
        """The last frame, as soon as truth holds for it."""

        def look():
            self.read(0.05)
            frames = self.frames()
            return frames[-1] if frames and truth(frames[-1]) else None

        try:
            return wait_for(look)
        except AssertionError:
            raise AssertionError(f"not seen on the screen, which ends with {self.text[-3000:]!r}") from None

    def end(self) -> int:
        def ended():
            self.read(0.05)
            pid, status = os.waitpid(self.child, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
            return pid

        wait_for(ended)
        self.read(0.1)
        return self.code

    def close(self) -> None:
        if self.code is None:
            os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)
        os.close(self.master)


@pytest.fixture
def screen(command, environment, tmp_path):
    made = []

    def show(rows, columns, *words, **more) -> Screen:
        made.append(Screen(command, environment, tmp_path, rows, columns, *words, **more))
        return made[-1]

    yield show
    for one in made:
        one.close()


def restored(one: Screen) -> bool:
    """The screen and the cursor of the shell are back, and its way of reading keys."""
    return one.text.rstrip().endswith("\033[?1049l") and "\033[?25h" in one.text and termios.tcgetattr(one.master) == one.before


def test_live(shared, screen, tmp_path):
    env, one, two = shared
    top = screen(24, 80, **env)
    frame = top.wait(lambda f: sum("synth" in line or "folder" in line for line in f) >= 3)
    assert frame[0].startswith(" leat top  2 pipelines") and len(frame) == 24 and max(map(len, frame)) <= 80
    assert any("█" in line for line in frame) and "q quit" in frame[-1] and STYLE.search(top.text)
    chosen = next(line for line in frame if line.startswith(">"))
    top.press("\033[B")
    top.wait(lambda f: any(line.startswith(">") and line[:9] != chosen[:9] for line in f))
    top.press("s")
    top.wait(lambda f: "sort: waiting" in f[-1])
    top.press("?")
    top.wait(lambda f: any("write its report" in line for line in f))
    top.press("x")
    top.press("d")
    top.wait(lambda f: "written: leat-top-" in f[-1])
    top.press("D")
    top.wait(lambda f: ".json" in f[-1])
    (text,), (data,) = tmp_path.glob("leat-top-*.txt"), tmp_path.glob("leat-top-*.json")
    assert "samples/s" in text.read_text() and "\033" not in text.read_text()
    assert json.loads(data.read_text())["pid"] in (one.pid, two.pid)
    top.press("\x1a")  # Ctrl-Z: the shell has its terminal back meanwhile
    assert os.WIFSTOPPED(os.waitpid(top.child, os.WUNTRACED)[1])
    top.read(0.1)
    assert restored(top)
    os.kill(top.child, signal.SIGCONT)
    count = len(top.frames())
    wait_for(lambda: len(top.frames()) > count + 1)  # it goes on by itself
    top.press("q")
    assert top.end() == 0 and restored(top)


def test_narrow_and_resized(shared, screen):
    top = screen(20, 40, **{**shared[0], "NO_COLOR": "1"})
    frame = top.wait(lambda f: any("synth" in line for line in f))
    assert len(frame) == 20 and max(map(len, frame)) <= 40
    assert not STYLE.search(top.text.replace("\033[0m\033[?25h", ""))
    top.resize(30, 100)
    os.kill(top.child, signal.SIGWINCH)
    frame = top.wait(lambda f: len(f) == 30)
    assert max(map(len, frame)) > 60
    top.resize(4, 12)  # nothing is legible, and nothing breaks
    os.kill(top.child, signal.SIGWINCH)
    frame = top.wait(lambda f: len(f) == 4)
    assert max(map(len, frame)) <= 12
    top.press("\x03")  # Ctrl-C
    assert top.end() == 0 and restored(top)


def test_without_letters_and_colours(shared, screen):
    top = screen(24, 60, term="vt100", **{**shared[0], "LC_ALL": "C"})
    frame = top.wait(lambda f: any("synth" in line for line in f))
    assert any("####" in line for line in frame) and all(ord(c) < 128 for line in frame for c in line)
    assert not STYLE.search(top.text.replace("\033[0m\033[?25h", ""))
    os.kill(top.child, signal.SIGTERM)
    assert top.end() == 0 and restored(top)


def test_a_process_that_ends(start, screen):
    process = start()
    top = screen(24, 80, process.pid)
    top.wait(lambda f: any("synth" in line for line in f))
    process.kill()
    process.wait()
    assert top.end() == 0 and f"process {process.pid} has no running pipeline any more" in top.text
    dumb = screen(24, 80, term="dumb")
    assert dumb.end() == 0 and dumb.text == "No pipeline runs.\r\n"
