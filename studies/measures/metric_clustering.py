"""Clustering after metric privacy: published figures again, and noise-aware k-means against plain k-means.

    python -m studies.measures.metric_clustering                  # all sections, about half an hour
    python -m studies.measures.metric_clustering --section cells  # one of seeds, table, points, cells, speed

Every repetition draws fresh noise. Data lie in [-1, 1] on every axis unless said otherwise, and ε is the rate of the
noise per unit of distance there. The reference is the same algorithm on the raw records.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np
from sklearn.cluster import DBSCAN, AffinityPropagation, KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import discreet as dc
from discreet.clustering import DenoisingKMeans, nearest, weighted_kmeans
from discreet.clustering.noisy import deconvolution
from discreet.evaluation import nicv
from discreet_studies.density_trees.labelled import labelled
from discreet_studies.measured.agreement import Spread
from studies.measures import _measure

SEEDS_PUBLISHED = {0.5: 0.04, 1: 0.19, 2: 0.43, 3: 0.56, 5: 0.67, 9: 0.77}
#: (rows, ε): ARI and WCSS ratio of noisy, clipped and remapped records and of the grid; mean of 12 draws.
TABLE_PUBLISHED = {
    (200, 1): [0.34, 81.6, 0.64, 18.3, 0.68, 22.6, 0.72, 11.0],
    (200, 3): [0.83, 7.6, 0.80, 6.1, 0.84, 5.4, 0.88, 3.6],
    (200, 5): [0.97, 1.89, 0.94, 1.88, 0.95, 1.75, 0.93, 1.70],
    (200, 9): [0.97, 1.25, 0.97, 1.17, 0.97, 1.20, 0.97, 1.17],
    (2000, 1): [0.47, 110.8, 0.62, 20.5, 0.64, 22.4, 0.76, 8.1],
    (2000, 3): [0.93, 6.2, 0.77, 8.2, 0.90, 4.1, 0.97, 1.27],
    (2000, 5): [0.97, 1.51, 0.97, 1.46, 0.96, 1.55, 0.98, 1.04],
    (2000, 9): [0.98, 1.04, 0.98, 1.05, 0.98, 1.05, 0.98, 1.01],
}
#: ε: mean and deviation over 60 draws of the ARI: k-means in raw units and in [-1, 1], affinity, DBSCAN 0.5.
POINTS_PUBLISHED = {
    0.05: [(0.00, 0.03), (0.00, 0.02), (0.00, 0.03), (0.00, 0.02)],
    0.1: [(0.01, 0.03), (0.00, 0.03), (0.00, 0.02), (0.00, 0.02)],
    0.5: [(0.15, 0.06), (0.01, 0.04), (0.02, 0.03), (0.00, 0.03)],
    1: [(0.40, 0.12), (0.05, 0.04), (0.04, 0.04), (0.01, 0.03)],
    2: [(0.76, 0.11), (0.18, 0.07), (0.15, 0.06), (0.04, 0.05)],
    3: [(0.88, 0.07), (0.33, 0.10), (0.29, 0.09), (0.13, 0.08)],
    5: [(0.95, 0.05), (0.62, 0.13), (0.51, 0.12), (0.28, 0.13)],
    7: [(0.97, 0.04), (0.75, 0.11), (0.69, 0.11), (0.47, 0.14)],
    9: [(0.98, 0.03), (0.86, 0.09), (0.82, 0.10), (0.55, 0.18)],
}


def unit(X: np.ndarray) -> np.ndarray:
    """Scale to [-1, 1] by the extremes, as the published runs did; not for private data."""
    return 2 * (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0)) - 1


def noisy(X: np.ndarray, rate: float, seed: int) -> np.ndarray:
    """Perturb in the units of X. Bounds far outside: nothing is clamped."""
    domain = dc.Domain.box(X.min(axis=0) - 1, X.max(axis=0) + 1)
    return dc.metric.NDLaplace(rate, 1.0, domain, scaling="none", random_state=seed).transform(X)


def standard(X: np.ndarray) -> np.ndarray:
    return StandardScaler().fit_transform(X)


def kmeans(X: np.ndarray, k: int, n_init: int = 10) -> KMeans:
    return KMeans(k, n_init=n_init, random_state=0).fit(X)


def store(section: str, found: dict) -> None:
    """Put a section, as far as it is, into the result file; rows of other tables stay as they are."""
    path = _measure.RESULTS / "metric_clustering.json"
    old = json.loads(path.read_text()) if path.is_file() else {}
    if section == "cells":
        new = {(r["data"], r["epsilon"]) for r in found["rows"]}
        rows = [r for r in old.get(section, {"rows": []})["rows"] if (r["data"], r["epsilon"]) not in new]
        found = {**found, "rows": rows + found["rows"]}
    kept = {name: old[name] for name in SECTIONS if name in old}
    _measure.save("metric_clustering", {**kept, section: found}, "discreet", "numpy", "scikit-learn")


def seeds(draws: int = 40) -> dict:
    """AMI of k-means on Seeds after noise in several units, standard scaling before the clustering."""
    X = dc.datasets.load("seeds").X
    spaces = {"raw units": X, "[0, 1]": (unit(X) + 1) / 2, "[-1, 1]": unit(X), "standard": standard(X)}
    out = []
    for name, points in spaces.items():
        for k in (2, 3):
            reference = kmeans(standard(points), k).labels_
            for rate, published in SEEDS_PUBLISHED.items():
                runs = [_once(standard(noisy(points, rate, s)), k, s) for s in range(draws)]
                found = Spread.of([adjusted_mutual_info_score(reference, run) for run in runs])
                out.append({"units": name, "k": k, "epsilon": rate, "published": published, **found.to_dict()})
    rows = [[f"{r['units']} k={r['k']}", r["epsilon"], r["published"], r["mean"], r["std"]] for r in out]
    _measure.show("Seeds: AMI", ["units", "ε", "published", "mean", "std of one draw"], rows)
    return {"draws": draws, "rows": out}


def _once(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Cluster as a user would who runs k-means once."""
    return KMeans(k, n_init=1, random_state=seed).fit(X).labels_


