# SPDX-License-Identifier: Apache-2.0
"""leat beside the loaders that its users would pick instead, on the same data, in turns.

    python3 bench/peers [WORKLOAD...] [--photos DIR] [--rounds 2] [--threads 1,2] [--results FILE]

Every run is a process of its own (measure.py). Peers take turns, round by round. Before anything is timed, the pixels of each peer are
compared with leat's, with the same random numbers. What is measured replaces the same runs in the results file, so that workloads may be
measured one by one; page.py makes docs/benchmarks.md of it.
"""
from __future__ import annotations

import argparse
import contextlib
import dataclasses
import datetime
import difflib
import json
import os
import platform
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import environment
import with_leat
from common import STD, Job
from peer_data import Data
from subjects import PEERS, WORKLOADS, Peer, Workload

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
COMPARED = 32  # pictures
NORMALIZED = ("crop", "records", "gzip", "randaugment", "cifar")
DRAWN = ("crop", "records", "gzip", "randaugment", "simclr")  # kinds that begin with a drawn crop
ALL = [*WORKLOADS, "single"]
SINGLE = ("leat", "albumentations", "pillow")
START = 6.0  # seconds of a process besides those that are measured, until the first of its peer has ended: imports, first batch, warm-up
# Run where NumPy is.
DIFFERENCE = """
import json, sys, numpy
a, b = (numpy.load(path) for path in sys.argv[1:3])
scale = numpy.array(json.loads(sys.argv[3]), "f4")
d = numpy.abs(a - b) * scale
print(json.dumps({"mean": float(d.mean()), "max": float(d.max())}))
"""
SINGLE_DIFFERENCE = """
import json, sys, numpy
a, b = (numpy.load(path) for path in sys.argv[1:3])
scale = {name: 255 * .226 if name == "normalise" else 1 for name in b.files}
print(json.dumps({name: [float(abs(a[name] - b[name]).mean() * scale[name]), float(abs(a[name] - b[name]).max() * scale[name])]
                  for name in b.files if not name.endswith("*")}))
"""


def say(text: str) -> None:
    print(f"peers: {text}", file=sys.stderr, flush=True)


def package() -> str:
    """The Python package, staged as the tests stage it."""
    sys.path.insert(0, str(ROOT / "tests"))
    import run
    sys.path.pop(0)
    folder, trouble = run.build_package(argparse.Namespace(j=os.cpu_count(), v=False))
    if trouble:
        sys.exit(f"peers: leat's Python package could not be built: {trouble.strip().splitlines()[-1]}")
    return folder


def alone(command: list[str], env: dict[str, str], seconds: float, folder: Path) -> tuple[int, str, str]:
    """Exit code and what it wrote. Workers that outlive their process are killed with it: they would slow the next run down, and a pipe
    that they keep open would never end."""
    files = [folder / "out", folder / "err"]
    with files[0].open("w") as out, files[1].open("w") as err:
        try:
            process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
        except FileNotFoundError as error:
            raise RuntimeError("not installed") from error
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired as error:
            raise RuntimeError(f"no end in {seconds} s") from error
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return process.returncode, *(path.read_text(errors="replace") for path in files)


