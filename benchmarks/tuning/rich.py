"""From which z on trees are better than coarse grids for private k-means on 4 to 11 columns; generated tables only.

    python -m benchmarks.tuning.rich [--tables 640] [--minutes 8]

z is rows times ε for each cluster, over what a mean needs. Every table is clustered twice by `PrivateKMeans`, once with
a coarse grid and once with a PrivTree, everything else being as it is; seeds are the same. For every value of RICH
(`discreet.clustering.central.auto`) the mean cost follows; shown is that of each value over the one that is best on the
*other* half of the tables, with its 95 % interval: if that lies above 0 for the value in use, another one is taken. (So
12 became 6.) Results go to results/tune_rich.json.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

import numpy as np

from benchmarks._bench import save
from benchmarks.tuning.generated import Table
from discreet import Domain, PrivateKMeans
from discreet.clustering.central import auto
from discreet.evaluation import nicv

SHAPES = ("round", "unequal", "background", "chain", "skewed", "scores", "tubes", "heavy")
VALUES = (0.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0, 24.0)


def cell(number: int) -> tuple[Table, float]:
    """Return a table and a budget, z between 1 and 40."""
    rng = np.random.default_rng([2028, number])
    while True:
        d, k = int(rng.integers(4, 12)), int(rng.integers(2, 21))
        n = int(np.exp(rng.uniform(math.log(1000), math.log(50_000))))
        epsilon = float(rng.choice([0.05, 0.1, 0.2, 0.5, 1.0]))
        if 1 <= n * epsilon / k / auto.rows_for_a_mean(d) <= 40:
            return Table(SHAPES[number % len(SHAPES)], n, d, k, float(rng.choice([4.0, 8.0, 16.0]))), epsilon


def fitted(X: np.ndarray, table: Table, epsilon: float, rich: float, seed: int) -> float:
    """Return the cost with a tree (``rich`` = 0) or a coarse grid (∞)."""
    held, auto.RICH = auto.RICH, rich
    try:
        model = PrivateKMeans(table.k, epsilon, Domain.box([0] * table.d, 1), random_state=seed).fit(X)
    finally:
        auto.RICH = held
    return nicv(X, model.cluster_centers_)


def rule(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what every value costs, the best, and the value in use over one found on other tables."""
    z, trees = np.array([r["z"] for r in runs]), np.array([r["tree over grid"] for r in runs])
    costs = np.array([np.where(z >= value, trees, 0.0) for value in VALUES])
    half = np.arange(len(runs)) // len(SHAPES) % 2 == 0
    picked = np.where(half, costs[costs[:, ~half].mean(1).argmin()], costs[costs[:, half].mean(1).argmin()])
    apart = costs - picked
    bands = [(a, b, (z >= a) & (z < b)) for a, b in zip(VALUES, (*VALUES[1:], math.inf), strict=True)]
    return {
        "tables": len(runs),
        "in use": auto.RICH,
        "mean over coarse grids alone, by value": {
            f"{v:g}": float(np.exp(c.mean()).round(4)) for v, c in zip(VALUES, costs, strict=True)
        },
        "log of a value over one found on other tables": {
            f"{v:g}": [float(a.mean()), 1.96 * float(a.std(ddof=1)) / math.sqrt(len(runs))]
            for v, a in zip(VALUES, apart, strict=True)
        },
        "tree over grid, by z": {
            f"{a:g}": [float(np.exp(trees[s].mean())), int(s.sum())] for a, _, s in bands if s.any()
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=640)
    parser.add_argument("--minutes", type=float, default=8.0)
    given = parser.parse_args()
    until, runs = time.monotonic() + 60 * given.minutes, []
    for number in range(given.tables):
        if time.monotonic() > until:
            break
        table, epsilon = cell(number)
        X = table.rows()
        grid, tree = (fitted(X, table, epsilon, rich, number) for rich in (math.inf, 0.0))
        z = table.n * epsilon / table.k / auto.rows_for_a_mean(table.d)
        facts = {"table": table.name, "epsilon": epsilon, "z": round(z, 4)}
        runs.append({**facts, "tree over grid": round(math.log(tree / grid), 5)})
    found = rule(runs)
    print(found)
    save("tune_rich", {**found, "runs": runs}, "discreet", "numpy")


if __name__ == "__main__":
    main()
