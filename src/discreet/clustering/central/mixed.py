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

from discreet.clustering.leaves.columns import cluster_columns
from discreet.clustering.leaves.kmeans import mass_by, nearest, weighted_kmeans
from discreet.core import EMPTY_UP_TO, NAMING, BoolArray, Categorical, Code, Domain, FloatArray
from discreet.engines.passes import NearestMap
from discreet.synopses import Synopsis


@dataclass(frozen=True, eq=False)
class MixedMap(NearestMap):
    """The nearest centre of rows in the embedding, in which a category has one coordinate per value."""

    def _scaled(self, columns: Sequence[FloatArray]) -> FloatArray:
        parts = []
        for x, column in zip(columns, self.domain, strict=True):
            values = np.clip(np.asarray(x, np.float64), column.low, column.high)[:, np.newaxis]
            if isinstance(column, Categorical):
                own = np.minimum(np.floor(values), column.high - 1) == np.arange(len(column.categories))
                values = np.where(np.isnan(values), np.nan, own)
            parts.append(values)
        return np.hstack(parts) / self.units

    def split(self) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Return centres on the columns, categories by their commonest one, and shares of categories."""
        parts = np.hsplit(self.centers, np.cumsum([_width(column) for column in self.domain])[:-1])
        named = {c.name: part for c, part in zip(self.domain, parts, strict=True)}
        shares = {c.name: named[c.name] for c in self.domain if isinstance(c, Categorical)}
        return np.column_stack([p.argmax(axis=1) + 0.5 if c in shares else p for c, p in named.items()]), shares


def mixed_columns(domain: Domain, columns: Any) -> Domain:
    """Return the columns that take part: those named, or all but codes and those that say whose row it is."""
    chosen = [c.name for c in domain if not isinstance(c, Code) and c.role not in NAMING]
    return domain.select(cluster_columns(domain, chosen if columns is None else columns))


def cluster_mixed(
    synopsis: Synopsis, domain: Domain, n_clusters: int, *, n_init: int, seed: int
) -> tuple[MixedMap, FloatArray, FloatArray, BoolArray]:
    """Cluster the rows of a synopsis on numbers and categories; return the map, weights, errors, and likely noise."""
    columns = [synopsis.points[:, synopsis.domain.position(name)] for name in domain.names]
    weights = np.maximum(synopsis.weights.astype(np.float64), 0.0)
    spreads = [_spread(c, x, weights) for c, x in zip(domain, columns, strict=True)]
    units = np.repeat(spreads, [_width(column) for column in domain])
    places = MixedMap(domain, np.empty((0, 0)), units)._scaled(columns)
    kept = ~np.isnan(places).any(axis=1)
    places, weights = places[kept], weights[kept]
    found = weighted_kmeans(places, weights, n_clusters, n_init=n_init, seed=seed).centers
    centers = found if len(found) else places.mean(axis=0, keepdims=True)
    labels = nearest(places, centers)
    errors = np.sqrt(mass_by(labels, synopsis.variances[kept].astype(np.float64), len(centers)))
    mass = mass_by(labels, weights, len(centers))
    return MixedMap(domain, centers * units, units), mass, errors, (mass <= EMPTY_UP_TO * errors) & (errors > 0)


def _width(column: Any) -> int:
    return len(column.categories) if isinstance(column, Categorical) else 1


def _spread(column: Any, x: FloatArray, weights: FloatArray) -> float:
    """Return what a column is divided by, to have variance 1 in the embedding; 1 if it does not vary."""
    known = np.isfinite(x)
    values, mass = x[known], weights[known] / max(float(weights[known].sum()), 1e-300)
    if isinstance(column, Categorical):
        codes = np.minimum(values, column.high - 1).astype(np.int64)
        spread = 1 - float((np.bincount(codes, mass, _width(column)) ** 2).sum())
    else:
        spread = float(mass @ (values - mass @ values) ** 2)
    return math.sqrt(spread) if spread > 1e-12 else 1.0