class Session:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.package = options.package or package()
        self.leat = options.leat
        self.data = Data(options.folder, options.photos, options.count, self.leat, environment.python("leat"))
        self.unequal: set[tuple[str, str]] = set()  # peers whose pixels could not be compared just now
        self.compared: dict[tuple[str, ...], dict[str, float]] = {}  # what several workloads have in common is compared once
        self.outputs = tempfile.TemporaryDirectory()
        self.took: dict[str, list[float]] = {}  # seconds besides the measured ones, by peer
        self.results: dict[str, Any] = json.loads(options.results.read_text()) if options.results.exists() else {}
        self.results = {"runs": [], "equal": {}, "limits": {}, "failed": {}} | self.results

    def job(self, workload: Workload, name: str, threads: int, **more: Any) -> Job:
        peer = "leat" if name.startswith("leat") else name
        job = Job(name, workload.kind, str(self.data.get(workload.data)), threads, workload.batch, side=workload.side,
                  seconds=self.options.seconds, step=workload.step, **({"what": workload.what} | more))
        job.options = {"samples": self.data.length(workload.data), "format": workload.data} | job.options
        if workload.skip:
            whole = int(self.data.length(workload.data) * workload.skip) // workload.batch * workload.batch
            job.options |= {"skip": whole, "late": name == "tfdata-tutorial"}
        if name == "leat-first":
            job.options["first visits"] = True
        if peer == "webdataset":
            job.options["tars"] = str(self.data.tars())
        if peer == "ffcv":
            job.options["beton"] = str(self.data.folder / "jpeg.beton")
        return job

    def run(self, job: Job) -> dict[str, Any]:
        """One process. Raises RuntimeError with the last line that it wrote if it fails."""
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            job.cache = folder
            path = Path(folder) / "job.json"
            path.write_text(json.dumps(dataclasses.asdict(job)))
            env = os.environ | {"PYTHONPATH": self.package, "OMP_NUM_THREADS": str(job.threads), "CUDA_VISIBLE_DEVICES": "",
                                "TF_CPP_MIN_LOG_LEVEL": "3", "NO_ALBUMENTATIONS_UPDATE": "1"}
            command = [environment.python(PEERS[job.peer].place), str(HERE / "measure.py"), str(path)]
            code, out, err = alone(command, env, self.options.patience, Path(folder))
        if code != 0:
            lines = [line.strip() for line in err.splitlines() if line.strip()]
            raise RuntimeError(next((line for line in reversed(lines) if re.match(r"[\w.]*(Error|Exception)", line)),
                                    lines[-1] if lines else f"exit code {code}")[:200])
        if job.what != "outputs":
            self.took.setdefault(job.peer, []).append(time.perf_counter() - began - length(job.what, job.seconds))
        return json.loads(out.splitlines()[-1])

    def expected(self, key: str) -> float:
        """Seconds that a workload takes, from what each peer took so far. Making data is not in it."""
        def besides(name: str) -> float:
            return sum(found) / len(found) if (found := self.took.get(name)) else START
        seconds, rounds = self.options.seconds, self.options.rounds
        if key == "single":
            return sum(length("single", seconds) + besides(name) for name in self.wanted(SINGLE)) * rounds
        workload = WORKLOADS[key]
        names, others = self.wanted(workload.forms + workload.peers), self.wanted(workload.peers)
        each = sum(length(workload.what, seconds) + besides(name) for name in names) * rounds + (2 * seconds if workload.limit else 0)
        return (each * len(self.counts(workload)) if self.options.only != "equal" else 0) + (
            sum(besides(name) for name in others) if self.options.only != "rate" else 0)

    def counts(self, workload: Workload) -> list[int]:
        """Of threads."""
        return list(workload.threads) or ([max(self.options.threads)] if workload.what == "resume" else self.options.threads)

    def drawn(self, workload: Workload) -> list[list[int]]:
        """What leat draws for the first pictures: y, x, height, width, flip."""
        n = min(COMPARED, self.data.length(workload.data)) // 8 * 8
        if workload.kind not in DRAWN:
            return [[0] * 5] * n
        job = self.job(workload, "leat", 1, drawn=[])
        done = subprocess.run([self.leat, "run", with_leat.text(job), "--epochs", "1", "--params", "--quiet", "--no-side-files"],
                              capture_output=True, text=True, check=True)
        found = re.findall(r"random_resized_crop x=(\d+) y=(\d+) width=(\d+) height=(\d+); random_flip_left_right flip=(\d)", done.stdout)
        return [[int(y), int(x), int(h), int(w), int(flip)] for x, y, w, h, flip in found[:n]]

    def difference(self, workload: Workload, name: str, peer: Peer) -> dict[str, float]:
        """Between the pixels of a peer and of leat, in 255ths, over the same pictures with the same draws."""
        same = (workload.kind, workload.data, str(workload.side))
        if (*same, name) in self.compared:
            return self.compared[*same, name]
        drawn, square = self.drawn(workload), name == "ffcv"
        ours = "-".join((*same, peer.flavour, peer.accuracy, "square" if square else "whole"))
        paths = [Path(self.outputs.name) / f"{file}.npy" for file in (ours, "peer")]
        for side, options in (("leat", {"flavour": peer.flavour, "accuracy": peer.accuracy, "square": square}), (name, {})):
            path = paths[side == name]
            if side == name or not path.exists():
                job = self.job(workload, side, 1, what="outputs", drawn=drawn, options=options | {"out": str(path)})
                job.batch = 8
                self.run(job)
        scale = [255 * s for s in STD] if workload.kind in NORMALIZED else [255.0 if workload.kind in ("raw", "idg", "simclr") else 1.0]
        done = subprocess.run([environment.python("leat"), "-c", DIFFERENCE, *map(str, paths), json.dumps(scale)], capture_output=True,
                              text=True, check=True)
        self.compared[*same, name] = json.loads(done.stdout)
        return self.compared[*same, name]

    def equal(self, key: str) -> None:
        workload = WORKLOADS[key]
        for name in self.wanted(workload.peers):
            say(f"{key}: pixels of {PEERS[name].title}")
            try:
                self.results["equal"].setdefault(key, {})[name] = self.difference(workload, name, PEERS[name])
                self.results["failed"].get(key, {}).pop(name, None)
            except RuntimeError as error:
                self.unequal.add((key, name))
                self.results["failed"].setdefault(key, {})[name] = str(error)
                say(f"{key}: {PEERS[name].title}: {error}")

    def wanted(self, names: tuple[str, ...]) -> list[str]:
        places = environment.chosen() + ["leat"]
        return [name for name in names if (not self.options.peers or name in self.options.peers) and PEERS[name].place in places]

    def measure(self, key: str) -> None:
        workload = WORKLOADS[key]
        names = [name for name in self.wanted(workload.forms + workload.peers) if (key, name) not in self.unequal]
        for threads in self.counts(workload):
            fresh: set[str] = set()
            for turn in range(self.options.rounds):
                for name in names if turn % 2 == 0 else reversed(names):
                    try:
                        made = self.run(self.job(workload, name, threads))
                    except RuntimeError as error:
                        self.results["failed"].setdefault(key, {})[name] = str(error)
                        say(f"{key}: {PEERS[name].title}: {error}")
                        continue
                    found = {"consumer": lambda made: f"waits {100 * made['waited']:.1f} %",
                             "memory": lambda made: f"{made['memory'] >> 20:,} MB",
                             "resume": lambda made: f"{made['first_s']:.2f} s"}.get(
                                 workload.what, lambda made: f"{made['rate']:,.0f} {workload.unit}")(made)
                    say(f"{key}, {threads} threads, round {turn + 1}: {PEERS[name].title} {found}")
                    self.keep({"workload": key, "peer": name, "threads": threads} | made, name not in fresh)
                    fresh.add(name)
            self.limit(key, workload, threads)
            self.save()

    def keep(self, run: dict[str, Any], replaces: bool) -> None:
        """The first round takes the place of all that was measured before."""
        same = ("workload", "peer", "threads")
        if replaces:
            self.results["runs"] = [old for old in self.results["runs"] if any(old[what] != run[what] for what in same)]
        self.results["runs"].append(run)
        self.results["failed"].get(run["workload"], {}).pop(run["peer"], None)
        self.save()

    def single(self) -> None:
        """The table of single transforms: each library in a process, with the largest difference of pixels where nothing is drawn."""
        found: dict[str, Any] = {"rates": {}, "pixels": {}}
        with tempfile.TemporaryDirectory() as folder:
            for turn in range(self.options.rounds):
                for name in self.wanted(SINGLE) if turn % 2 == 0 else reversed(self.wanted(SINGLE)):
                    options = {"pictures": str(self.data.squares()), "out": f"{folder}/{name}.npz"}
                    job = Job(name, "", "", 1, 32, "single", self.options.seconds, options=options)
                    try:
                        made = self.run(job)["rates"]
                    except RuntimeError as error:
                        say(f"single: {PEERS[name].title}: {error}")
                        self.results["failed"].setdefault("single", {})[name] = str(error)
                        continue
                    say(f"single, round {turn + 1}: {PEERS[name].title}: {len(made)} transforms")
                    for what, rate in made.items():
                        found["rates"].setdefault(what, {}).setdefault(name, []).append(rate)
            for name in ("albumentations", "pillow"):
                if Path(f"{folder}/{name}.npz").exists() and Path(f"{folder}/leat.npz").exists():
                    command = [environment.python("leat"), "-c", SINGLE_DIFFERENCE, f"{folder}/leat.npz", f"{folder}/{name}.npz"]
                    done = subprocess.run(command, capture_output=True, text=True, check=True)
                    found["pixels"][name] = json.loads(done.stdout)
        self.results["single"] = found
        self.save()

    def limit(self, key: str, workload: Workload, threads: int) -> None:
        """How many times as fast leat is as a bare loop on the same data, with as many threads, in turns."""
        if not workload.limit:
            return
        job = self.job(workload, "leat", threads)
        done = subprocess.run([self.leat, "bench", with_leat.text(job), "--roofline", "--json", "--quiet", "--threads", str(threads),
                               "--seconds", str(self.options.seconds), "--no-side-files"], capture_output=True, text=True)
        if done.returncode != 0:
            say(f"{key}: no limit: {(done.stderr.strip().splitlines() or ['it was stopped'])[-1]}")
            return
        made = json.loads(done.stdout)
        if workload.kind == "cifar":  # arrays that lie in memory: the text reads them from a file, which is not what leat did here
            ours = [run["rate"] for run in self.results["runs"]
                    if (run["workload"], run["peer"], run["threads"]) == (key, "leat", threads)]
            made["ratio"] = statistics.median(ours) / made["roofline_samples_per_s"] if ours else 0
        self.results["limits"].setdefault(key, {})[str(threads)] = made["ratio"]

    def save(self) -> None:
        """The file is written after every step: a run that is stopped keeps what it has."""
        cpu = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                    if line.startswith("model name")), platform.machine())
        about = {"date": datetime.date.today().isoformat(), "cpu": cpu, "cores": len(os.sched_getaffinity(0)),
                 "kernel": platform.release().split("-")[0], "python": platform.python_version(), "rounds": self.options.rounds,
                 "seconds": self.options.seconds, "data": json.loads(self.data.about()), "command": self.options.command,
                 "leat": subprocess.run([self.leat, "--version"], capture_output=True, text=True).stdout.strip().splitlines()[0],
                 "versions": self.results.get("about", {}).get("versions", {})}
        for place in environment.chosen():  # of environments that are not there, what earlier runs had
            about["versions"].update({place: found} if (found := environment.versions(place)) else {})
        self.results["about"] = about
        part = self.options.results.with_suffix(".part")
        part.write_text(json.dumps(self.results, indent=1) + "\n")
        part.rename(self.options.results)


