"""Four ways to k centres of rows that their devices perturb, at the same ε between any two rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from discreet import Domain
from discreet.clustering import DenoisingKMeans, weighted_kmeans
from discreet.clustering.noisy import deconvolution
from discreet.core import FloatArray, IntArray
from discreet.metric import NDLaplace, PrivUnit
from discreet_studies.local_kmeans.pair_grids import encoded, pair_grid_kmeans
from discreet_studies.local_kmeans.tables import Rows

#: What a mismatch in a category costs, in squared shares of a range.
WEIGHT = 0.1
#: PrivUnit's reports that EM looks at, the places it may put rows at, and its steps.
_REPORTS, _PLACES, _STEPS = 5000, 400, 50


def nd_laplace(rows: Rows, k: int, epsilon: float, seed: int) -> FloatArray:
    """`NDLaplace` with ε over the diameter of the box, and `DenoisingKMeans`.

    Of c columns, every categorical one gets ε/c by randomised response and the point of d numbers ε d/c. Rows
    are clustered by their numbers; the shares of categories in each cluster are corrected for the response.
    """
    d, c = rows.numbers.shape[1], rows.numbers.shape[1] + len(rows.categories)
    columns: dict[str, object] = {f"x{j}": (0.0, 1.0) for j in range(d)}
    columns |= {f"c{j}": {"categories": list(range(size))} for j, size in enumerate(rows.categories)}
    domain, each = Domain(columns), epsilon / c
    mechanism = NDLaplace(
        epsilon * d / c, math.sqrt(d), domain, category_epsilon=each if rows.categories else None, random_state=seed
    )
    Z = np.asarray(mechanism.transform(np.concatenate([rows.numbers, rows.labels], axis=1)), np.float64)
    law, box = mechanism.law, domain.select([f"x{j}" for j in range(d)])
    found = DenoisingKMeans(k, law, domain=box, scale="domain", random_state=seed).fit(Z[:, :d])
    parts = [found.cluster_centers_]
    for j, size in enumerate(rows.categories):
        kept, other = math.exp(each) / (math.exp(each) + size - 1), 1 / (math.exp(each) + size - 1)
        said = np.rint(Z[:, d + j]).astype(np.int64)
        counts = np.zeros((k, size))
        np.add.at(counts, (found.labels_, said), 1)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        shares = np.maximum((shares - other) / (kept - other), 0)
        total = shares.sum(axis=1, keepdims=True)
        shares = np.where(total > 0, shares / np.where(total > 0, total, 1), 1 / size)
        parts.append(math.sqrt(WEIGHT / 2) * shares)
    return np.concatenate(parts, axis=1)


def _directions(rows: Rows, epsilon: float, seed: int) -> tuple[FloatArray, float, PrivUnit]:
    """Report the rows as unit vectors; return the directions of the reports, the radius of the lift, the mechanism.

    Numbers are scaled to [-1, 1], categories become marks; the vector is divided by the largest length it can have and
    one coordinate more makes its length 1.
    """
    up = _signed(encoded(rows.numbers, rows.labels, rows.categories, WEIGHT), rows)
    reach = math.sqrt(rows.numbers.shape[1] + 2 * WEIGHT * len(rows.categories))
    last = np.sqrt(np.maximum(1 - (up**2).sum(axis=1) / reach**2, 0))
    vectors = np.column_stack([up / reach, last])
    width = vectors.shape[1]
    box = Domain.box([-1.0] * width, [1.0] * width)
    mechanism = PrivUnit(epsilon, box, inputs="directions", random_state=seed)
    return np.asarray(mechanism.transform(vectors)) * mechanism.law.shrink, reach, mechanism


def _signed(points: FloatArray, rows: Rows) -> FloatArray:
    d = rows.numbers.shape[1]
    return np.concatenate([2 * points[:, :d] - 1, 2 * points[:, d:]], axis=1)


def _unsigned(points: FloatArray, rows: Rows) -> FloatArray:
    d = rows.numbers.shape[1]
    numbers = np.clip((points[:, :d] + 1) / 2, 0, 1)
    return np.concatenate([numbers, np.clip(points[:, d:] / 2, 0, math.sqrt(WEIGHT / 2))], axis=1)


def priv_unit(rows: Rows, k: int, epsilon: float, seed: int) -> FloatArray:
    """`PrivUnit`, and k-means of its unbiased reports."""
    said, reach, mechanism = _directions(rows, epsilon, seed)
    points = said[:, :-1] * (reach / mechanism.law.shrink)
    found = KMeans(k, n_init=2, random_state=seed).fit(points[: 4 * _REPORTS])
    return _unsigned(found.cluster_centers_, rows)


def priv_unit_em(rows: Rows, k: int, epsilon: float, seed: int) -> FloatArray:
    """`PrivUnit`, EM over places with the law of its reports, and k-means of the places.

    A report has the density p/q in the cap around the row's direction and (1 - p)/(1 - q) outside.
    """
    said, reach, mechanism = _directions(rows, epsilon, seed)
    said, law = said[:_REPORTS], mechanism.law
    width = said.shape[1] - 1
    if width <= 3:
        places = deconvolution.grid(np.full(width, -1.0), np.full(width, 1.0), round(_PLACES ** (1 / width)))
    else:
        places = deconvolution.scattered(said[:, :-1] * (reach / law.shrink), _PLACES)
        places = _signed(_unsigned(places, rows), rows)
    length = np.minimum((places**2).sum(axis=1) / reach**2, 1)
    aims = np.column_stack([places / reach, np.sqrt(1 - length)])
    inside = said @ aims.T >= float(law.gamma) * np.linalg.norm(aims, axis=1)
    f: Any = np.where(inside, law.chance / law.share, (1 - law.chance) / (1 - law.share)).astype(np.float32)
    weights = deconvolution.weights_by_em(f, np.ones_like(f[:, 0]), _STEPS)
    kept = weights > 1e-9
    found = weighted_kmeans(np.ascontiguousarray(places[kept]), weights[kept].astype(np.float64), k, n_init=4, seed=0)
    return _unsigned(found.centers, rows)


def pair_grids(rows: Rows, k: int, epsilon: float, seed: int) -> FloatArray:
    """Grids of pairs of columns, and the mixture behind them (`pair_grids.py`)."""
    return pair_grid_kmeans(rows.numbers, rows.labels, rows.categories, k, epsilon, seed, WEIGHT)


def middle(rows: Rows, k: int, epsilon: float, seed: int) -> FloatArray:
    """One centre, without any data: the middle of every column."""
    parts = [np.full((1, size), math.sqrt(WEIGHT / 2) / size) for size in rows.categories]
    return np.concatenate([np.full((1, rows.numbers.shape[1]), 0.5), *parts], axis=1)


METHODS: dict[str, Callable[[Rows, int, float, int], FloatArray]] = {
    "pair grids": pair_grids,
    "ND-Laplace": nd_laplace,
    "PrivUnit": priv_unit,
    "PrivUnit, EM": priv_unit_em,
    "no data": middle,
}


def costs(points: FloatArray, centers: FloatArray) -> tuple[float, IntArray]:
    """Return the sum of squared distances of rows to the nearest centre, and which that is."""
    apart = (points**2).sum(axis=1)[:, None] - 2 * points @ centers.T + (centers**2).sum(axis=1)
    return float(np.maximum(apart.min(axis=1), 0).sum()), apart.argmin(axis=1)
