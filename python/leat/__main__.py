# SPDX-License-Identifier: Apache-2.0
"""`python -m leat script.py` runs a script with leat's data sets; the script is not changed."""
from __future__ import annotations

import builtins
import io
import os
import runpy
import shutil
import sys
import sysconfig
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from ._doctor import script
from ._dropin import aliases

HELP = """\
usage: python -m leat SCRIPT [ARGUMENT...]
       python -m leat -m MODULE [ARGUMENT...]
       python -m leat VERB [ARGUMENT...]

Runs a script for TensorFlow or Keras as Python does. Its imports of tensorflow, keras and tensorflow_datasets, and
those of modules under its directory, give leat.tf, leat.keras and leat.datasets. Installed packages get the libraries
themselves.

    python -m leat train.py --epochs 10
    python -m leat -m project.train --epochs 10

Why is a training script slow? It runs as it is, is watched, and the answer comes at its end; see `python -m leat doctor --help`:

    python -m leat doctor train.py

Any other word is a verb of the command `leat`:

    python -m leat bench "folder photos | resize 224 224 | batch 64"
    python -m leat --version
"""


def _run_script(path: str, arguments: list[str], alone: bool = False) -> None:
    """As `python PATH` does: a module __main__ that stays until the end, and its folder in front of sys.path. alone: with the
    libraries themselves."""
    with io.open_code(path) as file:
        code = compile(file.read(), os.path.abspath(path), "exec", dont_inherit=True)
    main: Any = ModuleType("__main__")
    main.__file__, main.__builtins__, main.__cached__ = os.path.abspath(path), builtins, None
    main.__loader__ = SourceFileLoader("__main__", main.__file__)
    folder = os.path.dirname(os.path.realpath(path))
    sys.argv = [path, *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = folder
    sys.modules["__main__"] = main
    if not alone:
        aliases.begin(folder, how="python -m leat")
    exec(code, main.__dict__)


def _run_module(name: str, arguments: list[str], alone: bool = False) -> None:
    """As `python -m NAME` does. The modules of its package are the script's too, wherever they lie."""
    sys.argv = ["-m", *arguments]
    spec = find_spec(name.partition(".")[0])
    places = spec.submodule_search_locations if spec is not None else None
    if not alone:
        aliases.begin(os.getcwd(), *(places or ()), how="python -m leat")
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _run_command(arguments: list[str]) -> None:
    """The command of the package, which takes the place of this process."""
    beside = os.path.join(sysconfig.get_path("scripts"), "leat")
    command = beside if os.access(beside, os.X_OK) else shutil.which("leat")
    if command is None:
        sys.exit(f"python -m leat: '{arguments[0]}' is no file here, and the command leat, which could have a verb of "
                 "that name, is not in PATH; python -m leat --help")
    os.execv(command, ["leat", *arguments])


def main(arguments: list[str]) -> None:
    first = arguments[0] if arguments else "--help"
    if first in ("-h", "--help"):
        print(HELP, end="")
    elif first == "-m":
        if len(arguments) < 2:
            sys.exit("python -m leat: -m needs the name of a module")
        _run_module(arguments[1], arguments[2:])
    elif first == "doctor" and script.takes(arguments[1:]):
        script.main(arguments[1:], _run_script, _run_module)
    elif os.path.isfile(first):
        _run_script(first, arguments[1:])
    elif os.sep in first or first.endswith(".py"):
        sys.exit(f"python -m leat: there is no file {first}")
    else:
        _run_command(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
