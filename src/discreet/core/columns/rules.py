"""Rules between columns: orders, differences and sums that every synthetic row keeps.

``admission <= discharge``, ``discharge - admission <= 90`` and ``total = ward + drugs`` are all read as
``low <= sum of columns with signs <= high``. A model of marginals cannot keep that: it knows two dates to a week each,
so their difference is noise. Therefore the difference is modelled instead of its end, and a sum is not modelled at all.
Rows are mapped one by one before they are counted (`Plan.forward`): neighbouring tables stay neighbours, and a rule
costs no budget. Rows of the model are mapped back (`Plan.complete`) column by column; each value is moved into the
interval that the earlier ones and the rules leave, propagated to a fixed point. That has no dead ends for orders
(Dechter, Meiri and Pearl 1991), nor for sums that are in no ring of rules; such rings are refused. The arithmetic is
exact: whole numbers, days, seconds, or multiples of a power of two.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discreet.core.arrays import FloatArray
from discreet.core.checks import nearest
from discreet.core.columns.kinds import NAMING, Categorical, Code, Column, Date, Integer, Numeric, Time
from discreet.core.columns.stretches import by_days
from discreet.errors import InvalidArgument, InvalidType, SchemaError

#: So many of the smallest values of a difference have cells of their own, even on a coarser grid.
_FINE = 64
#: A column of a text is marked by its number in the declared order.
_VALUE = r"(?:\0(\d+)\0|(\d+(?:\.\d+)?))"
_TERM = re.compile(rf"([+-]?)\s*{_VALUE}")
_SUM = re.compile(rf"\s*[+-]?\s*{_VALUE}(?:\s*[+-]\s*{_VALUE})*\s*")


@dataclass(frozen=True)
class Rule:
    """``low <= sum of sign times column <= high``; of an equation, ``left`` is the column that is never read."""

    terms: Mapping[str, int]
    low: float
    high: float
    left: str
    text: str
    strict: bool

    def form(self, at: Mapping[str, Any], without: str = "") -> Any:
        """Return the sum of the columns with their signs."""
        return sum(sign * at[name] for name, sign in self.terms.items() if name != without)

    def same(self, other: Rule) -> int:
        """Return 1 if another rule is about the same sum, -1 if it is about its negative, else 0."""
        return 1 if other.terms == self.terms else -int(other.terms == {n: -s for n, s in self.terms.items()})

    def broken(self, at: Mapping[str, FloatArray]) -> bool:
        """Return whether a row breaks the rule; one without a value does not."""
        return bool(np.any((self.form(at) < self.low) | (self.form(at) > self.high)))

    def ends(self, low: Mapping[str, Any], high: Mapping[str, Any], without: str = "") -> list[Any]:
        """Return the least and the largest sum of columns in given intervals."""
        signed = [(n, s) for n, s in self.terms.items() if n != without]
        return [sum(s * (a if s > 0 else b)[n] for n, s in signed) for a, b in ((low, high), (high, low))]

    def tighten(self, low: dict[str, Any], high: dict[str, Any]) -> bool:
        """Narrow the interval of each column to what the others leave; return whether one changed."""
        before = {n: (low[n], high[n]) for n in self.terms}
        for name, sign in self.terms.items():
            least, most = self.ends(low, high, name)
            a, b = (self.low - most, self.high - least)[::sign]
            low[name], high[name] = np.maximum(low[name], sign * a), np.minimum(high[name], sign * b)
        return any(np.any(low[n] != a) or np.any(high[n] != b) for n, (a, b) in before.items())


class Plan:
    """Rules that share columns, and what the model has instead of these.

    ``steps`` are, in the order in which values are found, a column, the rule that gives it (None: it is modelled
    itself) and the modelled column in its place (None: it follows from those before it).
    """

    def __init__(self, rules: Sequence[Rule], columns: Mapping[str, Any], first: Sequence[str]) -> None:
        self.columns: dict[str, Numeric] = {n: columns[n] for r in rules for n in r.terms}
        self.whole = all(isinstance(c, (Integer, Date)) for c in self.columns.values())
        size = max(max(abs(c.low), abs(c.high)) for c in self.columns.values())
        # 15 digits, so that sums are the same in binary and in decimal numbers; too coarse for very small bounds.
        digits = math.floor(math.log10(size) if size >= 0.01 else math.log2(size))
        self.step = 1.0 if self.whole else 2.0 ** (digits - 14)
        low = [(math.floor(r.low / self.step) + 1 if r.strict else math.ceil(r.low / self.step)) for r in rules]
        self.rules = [
            replace(r, low=x * self.step, high=x * self.step if r.left else math.inf)
            for r, x in zip(rules, low, strict=True)
        ]
        self.low = {n: math.ceil(_ends(c)[0] / self.step) * self.step for n, c in self.columns.items()}
        self.high = {n: math.floor(_ends(c)[1] / self.step) * self.step for n, c in self.columns.items()}
        for i, rule in enumerate(self.rules):  # one by one, to name the first that cannot be kept
            if not _propagate(self.rules[: i + 1], self.low, self.high):
                others = _listed(r.text for r in self.rules[:i])
                fix = f" and {others}; leave one out" if others else f"; widen the bounds of {_listed(rule.terms)}"
                raise SchemaError(f"rules: no row can keep {rule.text!r}{fix}")
        self.steps = tuple(self._ordered(first))

    def _ordered(self, first: Sequence[str]) -> Iterator[tuple[str, Rule | None, Numeric | None]]:
        smaller = [n for r in self.rules for n in sorted(r.terms, key=r.terms.__getitem__) if n != r.left]
        known = {[*first, *sorted(smaller, key=lambda n: self.columns[n].missing == "own")][0]}
        yield from ((n, None, self._bounded(self.columns[n], self.low[n], self.high[n])) for n in known)
        pending, orders = list(self.rules), all(sorted(r.terms.values()) == [-1, 1] for r in self.rules)
        while pending:
            rule = next(r for r in pending if known & r.terms.keys())
            pending.remove(rule)
            new = [n for n in rule.terms if n not in known]
            again = not new and any(rule.same(r) for r in self.rules if r is not rule)
            if len(new) < len(rule.terms) - 1 and not again and not orders:
                raise SchemaError(
                    f"rules: {rule.text!r} closes a ring of rules, which only orders of two columns may; leave it out"
                )
            if not new:  # the other end of a difference, or a ring of orders: the intervals keep it
                continue
            last = rule.left if rule.left in new else new[-1] if rule.left else new[0]
            gone = [n for n in rule.terms if self.columns[n].missing == "own"]
            if gone and last not in gone:
                raise SchemaError(
                    f"rules: by {rule.text!r}, {last!r} is missing where {gone[0]!r} is, and only {gone[0]!r} keeps "
                    f'rows without a value; declare {last!r} with missing = "own" too'
                )
            rest = (n for n in new if n != last)
            yield from ((n, None, self._bounded(self.columns[n], self.low[n], self.high[n])) for n in rest)
            yield last, rule, None if rule.left else self._difference(self.columns[last], rule)
            known.update(new)

    def _difference(self, column: Numeric, rule: Rule) -> Numeric:
        least, most = rule.ends(self.low, self.high)
        least = max([least, *(r.low for r in self.rules if rule.same(r) > 0)])
        most = min([most, *(-r.low for r in self.rules if rule.same(r) < 0)])
        name = " ".join(f"{'+' if s > 0 else '-'} {n}" for n, s in rule.terms.items()).removeprefix("+ ")
        kept: dict[str, Any] = {"role": column.role, "missing": column.missing, "name": name}
        return self._bounded(Integer(0, 1, **kept) if self.whole else Numeric(low=0.0, high=1.0, **kept), least, most)

    def _bounded(self, column: Numeric, low: float, high: float) -> Numeric:
        if not low < high:
            raise SchemaError(
                f"rules: {column.name!r} is left with one value; widen the bounds of {_listed(self.columns)}"
            )
        half = 0.5 if isinstance(column, Integer) else 0.0
        made = replace(column, low=float(low - half), high=float(high + half), bottom=None, top=None)
        return column if (low, high) == _ends(column) else made

    def allows(self, asked: Mapping[str, tuple[float, float]]) -> bool:
        """Return whether a row with some columns in intervals can keep the rules."""
        low, high = dict(self.low), dict(self.high)
        for name in self.columns.keys() & asked.keys():
            a, b = np.ceil(asked[name][0] / self.step), np.floor(asked[name][1] / self.step)
            low[name], high[name] = max(low[name], a * self.step), min(high[name], b * self.step)
        return _propagate(self.rules, low, high)

    def forward(self, at: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return the modelled columns of rows, each row by itself.

        Values are clamped first. The left side of an equation is not read but found from the other side. Where a value
        is missing, so is the difference. A difference that breaks its rule is clamped when it is counted.
        """
        there = {n: c for n, c in self.columns.items() if n in at}
        x = {n: np.clip(np.floor(at[n] + 0.5) if self.whole else at[n], *_ends(c)) for n, c in there.items()}
        for rule in _nested(self.rules):
            x[rule.left] = np.clip(rule.low - rule.form(x, rule.left), *_ends(self.columns[rule.left]))
        return {own.name: x[n] if rule is None else rule.form(x) for n, rule, own in self.steps if own is not None}

    def complete(self, lower: Mapping[str, FloatArray], upper: Mapping[str, FloatArray], stream: Any) -> dict[str, Any]:
        """Draw a row of all columns in each box of the modelled ones, so that it keeps the rules."""
        rows = len(next(iter(lower.values())))
        low, high = ({n: np.full(rows, x) for n, x in ends.items()} for ends in (self.low, self.high))
        made: dict[str, Any] = {}
        for name, rule, own in self.steps:
            wanted: Any = rule.low if own is None and rule else self._drawn(own, lower, upper, stream.random(rows))
            if rule is not None:
                wanted = rule.terms[name] * (wanted - rule.form(made, name))
            gone = np.isnan(wanted)
            made[name] = np.where(gone, np.nan, np.clip(wanted, low[name], high[name])) + 0.0
            low[name], high[name] = (np.where(gone, held[name], made[name]) for held in (low, high))
            _propagate(self.rules, low, high)
        return made

    def _drawn(self, column: Any, lower: Any, upper: Any, chance: FloatArray) -> FloatArray:
        """Draw a multiple of the step in each box [lower, upper)."""
        ends = lower[column.name], upper[column.name]
        a, b = (np.ceil((by_days(column, x) if isinstance(column, Date) else x) / self.step) for x in ends)
        return np.asarray((a + np.floor(chance * np.maximum(b - a, 1))) * self.step)


