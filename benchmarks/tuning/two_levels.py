"""Which grid is best for k-means: one level (RUGNIK), or two, sized as published or by RUGNIK's argument.

    python -m benchmarks.tuning.two_levels [--axes 2 3 4] [--rows 1000 10000 100000]

Twenty generated tables (five shapes, four numbers of clusters) of 1,000 to 100,000 rows and 2 to 4 columns, three
budgets. Every rule releases every table with the same seed, its number of rows paid for. Shown is NICV over that of
non-private k-means, geometric means over tables, of the counts as drawn and as `cluster_synopsis` refines them; ratios
of two rules are paired, with their 95 % interval over tables. "rugnik-adaptive" takes the place of "adaptive" where
its ratio lies below 1 with its interval. Results go to results/two_levels.json; those of other axes and rows are
kept.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from typing import Any

import numpy as np
from scipy import stats

from benchmarks._bench import RESULTS, save, show
from benchmarks.tuning.generated import Table
from discreet import Domain, GridSynopsis
from discreet.clustering import cluster_synopsis, weighted_kmeans
from discreet.evaluation import nicv

RULES = ("rugnik", "adaptive", "rugnik-adaptive")
SHAPES, CLUSTERS = ("round", "unequal", "background", "chain", "tubes"), (3, 5, 8, 12)
ROWS, EPSILONS, AXES = (1_000, 10_000, 100_000), (0.1, 0.5, 1.0), (2, 3, 4)
STEPS = {"as drawn": "none", "refined": "auto"}


def measured(table: Table, seed: int) -> list[dict[str, Any]]:
    """Return logs of the cost over that without privacy, by budget, rule and refinement."""
    X, domain, some = table.rows(), Domain.box([0] * table.d, 1), slice(0, 10_000)
    plain = weighted_kmeans(X[some], np.ones(len(X[some])), table.k, n_init=3).centers
    best, found = nicv(X, plain), []
    for epsilon in EPSILONS:
        facts: dict[str, Any] = {"table": table.name, "d": table.d, "n": table.n, "epsilon": epsilon}
        for rule in RULES:
            model = GridSynopsis(epsilon, domain, rule, n_clusters=table.k, random_state=seed).fit(X)
            facts[f"{rule}, cells"] = model.synopsis_.n_leaves
            for name, steps in STEPS.items():
                centers = cluster_synopsis(model.synopsis_, table.k, refine=steps, n_init=3).centers
                facts[f"{rule}, {name}"] = round(math.log(nicv(X, centers) / best), 5)
        found.append(facts)
    return found


def interval(logs: Any) -> tuple[float, float, float]:
    """Return a geometric mean and its 95 % interval."""
    mean, half = float(np.mean(logs)), float(stats.sem(logs) * stats.t.ppf(0.975, len(logs) - 1))
    low, middle, high = np.exp([mean - half, mean, mean + half])
    return float(middle), float(low), float(high)


def summary(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return means and paired ratios by axes and budget, over tables and numbers of rows, and for all."""
    found = []
    for d, epsilon in [*itertools.product(AXES, EPSILONS), (0, 0.0)]:
        some = [r for r in runs if not d or (r["d"], r["epsilon"]) == (d, epsilon)]
        if not some:
            continue
        facts: dict[str, Any] = {"d": d, "epsilon": epsilon, "tables": len(some)}
        for name in STEPS:
            logs = {rule: np.array([r[f"{rule}, {name}"] for r in some]) for rule in RULES}
            facts |= {f"{rule}, {name}": float(np.exp(logs[rule].mean())) for rule in RULES}
            for other in RULES[:2]:
                facts[f"rugnik-adaptive over {other}, {name}"] = interval(logs["rugnik-adaptive"] - logs[other])
        found.append(facts)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--axes", type=int, nargs="*", default=list(AXES))
    parser.add_argument("--rows", type=int, nargs="*", default=list(ROWS))
    given = parser.parse_args()
    place, cells = RESULTS / "two_levels.json", list(itertools.product(given.axes, given.rows))
    runs = [r for r in json.loads(place.read_text())["runs"] if (r["d"], r["n"]) not in cells] if place.exists() else []
    for d, n in cells:
        for seed, (shape, k) in enumerate(itertools.product(SHAPES, CLUSTERS)):
            runs += measured(Table(shape, n, d, k), seed)
        save("two_levels", {"summary": summary(runs), "runs": runs}, "discreet", "numpy")
        print(f"d = {d}, {n:,} rows done", flush=True)
    heads = ["d, ε", *(f"{rule}, {name}" for name in STEPS for rule in RULES)]
    rows = [[f"{s['d']}, {s['epsilon']}", *(s[name] for name in heads[1:])] for s in summary(runs)]
    show("NICV over that without privacy", heads, rows)


if __name__ == "__main__":
    main()
