#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs/benchmarks.md, the charts of docs/images/benchmarks and the table in README.md, made of bench/peers/results.json.

    bench/peers/page.py            says what is out of date; exit code 1 if anything is
    bench/peers/page.py --write    writes it anew (`make generate` does)
"""
from __future__ import annotations

import json
import statistics
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from charts import Bar, chart, rounded
from subjects import PEERS, WORKLOADS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE, CHARTS, RESULTS = Path("docs/benchmarks.md"), Path("docs/images/benchmarks"), HERE / "results.json"
TARGET = {"webp": 1.2}  # of the best peer; twice elsewhere
README = Path("README.md")
README_ROWS = ("jpeg", "records", "raw", "png", "progressive", "webp", "large", "idg32", "cifar", "cached", "randaugment")
MARKS = ("<!-- peers: begin. Figures come from bench/peers. -->\n", "<!-- peers: end -->\n")

BEGIN = """<!-- Written by bench/peers/page.py from bench/peers/results.json: do not edit. -->
# Benchmarks

leat beside the loaders that its users would pick instead, on the same data, one after the other in turns. Wins and losses alike.

    make bench-peers                          all of it. Gets the other libraries into build/peers first
    make bench-peers PHOTOS=DIR WORKLOADS="jpeg png" ROUNDS=3
    make bench-peers PEERS=all                with torchvision, whose compiled part needs the CUDA build of torch: several gigabytes
    python3 bench/peers --help                the rest

"""

SHARED = """**The machine was not idle: other programs worked beside these runs.** Pictures per second of the clock say little then.
So the speeds below are pictures per second of processor time, that of a process and all its children, times the number of cores that it
had. Waiting does not count in them: a loader that leaves cores idle is better here than it is on a machine of its own. Times to the first
batch, and what a consumer waits, are times of the clock, and much longer than on an idle machine. `make bench-peers` on an idle one gives
rates of the clock.

"""

RULES = """## How it was measured

- Every run is a process of its own. Peers take turns, forwards in one round and backwards in the next. A rate is the median of the rounds,
  with the lowest and the highest behind it; in a chart, a thin line.
- A run takes the time to the first batch, imports left out, warms up for an epoch (one second at least, two at most), and
  counts batches for {seconds:g} s, and four of them at least. The consumer is a loop in Python that drops each batch.
- With one thread the process and all its children have one core, with two they have two. Workers of a loader are as many as threads.
- `cpu` is processor time for a picture, of the process and all its children. `memory` is their proportional set size (shared pages counted
  once) at its highest, with the libraries that are loaded. The file cache is not in it.
- **Equal work.** Before a peer is timed, its pixels are compared with those of leat, on up to 32 pictures in stored order with the same
  crops and flips (those that leat draws; FFCV gets the largest square in the middle). `pixels` is the mean and the largest difference, in
  255ths. leat uses the peer's way to resize for this (`flavour=tf` or `flavour=pil`), and for FFCV its fast IDCT. In the rates of
  random_resized_crop leat resizes as Pillow does, antialiased, which is more work than what tf.data, OpenCV, Grain, Albumentations and DALI
  do. Those that resize u8 pixels round once more, so that their mean difference is some tenths.
- The limit is a loop of its own in C on the same data, with as many threads (`leat bench --roofline`): libjpeg-turbo, libpng or libwebp
  decoding whole files from memory, and nothing else; or memcpy of the bytes of a sample, out of memory as large as the source (256 MiB at
  most), to as many as its output has, in a ring as large as leat's; for a cache, out of memory that holds all of it. leat can be above it: it
  has its own decoders for JPEG and PNG, decodes only what a crop needs, and stores past the processor's caches.
- tf.data's best form does what its guide on performance says: elements of 32x32 are batched first and worked on together; it normalises
  by one product and one difference.
- Small files are copies of {small} files. Pictures of 12 megapixels are 48 of the others on one sheet; PNG, progressive and WebP
  files are 200 of the others, encoded anew.
