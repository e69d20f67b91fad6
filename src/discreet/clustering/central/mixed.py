"""k-means of numbers and categories together: through the marginal model, with every column of the same weight.

A `MarginalSynopsis` pays for everything. Its rows are embedded: a number is divided by its standard deviation in the
synopsis, and a category becomes indicators whose variances add up to 1. A centre is a place among the numbers and a
share of every category. Post-processing throughout; the choice of columns is public.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.clustering.leaves.kmeans import mass_by, nearest, weighted_kmeans
from discreet.core import EMPTY_UP_TO, NAMING, BoolArray, Categorical, Code, Domain, FloatArray, IntArray
from discreet.synopses import Synopsis


@dataclass(frozen=True, eq=False)
class MixedMap:
    """The nearest centre of rows, in the embedding: a cell map like `discreet.engines.passes.NearestMap`."""

    domain: Domain
    #: Per column of the domain: what a number is divided by, or what indicators are multiplied by.
    rates: FloatArray
    centers: FloatArray

    @property
    def n_cells(self) -> int:
        return len(self.centers)

    def embed(self, columns: Sequence[FloatArray]) -> tuple[FloatArray, BoolArray]:
        """Return the places of rows without missing values, and which rows these are."""
        kept = ~np.any([np.isnan(np.asarray(x, np.float64)) for x in columns], axis=0)
        parts = []
        for x, column, rate in zip(columns, self.domain, self.rates, strict=True):
            values = np.clip(np.asarray(x, np.float64)[kept], column.low, column.high)
            if isinstance(column, Categorical):
                codes = np.minimum(np.floor(values), column.high - 1)
                parts.append(rate * (codes[:, np.newaxis] == np.arange(len(column.categories))))
            else:
                parts.append(values[:, np.newaxis] * rate)
        return np.hstack(parts), kept

    def ids(self, columns: Sequence[FloatArray]) -> IntArray:
        """Return the nearest centre of each row, -1 where a value is missing."""
        places, kept = self.embed(columns)
        out = np.full(len(kept), -1, np.int64)
        out[kept] = nearest(places, self.centers)
        return out

    def distances(self, columns: Sequence[FloatArray]) -> FloatArray:
        """Return the distance of each row to each centre, NaN where a value is missing."""
        places, kept = self.embed(columns)
        out = np.full((len(kept), len(self.centers)), np.nan)
        out[kept] = np.sqrt(((places[:, np.newaxis] - self.centers) ** 2).sum(axis=2))
        return out

    def split(self) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Return centres in the units of the columns, categories by their commonest one, and shares of categories."""
        out, shares, at = np.empty((len(self.centers), len(self.domain))), {}, 0
        for j, (column, rate) in enumerate(zip(self.domain, self.rates, strict=True)):
            width = len(column.categories) if isinstance(column, Categorical) else 1
            part = self.centers[:, at : at + width] / rate
            if isinstance(column, Categorical):
                shares[column.name], out[:, j] = part, part.argmax(axis=1) + 0.5
            else:
                out[:, j] = part[:, 0]
            at += width
        return out, shares


def mixed_columns(domain: Domain, columns: Any) -> Domain:
    """Return the columns that take part: those named, or all but codes and those that say whose row it is."""
    chosen = [c.name for c in domain if not isinstance(c, Code) and c.role not in NAMING]
    return domain.select(list(chosen if columns is None else columns))


def cluster_mixed(
    synopsis: Synopsis, domain: Domain, n_clusters: int, *, n_init: int, seed: int
) -> tuple[MixedMap, FloatArray, FloatArray, BoolArray]:
    """Cluster the rows of a synopsis on numbers and categories; return the map, weights, errors, and likely noise."""
    axes = [synopsis.domain.position(name) for name in domain.names]
    weights = np.maximum(synopsis.weights.astype(np.float64), 0.0)
    columns = [synopsis.points[:, j] for j in axes]
    rates = np.array([_rate(c, x, weights) for c, x in zip(domain, columns, strict=True)])
    flat = MixedMap(domain, rates, np.empty((0, 0)))
    places, kept = flat.embed(columns)
    found = weighted_kmeans(places, weights[kept], n_clusters, n_init=n_init, seed=seed)
    centers = found.centers if len(found.centers) else places.mean(axis=0, keepdims=True)
    labels = nearest(places, centers)
    errors = np.sqrt(mass_by(labels, synopsis.variances[kept].astype(np.float64), len(centers)))
    mass = mass_by(labels, weights[kept], len(centers))
    return MixedMap(domain, rates, centers), mass, errors, (mass <= EMPTY_UP_TO * errors) & (errors > 0)


def _rate(column: Any, x: FloatArray, weights: FloatArray) -> float:
    """Return the factor that gives a column variance 1 in the embedding, or 1 if it does not vary."""
    known = np.isfinite(x)
    values, mass = x[known], weights[known] / max(float(weights[known].sum()), 1e-300)
    if isinstance(column, Categorical):
        codes = np.minimum(values, column.high - 1).astype(np.int64)
        spread = 1 - float((np.bincount(codes, mass, len(column.categories)) ** 2).sum())
    else:
        spread = float(mass @ (values - mass @ values) ** 2)
    return 1 / math.sqrt(spread) if spread > 1e-12 else 1.0