@dataclass(frozen=True)
class Rules:
    """All rules of a domain, as texts, and a plan for each set of columns that they tie together."""

    texts: tuple[str, ...] = ()
    plans: tuple[Plan, ...] = field(default=(), compare=False)

    @classmethod
    def read(cls, columns: Mapping[str, Column], texts: Any, first: Iterable[str] = ()) -> Rules:
        """Read what was declared and refuse what no row could keep. The columns ``first`` are modelled themselves."""
        if isinstance(texts, (str, Mapping)) or not isinstance(texts, Iterable):
            fix = f"rules=[{texts!r}]" if isinstance(texts, str) else 'rules=["admission <= discharge"]'
            raise InvalidType("rules", texts, "a list of texts", fix)
        texts = tuple(texts)
        parts: list[list[Rule]] = []
        for rule in (rule for i, text in enumerate(texts) for rule in _parsed(columns, f"rules[{i}]", text)):
            near = [part for part in parts if any(rule.terms.keys() & r.terms.keys() for r in part)]
            parts = [part for part in parts if part not in near] + [[*(r for part in near for r in part), rule]]
        plans = []
        for part in parts:
            _nested(part)
            tied = {n: None for r in part for n in r.terms}
            used = [n for n in first if n in tied]
            if len(used) > 1:
                raise SchemaError(
                    f"rules: impossible combinations name {_listed(used)}, which rules tie together; leave out those "
                    f"about {used[1]!r}"
                )
            plans.append(Plan(part, columns, [*used, *(n for n in tied if columns[n].role == "target")]))
        made = cls(texts, tuple(plans))
        if clash := [c.name for c, _ in made.replaced.values() if c is not None and c.name in columns]:
            raise SchemaError(f"rules: {clash[0]!r} is the name of a column and of a difference; rename the column")
        return made

    def about(self, names: Iterable[str]) -> list[str]:
        """Return the texts that are about some columns alone."""
        gone = {r.text for r in self.rules if not r.terms.keys() <= set(names)}
        return [text for text in self.texts if text not in gone]

    @property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(rule for plan in self.plans for rule in plan.rules)

    @property
    def unread(self) -> frozenset[str]:
        """Columns that are never read: the left sides of equations."""
        return frozenset(rule.left for rule in self.rules if rule.left)

    @property
    def replaced(self) -> dict[str, tuple[Numeric | None, Plan]]:
        """From columns that are not modelled to the modelled one in their place, if any, and their plan."""
        return {name: (own, plan) for plan in self.plans for name, rule, own in plan.steps if rule is not None}

    def modelled(self, columns: Iterable[Column]) -> list[Column]:
        """Return the columns of the model, each in the place of the one that it replaces."""
        made: dict[str, Column | None] = {name: own for plan in self.plans for name, _, own in plan.steps}
        return [own for c in columns if (own := made.get(c.name, c)) is not None]

    def cuts(self, name: str) -> set[float]:
        """Return ends of cells that keep the smallest values of a difference apart."""
        found = [(own, plan) for own, plan in self.replaced.values() if own is not None and own.name == name]
        wide = [plan.step if plan.whole else (own.high - own.low) / 2**15 for own, plan in found]
        return {own.low + w * i for (own, _), w in zip(found, wide, strict=True) for i in range(1, _FINE)}


