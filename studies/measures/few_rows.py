"""The accuracy of private k-means in strong noise: few rows for many columns, and small ε. Pure ε throughout.

    python -m studies.measures.few_rows [--seeds 20] [--methods auto DPLloyd ...] [--tables digits ...]

Digits are the 1,797 images of 64 pixels that come with scikit-learn, k = 10. The sparse table has 20,000 rows, 30
columns, mostly zeros, and 40 clusters whose sizes differ by up to thirty times. Blobs are 40,000 rows in ten clusters,
as in `many_dimensions`, a table of its own for every seed. Patients are `discreet.datasets.patients`, k = 15. The
figure is the k-means cost over that of plain k-means; for comparison `DPLloyd`, one private mean of all rows, and for
the patients a grid of RUGNIK's size with ``refine="project"``. Constants were chosen on generated tables
(``benchmarks/tuning/few.py``), some after a look at these tables. Results go to results/few_rows.json, those of other
methods and tables are kept.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

import discreet as dc
from discreet.core import FloatArray
from studies.measures._measure import RESULTS, save, show
from studies.measures.many_dimensions import CLUSTERS, SPREAD, cost

Made = tuple[FloatArray, int, dc.Domain]


def digits(_: int) -> Made:
    return load_digits().data / 16, 10, dc.Domain.box([0.0] * 64, 1.0)


def sparse(_: int) -> Made:
    """Return mostly zeros: a cluster has columns of its own that are likely to be in use."""
    rng, n, d, k = np.random.default_rng(0), 20_000, 30, 40
    likely = np.clip(rng.random(d) ** 4 * rng.gamma(0.7, 1.4, (k, d)), 0.0, 0.95)
    sizes = np.exp(rng.uniform(0, 3.4, k))
    used = rng.random((n, d)) < likely[rng.choice(k, n, p=sizes / sizes.sum())]
    return used * rng.beta(2.0, 1.5, (n, d)), k, dc.Domain.box([0.0] * d, 1.0)


def blobs(d: int) -> Callable[[int], Made]:
    def made(seed: int) -> Made:
        rng = np.random.default_rng([d, seed])
        centers = rng.uniform(0.2, 0.8, (CLUSTERS, d))
        X = np.clip(rng.normal(centers[rng.integers(CLUSTERS, size=40_000)], SPREAD), 0, 1)
        return X, CLUSTERS, dc.Domain.box([0.0] * d, 1.0)

    return made


def patients(_: int) -> Made:
    data = dc.datasets.patients()
    return data.X, 15, data.domain


SETTINGS: dict[str, tuple[Callable[[int], Made], tuple[float, ...], tuple[str, ...]]] = {
    "digits": (digits, (0.2, 1.0), ("auto", "DPLloyd", "one mean")),
    "sparse": (sparse, (0.2,), ("auto", "DPLloyd", "one mean")),
    **{f"blobs d={d}": (blobs(d), (0.5,), ("auto",)) for d in (16, 24, 48)},
    "patients": (patients, (0.05, 0.1, 0.2), ("auto", "grid, project")),
}


def fitted(method: str, X: FloatArray, k: int, domain: dc.Domain, epsilon: float, seed: int) -> FloatArray:
    """Return private centres."""
    model: Any
    if method == "DPLloyd":
        model = dc.DPLloyd(k, epsilon, domain, random_state=seed)
    elif method == "one mean":
        model = dc.PrivateKMeans(1, epsilon, domain, dc.GridSynopsis(rule=1, leaf_means=True), random_state=seed)
    elif method == "grid, project":
        model = dc.PrivateKMeans(k, epsilon, domain, "grid", refine="project", random_state=seed)
    else:
        model = dc.PrivateKMeans(k, epsilon, domain, random_state=seed)
    found: FloatArray = model.fit(X).cluster_centers_
    return found


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--methods", nargs="*", default=["auto", "DPLloyd", "one mean", "grid, project"])
    parser.add_argument("--tables", nargs="*", default=list(SETTINGS))
    given = parser.parse_args()
    seeds, place = given.seeds, RESULTS / "few_rows.json"
    found: dict[str, Any] = json.loads(place.read_text())["settings"] if place.exists() else {}
    for name, (make, budgets, methods) in SETTINGS.items():
        wanted = [m for m in methods if m in given.methods and name in given.tables]
        if not wanted:
            continue
        costs: dict[tuple[float, str], list[float]] = {(e, m): [] for e in budgets for m in wanted}
        for seed in range(seeds):
            if seed == 0 or name.startswith("blobs"):
                X, k, domain = make(seed)
                plain = cost(X, KMeans(k, n_init=10, random_state=0).fit(X).cluster_centers_)
            for epsilon, method in costs:
                costs[epsilon, method].append(cost(X, fitted(method, X, k, domain, epsilon, seed)) / plain)
        for (epsilon, method), each in costs.items():
            wide = float(stats.t.ppf(0.975, seeds - 1) * stats.sem(each))
            told = {"mean": float(np.mean(each)), "interval": wide, "worst": max(each), "seeds": seeds}
            found.setdefault(f"{name} epsilon={epsilon:g}", {})[method] = told
        save("few_rows", {"settings": found}, "discreet", "numpy", "scikit-learn")
    rows = [[key, m, f["mean"], f["interval"], f["worst"]] for key, every in found.items() for m, f in every.items()]
    show("Cost over plain k-means", ["setting", "method", "mean", "±", "worst"], rows)


if __name__ == "__main__":
    main()