def scores(X: np.ndarray, reference: KMeans, centers: np.ndarray) -> tuple[float, float]:
    """ARI of raw records assigned to centres, and their cost relative to the best."""
    ari = adjusted_rand_score(reference.labels_, nearest(X, centers))
    return ari, nicv(X, centers) * len(X) / reference.inertia_


def table(draws: int = 20) -> dict:
    """The table of deconvolution on four blobs: a fresh table and fresh noise in every draw."""
    names = ["noisy", "clipped", "remapped", "grid", "DenoisingKMeans"]
    low, high = -np.ones(2), np.ones(2)
    places = deconvolution.grid(low, high, 31)
    out = []
    for (n, rate), published in TABLE_PUBLISHED.items():
        law, runs = dc.metric.IsotropicLaw(2, rate), []
        for s in range(draws):
            X = unit(make_blobs(n, centers=4, cluster_std=0.6, random_state=s)[0])
            reference, Z = kmeans(X, 4), noisy(X, rate, s)
            f = deconvolution.densities(Z, places, law.log_density)
            weights = deconvolution.weights_by_em(f, np.ones(n), 100)
            remapped = (f * weights) @ places / (f @ weights)[:, None]
            sets = [kmeans(x, 4, 5).cluster_centers_ for x in (Z, np.clip(Z, -1, 1), remapped)]
            sets.append(weighted_kmeans(places, weights, 4).centers)
            sets.append(DenoisingKMeans(4, law, domain=(-1, 1)).fit(Z).cluster_centers_)
            runs.append([x for centers in sets for x in scores(X, reference, centers)])
        for j, (name, column) in enumerate(
            zip(names, np.array(runs).reshape(draws, -1, 2).swapaxes(0, 1), strict=True)
        ):
            ari, cost = Spread.of(column[:, 0]), Spread.of(column[:, 1])
            row = {"n": n, "epsilon": rate, "method": name, "ari": ari.to_dict(), "wcss_ratio": cost.to_dict()}
            if j < 4:
                row["published"] = published[2 * j : 2 * j + 2]
                # Both figures are means: 12 draws there, ours here.
                root = (1 / 12 + 1 / draws) ** 0.5
                row["standard_errors_apart"] = [
                    (s.mean - p) / max(s.std * root, 0.005) for s, p in zip((ari, cost), row["published"], strict=True)
                ]
            out.append(row)
        store("table", {"draws": draws, "rows": out})
    text = [
        [
            f"{r['n']} ε={r['epsilon']} {r['method']}",
            r["ari"]["mean"],
            r["wcss_ratio"]["mean"],
            str(r.get("published", "")),
        ]
        for r in out
    ]
    _measure.show("Four blobs: ARI, WCSS ratio", ["", "ARI", "WCSS", "published"], text)
    return {"draws": draws, "rows": out}