def _propagate(rules: Sequence[Rule], low: dict[str, Any], high: dict[str, Any]) -> bool:
    """Narrow intervals until no rule changes them. Return False if one is empty, or if that does not end."""
    for _ in range(2 * (len(rules) + len(low)) + 2):
        changed = [rule.tighten(low, high) for rule in rules]
        if not any(changed):
            return all(bool(np.all(low[n] <= high[n])) for n in low)
    return False


def _nested(rules: Sequence[Rule]) -> list[Rule]:
    """Return the equations in an order in which their right sides are known; refuse those that have none."""
    rest = [r for r in rules if r.left]
    made: list[Rule] = []
    while rest:
        lefts = {r.left for r in rest}
        ready = [r for r in rest if not lefts & (r.terms.keys() - {r.left})]
        if not ready or len(lefts) < len(rest):
            raise SchemaError(
                f"rules: {_listed(r.text for r in rest)} need each other, or give a column twice; leave one out"
            )
        made, rest = made + ready, [r for r in rest if r not in ready]
    return made


def _ends(column: Column) -> tuple[float, float]:
    """Return the smallest and the largest value."""
    half = 0.5 if isinstance(column, Integer) else 0.0
    return column.low + half, column.high - half


def _listed(names: Iterable[str]) -> str:
    return " and ".join(map(repr, names))


