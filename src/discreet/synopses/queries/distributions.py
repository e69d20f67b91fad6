"""Distributions asked of a synopsis: marginals, tables by group, means, quantiles, modes. All post-processing.

Answers go bin by bin over the leaves that a bin meets: a table of leaves by bins may not fit into memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core import (
    Categorical,
    Code,
    Column,
    Date,
    FloatArray,
    IntArray,
    Integer,
    Intervals,
    checks,
    even_edges,
    place_on,
)
from discreet.errors import InvalidArgument, InvalidType
from discreet.synopses.queries import counts, evenness
from discreet.synopses.queries.answers import Count, Figure, wide
from discreet.synopses.queries.evenness import Query, Terms, axis_share
from discreet.synopses.queries.groups import GroupTable, Marginal, place_text

if TYPE_CHECKING:
    from discreet.synopses.synopsis import Synopsis

_MOST_EDGES, _EQUAL_BINS, _MOST_GROUPS = 100, 50, 100_000
#: Parts of a leaf at which the error of a share is told: it is largest in the middle, and is taken as straight between.
_PARTS = (1 / 16, 1 / 4, 1 / 2, 3 / 4, 15 / 16)
_NO_ROWS = "no rows are left after the noise: no interval"
#: Stretches in which a quantile is looked for: at least, and at most.
_FINE, _MOST_PLACES = 256, 1024


@dataclass(frozen=True, repr=False)
class Quantile(Figure):
    """A place below which a given ``share`` of the rows lies; its interval turns that of the share around.

    The interval ends at edges of leaves: rows may be anywhere in a leaf, and many may share one value. ``share_error``
    has the parts of the error of that share at the place.
    """

    share: float = 0.5
    share_error: tuple[float, float] = (0.0, 0.0)
    #: Places in rising order, the shares below them, and both parts of their errors.
    curve: tuple[FloatArray, ...] = field(default=(np.zeros(0),) * 4, compare=False)
    #: The edges of leaves, in rising order.
    edges: FloatArray = field(default_factory=lambda: np.zeros(0), compare=False)
    #: Ordered categories: ``value`` is the number of one of them, from 0.
    categories: tuple[Any, ...] | None = None

    @property
    def category(self) -> Any:
        """The ordered category where the share is reached; None in a column of numbers."""
        return None if self.categories is None or math.isnan(self.value) else self.categories[int(self.value)]

    def __repr__(self) -> str:
        return super().__repr__() if self.categories is None else f"Quantile({self.category!r})"

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Return the places where the share may be reached; of ordered categories the first and the last."""
        if self.categories is not None:
            low, high = self._reached(level)
            last = len(self.categories) - 1
            return self.categories[int(min(low, last))], self.categories[int(min(max(math.ceil(high) - 1, low), last))]
        return self._reached(level)

    def _reached(self, level: float) -> tuple[float, float]:
        places, below, noisy, uneven = self.curve
        if not len(places):
            return -math.inf, math.inf
        reach = wide(level) * (noisy if self.evenness_error is None else np.hypot(noisy, uneven))
        low, high = (
            float(np.interp(self.share, np.maximum.accumulate(below + side * reach), places)) for side in (1, -1)
        )
        low, high = min(low, self.value), max(high, self.value)
        if self.evenness_error is None:
            return low, high
        first = max(int(np.searchsorted(self.edges, low, "right")) - 1, 0)
        last = min(int(np.searchsorted(self.edges, high)), len(self.edges) - 1)
        return min(low, float(self.edges[first])), max(high, float(self.edges[last]))


@dataclass(frozen=True)
class Mode:
    """The densest place of a column (a category, or the ends of a stretch), its rows, and places that may be it as
    well.
    """

    place: Any
    count: Count
    rivals: tuple[Any, ...] = ()


def marginal(synopsis: Synopsis, name: str, bins: Any) -> Marginal:
    """Estimate the distribution of one column."""
    axis = synopsis.domain.position(name)
    column = synopsis.domain.columns[axis]
    pairs = stretches(synopsis, axis, bins)
    found = list(_cells(synopsis, [(axis, pairs)], ({},)))
    gone = _absent(synopsis, axis)
    absent = counts.added(synopsis, ((1.0, {axis: gone}),)) if gone else None
    noisy, uneven = (np.array([f[i] for f in found]) for i in (1, 2))
    return Marginal(
        column=name,
        edges=None if isinstance(column, (Categorical, Code)) else np.array([pairs[0][0], *(b for _, b in pairs)]),
        categories=(
            column.categories
            if isinstance(column, Categorical)
            else tuple(place_text(column, pair) for pair in pairs)
            if isinstance(column, Code)
            else None
        ),
        counts=np.array([f[0] for f in found]),
        std_errors=np.hypot(noisy, uneven),
        missing=absent,
        assumed=np.array([f[3] for f in found]),
        divided=name not in synopsis.uncut,
        unlisted=synopsis.unlisted,
        noise_errors=noisy,
        evenness_errors=uneven,
        kind=column.kind,
        last_day=column.high if isinstance(column, Date) else math.inf,
        modelled=synopsis.modelled,
    )


