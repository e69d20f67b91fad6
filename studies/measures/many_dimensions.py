"""How good private k-means is in many dimensions: blobs of 16 to 300 columns, MNIST and published tables.

    python -m studies.measures.many_dimensions [--seeds 20] [--minutes 14] [--tables blobs mnist letter ...]
        [--methods ...] [--resume runs.jsonl]

Blobs: 50,000 rows, 10 clusters of equal weight, centres even in [0.2, 0.8], standard deviation 0.1, bounds [0, 1]; a
table of its own for every seed. MNIST (where it is here, `discreet.datasets.available`): 60,000 images of 784 pixels,
k = 10. The tables of `PUBLISHED`: rows scaled to the unit box by their public bounds, k the number of their classes,
ε = 0.2, 0.5 and 1, and ε = 1 with a δ. Everything is paid for, the number of rows, the ball and the choice of a
method included. The figure is the k-means cost on raw rows over that of the means of the true clusters after Lloyd's
steps (blobs), or of the best of several starts of plain k-means (the others, ``--starts``); a cluster is missed if
`centroid_index` to these is not 0.
``--methods`` may name `DPLloyd` too and, where they are installed, diffprivlib and Google LSH (under the import name
``clustering``, from a snapshot of google/differential-privacy; told the exact radius, and given the same δ also where
ours has none). diffprivlib has no δ and is left out where there is one.
Results go to results/many_dimensions.json, of published tables to many_published.json, after every setting, those of
other settings are kept; ``--resume`` names a file that keeps every fit, so that a run that was stopped goes on, and one
with more seeds begins where the last ended.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats
from sklearn.cluster import KMeans

import discreet as dc
from discreet.core import FloatArray
from discreet.evaluation import centroid_index
from studies.measures._measure import RESULTS, save, show

ROWS, CLUSTERS, SPREAD, DELTA = 50_000, 10, 0.1, 1e-6
#: Columns, and whether there is a δ.
BLOBS = ((16, False), (40, False), (100, False), (16, True), (40, True), (100, True), (300, True))
EPSILONS = (0.5, 1.0)
#: Published tables of 16 to 256 columns; of the pairs of Gaussians those of the middle spread.
PUBLISHED = (
    "letter", "satimage", "texture", "spambase", "optdigits",
    "dim032", "dim064", "dim128", "dim256", "g2mg_16_40", "g2mg_32_40", "g2mg_64_40", "g2mg_128_40",
)  # fmt: skip
PUBLISHED_BUDGETS = ((0.2, 0.0), (0.5, 0.0), (1.0, 0.0), (1.0, DELTA))
Fit = Callable[[FloatArray, dc.Domain, int, float, float, int], FloatArray]


def blobs(d: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return rows, and the means of the true clusters after some steps of Lloyd's algorithm."""
    rng = np.random.default_rng(seed)
    centers = rng.uniform(0.2, 0.8, (CLUSTERS, d))
    X = np.clip(rng.normal(centers[rng.integers(CLUSTERS, size=ROWS)], SPREAD), 0, 1)
    return X, KMeans(CLUSTERS, init=centers, n_init=1, max_iter=5).fit(X).cluster_centers_


def cost(X: FloatArray, centers: FloatArray) -> float:
    """Return the k-means cost, some rows at a time."""
    squares, total = (centers**2).sum(axis=1), 0.0
    for start in range(0, len(X), 8192):
        rows = X[start : start + 8192]
        total += float(((rows**2).sum(axis=1) + (squares - 2 * rows @ centers.T).min(axis=1)).sum())
    return total


def labelled(X: FloatArray, labels: Any, centers: FloatArray) -> float:
    """Return the share of rows that have the commonest label of their cluster."""
    near = np.concatenate(
        [((centers**2).sum(axis=1) - 2 * X[i : i + 8192] @ centers.T).argmin(axis=1) for i in range(0, len(X), 8192)]
    )
    table = np.zeros((len(centers), int(labels.max()) + 1))
    np.add.at(table, (near, labels), 1)
    return float(table.max(axis=1).sum() / len(X))


def _ours(X: FloatArray, domain: dc.Domain, k: int, epsilon: float, delta: float, seed: int) -> FloatArray:
    model = dc.PrivateKMeans(k, epsilon=epsilon, delta=delta or None, domain=domain, random_state=seed)
    return model.fit(X).cluster_centers_


def _lloyd(X: FloatArray, domain: dc.Domain, k: int, epsilon: float, delta: float, seed: int) -> FloatArray:
    model = dc.DPLloyd(k, epsilon=epsilon, delta=delta or None, domain=domain, random_state=seed)
    return model.fit(X).cluster_centers_


def _diffprivlib(X: FloatArray, domain: dc.Domain, k: int, epsilon: float, delta: float, seed: int) -> FloatArray:
    from diffprivlib.models import KMeans as Theirs

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Theirs(k, epsilon=epsilon, bounds=(domain.low, domain.high), random_state=seed)
        return np.asarray(model.fit(X).cluster_centers_)


def _google(X: FloatArray, domain: dc.Domain, k: int, epsilon: float, delta: float, seed: int) -> FloatArray:
    from clustering import clustering_algorithm, clustering_params

    middle = domain.low + (domain.high - domain.low) / 2
    radius = float(np.linalg.norm(X - middle, axis=1).max())
    np.random.seed(seed)  # noqa: NPY002 - theirs
    found = clustering_algorithm.private_lsh_clustering(
        k,
        clustering_params.Data(X - middle, radius),
        clustering_params.DifferentialPrivacyParam(epsilon, delta or DELTA),
    )
    return np.asarray(found.centers) + middle