- Other augmentation is compared without its draws: for raw records, CIFAR and ImageDataGenerator, the conversion of pixels alone; for
  RandAugment, none of its operations; for SimCLR, with fixed amounts of brightness, contrast, saturation and hue.
"""


def shown(path: Path) -> str:
    return f"images/benchmarks/{path.name}"


class Figures:
    """The runs of one workload, by peer and threads."""

    def __init__(self, results: dict[str, Any], key: str) -> None:
        self.key, self.workload, self.about = key, WORKLOADS[key], results["about"]
        self.runs: dict[tuple[str, int], list[dict[str, float]]] = {}
        for run in results["runs"]:
            if run["workload"] == key:
                self.runs.setdefault((run["peer"], run["threads"]), []).append(run)
        self.equal = results["equal"].get(key, {})
        self.limits = results["limits"].get(key, {})
        self.failed = results["failed"].get(key, {})
        self.threads = sorted({threads for _, threads in self.runs})
        self.shared = shared(results)

    def speeds(self, peer: str, threads: int) -> list[float]:
        """Of each round: pictures a second, or, on a machine that others used too, of so many cores' processor time."""
        if self.shared:
            return [min(threads, int(self.about["cores"])) * 1000 / run for run in self.values(peer, threads, "cpu_ms")]
        return self.values(peer, threads, "rate")

    def speed(self, peer: str, threads: int) -> float:
        return statistics.median(self.speeds(peer, threads) or [0])

    def limit(self, threads: int) -> float:
        """From leat's own speed and their ratio, which is measured in turns; 0 if there is none."""
        ratio = self.limits.get(str(threads), 0)
        return self.speed("leat", threads) / ratio if ratio else 0

    def values(self, peer: str, threads: int, what: str = "rate") -> list[float]:
        return [run[what] for run in self.runs.get((peer, threads), [])]

    def median(self, peer: str, threads: int, what: str = "rate") -> float:
        return statistics.median(self.values(peer, threads, what) or [0])

    def peers(self, threads: int) -> list[str]:
        """Fastest first."""
        return sorted((peer for peer, count in self.runs if count == threads), key=lambda peer: -self.speed(peer, threads))

    def best(self, threads: int) -> tuple[str, float]:
        """The fastest peer, and how many times as fast leat is."""
        others = [peer for peer in self.peers(threads) if not peer.startswith("leat")]
        ours = self.speed("leat", threads)
        return (others[0], ours / self.speed(others[0], threads)) if others and ours else ("", 0.0)

    def unit(self) -> str:
        return f"{self.workload.unit} of processor time" if self.shared else self.workload.unit

    def chart(self) -> str:
        threads = self.threads[-1]
        bars = []
        for peer in self.peers(threads):
            values = self.speeds(peer, threads)
            bars.append(Bar(PEERS[peer].title, statistics.median(values), min(values), max(values), peer.startswith("leat")))
        limit = self.limit(threads)
        return chart(self.workload.title, f"{self.unit()}, {counted(threads)}", bars,
                     (self.workload.limit, limit) if limit else None)


def shared(results: dict[str, Any]) -> bool:
    """Whether other programs worked beside the runs: more threads were ready to run than there are cores, by far."""
    loads = [run["load"] for run in results["runs"] if "load" in run]
    return bool(loads) and statistics.median(loads) > 3 * results["about"]["cores"]


def counted(threads: int) -> str:
    return f"{threads} threads" if threads > 1 else "one thread"


def size(value: float) -> str:
    return f"{value / (1 << 20):,.0f} MB"


def spread(values: list[float]) -> str:
    middle = rounded(statistics.median(values))
    return middle if len(values) == 1 else f"{middle} ({rounded(min(values))} to {rounded(max(values))})"


def pixels(figures: Figures, peer: str) -> str:
    if peer.startswith("leat"):
        return "–"
    found = figures.equal.get(peer)
    return f"{found['mean']:.2f}, {found['max']:.0f}" if found else "not compared"


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |\n"


