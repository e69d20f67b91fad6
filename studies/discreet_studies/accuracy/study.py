"""Accuracy of private k-means: ours and the peers under one protocol. Our own experiment, after no publication.

All columns are scaled to [0, 1] by public bounds. Every method gets the same data, bounds, k and ε (pure ε-differential
privacy, add or remove one row), and picks its start on what it released. The figure is NICV on the raw rows over that
of the best non-private k-means found: a mean over seeds with a 95 % interval. Beside it stand scores of how alike
labels and centres are to those of that non-private k-means, as users of clusterings know them. "As published" methods
take the exact number of rows for free, as their papers do, and clip negative counts.

A method whose fits are slow runs fewer seeds: at most ``SECONDS`` for one table and one ε, but three in any case; every
row of the results says how many. Constants of our methods were not chosen on any of these tables, but for one that was
taken knowing Birch2 (benchmarks/tuning/auto.py).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import (
    adjusted_rand_score,
    davies_bouldin_score,
    fowlkes_mallows_score,
    normalized_mutual_info_score,
)

from discreet import Domain, DPLloyd, GridSynopsis, PrivateKMeans, datasets
from discreet.clustering import cluster_synopsis, nearest, weighted_kmeans
from discreet.core import FloatArray, IntArray
from discreet.evaluation import center_errors, centroid_index, nicv
from discreet_studies.accuracy.findings import AGREEMENT, NUMBERS, OURS, findings, notes, pictures
from discreet_studies.harness.study import Numbers, Setting, Study

EPSILONS, QUICK_EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0), (0.1, 1.0)
SEEDS, FEWEST_SEEDS = 20, 3
#: Rows on which labels are compared with those of the non-private centres: pairs of all of them would take longer than
#: the fits.
COMPARED = 4000
#: Limit for one method, table and ε.
SECONDS, QUICK_SECONDS = 600, 10
REAL = ("s1", "s2", "s3", "s4", "a1", "a2", "a3", "unbalance", "birch1", "birch2", "adult", "shuttle", "skin", "travel",
        "magic", "letter", "htru2")  # fmt: skip
GENERATED: dict[str, Callable[[], datasets.Dataset]] = {
    "mixture-2d": lambda: datasets.mixture(20_000, 2, 10, separation=6, random_state=1),
    "mixture-4d": lambda: datasets.mixture(20_000, 4, 10, separation=8, random_state=2),
    "mixture-8d": lambda: datasets.mixture(50_000, 8, 10, separation=8, random_state=3),
}
Fit = Callable[[FloatArray, Domain, int, float, int], FloatArray]


def _auto(X: FloatArray, domain: Domain, k: int, epsilon: float, seed: int) -> FloatArray:
    return PrivateKMeans(k, epsilon=epsilon, domain=domain, random_state=seed).fit(X).cluster_centers_


def _lloyd(X: FloatArray, domain: Domain, k: int, epsilon: float, seed: int) -> FloatArray:
    return DPLloyd(k, epsilon=epsilon, domain=domain, random_state=seed).fit(X).cluster_centers_


def _published(rule: str) -> Fit:
    def fit(X: FloatArray, domain: Domain, k: int, epsilon: float, seed: int) -> FloatArray:
        model = GridSynopsis(epsilon, domain, rule, n_clusters=k, n_rows=len(X), random_state=seed)
        return cluster_synopsis(model.fit(X).synopsis_, k, refine=None).centers

    return fit


def _diffprivlib(X: FloatArray, domain: Domain, k: int, epsilon: float, seed: int) -> FloatArray:
    from diffprivlib.models import KMeans as Theirs

    bounds = (domain.low, domain.high)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(Theirs(k, epsilon=epsilon, bounds=bounds, random_state=seed).fit(X).cluster_centers_)


METHODS: dict[str, Fit] = {
    OURS: _auto,
    "DPLloyd": _lloyd,
    "EUGkM as published": _published("eugkm"),
    "RUGNIK as published": _published("rugnik"),
    "diffprivlib": _diffprivlib,
}


def settings(quick: bool) -> list[Setting]:
    """Return every table, ε and method that can be run here; quick: generated tables, two ε, and less time for each."""
    here = set(datasets.available())
    tables = [*GENERATED] if quick else [*(n for n in REAL if n in here), *GENERATED]
    methods = [m for m in METHODS if m != "diffprivlib" or find_spec("diffprivlib")]
    more = {"limit": QUICK_SECONDS} if quick else {}
    return [
        {"data": name, "epsilon": epsilon, "method": method, **more}
        for name in tables
        for epsilon in (QUICK_EPSILONS if quick else EPSILONS)
        for method in methods
    ]


def absent() -> list[str]:
    """Return tables that have no file here, and the peer that is not installed."""
    here = set(datasets.available())
    return [n for n in REAL if n not in here] + ([] if find_spec("diffprivlib") else ["diffprivlib"])


@lru_cache(maxsize=2)
def table(name: str) -> tuple[FloatArray, int, FloatArray]:
    """Return the scaled rows, k, and the centres of the best non-private k-means found."""
    data = GENERATED[name]() if name in GENERATED else datasets.load(name)
    X = data.domain.to_unit(data.X[~np.isnan(data.X).any(axis=1)])
    k = data.n_clusters
    some = X if len(X) <= 20_000 else X[np.random.default_rng(0).choice(len(X), 20_000, replace=False)]
    starts = [weighted_kmeans(some, np.ones(len(some)), k, seed=0).centers]
    starts += [KMeans(k, n_init=3, random_state=s).fit(X).cluster_centers_ for s in range(2)]
    found = [KMeans(k, init=c, n_init=1).fit(X).cluster_centers_ for c in starts]
    return X, k, min(found, key=lambda centers: nicv(X, centers))


def measure(setting: Setting) -> Numbers:
    """Fit a method with one seed after the other, as many as there is time for."""
    X, k, reference = table(str(setting["data"]))
    best, some = nicv(X, reference), X[np.random.default_rng(1).permutation(len(X))[:COMPARED]]
    plain = nearest(some, reference)
    domain, fit = Domain.box([0] * X.shape[1], 1), METHODS[str(setting["method"])]
    limit, epsilon = float(setting.get("limit", SECONDS)), float(setting["epsilon"])
    ratios: list[float] = []
    alike: list[list[float]] = []
    start = time.perf_counter()
    while len(ratios) < SEEDS and (len(ratios) < FEWEST_SEEDS or time.perf_counter() - start < limit):
        centers = fit(X, domain, k, epsilon, len(ratios))
        ratios.append(nicv(X, centers) / best)
        alike.append(_alike(some, centers, plain, reference))
    half = 1.96 * float(np.std(ratios, ddof=1)) / len(ratios) ** 0.5
    facts = {"n": len(X), "d": X.shape[1], "k": k, "seeds": len(ratios), "baseline_nicv": best}
    scores = {name: float(np.mean(values)) for name, values in zip(AGREEMENT, zip(*alike, strict=True), strict=True)}
    known = {name: score for name, score in scores.items() if np.isfinite(score)}
    return {**facts, "ratio": float(np.mean(ratios)), "half_width": half, **known}


def _alike(rows: FloatArray, centers: FloatArray, plain: IntArray, reference: FloatArray) -> list[float]:
    """Return how alike two sets of centres are, in the order of `AGREEMENT`."""
    labels = nearest(rows, centers)
    two = len(np.unique(labels)) > 1  # without, nothing is to be told apart
    return [
        adjusted_rand_score(plain, labels),
        normalized_mutual_info_score(plain, labels),
        fowlkes_mallows_score(plain, labels),
        (davies_bouldin_score(rows, labels) if two else np.nan) / davies_bouldin_score(rows, plain),
        center_errors(centers, reference).mean_relative,
        float(centroid_index(centers, reference)),
    ]


STUDY = Study(
    "accuracy",
    "Accuracy: private k-means, ours and the peers under one protocol",
    "Su et al. (2016) for the measure; the protocol is our own",
    settings,
    measure,
    findings,
    notes,
    pictures,
    absent,
    numbers=NUMBERS,
    packages=("numpy", "scikit-learn", "diffprivlib"),
)
