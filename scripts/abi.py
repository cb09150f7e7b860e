#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The binary interface of libleat.so, compared with its description tests/abi/libleat.abi.

    scripts/abi.py           says what has changed in the interface; exit 1 if anything has
    scripts/abi.py --write   writes the description anew (`make generate`)

The description comes from a library that is compiled from the public headers alone, with an empty body for every
function: so it holds what programs see, and no change inside of leat can change it. The built library itself, if there
is one, is compared with it as well. Needs gcc, and abidw and abidiff (Debian's abigail-tools).
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADERS = ("leat.h", "leat_tools.h")
DESCRIPTION = ROOT / "tests/abi/libleat.abi"
REMEDY = "If the change is intended: make generate, a line in CHANGELOG.md, and commit tests/abi/libleat.abi."
TOOLS = ("gcc", "abidw", "abidiff")


def bodies(header: str) -> str:
    """The functions of a header with an empty body each."""
    code = re.sub(r"/\*.*?\*/", "", (ROOT / "include/leat" / header).read_text(), flags=re.S)
    found = re.findall(r"^LEAT_API\b([^;{]*);", code, flags=re.M)
    return "".join(f"LEAT_API{declared} {{ for (;;) {{ }} }}\n" for declared in found)


def make_library(folder: Path) -> Path:
    """libleat.so of the headers alone."""
    source, library = folder / "interface.c", folder / "libleat.so"
    source.write_text("".join(f"#include <leat/{name}>\n" for name in HEADERS) + "".join(map(bodies, HEADERS)))
    subprocess.run(["gcc", "-std=c11", "-g", "-O0", "-w", "-shared", "-fPIC", f"-I{ROOT / 'include'}", "-o", library, source,
                    "-Wl,-soname,libleat.so.0", f"-Wl,--version-script={ROOT / 'src/leat.map'}"], check=True)
    return library


def describe(library: Path, out: Path) -> None:
    subprocess.run(["abidw", "--no-show-locs", "--no-comp-dir-path", "--no-corpus-path", "--no-elf-needed",
                    "--no-parameter-names", "--type-id-style", "hash", "--out-file", out, library], check=True)
    text = out.read_text()
    text = re.sub(r" (?:comp-dir-path|path)='[^']*'", "", text)
    text = re.sub(r"<abi-instr [^>]*>", "<abi-instr address-size='64' language='LANG_C11'>", text)
    out.write_text(text)


def compare(*words: str | Path) -> str:
    """What differs, "" if nothing does."""
    done = subprocess.run(["abidiff", "--no-show-locs", "--harmless", *words], capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else ""


def main() -> int:
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        print(f"abi: {', '.join(missing)} not found: scripts/install-deps test installs it")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        made = make_library(Path(folder))
        if "--write" in sys.argv[1:]:
            DESCRIPTION.parent.mkdir(exist_ok=True)
            fresh = Path(folder) / "fresh.abi"
            describe(made, fresh)
            if not DESCRIPTION.exists() or compare(DESCRIPTION, fresh):
                shutil.copy(fresh, DESCRIPTION)
                print(f"{DESCRIPTION.relative_to(ROOT)}: written")
            return 0
        differs = compare(DESCRIPTION, made)
        built = ROOT / "build/release/src/libleat.so"
        if not differs and built.exists():
            differs = compare("--headers-dir2", ROOT / "include/leat", "--drop-private-types", DESCRIPTION, built)
    if differs:
        print(f"abi: the interface of libleat.so is not what {DESCRIPTION.relative_to(ROOT)} says:\n{differs}{REMEDY}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
