"""A table in which every row occurs as often as its weight says: later steps count its copies.

A survey's weight says how many people a row stands for. It is counted in public units, a 64th of the declared maximum
W: x = 64 w/W. m equal rows become ⌊m x + u⌋ copies, with u in [0, 1) a keyed hash of the row.

- *One row more or less changes at most 64 copies.* Its set of equal rows changes by ⌊(m + 1) x + u⌋ - ⌊m x + u⌋ ≤ ⌈x⌉
  ≤ 64 copies, and no other set does. This is exact: x has 20 binary places, and all numbers are whole. So what is ε-DP
  for one row of the copies is 64 ε-DP for one row of the table, and a weighted count has the sensitivity W.
- *It is unbiased*: over the keys, the mean number of copies is m x, and each set is off by less than one unit. Order,
  batches and files do not matter.

Grids, trees, clusters and questions count copies and work as they are. In `MarginalSynopsis` the weight is one more
column, a row of the model counts as its weight says, and no sensitivity changes: W is often many times the mean weight,
and a model loses less by what it does not know about weights than by noise for W. On a survey of 5,000 rows with W 8.6
times the mean, shares of pairs were off by 0.074 instead of 0.191 at ε = 1 (`studies/measures/weights.py`).
"""

from dataclasses import dataclass

import numpy as np

from discreet.core import Domain, FloatArray, IntArray, Integer, WordArray
from discreet.engines.persons.bounded import CoordinateTable, _loops
from discreet.engines.source import Source
from discreet.engines.tables.part import is_remote
from discreet.errors import SchemaError

#: Units of the largest weight. Noise does not depend on it; rounding does, and time grows with it.
UNITS = 64
_FINE = 20


@dataclass(frozen=True)
class Weights:
    """The declared weights of a table; a row of weight ``most`` has ``units`` copies.

    Examples
    --------
    >>> found = Weights.of(Domain({"w": {"bounds": [0, 500], "role": "weight"}}))
    >>> found, found.step
    (Weights(column='w', most=500.0, units=64), 7.8125)
    """

    column: str
    most: float
    units: int = UNITS

    @classmethod
    def of(cls, domain: Domain) -> "Weights | None":
        """Return the declared weights, if there are any. Whole weights of at most 64 are their own number of copies."""
        column = domain.column(domain.weights[0]) if domain.weights else None
        if isinstance(column, Integer):
            return cls(column.name, float(column.most), min(column.most, UNITS))
        return None if column is None else cls(column.name, column.high)

    @property
    def step(self) -> float:
        """The weight of one copy."""
        return self.most / self.units

    def table(self, source: Source, domain: Domain, key: WordArray) -> Source:
        """Return the table of copies, without the weights: all columns of ``domain`` but the last, which holds them."""
        if any(map(is_remote, source.parts)):
            raise SchemaError(
                f"rows of a Spark frame cannot be weighted (column {self.column!r}); give the rows as files or as a "
                "table in memory, or leave the weight out of the domain"
            )
        own = np.array([c.missing == "own" for c in domain])
        found = [_hashed(np.column_stack(batch), domain, own, key) for batch in source.batches(domain)]
        rows = np.concatenate([x for x, _ in found] or [np.empty((0, len(domain)))])
        words = np.concatenate([r for _, r in found] or [np.empty((0, 2), np.uint64)])
        order = np.lexsort(words.T)
        words = words[order]
        first = np.flatnonzero(np.append(True, (words[1:] != words[:-1]).any(axis=1))[: len(words)])
        equal = np.diff(np.append(first, len(words)))
        rows, start = rows[order[first]], words[first, 0] >> np.uint64(64 - _FINE)
        exact = np.rint(np.clip(rows[:, -1] / self.most, 0.0, 1.0) * (self.units << _FINE)).astype(np.int64)
        copies = (equal * exact + start.astype(np.int64)) >> _FINE
        axes = domain.select(domain.names[:-1])
        return Source([CopiedTable(axes, rows[copies > 0, :-1], copies[copies > 0])], axes)


def _hashed(x: FloatArray, domain: Domain, own: np.ndarray, key: WordArray) -> tuple[FloatArray, WordArray]:
    """Return clamped rows without those that a missing value drops, and two words of each: equal rows share both."""
    x, kept = x.astype(np.float64, copy=False) + 0.0, np.ones(len(x), np.bool_)
    none, ends = np.zeros(len(x), np.uint64), (domain.low, domain.high)
    loops = _loops(len(x))
    pair = [loops.fill_entries(x, x.view(np.uint64), *ends, own, none, none + np.uint64(i), kept, key) for i in (0, 1)]
    return x[kept], np.column_stack(pair)[kept]


class CopiedTable(CoordinateTable):
    """Rows that are coordinates already, each so many times."""

    def __init__(self, domain: Domain, rows: FloatArray, copies: IntArray) -> None:
        super().__init__(domain, rows)
        self._ends = np.cumsum(copies)
        self._n_rows = int(copies.sum())

    def _slice(self, position: int, start: int, stop: int) -> FloatArray:
        rows = np.searchsorted(self._ends, np.arange(start, stop), side="right")
        return np.asarray(self._rows[rows, position])
