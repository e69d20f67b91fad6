"""k-means where every device perturbs its own row: which method keeps the clusters, at the same ε for all.

Every device has one row and sends one report; no one sees the row. ε is that of pure local privacy: no report is more
than e^ε times as likely under one row as under any other. Noise of metric privacy promises ε times the distance, so
`NDLaplace` gets ε over the diameter of the box: between the two farthest rows it promises ε, and between nearer ones
less, which the others do not. Every seed has a table of its own and noise of its own.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from discreet.core import FloatArray, IntArray
from discreet_studies.harness.study import Numbers, Setting, Study
from discreet_studies.local_kmeans.findings import findings, notes, pictures, tables
from discreet_studies.local_kmeans.methods import METHODS, WEIGHT, costs
from discreet_studies.local_kmeans.pair_grids import encoded
from discreet_studies.local_kmeans.tables import FILES, Rows, absent, rows

K, SEEDS, QUICK_SEEDS = 4, 20, 2
#: Numbers of rows and columns, and the ε that are run with them.
_CELLS = {(1000, 2): (1.0, 4.0, 16.0), (1000, 10): (4.0, 16.0), (10_000, 2): (1.0, 4.0), (10_000, 10): (1.0, 4.0)}


def settings(quick: bool) -> list[Setting]:
    """Return every table, number of rows and columns, and ε, seed by seed."""
    cells: list[Setting] = []
    for (n, columns), budgets in _CELLS.items():
        if n == 1000 or not quick:
            cells += [{"set": "round", "rows": n, "columns": columns, "epsilon": e} for e in budgets]
    n = 1000 if quick else 10_000
    cells.append({"set": "mixed", "rows": n, "epsilon": 4.0})
    here = [] if quick else [name for name in FILES if name not in absent()]
    cells += [{"set": name, "epsilon": 4.0} for name in here]
    return [{**cell, "seed": seed} for seed in range(QUICK_SEEDS if quick else SEEDS) for cell in cells]


def measure(setting: Setting) -> Numbers:
    """Run every method on the same rows: cost of its centres over that of the best ones, ARI against their clusters."""
    seed, epsilon = int(setting["seed"]), float(setting["epsilon"])
    made, points, best, truth = _table(
        str(setting["set"]), int(setting.get("rows", 0)), int(setting.get("columns", 0)), seed
    )
    found: dict[str, float] = {}
    for name, method in METHODS.items():
        cost, labels = costs(points, method(made, K, epsilon, seed))
        found |= {f"cost {name}": round(cost / best, 4), f"ari {name}": round(adjusted_rand_score(truth, labels), 4)}
    return found


@lru_cache(maxsize=2)
def _table(name: str, n: int, columns: int, seed: int) -> tuple[Rows, FloatArray, float, IntArray]:
    """Return a table, its rows as points, and cost and labels of the best centres of ten starts."""
    made = rows(name, n, columns, seed)
    points = encoded(made.numbers, made.labels, made.categories, WEIGHT)
    some = points[:: max(1, len(points) // 20_000)]
    start = KMeans(K, n_init=10, random_state=0).fit(some)
    last = KMeans(K, init=start.cluster_centers_, n_init=1).fit(points)
    cost, labels = costs(points, np.asarray(last.cluster_centers_))
    return made, points, cost, labels


STUDY = Study(
    "local-kmeans",
    "Local k-means: which report keeps the clusters when every device perturbs its own row",
    "our own experiment; the reports are those of Yang and others (2020), of Asi, Feldman and Talwar (2022), and of "
    "n-dimensional Laplace noise",
    settings,
    measure,
    findings,
    notes,
    pictures,
    absent,
    tables=tables,
)
