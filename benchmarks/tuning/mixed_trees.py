"""How the budget of a tree that ends in PrivTrees is divided: structure, cuts above, publication; generated tables.

    python -m benchmarks.tuning.mixed_trees

Twenty generated tables (five shapes, four sizes), two budgets, two lists of partitioners. Every candidate releases
every one of them with the same seed. Two figures: NICV of k-means on the leaves, refined as `cluster_synopsis` does,
and the mean error of the counts of 200 random boxes; both over those of the shares that were in use before (0.35,
0.15), geometric means with the 95 % interval over tables, and for shares picked without the table they are used on.
Shares are changed where both figures are no worse and one is better by more than its interval. Gives ABOVE_PRIVTREE of
`discreet.synopses.boxes.tree.settings`. Results go to results/tune_mixed_trees.json.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from scipy import stats

from benchmarks._bench import save, show
from benchmarks.tuning.generated import Table
from discreet import Domain, TreeSynopsis
from discreet.clustering import cluster_synopsis
from discreet.evaluation import nicv
from discreet.synopses import Synopsis, refine

LISTS = (("median", "median", "privtree"), ("quantile", "privtree"))
SHAPES = ("round", "unequal", "skewed", "chain", "tubes")
SIZES = ((3000, 2, 5), (20_000, 2, 15), (5000, 4, 6), (20_000, 6, 8))
EPSILONS = (0.1, 1.0)
#: Shares of structure and of cuts; counts get the rest. Others are compared with the first values that were in use.
BEFORE = "0.35 0.15"
CANDIDATES = [*itertools.product((0.2, 0.35, 0.5, 0.65), (0.05, 0.1, 0.15)), (0.35, 0.25), (0.5, 0.25), (0.1, 0.15)]


def boxes(d: int, seed: int) -> np.ndarray:
    """Return random boxes whose volumes differ widely, as (200, 2, d)."""
    rng = np.random.default_rng(seed)
    sides = rng.uniform(0.01, 0.6, (200, 1)) ** (1 / d) * np.exp(rng.normal(0, 0.2, (200, d)))
    low = rng.uniform(0, 1, (200, d)) * np.maximum(1 - sides, 0)
    return np.stack([low, np.minimum(low + sides, 1.0)], axis=1)


def answers(s: Synopsis, asked: np.ndarray) -> np.ndarray:
    """Return the counts of boxes by leaves, evenly filled."""
    shared = np.ones((len(asked), s.n_leaves))
    for j in range(asked.shape[2]):
        low = np.maximum(s.lower[:, j], asked[:, 0, j, None])
        high = np.minimum(s.upper[:, j], asked[:, 1, j, None])
        shared *= np.maximum(high - low, 0) / (s.upper[:, j] - s.lower[:, j])
    return shared @ s.weights


def measured(table: Table, epsilon: float, kinds: tuple[str, ...], seed: int) -> dict[str, list[float]]:
    """Return the logs of both figures by shares."""
    X, domain = table.rows(), Domain.box([0] * table.d, 1)
    asked = boxes(table.d, seed)
    true = np.array([((low <= X) & (high >= X)).all(axis=1).sum() for low, high in asked])
    found = {}
    for tests, cuts in CANDIDATES:
        shares = (tests, cuts, round(1 - tests - cuts, 6))
        model = TreeSynopsis(epsilon, domain, list(kinds), "auto", n_clusters=table.k, shares=shares, random_state=seed)
        s = model.fit(X).synopsis_
        error = np.abs(answers(refine.consistent(s), asked) - true).mean() / len(X)
        cost = nicv(X, cluster_synopsis(s, table.k, n_init=3).centers)
        found[f"{tests:g} {cuts:g}"] = [round(math.log(cost), 5), round(math.log(error), 5)]
    return found


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return both figures over those of the shares before, with the ends of their intervals, and of shares picked."""
    tables = list(dict.fromkeys(run["table"] for run in runs))
    found: dict[str, Any] = {}
    for lists in (*([list(kinds)] for kinds in LISTS), [list(kinds) for kinds in LISTS]):
        found |= _compared(runs, tables, lists)
    return found


def _compared(runs: list[dict[str, Any]], tables: list[str], lists: list[list[str]]) -> dict[str, Any]:
    label = "; ".join(", ".join(kinds) for kinds in lists)
    names = list(runs[0]["logs"])
    apart = np.array([
        np.mean([
            [np.subtract(run["logs"][name], run["logs"][BEFORE]) for name in names]
            for run in runs if run["table"] == table and run["partitioner"] in lists
        ], axis=0)
        for table in tables
    ])  # fmt: skip
    found = {f"{label}: {name}": _ends(apart[:, i]) for i, name in enumerate(names)}
    if len(tables) > 2:
        both = apart.mean(axis=2)
        best = [np.delete(both, i, axis=0).mean(axis=0).argmin() for i in range(len(tables))]
        found[f"{label}: picked on the other tables"] = _ends(apart[np.arange(len(tables)), best])
    return found


def _ends(logs: np.ndarray) -> dict[str, list[float]]:
    """Return lower end, mean and upper end of both figures."""
    half = stats.sem(logs, axis=0) * stats.t.ppf(0.975, len(logs) - 1) if len(logs) > 1 else np.full(2, np.inf)
    ends = np.exp([logs.mean(0) - half, logs.mean(0), logs.mean(0) + half]).round(4)
    return {"cost": ends[:, 0].tolist(), "boxes": ends[:, 1].tolist()}


def main() -> None:
    runs: list[dict[str, Any]] = []
    for seed, (shape, (n, d, k)) in enumerate(itertools.product(SHAPES, SIZES)):
        for epsilon, kinds in itertools.product(EPSILONS, LISTS):
            table = Table(shape, n, d, k)
            facts = {"table": table.name, "epsilon": epsilon, "partitioner": list(kinds)}
            runs.append({**facts, "logs": measured(table, epsilon, kinds, seed)})
        save("tune_mixed_trees", {"summary": summary(runs), "runs": runs}, "discreet", "numpy")
        print(seed, flush=True)
    rows = [
        [name, *(f"{v[1]:.3f} ({v[0]:.3f} to {v[2]:.3f})" for v in (both["cost"], both["boxes"]))]
        for name, both in summary(runs).items()
    ]
    show("over the shares before", ["structure, cuts", "k-means cost", "error of boxes"], rows)


if __name__ == "__main__":
    main()
