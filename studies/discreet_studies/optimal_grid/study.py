"""The grid-size experiments (Muthukrishnan and Tandon 2026) again: k-means on noisy grids sized by RUGNIK and by EUGkM.

As published: tables of 100 to 1600 rows in the box [-1, 1]^d, d = 2 and 3, K = 2, 4 and 8 clusters, six ε, average
within-cluster sum of squares of the true rows. Changed: both rules run twice, as published with the exact number of
rows, and with one that is paid for; refinement is measured on the same noisy counts; there are sixty fresh tables
for each figure where the publication does not say how many. Added: centres that never saw a row, the error over the
number of cells, and more rows than were tried, where the two rules change places.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module

import numpy as np

from discreet import noise
from discreet.clustering import DPLloyd, PrivateKMeans, cluster_synopsis, weighted_kmeans
from discreet.clustering.central import pack
from discreet.core import FloatArray
from discreet.noise import PublicRandomness
from discreet.synopses import GridSynopsis, Synopsis
from discreet_studies.as_published.grids import RULES, parts, release, signed_kmeans
from discreet_studies.harness.study import Numbers, Setting, Study
from discreet_studies.optimal_grid.findings import findings
from discreet_studies.optimal_grid.notes import notes
from discreet_studies.optimal_grid.pictures import pictures
from discreet_studies.optimal_grid.published import CELLS, EPSILONS, ROWS
from discreet_studies.optimal_grid.tables import box, stream_of, table

#: Other packages that are measured where they can be imported, by the module that is looked for.
PEERS = {"diffprivlib": "diffprivlib.models", "google-clustering": "clustering.clustering_algorithm"}
#: Seeds of a quick and of a full run. The interval is over seeds, each the mean of that many fresh tables.
QUICK_SEEDS, SEEDS, TABLES = 4, 20, 3
#: Refinements of one synopsis that are compared; "none" sets weights below 0 to 0.
REFINEMENTS = {"none": None, "project": "project", "threshold": "threshold", "mixture": "mixture"}
#: Where the error is measured over the number of cells: d, K, N and the parts per axis.
SWEEPS = ((2, 4, 400, (2, 3, 4, 5, 6, 7, 8, 10, 12, 16)), (3, 4, 400, (2, 3, 4, 5, 6, 7, 8)))
SWEEP_EPSILONS = (0.10, 0.25, 1.00)
#: More rows than were tried: d, K, and the numbers of rows.
LARGE = ((2, 4, (400, 1600, 6400, 25600, 102400)),)
LARGE_EPSILONS = (0.10, 1.00)
#: Google's method has no pure guarantee; its own example takes this.
GOOGLE_DELTA = 1e-6


def settings(quick: bool) -> list[Setting]:
    """Return the grid: Table II with every method, the error over the number of cells, and over many rows.

    A quick run has four seeds, the smallest, a middle and the largest ε, and neither of the last two.
    """
    found: list[Setting] = []
    seeds = QUICK_SEEDS if quick else SEEDS
    epsilons = (EPSILONS[0], EPSILONS[2], EPSILONS[-1]) if quick else EPSILONS
    peers = [name for name in PEERS if name not in absent()]

    def add(part: str, d: int, k: int, n: int, epsilon: float, seeds: int) -> None:
        found.extend({"part": part, "d": d, "k": k, "n": n, "epsilon": epsilon, "seed": s} for s in range(seeds))

    for d, k, n in CELLS:
        if quick and n != ROWS[k][1]:
            continue
        add("no privacy", d, k, n, 0.0, seeds)
        for part in ("grids", "negatives", *peers):
            for epsilon in epsilons:
                add(part, d, k, n, epsilon, seeds)
    for d, k, n, _ in () if quick else SWEEPS:
        for epsilon in SWEEP_EPSILONS:
            add("parts", d, k, n, epsilon, seeds)
    for d, k, ns in () if quick else LARGE:
        for n in ns:
            for epsilon in LARGE_EPSILONS:
                add("rows", d, k, n, epsilon, seeds)
    # All of a seed before the next: a run that is cut short has every cell of the tables.
    return sorted(found, key=lambda setting: int(setting["seed"]))


def measure(setting: Setting) -> Numbers:
    """Return within-cluster sums of squares over K by method: means over fresh tables, the same for every ε."""
    part, d, k, n = str(setting["part"]), int(setting["d"]), int(setting["k"]), int(setting["n"])
    epsilon, seed = float(setting["epsilon"]), int(setting["seed"])
    found: dict[str, list[float]] = {}
    for turn in range(TABLES):
        X = table(d, k, n, stream_of("table", d, k, n, seed, turn))
        # The noise of a method does not depend on which others run beside it. Treatments of negatives share the counts.
        drawn = "grids" if part == "negatives" else part
        own = int(noise.below(2**31, rng=stream_of("noise", drawn, d, k, n, epsilon, seed, turn)))
        for name, places in _PARTS[part](X, k, epsilon, own).items():
            found.setdefault(name, []).append(wcss(X, places) / k)
    # Five digits: the file is part of the package.
    return {name: float(f"{np.mean(values):.5g}") for name, values in found.items()}


def wcss(X: FloatArray, places: FloatArray) -> float:
    """Return the sum over rows of the squared distance to the nearest centre.

    Examples
    --------
    >>> wcss(np.array([[0.0], [1.0], [5.0]]), np.array([[0.0], [4.0]]))
    2.0
    """
    gaps = ((X[:, None] - places[None]) ** 2).sum(axis=2)
    return float(gaps.min(axis=1).sum())


def _reference(X: FloatArray, k: int, epsilon: float, seed: int) -> dict[str, FloatArray]:
    """Two ends of the scale: centres of the rows themselves, and centres that never saw one."""
    d = X.shape[1]
    unseen = box(d).from_unit(pack(k, d, PublicRandomness(stream_of("unseen", seed))))
    return {"no privacy": weighted_kmeans(X, np.ones(len(X)), k, seed=seed).centers, "no data": unseen}


def _centers(released: Synopsis, k: int, refinement: str, seed: int) -> FloatArray:
    return cluster_synopsis(released, k, refine=REFINEMENTS[refinement], random_state=seed).centers


def _grids(X: FloatArray, k: int, epsilon: float, seed: int) -> dict[str, FloatArray]:
    """Both rules with the exact N and with one that is paid for, refined or not; ours; and private Lloyd steps."""
    d = X.shape[1]
    domain = box(d)
    found: dict[str, FloatArray] = {}
    for rule in RULES:
        exact = release(X, domain, k, epsilon, parts(rule, len(X), epsilon, d, k), seed)
        for name in REFINEMENTS if rule == "rugnik" else ("none", "mixture"):
            found[rule if name == "none" else f"{rule}, {name}"] = _centers(exact, k, name, seed)
        paid = GridSynopsis(epsilon, domain, rule, n_clusters=k, random_state=seed).fit(X).synopsis_
        found[f"{rule}, paid"] = _centers(paid, k, "none", seed)
    for name, n_rows in {"ours": None, "ours, N declared": len(X)}.items():
        found[name] = PrivateKMeans(k, epsilon, domain, n_rows=n_rows, random_state=seed).fit(X).cluster_centers_
    found["lloyd"] = DPLloyd(k, epsilon, domain, random_state=seed).fit(X).cluster_centers_
    return found


def _negatives(X: FloatArray, k: int, epsilon: float, seed: int) -> dict[str, FloatArray]:
    """Both rules as published, on the counts of the part "grids": negative ones taken as they are, or made positive."""
    d = X.shape[1]
    found: dict[str, FloatArray] = {}
    for rule in RULES:
        counts = release(X, box(d), k, epsilon, parts(rule, len(X), epsilon, d, k), seed)
        found[f"{rule}, absolute"] = weighted_kmeans(counts.points, np.abs(counts.weights), k, seed=seed).centers
        found[f"{rule}, signed"] = signed_kmeans(counts.points, counts.weights, k, seed)
    return found


def _sweep(X: FloatArray, k: int, epsilon: float, seed: int) -> dict[str, FloatArray]:
    """The same rows on grids of several sizes, the number of rows declared: what differs is the size alone."""
    d = X.shape[1]
    found: dict[str, FloatArray] = {}
    for each in next(ms for dd, kk, n, ms in SWEEPS if (dd, kk, n) == (d, k, len(X))):
        released = release(X, box(d), k, epsilon, each, seed)
        found |= {f"{name} {each}": _centers(released, k, name, seed) for name in ("none", "mixture")}
    return found


def _many_rows(X: FloatArray, k: int, epsilon: float, seed: int) -> dict[str, FloatArray]:
    """Both rules as published, and ours, where there are so many rows that EUGkM's cells are the smaller ones."""
    d = X.shape[1]
    found: dict[str, FloatArray] = {}
    for rule in RULES:
        found[rule] = _centers(
            release(X, box(d), k, epsilon, parts(rule, len(X), epsilon, d, k), seed), k, "none", seed
        )
    found["ours"] = PrivateKMeans(k, epsilon, box(d), random_state=seed).fit(X).cluster_centers_
    found["no privacy"] = weighted_kmeans(X, np.ones(len(X)), k, n_init=3, seed=seed).centers
    return found


