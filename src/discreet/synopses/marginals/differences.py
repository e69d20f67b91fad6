"""Differences of columns in the model: a duration keeps its correlation with what depends on it.

Three things would lose it. The model is drawn towards independence as far as the noise of single cells allows: sums of
cells, which have less noise, hold it back (`wider`). Few rows at the far end of a long axis, put there by noise, decide
a correlation: the end of a difference is one bin, in which rows fall off as they do before it (`short_end`). And rows
spread independently inside wide bins: they are ordered as the bins are (`matched`). Post-processing, and only for
columns that rules make; other tables are modelled as ever.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import AnyArray, Categorical, Code, Domain
from discreet.engines.passes import GroupedMarginal
from discreet.noise.stream import numpy_stream
from discreet.synopses.marginals.bins import Bins
from discreet.synopses.marginals.mixture import Factor

if TYPE_CHECKING:
    from discreet.synopses.marginals.release import Findings, Measured

#: Parts of each axis in which the counts of a pair are summed too.
WIDE = (2, 3, 5)
#: The bins behind the last one whose count is so many standard deviations above 0 are joined.
STANDS_OUT = 3.0


def differences(domain: Domain) -> list[int]:
    """Return the places of the differences among modelled columns."""
    return [domain.position(own.name) for own, _ in domain.facts.rules.replaced.values() if own is not None]


def short_end(bins: Bins, own: bool) -> Bins:
    """Join the bins behind the last that stands out of its noise; ``own`` means that missing values have the last."""
    n = bins.size - own
    after = int(np.flatnonzero([True, *(bins.counts[:n] > STANDS_OUT * np.sqrt(bins.variances[:n]))])[-1])
    if after >= n - 1:
        return bins
    new = np.minimum(np.arange(bins.size), after)
    new[n:] = after + 1
    counts, variances = (np.asarray(np.bincount(new, x), np.float64) for x in (bins.counts, bins.variances))
    return Bins(new[bins.of], counts, variances, bins.within / np.bincount(new)[new][bins.of])


def wider(measured: Measured, domain: Domain) -> Iterator[Factor]:
    """Give the counts of a pair with a difference in ever wider groups."""
    columns, shape = measured.marginal.columns, measured.marginal.shape
    for parts in WIDE:
        if len(columns) == 2 and set(columns) & set(differences(domain)) and min(shape) > parts:
            one, two = (np.arange(size) * parts // size for size in shape)
            of = (one[:, None] * parts + two).ravel()
            groups = [wide[g] for wide, g in zip((one, two), measured.marginal.groups, strict=True)]
            counts, noise = (
                np.bincount(of, x).astype(np.float64) for x in (measured.counts, measured.variance + 0 * of)
            )
            yield Factor(GroupedMarginal(columns, groups), counts, noise)


def matched(found: Findings, fine: AnyArray) -> None:
    """Order rows inside the bins of a difference and of the column that goes with it most, as strongly as bins are."""
    domain, codes, n = found.grid.domain, found.codes, fine.shape[1]
    ordered = [j for j, c in enumerate(domain) if not isinstance(c, (Categorical, Code)) and np.ptp(codes[j])]
    stream = numpy_stream(found.root, 99)
    for j in set(differences(domain)) & set(ordered):
        goes = {i: float(np.corrcoef(codes[j], codes[i])[0, 1]) for i in ordered if i != j}
        if not goes:
            continue
        i = max(goes, key=lambda i: abs(goes[i]))
        for one, other in ((i, j), (j, i)):
            _fall_off(found, fine, one, stream)
            size = np.bincount(codes[one])
            rank = np.empty(n)
            rank[np.lexsort((fine[other] + stream.random(n) / 2, codes[one]))] = np.arange(n)
            rank = (rank - (np.cumsum(size) - size)[codes[one]]) / size[codes[one]]
            key = goes[i] * rank + math.sqrt(max(1 - goes[i] ** 2, 0.0)) * stream.random(n)
            fine[one, np.lexsort((key, codes[one]))] = np.sort(fine[one])


def _fall_off(found: Findings, fine: AnyArray, j: int, stream: Any) -> None:
    """Let the rows of the last bin of a column fall off exponentially from the density of the bin before it."""
    of, codes = found.bins[j].of, found.codes[j]
    lower, upper = found.grid.boxes(j)
    last = int(of.max()) - (found.grid.domain.columns[j].missing == "own")
    cells, rows = np.flatnonzero(of == last), np.flatnonzero(codes == last)
    before = of == last - 1
    dense = np.count_nonzero(codes == last - 1) / max(float((upper - lower)[before].sum()), 1e-300)
    wide = upper[cells] - lower[cells]
    if last < 1 or not len(rows) or len(rows) >= dense * wide.sum():
        return
    share = np.cumsum(wide * np.exp(-(lower[cells] - lower[cells[0]]) * dense / len(rows)))
    ends = np.rint(share / share[-1] * len(rows)).astype(np.int64)
    fine[j, stream.permutation(rows)] = np.repeat(cells, np.diff(ends, prepend=0))
