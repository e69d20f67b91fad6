"""Agreement of clusterings, figures over several runs, and how far records were moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit
from sklearn.metrics import (
    adjusted_mutual_info_score,
    adjusted_rand_score,
    calinski_harabasz_score,
    davies_bouldin_score,
    fowlkes_mallows_score,
    normalized_mutual_info_score,
    silhouette_samples,
    silhouette_score,
)

from discreet import noise
from discreet.core import FloatArray, checks
from discreet.errors import InvalidArgument
from discreet.evaluation import read_matrix

#: Scores of labels against labels, and of labels on the points they were given to.
_AGAINST = {
    "ari": adjusted_rand_score,
    "ami": adjusted_mutual_info_score,
    "nmi": normalized_mutual_info_score,
    "fowlkes_mallows": fowlkes_mallows_score,
}
_ALONE = {
    "silhouette": silhouette_score,
    "calinski_harabasz": calinski_harabasz_score,
    "davies_bouldin": davies_bouldin_score,
}
_NAMES = (*_AGAINST, *_ALONE)


@dataclass(frozen=True)
class Spread:
    """A figure over several runs, with an interval for its mean.

    Attributes
    ----------
    mean, low, high : float
        Mean and ends of the interval; NaN where there is no run, or none that the figure is defined for.
    std : float
        Standard deviation of one run.
    runs : int
        Runs that the figure was defined for.

    Examples
    --------
    >>> Spread.of([0.5, 0.7, float("nan")])
    <Spread: 0.6 (-0.671 to 1.87), 2 runs>
    """

    mean: float
    low: float
    high: float
    std: float
    runs: int

    @classmethod
    def of(cls, values: Any, confidence: float = 0.95) -> Spread:
        """Summarise independent runs by Student's interval; NaN marks runs without the figure."""
        kept = np.asarray(values, dtype=np.float64).ravel()
        kept = kept[np.isfinite(kept)]
        nan = float("nan")
        if len(kept) < 2:
            return cls(float(kept[0]) if len(kept) else nan, nan, nan, nan, len(kept))
        mean, std = float(kept.mean()), float(kept.std(ddof=1))
        half = float(stdtrit(len(kept) - 1, (1 + confidence) / 2)) * std / len(kept) ** 0.5
        return cls(mean, mean - half, mean + half, std, len(kept))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {"mean": self.mean, "interval": [self.low, self.high], "std": self.std, "runs": self.runs}

    def __repr__(self) -> str:
        return f"<Spread: {self.mean:.3g} ({self.low:.3g} to {self.high:.3g}), {self.runs} runs>"