METHODS: dict[str, Fit] = {
    "PrivateKMeans": _ours, "DPLloyd": _lloyd, "diffprivlib": _diffprivlib, "Google LSH": _google
}  # fmt: skip


def figures(runs: list[dict[str, float]]) -> dict[str, Any]:
    """Return the mean over seeds with a 95 % interval, and how many missed a cluster."""
    costs = np.array([run["cost"] for run in runs])
    wide = float(stats.t.ppf(0.975, len(costs) - 1) * stats.sem(costs)) if len(costs) > 1 else None
    told: dict[str, Any] = {
        "mean": float(costs.mean()),
        "interval": wide,
        "worst": float(costs.max()),
        "seeds": len(runs),
    }
    told["missed"] = int(sum(run["missed"] > 0 for run in runs))
    told["seconds"] = float(np.median([run["seconds"] for run in runs]))
    if "label_accuracy" in runs[0]:
        told["label_accuracy"] = float(np.mean([run["label_accuracy"] for run in runs]))
    return told


def settings(tables: list[str], n_starts: int) -> Iterator[tuple[str, Callable[[int], Any], float, float]]:
    """Yield a name, what gives rows, reference and labels for a seed, and the budget."""
    if "blobs" in tables:
        for d, relaxed in BLOBS:
            for epsilon in EPSILONS:
                delta = DELTA if relaxed else 0.0
                yield (
                    f"blobs d={d}",
                    (lambda seed, d=d: (*blobs(d, seed), None, dc.Domain.box([0.0] * d, 1.0))),
                    epsilon,
                    delta,
                )
    if "mnist" in tables and "mnist" in dc.datasets.available():
        data = dc.datasets.load("mnist")
        X, box = data.X / 255, dc.Domain.box([0.0] * 784, 1.0)
        starts = [KMeans(10, n_init=1, random_state=s, max_iter=60).fit(X) for s in range(n_starts)]
        plain = min(starts, key=lambda found: found.inertia_).cluster_centers_
        for delta in (0.0, DELTA):
            yield "mnist", (lambda _: (X, plain, data.labels, box)), 1.0, delta
    for name in PUBLISHED:
        if name in tables and name in dc.datasets.available():
            for epsilon, delta in PUBLISHED_BUDGETS:
                yield name, (lambda _, name=name: published(name, n_starts)), epsilon, delta


@lru_cache(maxsize=1)
def published(name: str, n_starts: int) -> tuple[FloatArray, FloatArray, Any, dc.Domain]:
    """Return scaled rows, the best centres of several starts, classes and the unit box."""
    data = dc.datasets.load(name)
    X = data.domain.to_unit(data.X)
    plain = KMeans(data.n_clusters, n_init=n_starts, random_state=0).fit(X).cluster_centers_
    return X, plain, data.labels, dc.Domain.box([0.0] * X.shape[1], 1.0)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--tables", nargs="*", default=["blobs", "mnist", *PUBLISHED])
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--methods", nargs="*", choices=list(METHODS), default=["PrivateKMeans"])
    parser.add_argument("--resume", type=Path)
    given = parser.parse_args()
    until = time.monotonic() + 60 * given.minutes
    files: dict[str, dict[str, Any]] = {}
    for file in ("many_dimensions", "many_published"):
        place = RESULTS / f"{file}.json"
        files[file] = json.loads(place.read_text())["settings"] if place.exists() else {}
    lines = given.resume.read_text().splitlines() if given.resume and given.resume.exists() else []
    kept = {tuple(fit): run for fit, run in map(json.loads, lines)}
    for name, make, epsilon, delta in settings(given.tables, given.starts):
        key, label = f"{name} epsilon={epsilon:g} delta={delta:g}", {}
        file = "many_published" if name in PUBLISHED else "many_dimensions"
        found = files[file]
        methods = [m for m in given.methods if not (m == "diffprivlib" and delta and name in PUBLISHED)]
        runs: dict[str, list[dict[str, float]]] = {method: [] for method in methods}
        if time.monotonic() > until:
            break
        for seed in range(given.seeds):
            for method in methods:
                if (key, method, seed) not in kept:
                    X, plain, labels, domain = make(seed)
                    start = time.perf_counter()
                    centers = METHODS[method](X, domain, len(plain), epsilon, delta, seed)
                    run = {"cost": cost(X, centers) / cost(X, plain), "seconds": time.perf_counter() - start}
                    run["missed"] = float(centroid_index(centers, plain))
                    if labels is not None and name not in PUBLISHED:
                        run["label_accuracy"] = labelled(X, labels, centers)
                        label = {"plain": {"label_accuracy": labelled(X, labels, plain), "starts": given.starts}}
                    kept[key, method, seed] = run
                    if given.resume:
                        with given.resume.open("a") as log:
                            log.write(json.dumps([[key, method, seed], run]) + "\n")
                runs[method].append(kept[key, method, seed])
        found[key] = {**found.get(key, {}), **label, **{method: figures(all_) for method, all_ in runs.items() if all_}}
        save(file, {"settings": found}, "discreet", "numpy", "scikit-learn", "diffprivlib")
        print(key, found[key], flush=True)
    rows = [
        [key, method, f["mean"], f["interval"], f["worst"], f["missed"], f["seconds"]]
        for found in files.values() for key, every in found.items() for method, f in every.items() if "mean" in f
    ]  # fmt: skip
    show("Cost over non-private", ["setting", "method", "mean", "±", "worst", "missed", "seconds"], rows)


if __name__ == "__main__":
    main()
