"""What the benchmarks share: timing, a table, and the result file that the documentation quotes."""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"


def seconds(work: Callable[[], object], *, repeat: int = 5, warm: bool = True) -> float:
    """Return the best of several runs, after one that pays for compilation."""
    if warm:
        work()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of the packages that are installed."""
    found = {"python": platform.python_version()}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def show(title: str, columns: list[str], rows: list[list[Any]]) -> None:
    """Print a table: text to the left, numbers to the right with three digits."""
    table = Table(title=title, title_justify="left")
    for i, name in enumerate(columns):
        table.add_column(name, justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*(f"{x:.3g}" if isinstance(x, float) else str(x) for x in row))
    Console(width=120).print(table)


def save(name: str, facts: dict[str, Any], *packages: str, folder: Path = RESULTS) -> None:
    """Write NAME.json, with the command that makes it."""
    folder.mkdir(exist_ok=True)
    spec = sys.modules["__main__"].__spec__  # the benchmarks run as modules
    head = {
        "command": " ".join(["python -m", spec.name if spec else name, *sys.argv[1:]]),
        "machine": platform.machine(),
        "versions": versions(*packages),
    }
    (folder / f"{name}.json").write_text(json.dumps({**head, **facts}, indent=2) + "\n")
