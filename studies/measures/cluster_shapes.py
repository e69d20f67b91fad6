"""Clusterers of a synopsis on shapes where k-means fails: agreement of rows' labels with the reference, over seeds.

    python -m studies.measures.cluster_shapes                     # all tables, about ten minutes
    python -m studies.measures.cluster_shapes --data aggregation  # some of them; the others stay in the file

Every seed draws a grid synopsis anew (rule "rugnik", sized for the number of clusters), and all clusterers share it:
the comparison is of what they make of the same release. Reference are the published labels. Gowalla has none: there it
is the same clusterer on a synopsis without noise, so that the figure says how much the noise changes.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles, make_moons

from discreet import Domain, GridSynopsis, datasets
from discreet.clustering import (
    DensityClusters,
    GaussianClusters,
    cluster_synopsis,
    nearest,
)
from discreet.core import FloatArray, IntArray
from discreet.synopses import Synopsis
from discreet_studies.measured.agreement import Spread, clustering_agreement
from studies.measures import _measure

TABLES = ("moons", "rings", "aggregation", "worms", "birch2", "gowalla")
METHODS = ("k-means", "density", "Gaussians")
#: Rows whose labels are compared: more would only cost time.
_COMPARED = 20_000


def table(name: str) -> tuple[FloatArray, IntArray | None, int]:
    """Return rows in the unit box, their reference labels if there are any, and the number of clusters."""
    if name in ("moons", "rings"):
        make, how = (make_moons, {}) if name == "moons" else (make_circles, {"factor": 0.4})
        X, labels = make(10_000, noise=0.06, random_state=5, **how)
        return 0.05 + 0.9 * (X - X.min(axis=0)) / np.ptp(X, axis=0), labels, 2
    data = datasets.load(name)
    labels = None if name == "gowalla" else np.asarray(data.labels)
    return data.domain.to_unit(data.X), labels, data.n_clusters


def labelled(method: str, synopsis: Synopsis, k: int, X: FloatArray) -> tuple[IntArray, int]:
    """Return the labels that a clusterer of the synopsis gives to rows, and how many clusters it found."""
    if method == "k-means":
        return nearest(X, cluster_synopsis(synopsis, k).centers), k
    made = {
        "density": lambda: DensityClusters(outliers=False),
        "Gaussians": lambda: GaussianClusters(k, n_init=3),
    }[method]()
    found = made.fit(synopsis)
    return found.predict(X), found.n_clusters_


def measure(name: str, epsilon: float, seeds: int, methods: Sequence[str] = METHODS) -> list[dict[str, Any]]:
    X, truth, k = table(name)
    some = np.random.default_rng(0).permutation(len(X))[:_COMPARED]
    domain = Domain.box([0, 0], 1)

    def released(level: float, seed: int) -> Synopsis:
        return GridSynopsis(level, domain, "rugnik", n_clusters=k, random_state=seed).fit(X).synopsis_

    drawn = [released(epsilon, seed) for seed in range(seeds)]
    parts = round(math.sqrt(drawn[0].n_leaves))
    exact = GridSynopsis(math.inf, domain, parts, random_state=0).fit(X).synopsis_ if truth is None else None
    rows = []
    facts = {"data": name, "n": len(X), "k": k, "epsilon": epsilon, "leaves": drawn[0].n_leaves}
    if truth is not None:
        raw = KMeans(k, n_init=5, random_state=0).fit(X).predict(X[some])
        found = clustering_agreement(truth[some], np.array([raw, raw]))
        rows.append({**facts, "method": "k-means on raw rows", **_figures(found), "clusters": k, "seconds": None})
    for method in methods:
        start = time.perf_counter()
        made = [labelled(method, synopsis, k, X[some]) for synopsis in drawn]
        seconds = (time.perf_counter() - start) / seeds
        reference = truth[some] if exact is None and truth is not None else labelled(method, exact, k, X[some])[0]
        found = clustering_agreement(reference, np.array([labels for labels, _ in made]))
        counts = Spread.of([count for _, count in made]).mean
        rows.append({**facts, "method": method, **_figures(found), "clusters": counts, "seconds": seconds})
    return rows


def _figures(found: Any) -> dict[str, Any]:
    return {name: getattr(found, name).to_dict() for name in ("ari", "nmi", "fowlkes_mallows")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--method", nargs="+", choices=METHODS, default=list(METHODS), help="default: all")
    arguments = parser.parse_args()
    path = _measure.RESULTS / "cluster_shapes.json"
    kept = json.loads(path.read_text())["rows"] if path.is_file() else []
    for name in arguments.data:
        rows = measure(name, arguments.epsilon, arguments.seeds, arguments.method)
        new = {(r["data"], r["epsilon"], r["method"]) for r in rows}
        kept = [r for r in kept if (r["data"], r["epsilon"], r["method"]) not in new] + rows
        kept.sort(key=lambda r: (TABLES.index(r["data"]), ("k-means on raw rows", *METHODS).index(r["method"])))
        _measure.save("cluster_shapes", {"seeds": arguments.seeds, "rows": kept}, "discreet", "numpy", "scikit-learn")
        names = ("ari", "nmi", "fowlkes_mallows")
        shown = [[r["method"], *(r[m]["mean"] for m in names), r["clusters"], r["seconds"] or 0.0] for r in rows]
        _measure.show(name, ["method", "ARI", "NMI", "Fowlkes-Mallows", "clusters", "seconds"], shown)


if __name__ == "__main__":
    main()
