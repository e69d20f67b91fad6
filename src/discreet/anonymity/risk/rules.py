"""The rules of each class of a released table: k records, l diverse sensitive values, t close to the whole.

All rules are closed under union: two classes that keep them keep them together. So splitting does not repair a class
that breaks a rule, and merging is always safe. The reference of t is the distribution in the *released* table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from discreet.anonymity.risk.coded import CodedColumn
from discreet.anonymity.risk.distances import Limits, measure_classes, rows_by_class
from discreet.anonymity.risk.hierarchy import Hierarchy
from discreet.anonymity.risk.persons import largest_share, measure_people, persons_by_class
from discreet.core import BoolArray, FloatArray, IntArray, checks, option
from discreet.errors import InvalidArgument, InvalidType, SchemaError

LKind = Literal["distinct", "entropy", "recursive"]
TKind = Literal["auto", "equal", "ordered", "hierarchical"]
L_KINDS: tuple[LKind, ...] = ("distinct", "entropy", "recursive")
T_KINDS: tuple[TKind, ...] = ("auto", "equal", "ordered", "hierarchical")
_GROUND = ("equal", "ordered", "hierarchical")


@dataclass(frozen=True)
class Rules:
    """The rules of a release.

    Parameters
    ----------
    k : int
        Least number of records in a class, or of persons if a column identifies them; at least 2.
    l_diversity : float, optional
        Least diversity of each sensitive column in each class; 1 is no rule.
    l_kind : {"distinct", "entropy", "recursive"}
        At least l values; entropy at least ln l; or r_1 < c (r_l + ... + r_m), with r the frequencies in falling order.
    c : float, default 3.0
        The constant of recursive diversity.
    t_closeness : float, optional
        Largest distance between the distributions of a sensitive column in a class and in the table; 1 or more is no
        rule.
    t_kind : {"auto", "equal", "ordered", "hierarchical"}
        The ground distance. "auto" is ordered for numbers and equal otherwise.
    hierarchies : mapping, optional
        From sensitive column to `Hierarchy`, for the hierarchical distance.
    per_person : bool, default False
        Let l and t count persons: distinct values are those that can be matched to different persons, and each person
        has weight one. Set if the unit of a domain is a `Person`.

    Notes
    -----
    Each sensitive column must keep the rules by itself. A missing sensitive value is a value of its own; among numbers
    it counts as the largest.

    Privacy
    -------
    With k, the quasi-identifiers of a record fit k - 1 others too; l and t bound what the class reveals about the
    sensitive value. They do not bound what an attacker with other knowledge learns, they do not hide who is in the
    table, and they are not differential privacy.

    Examples
    --------
    >>> Rules(10, l_diversity=2, t_closeness=0.3).to_dict()
    {'k': 10, 'l': {'kind': 'distinct', 'least': 2}, 't': {'kind': 'auto', 'most': 0.3}}
    """

    k: int
    l_diversity: float | None = None
    l_kind: LKind = "distinct"
    c: float = 3.0
    t_closeness: float | None = None
    t_kind: TKind = "auto"
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    per_person: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checks.whole("k", self.k, low=2))
        checks.choice("l_kind", self.l_kind, L_KINDS)
        checks.choice("t_kind", self.t_kind, T_KINDS)
        checks.positive("c", self.c, fix="c=3.0")
        if (l := self.l_diversity) is not None:  # noqa: E741
            number = checks.finite("l_diversity", l, fix="l_diversity=2")
            if number < 1 or (self.l_kind != "entropy" and number != math.floor(number)):
                kind = "a number" if self.l_kind == "entropy" else "a whole number"
                raise InvalidArgument("l_diversity", l, f"{kind} of at least 1", "l_diversity=2")
        if (t := self.t_closeness) is not None and checks.finite("t_closeness", t, fix="t_closeness=0.2") < 0:
            raise InvalidArgument("t_closeness", t, "a distance from 0 to 1", "t_closeness=0.2")
        if not isinstance(self.hierarchies, Mapping) or not all(
            isinstance(h, Hierarchy) for h in self.hierarchies.values()
        ):
            raise InvalidType("hierarchies", type(self.hierarchies), "a mapping from column to Hierarchy", "{}")

    @property
    def l_on(self) -> bool:
        """True if diversity is required."""
        return self.l_diversity is not None and self.l_diversity > 1

    @property
    def t_on(self) -> bool:
        """True if closeness is required."""
        return self.t_closeness is not None and self.t_closeness < 1

    def check_columns(self, sensitive: Sequence[str], others: Sequence[str] = ()) -> None:
        """Refuse rules about sensitive values of a table without them; one of ``others`` may be meant."""
        for name, on in (("l_diversity", self.l_on), ("t_closeness", self.t_on)):
            if on and not sensitive:
                fix = (
                    f"sensitive={others[-1]!r}" if len(others) > 1 else 'role = "sensitive" for a column in the schema'
                )
                raise InvalidArgument(name, getattr(self, name), "given with a sensitive column", fix)

    def check_kinds(self) -> None:
        """Refuse a way to measure a rule that is not required: it would change nothing."""
        if self.l_diversity is None and self.l_kind != "distinct":
            raise InvalidArgument("l_kind", self.l_kind, "used with l_diversity", "l_diversity=2")
        if self.t_closeness is None and self.t_kind != "auto":
            raise InvalidArgument("t_kind", self.t_kind, "used with t_closeness", "t_closeness=0.2")
        if self.c != 3 and (self.l_diversity is None or self.l_kind != "recursive"):
            more = ", l_diversity=2" if self.l_diversity is None else ""
            raise InvalidArgument("c", self.c, "used with recursive diversity", f'l_kind="recursive"{more}')

    def to_dict(self) -> dict[str, Any]:
        """Return the required rules as plain data."""
        asked: dict[str, Any] = {"k": self.k}
        whose = {"counts": "persons"} if self.per_person else {}
        if self.l_on:
            asked["l"] = {"kind": self.l_kind, "least": self.l_diversity, **whose}
            if self.l_kind == "recursive":
                asked["l"]["c"] = self.c
        if self.t_on:
            asked["t"] = {"kind": self.t_kind, "most": self.t_closeness, **whose}
        return asked

    def to_history(self) -> dict[str, Any]:
        """Return the required rules with the hierarchies for t, so that they can be checked later."""
        asked = self.to_dict()
        if self.t_on and self.t_kind == "hierarchical":
            asked["t"]["hierarchies"] = {name: tree.to_list() for name, tree in self.hierarchies.items()}
        return asked

    def check(self, found: ReachedLevels) -> None:
        """Refuse a release that breaks the rules: the last check, on the released rows."""
        if not found.ok:
            raise InvalidArgument(
                "data", found.to_dict(), f"rows whose release keeps {self.to_dict()}", "a smaller l, or a larger k or t"
            )

    def measure(
        self, classes: Any, sensitive: Sequence[CodedColumn], persons: IntArray | None = None,
        rows: IntArray | None = None, limits: Limits | None = None,
    ) -> ReachedLevels:  # fmt: skip
        """Return the levels that a table reaches in its worst class.

        ``classes`` is the class of each row, -1 for a suppressed row. With ``persons`` k counts persons. ``rows`` is
        the number of equal rows that each entry stands for. ``limits`` may be those of a larger table.
        """
        sizes, people, diversities, distances, limits = self._by_class(classes, sensitive, persons, rows, limits)
        there = sizes > 0
        share = None
        if persons is not None:
            of = np.asarray(classes, np.int64)
            alike = np.ones(len(of), np.int64) if rows is None else rows
            share = largest_share(of[of >= 0], persons[of >= 0], alike[of >= 0])
        worst = np.max if self.l_kind == "recursive" else np.min
        names = [c.name for c in sensitive] if there.any() else []
        return ReachedLevels(
            k=int(people[there].min()) if there.any() else 0,
            l={name: float(worst(diversities[there, q])) for q, name in enumerate(names)},
            t={name: float(np.max(distances[there, q])) for q, name in enumerate(names)},
            l_kind=self.l_kind,
            t_kinds={name: _GROUND[limits.t_kind[q]] for q, name in enumerate(names)},
            ok=bool(there.any()) and bool(self._kept(people, diversities, distances)[there].all()),
            largest_share=share,
        )

    def kept(
        self, classes: Any, sensitive: Sequence[CodedColumn], persons: IntArray | None = None,
        rows: IntArray | None = None, limits: Limits | None = None,
    ) -> BoolArray:  # fmt: skip
        """Return for each class whether it is empty or keeps the rules; arguments as in `measure`."""
        sizes, people, diversities, distances, _ = self._by_class(classes, sensitive, persons, rows, limits)
        good: BoolArray = (sizes == 0) | self._kept(people, diversities, distances)
        return good

    def _by_class(
        self, classes: Any, sensitive: Sequence[CodedColumn], persons: IntArray | None, rows: IntArray | None,
        limits: Limits | None = None,
    ) -> tuple[IntArray, IntArray, FloatArray, FloatArray, Limits]:  # fmt: skip
        """Return rows and persons of every class, and by sensitive column its diversity and its distance."""
        of = np.asarray(classes, np.int64)
        kept = of >= 0
        alike = np.ones(len(of), np.int64) if rows is None else rows
        limits = self.limits(sensitive, kept, rows, persons) if limits is None else limits
        sizes = np.bincount(of[kept], alike[kept]).astype(np.int64)
        out = np.full((2, len(sizes), len(sensitive)), np.nan)
        codes = stacked(sensitive, len(of))
        if sensitive and self.per_person and persons is not None:
            starts = np.concatenate([[0], np.cumsum(np.bincount(of[kept]))])
            order, held = rows_by_class(of, starts), np.diff(starts)
            measure_people(starts[:-1], held, order, codes, persons, alike, limits, out)
        elif sensitive:
            measure_classes(of, len(sizes), codes, rows, limits, out)
        people = sizes if persons is None else persons_by_class(of[kept], persons[kept], len(sizes))
        return sizes, people, *out, limits

    def _kept(self, people: IntArray, diversities: FloatArray, distances: FloatArray) -> BoolArray:
        good: BoolArray = people >= self.k
        if self.l_on:
            assert self.l_diversity is not None
            recursive = self.l_kind == "recursive"
            diverse = diversities < self.c if recursive else diversities >= self.l_diversity - 1e-9
            good = good & diverse.all(axis=1)
        if self.t_on:
            assert self.t_closeness is not None
            good = good & (distances <= self.t_closeness + 1e-9).all(axis=1)
        return good

    def limits(
        self, sensitive: Sequence[CodedColumn], kept: BoolArray | None = None, rows: IntArray | None = None,
        persons: IntArray | None = None,
    ) -> Limits:  # fmt: skip
        """Return the rules with the distributions of this table, for the kernels; see `measure` for the arguments."""
        sizes = [len(column.labels) for column in sensitive]
        offset = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        shares, kinds, parents, weights, leaves = [np.empty(0)], [], [np.empty(0, np.int64)], [np.empty(0)], []
        tree_start = [0]
        for column in sensitive:
            codes = column.codes if kept is None else column.codes[kept]
            alike = rows if rows is None or kept is None else rows[kept]
            if self.per_person and persons is not None:
                whose = persons if kept is None else persons[kept]
                counted = np.ones(len(codes)) if alike is None else alike.astype(np.float64)
                own: FloatArray = np.asarray(np.bincount(whose, counted), np.float64)
                each = counted / own[whose] / max(1, int(np.count_nonzero(own)))
                shares.append(np.asarray(np.bincount(codes, each, minlength=len(column.labels)), np.float64))
            else:
                n = len(codes) if alike is None else int(alike.sum())
                shares.append(np.bincount(codes, alike, minlength=len(column.labels)) / max(n, 1))
            kind = self._ground(column)
            kinds.append(_GROUND.index(kind))
            leaf = np.zeros(len(column.labels), np.int64)
            if kind == "hierarchical":
                parent, weight, leaf = self.hierarchies[column.name].distance_tree(column.labels)
                if (leaf < 0).any():
                    raise SchemaError(
                        f"the hierarchy of column {column.name!r} misses a value that occurs in the table; "
                        "every value must be in it"
                    )
                parents.append(parent)
                weights.append(weight)
            leaves.append(leaf)
            tree_start.append(sum(map(len, parents)))
        return Limits(
            k=self.k,
            l_on=self.l_on and bool(sensitive),
            l_kind=L_KINDS.index(self.l_kind),
            l=float(self.l_diversity or 1),
            c=float(self.c),
            t_on=self.t_on and bool(sensitive),
            t=float(self.t_closeness if self.t_closeness is not None else 1),
            offset=offset,
            t_kind=np.array(kinds, np.int64),
            share=np.concatenate(shares),
            tree_start=np.array(tree_start, np.int64),
            parent=np.concatenate(parents),
            weight=np.concatenate(weights),
            leaf=np.concatenate([np.empty(0, np.int64), *leaves]),
        )

    def _ground(self, column: CodedColumn) -> str:
        if self.t_kind == "auto":
            return "ordered" if column.ordered else "equal"
        if self.t_kind == "hierarchical" and column.name not in self.hierarchies:
            expected = f"a mapping that has the sensitive column {column.name!r}, for t_kind='hierarchical'"
            fix = f"hierarchies={{{column.name!r}: Hierarchy(...)}}"
            raise InvalidArgument("hierarchies", sorted(self.hierarchies), expected, fix)
        return self.t_kind


@dataclass(frozen=True)
class ReachedLevels:
    """The levels that a table reaches in its worst class.

    ``k`` is the size of the smallest class; by sensitive column, ``l`` is the least diversity (of kind ``l_kind``) and
    ``t`` the largest distance (of kind ``t_kinds``). ``ok``: the rules are kept. ``largest_share``, where k counts
    persons, is the largest share of one person's rows in a class.
    """

    k: int
    l: dict[str, float]  # noqa: E741
    t: dict[str, float]
    l_kind: str
    t_kinds: dict[str, str]
    ok: bool
    largest_share: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return k and, if there are sensitive columns, l and t; a ratio without bound is written "inf"."""
        found: dict[str, Any] = {"k": self.k}
        if self.largest_share is not None:
            found["largest_share"] = round(self.largest_share, 11)
        if self.l:
            found["l_kind"] = self.l_kind
            # Rounded as the comparisons are: a class at exactly the limit reads as at the limit.
            found["l"] = {name: "inf" if math.isinf(v) else round(v, 11) for name, v in self.l.items()}
            found["t_kind"] = dict(self.t_kinds)
            found["t"] = {name: round(v, 11) for name, v in self.t.items()}
        return found


