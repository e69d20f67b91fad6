"""Errors of one, two and three columns taken together, of range queries and of correlations.

The error of a set of columns is the total variation: half the sum of the absolute differences of shares over its
cells. 0 is the same distribution, 1 has nothing in common.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from discreet import noise
from discreet.core import BoolArray, FloatArray, IntArray, Told
from discreet.evaluation.attacks import draws

#: Three columns with more cells than this are not compared: there would be more cells than rows.
MOST_CELLS = 10_000
#: Below this share of the rows a relative error says nothing, as is usual.
_FLOOR = 1e-3


@dataclass(frozen=True, eq=False)
class MarginalError(Told):
    """Total variation of sets of columns; ``sampling`` is the mean error of real rows drawn with replacement."""

    sets: list[tuple[str, ...]]
    errors: FloatArray
    sampling: float

    @property
    def mean(self) -> float:
        return float(self.errors.mean()) if len(self.errors) else float("nan")

    def worst(self, n: int = 5) -> list[tuple[tuple[str, ...], float]]:
        return [(self.sets[i], float(self.errors[i])) for i in np.argsort(-self.errors, kind="stable")[:n]]

    def to_dict(self) -> dict[str, Any]:
        largest = [{"columns": list(names), "error": error} for names, error in self.worst(10)]
        return {"mean": self.mean, "sets": len(self.sets), "sampling": self.sampling, "worst": largest}


def marginal_errors(
    names: Sequence[str], real: IntArray, other: IntArray, again: IntArray, sizes: IntArray, chosen: Sequence[Any]
) -> MarginalError:
    tables = [np.ascontiguousarray(cells) for cells in (real, other, again)]
    errors, sampling = np.empty(len(chosen)), np.empty(len(chosen))
    for i, columns in enumerate(chosen):
        own = list(columns)
        keys = [np.ravel_multi_index(tuple(cells[own]), tuple(sizes[own])) for cells in tables]
        errors[i], sampling[i] = _distances(keys)
    mean = float(sampling.mean()) if len(chosen) else float("nan")
    return MarginalError([tuple(names[j] for j in columns) for columns in chosen], errors, mean)


def triples(sizes: IntArray, most: int, stream: noise.Generator) -> list[tuple[int, ...]]:
    """Return the sets of three columns with at most 10,000 cells; a random part if there are too many."""
    d = len(sizes)
    found = np.array(list(combinations(range(d), 3)), np.int64).reshape(-1, 3)
    found = found[np.prod(sizes[found].astype(np.float64), axis=1) <= MOST_CELLS]
    if len(found) > most:
        found = found[np.sort(draws.order(len(found), stream)[:most])]
    return [tuple(row) for row in found.tolist()]


def _distances(keys: Sequence[IntArray]) -> list[float]:
    n_cells = max(int(key.max()) for key in keys) + 1
    if n_cells > 4 * sum(map(len, keys)):  # many more cells than rows: number those that occur
        _, numbers = np.unique(np.concatenate(keys), return_inverse=True)
        keys = np.split(numbers, np.cumsum([len(key) for key in keys])[:-1])
        n_cells = int(numbers.max()) + 1
    shares = [np.bincount(key, minlength=n_cells) / len(key) for key in keys]
    return [float(np.abs(shares[0] - share).sum() / 2) for share in shares[1:]]


@dataclass(frozen=True)
class QueryError(Told):
    """Errors of random queries over one to three columns, as shares of rows."""

    queries: int
    mean_absolute: float
    mean_relative: float
    sampling: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def query_error(
    real: FloatArray, other: FloatArray, again: FloatArray, numeric: BoolArray, n: int, stream: noise.Generator
) -> QueryError:
    """Ask random queries: for numbers the range between two values of the table, for categories that of a row."""
    d, tables = len(numeric), [np.ascontiguousarray(t.T) for t in (real, other, again)]
    answers = np.empty((n, 3))
    for i in range(n):
        columns = draws.order(d, stream)[: 1 + int(noise.below(min(3, d), rng=stream))]
        rows = np.asarray(noise.below(len(real), size=2, rng=stream))
        inside = [np.ones(t.shape[1], bool) for t in tables]
        for j in columns.tolist():
            a, b = sorted(tables[0][j, rows].tolist())
            for kept, table in zip(inside, tables, strict=True):
                v = table[j]
                if np.isnan(a) or np.isnan(b):
                    kept &= np.isnan(v)
                elif numeric[j]:
                    kept &= (v >= a) & (v <= b)
                else:
                    kept &= v == tables[0][j, rows[0]]
        answers[i] = [kept.mean() for kept in inside]
    gaps = np.abs(answers[:, 1:] - answers[:, :1])
    relative = gaps[:, 0] / np.maximum(answers[:, 0], _FLOOR)
    return QueryError(n, float(gaps[:, 0].mean()), float(relative.mean()), float(gaps[:, 1].mean()))


@dataclass(frozen=True)
class CorrelationError(Told):
    """Differences of correlations between columns of numbers; ``worst`` has names, real and synthetic value."""

    pairs: int
    mean: float
    largest: float
    worst: tuple[str, str, float, float] | None

    def to_dict(self) -> dict[str, Any]:
        worst = None
        if self.worst is not None:
            a, b, real, other = self.worst
            worst = {"columns": [a, b], "real": real, "synthetic": other}
        return {"pairs": self.pairs, "mean": self.mean, "largest": self.largest, "worst": worst}


def correlation_error(names: Sequence[str], real: FloatArray, other: FloatArray) -> CorrelationError:
    before, after = _correlations(real), _correlations(other)
    gaps = np.where(np.triu(np.ones_like(before), 1) > 0, np.abs(after - before), np.nan)
    n = int(np.isfinite(gaps).sum())
    if not n:
        return CorrelationError(0, float("nan"), float("nan"), None)
    i, j = divmod(int(np.nanargmax(gaps)), len(names))
    worst = names[i], names[j], float(before[i, j]), float(after[i, j])
    return CorrelationError(n, float(np.nanmean(gaps)), float(gaps[i, j]), worst)


def _correlations(values: FloatArray) -> FloatArray:
    """Return Pearson correlations of all pairs, each over the rows that have both values."""
    there = ~np.isnan(values)
    held = there.astype(np.float64)
    # Centred first: sums of squares far from the origin would cancel.
    middle = np.where(there, values, 0.0).sum(axis=0) / np.maximum(held.sum(axis=0), 1)
    scale = np.sqrt((np.where(there, values - middle, 0.0) ** 2).sum(axis=0) / np.maximum(held.sum(axis=0), 1))
    x = np.where(there, (values - middle) / np.where(scale > 0, scale, 1.0), 0.0)
    n = np.maximum(held.T @ held, 1)
    means, squares, products = (x.T @ held) / n, ((x * x).T @ held) / n, (x.T @ x) / n
    variances = squares - means**2
    spread = np.sqrt(np.clip(variances * variances.T, 0, None))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(spread > 1e-12, np.clip((products - means * means.T) / spread, -1, 1), np.nan)
