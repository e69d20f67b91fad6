"""Full-domain generalisation: all values of a column go up the same number of levels; rare classes are left out.

Levels are given, or found by Datafly's rule (Sweeney 1998): raise the column with the most distinct values until the
records in classes that break a rule are few enough to be left out.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.anonymity.growth.frontier import refuse_root
from discreet.anonymity.growth.grid import Cells, Grid
from discreet.anonymity.methods.partitioner import BuildRecords, Partitioner
from discreet.anonymity.release import together
from discreet.anonymity.release.blanks import blanked_boxes, fill_in, fill_in_together
from discreet.anonymity.release.rows import FrozenPartition, PublishedCells
from discreet.anonymity.release.table import PlaceCounts, Table, TablePlan, refuse_unknown
from discreet.anonymity.risk.classes import join
from discreet.anonymity.risk.rules import Rules
from discreet.core import BoolArray, IntArray, checks, option
from discreet.errors import InvalidArgument, InvalidType

#: For one column, the group of every bin at every level: level 0 is the bins themselves, the last one group.
Ladder = list[IntArray]


class Generalization(Partitioner):
    """Anonymous tables by recoding whole columns.

    Classes that break a rule are left out; if that is more than ``suppress`` allows, the release is refused. With a
    history, levels are raised as long as that keeps rows in the table.

    Attributes
    ----------
    levels_ : dict
        The level of every quasi-identifier.

    Privacy
    -------
    As with `DensityTree`: classes of k records that look alike, and no more. Levels that are chosen on the records are
    part of what is published.

    Examples
    --------
    >>> import discreet as dc, pyarrow as pa
    >>> people = pa.table({"age": [31, 33, 36, 38, 61, 64, 66, 69], "zip": ["1010", "1020"] * 4})
    >>> domain = dc.Domain({"age": (0, 120), "zip": ["1010", "1020", "2010"]})
    >>> zips = dc.anonymity.Hierarchy({"1*": ["1010", "1020"], "2*": ["2010"]})
    >>> method = Generalization(2, domain=domain, hierarchies={"zip": zips}, widths={"age": [5, 10, 20]})
    >>> release = method.set_params(levels={"age": 3, "zip": 1}).fit_transform(people)
    >>> sorted({(row["age"], row["zip"]) for row in release.table.to_pylist()})
    [('[20, 40)', '1*'), ('[60, 80)', '1*')]
    """

    _: KW_ONLY
    levels: Mapping[str, int] | None = option(
        default=None, job="level", help="From column to its level; 0 if it is not named.",
        details="With a hierarchy, level i publishes the groups i levels above the deepest categories; without one, "
        "level 1 is ``*``. None lets Datafly's rule choose the levels on the records.",
    )  # fmt: skip
    widths: Mapping[str, Sequence[float]] | None = option(
        default=None, help="From numeric column to the widths of its intervals at level 1, 2, ...",
        details="Each width is a multiple of the one before and of the grid step. By default each level joins two "
        "intervals of the one before. The last level is the whole domain.",
    )  # fmt: skip
    suppress: float = option(
        default=0.05, low=0, high=1, example=0.01, help="Largest share of the rows that may be left out, or blanked."
    )

    def _partition(self, table: BuildRecords, tiers: Mapping[int, IntArray]) -> IntArray:
        """Check the levels, or choose them on the build records."""
        plan = self.plan_
        self._ladders = ladders_of(plan, tiers, self.widths)
        if self.levels is not None:
            self.levels_ = _given(self.levels, plan, self._ladders)
        else:
            allowed = int(float(self.suppress) * table.n)
            present = [np.flatnonzero(table.bin_counts(j)) for j in range(len(plan.quasi))]
            found = choose_levels(self._ladders, present, allowed, partial(self._left_out, table, allowed=allowed))
            self.levels_ = dict(zip(plan.quasi, found, strict=True))
        self._freeze()
        self.n_features_in_ = len(plan.quasi)
        return np.empty(0, np.int64)

    def _check(self, plan: TablePlan) -> None:
        _widths(self.widths, plan)

    def _left_out(self, table: BuildRecords, groups: Sequence[IntArray], allowed: int) -> int:
        """Return the records in classes that break a rule; outside memory, more than ``allowed`` may be too low."""
        if isinstance(table, Table):
            counts = table.placed(None, _placed(groups, table))
        else:
            # Classes with fewer than k rows always break a rule. If they are few, there are few classes in total.
            few = table.few(groups, self.rules_.k)
            if few > allowed:
                return few
            counts = table.placed(ClassesOf(groups, self.rules_, 0.0, {}))
        kept = keep_ok(counts, self.rules_)
        return int(counts.rows[~kept].sum())

    def _decide_together(
        self, table: Table, place: IntArray, past: together.EarlierReleases, stream: Any
    ) -> tuple[Cells, dict[str, Any]]:
        """Raise levels until few rows would be identified with the help of earlier releases; leave these out.

        Rows that no level helps are left out at any level, so they do not count.
        """
        given, rules = self._at_fit, self.rules_
        way, allowed = given.on_conflict, int(float(given.suppress) * table.n)

        def lost(own: IntArray) -> int:
            return int(together.broken_rows(past, together.wanted(past, own, way), rules, table).sum())

        levels, ladders, helpless = self.levels_, self._ladders, lost(np.zeros(table.n, np.int64))
        if given.levels is None and way != "refuse":
            present = [np.flatnonzero(table.bin_counts(j)) for j in range(len(ladders))]
            found = choose_levels(ladders, present, allowed + helpless, lambda groups: lost(_placed(groups, table)))
            levels = dict(zip(self.plan_.quasi, found, strict=True))
        groups = [ladder[levels[g.name]] for g, ladder in zip(self.plan_.grids, ladders, strict=True)]
        partition = ClassesOf(groups, rules, 0.0, {})
        place = partition.route(table.bins)
        own = together.settle_together(past, together.wanted(past, place, way), rules, table, stream)
        out = own < 0
        if way in ("merge", "refuse") and (past.shown[past.record[out]].any() or out.sum() > allowed):
            together.refuse_broken(past, place, rules, table)
        shown, of = np.unique(own[~out], return_inverse=True)
        own[~out] = of.ravel()
        cells = Cells(self.plan_.grids, *_runs(groups, list(partition.known()[shown].T)), own)
        told: dict[str, Any] = {}
        if given.blanks:
            cells = fill_in_together(cells, place, past, rules, table, partition.wider, way)
            told["blanked"] = int((cells.of[out] >= 0).sum())
        told |= {**together.facts_together(past, cells.of, rules, table, way), "levels": levels}
        told |= {"chosen_on_the_records": given.levels is None, "suppression_allowed": float(given.suppress)}
        return cells, told

    def _frozen_partition(self) -> FrozenPartition:
        given = self._at_fit
        groups = [ladder[self.levels_[g.name]] for g, ladder in zip(self.plan_.grids, self._ladders, strict=True)]
        facts = {
            "levels": self.levels_,
            "chosen_on_the_records": given.levels is None,
            "suppression_allowed": float(given.suppress),
        }
        return ClassesOf(groups, self.rules_, float(given.suppress), facts, given.blanks)


class ClassesOf:
    """Whole columns recoded: a row is put into its combination of groups, numbered as they come."""

    def __init__(
        self, groups: Sequence[IntArray], rules: Rules, suppress: float, settings: dict[str, Any], blanks: bool = False
    ) -> None:
        self._groups, self._rules, self._suppress = groups, rules, suppress
        self._settings, self._blanks = settings, blanks
        self._known: dict[bytes, int] = {}

    def route(self, bins: Any) -> IntArray:
        if not bins.shape[1]:
            return np.empty(0, np.int64)
        codes = [group[row] for group, row in zip(self._groups, bins, strict=True)]
        of = classes(codes)
        one = np.empty(int(of.max()) + 1, np.int64)
        one[of] = np.arange(len(of))
        found = np.stack([c[one] for c in codes], axis=1).astype(np.int32)
        places = [self._known.setdefault(row.tobytes(), len(self._known)) for row in found]
        return np.array(places, np.int64)[of]

    def known(self) -> IntArray:
        """Return the combinations that were met, in their numbers' order: the group of each column."""
        found = np.frombuffer(b"".join(self._known), np.int32).astype(np.int64)
        return found.reshape(len(self._known), len(self._groups))

    def labels(self, places: IntArray) -> pa.Array:
        """Return the groups of combinations as text: each process numbers combinations as they come to it."""
        return pa.array([key.hex() for key in self._known], pa.string()).take(pa.array(places))

    def places(self, labels: pa.Array) -> IntArray:
        encoded = labels.dictionary_encode()
        keys = (bytes.fromhex(text) for text in encoded.dictionary.to_pylist())
        own = np.array([self._known.setdefault(key, len(self._known)) for key in keys], np.int64)
        found: IntArray = own[np.asarray(encoded.indices, np.int64)]
        return found

    def decide(self, counts: PlaceCounts) -> PublishedCells:
        """Leave out the combinations that break a rule, or blank some of their values."""
        n = len(counts.rows)
        whole = self._rules.measure(np.zeros(n, int), counts.sensitive, counts.persons, counts.rows)
        refuse_root(self._rules, counts.sensitive, np.ones(n, bool), whole.ok, counts.persons, counts.rows)
        kept = keep_ok(counts, self._rules)
        shown, settings = np.unique(counts.place[kept]), dict(self._settings)
        of_place = np.full(len(self._known), -1, np.int64)
        of_place[shown] = np.arange(len(shown))
        cells = Cells((), *_runs(self._groups, list(self.known()[shown].T)), of_place[counts.place])
        rows, total = counts.rows, int(counts.rows.sum())
        _refuse_left_out(int(rows[~kept].sum()), total, self._suppress, self._blanks)
        if self._blanks:
            cells = fill_in(cells, counts, self._rules, self.wider)
            of_place[counts.place] = cells.of
            settings["blanked"] = int(rows[~kept & (cells.of >= 0)].sum())
            _refuse_left_out(int(rows[cells.of < 0].sum()), total, 1)
        return PublishedCells(cells.first, cells.last, of_place, settings)

    def wider(self, places: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
        return blanked_boxes(*_runs(self._groups, list(self.known()[places].T)), self._groups)


def choose_levels(
    ladders: Sequence[Ladder], present: Sequence[IntArray], allowed: int, left_out: Callable[[list[IntArray]], int]
) -> list[int]:
    """Return the level of each column by Datafly's rule: raise the one with the most groups among its bins ``present``.

    ``left_out`` counts the records in classes that break a rule, given the group of each bin of each column.
    """
    level = [0] * len(ladders)
    while True:
        groups = [ladder[level[j]] for j, ladder in enumerate(ladders)]
        open_ = [j for j, ladder in enumerate(ladders) if level[j] < len(ladder) - 1]
        if not open_ or left_out(groups) <= allowed:
            return level
        level[max(open_, key=lambda j: (len(np.unique(groups[j][present[j]])), -j))] += 1


def classes(codes: Sequence[IntArray]) -> IntArray:
    return join([(c, int(c.max(initial=0)) + 1) for c in codes], len(codes[0]))


def _placed(groups: Sequence[IntArray], table: Table) -> IntArray:
    return classes([group[bins] for group, bins in zip(groups, table.bins, strict=True)])


def keep_ok(counts: PlaceCounts, rules: Rules) -> BoolArray:
    """Return which entries stay when the classes that break a rule are left out.

    Leaving rows out changes the distribution for t, so this is repeated until nothing changes.
    """
    of = counts.place
    kept = np.ones(len(of), bool)
    while kept.any():
        good = rules.kept(np.where(kept, of, -1), counts.sensitive, counts.persons, counts.rows)
        stays = kept.copy()
        stays[kept] = good[of[kept]]
        if stays.sum() == kept.sum():
            break
        kept = stays
    return kept


def _runs(groups: Sequence[IntArray], codes: Sequence[Any]) -> tuple[IntArray, IntArray]:
    pairs = list(zip(groups, codes, strict=True))
    first = np.stack([np.searchsorted(g, c) for g, c in pairs], 1)
    return first, np.stack([np.searchsorted(g, c, side="right") - 1 for g, c in pairs], 1)


def _refuse_left_out(left_out: int, n: int, suppress: Any, blanks: bool = False) -> None:
    if left_out == n and not blanks:
        expected = "left out, or higher: every class breaks a rule at these levels, so no record could be released"
        raise InvalidArgument("levels", None, expected, "leaving it out")
    if left_out > float(suppress) * n:
        share = math.ceil(1e4 * left_out / n) / 1e4
        expected = f"at least {share:g}, the share of records in classes that break a rule at these levels"
        raise InvalidArgument("suppress", suppress, expected, f"suppress={share:g}")


def ladders_of(plan: TablePlan, tiers: Mapping[int, IntArray], widths: Any) -> list[Ladder]:
    given = _widths(widths, plan)
    return [_ladder(grid, tiers.get(j), given.get(grid.name)) for j, grid in enumerate(plan.grids)]


def _ladder(grid: Grid, tiers: IntArray | None, widths: Sequence[float] | None) -> Ladder:
    """Return the group of every bin, level by level; groups are runs of bins, numbered in their order."""
    bins = np.arange(grid.levels)
    if grid.numeric and tiers is None:
        # A coded end stays by itself up to the last level.
        start, end = int(grid.coded[0]), grid.levels - int(grid.coded[1])
        inner = np.arange(end - start)
        doubled = [inner // 2**i for i in range(1, (len(inner) - 1).bit_length())]
        found = doubled if widths is None else [_cut(grid, width)[start:end] for width in widths]
        steps = [bins] + [_with_ends(group, start, grid.levels - end) for group in found if len(group)]
    elif tiers is not None and len(tiers):
        depths = range(int(tiers.max()), 0, -1)
        steps = [bins] + [np.concatenate([[0], np.cumsum(tiers < depth)]) for depth in depths]
    else:
        steps = [bins]
    if steps[-1][-1] > 0 or (grid.own_missing and len(steps) == 1):
        steps.append(np.zeros(grid.levels, np.int64))
    # A missing value stays "missing" until the last level, which is the whole domain.
    return [np.append(s, s[-1] + (i < len(steps) - 1)) if grid.own_missing else s for i, s in enumerate(steps)]


def _with_ends(group: IntArray, below: int, above: int) -> IntArray:
    inner = group - group[0] + below
    return np.concatenate([np.zeros(below, np.int64), inner, np.full(above, inner[-1] + 1, np.int64)])


def _cut(grid: Grid, width: float) -> IntArray:
    """Return the interval that contains each bin; an interval must not end inside a bin."""
    group, fits = _intervals_of(grid, width)
    if not fits:
        whole = grid.edges[-1] - grid.edges[0]
        step = whole / grid.levels
        near = float(f"{step * max(1, round(width / step)):.12g}")
        # All that is there is one interval, whatever the steps.
        fix = f"widths={{{grid.name!r}: [{near if _intervals_of(grid, near)[1] else whole:.12g}]}}"
        raise InvalidArgument("widths", width, f"a multiple of the grid step of column {grid.name!r}", fix)
    return group


def _intervals_of(grid: Grid, width: float) -> tuple[IntArray, bool]:
    """Return the interval of a width that every bin begins in, and whether each bin also ends there."""
    edges = np.array(grid.edges)
    place = (edges - edges[0]) / width
    group: IntArray = np.floor(place[:-1] + 1e-9).astype(np.int64)
    inner = slice(int(grid.coded[0]), grid.levels - int(grid.coded[1]))
    return group, not bool((place[1:] > group + 1 + 1e-9)[inner].any())


def _widths(given: Any, plan: TablePlan) -> dict[str, list[float]]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidType("widths", type(given), "a mapping from column to widths", '{"age": [5, 10, 20]}')
    found = {}
    for name, widths in given.items():
        if name not in plan.quasi or not plan.grids[plan.quasi.index(name)].numeric:
            raise InvalidArgument("widths", name, "given for numeric quasi-identifiers", '{"age": [5, 10, 20]}')
        if isinstance(widths, (str, bytes)) or not isinstance(widths, Sequence):
            raise InvalidType("widths", widths, "a list of widths", "[5, 10, 20]")
        read = [float(checks.positive("widths", w, fix="[5, 10, 20]")) for w in widths]
        for a, b in itertools.pairwise(read):
            if b <= a or abs(b / a - round(b / a)) > 1e-9:
                raise InvalidArgument("widths", read, "rising, each a multiple of the one before", "[5, 10, 20]")
        found[name] = read
    return found


def _given(levels: Any, plan: TablePlan, ladders: Sequence[Ladder]) -> dict[str, int]:
    if not isinstance(levels, Mapping):
        raise InvalidType("levels", type(levels), "a mapping from column to level", f"levels={{{plan.quasi[0]!r}: 0}}")
    refuse_unknown("levels", levels, plan.quasi)
    found = {}
    for name, ladder in zip(plan.quasi, ladders, strict=True):
        high = len(ladder) - 1
        fix = f"levels={{{name!r}: {min(1, high)}}}"
        found[name] = checks.whole(f"level of column {name!r}", levels.get(name, 0), high=high, fix=fix)
    return found