def stacked(sensitive: Sequence[CodedColumn], n: int) -> IntArray:
    """Return the codes of all sensitive columns of ``n`` rows, one row per column, numbered as `Limits` has them."""
    start, found = 0, []
    for column in sensitive:
        found.append(column.codes.astype(np.int64) + start)
        start += len(column.labels)
    return np.stack(found) if found else np.empty((0, n), np.int64)


# Cells that reveal nothing by the way they were found: not splitting a cell because of l or t reveals something about
# its values. With ``blind=True``, splits, merges and suppression look at quasi-identifiers and persons only; l and t
# are checked at the end, on whole cells. The release does not change if the sensitive values of a cell are dealt to its
# rows in another way, so an attacker who knows the algorithm and all quasi-identifiers learns no more than the shares
# of the values in a cell. If cells fail, the release is refused: leaving out only these would reveal their values.
BLIND: Any = option(
    default=False, example=True,
    help="Split, merge and suppress without the sensitive columns; check l and t at the end.",
    details="A release that fails them is refused. Otherwise a cell that was not split because of l or t reveals more "
    "about its values than how often each occurs. See docs/risk.md for the cost.",
)  # fmt: skip


def growth_rules(rules: Rules, blind: bool) -> Rules:
    return replace(rules, l_diversity=None, t_closeness=None) if blind else rules


def check_blind(rules: Rules, of: Any, sensitive: Sequence[CodedColumn], persons: Any = None, rows: Any = None) -> None:
    found = rules.measure(of, sensitive, persons, rows)
    if not found.ok:
        reached = {name: value for name, value in found.to_dict().items() if name in ("l", "t")}
        raise InvalidArgument(
            "blind", True, f"used with cells that keep l and t; blind splits at k={rules.k} reach {reached}",
            f"k={2 * rules.k}, chosen once: raising k until it fits reveals that smaller values did not",
        )  # fmt: skip
