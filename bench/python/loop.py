#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What Python costs: a loop over batches against `leat bench` on the same text, and the time of `import leat`.

    PYTHONPATH=build/package bench/python/loop.py [--photos FOLDER] [--seconds 2] [--rounds 9] [--leat COMMAND]

The loop and the command run in turns, each for a short while after a warm-up, with the same number of threads; each
turn is compared with the one beside it, and the median of the ratios is printed, because the machine is never equally
fast for long. Where other programs disturb even that, the processor time of the looping thread tells more: the waiting
for a batch costs some, on either side, and Python the rest. Lines of a Markdown table."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def arrays(options: argparse.Namespace, n: int, side: int) -> str:
    """A source in memory, of .npy files that are small enough to be kept."""
    import array

    paths = []
    pixels = bytes(range(256)) * (n * side * side * 3 // 256)
    for name, dtype, shape, data in (("image", "|u1", (n, side, side, 3), pixels),
                                     ("label", "<i8", (n,), array.array("q", range(n)).tobytes())):
        head = str({"descr": dtype, "fortran_order": False, "shape": shape}).ljust(117) + "\n"
        path = options.folder / f"{name}{side}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + data)
        paths.append(f"{name}='{path}'")
    return "npy " + " ".join(paths)


def command_rate(options: argparse.Namespace, text: str) -> float:
    done = subprocess.run([options.leat, "bench", text, "--json", "--quiet", "--threads", str(options.threads),
                           "--seconds", str(options.seconds)], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)["samples_per_s"]


def loop_rate(options: argparse.Namespace, text: str) -> tuple[float, float]:
    """As a training loop takes batches: arrays by name, let go when the next one comes. Samples a second, and
    microseconds of the looping thread's processor time for each batch."""
    import leat

    dataset = leat.from_text(text).options(seed=0).configure(threads=options.threads)
    begun = time.perf_counter()
    counted, batches, since, used = 0, 0, 0.0, 0.0
    while True:
        for images, labels in dataset:
            now = time.perf_counter()
            if since == 0.0:
                if now - begun > 1.0:  # as the command warms up
                    since, used = now, time.thread_time()
                continue
            counted += len(labels)
            batches += 1
            if now - since >= options.seconds:
                used = time.thread_time() - used
                del images
                dataset.close()
                return counted / (now - since), 1e6 * used / batches


def import_seconds() -> float:
    """Processor time, which does not depend on what else runs; the first one may compile."""
    code = "import time; a = time.process_time(); import leat; print(time.process_time() - a)"
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    times = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                                  env=env).stdout) for _ in range(9)]
    return statistics.median(times[1:])


def main() -> int:
    parser = argparse.ArgumentParser(description="Python's loop over batches against `leat bench`.")
    parser.add_argument("--photos", type=Path, help="a folder of photographs (default: made here)")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/bench")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--leat", default=str(ROOT / "build/release/cli/leat"))
    options = parser.parse_args()
    photos = options.photos or options.folder / "photos"
    if not photos.exists():
        subprocess.run([options.leat, "synth", str(photos), "--images", "500", "--quiet"], check=True)
    small, large = (arrays(options, n, side) for n, side in ((2000, 64), (200, 224)))
    texts = {
        "photos to 224x224 f32, batch 64":
            f"folder '{photos}' | shuffle | decode | random_resized_crop 224 | normalize imagenet | batch 64",
        "arrays 64x64 u8, flipped, to f32, batch 64":
            f"{small} | shuffle | random_flip_left_right | cast f32 scale=1/255 | batch 64",
        "arrays 224x224 u8, to f32, batch 64": f"{large} | shuffle | cast f32 scale=1/255 | batch 64",
    }
    row("pipeline", "command", "Python loop", "ratio", "wanted", "processor time of the loop")
    print("|---|---|---|---|---|---|")
    for what, text in texts.items():
        pairs, used = [], []
        for turn in range(options.rounds):
            theirs = command_rate(options, text) if turn % 2 == 0 else 0.0
            mine, microseconds = loop_rate(options, text)
            pairs.append((theirs or command_rate(options, text), mine))
            used.append(microseconds)
        ratio = statistics.median(mine / theirs for theirs, mine in pairs)
        row(what, f"{statistics.median(theirs for theirs, _ in pairs):,.0f}/s",
            f"{statistics.median(mine for _, mine in pairs):,.0f}/s", f"**{ratio:.2f}**", "at least 0.97",
            f"{statistics.median(used):.0f} us a batch")
    row("import leat, processor time", "", f"{1000 * import_seconds():.0f} ms", "", "under 50 ms", "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
