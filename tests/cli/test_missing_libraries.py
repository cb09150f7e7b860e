# SPDX-License-Identifier: Apache-2.0
"""A machine without the libraries: configuring, which `pip install .` does, names all of them and the command."""
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_command_that_installs_them_is_named(tmp_path):
    environment = {**os.environ, "PKG_CONFIG_LIBDIR": str(tmp_path), "CMAKE": "/nonexistent"}
    done = subprocess.run(["/usr/bin/meson", "setup", tmp_path / "build", ROOT], capture_output=True, text=True,
                          env=environment, timeout=300, stdin=subprocess.DEVNULL)
    assert done.returncode != 0
    line = next(line for line in done.stdout.splitlines() if "leat needs" in line)
    for name in ("libjpeg", "libpng", "libwebp", "libxxhash"):
        assert name in line
    assert "apt-get install build-essential" in done.stdout and "libwebp-dev" in done.stdout
