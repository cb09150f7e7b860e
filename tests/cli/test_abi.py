# SPDX-License-Identifier: Apache-2.0
"""The binary interface is what tests/abi/libleat.abi says, and a change of it is noticed."""
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_interface_is_as_described():
    done = subprocess.run([sys.executable, ROOT / "scripts/abi.py"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("header", "before", "after", "said"), [
    ("leat.h", "uint64_t reserved[4];", "uint64_t reserved[5];", "leat_error"),
    ("leat.h", "int n_slots;", "int n_slots_max;", "n_slots"),
    ("leat.h", "LEAT_API int leat_version_number(void);", "", "leat_version_number"),
    ("leat_tools.h", "int64_t look_at,", "int look_at,", "leat_info_read"),
    ("leat_tools.h", "LEAT_API const char *leat_op_near(const char *name);",
     "LEAT_API const char *leat_op_near(const char *name);\nLEAT_API int leat_op_new(void);", "leat_op_new"),
])
def test_changes_are_noticed(tmp_path, monkeypatch, capsys, header, before, after, said):
    described = importlib.util.spec_from_file_location("abi", ROOT / "scripts/abi.py")
    abi = importlib.util.module_from_spec(described)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    described.loader.exec_module(abi)
    for part in ("include/leat", "tests/abi"):
        shutil.copytree(ROOT / part, tmp_path / part)
    (tmp_path / "src").mkdir()
    shutil.copy(ROOT / "src/leat.map", tmp_path / "src")
    path = tmp_path / "include/leat" / header
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after, 1))
    monkeypatch.setattr(abi, "ROOT", tmp_path)
    monkeypatch.setattr(abi, "DESCRIPTION", tmp_path / "tests/abi/libleat.abi")
    monkeypatch.setattr(sys, "argv", ["abi.py"])
    assert abi.main() == 1
    out = capsys.readouterr().out
    assert said in out and "make generate" in out
    monkeypatch.setattr(sys, "argv", ["abi.py", "--write"])
    assert abi.main() == 0
    monkeypatch.setattr(sys, "argv", ["abi.py"])
    assert abi.main() == 0