def _parsed(columns: Mapping[str, Column], label: str, text: Any) -> Iterator[Rule]:
    """Read one text: sums of columns and numbers, with orders or an equals sign between them."""
    if not isinstance(text, str):
        raise InvalidType(label, text, "a text", "'admission <= discharge'")
    known = list(columns)
    names = "|".join(re.escape(n) for n in sorted(known, key=len, reverse=True))
    found = re.sub(rf"(?<!\w)(?:`({names})`|({names})(?!\w))", lambda m: f"\0{known.index(m[1] or m[2])}\0", text)
    parts = re.split(r"(<=|>=|==|[<>=≤≥])", found)
    if len(parts) < 3 or not all(_SUM.fullmatch(part) for part in parts[::2]):
        strange = re.findall(r"[^\W\d]\w*", found)
        near = nearest(strange[0], known) if strange else None
        fits = [c for c in columns.values() if not isinstance(c, (Categorical, Code)) and c.role not in NAMING]
        alike = [c.name for c in fits if [type(o) for o in fits].count(type(c)) > 1][:1]
        alike += [c.name for c in fits if alike and c.name != alike[0] and type(c) is type(columns[alike[0]])][:1]
        fix = repr(text.replace(strange[0], near)) if near else repr(" <= ".join(alike)) if alike else "leaving it out"
        said = "about declared columns: sums with <=, <, >=, > or = between them"
        if strange and not near and len(parts) > 2:
            said = f"about declared columns, and {strange[0]!r} is not declared"
            fix = f"leaving the rule out, or declaring {strange[0]!r}"
        raise InvalidArgument(label, text, said, fix)
    for at in range(1, len(parts), 2):
        order = {"≤": "<=", "≥": ">=", "==": "="}.get(parts[at], parts[at])
        sides = [_summed(known, parts[at - 1]), _summed(known, parts[at + 1])]
        if order[0] == "<" or (order == "=" and len(sides[0]) > 1):
            sides.reverse()
        left = next(iter(sides[0])) if order == "=" else ""
        terms = {n: s for n in dict.fromkeys([*sides[0], *sides[1]]) if (s := sides[0].get(n, 0) - sides[1].get(n, 0))}
        constant = terms.pop("", 0)
        if len(terms) < 2 or {abs(s) for s in terms.values()} != {1} or (left and sides[0] != {left: 1}):
            what = "about two or more columns, each once, and with one alone on one side of an equals sign"
            raise InvalidArgument(
                label, text, what, "the bounds of the column" if len(terms) < 2 else "'total = a + b'"
            )
        _check_kinds({n: columns[n] for n in terms}, label, text, terms)
        terms = dict(sorted(terms.items(), key=lambda term: -term[1]))
        yield Rule(terms, -constant, math.inf, left, text, order in "<>")


