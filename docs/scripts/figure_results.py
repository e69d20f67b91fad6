"""Read result files, and write numbers the way pages show them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_PLACES = ("studies/discreet_studies/results", "studies/measures/results", "benchmarks/results", "tests/fuzz")
FOLDERS = tuple(ROOT / name for name in _PLACES)


def read(name: str) -> dict[str, Any]:
    """Return a result file of any folder."""
    path = next(folder / f"{name}.json" for folder in FOLDERS if (folder / f"{name}.json").is_file())
    held: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return held


def one(rows: Iterable[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    """Return the one row that has these values."""
    (found,) = [row for row in rows if all(row[name] == value for name, value in wanted.items())]
    return found


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of a page."""
    lines = [heads, ["---"] * len(heads), *rows]
    shown = ["| " + " | ".join(line) + " |" for line in lines]
    shown[1] = "|---" * len(heads) + "|"
    return "\n".join(shown).replace("|  |", "| |") + "\n"


def digits(value: float, n: int = 2) -> str:
    """Return a number with n significant digits, and all digits before the point.

    Examples
    --------
    >>> digits(0.0340), digits(7.2076), digits(44.4), digits(1543.0), digits(0.0)
    ('0.034', '7.2', '44', '1,543', '0.0')
    """
    places = n - 1 - math.floor(math.log10(abs(value))) if value else n - 1
    return f"{value:,.{max(0, places)}f}"


def faster(times: float) -> str:
    """Return a ratio of speeds in words."""
    return f"{digits(times)} times faster" if times >= 1 else f"{digits(1 / times)} times slower"


def geometric_mean(logs: Iterable[float]) -> float:
    """Return the geometric mean of what these are the logarithms of."""
    held = list(logs)
    return math.exp(sum(held) / len(held))
