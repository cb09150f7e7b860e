# SPDX-License-Identifier: Apache-2.0
"""Imports of a script give it the drop-in modules: `import tensorflow as tf` gives leat.tf.

Only import statements of the script, of a notebook, and of modules under its directory are answered so. sys.modules
keeps the library's own modules, and installed packages get these. `builtins.__import__` is the place where Python tells
which module imports; a finder in sys.meta_path does not learn it.
"""
from __future__ import annotations

import builtins
import importlib
import os
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from .._base.notices import tell
from .loader import NODES, real
from .names import LIBRARIES, OWN

ROOTS = {library: root for root, (library, _) in LIBRARIES.items()}  # "tensorflow" -> "leat.tf"
PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
INSTALLED = frozenset(("site-packages", "dist-packages"))
# Names that modules of TensorFlow and Keras have beside those under which a program imports them.
SECOND = (("tensorflow._api.v2.", "leat.tf."), ("keras._tf_keras.keras", "leat.tf.keras"))

_import, _import_module = builtins.__import__, importlib.import_module
_folders: list[str] = []  # whose modules are the script's
_known: dict[str, bool] = {}  # by the file of a module


def is_installed(path: str) -> bool:
    """Whether a file is of a package, of Python, or of a tool that started the program."""
    path = os.path.realpath(path)
    python = [os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "scripts")]
    return not INSTALLED.isdisjoint(path.split(os.sep)) or os.path.dirname(path) in python or path.startswith(
        tuple(folder + os.sep for folder in python))


def _below(path: str, folder: str) -> bool:
    """Whether a module is a part of the script in this folder: not of a package that is installed inside of it."""
    if not path.startswith(os.path.join(folder, "")):
        return False
    parts = os.path.relpath(path, folder).split(os.sep)[:-1]
    places = [os.path.join(folder, *parts[:n]) for n in range(1, len(parts) + 1)]
    return INSTALLED.isdisjoint(parts) and not any(os.path.exists(os.path.join(each, "pyvenv.cfg")) for each in places)


def is_script(names: Mapping[str, Any] | None) -> bool:
    """Whether a module, told by its globals, is the script, the notebook, or a module under its directory."""
    if names is None:
        return False
    if names.get("__name__") == "__main__":
        return True
    file = names.get("__file__")
    if not isinstance(file, str):
        return False
    found = _known.get(file)
    if found is None:
        path = os.path.realpath(file)
        found = not path.startswith(os.path.join(PACKAGE, "")) and any(_below(path, folder) for folder in _folders)
        _known[file] = found
    return found


def _renamed(name: str) -> str | None:
    """leat's name of a module of a library: "leat.tf.keras" for "tensorflow.keras"."""
    library, _, rest = name.partition(".")
    root = ROOTS.get(library)
    return None if root is None else f"{root}.{rest}" if rest else root


def _import_for(name: str, globals: Mapping[str, Any] | None = None, locals: Mapping[str, Any] | None = None,
                fromlist: Sequence[str] | None = (), level: int = 0) -> ModuleType:
    """Takes the place of builtins.__import__."""
    if level != 0 or name.partition(".")[0] not in ROOTS or not is_script(globals):  # of all libraries: it has to be quick
        return _import(name, globals, locals, fromlist or (), level)
    renamed = _renamed(name)
    assert renamed is not None
    if fromlist:
        return _import(renamed, globals, locals, fromlist, 0)
    _import_module(renamed)
    return sys.modules[ROOTS[name.partition(".")[0]]]  # `import a.b` binds a


def _import_module_for(name: str, package: str | None = None) -> ModuleType:
    """Takes the place of importlib.import_module."""
    renamed = _renamed(name)
    if renamed is None or not is_script(sys._getframe(1).f_globals):
        return _import_module(name, package)
    return _import_module(renamed)


def _second_name(module: ModuleType) -> str | None:
    """The Overlay that stands for a module of a library, whatever name it was imported by."""
    name = getattr(module, "__name__", "")
    for begin, ours in SECOND:
        if name.startswith(begin):
            name = ours + name.removeprefix(begin)
            return name if name in NODES else None
    found = _renamed(name)
    return found if found in NODES else None


def _counterparts() -> dict[int, tuple[str, str]]:
    """Classes and functions of libraries that are imported already for which leat has an own one: by id, the module and
    the name. Of constants, such as AUTOTUNE, the value says nothing about where it comes from."""
    found = {}
    for module, names in OWN.items():
        if LIBRARIES[".".join(module.split(".")[:2])][0] not in sys.modules:
            continue
        try:
            library = real(module)
        except ImportError:
            continue
        theirs = {name: getattr(library, name, None) for name in names}
        found.update({id(value): (module, name) for name, value in theirs.items() if callable(value)})
    return found


def rebind(names: dict[str, Any]) -> list[str]:
    """Names of the script that already are modules or classes of a library become leat's; gives these names."""
    changed = []
    classes = _counterparts()
    for name, value in list(names.items()):
        if name.startswith("__"):
            continue
        if isinstance(value, ModuleType):
            module = _second_name(value)
            if module is not None:
                names[name] = _import_module(module)
                changed.append(name)
        elif id(value) in classes:
            names[name] = getattr(_import_module(classes[id(value)][0]), classes[id(value)][1])
            changed.append(name)
    return changed


def begin(*folders: str, how: str = "leat.auto") -> None:
    """From now on imports of the script are answered with drop-in modules. Names that it has already are changed."""
    for folder in folders:
        path = os.path.realpath(folder)
        if path not in _folders:
            _folders.append(path)
    _known.clear()
    builtins.__import__ = _import_for
    importlib.import_module = _import_module_for
    if not any(library in sys.modules for library in ROOTS):
        return
    changed = {name for module in list(sys.modules.values()) if is_script(getattr(module, "__dict__", None))
               for name in rebind(vars(module))}
    if changed:
        tell(f"{how} came after imports of TensorFlow or Keras. These names are leat's from now on: "
             f"{', '.join(sorted(changed))}. What was made with them before is not: put {how} first")


def end() -> None:
    """Imports are Python's own again. Names that were bound stay."""
    builtins.__import__, importlib.import_module = _import, _import_module
    _folders.clear()


def main_folder() -> str | None:
    """The directory of the script that runs: of a module of a package, the one that the package is in."""
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    if not isinstance(file, str) or is_installed(file):
        return os.getcwd() if file is None else None  # a notebook or an interpreter; a tool
    name = getattr(getattr(main, "__spec__", None), "name", "")
    folder = os.path.dirname(os.path.realpath(file))
    for _ in range(name.count(".")):
        folder = os.path.dirname(folder)
    return folder