def _diffprivlib(X: FloatArray, k: int, epsilon: float, seed: int) -> dict[str, FloatArray]:
    models, d = import_module(PEERS["diffprivlib"]), X.shape[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = models.KMeans(k, epsilon=epsilon, bounds=(-np.ones(d), np.ones(d)), random_state=seed).fit(X)
    return {"diffprivlib": np.asarray(model.cluster_centers_, dtype=np.float64)}


def _google(X: FloatArray, k: int, epsilon: float, seed: int) -> dict[str, FloatArray]:
    """Google's coresets, with the radius of the box. They draw from a stream of their own, which has no seed."""
    given = import_module("clustering.clustering_params")
    rows = given.Data(datapoints=X, radius=math.sqrt(X.shape[1]))
    budget = given.DifferentialPrivacyParam(epsilon=epsilon, delta=GOOGLE_DELTA)
    found = import_module(PEERS["google-clustering"]).private_lsh_clustering(k, rows, budget)
    return {"google-clustering": np.asarray(found.centers, dtype=np.float64)}


_PARTS: dict[str, Callable[[FloatArray, int, float, int], dict[str, FloatArray]]] = {
    "no privacy": _reference,
    "grids": _grids,
    "negatives": _negatives,
    "parts": _sweep,
    "rows": _many_rows,
    "diffprivlib": _diffprivlib,
    "google-clustering": _google,
}


def absent() -> Sequence[str]:
    """Return the other packages that cannot be imported here."""
    return [name for name, module in PEERS.items() if not _importable(module)]


def _importable(module: str) -> bool:
    """Tell whether a module can be imported, not only found: it may not go with the scikit-learn that is here."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import_module(module)
    except ImportError:
        return False
    return True


STUDY = Study(
    "optimal-grid",
    "Optimal grids: how many cells private k-means should have",
    "G. Muthukrishnan and A. Tandon, On the Optimal Number of Grids for Differentially Private Non-Interactive K-Means "
    "Clustering, arXiv:2603.26963, 2026",
    settings,
    measure,
    findings,
    notes,
    pictures,
    absent,
)
