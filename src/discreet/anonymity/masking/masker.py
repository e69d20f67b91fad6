"""The base of the methods that change values instead of making cells: read, change, measure disclosure, release."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import engines, noise
from discreet.anonymity.growth.grid import Cells, Grid
from discreet.anonymity.release.delivery import Delivery, hashed_columns
from discreet.anonymity.release.disclosure import linkage, near_values
from discreet.anonymity.release.prepare import make_plan, names_of
from discreet.anonymity.release.release import (
    Release,
    _kept_by,
    _order_of,
    _others,
    in_order,
    left_out,
    number_array,
    unknown_columns,
)
from discreet.anonymity.release.table import Table, TablePlan, read_table, without_values
from discreet.anonymity.risk.printed import with_legend
from discreet.core import DOMAIN, Declared, Estimator, FloatArray, Guarantee, Integer, check_fitted, coding, option
from discreet.errors import InvalidArgument

#: Released rows that are linked with the originals to measure disclosure.
_MEASURED = 10_000
_ROLES = ("sensitive", "target", "keep", "grid")
_NOTHING = (
    "nobody relies on it for privacy: the values are changed, but neither k nor l nor t holds, and people are found "
    "as often as the disclosure measures say, or more often by a better attack"
)


@dataclass(frozen=True, eq=False)
class MaskedRelease(Release):
    """A release of values, not cells. ``disclosure`` are measures on the original rows, where nothing is promised."""

    disclosure: Mapping[str, Any] = field(default_factory=dict)

    @property
    def bounds(self) -> pa.Table:
        """Refused: a changed value says nothing about where the true one lies."""
        raise InvalidArgument("form", "bounds", "text: this table holds changed values, not cells", 'form="text"')

    def __repr__(self) -> str:
        method = self.guarantee.parameters["method"]
        k = self.guarantee.parameters["reached"]["k"]
        return f"<release of {len(self)} rows by {method}, {'no k' if k is None else f'k = {k}'}>"


class Masker(Declared, Estimator):
    """Read, change the quasi-identifiers as a whole, measure, release. A subclass says how (`_change`)."""

    _: KW_ONLY
    domain: Any = DOMAIN
    sensitive: Sequence[str] | str | None = option(
        default=None, example=["cost"], help="Sensitive columns; overrides the roles."
    )
    target: str | None = option(default=None, example="label", help="A label to pass on; overrides the roles.")
    keep: Sequence[str] = option(default=(), example=["year"], help="Columns without a role to pass on unchanged.")

    def fit(self, data: Any, y: Any = None) -> Any:
        """Check the options against the table; no rows are kept."""
        self.plan_ = self._plan(names_of(data, self.domain))
        self.n_features_in_ = len(self.plan_.quasi)
        return self

    def check(self) -> None:
        """Check the options and the declared columns; no table is read."""
        self._plan(lambda: ())

    def _plan(self, names: Callable[[], Sequence[str]]) -> TablePlan:
        self._check()
        plan = make_plan(self.domain, names, **{n: getattr(self, n) for n in _ROLES if n in self.declared})
        self._check_plan(plan)
        return plan

    def transform(
        self, data: Any, *, random_state: Any = None, order: str = "shuffled", identifiers: str = "drop",
        key: bytes | None = None,
    ) -> MaskedRelease:  # fmt: skip
        """Change and release records: a release of its own, whatever was given to `fit`.

        Parameters
        ----------
        data : array, data frame, table or path
            All records that are handed out together.
        random_state, order, identifiers, key
            As in `DensityTree.transform`.
        """
        check_fitted(self, "plan_")
        return self._masked(data, Delivery("interval", random_state, order, identifiers, key))

    def fit_transform(self, data: Any, y: Any = None, **delivery: Any) -> MaskedRelease:
        """Change and release these records. Parameters as in `transform`."""
        released: MaskedRelease = self.fit(data).transform(data, **delivery)
        return released

    def _masked(self, data: Any, delivery: Delivery) -> MaskedRelease:
        table = read_table(data, self.plan_)
        if table.n < 2:
            raise InvalidArgument("data", f"{table.n} usable rows", "at least two rows", "a larger table")
        stream = noise.generator(delivery.random_state, "random_state")
        before = read_coordinates(data, table)
        empty = [g.name for g, column in zip(table.plan.grids, before, strict=True) if np.isnan(column).all()]
        if empty:
            raise without_values(table.plan.domain.column(empty[0]))
        after, facts = self._change(table, before, stream)
        if "rows" in facts:  # only these are released
            rows = facts.pop("rows")
            table, before = table.take(rows), before[:, rows]
        measured = _measure(table, before, facts.pop("measured", after), stream)
        values = {g.name: self._written(g, after[j]) for j, g in enumerate(table.plan.grids)}
        notes = facts.pop("notes", [_NOTHING])
        measured |= facts.pop("disclosure", {})
        none = {"required": {"k": None}, "reached": {"k": None}}
        facts = {"method": type(self).__name__, "output": "changed values", **none, **facts}
        release = {"facts": facts, "notes": notes, "random": True, "disclosure": measured}
        return masked_release(table, values, whole_domain(table), delivery, stream, **release)

    def _check(self) -> None:
        for name in self.declared:
            if name not in (*_ROLES, "domain"):
                self.read_option(name)

    def _check_plan(self, plan: TablePlan) -> None:
        refuse_coded(plan, type(self).__name__)

    def _change(self, table: Table, before: FloatArray, stream: noise.Generator) -> tuple[FloatArray, dict[str, Any]]:
        raise NotImplementedError

    def _written(self, grid: Grid, values: FloatArray) -> pa.Array:
        return plain_array(grid, values)


def _measure(table: Table, before: FloatArray, after: FloatArray, stream: noise.Generator) -> dict[str, Any]:
    rows = np.flatnonzero(~(np.isnan(before) | np.isnan(after)).any(axis=0))
    if len(rows) > _MEASURED:
        rows = rows[np.argsort(noise.below(2**62, size=len(rows), rng=stream))[:_MEASURED]]
    spread = deviations(before)[:, None]
    spread[spread == 0] = 1.0
    linked = linkage((before / spread).T, (after[:, rows] / spread).T, rows)
    near = [near_values(was, shown, 0.05) for was, shown in zip(before, after, strict=True)]
    looked = sum(total for _, total in near)
    moved = np.isnan(before) != np.isnan(after)  # swapped gaps have no difference
    apart = np.nanmean(after, axis=1) - np.nanmean(before, axis=1)
    means = apart if moved.any() else np.nanmean(after - before, axis=1)
    shift = np.abs(means) / spread[:, 0]
    gap = np.abs(_correlation(after) - _correlation(before))
    return {
        "record_linkage": linked.to_dict(),
        "interval_disclosure": {
            "by": "rank",
            "width": 0.05,
            "share": sum(close for close, _ in near) / looked if looked else 0.0,
        },
        "utility": {
            "largest_shift_of_a_mean": float(shift.max()),
            "largest_change_of_a_correlation": float(gap.max()),
            "unit": "standard deviations; correlations as they are",
        },
    }


def deviations(columns: FloatArray) -> FloatArray:
    return np.array([np.std(c[~np.isnan(c)]) if (~np.isnan(c)).any() else 0.0 for c in columns])


def _correlation(columns: FloatArray) -> FloatArray:
    whole = columns[:, ~np.isnan(columns).any(axis=0)]
    if whole.shape[1] < 2:
        return np.zeros((len(columns), len(columns)))
    centred = whole - whole.mean(axis=1, keepdims=True)
    size = np.sqrt((centred**2).sum(axis=1))
    size[size == 0] = 1.0
    return np.asarray((centred / size[:, None]) @ (centred / size[:, None]).T)


def masked_release(
    table: Table, values: Mapping[str, pa.Array], cells: Cells, delivery: Delivery, stream: noise.Generator, *,
    facts: Mapping[str, Any], notes: Sequence[str], random: bool, disclosure: Mapping[str, Any] | None = None,
) -> MaskedRelease:  # fmt: skip
    """Put changed values and the columns that are passed on together; ``random`` values depend on the stream."""
    rows = np.arange(table.n)
    if delivery.order == "shuffled":
        rows = noise.permutation(table.n, rng=stream)
    columns: dict[str, Any] = {name: column.take(pa.array(rows)) for name, column in values.items()}
    columns |= _others(table, rows)
    if delivery.identifiers == "hash":
        columns = {**hashed_columns(table.identifiers, rows, delivery.key, table.plan.domain), **columns}
    kept = _kept_by(table, cells.of[rows], rows)
    if "kept" in kept and facts.get("reached", {}).get("k") is None:  # no groups are promised, so none become smaller
        kept = {**kept, "kept": {"columns": kept["kept"]["columns"]}}
    guarantee = Guarantee(
        "syntactic",
        unit="one row",
        parameters={
            **facts,
            "order": delivery.order,
            "rows": table.n,
            "suppressed": 0,
            **left_out(table.dropped, table.unnamed),
            "identifiers": delivery.identifiers if table.identifiers.num_columns else "none",
            **({"disclosure": dict(disclosure)} if disclosure else {}),
            **kept,
            **cells.legend(),
        },
        domain=table.plan.domain,
        assumptions=(*unknown_columns(kept), *notes, *in_order(delivery.order)),
        seeded=(random or delivery.order == "shuffled") and stream.seeded,
    )
    made = with_legend(pa.table({name: columns[name] for name in _order_of(table, columns)}), guarantee)
    gone, own = table.dropped + table.unnamed, cells.of[rows]
    return MaskedRelease(made, guarantee, cells, table.kept[rows], 0, gone, _own=own, disclosure=dict(disclosure or {}))


def read_coordinates(data: Any, table: Table) -> FloatArray:
    """Return the quasi-identifiers of the rows of a table, clamped, one row per column; NaN for missing."""
    plan = table.plan
    source = engines.open(data, plan.domain)
    wanted = plan.domain.select(list(plan.quasi))
    pieces: list[list[FloatArray]] = [[np.empty(0)] for _ in plan.quasi]
    for columns in source.batches(wanted):
        for grid, coordinates, piece in zip(plan.grids, columns, pieces, strict=True):
            piece.append(np.clip(coordinates, grid.column.low, grid.column.high))
    return np.stack([np.concatenate(piece) for piece in pieces])[:, table.kept]


def whole_domain(table: Table) -> Cells:
    grids = table.plan.grids
    last = np.array([[g.n_bins - 1 for g in grids]], np.int64)
    return Cells(grids, np.zeros_like(last), last, np.zeros(table.n, np.int64))


def on_grid(grid: Grid, values: FloatArray) -> FloatArray:
    """Move values to the nearest grid points; from the middle between two, to the lower. NaN stays."""
    if isinstance(grid.column, Integer):
        return np.clip(np.ceil(values - 0.5), grid.column.least, grid.column.most)
    points = np.array(grid.edges)
    middle = (points[:-1] + points[1:]) / 2
    return np.where(
        np.isnan(values), np.nan, points[np.searchsorted(middle, values, side="left").clip(max=len(middle))]
    )


def refuse_columns(names: Sequence[str], expected: str, instead: str) -> None:
    """Refuse a method for quasi-identifiers that it cannot change; name all of them, and another method."""
    if names:
        listed = ", ".join(map(repr, names))
        fix = f"{instead}, or without the role quasi-identifier of {listed} in the schema"
        raise InvalidArgument("domain", names[0] if len(names) == 1 else list(names), expected, fix)


def refuse_coded(plan: TablePlan, method: str) -> None:
    """Refuse codes, which have no mean, and thresholds where values are published: those beyond would be shown."""
    codes = [grid.name for grid in plan.grids if grid.column.kind == "code"]
    expected = f"numbers or categories: {method} cannot compute with codes"
    refuse_columns(codes, expected, "DensityTree or Mondrian (discreet anonymize), which group them")
    for grid in plan.grids:
        for side, value in coding.declared(grid.column).items() if grid.numeric else ():
            expected = (
                f"left out: {method} publishes values, also beyond it; DensityTree, Mondrian, Generalization and "
            )
            expected += "TopBottomCoding code it"
            raise InvalidArgument(f"{side} of column {grid.name!r}", value, expected, f"a column without {side}")


def plain_array(grid: Grid, values: FloatArray) -> pa.Array:
    """Write coordinates as the values they are: numbers, whole where all are, dates, times or categories."""
    missing = np.isnan(values)
    if grid.numeric:
        there = values[~missing]
        return number_array(grid, values, bool((there == np.floor(there)).all() and (np.abs(there) < 2**53).all()))
    labels = pa.array([str(c) for c in grid.column.categories], pa.string())  # type: ignore[union-attr]
    return labels.take(pa.array(np.where(missing, 0, values).astype(np.int64), mask=missing))


def whole_points(grid: Grid) -> bool:
    return isinstance(grid.column, Integer) or all(p == int(p) and abs(p) < 2**53 for p in grid.edges)
