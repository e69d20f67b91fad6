"""Accuracy of private k-means: ours and the peers under one protocol. Our own experiment, after no publication.

All columns are scaled to [0, 1] by public bounds. Every method gets the same data, bounds, k and ε (pure ε-differential
privacy, add or remove one row), and picks its start on what it released. The figure is NICV on the raw rows over that
of the best non-private k-means found: a mean over seeds with a 95 % interval. "As published" methods take the exact
number of rows for free, as their papers do, and clip negative counts.

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

from discreet import Domain, DPLloyd, GridSynopsis, PrivateKMeans, datasets
from discreet.clustering import cluster_synopsis, weighted_kmeans
from discreet.core.arrays import FloatArray
from discreet.evaluation import nicv
from discreet_studies.accuracy.findings import NUMBERS, OURS, findings, notes, pictures
from discreet_studies.harness.study import Numbers, Setting, Study

EPSILONS, QUICK_EPSILONS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0), (0.1, 1.0)
SEEDS, FEWEST_SEEDS = 20, 3
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
def table(name: str) -> tuple[FloatArray, int, float]:
    """Return the scaled rows, k, and the NICV of the best non-private k-means found."""
    data = GENERATED[name]() if name in GENERATED else datasets.load(name)
    X = data.domain.to_unit(data.X[~np.isnan(data.X).any(axis=1)])
    k = data.n_clusters
    some = X if len(X) <= 20_000 else X[np.random.default_rng(0).choice(len(X), 20_000, replace=False)]
    starts = [weighted_kmeans(some, np.ones(len(some)), k, seed=0).centers]
    starts += [KMeans(k, n_init=3, random_state=s).fit(X).cluster_centers_ for s in range(2)]
    return X, k, min(nicv(X, KMeans(k, init=c, n_init=1).fit(X).cluster_centers_) for c in starts)


def measure(setting: Setting) -> Numbers:
    """Fit a method with one seed after the other, as many as there is time for."""
    X, k, best = table(str(setting["data"]))
    domain, fit = Domain.box([0] * X.shape[1], 1), METHODS[str(setting["method"])]
    limit, epsilon = float(setting.get("limit", SECONDS)), float(setting["epsilon"])
    ratios: list[float] = []
    start = time.perf_counter()
    while len(ratios) < SEEDS and (len(ratios) < FEWEST_SEEDS or time.perf_counter() - start < limit):
        ratios.append(nicv(X, fit(X, domain, k, epsilon, len(ratios))) / best)
    half = 1.96 * float(np.std(ratios, ddof=1)) / len(ratios) ** 0.5
    facts = {"n": len(X), "d": X.shape[1], "k": k, "seeds": len(ratios), "baseline_nicv": best}
    return {**facts, "ratio": float(np.mean(ratios)), "half_width": half}


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
