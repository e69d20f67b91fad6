"""The printed figures of the grid-size experiments (Muthukrishnan and Tandon 2026).

Table II is a file, ``published/optimal-grid.csv``: average within-cluster sums of squares. Its normalisation, a K-th of
the sum over all rows, follows from the entries of EUGkM with one cell, which are a multiple of the rows' squared norms.
The copy that was read had lost the heads of the columns: the six ε were recovered from where EUGkM's grid changes. It
had also lost the figures of diffprivlib, Google's method and EUGkM for K = 2, N = 100, and the whole of Table III.
"""

from __future__ import annotations

import csv
from pathlib import Path

#: The number of axes, and the numbers of rows by the number of clusters.
AXES = (2, 3)
ROWS = {2: (100, 200, 400), 4: (200, 400, 800), 8: (400, 800, 1600)}
EPSILONS = (0.10, 0.15, 0.25, 0.40, 0.60, 1.00)

#: By d, K and N.
Cell = tuple[int, int, int]
CELLS: tuple[Cell, ...] = tuple((d, k, n) for d in AXES for k, ns in ROWS.items() for n in ns)

#: Table I: ε_0, rounded up, and ε_1, rounded down.
RANGES: dict[Cell, tuple[float, float]] = {
    (2, 2, 100): (0.026, 15.396),
    (2, 2, 200): (0.014, 21.773),
    (2, 2, 400): (0.007, 30.792),
    (2, 4, 200): (0.019, 30.792),
    (2, 4, 400): (0.010, 43.546),
    (2, 4, 800): (0.005, 61.584),
    (2, 8, 400): (0.014, 61.584),
    (2, 8, 800): (0.008, 87.092),
    (2, 8, 1600): (0.004, 123.168),
    (3, 2, 100): (0.039, 78.475),
    (3, 2, 200): (0.021, 131.979),
    (3, 2, 400): (0.011, 221.962),
    (3, 4, 200): (0.029, 186.647),
    (3, 4, 400): (0.015, 313.901),
    (3, 4, 800): (0.008, 527.918),
    (3, 8, 400): (0.021, 443.924),
    (3, 8, 800): (0.011, 746.588),
    (3, 8, 1600): (0.006, 1255.607),
}


def _table_two() -> tuple[dict[tuple[str, int, int, int, float], float], dict[Cell, float]]:
    private, reference = {}, {}
    with (Path(__file__).parents[1] / "published" / "optimal-grid.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            cell = int(row["d"]), int(row["k"]), int(row["n"])
            if row["epsilon"]:
                private[row["method"], *cell, float(row["epsilon"])] = float(row["wcss"])
            else:
                reference[cell] = float(row["wcss"])
    return private, reference


#: Table II by method (rugnik, eugkm, diffprivlib, google-clustering), d, K, N and ε, and its row without privacy.
WCSS, WITHOUT_PRIVACY = _table_two()