def table(
    synopsis: Synopsis, names: Sequence[str], bins: Mapping[str, Any], where: Sequence[Query], level: float = 0.95
) -> GroupTable:
    """Count by up to three columns."""
    wide(level)  # refuses what is no probability
    if not 1 <= len(names) <= 3 or len(set(names)) < len(names):
        raise InvalidArgument("columns", list(names), "one, two or three different columns", 'table("age", "sex")')
    if not isinstance(bins, Mapping):
        fix = f"bins={{{names[0]!r}: {bins!r}}}" if isinstance(bins, int) else f"bins={{{names[0]!r}: 10}}"
        raise InvalidType("bins", bins, "a mapping from columns to bins", fix)
    for name in bins:
        if name not in names:
            raise InvalidArgument("bins", name, "about columns of the table", f"bins={{{names[0]!r}: 10}}")
    axes = [synopsis.domain.position(name) for name in names]
    split = [
        (axis, stretches(synopsis, axis, bins.get(name)) + _absent(synopsis, axis))
        for axis, name in zip(axes, names, strict=True)
    ]
    shape = tuple(len(pairs) for _, pairs in split)
    if math.prod(shape) > _MOST_GROUPS:
        fix = f"bins={{{names[0]!r}: 10}}"
        raise InvalidArgument("bins", shape, f"at most {_MOST_GROUPS:,} groups", fix)
    found = np.array(list(_cells(synopsis, split, where))).reshape(*shape, 4)
    columns = tuple(synopsis.domain.columns[axis] for axis in axes)
    held, noisy, uneven = (np.ascontiguousarray(found[..., i]) for i in range(3))
    stretched = tuple(p for _, p in split)
    return GroupTable(columns, stretched, held, noisy, uneven, synopsis.unlisted, level, synopsis.modelled)


def _absent(synopsis: Synopsis, axis: int) -> Intervals:
    """Return the place of rows without a value, if they have cells of their own and do not lie with others."""
    own = synopsis.domain.columns[axis].missing == "own" and np.isnan(synopsis.lower[:, axis]).any()
    return [(math.nan, math.nan)] if own else []


