#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What feeders on Ray cost: batches of leat.ray.feed against the same batches made in the trainer, and against Ray Data.

    PYTHONPATH=build/package build/frameworks/bin/python bench/python/ray_feed.py [--images 800] [--epochs 4] [--rounds 3]

Pictures around 500x375, random_resized_crop 224, flip, as u8 and normalised to f32. One feeder with all cores of the machine; then the
same on another raylet, where each batch is copied from one object store to the other. Runs take turns, and the best rate of each
counts, since other programs can only slow it down. CPU: processor time of this process and all of Ray's, beyond what the batches take
locally, for each MB that came. The limit: the rate if each batch took no more than its processor time here and that of a bare `ray.put`,
without which no batch gets into the object store. Ray Data: read_images, the same cut and flip by Pillow, no workers of leat's. The last
line is `bars held` if those of docs/scaling.md are."""
import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path

os.environ.setdefault("RAY_AUTH_MODE", "disabled")
import leat  # noqa: E402
import leat.ray  # noqa: E402
import numpy  # noqa: E402
import ray  # noqa: E402
from PIL import Image  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
SIDE, BATCH = 224, 64
BARS = {"one node, u8": 0.95, "one node, f32": 0.80}
CPU_BAR, RAY_DATA_BAR = 2.0, 8.0
STORE = 1 << 30


def row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def pipeline(folder: Path, floats: bool) -> leat.Dataset:
    ds = leat.from_directory(folder).shuffle(seed=3).random_resized_crop(SIDE).random_flip_left_right()
    return (ds.normalize("imagenet") if floats else ds).batch(BATCH)


def processor_times() -> dict[str, float]:
    """Seconds of this process and of each process of Ray."""
    seconds = {}
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            try:
                name = (process / "cmdline").read_bytes()
                if process.name == str(os.getpid()) or b"ray" in name:
                    fields = (process / "stat").read_text().rpartition(") ")[2].split()
                    seconds[process.name] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            except OSError:
                continue
    return seconds


def processor_time(before: dict[str, float]) -> float:
    """Of all of them since then; what a process that has ended took is not known."""
    return sum(seconds - before.get(process, 0.0) for process, seconds in processor_times().items())


def measure(ds: leat.Dataset, epochs: int) -> tuple[float, float, float]:
    """Pictures a second, processor seconds and MB of the epochs behind the first, which starts everything."""
    for _ in ds:
        pass
    pictures, size, before, begun = 0, 0, processor_times(), time.monotonic()
    for _ in range(epochs):
        for images, _ in ds:
            pictures += len(images)
            size += images.nbytes
    return pictures / (time.monotonic() - begun), processor_time(before), size / 1e6


def put_cost(floats: bool) -> float:
    """Processor seconds of ray.put for each MB of a batch, once all of the object store's memory has been used."""
    batch = numpy.ones((BATCH, SIDE, SIDE, 3), "float32" if floats else "uint8")
    puts = 2 * STORE // batch.nbytes
    for _ in range(puts):
        ray.put(batch)
    before = processor_times()
    for _ in range(puts):
        ray.put(batch)
    return processor_time(before) / (puts * batch.nbytes / 1e6)


def cut(record: dict) -> dict:
    """What random_resized_crop does, on one picture of Ray Data."""
    generator = numpy.random.default_rng()
    height, width = record["image"].shape[:2]
    side = int(min(height, width) * generator.uniform(0.3, 1) ** 0.5)
    top, left = generator.integers(0, height - side + 1), generator.integers(0, width - side + 1)
    image = Image.fromarray(record["image"]).resize((SIDE, SIDE), Image.Resampling.BILINEAR, (left, top, left + side, top + side))
    return {"image": numpy.asarray(image)[:, ::-1] if generator.random() < 0.5 else numpy.asarray(image)}


def measure_ray_data(folder: Path) -> float:
    ray.data.DataContext.get_current().enable_progress_bars = False
    data = ray.data.read_images(str(folder), mode="RGB").map(cut)
    rate = 0.0
    for _ in range(2):  # the first starts everything
        begun = time.monotonic()
        rate = sum(len(batch["image"]) for batch in data.iter_batches(batch_size=BATCH)) / (time.monotonic() - begun)
    return rate


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=800)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": cores, "object_store_memory": STORE, "include_dashboard": False,
                                                            "resources": {"here": 1}})
    cluster.add_node(num_cpus=cores, object_store_memory=STORE, resources={"there": 1})
    cluster.wait_for_nodes()
    ray.init(cluster.address, logging_level="error", log_to_driver=False)
    rates: dict[str, float] = {}
    costs: dict[str, float] = {}
    limits: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        pictures = Path(folder, "pictures")
        subprocess.run([ROOT / "build/release/cli/leat", "synth", pictures, "-n", str(options.images), "-q"], check=True)
        for _ in range(options.rounds):
            for kind in ("u8", "f32"):
                ds = pipeline(pictures, kind == "f32")
                local, local_cpu, local_size = measure(ds, options.epochs)
                put = put_cost(kind == "f32") * local_size
                limits[kind] = max(local_cpu / (local_cpu + put), limits.get(kind, 0))
                rates[f"local, {kind}"] = max(local, rates.get(f"local, {kind}", 0))
                for where, name in (("here", "one node"), ("there", "two nodes")):
                    fed = leat.ray.feed(ds, 1, cores, 4, resources={where: 1})
                    rate, cpu, size = measure(fed, options.epochs)
                    fed.close()
                    rates[f"{name}, {kind}"] = max(rate, rates.get(f"{name}, {kind}", 0))
                    costs[f"{name}, {kind}"] = min((cpu - local_cpu) * 1000 / size, costs.get(f"{name}, {kind}", 1e9))
            rates["Ray Data"] = max(measure_ray_data(pictures), rates.get("Ray Data", 0))
    ray.shutdown()
    cluster.shutdown()
    row("batches", "images/s", "of local", "ms of CPU a MB", "limit of ray.put, of local")
    print("|---|---|---|---|---|")
    for name, rate in rates.items():
        share = rate / rates["local, f32" if "f32" in name else "local, u8"]
        row(name, f"{rate:.0f}", f"{share:.2f}", f"{costs[name]:.2f}" if name in costs else "",
            f"{limits[name[-3:].strip()]:.2f}" if name.startswith("one") else "")
    held = all(rates[name] >= bar * rates["local, " + name.split(", ")[1]] for name, bar in BARS.items())
    held = held and all(cost <= CPU_BAR for name, cost in costs.items() if name.startswith("two"))
    held = held and rates["local, u8"] >= RAY_DATA_BAR * rates["Ray Data"]
    print("bars held" if held else "bars not held")
    return 0 if held else 1


if __name__ == "__main__":
    raise SystemExit(main())
