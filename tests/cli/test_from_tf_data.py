# SPDX-License-Identifier: Apache-2.0
"""The texts of examples/from_tf_data.md run, and give the order that real tf.data gave."""
import re

import numpy
import pytest

import guide_data
from conftest import ROOT

PAGE = (ROOT / "examples/from_tf_data.md").read_text()
SECTIONS = {section.splitlines()[0][4:]: section for section in re.split(r"(?m)^(?=### )", PAGE)[1:]}


def numbers(text: str) -> list[list[int]]:
    return [[int(n) for n in batch.split()] for batch in text.split("/")]


@pytest.mark.parametrize("name", SECTIONS)
def test_text(leat, tmp_path, name):
    guide_data.make(tmp_path)
    (text,) = re.findall(r"```leat\n(.*?)```", SECTIONS[name], re.S)
    order = re.search(r"(?m)^Order: (.*)$", SECTIONS[name])
    words = ["run", text.strip(), "--quiet"]
    if not order:
        first = leat(*words, "--sink", "samples", "--epochs", 2).stdout
        assert len(first.splitlines()) > 4 and first == leat(*words, "--sink", "samples", "--epochs", 2, "--threads", 3).stdout
        return
    lines = leat(*words, "--sink", "ids").stdout.splitlines()
    got = [[int(n) for n in line.split(":")[1].split()] for line in lines]
    if re.search(r"\bid\b", text):  # numbers of samples are leat's own where data sets are put together
        leat(*words, "--sink", "npy:out")
        got = [numpy.load(path).tolist() for path in sorted(tmp_path.glob("out/*_id.npy"))]
    assert got == numbers(order[1])


def test_every_section_has_both():
    for section in SECTIONS.values():
        assert section.count("```python") == 1 and section.count("```leat") == 1, section
