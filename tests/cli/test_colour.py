# SPDX-License-Identifier: Apache-2.0
"""Colour and noise as they are used, with drawn amounts: equal bytes unfused, in plain C and with any number of threads.
tests/golden compares with the real libraries, but there nothing is left to chance."""
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LEAT = os.environ.get("LEAT", str(ROOT / "build/release/cli/leat"))
TEXTS = [
    "gaussian_noise 0.2",
    "cast f32 scale=1/255 | gaussian_noise 0.2 clip=true | random_saturation 0.5 1.5",
    "color_jitter 0.4 0.4 0.4 0.1",
    "color_jitter 0.4 0.4 0.4 0.4 flavour=keras",
    "random_brightness 0.2 | random_contrast 0.7 1.3 | random_saturation 0.5 1.5 | random_hue 0.2",
    "cast f32 scale=1/255 | random_brightness 0.2 | random_contrast 0.7 1.3 | random_saturation 0.5 1.5 | random_hue 0.2",
    "random_saturation 0.2 0.7 flavour=keras | random_hue 0.3 flavour=keras | random_brightness 0.2 flavour=keras",
    "random_gamma 0.5 2 | random_grayscale 0.5 | random_color_degeneration 0.7",
    "random_hue 0.3 flavour=pil | random_saturation 0.3 1.9 flavour=pil | random_grayscale 0.3 flavour=pil",
]


def digest(text: str, *words: str, mask: str | None = None) -> str:
    spec = f"synth 40 37 53 | random_flip_left_right | {text} | random_flip_up_down | batch 8"
    env = {**os.environ, **({"LEAT_CPU_MASK": mask} if mask else {})}
    done = subprocess.run([LEAT, "run", spec + words[0], "--sink", "digest", "--epochs", "2", *words[1:]],
                          capture_output=True, text=True, timeout=60, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("text", TEXTS)
def test_equal_bytes(text):
    made = digest(text, "", "--threads", "1")
    assert digest(text, "", "--threads", "3") == made
    assert digest(text, "", "--threads", "1", mask="0") == made
    assert digest(text, " | options fuse=off", "--threads", "2") == made
    assert digest(text, " | options seed=5", "--threads", "1") != made
