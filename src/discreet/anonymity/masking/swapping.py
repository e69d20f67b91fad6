"""Rank swapping: exchange values of near ranks, or permute them inside groups of k."""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from discreet import noise
from discreet.anonymity.masking._swap_kernels import count_inside, swap_ranks
from discreet.anonymity.masking.grouping import Points, auto_rows, mdav_groups, path_groups
from discreet.anonymity.masking.masker import Masker
from discreet.anonymity.release.disclosure import middle_ranks
from discreet.anonymity.release.table import Table, TablePlan
from discreet.core import FloatArray, IntArray, Person, option
from discreet.errors import InvalidArgument, SchemaError

#: Pairs of a released row and a person that are compared to count candidates.
_COMPARED = 20_000_000
_SWAPPED = (
    "an attacker knows no more than everybody's quasi-identifiers and how they were swapped, not the other columns: "
    "then no row can be linked with a person with a chance above 1/k",
    "every published value is somebody's exact value; k rows that look alike are not promised",
    "no other release is made of the same people: permutations of two releases can be compared",
)


class RankSwapping(Masker):
    """Swap every value with one of a near rank, or inside groups of k.

    Notes
    -----
    With ``p``: each value is swapped with a free value of its column at most p n ranks above it, all equally likely
    (Moore 1996). A value without a free one near it stays, and so do missing values.

    With ``k``: groups are those of `Microaggregation` on ranks. Each column, missing values included, is permuted
    uniformly and independently inside each group (Soria-Comas and Domingo-Ferrer 2012).

    Privacy
    -------
    With ``p``, no formal guarantee. Each published value is the exact value of a person of nearly the same rank.
    Several columns together may leave one candidate. `MaskedRelease.disclosure` and the guarantee state how many rows
    can be linked with their originals, how many values lie within 5 % of the ranks, and, as ``candidates``, how many
    people a row can belong to: the best guess among c people is right with probability at least 1/c.

    With ``k``, an attacker who knows all quasi-identifiers, the groups and the method, but not the other columns, links
    a released row with its person with probability at most 1/k. *Proof.* Rows of a group have the values of its persons
    only. Let τ assign rows to persons; all τ are equally likely beforehand. Column j shows in row r the value of person
    σ_j(τ(r)), where σ_j is uniform and independent of τ and of the other columns. For each τ the composition is uniform
    again, so the released values are equally likely under all τ, and each row belongs to each of the g >= k persons of
    its group with probability 1/g. Nothing else depends on τ: linkage is measured on a second draw of all σ_j. No more
    is promised: rows are not alike, values are genuine, and an attacker who knows sensitive or kept columns is not
    bounded. A person with several rows in a group would have several of the g chances: such a schema is refused.

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

    p: float = option(
        default=0.05, above=0, high=1, help="Largest distance of ranks, as a share of the rows; at least one rank."
    )
    _: KW_ONLY
    k: int | None = option(
        default=None, low=2, example=5, help="Permute inside groups of k to 2k - 1 near rows, instead of p.",
        details="This is **probabilistic k-anonymity**.",
    )  # fmt: skip

    def _check(self) -> None:
        super()._check()
        if self.k is not None and self.p != RankSwapping.p:
            raise InvalidArgument("p", self.p, "left out where k is given", f"p={RankSwapping.p}")

    def _check_plan(self, plan: TablePlan) -> None:
        super()._check_plan(plan)
        if self.k is not None and (plan.person is not None or isinstance(plan.domain.unit, Person)):
            raise SchemaError(
                "the schema names a person, who may have many rows, and groups of k rows may then be one person's; "
                "declare the column an identifier if everybody has one row, or use DensityTree (discreet anonymize), "
                "which counts persons"
            )

    def _change(self, table: Table, before: FloatArray, stream: noise.Generator) -> tuple[FloatArray, dict[str, Any]]:
        if self.k is not None:
            return self._grouped(table, before, stream)
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
        chance = float((1 / found).mean())
        told = {"least": int(found.min()), "chance_of_the_best_guess_at_least": chance, "rows": len(found)}
        return after, {"p": float(self.p), "not_swapped": unchanged, "disclosure": {"candidates": told}}

    def _grouped(self, table: Table, before: FloatArray, stream: noise.Generator) -> tuple[FloatArray, dict[str, Any]]:
        k = int(self.k or 0)
        if table.n < k:
            raise InvalidArgument("k", k, f"at most the number of records, {table.n}", f"k={min(table.n, 10)}")
        ranked = before.copy()
        for j, grid in enumerate(table.plan.grids):
            if grid.numeric:
                ranked[j] = grid.column.low + _ranks(before[j]) * (grid.column.high - grid.column.low)
        points = Points.of(table, ranked, range(len(before)))
        one = len(before) == 1
        groups = path_groups(points, k) if one else mdav_groups(points, k, auto_rows(table.n, k))
        # Linkage in this very release would identify people: it is measured on another draw.
        after, other = (np.stack([permuted(column, groups, stream) for column in before]) for _ in range(2))
        reached = {"k": None, "probabilistic_k": int(np.bincount(groups).min())}
        required = {"k": None, "probabilistic_k": k}
        facts = {"groups": int(groups.max()) + 1, "required": required, "reached": reached, "notes": _SWAPPED}
        return after, {**facts, "measured": other, "disclosure": {"measured_on": "another draw, with the same groups"}}


def permuted(column: FloatArray, groups: IntArray, stream: noise.Generator) -> FloatArray:
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
    return np.where(np.isnan(values), np.nan, middle_ranks(there, values) / max(len(there), 1))
