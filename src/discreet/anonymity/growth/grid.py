"""The public grid of a quasi-identifier: where splits may lie, and how a run of bins is printed.

Splits depend on the data, so they are only allowed at points that were public before. A column is divided into *bins*
``0..levels-1``: equal steps of a numeric column, or categories. If missing values have a branch of their own, it is one
more bin behind the last. A cell covers a run of bins ``first..last`` of each column; every method releases `Cells`.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.anonymity.risk.hierarchy import MISSING, OR_MISSING, printed_category
from discreet.core import (
    AnyArray,
    Categorical,
    Code,
    Column,
    Date,
    FloatArray,
    IntArray,
    Integer,
    Numeric,
    Time,
    category_text,
    checks,
    coding,
    date_text,
    day_number,
    jit,
    levels,
    quickly,
    time_text,
)
from discreet.errors import InvalidArgument

#: Bins of rows: columns by rows.
Bins = npt.NDArray[np.uint16]
#: Steps of a numeric column unless the user says otherwise.
DEFAULT_STEPS = 128
#: Most steps of whole-numbered bounds (of a round size) and of dates (of the finest calendar unit).
MOST_ROUND_STEPS = 256
#: Steps of times of day, in seconds.
_CLOCK = (1, 5, 15, 30, 60, 300, 600)
#: Narrower bounds may hold fractions, so they get steps below 1.
FEWEST_WHOLE_STEPS = 20
MOST_LEVELS = 2**15
#: Stands for the bin of a missing value that has none.
NO_BIN = 2**16 - 1


@dataclass(frozen=True)
class Grid:
    """The bins of one column.

    ``edges`` are the ``levels + 1`` grid points of a numeric column. ``order`` is the category number of each bin of a
    categorical one; ``labels`` are runs of bins with a name (first, last, name), such as the groups of a hierarchy.
    ``tiers`` of a numeric column with levels are those of `discreet.core.columns.levels.Laid`, by inner edge.
    """

    column: Column
    edges: tuple[float, ...] = ()
    order: tuple[int, ...] = ()
    labels: tuple[tuple[int, int, str], ...] = ()
    tiers: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def numeric(self) -> bool:
        """True for a column with bounds, False for categories."""
        return isinstance(self.column, Numeric)

    @property
    def levels(self) -> int:
        """Number of bins, the one for missing values not counted."""
        return len(self.edges) - 1 if self.numeric else len(self.order)

    @property
    def own_missing(self) -> bool:
        """True if missing values have their own bin, number ``levels``."""
        return self.column.missing == "own"

    @property
    def n_bins(self) -> int:
        return self.levels + self.own_missing

    def write_bins(self, coordinates: FloatArray, out: npt.NDArray[np.uint16]) -> int:
        """Write the bin of each coordinate, `NO_BIN` for a missing value without a bin; return the number of these."""
        missing = self.levels if self.own_missing else NO_BIN
        if self._even:
            find = quickly(_even_bins, len(out))
            with np.errstate(all="ignore"):  # as kernels do: a far value is in the first bin or the last
                return int(find(coordinates, self._edges, missing, out))
        lost = np.isnan(coordinates)
        if self.numeric:
            found = np.searchsorted(self._edges[1:-1], coordinates, side="right")
        else:
            place = np.empty(len(self.order) + 1, np.int64)
            place[list(self.order)] = np.arange(len(self.order))
            found = place[np.where(lost, 0, coordinates).astype(np.int64).clip(0, len(self.order) - 1)]
        out[:] = np.where(lost, missing, found)
        return 0 if self.own_missing else int(np.count_nonzero(lost))

    @cached_property
    def _edges(self) -> FloatArray:
        return np.array(self.edges)

    @cached_property
    def _even(self) -> bool:
        """True if a division finds the bin or its neighbour."""
        width = self._edges[-1] - self._edges[0] if self.numeric else math.inf
        if not 0 < width < math.inf:
            return False
        off = (self._edges - self._edges[0]) / width * self.levels - np.arange(self.levels + 1)
        return bool(np.abs(off).max() < 0.5)

    def bounds(self, first: int, last: int) -> tuple[float, float] | None:
        """Return the numeric ends of a run of bins; None if it holds no number."""
        if not self.numeric or first >= self.levels:
            return None
        low, high = self.edges[first], self.edges[min(last, self.levels - 1) + 1]
        return (low + 0.5, high - 0.5) if isinstance(self.column, Integer) else (low, high)

    def categories(self, first: int, last: int, *, declared: bool = False) -> list[Any] | None:
        """Return the categories of a run of bins, in the order of bins or as declared; None for a numeric column."""
        if self.numeric:
            return None
        assert isinstance(self.column, Categorical)
        held = self.order[first : min(last, self.levels - 1) + 1]
        return [self.column.categories[i] for i in (sorted(held) if declared else held)]

    def held(self, first: int, last: int) -> list[str]:
        """Return what a named run holds: its categories, or one interval."""
        if ends := self.bounds(first, last):
            return [self._stretch_text(first, last, *ends)]
        return list(map(category_text, self.categories(first, last) or []))

    @cached_property
    def _labels_from(self) -> dict[int, list[tuple[int, str]]]:
        """By first bin, the ends and names of all named runs, the longest first."""
        found: dict[int, list[tuple[int, str]]] = {}
        for first, last, label in sorted(self.labels, key=lambda run: -run[1]):
            found.setdefault(first, []).append((last, label))
        return found

    @cached_property
    def _listable(self) -> bool:
        """True if labels can be listed with categories: no category contains a comma."""
        return not any(", " in str(c) for c in self.categories(0, self.levels - 1) or [])

    def parts(self, first: int, last: int) -> list[tuple[str, int, int]]:
        """Return what is printed of a run of categories: labels where a whole group is in it, categories elsewhere."""
        named = [label for end, label in self._labels_from.get(first, ()) if end == last]
        if named:
            return [(named[0], first, last)]
        if self.numeric:  # the largest groups at both ends
            begins = [(label, first, end) for end, label in self._labels_from.get(first, ()) if end < last]
            ends = sorted((a, b, label) for a, b, label in self.labels if a > first and b == last)
            return [begins[0], (ends[0][2], ends[0][0], last)] if begins and ends else []
        members, at = self.categories(first, last) or [], first
        found: list[tuple[str, int, int]] = []
        while at <= last:
            runs = [r for r in self._labels_from.get(at, ()) if r[0] <= last and ", " not in r[1] and self._listable]
            end, label = runs[0] if runs else (at, printed_category(members[at - first]))
            found.append((label, at, end))
            at = end + 1
        return found

    def text(self, first: int, last: int) -> str:
        """Write a run of bins for people: ``[34, 41)``, ``{cook, smith}``, ``office``, ``[90, 120] or missing``."""
        if first >= self.levels:
            return MISSING
        ends, end = self.bounds(first, last), min(last, self.levels - 1)
        if ends is not None and isinstance(self.column, Code):
            written = self.column.codes.label(int(ends[0]), int(ends[1]))
        elif end - first + 1 == self.levels > 1 and (ends is None or self.labels):
            written = "*"
        elif ends is not None:
            named = [text for text, _, _ in self.parts(first, end)] if self.labels else []
            written = " to ".join(named) or self._stretch_text(first, end, *ends)
        else:
            # As declared: the order of bins may show which categories are common.
            parts = sorted(self.parts(first, end), key=lambda part: min(self.order[part[1] : part[2] + 1]))
            texts = [text for text, _, _ in parts]
            written = texts[0] if len(texts) == 1 else "{" + ", ".join(texts) + "}"
        return written + (OR_MISSING if last >= self.levels else "")

    def _stretch_text(self, first: int, last: int, low: float, high: float) -> str:
        """Write a run of steps: an interval, or where it reaches a coded end, what it lies beyond."""
        column, whole = self.column, isinstance(self.column, Integer)
        point = {"date": date_text, "integer": _whole_text, "time": time_text}.get(column.kind, number_text)
        at_top = last == self.levels - 1
        below, above = (first == 0 and self.coded[0]), (at_top and self.coded[1])
        if below and above:
            return "*"
        if above:
            return f"> {point(low - 1)}" if whole and first == last else f">= {point(low)}"
        if below:
            return f"<= {point(high)}" if at_top else f"< {point(high + whole)}"
        closed = "]" if at_top or whole else ")"
        return f"[{point(low)}, {point(high)}{closed}" if low < high else point(low)

    @property
    def coded(self) -> tuple[bool, bool]:
        """True for a coded bottom (first bin), and for a coded top (last bin); `discreet.core.columns.coding`."""
        below, above = coding.edges(self.column)
        return below is not None, above is not None


def make_grid(
    column: Column, steps: Any = None, order: tuple[int, ...] | None = None,
    labels: tuple[tuple[int, int, str], ...] = (),
) -> Grid:  # fmt: skip
    """Make the public grid of a column from its declaration alone.

    ``steps`` is a number of equal steps, or the inner grid points. By default steps have a round size if the bounds are
    whole numbers (1 if that makes 20 to 256 of them), otherwise there are 128. For dates see `date_edges`. ``order``
    and ``labels`` are those of `Grid`.
    """
    label = f"grid of column {column.name!r}"
    if isinstance(column, Categorical):
        if len(column.categories) > MOST_LEVELS:
            what, fix = f"a column of at most {MOST_LEVELS}", "grouping the categories first"
            raise InvalidArgument(f"categories of column {column.name!r}", len(column.categories), what, fix)
        return Grid(column, order=order or tuple(range(len(column.categories))), labels=labels)
    if (steps is None and column.levels) or isinstance(column, Code):
        return _leveled(column if steps is None else replace(column, levels=[steps]), label)
    if isinstance(column, Date):
        return Grid(column, edges=_coded(column, date_edges(column, steps)))
    if isinstance(column, Integer):
        return Grid(column, edges=_coded(column, _whole_edges(column, steps, label)))
    return Grid(column, edges=_coded(column, _real_edges(column, steps, label)))


def _leveled(column: Numeric, label: str) -> Grid:
    """Return the grid of a column with levels, or of a code: its finest groups that are few enough."""
    laid = levels.lay_out(column, MOST_LEVELS)
    if len(laid.tiers) >= MOST_LEVELS:
        raise InvalidArgument(label, len(laid.tiers) + 1, f"at most {MOST_LEVELS} groups", "coarser levels")
    edges = _coded(column, (column.low, *sorted(laid.tiers), column.high))
    place = {edge: i for i, edge in enumerate(edges)}
    names = dict.fromkeys((place[a], place[b] - 1, name) for a, b, name in laid.names if a in place and b in place)
    return Grid(column, edges, labels=tuple(names), tiers=tuple(laid.tiers.get(e, 0) for e in edges[1:-1]))


def _coded(column: Numeric, edges: tuple[float, ...]) -> tuple[float, ...]:
    """Join all bins beyond a declared threshold."""
    below, above = coding.edges(column)
    inner = [e for e in edges[1:-1] if (below is None or e > below) and (above is None or e < above)]
    ends = dict.fromkeys([column.low, *([] if below is None else [below]), *inner])
    return tuple(ends | dict.fromkeys([*([] if above is None else [above]), column.high]))


def _real_edges(column: Numeric, steps: Any, label: str) -> tuple[float, ...]:
    low, high = column.low, column.high
    fix = f"grid={{{column.name!r}: {DEFAULT_STEPS}}}"
    if steps is None:
        steps = _round_steps(low, high)
    if isinstance(steps, (list, tuple, np.ndarray)):
        inner = [checks.finite(label, s, fix=fix) for s in steps]
        if any(not a < b for a, b in zip([low, *inner], [*inner, high], strict=True)):
            raise InvalidArgument(label, list(steps), f"rising points strictly between {low:g} and {high:g}", fix)
        return (low, *inner, high)
    count = checks.whole(label, steps, low=1, high=MOST_LEVELS, fix=fix)
    # Bounds are read as they are written, and each point is rounded once: -1 + 91/100 is the -0.09 that is printed.
    start, width = Fraction(str(low)), Fraction(str(high)) - Fraction(str(low))
    return (low, *(float(start + i * width / count) for i in range(1, count)), high)


def _whole_edges(column: Integer, steps: Any, label: str) -> tuple[float, ...]:
    """Return the grid points of whole numbers, all half-way between two; ``steps`` as in `make_grid`.

    Points that are given are the first numbers of their bins.
    """
    fix = f"grid={{{column.name!r}: {DEFAULT_STEPS}}}"
    if isinstance(steps, (list, tuple, np.ndarray)):
        inner = [math.ceil(checks.finite(label, s, fix=fix)) - 0.5 for s in steps]
    elif steps is None:
        sizes = iter(_CLOCK) if isinstance(column, Time) else (f * 10**p for p in range(16) for f in (1, 2, 5))
        size = next(size for size in sizes if column.n_values / size <= MOST_ROUND_STEPS)
        start = (column.least // size + 1) * size
        inner = [start + i * size - 0.5 for i in range((column.most - start) // size + 1)]
    else:
        count = min(checks.whole(label, steps, low=1, high=MOST_LEVELS, fix=fix), column.n_values)
        inner = [column.least - (-i * column.n_values // count) - 0.5 for i in range(1, count)]
    if any(not a < b for a, b in zip([column.low, *inner], [*inner, column.high], strict=True)):
        what = f"rising whole numbers above {column.least} and up to {column.most}"
        raise InvalidArgument(label, list(steps), what, fix)
    return (column.low, *inner, column.high)


def _round_steps(low: float, high: float) -> int:
    """Return how many steps of a round size (1, 2 or 5 times a power of ten) divide the bounds.

    The smallest size that makes at most 256 steps; whole numbers get steps of at least 1 where that leaves 20 of them.
    """
    width = high - low
    if low != math.floor(low) or high != math.floor(high) or width > 2**53:
        return DEFAULT_STEPS
    if FEWEST_WHOLE_STEPS <= width <= MOST_ROUND_STEPS:
        return int(width)
    sizes = (factor * Fraction(10) ** power for power in range(-2, 17) for factor in (1, 2, 5))
    step = next(size for size in sizes if width / size <= MOST_ROUND_STEPS)
    return int(width / step) if Fraction(width) % step == 0 else DEFAULT_STEPS


def _whole_text(number: float) -> str:
    return str(int(number))


def number_text(number: float) -> str:
    """Write a grid point as people do: no trailing zeros, no more digits than needed to read the same number back."""
    if number == math.floor(number) and abs(number) < 1e15:
        return str(int(number))
    return repr(float(number))


@jit
def _even_bins(coordinates: Any, edges: Any, missing: int, out: Any) -> int:
    """Write the bins on a grid of equal steps.

    Division only says where to look: a bin must agree with the edges as they are printed.
    """
    last = edges.size - 2
    low, scale = edges[0], (last + 1) / (edges[last + 1] - edges[0])
    lost = 0
    for i in range(coordinates.size):
        value = coordinates[i]
        if np.isnan(value):
            out[i] = missing
            lost += 1
            continue
        at = int(min(max((value - low) * scale, 0.0), float(last)))
        while at > 0 and value < edges[at]:
            at -= 1
        while at < last and value >= edges[at + 1]:
            at += 1
        out[i] = at
    return lost if missing > last + 1 else 0


def date_edges(column: Date, steps: Any) -> tuple[float, ...]:
    """Return the grid points of a column of dates, the bounds included.

    ``steps`` is a calendar unit ("day", "month", "quarter", "year"); how many steps, of whole days and all but equal;
    or the inner grid points as dates. None: the finest unit of at most 256 steps, or years.
    """
    label = f"grid of column {column.name!r}"
    fix = f"grid={{{column.name!r}: 'month'}}"
    if steps is None:
        sizes = {unit: _calendar_edges(column, unit) for unit in ("day", "month", "year")}
        return next((e for e in sizes.values() if len(e) - 1 <= MOST_ROUND_STEPS), sizes["year"])
    if isinstance(steps, str):
        found = _calendar_edges(column, checks.choice(label, steps, tuple(levels.UNITS), fix=fix))
    elif isinstance(steps, (list, tuple, np.ndarray)):
        found = _given_dates(column, list(steps), label, fix)
    else:
        days = int(column.high - column.low)
        count = checks.whole(label, steps, low=1, high=min(days, MOST_LEVELS), fix=fix)
        found = tuple(float(column.low + days * i // count) for i in range(count + 1))
    if len(found) - 1 > MOST_LEVELS:
        raise InvalidArgument(label, steps, f"a grid of at most {MOST_LEVELS} steps", fix)
    return found


def _calendar_edges(column: Date, unit: str) -> tuple[float, ...]:
    starts = levels.unit_starts(column, unit)[1:].astype("datetime64[D]").astype(np.int64)
    inner = [float(s) for s in starts if column.low < s < column.high]
    return (column.low, *inner, column.high)


def _given_dates(column: Date, steps: Sequence[Any], label: str, fix: str) -> tuple[float, ...]:
    inner = [day_number(s) for s in steps]
    points = [column.low, *(p for p in inner if p is not None), column.high]
    if None in inner or any(not a < b for a, b in itertools.pairwise(points)):
        low, high = column.ends()
        raise InvalidArgument(label, list(map(str, steps)), f"rising dates strictly between {low} and {high}", fix)
    return tuple(points)


@dataclass(frozen=True)
class Cells:
    """The cells of a release.

    ``first`` and ``last`` (cells by columns) are the run of bins of each cell, both ends included. ``of`` is the cell
    of each row, -1 for a suppressed row.
    """

    grids: tuple[Grid, ...]
    first: IntArray
    last: IntArray
    of: IntArray

    @property
    def n_cells(self) -> int:
        return len(self.first)

    def counts(self) -> IntArray:
        return np.bincount(self.of[self.of >= 0], minlength=self.n_cells)

    def texts(self, column: int) -> list[str]:
        runs, place = self.runs(column)
        written = [self.grids[column].text(a, b) for a, b in runs.tolist()]
        return [written[i] for i in place]

    def runs(self, column: int) -> tuple[IntArray, AnyArray]:
        """Return the distinct runs of bins of a column, rising (first and last bin), and the run of each cell."""
        both = self.first[:, column].astype(np.uint32) << np.uint32(16)  # bins are numbers of 16 bits
        both |= self.last[:, column].astype(np.uint32)
        distinct = np.unique(both)
        place = np.searchsorted(distinct, both).astype(np.min_scalar_type(len(distinct)))
        return np.stack([distinct >> np.uint32(16), distinct & np.uint32(0xFFFF)], 1).astype(np.int64), place

    def legend(self) -> dict[str, Any]:
        """Return the meaning of the printed labels, as the fact ``labels`` of a guarantee; empty without labels."""
        found: dict[str, dict[str, list[str]]] = {}
        for j, grid in enumerate(self.grids):
            runs = self.runs(j)[0].tolist() if grid.labels else []
            ends = [(a, min(b, grid.levels - 1)) for a, b in runs if a < grid.levels]
            parts = [part for a, b in ends if b - a + 1 < grid.levels for part in grid.parts(a, b)]  # the whole is "*"
            named = {text: (a, b) for text, a, b in parts if a < b or grid.numeric}
            if named:
                found[grid.name] = {t: grid.held(*named[t]) for t in sorted(named)}
        return {"labels": found} if found else {}
