"""Noise addition and rank swapping: classical masking, with what it gives away measured."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator

from discreet import engines, noise
from discreet.anonymity.growth.grid import Grid
from discreet.anonymity.masking._swap_kernels import count_inside, swap_ranks
from discreet.anonymity.masking.grouping import Points, auto_rows, mdav_groups, path_groups
from discreet.anonymity.masking.masked import (
    MaskedMethod,
    MaskedRelease,
    masked_release,
    number_array,
    on_grid,
    plain_array,
    read_coordinates,
    refuse_coded,
    whole_domain,
    whole_points,
)
from discreet.anonymity.release.delivery import Delivery
from discreet.anonymity.release.table import Table, TablePlan, read_table, without_values
from discreet.anonymity.risk.disclosure import linkage, near_values
from discreet.core import EstimatorHtml, FloatArray, IntArray, Person, as_domain, checks, dialect_of
from discreet.errors import InvalidArgument, InvalidType, SchemaError

#: Noise is drawn on a public lattice of this many steps across the declared interval.
FINE_STEPS = 2**30
#: A standard normal number is a discrete Gaussian one of this scale, divided by it.
_UNIT = 2**20
#: Released rows that are linked with the originals to measure disclosure.
_MEASURED = 10_000

#: Pairs of a released row and a person that are compared to count candidates.
_COMPARED = 20_000_000

_NOTHING = (
    "nobody relies on it for privacy: the values are changed, but neither k nor l nor t holds, and people are found "
    "as often as the disclosure measures say, or more often by a better attack"
)
_SWAPPED = (
    "an attacker knows no more than everybody's quasi-identifiers and how they were swapped, not the other columns: "
    "then no row can be linked with a person with a chance above 1/k",
    "every published value is somebody's exact value; k rows that look alike are not promised",
    "no other release is made of the same people: permutations of two releases can be compared",
)


@dataclass(eq=False, repr=False)
class _Masking(EstimatorHtml, MaskedMethod, BaseEstimator):  # type: ignore[misc]
    """What both share: read, change the quasi-identifiers as a whole, measure, hand out."""

    _: KW_ONLY
    domain: Any = None
    sensitive: Sequence[str] | str | None = None
    target: str | None = None
    keep: Sequence[str] = ()
    grid: Any = field(default=None, init=False)

    def fit(self, data: Any, y: Any = None) -> Any:
        """Check the arguments against the table; nothing of its rows is kept."""
        self._check()
        if self.domain is None:
            raise InvalidType("domain", None, "a Domain", 'domain=Domain({"age": (0, 120)})')
        domain = as_domain(self.domain, engines.open(data, dialect=dialect_of(self.domain)).names)
        plan = TablePlan.of(domain, sensitive=self.sensitive, target=self.target, keep=self.keep, grid=self.grid)
        self._check_plan(plan)
        self.plan_: TablePlan = plan
        self.n_features_in_ = len(plan.quasi)
        return self

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
        return masked_release(
            table,
            values,
            whole_domain(table),
            delivery,
            stream,
            facts=facts,
            notes=notes,
            random=True,
            disclosure=measured,
        )

    def fit_transform(self, data: Any, y: Any = None, **delivery: Any) -> MaskedRelease:
        """Change and release these records. Parameters as in `transform`."""
        released: MaskedRelease = self.fit(data).transform(data, **delivery)
        return released

    def _check(self) -> None:
        raise NotImplementedError

    def _check_plan(self, plan: TablePlan) -> None:
        """Refuse columns that cannot be changed in this way."""
        refuse_coded(plan, type(self).__name__)

    def _change(self, table: Table, before: FloatArray, stream: noise.Generator) -> tuple[FloatArray, dict[str, Any]]:
        raise NotImplementedError

    def _written(self, grid: Grid, values: FloatArray) -> pa.Array:
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class Noisy(_Masking):
    """What kinds of noise share: numbers only, published on a lattice or a grid, clipped or not."""

    _: KW_ONLY
    grid: Any = None
    clip: bool = False

    def _check(self) -> None:
        checks.choice("clip", self.clip, (False, True))

    def _check_plan(self, plan: TablePlan) -> None:
        super()._check_plan(plan)
        for grid in plan.grids:
            if not grid.numeric:
                raise InvalidArgument(
                    "domain", grid.name, "numbers in all quasi-identifiers: noise needs them", f"keep=[{grid.name!r}]"
                )

    def _change(self, table: Table, before: FloatArray, stream: noise.Generator) -> tuple[FloatArray, dict[str, Any]]:
        width = np.array([[g.column.high - g.column.low] for g in table.plan.grids])
        unit = before / width
        noisy, facts = self._noisy(unit, noise.discrete_gaussian(_UNIT, size=unit.shape, rng=stream) / _UNIT)
        fine = np.rint(noisy * FINE_STEPS) / FINE_STEPS * width
        if self.clip:
            low = np.array([[g.column.low] for g in table.plan.grids])
            fine = np.clip(fine, low, low + width)
        return fine, {**facts, "clip": bool(self.clip)}

    def _noisy(self, unit: FloatArray, normal: FloatArray) -> tuple[FloatArray, dict[str, Any]]:
        """Return values with noise, both over the declared widths, from standard normal numbers; and what was done."""
        raise NotImplementedError

    def _written(self, grid: Grid, values: FloatArray) -> pa.Array:
        rounded = self.grid is not None and (not isinstance(self.grid, Mapping) or grid.name in self.grid)
        if not rounded:
            return number_array(grid, values, False)
        low, high = grid.edges[0], grid.edges[-1]
        outside = (values < low) | (values > high)  # the grid ends at the bounds; clip=True is for keeping to them
        step = (high - low) / grid.levels
        beyond = low + np.rint((values - low) / step) * step
        return number_array(
            grid, np.where(outside, beyond, on_grid(grid, values)), whole_points(grid) and step % 1 == 0
        )


@dataclass(eq=False, repr=False)
class NoiseAddition(Noisy):
    """Add normal noise to the numbers.

    Parameters
    ----------
    alpha : float, default 0.1
        Variance of the noise, as a share of that of the column; 0.1 to 0.5 are usual.
    kind : {"uncorrelated", "correlated"}
        Each column by itself, or noise with the covariance of the columns, times alpha.
    domain, sensitive, target, keep
        See `DensityTree`. Quasi-identifiers must be numbers.
    grid : None, int, list of float or mapping
        Publish the nearest points of this grid. None publishes points of a lattice of 2^30 steps of the declared
        interval.
    clip : bool, default False
        Move published values into the declared interval. It keeps impossible values out and shifts the mean.

    Notes
    -----
    X* = X + E with rows of E drawn from N(0, α diag(σ²)) or N(0, α Σ) (spec local-sketches, 3.A.6 and 3.A.7). Means
    are kept in expectation. The variance is multiplied by 1 + α, and with correlated noise the whole covariance
    matrix. Missing values stay missing. The noise is an exact discrete Gaussian of a fine scale.

    Privacy
    -------
    None in any formal sense: no k, no ε. Noise in proportion to a column's spread hides neither outliers nor rows that
    are alone. `MaskedRelease.disclosure` and the guarantee state how many rows can be linked with their originals by
    distance, and how many values lie within 5 % of the ranks of the true ones.

    Examples
    --------
    >>> import discreet as dc, pyarrow as pa
    >>> people = pa.table({"age": [31, 33, 36, 60, 64, 66, 69]})
    >>> method = NoiseAddition(0.5, domain=dc.Domain({"age": (0, 120)}), grid=120)
    >>> release = method.fit_transform(people, random_state=1)
    >>> release.table["age"].to_pylist()
    [37, 41, 48, 59, 82, 33, 79]
    >>> release.guarantee.parameters["reached"]["k"] is None
    True
    """

    alpha: float = 0.1
    _: KW_ONLY
    kind: str = "uncorrelated"

    def _check(self) -> None:
        checks.positive("alpha", self.alpha, fix="alpha=0.1")
        checks.choice("kind", self.kind, ("uncorrelated", "correlated"))
        super()._check()

    def _noisy(self, unit: FloatArray, normal: FloatArray) -> tuple[FloatArray, dict[str, Any]]:
        root = _root(unit, self.kind) * np.sqrt(float(self.alpha))
        return unit + root @ normal, {"alpha": float(self.alpha), "kind": self.kind}


@dataclass(eq=False, repr=False)
class RankSwapping(_Masking):
    """Swap every value with one of a near rank, or inside groups of k.

    Parameters
    ----------
    p : float, default 0.05
        Largest distance of ranks, as a share of the rows; at least one rank.
    k : int, optional
        Instead of ``p``: permute every column at random inside groups of k to 2k - 1 rows whose ranks are near in all
        columns. This is **probabilistic k-anonymity**.
    domain, sensitive, target, keep
        See `DensityTree`. Categories are ranked in the order of their declaration.

    Notes
    -----
    With ``p``, column by column: values are sorted, equal ones in random order; every value in turn is swapped with one
    that is not yet swapped and at most p n ranks above, all equally likely (Moore 1996; spec local-sketches, 3.A.8,
    with the distance in ranks, C12). A value with no free one near it stays. Missing values stay where they are. Each
    column keeps exactly the values it had.

    With ``k`` groups are those of MDAV on ranks (in blocks, as `Microaggregation`; of one column the best there are).
    Each column, missing values too, is permuted uniformly and by itself inside every group, after Soria-Comas and
    Domingo-Ferrer (2012).

    Privacy
    -------
    With ``p``, none in any formal sense. Every published value is somebody's exact value, and somebody of nearly the
    same rank: ranges of p n ranks around the published values hold the true ones, and in several columns together
    these ranges may hold one person alone. `MaskedRelease.disclosure` and the guarantee state how many rows can be
    linked with their originals, how many values lie within 5 % of the ranks, and, as ``candidates``, how many people a
    row can belong to: of c people the best guess is right with a chance of at least 1/c.

    With ``k``, whoever knows everybody's quasi-identifiers, the groups and the method, and not the other columns, links
    a released row with its person with a chance of at most 1/k. *Proof.* Rows of a group have its persons' values, and
    nobody's from elsewhere. Let τ say which row is whose; all are equally likely beforehand. Column j shows in row r
    the value of person σ_j(τ(r)), where σ_j is uniform and independent of τ and of the other columns. For every τ
    the composition is uniform again, so the released values are equally likely under all τ, and afterwards each row
    belongs to each of the g >= k persons of its group with a chance of exactly 1/g. Nothing else tells of τ: how many
    rows can be linked is measured on a second draw of all σ_j, which is thrown away. Not more is promised: rows are not
    alike, values are genuine, and whoever knows sensitive or kept columns is not bounded. A person with several rows
    in a group would have several of the g chances, so a schema with persons is refused.

    Examples
    --------
    >>> import discreet as dc, pyarrow as pa
    >>> people = pa.table({"age": [31, 33, 36, 60, 64, 66]})
    >>> method = RankSwapping(0.2, domain=dc.Domain({"age": (0, 120)}))
    >>> method.fit_transform(people, random_state=1, order="input").table["age"].to_pylist()
    [33, 31, 60, 36, 66, 64]
    >>> grouped = RankSwapping(k=3, domain=dc.Domain({"age": (0, 120)}))
    >>> release = grouped.fit_transform(people, random_state=1, order="input")
    >>> release.guarantee.parameters["reached"]
    {'k': None, 'probabilistic_k': 3}
    """

    p: float = 0.05
    _: KW_ONLY
    k: int | None = None

    def _check(self) -> None:
        if checks.probability("p", self.p, closed=True) == 0:
            raise InvalidArgument("p", self.p, "a share of the rows above 0", "p=0.05")
        if self.k is not None:
            checks.whole("k", self.k, low=2)
            if self.p != RankSwapping.p:
                raise InvalidArgument("p", self.p, "left out where k is given", f"p={RankSwapping.p}")

    def _check_plan(self, plan: TablePlan) -> None:
        super()._check_plan(plan)
        if self.k is not None and (plan.person is not None or isinstance(plan.domain.unit, Person)):
            raise SchemaError(
                "the schema names a person, who may have many rows, and groups of k rows may then be one person's; "
                "declare the column an identifier if everybody has one row, or use DensityTree, which counts persons"
            )

    def _change(self, table: Table, before: FloatArray, stream: noise.Generator) -> tuple[FloatArray, dict[str, Any]]:
        if self.k is not None:
            return self._grouped(table, before, int(self.k), stream)
        after = before.copy()
        unchanged, limits = {}, []
        for j, grid in enumerate(table.plan.grids):
            there = np.flatnonzero(~np.isnan(before[j]))
            keys = noise.below(2**62, size=len(there), rng=stream)
            order = there[np.lexsort((keys, before[j, there]))]
            limits.append(max(1, int(float(self.p) * len(there))))
            partner = swap_ranks(noise.below(2**62, size=len(there), rng=stream), limits[j])
            after[j, order] = before[j, order[partner]]
            unchanged[grid.name] = int((partner == np.arange(len(partner))).sum())
        found = candidates(before, after, limits)
        told = {
            "least": int(found.min()),
            "chance_of_the_best_guess_at_least": float((1 / found).mean()),
            "rows": len(found),
        }
        return after, {"p": float(self.p), "not_swapped": unchanged, "disclosure": {"candidates": told}}

    def _grouped(
        self, table: Table, before: FloatArray, k: int, stream: noise.Generator
    ) -> tuple[FloatArray, dict[str, Any]]:
        if table.n < k:
            raise InvalidArgument("k", k, f"at most the number of records, {table.n}", f"k={table.n}")
        ranked = before.copy()
        for j, grid in enumerate(table.plan.grids):
            if grid.numeric:
                ranked[j] = grid.column.low + _ranks(before[j]) * (grid.column.high - grid.column.low)
        points = Points.of(table, ranked, range(len(before)))
        one = len(before) == 1
        groups = path_groups(points, k) if one else mdav_groups(points, k, auto_rows(table.n, k))
        # Who was linked in this very release would tell who is who: the measures are of another one, drawn alike.
        after, other = (np.stack([permuted(column, groups, stream) for column in before]) for _ in range(2))
        reached = {"k": None, "probabilistic_k": int(np.bincount(groups).min())}
        required = {"k": None, "probabilistic_k": k}
        facts = {"groups": int(groups.max()) + 1, "required": required, "reached": reached, "notes": _SWAPPED}
        return after, {**facts, "measured": other, "disclosure": {"measured_on": "another draw, with the same groups"}}

    def _written(self, grid: Grid, values: FloatArray) -> pa.Array:
        return plain_array(grid, values)


def permuted(column: FloatArray, groups: IntArray, stream: noise.Generator) -> FloatArray:
    """Return a column with its values in random order inside every group."""
    keys = noise.below(2**62, size=len(column), rng=stream)
    after = np.empty_like(column)
    after[np.argsort(groups, kind="stable")] = column[np.lexsort((keys, groups))]
    return after


def candidates(before: FloatArray, after: FloatArray, limits: Sequence[int]) -> IntArray:
    """Return how many people a released row can belong to, for rows spread over the table.

    A value came from at most ``limits`` ranks away, so its person's own lies between two values that are known.
    """
    n = before.shape[1]
    chosen = np.unique(np.linspace(0, n - 1, min(n, max(20, _COMPARED // n)), dtype=np.int64))
    low, high = np.empty((2, len(before), len(chosen)))
    for j, limit in enumerate(limits):
        values = np.sort(before[j][~np.isnan(before[j])])
        shown = after[j, chosen]
        first, last = (np.searchsorted(values, shown, side=side) for side in ("left", "right"))
        low[j] = values[np.clip(first - limit, 0, len(values) - 1)]
        high[j] = values[np.clip(last - 1 + limit, 0, len(values) - 1)]
        low[j, np.isnan(shown)] = high[j, np.isnan(shown)] = np.inf  # a missing value stays with its person
    return np.asarray(count_inside(np.where(np.isnan(before), np.inf, before), low, high), np.int64)


def _ranks(values: FloatArray) -> FloatArray:
    """Return middle ranks as shares of the values that are there; NaN stays."""
    there = np.sort(values[~np.isnan(values)])
    middle = (np.searchsorted(there, values, side="left") + np.searchsorted(there, values, side="right")) / 2
    return np.where(np.isnan(values), np.nan, middle / max(len(there), 1))


def _root(unit: FloatArray, kind: str) -> FloatArray:
    """Return a matrix A with A Aᵀ the covariance of the columns, over rows without a gap; or its diagonal."""
    if kind == "uncorrelated":
        return np.diag(np.array([np.std(c[~np.isnan(c)]) if (~np.isnan(c)).any() else 0.0 for c in unit]))
    whole = unit[:, ~np.isnan(unit).any(axis=0)]
    if whole.shape[1] < 2:
        return np.zeros((len(unit), len(unit)))
    values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(whole, ddof=0)))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _measure(table: Table, before: FloatArray, after: FloatArray, stream: noise.Generator) -> dict[str, Any]:
    """Measure disclosure and, beside it, what was lost (spec density-trees, 9.11.3)."""
    rows = np.flatnonzero(~(np.isnan(before) | np.isnan(after)).any(axis=0))
    if len(rows) > _MEASURED:
        rows = rows[np.argsort(noise.below(2**62, size=len(rows), rng=stream))[:_MEASURED]]
    spread = np.array([np.std(c[~np.isnan(c)]) if (~np.isnan(c)).any() else 0.0 for c in before])[:, None]
    spread[spread == 0] = 1.0
    linked = linkage((before / spread).T, (after[:, rows] / spread).T, rows)
    every = np.arange(table.n)
    near = [near_values(before[j], after[j], every, 0.05, "rank") for j in range(len(before))]
    looked = sum(total for _, total in near)
    moved = np.isnan(before) != np.isnan(after)  # gaps that were swapped too have no difference of their own
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
