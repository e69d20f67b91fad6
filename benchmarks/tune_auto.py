"""Tune the constants of ``PrivateKMeans(synopsis="auto")`` on generated data only, and print what they rest on.

    python benchmarks/tune_auto.py [--seeds 3] [--dimensions 2 3 5 10]

Every candidate recipe runs on Gaussian mixtures of many sizes, dimensions, numbers of clusters and separations. The
score is the geometric mean of NICV over that of non-private k-means. Results go to results/tune_auto.json; the
constants of `discreet.clustering.auto` that its docstring names were read off the printed table.
"""

from __future__ import annotations

import argparse
import itertools
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

from _bench import save, show
from discreet import datasets
from discreet.clustering import cluster_synopsis, weighted_kmeans
from discreet.evaluation import nicv
from discreet.synopses import GridSynopsis, TreeSynopsis
from discreet.synopses.grid_rules import rugnik_root

EPSILONS = (0.05, 0.2, 1.0)


def grid(factor: float, means: bool, refine: str) -> Any:
    def run(X: Any, domain: Any, k: int, epsilon: float, seed: int) -> Any:
        parts = max(2, round(factor * rugnik_root(len(X), 0.97 * epsilon, len(domain), k)))
        model = GridSynopsis(epsilon, domain, parts, leaf_means=means, random_state=seed)
        return cluster_synopsis(model.fit(X).synopsis_, k, refine=refine).centers

    return run


def tree(share: float, refine: str) -> Any:
    def run(X: Any, domain: Any, k: int, epsilon: float, seed: int) -> Any:
        model = TreeSynopsis(
            epsilon, domain, "privtree", max_depth=40, shares=(share, 0, 1 - share), leaf_means=True, random_state=seed
        )
        return cluster_synopsis(model.fit(X).synopsis_, k, refine=refine).centers

    return run


def recipes(d: int) -> dict[str, Any]:
    trees = {f"tree {s:g} {r}": tree(s, r) for s in (0.03, 0.06, 0.12, 0.25, 0.5) for r in ("threshold", "project")}
    if d > 3:
        return trees
    grids = {
        f"grid {f:g} {'means' if m else 'counts'} {r}": grid(f, m, r)
        for f in (0.7, 1.0, 1.4)
        for m in (False, True)
        for r in ("threshold", "project", *(["mixture"] if f == 1.0 else []))
    }
    return {**grids, **trees}


def job(task: tuple[int, int, int, float, int]) -> list[dict[str, Any]]:
    d, n, k, separation, seeds = task
    rows = []
    table = datasets.mixture(n, d, k, separation=separation, random_state=k + int(separation))
    best = nicv(table.X, weighted_kmeans(table.X[:20_000], np.ones(min(n, 20_000)), k, seed=0).centers)
    for epsilon, (name, run) in itertools.product(EPSILONS, recipes(d).items()):
        ratios = [nicv(table.X, run(table.X, table.domain, k, epsilon, seed)) / best for seed in range(seeds)]
        rows.append(
            {"d": d, "n": n, "k": k, "separation": separation, "epsilon": epsilon, "recipe": name}
            | {"ratio": float(np.exp(np.mean(np.log(ratios))))}
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[2, 3, 5, 10])
    arguments = parser.parse_args()
    tasks = [
        (d, n, k, separation, arguments.seeds)
        for d in arguments.dimensions
        for n, k, separation in itertools.product((4_000, 40_000), (5, 15, 50), (4.0, 12.0))
    ]
    with ProcessPoolExecutor(2) as pool:
        results = [row for rows in pool.map(job, tasks) for row in rows]
    for d in arguments.dimensions:
        table = [r for r in results if r["d"] == d]
        # What matters besides d is how many rows a cluster has in units of the noise: x = n epsilon / k.
        bands = [(0, 10), (10, 30), (30, 100), (100, 300), (300, 1000), (1000, 1e9)]
        lines = []
        for name in dict.fromkeys(r["recipe"] for r in table):
            line: list[Any] = [name]
            for low, high in bands:
                some = [
                    r["ratio"] for r in table if r["recipe"] == name and low <= r["n"] * r["epsilon"] / r["k"] < high
                ]
                line.append(float(np.exp(np.mean(np.log(some)))) if some else "")
            lines.append(line)
        show(f"d = {d}: NICV over non-private, by n epsilon / k", ["recipe", *(f"{a:g}+" for a, _ in bands)], lines)
    save("tune_auto", {"seeds": arguments.seeds, "results": results}, "discreet", "numpy", "scikit-learn")


if __name__ == "__main__":
    main()
