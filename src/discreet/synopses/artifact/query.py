"""Questions to a synopsis: counts in boxes, distributions of columns, invented records. All post-processing.

A query is a list of intervals for each axis (several, for a choice of categories), or None for an axis that is not
restricted. The share of a leaf inside is the product over the axes, as if its rows lay evenly in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from discreet import noise
from discreet.core import checks
from discreet.core.arrays import FloatArray
from discreet.core.dates import date_array, day_number
from discreet.core.domain import Box, Categorical, Column, Date, Domain, Integer, category_text, even_edges
from discreet.errors import InvalidArgument, InvalidType
from discreet.synopses.artifact.empty import rows_text
from discreet.synopses.artifact.tables import Count, Marginal

if TYPE_CHECKING:
    from discreet.synopses.artifact.synopsis import Synopsis

Intervals: TypeAlias = list[tuple[float, float]]
Query: TypeAlias = dict[int, Intervals]

_MOST_EDGES, _EQUAL_BINS = 100, 50
#: Invented coordinates are multiples of 2**-53 of the leaf's width: all that a float can tell apart.
_STEPS = 2**53


def read_query(domain: Domain, box: object, columns: Mapping[str, Any]) -> Query:
    """Read what a user may ask for: a box, a mapping, names, or both of the latter."""
    if isinstance(box, Box):
        if len(box.lower) != len(domain):
            raise InvalidArgument("box", box, f"a box over the {len(domain)} columns of the domain", "{'age': (0, 50)}")
        free = np.isneginf(box.lower) & np.isposinf(box.upper)
        query: Query = {j: [(float(box.lower[j]), float(box.upper[j]))] for j in np.flatnonzero(~free).tolist()}
    elif box is None or isinstance(box, Mapping):
        query = {domain.position(n): _intervals(domain.column(n), v) for n, v in (box or {}).items()}
    else:
        raise InvalidType("box", type(box), "a Box or a mapping from column to bounds", "{'age': (0, 50)}")
    for name, value in columns.items():
        position = domain.position(name)
        if position in query:
            raise InvalidArgument(name, value, "restricted once", f"count({name}=...) alone")
        query[position] = _intervals(domain.column(name), value)
    return query


def _intervals(column: Column, value: Any) -> Intervals:
    if isinstance(column, Categorical):
        fix = f"{column.name}={list(column.categories[:1])}"
        chosen = [value] if isinstance(value, (str, int, np.integer)) else value
        if not isinstance(chosen, (list, tuple, set, frozenset)):
            raise InvalidType(column.name, value, "a list of categories", fix)
        place = {category_text(c): i for i, c in enumerate(column.categories)}
        for category in chosen:
            if category_text(category) not in place:
                raise InvalidArgument(column.name, category, "among the declared categories", fix)
        numbers = sorted({place[category_text(c)] for c in chosen})
        return [(float(i), float(i + 1)) for i in numbers]
    ends = column.to_dict()["bounds"]
    fix = (
        f"{column.name}=({ends[0]}, {ends[1]})"
        if isinstance(column, Integer)
        else (f"{column.name}=({column.low:g}, {column.high:g})")
    )
    if isinstance(column, Integer) and isinstance(value, (int, np.integer)):
        value = (value, value)
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise InvalidType(column.name, value, "a pair (low, high)", fix)
    try:
        low, high = (_place(column, v) for v in value)
    except (TypeError, ValueError):
        raise InvalidType(column.name, value, "a pair of numbers (low, high)", fix) from None
    if not low <= high:  # also NaN
        raise InvalidArgument(column.name, value, "a pair with low <= high", fix)
    if isinstance(column, Integer):  # both ends belong to it
        low, high = np.ceil(low) - 0.5, np.floor(high) + 0.5
        return [(float(low), float(max(low, high)))]
    return [(low, high)]


def _place(column: Column, value: Any) -> float:
    """Return a place on a numeric axis; of a column of dates also that of a date."""
    day = day_number(value) if isinstance(column, Date) else None
    return float(value) if day is None else day


def axis_share(lower: FloatArray, upper: FloatArray, intervals: Intervals, end: float) -> FloatArray:
    """Return which part of each leaf lies in the intervals of one axis; none of a leaf of missing values.

    ``end`` is the upper end of the axis: a leaf without width there belongs to an interval that ends there.
    """
    width = upper - lower
    flat = width == 0
    share = np.zeros(len(lower))
    for low, high in intervals:
        overlap = np.minimum(upper, high) - np.maximum(lower, low)
        inside = (lower >= low) & ((lower < high) | ((lower == high) & (high >= end)))
        share += np.where(flat, inside, np.maximum(overlap, 0.0) / np.where(flat, 1.0, width))
    return np.minimum(np.nan_to_num(share, nan=0.0), 1.0)


def shares(synopsis: Synopsis, query: Query) -> FloatArray:
    """Return which part of each leaf a query covers."""
    covered = np.ones(synopsis.n_leaves)
    for axis, intervals in query.items():
        end = synopsis.domain.columns[axis].high
        covered *= axis_share(synopsis.lower[:, axis], synopsis.upper[:, axis], intervals, end)
    return covered


def count(synopsis: Synopsis, query: Query) -> Count:
    """Answer a query; what restricts nothing is answered by the total, which is the best estimate of that."""
    query = {axis: intervals for axis, intervals in query.items() if not _covers(synopsis.domain, axis, intervals)}
    if not query:
        return Count(synopsis.total, float(np.sqrt(synopsis.total_variance)))
    listed = _count(shares(synopsis, query), synopsis.weights, synopsis.variances)
    elsewhere = synopsis.unlisted
    # A column that no row can be in asks nothing of the cells that are not listed.
    somewhere = all(any(b > a for a, b in intervals) for intervals in query.values())
    return replace(listed, unlisted=max(elsewhere.value, 0.0)) if elsewhere is not None and somewhere else listed


def _covers(domain: Domain, axis: int, intervals: Intervals) -> bool:
    """Tell whether intervals leave out no row: all of the axis is in them, and no missing value has its own cell."""
    column = domain.columns[axis]
    if column.missing == "own":
        return False
    inside = sum(max(0.0, min(b, column.high) - max(a, column.low)) for a, b in intervals)
    return inside >= column.high - column.low


def _count(covered: FloatArray, weights: Any, variances: FloatArray) -> Count:
    return Count(float(covered @ weights), float(np.sqrt(covered**2 @ variances)))


def marginal(synopsis: Synopsis, name: str, bins: Any) -> Marginal:
    """Estimate the distribution of one column."""
    axis = synopsis.domain.position(name)
    column = synopsis.domain.columns[axis]
    if isinstance(column, Categorical):
        if bins is not None:
            raise InvalidArgument("bins", bins, f"left out: column {name!r} has categories", "bins=None")
        edges = np.arange(len(column.categories) + 1.0)
    else:
        edges = _edges(synopsis, axis, column, bins)
    lower, upper = np.ascontiguousarray(synopsis.lower[:, axis]), np.ascontiguousarray(synopsis.upper[:, axis])
    answers, assumed = [], []
    for a, b in pairwise(edges.tolist()):  # bin by bin: a table of leaves by bins may not fit into memory
        met = np.flatnonzero((upper >= a) & (lower <= b))
        covered = axis_share(lower[met], upper[met], [(a, b)], column.high)
        answers.append(_count(covered, synopsis.weights[met], synopsis.variances[met]))
        assumed.append(float((covered * (covered < 1)) @ synopsis.weights[met]))
    absent = None
    if column.missing == "own":
        absent = _count(np.isnan(lower).astype(np.float64), synopsis.weights, synopsis.variances)
    return Marginal(
        column=name,
        edges=None if isinstance(column, Categorical) else edges,
        categories=column.categories if isinstance(column, Categorical) else None,
        counts=np.array([a.value for a in answers]),
        std_errors=np.array([a.std_error for a in answers]),
        missing=absent,
        assumed=np.array(assumed),
        divided=name not in synopsis.uncut,
        unlisted=synopsis.unlisted,
    )


def _edges(synopsis: Synopsis, axis: int, column: Column, bins: Any) -> FloatArray:
    if bins is None:
        ends = np.concatenate([synopsis.lower[:, axis], synopsis.upper[:, axis], [column.low, column.high]])
        edges: FloatArray = np.unique(ends[~np.isnan(ends)])
        if len(edges) <= _MOST_EDGES + 1:
            return edges
        bins = _EQUAL_BINS
    if isinstance(bins, (int, np.integer)):
        return even_edges(column, checks.whole("bins", bins, low=1, high=10**6))
    fix = f"bins=[{column.low:g}, {column.high:g}]"
    if not isinstance(bins, (Sequence, np.ndarray)) or isinstance(bins, str):
        raise InvalidType("bins", bins, "a number of bins or their edges", "bins=20")
    try:
        edges = np.array(bins, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidType("bins", bins, "a number of bins or their edges", fix) from None
    if edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
        raise InvalidArgument("bins", bins, "at least two edges in rising order", fix)
    return np.unique(np.ceil(edges) - 0.5) if isinstance(column, Integer) else edges


def sample(synopsis: Synopsis, n: int, rng: object) -> pa.Table:
    """Draw invented records."""
    n = checks.whole("n", n)
    stream = noise.generator(rng)
    low, high = synopsis.domain.low, synopsis.domain.high
    lower, upper = synopsis.lower, synopsis.upper
    if not synopsis.n_leaves:  # nothing survived: all that is known is the domain
        lower, upper = low[None], high[None]
    heap = np.cumsum(_chances(synopsis) if synopsis.n_leaves else np.ones(1))
    picks = noise.below(_STEPS, size=n, rng=stream) / _STEPS * heap[-1]
    # Rounding must not lead past the last leaf that has a chance at all.
    last = np.searchsorted(heap, heap[-1], side="left")
    leaf = np.minimum(np.searchsorted(heap, picks, side="right"), last)
    place = noise.below(_STEPS, size=(n, len(low)), rng=stream) / _STEPS
    X = lower[leaf] + place * (upper[leaf] - lower[leaf])
    return pa.table({c.name: _column(c, X[:, j]) for j, c in enumerate(synopsis.domain.columns)})


def _chances(synopsis: Synopsis) -> FloatArray:
    """Return non-negative weights near the noisy ones; even by volume where none is left."""
    from discreet.synopses import refine  # which stands above the artifact, and so cannot be imported before it

    weights: FloatArray = refine.project(synopsis).weights
    if weights.sum() > 0:
        return weights
    spans = (synopsis.upper - synopsis.lower) / (synopsis.domain.high - synopsis.domain.low)
    volumes: FloatArray = np.prod(np.nan_to_num(spans, nan=1.0), axis=1)
    return volumes if volumes.sum() > 0 else np.ones(len(volumes))


def _column(column: Column, x: FloatArray) -> pa.Array:
    gone = np.isnan(x)
    if isinstance(column, Integer):
        whole = np.clip(np.floor(np.where(gone, column.low, x) + 0.5), column.least, column.most)
        return pa.array(whole.astype(np.int64), mask=gone)
    if isinstance(column, Date):
        return date_array(np.clip(x, column.low, column.high))
    if not isinstance(column, Categorical):
        return pa.array(np.clip(x, column.low, column.high), mask=gone)
    kinds = {type(c) for c in column.categories}
    names = list(column.categories) if len(kinds) == 1 else [category_text(c) for c in column.categories]
    codes = np.clip(np.floor(np.where(gone, 0.0, x)), 0, len(names) - 1).astype(np.int64)
    return pa.array(names).take(pa.array(codes, mask=gone))


def unlisted(synopsis: Synopsis) -> Count | None:
    """Return the total less what is listed; None if all cells are listed."""
    if synopsis.hidden is None:
        return None
    spread = float(np.sqrt(synopsis.total_variance + synopsis.variances.sum()))
    return Count(synopsis.total - float(synopsis.weights.sum()), spread)


def described(synopsis: Synopsis) -> str:
    """Return a synopsis in a line."""
    d, epsilon = len(synopsis.domain), synopsis.guarantee.epsilon
    facts = [f"{synopsis.n_leaves:,} {'leaf' if synopsis.n_leaves == 1 else 'leaves'} of {d} column{'s' * (d > 1)}"]
    if synopsis.hidden is not None:
        what = "survivors" if synopsis.hidden.only_above else "survivors and others"
        facts[0] += f" ({what} of {synopsis.hidden.n_cells:,} cells)"
    facts.append(rows_text(synopsis.total))
    if (elsewhere := synopsis.unlisted) is not None:
        facts[-1] += f" of which {elsewhere.value:,.0f} ± {elsewhere.std_error:,.0f} in cells that are not listed"
    if epsilon is not None:
        facts.append("NO privacy" if math.isinf(epsilon) else f"epsilon {epsilon:.6g}")
    if synopsis.looks_empty:
        facts.append("LOOKS EMPTY: the number of rows is within its noise of zero")
    if synopsis.guarantee.seeded:
        facts.append("SEEDED: do not publish")
    return f"<Synopsis: {', '.join(facts)}>"
