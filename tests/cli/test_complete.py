# SPDX-License-Identifier: Apache-2.0
"""Nothing is added without its proof: vector kernels have a case in tests/kernel, golden files have the script that wrote them.

That every operation is described is in test_docs.py, that every image operation has a golden case in test_golden.py.
"""
import json
import re
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parents[2]


def test_every_kernel_is_compared_with_its_specification():
    vectors = "".join(path.read_text() for path in (ROOT / "src/image/x86").glob("*.c"))
    kernels = set(re.findall(r"\bdsp->(\w+)(?:\[[^]]*\])? = \w+", vectors))
    assert len(kernels) > 20
    tests = "".join(path.read_text() for path in (ROOT / "tests/kernel").glob("k_*.c"))
    for kernel in sorted(kernels):
        assert re.search(rf"\bisa->{kernel}\b", tests), f"tests/kernel has no case for {kernel}"
    others = "".join(path.read_text() for path in (ROOT / "src/format/x86").glob("*.c"))
    functions = set(re.findall(r"^uint32_t (leat__\w+_(?:sse42|vpclmul|avx2))\(", others, re.M))
    assert len(functions) > 1
    for function in sorted(functions):
        assert re.search(rf"\b{function}\b", tests), f"tests/kernel has no case for {function}"


def test_every_golden_file_has_its_script():
    made = "".join(path.read_text() for path in (ROOT / "tests/golden/make").glob("*.py"))
    for path in (ROOT / "tests/golden").glob("*.npz"):
        assert f'Golden("{path.stem}")' in made, path.name
        assert path.stat().st_size < 200_000, f"{path.name}: smaller pictures will do"
        for case in json.loads(str(numpy.load(path)["cases"])):
            assert case["library"], f"{path.name}: {case['name']} does not name its library"