def length(what: str, seconds: float) -> float:
    """Of what is measured in one process, without imports, the first batch and the warm-up."""
    return seconds * {"consumer": 4, "single": 3, "resume": 0}.get(what, 1)


def told(arguments: list[str]) -> list[str]:
    """Those of a command line that change what is measured, without places of this machine."""
    words = iter(arguments)
    kept: list[str] = []
    for word in words:
        if word in ("--results", "--package", "--folder", "--leat"):
            next(words, None)
        elif word == "--photos":
            next(words, None)
            kept.append("--photos DIR")
        else:
            kept.append(word)
    return kept


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench/peers", description=__doc__.split("\n")[0])
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=f"of {', '.join(ALL)}; else all")
    parser.add_argument("--photos", type=Path, help="a folder of JPEGs, one sub-folder a class; else leat synth makes some")
    parser.add_argument("--count", type=int, default=400, help="photographs; fewer are used several times")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2, help="of each run, after its warm-up")
    parser.add_argument("--threads", type=numbers, default=sorted({1, len(os.sched_getaffinity(0))}), help="1,2")
    parser.add_argument("--peers", type=lambda text: text.split(","), help=f"of {','.join(PEERS)}; else all")
    parser.add_argument("--only", choices=("equal", "rate"), help="compare pixels, or measure, alone")
    parser.add_argument("--patience", type=int, default=120, help="seconds that a process may take")
    parser.add_argument("--results", type=Path, default=HERE / "results.json")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/bench/peers", help="where data is kept")
    parser.add_argument("--leat", default=os.environ.get("LEAT", str(ROOT / "build/release/cli/leat")))
    parser.add_argument("--package", help="leat's Python package, if it is staged already")
    options = parser.parse_args()
    options.command = " ".join(["python3 bench/peers", *told(sys.argv[1:])])
    for words, known, what in ((options.workloads, ALL, "workload"), (options.peers or [], PEERS, "peer")):
        for word in words:
            if word not in known:
                near = difflib.get_close_matches(word, known, 1, 0)
                sys.exit(f"peers: there is no {what} '{word}'; the nearest is '{near[0]}'")
    if options.photos and not options.photos.is_dir():
        sys.exit(f"peers: there is no folder {options.photos}")
    session = Session(options)
    keys = options.workloads or ALL
    for number, key in enumerate(keys):
        names = session.wanted(SINGLE if key == "single" else WORKLOADS[key].forms + WORKLOADS[key].peers)
        left = sum(map(session.expected, keys[number:])) / 60
        say(f"{number + 1} of {len(keys)}: {key}, with {len(names)} loaders; about {max(1, round(left))} minutes left")
        if key == "single":
            session.single()
            continue
        if options.only != "rate":
            session.equal(key)
            session.save()
        if options.only != "equal":
            session.measure(key)
    return 0


if __name__ == "__main__":
    sys.exit(main())
