"""Doors of rooms: the names that a package offers, loaded on first use; and other packages, loaded on first use.

The names are in the package's stub, ``__init__.pyi``, one per line: ``from .module import name as name``. Type checkers
read the same lines. ``__all__`` lists what users see; without it, they see every name. `lazy_loader.attach_stub` would
show all names to users, take none from other packages, and import `ast` at every start.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    """A package whose door may offer a name that is also a file in it, such as the function `anonymity.risk`.

    Python binds a file to its package when it is imported. Here the offered name stays.
    """

    _offered: set[str]

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._offered or value is not sys.modules.get(f"{self.__name__}.{name}"):
            super().__setattr__(name, value)


def door(
    package: str, file: str, hint: Callable[[str], str] = lambda _: ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package that loads its names on first use.

    ``hint`` may say more about a name that is not there.
    """
    with open(f"{file.removesuffix('.py').removesuffix('.pyc')}.pyi", encoding="utf-8") as stub:
        text = stub.read()
    homes = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 6 and words[0] == "from" and words[4] == "as":
            _, module, _, name, _, offered = words
            homes[offered] = (package + module.rstrip(".") if module.startswith(".") else module, name)
    shown = sorted(text.partition("__all__ = [")[2].split('"')[1::2] or homes)

    def load(name: str) -> Any:
        if name not in homes:
            where = "" if name.startswith("_") else hint(name)
            raise AttributeError(f"module {package!r} has no attribute {name!r}{where}")
        module, inner = homes[name]
        if module == package:
            return import_module(f"{package}.{inner}")
        home = import_module(module)
        return getattr(home, inner) if hasattr(home, inner) else import_module(f"{module}.{inner}")

    room = sys.modules[package]
    room._offered = {name for name, (module, _) in homes.items() if module != package}  # type: ignore[attr-defined]
    room.__class__ = _Room
    return load, lambda: shown, shown


class _Later:
    """Stands for a module that is imported when a name of it is used."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # asked by protocols such as pickling
            raise AttributeError(name)
        return getattr(import_module(self._module), name)


def later(module: str) -> Any:
    """Return a module that takes long to import, and is imported when a name of it is used."""
    return _Later(module)
