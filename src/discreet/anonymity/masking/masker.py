"""The base of methods that change values without a formal promise: read, change, measure disclosure, release."""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import pyarrow as pa

from discreet import noise
from discreet.anonymity.growth.grid import Grid
from discreet.anonymity.masking.masked import (
    MaskedMethod,
    MaskedRelease,
    masked_release,
    read_coordinates,
    refuse_coded,
    whole_domain,
)
from discreet.anonymity.release.delivery import Delivery
from discreet.anonymity.release.disclosure import linkage, near_values
from discreet.anonymity.release.prepare import make_plan, names_of
from discreet.anonymity.release.table import Table, TablePlan, read_table, without_values
from discreet.core import DOMAIN, Declared, Estimator, FloatArray, option
from discreet.errors import InvalidArgument

#: Released rows that are linked with the originals to measure disclosure.
_MEASURED = 10_000
_ROLES = ("sensitive", "target", "keep", "grid")
_NOTHING = (
    "nobody relies on it for privacy: the values are changed, but neither k nor l nor t holds, and people are found "
    "as often as the disclosure measures say, or more often by a better attack"
)


class Masker(MaskedMethod, Declared, Estimator):
    """Read, change the quasi-identifiers as a whole, measure, release. A subclass says how (`_change`, `_written`)."""

    _: KW_ONLY
    domain: Any = DOMAIN
    sensitive: Sequence[str] | str | None = option(
        default=None, example=["cost"], help="Sensitive columns; overrides the roles."
    )
    target: str | None = option(default=None, example="label", help="A label to pass on; overrides the roles.")
    keep: Sequence[str] = option(default=(), example=["year"], help="Columns without a role to pass on unchanged.")

    def fit(self, data: Any, y: Any = None) -> Any:
        """Check the options against the table; no rows are kept."""
        self._check()
        roles = {name: getattr(self, name) for name in _ROLES if name in self.declared}
        plan = make_plan(self.domain, names_of(data, self.domain), **roles)
        self._check_plan(plan)
        self.plan_ = plan
        self.n_features_in_ = len(plan.quasi)
        return self

    def fit_transform(self, data: Any, y: Any = None, **delivery: Any) -> MaskedRelease:
        """Change and release these records. Parameters as in `transform`."""
        released: MaskedRelease = self.fit(data).transform(data, **delivery)
        return released

    def _masked(self, data: Any, delivery: Delivery) -> MaskedRelease:
        table = read_table(data, self.plan_)
        if table.n < 2:
            raise InvalidArgument("data", f"{table.n} usable rows", "at least two rows", "a larger table")
        stream = noise.generator(delivery.random_state)
        before = read_coordinates(data, table)
        empty = [g.name for g, column in zip(table.plan.grids, before, strict=True) if np.isnan(column).all()]
        if empty:
            raise without_values(table.plan.domain.column(empty[0]))
        after, facts = self._change(table, before, stream)
        measured = _measure(table, before, facts.pop("measured", after), stream)
        values = {g.name: self._written(g, after[j]) for j, g in enumerate(table.plan.grids)}
        notes = facts.pop("notes", [_NOTHING])
        measured |= facts.pop("disclosure", {})
        none = {"required": {"k": None}, "reached": {"k": None}}
        facts = {"method": type(self).__name__, "output": "changed values", **none, **facts}
        release = {"facts": facts, "notes": notes, "random": True, "disclosure": measured}
        return masked_release(table, values, whole_domain(table), delivery, stream, **release)

    def _check(self) -> None:
        """Check the options of this method."""
        for name in self.declared:
            if name not in (*_ROLES, "domain"):
                self.read_option(name)

    def _check_plan(self, plan: TablePlan) -> None:
        """Refuse columns that cannot be changed in this way."""
        refuse_coded(plan, type(self).__name__)

    def _change(self, table: Table, before: FloatArray, stream: noise.Generator) -> tuple[FloatArray, dict[str, Any]]:
        raise NotImplementedError

    def _written(self, grid: Grid, values: FloatArray) -> pa.Array:
        raise NotImplementedError


def _measure(table: Table, before: FloatArray, after: FloatArray, stream: noise.Generator) -> dict[str, Any]:
    """Measure disclosure and utility."""
    rows = np.flatnonzero(~(np.isnan(before) | np.isnan(after)).any(axis=0))
    if len(rows) > _MEASURED:
        rows = rows[np.argsort(noise.below(2**62, size=len(rows), rng=stream))[:_MEASURED]]
    spread = np.array([np.std(c[~np.isnan(c)]) if (~np.isnan(c)).any() else 0.0 for c in before])[:, None]
    spread[spread == 0] = 1.0
    linked = linkage((before / spread).T, (after[:, rows] / spread).T, rows)
    every = np.arange(table.n)
    near = [near_values(before[j], after[j], every, 0.05, "rank") for j in range(len(before))]
    looked = sum(total for _, total in near)
    moved = np.isnan(before) != np.isnan(after)  # swapped gaps have no difference
    means = (
        np.nanmean(after, axis=1) - np.nanmean(before, axis=1) if moved.any() else np.nanmean(after - before, axis=1)
    )
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


def _correlation(columns: FloatArray) -> FloatArray:
    whole = columns[:, ~np.isnan(columns).any(axis=0)]
    if whole.shape[1] < 2:
        return np.zeros((len(columns), len(columns)))
    centred = whole - whole.mean(axis=1, keepdims=True)
    size = np.sqrt((centred**2).sum(axis=1))
    size[size == 0] = 1.0
    return np.asarray((centred / size[:, None]) @ (centred / size[:, None]).T)