def _values(synopsis: Synopsis, axis: int, edges: FloatArray, where: Sequence[Query]) -> FloatArray:
    """Return the rows between edges of one axis, without their errors."""
    held = np.zeros(len(edges) - 1)
    weights = np.asarray(synopsis.weights, dtype=np.float64)
    # Leaves that cover the same stretch of the axis are one to it: of a grid as many are left as it has slabs.
    starts, first = np.unique(synopsis.lower[:, axis], return_inverse=True)
    tops, last = np.unique(synopsis.upper[:, axis], return_inverse=True)
    codes, which = np.unique(first * len(tops) + last, return_inverse=True)
    lower, upper = starts[codes // len(tops)], tops[codes % len(tops)]
    column = synopsis.domain.columns[axis]
    for asked in where:
        rest = weights * evenness.shares(synopsis, {a: i for a, i in asked.items() if a != axis})
        rows = np.bincount(which, rest, len(codes))
        for k, pair in enumerate(pairwise(edges.tolist())):
            inside = evenness.both({axis: [pair]}, {axis: asked[axis]} if axis in asked else {})
            held[k] += float(axis_share(lower, upper, inside[axis], column) @ rows)
    return held


def _cells(
    synopsis: Synopsis, split: Sequence[tuple[int, Intervals]], where: Sequence[Query]
) -> Iterator[tuple[float, float, float, float]]:
    """Give value, both errors and what is assumed of each group, the last column fastest."""
    everything: IntArray = np.arange(synopsis.n_leaves)

    def walk(left: Sequence[tuple[int, Intervals]], leaves: IntArray, so_far: Query) -> Iterator[tuple[float, ...]]:
        if not left:
            yield _cell(synopsis, tuple((1.0, evenness.both(so_far, q)) for q in where), leaves)
            return
        axis, pairs = left[0]
        lower, upper = synopsis.lower[leaves, axis], synopsis.upper[leaves, axis]
        for a, b in pairs:
            met = leaves[np.isnan(lower) if math.isnan(a) else (upper >= a) & (lower <= b)]
            yield from walk(left[1:], met, {**so_far, axis: [(a, b)]})

    return walk(split, everything, {})  # type: ignore[return-value]


def _cell(synopsis: Synopsis, terms: Terms, leaves: IntArray) -> tuple[float, float, float, float]:
    terms = tuple((c, q) for c, q in terms if not synopsis._impossible(q))
    covered = [evenness.shares(synopsis, q, leaves) for _, q in terms]
    whole = np.sum(covered, axis=0) if covered else np.zeros(len(leaves))
    weights = synopsis.weights[leaves]
    noisy, uneven = map(math.sqrt, synopsis._answer_variances(terms, covered, whole, leaves))
    return float(whole @ weights), noisy, uneven, float((whole * (whole < 1)) @ weights)


def stretches(synopsis: Synopsis, axis: int, bins: Any) -> Intervals:
    """Return the bins of a column as pairs of ends on its axis."""
    column = synopsis.domain.columns[axis]
    if isinstance(column, Categorical):
        if bins is not None:
            raise InvalidArgument("bins", bins, f"left out: column {column.name!r} has categories", "bins=None")
        edges = np.arange(len(column.categories) + 1.0)
    else:
        edges = _edges(synopsis, axis, column, bins)
    return list(pairwise(edges.tolist()))


def _edges(synopsis: Synopsis, axis: int, column: Column, bins: Any) -> FloatArray:
    if bins is None:
        ends = np.concatenate([synopsis.lower[:, axis], synopsis.upper[:, axis], [column.low, column.high]])
        edges: FloatArray = np.unique(ends[~np.isnan(ends)])
        if len(edges) <= _MOST_EDGES + 1:
            return edges
        bins = _EQUAL_BINS
    return edges_of(column, bins)


def edges_of(column: Column, bins: Any) -> FloatArray:
    """Return the edges of bins of a column of numbers on its axis, from their number or from edges."""
    if isinstance(bins, (int, np.integer)):
        return even_edges(column, checks.whole("bins", bins, low=1, high=10**6))
    ends = [column.least, column.most + 1] if isinstance(column, Integer) else column.to_dict()["bounds"]
    fix = f"bins={ends}"
    if isinstance(bins, str) and isinstance(column, Date) and bins in (units := {"month": 1, "quarter": 3, "year": 12}):
        ends = np.array([column.low, column.high]).astype("datetime64[D]")
        first, last = ends.astype("datetime64[M]").astype(int)
        months = np.arange(first - first % units[bins], last + 1, units[bins]).astype("datetime64[M]")
        days = months.astype("datetime64[D]").astype(np.float64)
        return np.concatenate([[column.low], days[days > column.low], [column.high + 1]])
    if not isinstance(bins, (Sequence, np.ndarray)) or isinstance(bins, str):
        words = ", or month, quarter or year" if isinstance(column, Date) else ""
        raise InvalidType("bins", bins, f"a number of bins or their edges{words}", "bins=20")
    try:
        edges = np.array([place_on(column, b) for b in bins], dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidType("bins", bins, "a number of bins or their edges", fix) from None
    if edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
        raise InvalidArgument("bins", bins, "at least two edges in rising order", fix)
    if not isinstance(column, Integer):
        return edges
    whole = np.ceil(edges) - 0.5
    if not (np.diff(whole) > 0).all():
        what = f"edges with a whole number between any two: column {column.name!r} has no others"
        raise InvalidArgument("bins", list(bins), what, fix)
    return whole


def mean(synopsis: Synopsis, name: str, where: Sequence[Query]) -> Figure:
    """Estimate the mean of a column over rows that have a value there."""
    axis, _ = _numeric(synopsis, name, ordered=False)
    here: Query = {axis: [(-math.inf, math.inf)]}
    terms: Terms = tuple((1.0, evenness.both(q, here)) for q in where)
    n, first, second = (np.zeros(synopsis.n_leaves) for _ in range(3))
    for _, asked in terms:
        for held, more in zip((n, first, second), _moments(synopsis, axis, asked), strict=True):
            held += more
    rows = float(n @ np.asarray(synopsis.weights, dtype=np.float64))
    if rows <= 0:
        return Figure(math.nan, math.inf, math.inf, remark=_NO_ROWS)
    middle = float(first @ np.asarray(synopsis.weights, dtype=np.float64)) / rows
    noisy, assumed = synopsis._mean_errors(axis, terms, n, first, second, middle)
    return Figure(middle, noisy / rows, assumed / rows, modelled=synopsis.modelled)


def _moments(synopsis: Synopsis, axis: int, asked: Query) -> tuple[FloatArray, ...]:
    """Return the integrals of 1, x and x² over a query in each leaf."""
    lower, upper = synopsis.lower[:, axis], synopsis.upper[:, axis]
    rest = evenness.shares(synopsis, {a: i for a, i in asked.items() if a != axis})
    flat = ~(upper > lower)
    width = np.where(flat, 1.0, upper - lower)
    there = np.nan_to_num(lower)
    made = [np.zeros(len(lower)) for _ in range(3)]
    column = synopsis.domain.columns[axis]
    for low, high in asked[axis]:
        a, b = (np.clip((np.clip(x, column.low, column.high) - there) / width, 0.0, 1.0) for x in (low, high))
        p1, p2, p3 = b - a, (b**2 - a**2) / 2, (b**3 - a**3) / 3
        inside = axis_share(lower, upper, [(low, high)], column)
        at = (
            (p1, inside),
            (there * p1 + width * p2, inside * there),
            (there**2 * p1 + 2 * there * width * p2 + width**2 * p3, inside * there**2),
        )
        for held, (even, point) in zip(made, at, strict=True):
            held += rest * np.where(np.isnan(lower), 0.0, np.where(flat, point, even))
    return tuple(made)


def cdf(synopsis: Synopsis, name: str, at: Any, where: Sequence[Query]) -> Figure:
    """Estimate the share of rows up to a value, among those that have one."""
    axis, column = _numeric(synopsis, name)
    place = place_on(column, at)
    if isinstance(column, Categorical):
        place += 1.0  # it belongs to it
    place = math.floor(place) + 0.5 if isinstance(column, (Integer, Date)) else place
    return _below(synopsis, axis, place, where)


def _below(synopsis: Synopsis, axis: int, place: float, where: Sequence[Query], base: Count | None = None) -> Figure:
    def below(end: float, by: float = 1.0) -> Terms:
        return tuple((by, evenness.both(q, {axis: [(-math.inf, end)]})) for q in where)

    base = counts.added(synopsis, below(math.inf)) if base is None else base
    if not base.value:
        return Figure(math.nan, math.inf, math.inf, limits=(0.0, 1.0), remark=_NO_ROWS)
    # As a count over another has it: the error of a/b is that of (a - r b)/b, with r = a/b.
    ratio = counts.estimated(synopsis, below(place)) / base.value
    rest = counts.added(synopsis, (*below(place), *below(math.inf, -ratio)))
    apart = (error / abs(base.value) for error in (rest.noise_error, rest.evenness_error or 0.0))
    share = Figure(ratio, *apart, remark=rest.note, modelled=rest.modelled)
    # Rows that stand exactly there belong to it, though leaves that begin there hold them.
    peak = evenness.at_edge(synopsis, axis, place, where) / max(base.value, 1.0)
    return replace(share, evenness_error=math.hypot(share.evenness_error or 0.0, peak), limits=(0.0, 1.0))


def quantile(synopsis: Synopsis, name: str, share: float, where: Sequence[Query]) -> Quantile:
    """Estimate the place below which a share of the rows lies."""
    axis, column = _numeric(synopsis, name)
    share = float(checks.probability("share", share, closed=True))
    whole = np.arange(column.high + 1.0) if isinstance(column, Categorical) else None
    ends = np.unique(np.concatenate([synopsis.lower[:, axis], synopsis.upper[:, axis], [column.low, column.high]]))
    ends = ends[~np.isnan(ends)]
    if len(ends) > _MOST_PLACES:  # fewer, and finer where leaves are fine
        ends = ends[np.linspace(0, len(ends) - 1, _MOST_PLACES).astype(np.int64)]
    edges = ends if whole is None else whole
    if whole is None and len(edges) < _FINE:
        edges = np.union1d(edges, even_edges(column, _FINE))
    held = _values(synopsis, axis, edges, where)
    # Noise may make the curve fall: its upper and lower hull, halfway, is the nearest that does not.
    raw = np.concatenate([[0.0], np.cumsum(held)])
    risen = (np.maximum.accumulate(raw) + np.minimum.accumulate(raw[::-1])[::-1]) / 2
    span = risen[-1] - risen[0]
    if span <= 0:
        return Quantile(math.nan, math.inf, math.inf, share, remark=_NO_ROWS)
    curve = (risen - risen[0]) / span
    value = float(np.interp(share, curve, edges))
    found = _below(synopsis, axis, value, where)
    # Bounds that are far from 0 and near each other have fewer doubles between them than bins.
    step = max((column.high - column.low) / _EQUAL_BINS, float(np.spacing(max(abs(column.low), abs(column.high)))))
    low, high = max(value - step, column.low), min(value + step, column.high)
    dense = float(np.interp(high, edges, curve) - np.interp(low, edges, curve)) / (high - low)
    errors = found.noise_error, found.evenness_error or 0.0
    noisy, uneven = (e / dense if dense > 0 else math.inf for e in errors)
    if isinstance(column, Integer):
        value = min(max(float(math.floor(value + 0.5)), column.least), column.most)
    band, names = _band(synopsis, axis, ends, edges, curve, share, where), None
    if isinstance(column, Categorical):
        value, names = float(min(math.floor(value), len(column.categories) - 1)), column.categories
    return Quantile(value, noisy, uneven, share, errors, band, ends, names, modelled=found.modelled)


def _band(
    synopsis: Synopsis,
    axis: int,
    ends: FloatArray,
    edges: FloatArray,
    curve: FloatArray,
    share: float,
    where: Sequence[Query],
) -> tuple[FloatArray, ...]:
    """Return places around a quantile, the shares below them and their errors, as far as the share may be reached."""
    held: dict[float, Figure] = {}
    base = counts.added(synopsis, tuple((1.0, evenness.both(q, {axis: [(-math.inf, math.inf)]})) for q in where))

    def at(place: float) -> Figure:
        if place not in held:
            held[place] = _below(synopsis, axis, place, where, base)
        return held[place]

    # Between the edges of leaves errors are larger than at them: both are looked at, leaf by leaf outwards.
    places = np.sort(np.concatenate([ends, *(ends[:-1] + part * np.diff(ends) for part in _PARTS)]))
    start = int(np.searchsorted(places, np.interp(share, curve, edges)))
    for side in (-1, 1):
        k, far, steps = start + min(side, 0), 0, 0
        while 0 <= k < len(places) and far < 2:
            found = at(float(places[k]))
            far += side * (found.value - share) > wide(0.999) * found.std_error
            steps += 1
            k += side * max(1, steps**2 // 16)  # one by one in the leaf itself, then farther and farther
    asked = np.array(sorted({*held, float(edges[0]), float(edges[-1])}))
    told = [at(place) for place in asked.tolist()]
    errors = np.array([(f.noise_error, f.evenness_error or 0.0) for f in told])
    return asked, np.interp(asked, edges, curve), errors[:, 0], errors[:, 1]


def mode(synopsis: Synopsis, name: str, bins: Any, where: Sequence[Query]) -> Mode:
    """Find the densest stretch of a column, and those that may be it as well."""
    axis = synopsis.domain.position(name)
    column = synopsis.domain.columns[axis]
    pairs = stretches(synopsis, axis, bins)
    found = np.array(list(_cells(synopsis, [(axis, pairs)], where)))
    widths = np.array([b - a for a, b in pairs])
    density = found[:, 0] / widths
    best = int(np.argmax(density))

    def counted(i: int) -> Count:
        return counts.added(synopsis, tuple((1.0, evenness.both(q, {axis: [pairs[i]]})) for q in where))

    spread = np.hypot(found[:, 1], found[:, 2]) / widths
    near = np.flatnonzero(density[best] - density <= wide(0.95) * (spread + spread[best]))
    top = counted(best)
    rivals = []
    for i in near[np.argsort(-density[near])].tolist():
        if i != best:
            apart = top * (1 / widths[best]) - counted(i) * (1 / widths[i])
            if apart.interval(0.95)[0] <= 0:
                rivals.append(place_text(column, pairs[i]))
    return Mode(place_text(column, pairs[best]), top, tuple(rivals))


def _numeric(synopsis: Synopsis, name: str, ordered: bool = True) -> tuple[int, Column]:
    axis = synopsis.domain.position(name)
    column = synopsis.domain.columns[axis]
    sorted_ = isinstance(column, Categorical) and column.ordered
    if isinstance(column, (Categorical, Code)) and not (sorted_ and ordered):
        why = (
            "ordered categories have no mean"
            if sorted_
            else f"{'codes' if isinstance(column, Code) else 'categories'} have no order"
        )
        fix = f"quantile({name!r}, 0.5)" if sorted_ else f"mode({name!r})"
        raise InvalidArgument("column", name, f"a column of numbers or dates: {why}", fix)
    return axis, column