def table(figures: Figures) -> str:
    """A row a peer, with a column of rates for each number of threads; the rest is for the largest."""
    most = figures.threads[-1]
    heads = [f"{figures.unit()}, {counted(threads)}" for threads in figures.threads]
    text = row("loader", *heads, f"cpu, {counted(most)}", "first batch", "memory", "pixels: mean, max") + "|---" * (len(heads) + 5) + "|\n"
    for peer in figures.peers(most):
        rates = [spread(values) if (values := figures.speeds(peer, threads)) else "" for threads in figures.threads]
        text += row(named(peer), *rates, f"{figures.median(peer, most, 'cpu_ms'):.3g} ms",
                    f"{figures.median(peer, most, 'first_s'):.2f} s", size(figures.median(peer, most, "memory")), pixels(figures, peer))
    if figures.limits:
        text += row(f"limit: {figures.workload.limit}", *(rounded(figures.limit(threads)) if figures.limit(threads) else ""
                                                          for threads in figures.threads), "", "", "", "")
    return text


def verdict(figures: Figures) -> str:
    """Who is faster, with how many threads; where leat misses its target, how far away the limit is for both."""
    threads, least = figures.threads[-1], figures.threads[0]
    peer, ratio = figures.best(threads)
    if not peer:
        return ""
    title, target = PEERS[peer].title, TARGET.get(figures.key, 2.0)
    text = f"leat is {ratio:.3g} times as fast as the fastest of the others, {title}" if ratio >= 1 else (
        f"**{title} is {1 / ratio:.3g} times as fast as leat**")
    if least != threads and (alone := figures.best(least))[0]:
        text += f"; with {counted(least)} {alone[1]:.3g} times" + (f" ({PEERS[alone[0]].title})" if alone[0] != peer else "")
    text += "."
    at = figures.limits.get(str(threads), 0)
    if ratio < target:
        text += f" That is less than the {target:g} times that leat aims at."
    if at:
        text += f" leat is at {at:.2f} of the limit, {figures.workload.limit}"
        text += f", which itself is {ratio / at:.3g} times as fast as {title}." if ratio < target else "."
    return text + (f" {figures.workload.why}." if figures.workload.why else "") + "\n"


def heading(*columns: str) -> str:
    return row("loader", *columns) + "|---" * (len(columns) + 1) + "|\n"


def named(peer: str) -> str:
    return "**leat**" if peer == "leat" else PEERS[peer].title


def consumer(figures: Figures) -> str:
    batch, step, most = figures.workload.batch, figures.workload.step, figures.threads[-1]
    text = (f"A step takes {batch} pictures and {1000 * step:g} ms: {batch / step:,.0f} images/s. The consumer keeps each batch for a step "
            "from the first on. Its waiting is a share of the second half of the run. A loader has settled when the consumer waits for less "
            "than 2 % of the time from then on; the seconds are those since the loader was built.\n\n")
    columns = [f"{what}, {counted(threads)}" for threads in figures.threads for what in ("waits", "settles in")]
    text += heading(*columns, f"longest wait, {counted(most)}", f"cpu, {counted(most)}")

    def settled(peer: str, threads: int) -> str:
        found = figures.values(peer, threads, "settled_s")
        return "never" if not found or min(found) < 0 else f"{statistics.median(found):.2f} s"
    for peer in sorted(figures.peers(most), key=lambda peer: figures.median(peer, most, "waited")):
        cells = [cell for threads in figures.threads
                 for cell in (f"{100 * figures.median(peer, threads, 'waited'):.1f} %", settled(peer, threads))]
        text += row(named(peer), *cells, f"{1000 * figures.median(peer, most, 'longest_s'):.0f} ms",
                    f"{figures.median(peer, most, 'cpu_ms'):.3g} ms")
    return text