def points(draws: int = 60) -> dict:
    """Fifty points, three algorithms, standard scaling after the noise: ARI against the same algorithm on raw data."""
    X = make_blobs(50, centers=4, cluster_std=0.6, random_state=0)[0]
    methods: dict[str, tuple[np.ndarray, Callable]] = {
        "k-means, raw units": (X, lambda x: kmeans(x, 4).labels_),
        "k-means": (unit(X), lambda x: kmeans(x, 4).labels_),
        "affinity": (unit(X), lambda x: AffinityPropagation(damping=0.5, max_iter=1000, random_state=0).fit(x).labels_),
        "dbscan 0.5": (unit(X), lambda x: DBSCAN(eps=0.5, min_samples=4).fit(x).labels_),
    }
    out = []
    for j, (name, (space, method)) in enumerate(methods.items()):
        reference = method(standard(space))
        for rate, published in POINTS_PUBLISHED.items():
            runs = [adjusted_rand_score(reference, method(standard(noisy(space, rate, s)))) for s in range(draws)]
            found, (mean, std) = Spread.of(runs), published[j]
            error = max((std**2 / 60 + found.std**2 / draws) ** 0.5, 0.005)
            row = {"method": name, "epsilon": rate, "published": mean, **found.to_dict()}
            out.append({**row, "standard_errors_apart": (found.mean - mean) / error})
    rows = [[f"{r['method']} ε={r['epsilon']}", r["published"], r["mean"], r["standard_errors_apart"]] for r in out]
    _measure.show("Fifty points: ARI", ["", "published", "mean", "errors apart"], rows)
    return {"draws": draws, "rows": out}


def declared(name: str) -> tuple[np.ndarray, int]:
    """Read a table and scale its declared bounds to [-1, 1]."""
    data = dc.datasets.load(name) if name in dc.datasets.available() else labelled(name)
    return 2 * data.domain.to_unit(data.X) - 1, data.n_clusters


def blobs(n: int, d: int, k: int) -> Callable[[int], tuple[np.ndarray, int]]:
    return lambda s: (unit(make_blobs(n, d, centers=k, cluster_std=0.6, random_state=s)[0]), k)


#: Name: maker (by draw) and rates.
CELLS: dict[str, tuple[Callable[[int], tuple[np.ndarray, int]], tuple[float, ...]]] = {
    "blobs 200 x 2": (blobs(200, 2, 4), (1, 3, 5, 9)),
    "blobs 2000 x 2": (blobs(2000, 2, 4), (1, 3, 5, 9)),
    "blobs 1000 x 3": (blobs(1000, 3, 5), (1, 3, 5, 9)),
    "blobs 1000 x 10": (blobs(1000, 10, 5), (1, 3, 5, 9)),
    "seeds 210 x 7": (lambda s: declared("seeds"), (1, 3, 5, 9, 20)),
    "iris 150 x 4": (lambda s: declared("iris"), (1, 3, 5, 9, 20)),
    "wine 178 x 13": (lambda s: declared("wine"), (1, 3, 5, 9, 20)),
    "glass 214 x 9": (lambda s: declared("glass"), (1, 3, 5, 9, 20)),
    "moons 1000 x 2": (lambda s: declared("synthetic-5"), (1, 3, 5, 9, 20)),
    "circles 1000 x 2": (lambda s: declared("synthetic-6"), (1, 3, 5, 9, 20)),
    "clouds 1000 x 5": (lambda s: declared("synthetic-1"), (3, 9, 20)),
    "unbalance 6500 x 2": (lambda s: declared("unbalance"), (5, 20)),
    "S1 5000 x 2": (lambda s: declared("s1"), (9, 20)),
}


