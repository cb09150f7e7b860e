#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What slow storage costs, with and without read-ahead, as lines of a Markdown table.

    bench/slow.py [--seconds 5] [--build build/release]

Pictures whose files take 5 ms to open (a source that sleeps: tests/unit/test_read_ahead.c), decoded, cropped to 224x224 and
normalised. Busy is the processor time of the process, and of its workers alone, against what the cores could have given
them; on a machine that others use too, compare it with the first line, where storage takes no time."""
import argparse
import json
import subprocess
import sys
from pathlib import Path

import ratios


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=5, help="for each line")
    parser.add_argument("--build", type=Path, default=ratios.ROOT / "build/release")
    options = parser.parse_args()
    ratios.row("a file opens in", "read_ahead", "pictures/s", "cores busy", "with workers", "of the workers' time is reading", "reader threads")
    print("|---|---|---|---|---|---|---|")
    command = [str(ratios.test_program(options.build, "test_read_ahead")), "--bench", str(options.seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        for line in running.stdout:
            result = json.loads(line)
            ratios.row(f"{result['delay_ms']:.0f} ms", result["read_ahead"], f"{result['samples_per_s']:,.0f}",
                       f"**{100 * result['busy']:.0f} %**", f"{100 * result['workers']:.0f} %", f"{100 * result['reading']:.1f} %", result["readers"])
    return running.returncode


if __name__ == "__main__":
    sys.exit(main())