def resume(figures: Figures) -> str:
    most = figures.threads[-1]
    text = (f"Seconds from building the loader to its next batch, {counted(most)}, without imports; ten names for each picture. leat "
            "computes its place from epoch and step. The others know their order in advance too where they skip names of files, as in these loops; "
            "tf.data's tutorial form has `skip` at its end, where a script puts it that knows only the data set, and makes all that it "
            "skips.\n\n") + heading("next batch")
    for peer in sorted(figures.peers(most), key=lambda peer: figures.median(peer, most, "first_s")):
        text += row(named(peer), f"{figures.median(peer, most, 'first_s'):.2f} s")
    return text


def memory(figures: Figures) -> str:
    most = figures.threads[-1]
    text = (f"Eight workers on {figures.about['cores']} cores: memory and not speed is asked. It is that of the process and all its "
            "children at its highest.\n\n") + heading("memory", "first batch", figures.workload.unit)
    for peer in sorted(figures.peers(most), key=lambda peer: figures.median(peer, most, "memory")):
        text += row(named(peer), size(figures.median(peer, most, "memory")), f"{figures.median(peer, most, 'first_s'):.2f} s",
                    spread(figures.values(peer, most)))
    return text


SPECIAL = {"consumer": consumer, "memory": memory, "resume": resume}


def special(every: dict[str, Figures]) -> str:
    return "".join(f"## {every[key].workload.title}\n\n{write(every[key])}\n" for key, write in SPECIAL.items() if key in every)


def single(found: dict[str, Any]) -> str:
    """Single transforms: a row each."""
    others = ["albumentations", "pillow"]
    text = ("## Single transforms on one thread\n\nu8 pictures of 256x256 in memory, pictures/s, in the manner of Albumentations' own "
            "benchmark. leat fills batches with the results; the others leave each where it is. What has a `*` is drawn anew for each "
            "picture, and not compared; the rest shows the mean and the largest difference of pixels to leat.\n\n")
    text += row("transform", "leat", "Albumentations", "pixels", "Pillow", "pixels", "leat / fastest other") + "|---" * 7 + "|\n"
    for what, rates in found["rates"].items():
        middle = {name: statistics.median(values) for name, values in rates.items()}
        cells = []
        for name in others:
            pixel = found["pixels"].get(name, {}).get(what)
            cells += [rounded(middle[name]) if name in middle else "", f"{pixel[0]:.2f}, {pixel[1]:.0f}" if pixel else ""]
        best = max([middle[name] for name in others if name in middle] or [0])
        text += row(what, rounded(middle.get("leat", 0)), *cells, f"**{middle.get('leat', 0) / best:.3g}**" if best else "")
    return text + "\n"


def missing(results: dict[str, Any]) -> str:
    """What was to be compared and could not be."""
    lines = [f"- {WORKLOADS[key].title if key in WORKLOADS else key}: {PEERS[peer].title}: {why}\n"
             for key, failed in results["failed"].items() for peer, why in failed.items()]
    wanted = {peer for workload in WORKLOADS.values() for peer in workload.peers}
    lines += [f"- {PEERS[peer].title}: no figure in this run\n" for peer in sorted(wanted - {run["peer"] for run in results["runs"]})
              if not any(peer in failed for failed in results["failed"].values())]
    lines += [f"- {workload.title}: not measured in this run\n" for key, workload in WORKLOADS.items()
              if not any(run["workload"] == key for run in results["runs"])]
    return "## What is missing\n\n" + "".join(lines) + "\n" if lines else ""


def rounds(runs: list[dict[str, Any]]) -> str:
    """How often each loader was run with so many threads."""
    most: dict[int, int] = {}
    for threads in {run["threads"] for run in runs}:
        counts = Counter((run["workload"], run["peer"]) for run in runs if run["threads"] == threads)
        most[threads] = max(counts.values())
    return ", ".join(f"{count} with {counted(threads)}" for threads, count in sorted(most.items()))


