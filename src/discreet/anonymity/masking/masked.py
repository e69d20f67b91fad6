"""Releases of changed values (means, noise, swapped ranks) instead of cells."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import engines, noise
from discreet.anonymity.growth.cells import Cells
from discreet.anonymity.growth.grid import Grid
from discreet.anonymity.release.delivery import Delivery, hashed_columns
from discreet.anonymity.release.printed import with_legend
from discreet.anonymity.release.release import Release, _kept_by, _order_of, _others, in_order, unknown_columns
from discreet.anonymity.release.table import Table, TablePlan
from discreet.core import Date, FloatArray, Guarantee, Integer, Time, check_fitted, coding, date_array, time_array
from discreet.errors import InvalidArgument


@dataclass(frozen=True, eq=False)
class MaskedRelease(Release):
    """A release whose quasi-identifiers are values, not cells; so it has no bounds.

    ``disclosure`` holds measures of disclosure and loss where the method promises nothing; they use the original rows.
    """

    disclosure: Mapping[str, Any] = field(default_factory=dict)

    @property
    def bounds(self) -> pa.Table:
        """Refused: a changed value says nothing about where the true one lies."""
        raise InvalidArgument("form", "bounds", "text: this table holds changed values, not cells", 'form="text"')

    def __repr__(self) -> str:
        method = self.guarantee.parameters["method"]
        k = self.guarantee.parameters["reached"]["k"]
        return f"<release of {len(self)} rows by {method}, {'no k' if k is None else f'k = {k}'}>"


class MaskedMethod:
    """`transform` for methods that change values; a subclass has ``_masked(data, delivery)``."""

    def transform(
        self,
        data: Any,
        *,
        random_state: Any = None,
        order: str = "shuffled",
        identifiers: str = "drop",
        key: bytes | None = None,
    ) -> MaskedRelease:
        """Change and release records: a release of its own, whatever was given to `fit`.

        Parameters
        ----------
        data : array, data frame, table or path
            All records that are handed out together.
        random_state, order, identifiers, key
            See `discreet.anonymity.release.delivery.Delivery`.
        """
        check_fitted(self, "plan_")
        return self._masked(data, Delivery("interval", random_state, order, identifiers, key))

    @abstractmethod
    def _masked(self, data: Any, delivery: Delivery) -> MaskedRelease:
        """Change and release records."""


def masked_release(
    table: Table,
    values: Mapping[str, pa.Array],
    cells: Cells,
    delivery: Delivery,
    stream: noise.Generator,
    *,
    facts: Mapping[str, Any],
    notes: Sequence[str],
    random: bool,
    disclosure: Mapping[str, Any] | None = None,
) -> MaskedRelease:
    """Put changed values and the columns that are passed on together.

    ``random`` says whether the values depend on the stream: then a seeded one makes the guarantee seeded.
    """
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
            "dropped_for_missing_values": table.dropped,
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
    return MaskedRelease(made, guarantee, cells, rows, 0, table.dropped, disclosure=dict(disclosure or {}))


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
    """Return one cell for all rows, for values without a promise."""
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


def number_array(grid: Grid, values: FloatArray, whole: bool) -> pa.Array:
    """Write numbers as Arrow: dates and whole ones as such, NaN as missing."""
    if isinstance(grid.column, (Date, Time)):
        return (date_array if isinstance(grid.column, Date) else time_array)(values)
    missing = np.isnan(values)
    if whole or isinstance(grid.column, Integer):
        return pa.array(np.rint(np.where(missing, 0, values)).astype(np.int64), mask=missing)
    return pa.array(values, mask=missing)


def refuse_coded(plan: TablePlan, method: str) -> None:
    """Refuse thresholds where values are published: those beyond them would be shown."""
    for grid in plan.grids:
        for side, value in coding.declared(grid.column).items() if grid.numeric else ():
            raise InvalidArgument(
                f"{side} of column {grid.name!r}",
                value,
                f"left out: {method} publishes values, also beyond it; DensityTree, Mondrian, Generalization and "
                "TopBottomCoding code it",
                f"a column without {side}",
            )


def plain_array(grid: Grid, values: FloatArray) -> pa.Array:
    """Write coordinates as the values they are: numbers, whole where all are, dates, times or categories."""
    missing = np.isnan(values)
    if grid.numeric:
        there = values[~missing]
        return number_array(grid, values, bool((there == np.floor(there)).all() and (np.abs(there) < 2**53).all()))
    labels = pa.array([str(c) for c in grid.column.categories], pa.string())  # type: ignore[union-attr]
    return labels.take(pa.array(np.where(missing, 0, values).astype(np.int64), mask=missing))


def whole_points(grid: Grid) -> bool:
    """Return whether all grid points are whole numbers."""
    return isinstance(grid.column, Integer) or all(p == int(p) and abs(p) < 2**53 for p in grid.edges)
