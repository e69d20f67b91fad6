"""The printed tables of the sketch experiments: 5.1 to 5.18, and the numbers behind Figure 5.5.

Source: A. Requena, degree project, Universidad de Cádiz, September 2024; Figure 5.5 from the result files published
with it. A row is named by its parameters: rows k (k2 of the fragment sketches), columns m, bits and hashes of a filter,
chances f, p and q, bits d of a report, threshold T, users n. Table 5.10 prints some settings twice or three times:
``copy`` numbers them.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

#: Parameters of a row, by name.
Point = dict[str, float]

_FILE = Path(__file__).parents[1] / "published" / "local-sketches.csv"
#: Users beyond which a quick run does not go.
LARGE_N = 200_000
#: Largest less smallest true count of the published files, by the ratio of their printed columns.
RANGES = {"5.2": 19_650.0, "5.4": 19_650.0, "5.5": 38_488.0, "5.6": 38_488.0, "5.10": 7_945.0, "5.13": 196_754.0}
RANGES["5.17"] = RANGES["5.13"]


@cache
def _rows() -> dict[str, dict[str, dict[str, float]]]:
    found: dict[str, dict[str, dict[str, float]]] = {}
    with _FILE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["table"], {}).setdefault(row["where"], {})[row["column"]] = float(row["value"])
    return found


def printed(table: str) -> list[Point]:
    """Return the parameters of the rows of a table, in printed order.

    Examples
    --------
    >>> len(printed("5.2")), printed("5.2")[0], len(printed("5.15"))
    (20, {'k': 16, 'm': 16}, 60)
    """
    return [_point(where) for where in _rows()[table]]


def column(table: str, name: str) -> list[tuple[Point, float]]:
    """Return a column of a table with the parameters of its rows.

    Examples
    --------
    >>> column("5.11", "candidates")[0]
    ({'T': 10}, 9.0)
    """
    return [(_point(where), values[name]) for where, values in _rows()[table].items()]


def _point(where: str) -> Point:
    pairs = (part.split("=") for part in where.split(";"))
    return {name: int(float(text)) if float(text) == int(float(text)) else float(text) for name, text in pairs}
