#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a network costs: records behind a web server that takes a while to the first byte, against the same records on disk.

    bench/remote.py [--images 1600] [--rounds 3] [--build build/release]

The server (tests/remote/server.py) runs on the same cores. Local and remote runs take turns, and of each the shortest time of all rounds counts, since
other programs can only add to it. Rate: of the epochs after the first; start: the time to the first 1,600 samples with all that opening takes; CPU:
processor time of leat alone. The last line is `bars held` if the bars of docs/remote.md are."""
import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEXT = "| parse image:bytes label:int64 | shuffle seed=3 {how} | decode | random_resized_crop 224 | random_flip_left_right | normalize imagenet | batch 32"
BARS = {20: (0.65, 1.5), 100: (0.50, None)}  # ms: at least this part of the local rate, at most so many times its CPU
START_BAR = 2.0


def row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def run(leat: Path, text: str, epochs: int) -> tuple[float, float, str]:
    """Seconds, processor seconds and digest."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([leat, "run", text, "-e", str(epochs), "--sink", "digest"], capture_output=True, text=True, check=True,
                          env={**os.environ, "LEAT_TOP": "0"})
    seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, cpu, re.search("digest ([0-9a-f]+)", done.stdout + done.stderr)[1]


def measure(leat: Path, folder: Path, ms: int, rounds: int, how: str) -> dict:
    """Ratios of remote to local; each run has one epoch and then three."""
    best: dict = {}
    with subprocess.Popen([sys.executable, ROOT / "tests/remote/server.py", folder, "--latency", str(ms / 1000)], stdout=subprocess.PIPE, text=True) as server:
        try:
            url = server.stdout.readline().strip()
            names = sorted(path.name for path in folder.glob("*.tfrecord"))
            rest = TEXT.format(how=how)
            texts = {side: f"tfrecord {' '.join(f'{root}/{name}' for name in names)} {rest}" for side, root in (("near", folder), ("far", url))}
            for _ in range(rounds):
                digests = set()
                for side, text in texts.items():
                    for epochs in (1, 4):
                        seconds, cpu, digest = run(leat, text, epochs)
                        known = best.get((side, epochs), (1e9, 1e9))
                        best[side, epochs] = min(known[0], seconds), min(known[1], cpu)
                        digests.add((epochs, digest))
                if len(digests) != 2:
                    raise SystemExit("remote batches are not those of the local files")
        finally:
            server.terminate()
    epoch = {side: [more - one for more, one in zip(best[side, 4], best[side, 1])] for side in texts}
    return {"rate": epoch["near"][0] / epoch["far"][0], "cpu": epoch["far"][1] / epoch["near"][1], "start": best["far", 1][0] / best["near", 1][0]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--images", type=int, default=1600)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    options = parser.parse_args()
    leat, held = options.build.resolve() / "cli/leat", True
    with tempfile.TemporaryDirectory() as folder:
        pictures, records = Path(folder, "pictures"), Path(folder, "records")
        subprocess.run([leat, "synth", pictures, "-n", str(options.images), "-q"], check=True)
        subprocess.run([leat, "pack", pictures, records, "--shards", "8", "--shuffle", "-q"], check=True)
        row("to the first byte", "shuffle", "of the local rate", "of its CPU", "of its start")
        print("|---|---|---|---|---|")
        for ms in (0, 20, 100):
            for how in ("", "block=4MiB"):
                got = measure(leat, records, ms, options.rounds, how)
                row(f"{ms} ms", how or "full", f"{got['rate']:.2f}", f"{got['cpu']:.2f}", f"{got['start']:.2f}")
                if how or ms not in BARS:
                    continue
                least, cpu = BARS[ms]
                held = held and got["rate"] >= least and (cpu is None or got["cpu"] <= cpu) and (ms > 20 or got["start"] <= START_BAR)
    print("bars held" if held else "bars not held")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
