"""Accuracy of private k-means: ours and the peers under one protocol.

    python -m studies.measures.accuracy [--seeds 20] [--data s1 adult ...] [--epsilons 0.1 1] [--methods auto eugkm ...]

Protocol. All columns are scaled to [0, 1] by public bounds. Every method gets the same data, bounds, k and ε (pure
ε-differential privacy, δ = 0, add or remove one row), and picks its start on what it released. The figure is NICV on
the raw rows over that of the best non-private k-means found: mean over the seeds with a 95 % interval. "As published"
methods take the exact number of rows for free, as their papers do, and clip negative counts.

A method whose fits are slow runs fewer seeds: at most ``--seconds`` for one table and one ε, but three seeds in any
case. Every row of the results says how many there were. With ``--keep`` the figures of other methods, tables and ε stay
as they are in the results file.

Real data come from ../shared/data when present; generated mixtures always run. Constants of the methods were not chosen
on any of these tables: see benchmarks/tuning/auto.py.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

from discreet import Domain, DPLloyd, GridSynopsis, PrivateKMeans, datasets
from discreet.clustering import cluster_synopsis, weighted_kmeans
from discreet.evaluation import nicv
from studies.measures._measure import RESULTS, save, show, versions

EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
REAL = [
    "s1",
    "s2",
    "s3",
    "s4",
    "a1",
    "a2",
    "a3",
    "unbalance",
    "birch1",
    "birch2",
    "adult",
    "shuttle",
    "skin",
    "travel",
    "magic",
    "letter",
    "htru2",
]
GENERATED = {
    "mixture-2d": lambda: datasets.mixture(20_000, 2, 10, separation=6, random_state=1),
    "mixture-4d": lambda: datasets.mixture(20_000, 4, 10, separation=8, random_state=2),
    "mixture-8d": lambda: datasets.mixture(50_000, 8, 10, separation=8, random_state=3),
}
Fit = Callable[[np.ndarray, Domain, int, float, int], np.ndarray]


def auto(X: np.ndarray, domain: Domain, k: int, epsilon: float, seed: int) -> np.ndarray:
    return PrivateKMeans(k, epsilon=epsilon, domain=domain, random_state=seed).fit(X).cluster_centers_


def grid(X: np.ndarray, domain: Domain, k: int, epsilon: float, seed: int) -> np.ndarray:
    return PrivateKMeans(k, epsilon=epsilon, domain=domain, synopsis="grid", random_state=seed).fit(X).cluster_centers_


def tree(X: np.ndarray, domain: Domain, k: int, epsilon: float, seed: int) -> np.ndarray:
    return PrivateKMeans(k, epsilon=epsilon, domain=domain, synopsis="tree", random_state=seed).fit(X).cluster_centers_


def lloyd(X: np.ndarray, domain: Domain, k: int, epsilon: float, seed: int) -> np.ndarray:
    return DPLloyd(k, epsilon=epsilon, domain=domain, random_state=seed).fit(X).cluster_centers_


def published(rule: str) -> Fit:
    def fit(X: np.ndarray, domain: Domain, k: int, epsilon: float, seed: int) -> np.ndarray:
        model = GridSynopsis(epsilon, domain, rule, n_clusters=k, n_rows=len(X), random_state=seed)
        return cluster_synopsis(model.fit(X).synopsis_, k, refine=None).centers

    return fit


def diffprivlib(X: np.ndarray, domain: Domain, k: int, epsilon: float, seed: int) -> np.ndarray:
    from diffprivlib.models import KMeans

    d = X.shape[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KMeans(k, epsilon=epsilon, bounds=(np.zeros(d), np.ones(d)), random_state=seed).fit(X)
    return np.asarray(model.cluster_centers_)


METHODS: dict[str, Fit] = {
    "auto": auto,
    "grid": grid,
    "tree": tree,
    "DPLloyd": lloyd,
    "EUGkM as published": published("eugkm"),
    "RUGNIK as published": published("rugnik"),
    "diffprivlib": diffprivlib,
}
PACKAGES = ("discreet", "numpy", "scikit-learn", "diffprivlib")
PEERS = ("EUGkM as published", "RUGNIK as published", "diffprivlib")


def load(name: str) -> tuple[np.ndarray, int]:
    table = GENERATED[name]() if name in GENERATED else datasets.load(name)
    X = table.domain.to_unit(table.X[~np.isnan(table.X).any(axis=1)])
    return X, table.n_clusters


def baseline(X: np.ndarray, k: int) -> float:
    """The best of a swap search (on a sample where the table is large) polished on all rows."""
    from sklearn.cluster import KMeans

    rng = np.random.default_rng(0)
    some = X if len(X) <= 20_000 else X[rng.choice(len(X), 20_000, replace=False)]
    start = weighted_kmeans(some, np.ones(len(some)), k, seed=0).centers
    return min(nicv(X, KMeans(k, init=c, n_init=1).fit(X).cluster_centers_) for c in [start, *_starts(X, k)])


def _starts(X: np.ndarray, k: int) -> list[np.ndarray]:
    from sklearn.cluster import KMeans

    return [KMeans(k, n_init=3, random_state=s).fit(X).cluster_centers_ for s in range(2)]


FEWEST_SEEDS = 3


def job(task: tuple[str, list[float], list[str], int, float, float | None]) -> list[dict[str, Any]]:
    name, epsilons, methods, seeds, limit, best = task
    X, k = load(name)
    domain = Domain.box([0] * X.shape[1], 1)
    best = baseline(X, k) if best is None else best
    facts = {"data": name, "n": len(X), "d": X.shape[1], "k": k}
    rows = []
    for epsilon in epsilons:
        for method in methods:
            ratios: list[float] = []
            start = time.perf_counter()
            while len(ratios) < seeds and (len(ratios) < FEWEST_SEEDS or time.perf_counter() - start < limit):
                ratios.append(nicv(X, METHODS[method](X, domain, k, epsilon, len(ratios))) / best)
            done = len(ratios)
            half = 1.96 * np.std(ratios, ddof=1) / np.sqrt(done) if done > 1 else float("nan")
            rows.append(
                {**facts, "epsilon": epsilon, "method": method, "ratio": float(np.mean(ratios))}
                | {"half_width": float(half), "seeds": done, "baseline_nicv": best}
            )
    return rows


def merged(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put new figures in the place of old ones; in the order of tables, ε and methods."""
    cells = {(r["data"], r["epsilon"], r["method"]): r for r in [*old, *new]}
    names, methods = [*REAL, *GENERATED], list(METHODS)
    order = sorted(cells, key=lambda c: (names.index(c[0]), c[1], methods.index(c[2])))
    return [cells[c] for c in order]