def cells(draws: int = 20, names: list[str] | None = None) -> dict:
    """Noise-aware against plain k-means: the same noisy records, the same reference; differences draw by draw."""
    out = []
    for name, (make, rates) in CELLS.items():
        if names and name not in names:
            continue
        for rate in rates:
            runs, start = [], time.perf_counter()
            for s in range(draws):
                X, k = make(s)
                reference, Z = kmeans(X, k), noisy(X, rate, 1000 + s)
                aware = DenoisingKMeans(k, float(rate), domain=(-1, 1)).fit(Z)
                plain, clipped = kmeans(Z, k), kmeans(np.clip(Z, -1, 1), k)
                labels = (plain.labels_, clipped.labels_, aware.labels_)
                sets = (plain.cluster_centers_, clipped.cluster_centers_, aware.cluster_centers_)
                amis = [adjusted_mutual_info_score(reference.labels_, x) for x in labels]
                runs.append([x for c, a in zip(sets, amis, strict=True) for x in (*scores(X, reference, c), a)])
            r = np.array(runs).reshape(draws, 3, 3)
            row = {"data": name, "epsilon": rate, "seconds": (time.perf_counter() - start) / draws}
            for j, method in enumerate(("plain", "clipped", "aware")):
                row[method] = {
                    m: Spread.of(r[:, j, i]).to_dict() for i, m in enumerate(("ari", "wcss_ratio", "ami_noisy"))
                }
            for j, rival in enumerate(("plain", "clipped")):
                gaps = {
                    "ari": r[:, 2, 0] - r[:, j, 0],
                    "log_wcss": np.log(r[:, j, 1] / r[:, 2, 1]),
                    "ami_noisy": r[:, 2, 2] - r[:, j, 2],
                }
                row[f"gain_over_{rival}"] = {m: Spread.of(g).to_dict() for m, g in gaps.items()}
            out.append(row)
            store("cells", {"draws": draws, "rows": out})
            shown = [f"{name} ε={rate}"]
            shown += [
                f"{row[m]['ari']['mean']:.2f}/{row[m]['wcss_ratio']['mean']:.2f}" for m in ("plain", "clipped", "aware")
            ]
            print(*shown, f"{row['seconds']:.1f}s", flush=True)
    return {"draws": draws, "rows": out}


def speed() -> dict:
    """Seconds for 100,000 records, compiled before."""
    out = []
    for d, k in ((2, 4), (7, 4), (20, 5)):
        data = dc.datasets.mixture(100_000, d, k, random_state=0)
        mechanism = dc.metric.NDLaplace(1, 0.1, data.domain, random_state=0)
        Z = mechanism.transform(data.X)
        estimator = DenoisingKMeans(k, mechanism.law, domain=data.domain, scale="domain")
        estimator.fit(Z[:500])
        taken = _measure.seconds(lambda e=estimator, z=Z: e.fit(z), repeat=1, warm=False)
        plain = kmeans(Z, k).cluster_centers_
        best = kmeans(data.X, k, 3)
        ratios = [scores(data.X, best, c) for c in (plain, estimator.cluster_centers_)]
        out.append({"columns": d, "k": k, "seconds": taken, "plain": ratios[0], "aware": ratios[1]})
        print(out[-1], flush=True)
    return {"rows": out}


SECTIONS: dict[str, Callable[[], dict]] = {
    "seeds": seeds,
    "table": table,
    "points": points,
    "cells": cells,
    "speed": speed,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--section", choices=SECTIONS, action="append")
    parser.add_argument("--data", action="append", help="only these tables of the section cells")
    options = parser.parse_args()
    for name in options.section or SECTIONS:
        found = cells(names=options.data) if name == "cells" else SECTIONS[name]()
        store(name, found)


if __name__ == "__main__":
    main()
