"""One run of each method of the partition study: as published, with the faults mended, and ours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus

from discreet import datasets
from discreet.clustering import PrivateKMeans, weighted_kmeans
from discreet.core import Domain, FloatArray, IntArray
from discreet.evaluation import centroid_index, nicv
from discreet.synopses import GridSynopsis, TreeSynopsis
from discreet_studies.as_published.axes import InTurn
from discreet_studies.as_published.grids import eugkm_rounded
from discreet_studies.as_published.tree import AS_WRITTEN, MOST_CELLS, Faults, PublishedTree
from discreet_studies.harness.study import Numbers
from discreet_studies.partition_synopsis.published import LEAST_TWO

#: Tables that stand in for those whose files are missing.
LIKE = ("s1-like", "s2-like", "s3-like", "s4-like", "shuttle-like")
#: Starts of k-means on a synopsis, and its steps: five, and the twenty that Spark takes unless told otherwise.
STARTS, STEPS = 5, 20
BUDGETS = {"U": "uniform", "G": "geometric", "L": "linear"}


@dataclass(frozen=True, eq=False)
class Task:
    """A table, its different rows and how often each is there, its public domain, and the best clustering found."""

    X: FloatArray
    points: FloatArray
    times: IntArray
    domain: Domain
    k: int
    reference: FloatArray
    baseline: float

    @property
    def box(self) -> Domain:
        """The box from the smallest to the largest value: as published, and a fault."""
        return Domain.box(self.X.min(axis=0), self.X.max(axis=0))


@lru_cache(maxsize=2)
def task(name: str) -> Task:
    """Return a table by its name, with the best of several swap searches on its rows."""
    if name == "shuttle-like":
        data = datasets.mixture(14_500, 9, 7, separation=6, random_state=7)
    elif name in LIKE:
        data = datasets.s_like(int(name[1]), random_state=int(name[1]))
    else:
        data = datasets.load(name)
    X = np.ascontiguousarray(data.X[np.isfinite(data.X).all(axis=1)])
    points, times = np.unique(X, axis=0, return_counts=True)
    searches = range(10 if len(points) < 20_000 else 3)
    found = min((weighted_kmeans(points, times, data.n_clusters, seed=s) for s in searches), key=lambda f: f.cost)
    return Task(X, points, times, data.domain, data.n_clusters, found.centers, nicv(X, found.centers))


def starts_of_kmeans(points: FloatArray, weights: FloatArray, k: int, seed: int, starts: int = STARTS) -> FloatArray:
    """Run k-means as published: plain k-means++ starts, few steps, and the best of the runs by its own points."""
    if len(points) <= k:
        return points
    best, least = points[:k], math.inf
    for i in range(starts):
        state = (1000 * seed + i) % 2**32
        first, _ = kmeans_plusplus(points, k, sample_weight=weights, n_local_trials=1, random_state=state)
        with np.errstate(all="ignore"):
            found = KMeans(k, init=first, n_init=1, max_iter=STEPS).fit(points, sample_weight=weights)
        if found.inertia_ < least:
            best, least = found.cluster_centers_, found.inertia_
    return np.asarray(best, np.float64)


def orphans(reference: FloatArray, centers: FloatArray) -> int:
    """Return the centroid index in one direction, as published: centres that are nearest to no reference.

    Examples
    --------
    >>> orphans(np.array([[0.0], [1.0]]), np.array([[0.1], [9.0]]))
    1
    """
    gaps = ((reference[:, np.newaxis] - centers[np.newaxis]) ** 2).sum(axis=2)
    return len(centers) - len(np.unique(gaps.argmin(axis=1)))


def judged(work: Task, centers: FloatArray, label: str, *, both: bool = False) -> Numbers:
    """Return NICV (six digits) and centroid index; no index where there are fewer centres than clusters."""
    if not len(centers):
        centers = (work.X.min(axis=0) + work.X.max(axis=0))[np.newaxis] / 2
    found = {f"nicv@{label}": float(f"{nicv(work.X, centers):.6g}")}
    if len(centers) == work.k:
        index = centroid_index(centers, work.reference) if both else orphans(work.reference, centers)
        found[f"ci@{label}"] = float(index)
    return found


def as_published(name: str, partitioner: str, shape: str, threshold: int, epsilon: float, seed: int) -> FloatArray:
    """Return the centres of the published tree as it was run, its faults on."""
    faults = Faults(rounding="least two" if name.removesuffix("-like") in LEAST_TWO else "up")
    return _published_tree(name, partitioner, shape, threshold, epsilon, seed, faults)


def as_written(name: str, partitioner: str, shape: str, threshold: int, epsilon: float, seed: int) -> FloatArray:
    """Return the centres of the published tree as its text describes it."""
    return _published_tree(name, partitioner, shape, threshold, epsilon, seed, AS_WRITTEN)


def _published_tree(
    name: str, partitioner: str, shape: str, threshold: int, epsilon: float, seed: int, faults: Faults
) -> FloatArray:
    work = task(name)
    tree = PublishedTree(
        partitioner, depth=int(shape[1:]), budget=BUDGETS[shape[0]], threshold=threshold, faults=faults
    )
    many = len(work.points) < len(work.X) / 2
    rows = (work.points, work.times) if many else (work.X, None)
    points, weights = tree.fit(rows[0], epsilon, seed, rows[1])
    return starts_of_kmeans(points, weights, work.k, seed)


def mended(name: str, partitioner: str, shape: str, threshold: int, epsilon: float, seed: int) -> FloatArray:
    """Return the centres of the product's tree with the published settings: the same question, asked privately.

    Public bounds, a noisy test also for empty blocks, cuts on a public grid, exact integer noise. Kept are thirds of
    the budget, the threshold, tests from the root on, axes in column order, and k-means as published.
    """
    work = task(name)
    tree = TreeSynopsis(
        epsilon,
        work.domain,
        partitioner if partitioner == "uniform" else InTurn.of(partitioner),
        max_depth=min(int(shape[1:]), 10 if partitioner == "quantile" else 12),
        threshold=threshold,
        budget=BUDGETS[shape[0]],
        shares=(1, 1, 1),
        test_from=0,
        n_rows=len(work.X),
        random_state=seed,
    )
    synopsis = tree.fit(work.X).synopsis_
    kept = synopsis.weights > 0
    return starts_of_kmeans(synopsis.points[kept], synopsis.weights[kept].astype(np.float64), work.k, seed)


def grid_as_published(name: str, rule: str, epsilon: float, seed: int) -> FloatArray:
    """Return the centres of EUGkM (parts rounded up, ε whole, at most 10^6 cells) or of the two-level grid, DPKFM."""
    work = task(name)
    n, d = work.X.shape
    parts: int | str = rule
    if rule == "eugkm":
        most = math.floor(MOST_CELLS ** (1 / d) + 1e-9)
        parts = min(eugkm_rounded(n, epsilon, d, "up"), most)
    grid = GridSynopsis(epsilon, work.box, parts, n_clusters=work.k, n_rows=n, random_state=seed)
    synopsis = grid.fit(work.X).synopsis_
    kept = synopsis.weights > 0
    weights = synopsis.weights[kept].astype(np.float64)
    return starts_of_kmeans(synopsis.points[kept], weights, work.k, seed, STARTS if rule == "eugkm" else 1)


def ours(name: str, epsilon: float, seed: int) -> FloatArray:
    """Return the centres that a user gets who sets nothing but ε and the public bounds."""
    work = task(name)
    model = PrivateKMeans(work.k, epsilon=epsilon, domain=work.domain, random_state=seed).fit(work.X)
    return np.asarray(model.cluster_centers_, np.float64)


def plain_kmeans(name: str, starts: int, seed: int) -> FloatArray:
    """Return the centres of k-means on the rows themselves: what restarts alone cost."""
    work = task(name)
    return starts_of_kmeans(work.X, np.ones(len(work.X)), work.k, seed, starts)


def without_noise(name: str) -> Numbers:
    """Return NICV of blocks and trees without noise, over the box of the data: figures that do not depend on luck."""
    work = task(name)
    found = {"nicv@baseline": work.baseline, "rows": float(len(work.X))}
    d = work.X.shape[1]
    for parts in (1, 2, 3) if d == 2 else (1,):
        synopsis = GridSynopsis(math.inf, work.box, parts, random_state=0).fit(work.X).synopsis_
        found[f"nicv@{parts}x{parts}"] = nicv(work.X, synopsis.points)
    trees = [("median", 2), ("quantile", 2), ("binary", 2)] if d < 24 else [("binary", 2)]
    trees += [("binary", h) for h in (4, 6, 8, 10, 12)] if d in (3, 9) else []
    for partitioner, depth in trees:
        # Between two values any cut is a median: which one is drawn.
        draws = range(1 if partitioner == "binary" else 10)
        values = [_plain_tree(work, partitioner, depth, seed) for seed in draws]
        found[f"nicv@{partitioner}{depth}"] = float(np.mean(values))
    return found


def _plain_tree(work: Task, partitioner: str, depth: int, seed: int) -> float:
    tree = TreeSynopsis(math.inf, work.box, InTurn.of(partitioner), max_depth=depth, random_state=seed)
    synopsis = tree.fit(work.X).synopsis_
    kept = synopsis.weights > 0
    return nicv(work.X, weighted_kmeans(synopsis.points[kept], synopsis.weights[kept], work.k, n_init=20).centers)
