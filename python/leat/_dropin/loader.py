# SPDX-License-Identifier: Apache-2.0
"""Modules that lie over a library: leat's own names first, and for any other name the library's very same object.

`leat.tf` lies over tensorflow, `leat.keras` over keras; names.py has the own names. A module that has an own name, or
a module below that has one, is an Overlay. Every other module below is the library's module itself, under a second
name in sys.modules: `import leat.tf.image` gives the object that `tensorflow.image` is. The library is imported when a
name is first asked for, and `import leat.tf` works without it.
"""
from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from .names import LIBRARIES, OWN

# Names with two underscores are about the module itself, and tools ask every module in sys.modules for them. These are
# the library's.
FORWARDED = frozenset(("__version__", "__git_version__", "__compiler_version__", "__cxx11_abi_flag__",
                       "__cxx_version__", "__monolithic_build__", "__internal__", "__operators__"))


def _with_parents(names: Sequence[str]) -> frozenset[str]:
    parts = [name.split(".") for name in names]
    return frozenset(".".join(part[:n]) for part in parts for n in range(2, len(part) + 1))


NODES = _with_parents(list(OWN))  # modules that are Overlays


def root_of(name: str) -> str | None:
    """The drop-in module that a module's name lies in: "leat.tf" for "leat.tf.keras.layers"."""
    root = ".".join(name.split(".")[:2])
    return root if root in LIBRARIES else None


def missing(root: str) -> str:
    """What to do where the library is not installed."""
    library, words = LIBRARIES[root]
    return f"{root} takes this from {library}, which is not installed: {words}"


class NotInstalled(ImportError):
    """The library is not there. If it is there and cannot be imported, its own error is raised."""


def _import(name: str, root: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name == LIBRARIES[root][0]:
            raise NotInstalled(missing(root), name=error.name) from None
        raise


def real(name: str) -> ModuleType:
    """The library's module for the name of a drop-in module.

    A module that is an attribute of its parent is taken as it is: importing `tensorflow.image` by its name would make a
    second copy of it and put it in the place of the first. tf.keras is an object that imports Keras when it is asked.
    """
    root = root_of(name)
    assert root is not None
    library = LIBRARIES[root][0]
    if name == root:
        return _import(library, root)
    parent, _, leaf = name.rpartition(".")
    found = getattr(real(parent), leaf, None)
    return found if isinstance(found, ModuleType) else _import(library + name.removeprefix(root), root)


class Overlay(ModuleType):
    """A module over one of a library. It keeps none of the library's objects, because the library may replace them."""

    def __getattr__(self, name: str) -> Any:
        here = self.__name__
        if name == "__all__":
            return self._public()
        if name.startswith("__") and name not in FORWARDED:
            raise AttributeError(f"module '{here}' has no attribute '{name}'", name=name, obj=self)
        if f"{here}.{name}" in NODES:
            return import_module(f"{here}.{name}")
        own = OWN.get(here, {}).get(name)
        try:
            if own is None:
                return getattr(real(here), name)
            module, _, attribute = own.partition(":")
            found = getattr(_import(module, root_of(here) or ""), attribute)
        except NotInstalled as error:
            raise AttributeError(f"module '{here}' has no attribute '{name}': {error}", name=name, obj=self) from None
        self.__dict__[name] = found
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        """A program that sets something sets it in the library. Importing a module below sets it too: that is known."""
        full = f"{self.__name__}.{name}"
        if name.startswith("__") or name in self.__dict__ or name in OWN.get(self.__name__, {}) or full in NODES:
            super().__setattr__(name, value)
        elif sys.modules.get(full) is not value:
            setattr(real(self.__name__), name, value)
        elif getattr(real(self.__name__), name, None) is not value:
            self.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        if name in self.__dict__:
            super().__delattr__(name)
        else:
            delattr(real(self.__name__), name)

    def _own(self) -> set[str]:
        prefix = self.__name__ + "."
        below = {node.removeprefix(prefix) for node in NODES if node.startswith(prefix)}
        return {*OWN.get(self.__name__, {}), *(name for name in below if "." not in name)}

    def _public(self) -> list[str]:
        try:
            library = real(self.__name__)
        except NotInstalled:
            return sorted(self._own())
        names = getattr(library, "__all__", None) or [name for name in dir(library) if not name.startswith("_")]
        return sorted({*names, *self._own()})

    def __dir__(self) -> list[str]:
        names = {name for name in self.__dict__ if name.startswith("__")} | self._own()
        try:
            names.update(dir(real(self.__name__)))
        except NotInstalled:
            pass
        return sorted(names)

    def __repr__(self) -> str:
        root = root_of(self.__name__)
        assert root is not None
        return f"<module '{self.__name__}' over '{LIBRARIES[root][0]}{self.__name__.removeprefix(root)}'>"


class Finder:
    """Finds the modules below the drop-in modules; stands in sys.meta_path. It is their loader too."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        root = root_of(name)
        if root is None or name == root:  # which is a file of the package
            return None
        if name not in NODES:
            try:
                real(name)
            except NotInstalled as error:
                raise ImportError(str(error), name=name) from None
            except ModuleNotFoundError as error:
                if not (LIBRARIES[root][0] + name.removeprefix(root)).startswith(error.name or "?"):
                    raise  # of something that this module of the library imports
                return None  # Python says that there is no such module
        return ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Overlay(spec.name) if spec.name in NODES else ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Python takes what stands in sys.modules after this: for a module without own names, the library's."""
        if not isinstance(module, Overlay):
            sys.modules[module.__name__] = real(module.__name__)


_finder = Finder()


def become(name: str) -> None:
    """The module of this name, a file of the package, becomes the Overlay at the top of its library."""
    module = sys.modules[name]
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    module.__path__ = []
    module.__class__ = Overlay
