# SPDX-License-Identifier: Apache-2.0
"""The wheels: made, looked at, and imported elsewhere. That for this machine is installed beside others, and imported in a bare
Debian with Python and NumPy alone; that for 64-bit ARM is imported under qemu. `tests/run.py --only arm` runs the last test."""
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNREACHABLE = (r"No matching distribution|NewConnectionError|Name or service not known|Max retries|debootstrap has failed"
               r"|needs Zig's C compiler")


def made(*options: str) -> str:
    done = subprocess.run([ROOT / "scripts/wheel", *options, "--check"], capture_output=True, text=True, timeout=1500,
                          stdin=subprocess.DEVNULL)
    said = done.stdout + done.stderr
    if re.search(UNREACHABLE, said):
        pytest.skip("no package index or mirror can be reached")
    assert done.returncode == 0, said
    return said


def test_a_wheel_is_made_and_works_elsewhere():
    said = made()
    assert re.search(r"leat-[\d.]+-cp311-abi3-manylinux_2_28_\w+\.whl, \d+ bytes", said), said
    assert "not root" in said or re.search(r"in the bare Debian\n.*\(20, 48, 48, 3\) float32 as the command", said), said


def test_a_wheel_for_arm_is_made_and_works_under_qemu():
    said = made("--arm")
    assert re.search(r"leat-[\d.]+-cp311-abi3-manylinux_2_28_aarch64\.whl, \d+ bytes", said), said
    assert re.search(r"digests: \d+ pipelines, 0 differ", said), said
    assert re.search(r"on aarch64: \(20, 48, 48, 3\) float32 as the command", said), said