def environment(results: dict[str, Any]) -> str:
    about = results["about"]
    data = about["data"]
    text = (f"## Where\n\n{about['date']}, {about['cpu']}, {about['cores']} cores, Linux {about['kernel']}, Python {about['python']}; "
            f"{about['leat']}. {data['count']} pictures from {data['photos']}, where there are fewer the same under several names. "
            f"Rounds: {rounds(results['runs'])}. "
            f"Last command: `{about['command']}`.\n\n")
    for place, versions in about["versions"].items():
        if versions:
            text += f"- `build/{place}`: " + ", ".join(f"{name} {version}" for name, version in versions.items()) + "\n"
    notes = [f"- {peer.title}: {peer.note}\n" for peer in PEERS.values() if peer.note]
    return text + "\nForms:\n\n" + "".join(notes) + "\n"


def summary(every: dict[str, Figures]) -> str:
    text = row("workload", "leat", "the fastest other", "", "leat / other") + "|---|---|---|---|---|\n"
    for key, figures in every.items():
        threads = figures.threads[-1]
        peer, ratio = figures.best(threads)
        if peer and key not in SPECIAL:
            text += row(f"[{figures.workload.title}](#{key})", f"{rounded(figures.speed('leat', threads))} {figures.workload.unit}",
                        PEERS[peer].title, rounded(figures.speed(peer, threads)), f"**{ratio:.3g}**")
    return text + "\n"


def short(every: dict[str, Figures]) -> str:
    """The table of README: how many times as fast, and whom that is compared with."""
    text = row("workload", "leat is so many times as fast", "as the fastest other") + "|---|---|---|\n"
    for figures in (every[key] for key in README_ROWS if key in every):
        peer, ratio = figures.best(figures.threads[-1])
        if peer:
            text += row(f"[{figures.workload.title}]({PAGE}#{figures.key})", f"{ratio:.3g}", PEERS[peer].title)
    return text


def readme(every: dict[str, Figures]) -> str:
    head, rest = (ROOT / README).read_text().split(MARKS[0])
    return f"{head}{MARKS[0]}\n{short(every)}\n{MARKS[1]}{rest.split(MARKS[1])[1]}"


def made(results: dict[str, Any]) -> dict[Path, str]:
    """Every file, by its path below the root."""
    every = {key: Figures(results, key) for key in WORKLOADS if any(run["workload"] == key for run in results["runs"])}
    page, files = BEGIN + (SHARED if every and shared(results) else ""), {}
    if every:
        page += summary(every)
    for key, figures in every.items():
        if key in SPECIAL:
            continue
        path = CHARTS / f"{key}.svg"
        files[path] = figures.chart()
        page += f'<a id="{key}"></a>\n\n## {figures.workload.title}\n\n![{figures.workload.title}]({shown(path)})\n\n'
        page += table(figures) + "\n" + verdict(figures) + "\n"
    page += special(every) + (single(results["single"]) if "single" in results else "")
    page += RULES.format(seconds=results["about"]["seconds"], small=min(200, results["about"]["data"]["count"])) + "\n"
    page += missing(results) + environment(results)
    files[PAGE] = page.rstrip() + "\n"
    files[README] = readme(every)
    return files


def main() -> int:
    files = made(json.loads(RESULTS.read_text()))
    left = {path.relative_to(ROOT) for path in (ROOT / CHARTS).glob("*.svg")} - set(files)
    old = [path for path, text in files.items() if not (ROOT / path).exists() or (ROOT / path).read_text() != text]
    if "--write" in sys.argv[1:]:
        (ROOT / CHARTS).mkdir(parents=True, exist_ok=True)
        for path in old:
            (ROOT / path).write_text(files[path])
        for path in left:
            (ROOT / path).unlink()
        return 0
    for path in sorted([*old, *left]):
        print(f"{path} is out of date; remedy: bench/peers/page.py --write")
    return 1 if old or left else 0


if __name__ == "__main__":
    sys.exit(main())