def summary(rows: list[dict[str, Any]]) -> dict[str, float]:
    cells: dict[tuple[str, float], dict[str, float]] = {}
    for r in rows:
        cells.setdefault((r["data"], r["epsilon"]), {})[r["method"]] = r["ratio"]
    full = [c for c in cells.values() if "auto" in c and len(c) > 1]
    near = [c["auto"] <= 1.1 * min(c.values()) for c in full]
    against = [c["auto"] / min(v for m, v in c.items() if m in PEERS) for c in full if any(m in PEERS for m in c)]
    return {
        "cells": len(full),
        "share_within_10_percent_of_the_best": float(np.mean(near)) if near else float("nan"),
        "geometric_mean_over_best_peer": float(np.exp(np.mean(np.log(against)))) if against else float("nan"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    present = set(datasets.available())
    parser.add_argument("--data", nargs="+", default=[*(n for n in REAL if n in present), *GENERATED])
    parser.add_argument("--epsilons", type=float, nargs="+", default=list(EPSILONS))
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--seconds", type=float, default=40, help="limit for one method, table and epsilon")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--no-save", action="store_true")
    parser.add_argument("--keep", action="store_true", help="keep the other methods' figures of the last results file")
    arguments = parser.parse_args()
    methods = arguments.methods
    try:
        import diffprivlib as _
    except ImportError:
        print("diffprivlib is not installed: left out")
        methods = [m for m in methods if m != "diffprivlib"]
    try:
        import clustering as _
    except ImportError:
        print("Google's clustering is not importable: left out. OpenDP has no k-means.")
    last = json.loads((RESULTS / "accuracy.json").read_text()) if arguments.keep else {"results": [], "versions": {}}
    old, used = last["results"], {**last["versions"], **versions(*PACKAGES)}  # a peer may be kept without being here
    known = {r["data"]: r["baseline_nicv"] for r in old}
    tasks = [
        (name, arguments.epsilons, methods, arguments.seeds, arguments.seconds, known.get(name))
        for name in arguments.data
    ]
    rows = old
    with ProcessPoolExecutor(arguments.jobs) as pool:
        for (name, *_), part in zip(tasks, pool.map(job, tasks), strict=True):
            rows = merged(rows, part)
            print(f"{name} done", flush=True)
            if not arguments.no_save:  # a long run that is cut short keeps what it has
                save("accuracy", {"versions": used, "summary": summary(rows), "results": rows})
    methods = [m for m in METHODS if any(r["method"] == m for r in rows)]
    lines = []
    for name in arguments.data:
        for epsilon in arguments.epsilons:
            found = {r["method"]: r for r in rows if r["data"] == name and r["epsilon"] == epsilon}
            cells = [f"{r['ratio']:.3f} ±{r['half_width']:.3f}" if r else "" for r in map(found.get, methods)]
            lines.append([f"{name} {epsilon:g}", *cells])
    show("NICV over non-private, mean ± 95 % half width", ["data and epsilon", *methods], lines)
    print(summary(rows))


if __name__ == "__main__":
    main()
