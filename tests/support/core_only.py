"""Run commands as on a machine that has the core dependencies alone: packages of extras cannot be imported.

python core_only.py < commands.json     # [["schema", "people.xlsx"], ...]; prints [[exit code, error text], ...]
"""

from __future__ import annotations

import contextlib
import importlib.abc
import io
import json
import re
import sys
from importlib.metadata import packages_distributions, requires
from typing import Any


def extras(*names: str) -> dict[str, set[str]]:
    """Return the modules of the packages that each extra of the package names."""
    modules: dict[str, set[str]] = {}
    for module, packages in packages_distributions().items():
        for package in packages:
            modules.setdefault(re.sub(r"[-_.]+", "-", package).lower(), set()).add(module)
    found: dict[str, set[str]] = {}
    for line in requires("discreet") or ():
        package = re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", line)[0]).lower()  # type: ignore[index]
        for extra in re.findall(r"extra == ['\"]([\w-]+)['\"]", line):
            if extra in names:
                found.setdefault(extra, set()).update(modules.get(package, ()))
    return found


class Absent(importlib.abc.MetaPathFinder):
    """Finds nothing where a package of an extra is asked for."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def find_spec(self, name: str, *_: Any) -> None:
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def main() -> None:
    held = extras("plot", "spark", "excel", "stats", "sql", "sign", "collector", "studio")
    sys.meta_path.insert(0, Absent(set().union(*held.values()) - {"discreet"}))
    from discreet.cli import main as discreet

    results = []
    for words in json.load(sys.stdin):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            try:
                discreet(words)
                code = 0
            except SystemExit as left:
                code = int(left.code or 0)
            except BaseException as error:
                code, _ = -1, said.write(f"{type(error).__name__}: {error}")
        results.append([code, " ".join(said.getvalue().split())])
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()
