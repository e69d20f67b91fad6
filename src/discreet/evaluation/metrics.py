"""How good are centres, and how good are counts: the figures in which methods are compared.

All look at the raw rows. They judge a method on data one may look at; published next to a release they would leak.
Rows are taken in portions, so memory stays bounded whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from discreet.core import Box, FloatArray
from discreet.errors import InvalidArgument, InvalidType
from discreet.synopses import Synopsis

#: Numbers held at a time.
_PORTION = 2**22


def nicv(X: Any, centers: Any) -> float:
    """Normalised intra-cluster variance: the mean squared distance of rows to their nearest centre.

    (1/N) Σ min_c |x - c|², spec partition-synopsis 2.9. Lower is better.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows. Rows with a value that is not finite are left out; with no row left the result is NaN.
    centers : array of shape (k, d)
        The centres, at least one.

    Examples
    --------
    >>> nicv([[0.0, 0.0], [2.0, 0.0], [9.0, 1.0]], [[1.0, 0.0], [9.0, 0.0]])
    1.0
    """
    places = read_matrix("centers", centers)
    if not len(places) or not np.isfinite(places).all():
        raise InvalidArgument("centers", places.shape, "at least one centre of finite numbers", "centers=[[0.0, 0.0]]")
    total, n = 0.0, 0
    for rows in _portions(read_matrix("X", X, places.shape[1]), len(places)):
        kept = rows[np.isfinite(rows).all(axis=1)]
        total += float(squared_distances(kept, places).min(axis=1).sum())
        n += len(kept)
    return total / n if n else float("nan")


def nicv_ratio(X: Any, centers: Any, baseline: Any) -> float:
    """NICV over that of a non-private baseline: 1 is as good, 1.1 is ten per cent worse.

    Parameters
    ----------
    X, centers
        See `nicv`.
    baseline : array of shape (k, d) or float
        The baseline's centres, or its NICV.

    Examples
    --------
    >>> nicv_ratio([[0.0], [2.0]], [[0.0]], [[1.0]])
    2.0
    """
    reference = float(baseline) if np.ndim(baseline) == 0 else nicv(X, baseline)
    return nicv(X, centers) / reference


def centroid_index(centers: Any, reference: Any) -> int:
    """Number of clusters that were missed: 0 if the two sets of centres match one to one.

    Every centre of one set is mapped to its nearest in the other; those to which nobody is mapped are orphans. The
    index is the larger number of orphans of the two directions (Fränti, Rezaei and Zhao 2014).

    Parameters
    ----------
    centers, reference : array of shape (k, d)
        Two sets of centres. The order does not matter.

    Examples
    --------
    >>> centroid_index([[0.0], [0.1], [9.0]], [[0.0], [5.0], [9.0]])
    1
    """
    a = read_matrix("centers", centers)
    b = read_matrix("reference", reference, a.shape[1])
    if not len(a) or not len(b):
        raise InvalidArgument("centers", (a.shape, b.shape), "two sets of at least one centre", "centers=[[0.0]]")
    gaps = squared_distances(a, b)
    orphans_in_b = len(b) - len(np.unique(gaps.argmin(axis=1)))
    orphans_in_a = len(a) - len(np.unique(gaps.argmin(axis=0)))
    return int(max(orphans_in_a, orphans_in_b))


@dataclass(frozen=True, eq=False)
class RangeError:
    """Errors of range queries.

    Attributes
    ----------
    estimates, truths : array of float
        Answer of the synopsis, and number of rows, for each box.
    mean_absolute, root_mean_square : float
        Of the differences.
    mean_relative : float
        Mean of |estimate - truth| / max(truth, floor), where the floor is a thousandth of the rows (at least 1), as is
        usual: near 0 a relative error says nothing.
    """

    estimates: FloatArray
    truths: FloatArray
    mean_absolute: float
    root_mean_square: float
    mean_relative: float

    def __repr__(self) -> str:
        errors = f"mean absolute {self.mean_absolute:.4g}, relative {self.mean_relative:.4g}"
        return f"<RangeError: {len(self.truths)} queries, {errors}>"


def range_query_error(synopsis: Synopsis, X: Any, boxes: Iterable[Box]) -> RangeError:
    """Compare a synopsis' answers to range counts with the truth.

    Parameters
    ----------
    synopsis : Synopsis
        What is judged.
    X : array of shape (n, d)
        The rows, in the coordinates of the synopsis' domain; clamped into it like everywhere.
    boxes : iterable of Box
        The queries, half open; at the domain's upper end the bound itself belongs to the box.

    Examples
    --------
    >>> import discreet as dc
    >>> s = BoxSynopsis(dc.Domain.box(0, 1), lower=[[0], [0.5]], upper=[[0.5], [1]], weights=[1, 3], variances=[1.0, 1.0],
    ...              guarantee=dc.Guarantee("central"))
    >>> range_query_error(s, [[0.1], [0.6], [0.9]], [Box([0], [0.5]), Box([0.5], [1])]).mean_absolute
    0.5
    """
    if not isinstance(synopsis, Synopsis):
        raise InvalidType("synopsis", type(synopsis).__name__, "a Synopsis", "GridSynopsis(...).fit(data).synopsis_")
    asked = list(boxes)
    if not asked or not all(isinstance(b, Box) for b in asked):
        raise InvalidType("boxes", asked[:1], "at least one Box", "boxes=[Box([0, 0], [1, 1])]")
    rows, domain = read_matrix("X", X, len(synopsis.domain)), synopsis.domain
    lower, upper = np.array([b.lower for b in asked]), np.array([b.upper for b in asked])
    upper = np.where(upper >= domain.high, np.inf, upper)
    truths, n = np.zeros(len(asked)), 0
    for part in _portions(rows, 1):
        inside = domain.clamp(part)
        inside = inside[np.isfinite(inside).all(axis=1)]
        n += len(inside)
        truths += [float(((inside >= a) & (inside < b)).all(axis=1).sum()) for a, b in zip(lower, upper, strict=True)]
    estimates = np.array([synopsis.count(b).value for b in asked])
    gaps = np.abs(estimates - truths)
    return RangeError(
        estimates,
        truths,
        float(gaps.mean()),
        float(np.sqrt((gaps**2).mean())),
        float((gaps / np.maximum(truths, max(1.0, n / 1000))).mean()),
    )


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


def read_matrix(name: str, value: Any, width: int | None = None) -> FloatArray:
    """Return a table of numbers; refuse what is none, or is not as wide as it should be."""
    try:
        matrix = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidType(name, type(value).__name__, "a table of numbers", f"{name}=np.zeros((n, d))") from None
    if matrix.ndim != 2 or (width is not None and matrix.shape[1] != width):
        wanted = "two-dimensional" if width is None else f"a table with {width} columns"
        raise InvalidArgument(name, matrix.shape, wanted, f"{name}=np.zeros((n, {width or 'd'}))")
    return matrix


def _portions(rows: FloatArray, width: int) -> Iterator[FloatArray]:
    size = max(1, _PORTION // max(width, rows.shape[1], 1))
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def squared_distances(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return all squared distances, from differences: the expanded square would cancel far from the origin."""
    out = np.zeros((len(a), len(b)))
    for axis in range(a.shape[1]):
        gap = a[:, axis, None] - b[None, :, axis]
        out += gap * gap
    return out