@dataclass(frozen=True)
class Agreement:
    """How well clusterings agree with a reference, and how they look by themselves.

    Attributes
    ----------
    ari, ami : Spread
        Adjusted Rand index and adjusted mutual information (arithmetic mean of the entropies) against the reference:
        1 for the same partition, 0 on average for a random one, possibly below. Outliers (-1) count as a cluster.
    nmi, fowlkes_mallows : Spread
        Normalised mutual information, and the geometric mean of precision and recall over pairs of records that are
        together. Both lie in [0, 1] and are *not* adjusted: many small clusters of chance score well above 0.
    silhouette, calinski_harabasz, davies_bouldin : Spread
        Of the clusterings on the points they were made of; NaN if no points were given, or for fewer than 2 or more
        than n - 1 clusters. They say how clusterable those points are, noise included: they measure no utility. Of
        Davies and Bouldin's index less is better: how wide the two most similar clusters are for their distance.

    Examples
    --------
    >>> clustering_agreement([0, 0, 1, 1], [1, 1, 0, 0])
    <Agreement: ARI 1 (1 to 1), AMI 1 (1 to 1), 1 run>
    """

    ari: Spread
    ami: Spread
    nmi: Spread
    fowlkes_mallows: Spread
    silhouette: Spread
    calinski_harabasz: Spread
    davies_bouldin: Spread
    runs: int

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data."""
        return {"runs": self.runs, **{name: getattr(self, name).to_dict() for name in _NAMES}}

    def __repr__(self) -> str:
        parts = [f"{n} {s.mean:.3g} ({s.low:.3g} to {s.high:.3g})" for n, s in (("ARI", self.ari), ("AMI", self.ami))]
        return f"<Agreement: {', '.join(parts)}, {self.runs} run{'s' * (self.runs != 1)}>"


def clustering_agreement(
    reference: Any, labels: Any, points: Any = None, *, confidence: float = 0.95, resamples: int = 200, seed: int = 0
) -> Agreement:
    """Compare clusterings after noise with the same algorithm's clustering of the raw records.

    Parameters
    ----------
    reference : array of shape (n,)
        Labels from the raw records (or true classes).
    labels : array of shape (n,) or (runs, n)
        Labels after noise, one row for every independent draw of the noise. Several rows give Student's interval over
        the draws. A single row says nothing about the noise: its interval is a percentile bootstrap over records.
    points : array of shape (n, d) or (runs, n, d), optional
        What was clustered, for the scores of a clustering by itself.
    confidence : float, default 0.95
        Of the intervals.
    resamples, seed : int
        Of the bootstrap.

    Examples
    --------
    >>> runs = [[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 0]]
    >>> found = clustering_agreement([0, 0, 1, 1, 2, 2], runs, [[0.0], [0.1], [1.0], [1.1], [2.0], [2.1]])
    >>> round(found.ari.mean, 3), round(found.fowlkes_mallows.mean, 3), found.silhouette.runs
    (0.722, 0.789, 2)
    """
    truth, runs = np.asarray(reference).ravel(), np.atleast_2d(np.asarray(labels))
    if runs.ndim != 2 or runs.shape[1] != len(truth) or len(truth) < 2:
        shapes = (truth.shape, runs.shape)
        raise InvalidArgument("labels", shapes, "one label per run for each of at least 2 records", "labels=km.labels_")
    places: list[FloatArray | None] = [None] * len(runs)
    if points is not None:
        stack = np.asarray(points, dtype=np.float64)
        stack = np.broadcast_to(stack, (len(runs), *stack.shape[-2:])) if stack.ndim in (2, 3) else stack
        if stack.ndim != 3 or stack.shape[1] != len(truth):
            raise InvalidArgument("points", stack.shape, "rows of points, once or for each run", "points=Z")
        places = list(stack)
    level = float(checks.probability("confidence", confidence))
    if len(runs) > 1:
        figures = np.array([_figures(truth, run, place) for run, place in zip(runs, places, strict=True)])
        spreads = [Spread.of(column, level) for column in figures.T]
    else:
        resamples = checks.whole("resamples", resamples, low=2)
        spreads = _bootstrapped(truth, runs[0], places[0], level, resamples, noise.generator(seed))
    return Agreement(**dict(zip(_NAMES, spreads, strict=True)), runs=len(runs))


def _figures(truth: Any, labels: Any, points: FloatArray | None, silhouette: float | None = None) -> FloatArray:
    """Return all scores in the order of their names; a silhouette that is known is not worked out again."""
    found = {name: score(truth, labels) for name, score in _AGAINST.items()}
    if points is not None and 2 <= len(np.unique(labels)) <= len(labels) - 1:
        own = {} if silhouette is None else {"silhouette": silhouette}
        found |= {name: own[name] if name in own else score(points, labels) for name, score in _ALONE.items()}
    return np.array([found.get(name, np.nan) for name in _NAMES], dtype=np.float64)


def _bootstrapped(
    truth: Any, labels: Any, points: FloatArray | None, level: float, resamples: int, stream: noise.Generator
) -> list[Spread]:
    """Bootstrap over records. A record drawn twice would be its own neighbour: each keeps its silhouette."""
    n, whole = len(truth), _figures(truth, labels, points)
    defined = points is not None and np.isfinite(whole[_NAMES.index("silhouette")])
    own = silhouette_samples(points, labels) if defined else np.full(n, np.nan)
    drawn = np.empty((resamples, len(_NAMES)))
    for i in range(resamples):
        rows = noise.below(n, (n,), stream)
        drawn[i] = _figures(
            truth[rows], labels[rows], points[rows] if points is not None and defined else None, float(own[rows].mean())
        )
    spreads = []
    for value, column in zip(whole.tolist(), drawn.T, strict=True):
        kept = column[np.isfinite(column)]
        if not np.isfinite(value) or len(kept) < 2:
            spreads.append(Spread(value, float("nan"), float("nan"), float("nan"), int(np.isfinite(value))))
            continue
        low, high = np.quantile(kept, [(1 - level) / 2, (1 + level) / 2])
        spreads.append(Spread(value, float(low), float(high), float(kept.std(ddof=1)), 1))
    return spreads


def perturbation_distance(X: Any, Z: Any) -> float:
    """Mean Euclidean distance between records and what was released for them.

    For n-dimensional Laplace noise its expectation is n/rate. It says how far records moved, not how well they are
    hidden: a shift by the same vector for all moves them far and hides nothing.

    Parameters
    ----------
    X, Z : array of shape (n, d)
        Raw and released records, row by row. Pairs with a value that is not finite are left out; NaN if none is left.

    Examples
    --------
    >>> perturbation_distance([[0.0, 0.0], [1.0, 1.0]], [[3.0, 4.0], [1.0, 2.0]])
    3.0
    """
    raw = read_matrix("X", X)
    released = read_matrix("Z", Z, raw.shape[1])
    if len(raw) != len(released):
        raise InvalidArgument("Z", released.shape, f"one row for each of {len(raw)} of X", "Z=mechanism.transform(X)")
    gaps = np.sqrt(((raw - released) ** 2).sum(axis=1))
    gaps = gaps[np.isfinite(gaps)]
    return float(gaps.mean()) if len(gaps) else float("nan")
