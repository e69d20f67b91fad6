"""The search that both heavy-hitter mechanisms share: test candidates, keep the significant ones, build longer ones.

An absent value has an estimate of mean 0 and a standard error σ given by the mechanism's law. A stage keeps the
candidates above z·σ, up to a limit. Prefixes are then extended by all bits that can follow; fragments with the same
hash are joined.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.core import BoolArray, FloatArray, IntArray, jit, later
from discreet.local.estimates import Interval, family_wise
from discreet.local.strings.alphabet import Bits, Symbols
from discreet.local.support import RowLaw
from discreet.noise import HashFamily

special = later("scipy.special")
Places = npt.NDArray[np.intp]

#: Values and rows that are hashed at once: their buckets, 8 MB, and the sums stay in the processor's caches.
_COLUMNS, _BLOCK = 4096, 256
#: Rows of a sketch that are turned into estimates at once.
_ROWS = 4096
#: Joined candidates that are checked at once.
_AT_ONCE = 1 << 20


def significant_z(level: float, candidates: int, skewness: Any = 0.0) -> Any:
    """Return the z that any absent candidate exceeds with probability ``level``.

    Few supporting reports cause a long upper tail. The skewness of the estimate shifts the normal quantile by its first
    Cornish-Fisher term.
    """
    z = family_wise(level, candidates)
    return z + skewness * max(z**2 - 1, 0) / 6


def selected_interval(count: FloatArray, error: FloatArray, limit: FloatArray, n: int) -> Interval:
    """Return the interval of counts that are known only because their estimates exceeded a limit.

    An estimate X of a count f is normal with the standard error, given that it exceeds the limit t: the ends are the f
    for which P(X >= x | X > t) is (1 - level)/2 or (1 + level)/2 at the estimate x. Far above the limit they are the
    usual ones; near it they reach down, because a small count is found only if its noise is large.
    """

    def beyond(f: FloatArray) -> FloatArray:
        return np.asarray(np.exp(special.log_ndtr((f - count) / error) - special.log_ndtr((f - limit) / error)))

    def ends(level: float) -> tuple[FloatArray, FloatArray]:
        found = []
        for wanted in ((1 - level) / 2, (1 + level) / 2):
            low, high = np.zeros(len(count)), np.full(len(count), float(n))  # `beyond` grows with f
            for _ in range(60):
                middle = (low + high) / 2
                more = beyond(middle) < wanted
                low, high = np.where(more, middle, low), np.where(more, high, middle)
            found.append((low + high) / 2)
        return found[0], found[1]

    return ends


def cut(count: FloatArray, sigma: float, z: float | None, cap: int) -> tuple[Places, bool]:
    """Return the places of the candidates above z·σ, largest first, at most ``cap``; and whether there were more."""
    passed = np.arange(len(count)) if z is None else np.flatnonzero(count > z * sigma)
    order = passed[np.argsort(-count[passed], kind="stable")]
    return order[:cap], z is not None and len(order) > cap


def scaled_up(count: FloatArray, variance: FloatArray, reports: Any, n: int) -> tuple[FloatArray, FloatArray]:
    """Turn counts among the reporters of a group into counts among all n, with their standard errors.

    The group is a random sample: its number of holders has the hypergeometric variance r s(1-s)(n-r)/(n-1) for r
    reports and s = f/n. Without a report the error is infinite.
    """
    size = np.asarray(np.maximum(reports, 1), np.float64)
    share = np.clip(count / size, 0, 1)
    drawn = size * share * (1 - share) * (n - size) / max(n - 1, 1)
    error = np.sqrt(np.maximum(variance + drawn, 0)) * (n / size)
    return count * (n / size), np.where(np.asarray(reports) > 0, error, math.inf)


def row_support(family: HashFamily, values: Any, tables: IntArray) -> IntArray:
    """Add up, for every value and every table, the cells that its hashes select: one cell per row.

    ``family`` has one function per row; ``tables`` has the shape (tables, rows, width). Returns an array of shape
    (tables, values).
    """
    rows = tables.shape[1]
    # Half as wide while no sum can overflow: a row of every table then fits into the fastest cache.
    small = tables.sum(axis=(1, 2)).max(initial=0) < 2**31
    cells = tables.astype(np.int32) if small else tables
    sums = np.zeros((len(tables), len(values)), cells.dtype)
    for start in range(0, len(values), _COLUMNS):
        part, mine = values[start : start + _COLUMNS], sums[:, start : start + _COLUMNS]
        for first in range(0, rows, _BLOCK):
            buckets = family.all(part, start=first, stop=min(first + _BLOCK, rows))
            _gather(cells, buckets, first, mine)
    return sums.astype(np.int64)


@jit
def _gather(tables: Any, buckets: Any, first: int, sums: Any) -> None:  # pragma: no cover
    rows, columns = buckets.shape
    for row in range(rows):
        for table in range(tables.shape[0]):
            cells, out = tables[table, first + row], sums[table]
            for column in range(columns):
                out[column] += cells[buckets[row, column]]


def extended(prefixes: Bits, bits: int) -> Bits:
    """Return every prefix with every continuation of some bits."""
    ends = ((np.arange(1 << bits)[:, None] >> np.arange(bits - 1, -1, -1)) & 1).astype(np.uint8)
    starts = np.repeat(prefixes, len(ends), axis=0)
    return np.hstack([starts, np.tile(ends, (len(prefixes), 1))])


def strongest(group: IntArray, cap: int) -> BoolArray:
    """Mark the first ``cap`` members of every group; members are listed strongest first."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    rank = np.arange(len(group)) - np.searchsorted(ordered, ordered)
    marked = np.empty(len(group), np.bool_)
    marked[order] = rank < cap
    return marked


