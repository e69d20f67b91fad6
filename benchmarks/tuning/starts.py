"""Whether k-means‖ would start k-means on large synopses better than k-means++ does: cost and time, generated tables.

    python -m benchmarks.tuning.starts

Grids of 100,000 to a million cells, released from a million rows, leaves of positive weight as drawn; twenty seeds.
*One start*: k-means++ with three candidates for each centre, as in use, or k-means‖ (Bahmani et al. 2012; five rounds,
2k places a round, their weights clustered by k-means++ and Lloyd's steps); both then get the five steps of Lloyd's
algorithm by which starts are judged. *Whole search* (15 clusters, the smaller grids): ten starts, of which the best is
improved by swaps. Shown are paired ratios of k-means‖ over what is in use, geometric means with their 95 % interval
over seeds. k-means‖ is taken where the whole search is quicker or better by more than its interval, and not worse in
the other. Results go to results/tune_starts.json.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy import stats

from benchmarks._bench import save, show
from benchmarks.tuning.generated import Table
from discreet import Domain, GridSynopsis
from discreet.clustering import weighted_kmeans
from discreet.clustering.leaves import _kmeans_kernels as kernels
from discreet.clustering.leaves import kmeans
from discreet.noise import generator

#: Columns, parts per axis, clusters.
GRIDS = ((2, 316, 15), (2, 316, 50), (3, 64, 15), (3, 64, 50), (2, 1000, 15), (2, 1000, 50))
ROWS, SEEDS, ROUNDS, OVERSAMPLED = 1_000_000, 20, 5, 2
seed_centers = kernels.seed_centers


def plus_plus(points: np.ndarray, weights: np.ndarray, k: int, seed: int) -> np.ndarray:
    """The start in use."""
    drawn = np.random.default_rng(seed).random((k, 3))
    return seed_centers(points, weights, drawn)


def parallel(points: np.ndarray, weights: np.ndarray, k: int, seed: int) -> np.ndarray:
    """k-means‖: places are drawn many at a time, by what they cost; then clustered by how much lies nearest to them."""
    rng = np.random.default_rng(seed)
    chosen = points[[rng.choice(len(points), p=weights / weights.sum())]]
    labels, near = np.empty(len(points), np.int64), np.empty(len(points))
    kernels.assign(points, chosen, labels, near)
    fresh_labels, fresh_near = np.empty_like(labels), np.empty_like(near)
    for _ in range(ROUNDS):
        cost = weights * near
        fresh = points[rng.random(len(points)) < OVERSAMPLED * k * cost / cost.sum()]
        if not len(fresh):
            continue
        kernels.assign(points, fresh, fresh_labels, fresh_near)
        closer = fresh_near < near
        labels[closer], near[closer] = fresh_labels[closer] + len(chosen), fresh_near[closer]
        chosen = np.concatenate([chosen, fresh])
    masses = np.bincount(labels, weights, minlength=len(chosen))
    kept = masses > 0
    centers = plus_plus(chosen[kept], masses[kept], k, seed)
    some, gaps = np.empty(int(kept.sum()), np.int64), np.empty(int(kept.sum()))
    kernels.assign(chosen[kept], centers, some, gaps)
    kernels.lloyd(chosen[kept], masses[kept], centers, some, gaps, 30)
    return centers


def one_start(start: Any, points: np.ndarray, weights: np.ndarray, k: int, seed: int) -> tuple[float, float, float]:
    """Return cost after the steps by which starts are judged, that before them, and seconds of both."""
    began = time.perf_counter()
    centers = start(points, weights, k, seed)
    labels, near = np.empty(len(points), np.int64), np.empty(len(points))
    kernels.assign(points, centers, labels, near)
    bare = kernels.weighted_sum(weights, near)
    return kernels.lloyd(points, weights, centers, labels, near, 5), bare, time.perf_counter() - began


def whole(start: Any, points: np.ndarray, weights: np.ndarray, k: int, seed: int) -> tuple[float, float]:
    """Return cost and seconds of the search in use with another start."""
    turn = iter(range(10**6))
    if start is parallel:
        kernels.seed_centers = lambda p, w, _: parallel(p, w, k, 1000 * seed + next(turn))
    began = time.perf_counter()
    try:
        found = kmeans._search(points, weights, k, 10, generator(seed))[1]
    finally:
        kernels.seed_centers = seed_centers
    return float(found), time.perf_counter() - began


def ratio(ours: list[float], other: list[float]) -> list[float]:
    """Return k-means‖ over the start in use: the lower end, the mean, the upper end."""
    logs = np.log(other) - np.log(ours)
    half = stats.sem(logs) * stats.t.ppf(0.975, len(logs) - 1)
    return np.exp([logs.mean() - half, logs.mean(), logs.mean() + half]).round(4).tolist()


def main() -> None:
    facts = []
    small = np.random.default_rng(0).random((500, 2))
    weighted_kmeans(small, np.ones(500), 3, n_init=1)  # compiles
    for d, parts, k in GRIDS:
        X = Table("unequal", ROWS, d, k).rows()
        released = GridSynopsis(1.0, Domain.box([0] * d, 1), parts, random_state=0).fit(X).synopsis_
        kept = released.weights > 0
        points, weights = np.ascontiguousarray(released.points[kept]), released.weights[kept].astype(np.float64)
        found: dict[str, list[float]] = {}
        for seed in range(SEEDS):
            for name, start in (("ours", plus_plus), ("other", parallel)):
                values = one_start(start, points, weights, k, seed)
                for what, value in zip(("cost", "bare", "seconds"), values, strict=True):
                    found.setdefault(f"{name} {what}", []).append(value)
                if parts**d < 300_000 and k < 20:
                    values = whole(start, points, weights, k, seed)
                    for what, value in zip(("search cost", "search seconds"), values, strict=True):
                        found.setdefault(f"{name} {what}", []).append(value)
        line: dict[str, Any] = {"d": d, "cells": parts**d, "of positive weight": len(points), "k": k, "seeds": SEEDS}
        line["seconds in use"] = float(np.median(found["ours seconds"]))
        for what in dict.fromkeys(name.partition(" ")[2] for name in found):
            line[what] = ratio(found[f"ours {what}"], found[f"other {what}"])
        facts.append(line)
        print(line, flush=True)
        save("tune_starts", {"k-means‖ over in use": facts}, "discreet", "numpy")
    heads = ["cost", "bare", "seconds"]
    rows = [[f"{f['cells']:,} cells, k = {f['k']}", *(f"{f[h][1]:.3f}" for h in heads)] for f in facts]
    show("k-means‖ over the start in use", ["one start", *heads], rows)


if __name__ == "__main__":
    main()
