# SPDX-License-Identifier: Apache-2.0
"""Nothing is added without its proof: vector kernels have a case in tests/kernel, fuzz targets have seeds, golden files have
the script that wrote them.

That every operation is described is in test_docs.py, that every image operation has a golden case in test_golden.py.
"""
import json
import re
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parents[2]


def test_every_kernel_is_compared_with_its_specification():
    """The kernel program replaces every kernel of the tables it knows by one that does nothing, and some case must fail
    then (complete_*). So it has to know every table, and every function that stands in none."""
    tests = "".join(path.read_text() for path in (ROOT / "tests/kernel").glob("*.c"))
    vectors = [path for path in sorted((ROOT / "src").rglob("*.c")) if path.parent.name == "x86"]
    assert len({path.parent for path in vectors}) >= 3
    tables = set()
    for path in vectors:
        found = re.findall(r"^\w[\w *]*\b(leat__\w+)\(([^)]*)\)\s*\{", path.read_text(), re.M)
        assert found, f"{path} has no function that others call"
        for name, arguments in found:
            if table := re.fullmatch(r"leat__(\w+_dsp)_init_\w+", name):
                assert f"leat__{table[1]} *" in arguments, f"{path}: {name} fills another table than its name says"
                tables.add(table[1])
            else:
                assert re.search(rf"\b{name}\b", tests), f"tests/kernel does not know {name}"
    assert tables >= {"image_dsp", "jpeg_dsp"}
    for table in sorted(tables):
        assert f"sizeof(leat__{table})" in tests, f"tests/kernel has no k_table for leat__{table}"


def test_every_fuzz_target_has_seeds_and_is_described():
    security = (ROOT / "SECURITY.md").read_text()
    targets = sorted((ROOT / "tests/fuzz").glob("fuzz_*.c"))
    assert len(targets) > 10
    for path in targets:
        assert f"`{path.stem}`" in security, f"SECURITY.md does not say what {path.stem} covers"
        seeds = ROOT / "tests/fuzz/corpus" / path.stem.removeprefix("fuzz_")
        assert any(seeds.glob("*")), f"{seeds} is empty: tests/fuzz/make_corpus.py"
    for name in re.findall(r"`(fuzz_\w+)`", security):
        assert (ROOT / f"tests/fuzz/{name}.c").exists(), f"SECURITY.md names {name}, which is not there"


def test_every_golden_file_has_its_script():
    made = "".join(path.read_text() for path in (ROOT / "tests/golden/make").glob("*.py"))
    for path in (ROOT / "tests/golden").glob("*.npz"):
        assert f'Golden("{path.stem}")' in made, path.name
        assert path.stat().st_size < 200_000, f"{path.name}: smaller pictures will do"
        for case in json.loads(str(numpy.load(path)["cases"])):
            assert case["library"], f"{path.name}: {case['name']} does not name its library"