def joins(parts: Sequence[tuple[IntArray, Symbols]], groups: int) -> Iterator[tuple[IntArray, Symbols]]:
    """Yield all joins of one member of each part, all of one group, in batches.

    Symbol 0 is the end of a text: only ends follow it. ``parts`` are pairs of group numbers and rows of symbols.
    """
    sizes = np.array([np.bincount(group, minlength=groups) for group, _ in parts])
    ways = sizes.astype(np.float64).prod(axis=0)
    batch = np.cumsum(ways) // _AT_ONCE
    for number in np.unique(batch[ways > 0]):
        chosen = (batch == number) & (ways > 0)
        state = np.flatnonzero(chosen)
        symbols = np.zeros((len(state), 0), np.uint16)
        for size, (group, own) in zip(sizes, parts, strict=True):
            order = np.argsort(group, kind="stable")
            first = np.concatenate([[0], np.cumsum(size)])[:-1]
            times = size[state]
            offset = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
            members = order[np.repeat(first[state], times) + offset]
            symbols = np.hstack([np.repeat(symbols, times, axis=0), own[members]])
            state = np.repeat(state, times)
            if symbols.shape[1] > own.shape[1]:
                fits = (symbols[:, -own.shape[1] - 1] > 0) | (symbols[:, -own.shape[1]] == 0)
                state, symbols = state[fits], symbols[fits]
        yield state, symbols


def affordable(parts: Sequence[IntArray], groups: int, cap: int, most: int) -> int:
    """Return the largest number of members per group, up to ``cap``, with at most ``most`` joins."""
    sizes = np.array([np.bincount(group, minlength=groups) for group in parts])
    while cap > 1 and np.minimum(sizes, cap).astype(np.float64).prod(axis=0).sum() > most:
        cap -= 1
    return cap


def sketch_estimates(
    law: RowLaw, family: HashFamily, tables: IntArray, row_reports: IntArray, values: Any
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Estimate the same values from several sketches of one family.

    ``tables`` has the shape (sketches, rows, width), ``row_reports`` (sketches, rows). Returns counts and variances of
    shape (sketches, values), and the standard error of an absent value per sketch.
    """
    n, m = row_reports.sum(axis=1).astype(np.float64)[:, None], law.width
    sums = law.cell.estimate(row_support(family, values, tables), n)
    count = m / (m - 1) * (sums - n / m)
    moment = np.array([second_moment(law, *one) for one in zip(tables, row_reports, strict=True)])[:, None]
    held = np.clip(count, 0, n)
    variance = law.variance(n, held, np.clip(moment - held * (held - 1), 0, n**2))
    absent = law.variance(n, 0, np.clip(moment, 0, n**2))
    return count, variance, np.sqrt(absent[:, 0])


def second_moment(law: RowLaw, table: IntArray, row_reports: IntArray) -> float:
    """Estimate G = Σ f(f-1) over the values in a sketch from the sketch itself."""
    squares = 0.0
    for start in range(0, len(table), _ROWS):
        own = row_reports[start : start + _ROWS, None].astype(np.float64)
        buckets = law.cell.estimate(table[start : start + _ROWS], own)
        squares += float(((buckets - own / law.width) ** 2).sum())
    return law.second_moment(squares, float(row_reports.sum()))
