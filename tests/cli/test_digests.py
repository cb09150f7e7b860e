# SPDX-License-Identifier: Apache-2.0
"""Whole pipelines give the bytes that were committed: on every instruction set that leat can be told to use, and with the
CPU dispatch of the C library and of libjpeg-turbo masked too. tests/cli/digests.py has the pipelines."""
import platform
import re
import subprocess
from pathlib import Path

import pytest

import digests

# Both spellings: glibc 2.33 and later have no _Usable. A name that the C library does not know is ignored.
FEATURES = ("AVX512F", "AVX512VL", "AVX512BW", "AVX2", "AVX", "FMA", "BMI2", "BMI1", "LZCNT", "MOVBE", "SSE4_2", "SSE4_1",
            "SSSE3", "ERMS", "FSRM")
GLIBC = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=" + ",".join(f"-{name},-{name}_Usable" for name in FEATURES)}
MASKS = {f"leat_{mask}": {"LEAT_CPU_MASK": str(mask)} for mask in (0, 1, 2, 3, 5, 7)}
SETTINGS = {
    "as_it_is": {},
    **MASKS,
    "glibc": GLIBC,
    "jpeg_none": {"JSIMD_FORCENONE": "1"},
    "jpeg_sse2": {"JSIMD_FORCESSE2": "1"},
    "all_masked": {**GLIBC, "JSIMD_FORCENONE": "1", "LEAT_CPU_MASK": "0"},
}
HINT = "If these bytes are meant to change, say so in CHANGELOG.md and run: python3 tests/cli/digests.py --write"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return digests.make_inputs(tmp_path_factory.mktemp("digests"))


def compare(names, found) -> None:
    known = digests.committed()
    changed = [f"{name}: {found[name]}, committed is {known.get(name)}" for name in names if found[name] != known.get(name)]
    assert not changed, "other bytes than committed:\n  " + "\n  ".join(changed) + "\n" + HINT


def test_list_is_complete():
    assert list(digests.committed()) == list(digests.PIPELINES), HINT


def test_practice_set(inputs):
    """Before all others: if the pictures differ, so does everything that is made of them."""
    compare(["practice", "made_up"], {name: digests.digest(name, inputs) for name in ("practice", "made_up")})


@pytest.mark.parametrize("setting", SETTINGS)
def test_bytes_are_the_committed_ones(inputs, setting):
    compare(digests.PIPELINES, {name: digests.digest(name, inputs, env=SETTINGS[setting]) for name in digests.PIPELINES})


def test_practice_set_is_painted_alike_everywhere(tmp_path, monkeypatch):
    """The painter, with everything masked."""
    for name, value in SETTINGS["all_masked"].items():
        monkeypatch.setenv(name, value)
    painted = digests.make_inputs(tmp_path)
    compare(["practice", "records"], {name: digests.digest(name, painted) for name in ("practice", "records")})


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other machines have other names for what is masked")
def test_the_mask_of_the_c_library_is_understood():
    """Otherwise the setting above proves nothing."""
    loader = "/lib64/ld-linux-x86-64.so.2"

    def features(env: dict[str, str]) -> list[str]:
        said = subprocess.run([loader, "--list-diagnostics"], capture_output=True, text=True, check=True, env=env).stdout
        return [line for line in said.splitlines() if ".active[" in line or ".usable" in line]

    assert features({}) and features({}) != features(GLIBC)
    assert "avx2" not in Path("/proc/cpuinfo").read_text() or features({}) != features(
        {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX2_Usable"})


def test_the_mask_of_libjpeg_turbo_is_understood():
    linked = subprocess.run(["ldd", digests.COMMAND], capture_output=True, text=True, check=True).stdout
    found = re.search(r"libjpeg\.so\S* => (\S+)", linked)
    library = Path(found[1] if found else digests.COMMAND)  # inside the command with -Dstatic_codecs=true
    for name in ("JSIMD_FORCENONE", "JSIMD_FORCESSE2"):
        assert name.encode() in library.read_bytes(), f"{library} does not know {name}"