def _summed(known: Sequence[str], text: str) -> dict[str, Any]:
    """Return the signs of the columns of a sum, and its number under no name."""
    made: dict[str, Any] = {}
    for sign, place, number in _TERM.findall(text):
        name, size = (known[int(place)], 1) if place else ("", float(number))
        made[name] = made.get(name, 0) + (-size if sign == "-" else size)
    return made


def _check_kinds(columns: Mapping[str, Column], label: str, text: str, terms: Mapping[str, int]) -> None:
    """Refuse rules between what cannot be compared."""
    what = f"{label}: {text!r} is about "
    if wrong := [n for n, c in columns.items() if isinstance(c, (Categorical, Code)) or c.role in NAMING]:
        raise SchemaError(f"{what}{wrong[0]!r}, and rules are about released numbers and dates; leave it out")
    real = [n for n, c in columns.items() if not isinstance(c, (Integer, Date))]
    if 0 < len(real) < len(columns):
        fix = f'declare {_listed(real)} with kind = "integer", or no column of the rule as whole numbers'
        raise SchemaError(f"{what}whole numbers or days and about {_listed(real)}, which has fractions; {fix}")
    kinds = [[n for n, c in columns.items() if isinstance(c, kind)] for kind in (Date, Time)]
    if all(kinds) or any(sum(terms[n] for n in some) for some in kinds):
        fix = "write a date against a date, or plus days: 'discharge <= admission + 90'"
        raise SchemaError(f"{what}dates or times and about numbers; {fix}")
